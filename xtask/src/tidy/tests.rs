//! For every rule, an example that violates it and a similar example that does not.

use super::*;

fn rules_broken(path: &str, text: &str) -> Vec<String> {
    let files = [TextFile { path: path.to_owned(), text: text.to_owned() }];
    problems(&files).into_iter().map(|problem| problem.to_string()).collect()
}

#[track_caller]
fn assert_tidy(path: &str, text: &str) {
    assert_eq!(rules_broken(path, text), Vec::<String>::new(), "{path} was:\n{text}");
}

#[track_caller]
fn assert_broken(path: &str, text: &str, expected: &str) {
    let broken = rules_broken(path, text);
    assert!(
        broken.len() == 1 && broken[0].contains(expected),
        "{path}: expected `{expected}`, got {broken:?}"
    );
}

fn manifest(dependencies: &str) -> String {
    format!(
        "[package]\nversion.workspace = true\nlicense.workspace = true\n\
         rust-version.workspace = true\n\
         [lints]\nworkspace = true\n{dependencies}"
    )
}

#[test]
fn an_arrow_that_points_up_is_caught() {
    let upwards =
        manifest("[dependencies]\nquorate-core.workspace = true\nquorate-sim.workspace = true\n");
    assert_broken(
        "crates/quorate-algorithms/Cargo.toml",
        &upwards,
        "quorate-algorithms must not depend on quorate-sim",
    );
    let sideways =
        manifest("[dependencies]\nq = { package = \"quorate-algorithms\", path = \"../a\" }\n");
    assert_broken(
        "crates/quorate-draw/Cargo.toml",
        &sideways,
        "quorate-draw must not depend on quorate-algorithms",
    );
}

#[test]
fn arrows_that_point_down_and_those_of_tests_are_let_through() {
    let downwards = manifest("[dependencies]\nquorate-core.workspace = true\nserde = \"1\"\n");
    assert_tidy("crates/quorate-sim/Cargo.toml", &downwards);
    let in_tests = manifest("[dev-dependencies]\nquorate-sim.workspace = true\n");
    assert_tidy("crates/quorate-algorithms/Cargo.toml", &in_tests);
}

#[test]
fn a_crate_without_a_row_is_caught() {
    assert_broken("crates/quorate-extra/Cargo.toml", &manifest(""), "a new crate");
}

#[test]
fn a_crate_that_goes_its_own_way_is_caught() {
    let own_version =
        manifest("").replace("version.workspace = true\nlicense", "version = \"2.0.0\"\nlicense");
    assert_broken("crates/quorate-core/Cargo.toml", &own_version, "package.version.workspace");
    let no_lints = manifest("").replace("[lints]\nworkspace = true\n", "");
    assert_broken("crates/quorate-core/Cargo.toml", &no_lints, "lints.workspace");
    assert_eq!(rules_broken("crates/quorate-core/Cargo.toml", "").len(), INHERITED.len());
}

const HEADER: &str = "//! Ask everyone.\n//!\n//! - **Source**: a paper,\n//!   of a year.\n\
                      //! - **Assumes**: little.\n//! - **Guarantees**: much.\n\
                      //! - **Costs**: nothing.\n//! - **Departs from the paper**: nowhere.\n";

#[test]
fn an_algorithm_without_a_header_line_is_caught() {
    let path = "crates/quorate-algorithms/src/mutex/lamport.rs";
    assert_tidy(path, HEADER);
    assert_broken(path, &HEADER.replace("//! - **Costs**: nothing.\n", ""), "**Costs**");
    assert_broken(path, &HEADER.replace(": nothing.", ":"), "**Costs**");
    let too_late =
        format!("{}\nuse x;\n//! - **Assumes**: little.\n", HEADER.replace("**Assumes**", ""));
    assert_broken(path, &too_late, "**Assumes**");
}

#[test]
fn only_the_modules_of_a_family_need_a_header() {
    for path in ["lib.rs", "mutex/mod.rs", "mutex/quorum/ballot.rs"] {
        assert_tidy(&format!("crates/quorate-algorithms/src/{path}"), "");
    }
}

#[test]
fn a_file_that_is_too_long_is_caught() {
    assert_tidy("crates/a/src/lib.rs", &"\n".repeat(LINES_MAX));
    assert_broken("crates/a/src/lib.rs", &"\n".repeat(LINES_MAX + 1), "701 lines");
    assert_tidy("crates/a/src/generated/lib.rs", &"\n".repeat(LINES_MAX + 1));
    assert_tidy("docs/long.md", &"\n".repeat(LINES_MAX + 1));
}

#[test]
fn left_over_markers_are_caught() {
    for marker in LEFT_OVER_MACROS {
        assert_broken(
            "a.rs",
            &format!("fn f() {{\n    {marker})\n}}\n"),
            "a.rs:2: left-over marker",
        );
        assert_tidy("a.rs", &format!("my_{marker})"));
    }
    for word in LEFT_OVER_WORDS {
        assert_broken("a.md", &format!("later ({word}: this)\n"), "a.md:1: left-over marker");
        assert_tidy("a.sh", &format!("mktemp a.{word}{word}\n"));
    }
}

#[test]
fn paths_of_one_machine_are_caught() {
    for path in MACHINE_PATHS {
        for line in [
            format!("{path}ana/x"),
            format!("a = \"{path}x\""),
            format!("file://{path}x"),
            format!("C:{path}x"),
        ] {
            assert_broken("a.md", &line, "a.md:1: a path of one machine");
        }
        for line in
            [format!("https://a.org{path}x"), format!("..{path}x"), format!("${{DIR}}{path}x")]
        {
            assert_tidy("a.md", &line);
        }
    }
}

#[test]
fn a_test_ignored_without_a_reason_is_caught() {
    for attribute in ["[ignore]", "[ignore = \"\"]", "[cfg_attr(miri, ignore)]"] {
        assert_broken("a.rs", &format!("#[test]\n    #{attribute}\n"), "a.rs:2: an ignored test");
    }
    for attribute in [
        "[ignore = \"takes an hour\"]",
        "[cfg_attr(miri, ignore = \"no files\")]",
        "[cfg_attr(a, b)]",
    ] {
        assert_tidy("a.rs", &format!("#{attribute}\n"));
    }
}

#[test]
fn a_scenario_without_a_comment_is_caught() {
    let path = "scenarios/mutex/a-displaced-head-is-told.toml";
    assert_tidy(path, "# Look at step 4.\nseed = 1\n");
    assert_broken(path, "seed = 1\n# Look at step 4.\n", "starts with a comment");
}

#[test]
fn a_scenario_with_a_crooked_name_is_caught() {
    for name in ["Two-words", "two_words", "two--words", "-two", "two words"] {
        assert_broken(&format!("scenarios/mutex/{name}.toml"), "# Why.\n", "lower-case words");
    }
    assert_tidy("scenarios/two-of-3.toml", "# Why.\n");
}

#[test]
fn problems_come_sorted_by_place() {
    let bad = |path: &str| TextFile {
        path: path.to_owned(),
        text: format!("\n{0}\n{0}\n", LEFT_OVER_WORDS[0]),
    };
    let places: Vec<_> =
        problems(&[bad("b.md"), bad("a.md")]).into_iter().map(|p| (p.path, p.line)).collect();
    assert!(places.len() == 4 && places.is_sorted(), "{places:?}");
}
