//! The README and `docs/`: transcripts are run, and pages that are generated are compared with what they are generated from.
//! `UPDATE=1 cargo test -p quorate --test documents` writes these pages.

mod support;

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use support::quorate;

/// Sources of the keys of a scenario file: title, type, source, and the beginning of its examples.
const TABLES: [(&str, &str, &str, &str); 3] = [
    (
        "Keys of the run",
        "Scenario",
        include_str!("../../quorate-sim/src/scenario/description.rs"),
        "",
    ),
    ("`[faults]`", "Faults", include_str!("../../quorate-sim/src/scenario/fault.rs"), "[faults]\n"),
    (
        "`[expect]`",
        "Expect",
        include_str!("../../quorate-sim/src/scenario/expect.rs"),
        "[expect]\n",
    ),
];

/// An example of each key. After `;;` are lines that the example needs and that the page does not show.
const EXAMPLES: &str = include_str!("support/scenario_keys.txt");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a page with the generated text, or writes it if `UPDATE` is set.
fn compare(page: &str, generated: &str) {
    let path = root().join(page);
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, generated).expect("the page can be written");
    }
    let hint = "run `UPDATE=1 cargo test -p quorate --test documents`";
    assert!(fs::read_to_string(&path).is_ok_and(|text| text == generated), "{page} is old; {hint}");
}

#[test]
fn the_documents_show_what_the_commands_print() {
    env::set_current_dir(root()).expect("the workspace is there");
    trycmd::TestCases::new().case("README.md").case("docs/*.md").run();
}

#[test]
fn the_reference_has_the_help_of_every_command() {
    let help = |arguments: &str| quorate(Path::new("."), arguments).stdout;
    let mut page = String::from(
        "# Reference of all commands\n\nThis page is generated from the help texts: `quorate COMMAND --help` prints the same.\n",
    );
    let overview = help("--help");
    let names = overview.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = names.take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !["", "help"].contains(name)).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let text = help(&format!("{name} --help"));
        let _ = write!(page, "\n## quorate {name}\n\n```text\n{}\n```\n", text.trim_end());
    }
    compare("docs/reference.md", &page);
}

/// Key and description of each field of a type, from the documentation in its source.
fn keys(name: &str, source: &str) -> Vec<(String, String)> {
    let start = format!("pub struct {name} {{");
    let lines = source.lines().skip_while(|line| *line != start).skip(1);
    let (mut keys, mut description, mut renamed) = (Vec::new(), String::new(), None);
    for line in lines.map(str::trim).take_while(|line| *line != "}") {
        if let Some(text) = line.strip_prefix("/// ") {
            description += text;
            description.push(' ');
        } else if let Some((_, rest)) = line.split_once("rename = \"") {
            renamed = rest.split('"').next().map(str::to_owned);
        } else if let Some((field, _)) =
            line.strip_prefix("pub ").and_then(|line| line.split_once(':'))
        {
            let key = renamed.take().unwrap_or_else(|| field.replace('_', "-"));
            keys.push((key, std::mem::take(&mut description).trim_end().to_owned()));
        }
    }
    keys
}

#[test]
fn every_key_of_a_scenario_file_has_an_example_that_is_accepted() {
    let mut page = String::from(
        "# Scenario files\n\nA scenario is a TOML file that `quorate replay` runs. `quorate sim --save FILE` writes one. Only `algorithm` and \
         `processes` are required. Most keys are flags of `quorate sim` as well. Times are numbers with a unit (`ns`, `us`, `ms`, `s`), \
         `?` leaves a process or a time to the seed (`?@0~9ms`), and a probability is between 0 and 1. This page is generated from \
         the types that read the file, and every example is read by a test.\n",
    );
    let mut examples: Vec<(&str, &str)> =
        EXAMPLES.lines().filter_map(|line| line.split_once(" = ")).collect();
    for (title, name, source, table) in TABLES {
        let _ = write!(page, "\n## {title}\n\n| key | meaning | example |\n|---|---|---|\n");
        for (key, description) in keys(name, source) {
            if ["faults", "expect"].contains(&key.as_str()) {
                continue;
            }
            let place = examples.iter().position(|(known, _)| *known == key);
            let place = place.unwrap_or_else(|| panic!("`{key}` of {name} has no example"));
            let (_, value) = examples.remove(place);
            let (value, needed) = value.split_once(" ;; ").unwrap_or((value, ""));
            let line = format!("{key} = {value}");
            let mut text = format!("{table}{needed}\n{line}\n");
            for (required, value) in [("processes", "5"), ("algorithm", "\"ricart-agrawala\"")] {
                if key != required {
                    text.insert_str(0, &format!("{required} = {value}\n"));
                }
            }
            if let Err(error) = quorate_sim::parse(&text, "example") {
                panic!("{error}\n{text}");
            }
            let description = description.replace('|', "\\|");
            let line = line.replace('|', "\\|");
            let _ = writeln!(page, "| `{key}` | {description} | `{line}` |");
        }
    }
    assert_eq!(examples, [], "these are not keys");
    compare("docs/scenario-files.md", &page);
}
