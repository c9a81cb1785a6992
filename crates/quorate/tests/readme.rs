//! Transcripts in the README and in `docs/`: each command is run and its output is compared.

#[test]
fn the_documents_show_what_the_commands_print() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::env::set_current_dir(root).expect("the workspace is there");
    trycmd::TestCases::new().case("README.md").case("docs/*.md").run();
}
