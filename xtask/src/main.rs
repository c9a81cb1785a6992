//! Project tasks: `cargo xtask test` runs every test, `cargo xtask verify` runs every check, and `cargo xtask fix`
//! applies automatic fixes.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person who started it"
)]

mod book;
mod cargo;
mod compat;
mod console;
mod dependencies;
mod fix;
mod json;
mod manifest;
mod mutants;
mod no_std;
mod own_mutex;
mod packages;
mod performance;
mod programs;
mod prove;
mod release;
mod test_programs;
mod tidy;
mod timings;
mod torture;
mod tree;
mod upgrade;
mod verify;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  test                run every test: whether everything works
  verify              run every check, lints and documentation included; writes nothing outside the target directory
  verify STEP...      run only these steps
  fix                 apply clippy's suggestions and format the code
  fix --snapshots     then also rewrite the expected outputs of the tests
  torture [OPTIONS]   a cluster of real processes under faults for minutes (--seconds S, --seed N); needs root and iproute2
  torture stress      many waiters, many locks, clients that do not behave
  torture upgrade [REVISION] [OPTIONS]
                      nodes and clients begin as the last release, or as this revision; nodes are upgraded one after the other
  mutants [RULE...]   break each rule of the lock algorithm and see whether its tests notice (--nodes for the rules of relays,
                      --properties for the definitions of properties, --quorum for the quorum mutex, --conformance
                      and --conformance-locks for trace validation, --storms N, --timeout SECONDS)
  mutants PATH        try the mutants that cargo-mutants generates for a file or folder of a crate, with the crate's quick tests
                      (--every N, --jobs N, --markdown FILE)
  mutants --sample    try one mutant of each family
  performance [FLAGS] measure quorate beside others, and write docs/performance.md; flags are those of quorate bench
  timings [--tests]   build from nothing and print where the time goes: the program, or all tests
  prove [OPTIONS]     prove the algorithms of proofs/ (--slice, --seed N, --timeout SECONDS, --solver cvc5); needs python3
  dist [OPTIONS]      build a static program and pack it: tar.gz, Debian package, container image, bill of materials (--only tar,deb,image;
                      --out DIR; --binary FILE packs this program, for tests)
  book                build the manual of docs/ with mdbook, in target/book
  release [--tag]     check what a release needs: tag, versions, changelog, licences, packages; --tag creates the tag
  --help              print this text

Exit codes: 0 done, 1 a check failed, 2 it could not run.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let own = !matches!(words.first(), Some(&("torture" | "performance")));
    if own && words.iter().any(|word| ["help", "-h", "--help"].contains(word)) {
        return print_help();
    }
    match words.as_slice() {
        ["verify", names @ ..] => match verify::choose(names) {
            Ok(steps) => exit_code(verify::run(&root(), &steps)),
            Err(unknown) => {
                exit_with_error(&format!("there is no step `{unknown}`\n\n{}", verify::list()))
            }
        },
        ["torture", words @ ..] => match torture::run(&root(), words) {
            Ok(code) => ExitCode::from(code),
            Err(error) => exit_with_error(&error.to_string()),
        },
        ["mutants", words @ ..] => match mutants::run(&root(), words) {
            Ok(code) => code,
            Err(error) => exit_with_error(&error.to_string()),
        },
        ["prove", options @ ..] => exit_code(prove::run(&root(), options)),
        ["performance", words @ ..] => match performance::run(&root(), words) {
            Ok(code) => ExitCode::from(code),
            Err(error) => exit_with_error(&error.to_string()),
        },
        ["book"] => exit_code(book::run(&root())),
        ["dist", words @ ..] => exit_code(packages::run(&root(), words)),
        ["release", words @ ..] => exit_code(release::run(&root(), words)),
        ["timings"] => exit_code(timings::run(&root(), timings::Build::Release)),
        ["timings", "--tests"] => exit_code(timings::run(&root(), timings::Build::Tests)),
        ["timings", other, ..] => {
            exit_with_error(&format!("`timings` does not know `{other}`\n\n{USAGE}"))
        }
        ["test"] => exit_code(verify::run(&root(), &verify::tests())),
        ["fix"] => exit_code(fix::run(&root(), fix::Snapshots::Keep)),
        ["fix", "--snapshots"] => exit_code(fix::run(&root(), fix::Snapshots::Rewrite)),
        ["fix", other, ..] => exit_with_error(&format!("`fix` does not know `{other}`\n\n{USAGE}")),
        [other, ..] => exit_with_error(&format!("there is no command `{other}`\n\n{USAGE}")),
        [] => exit_with_error(&format!("which command?\n\n{USAGE}")),
    }
}

fn print_help() -> ExitCode {
    println!("{USAGE}\n{}", verify::list().trim_end());
    ExitCode::SUCCESS
}

fn exit_with_error(why: &str) -> ExitCode {
    eprintln!("error: {}", why.trim_end());
    ExitCode::from(2)
}

fn exit_code(passed: io::Result<bool>) -> ExitCode {
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => exit_with_error(&error.to_string()),
    }
}

/// Root of the repository. Cargo sets the directory of this package when it starts the program, which stays correct if
/// two checkouts share a build. The compiled-in path is the fallback when the program is started directly.
fn root() -> PathBuf {
    let package =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).parent().expect("this package lies inside the repository").to_path_buf()
}
