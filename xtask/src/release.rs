//! `cargo xtask release`: checks everything that a release needs, and prints what remains to be done by hand.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::cargo::Cargo;
use crate::dependencies::{of_program, problems};
use crate::manifest::Manifest;
use crate::packages::{output, version};
use crate::tree::{TextFile, text_files};

/// Packages as they would be uploaded, without compiling each of them alone. `cargo xtask release` wants a clean tree, and `verify`
/// does not.
const PACKAGE: Cargo<'_> = Cargo {
    environment: &[],
    arguments: "package --workspace --no-verify --offline --quiet --allow-dirty",
};

/// Lock files of workspaces that use ours. They contain our version.
const LOCK_FILES: [&str; 4] =
    ["Cargo.lock", "examples/own_mutex/Cargo.lock", "fuzz/Cargo.lock", "compat/Cargo.lock"];

/// Publishing order follows the dependencies, and `cargo publish --workspace` knows it.
const BY_HAND: &str = "\
by hand, after `cargo xtask test` on this commit:
  cargo xtask release --tag        creates the tag, once every check passes
  cargo xtask dist                 builds the packages of the tag, in target/dist
  cargo publish --workspace        uploads the crates, in the order of their dependencies
  git push origin TAG
";

/// Checks a release, and creates its tag with `--tag`. Returns whether everything is ready.
pub(crate) fn run(root: &Path, words: &[&str]) -> io::Result<bool> {
    let tags = match words {
        [] => false,
        ["--tag"] => true,
        [other, ..] => return Err(io::Error::other(format!("`release` does not know `{other}`"))),
    };
    let version = version(root)?;
    eprintln!("release {version}{}", if tags { "" } else { " (dry run)" });
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(root).args(arguments));
    let tag = format!("v{version}");
    let head = git(&["rev-parse", "HEAD"])?;
    let tagged = git(&["rev-list", "-n", "1", &tag]).ok();
    let changes = fs::read_to_string(root.join("CHANGELOG.md"))?;
    let mut ready = true;
    let mut report = |name: &str, problems: Vec<String>| {
        eprintln!("  {} {name}", if problems.is_empty() { "✓" } else { "✗" });
        problems.iter().for_each(|problem| eprintln!("      {problem}"));
        ready &= problems.is_empty();
    };
    let dirty = git(&["status", "--porcelain"])?;
    report("everything is committed", dirty.lines().map(str::to_owned).collect());
    let other = tagged.as_ref().filter(|tagged| **tagged != head);
    let taken = || format!("{tag} is another commit; raise the version in Cargo.toml");
    report("the tag is free", other.map(|_| taken()).into_iter().collect());
    report("the changelog has a section for the version", changelog_problems(&changes, &version));
    report("all crates have the version", version_problems(&text_files(root)?, &version));
    report("the licences of all dependencies are allowed", problems(&of_program(root)?));
    let packaged = if PACKAGE.succeeds(root)? { None } else { Some(PACKAGE.to_string()) };
    report("every crate can be packaged", packaged.into_iter().collect());
    if !tags {
        eprint!("{BY_HAND}");
    } else if ready && tagged.is_none() {
        git(&["tag", "--annotate", &tag, "--message", &format!("quorate {version}")])?;
        eprintln!("created the tag {tag}");
    }
    Ok(ready)
}

/// Runs the step `release` of verify: the checks that hold between releases too.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    let mut found = version_problems(&text_files(root)?, &version(root)?);
    found.extend(problems(&of_program(root)?));
    found.iter().for_each(|problem| eprintln!("{problem}"));
    Ok(found.is_empty() && PACKAGE.succeeds(root)?)
}

/// A released version has a section with its date, below an empty section for the next one.
fn changelog_problems(changes: &str, version: &str) -> Vec<String> {
    let sections: Vec<&str> = changes.split("\n## ").skip(1).collect();
    let mut problems = Vec::new();
    let title = |section: &str| section.lines().next().unwrap_or_default().to_owned();
    let has_entries = |section: &&str| section.lines().any(|line| line.starts_with("- "));
    let date = |text: &str| {
        let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        text.split('-').count() == 3 && text.split('-').all(digits)
    };
    let is_release = |section: &&&str| {
        let title = title(section);
        title.strip_prefix(&format!("{version} - ")).is_some_and(date)
    };
    match sections.iter().find(is_release) {
        None => problems.push(format!("CHANGELOG.md has no section `## {version} - YYYY-MM-DD`")),
        Some(section) if !has_entries(section) => {
            problems.push(format!("the section of {version} in CHANGELOG.md is empty"));
        }
        Some(_) => {}
    }
    let unreleased = sections.iter().find(|section| title(section) == "Unreleased");
    if unreleased.is_some_and(has_entries) {
        problems.push("the section Unreleased has entries that belong to the release".to_owned());
    }
    problems
}

/// Places with another version of our crates: their requirements in the workspace, and lock files.
fn version_problems(files: &[TextFile], version: &str) -> Vec<String> {
    let text =
        |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let mut problems = Vec::new();
    let manifest = Manifest::parse(text("Cargo.toml").unwrap_or_default());
    let crates = files.iter().filter_map(|file| {
        file.path
            .strip_prefix("crates/")?
            .strip_suffix("/Cargo.toml")
            .filter(|name| !name.contains('/'))
    });
    for name in crates {
        let required = manifest.value(&format!("workspace.dependencies.{name}.version"));
        if required.is_some_and(|required| required != version) {
            problems.push(format!("Cargo.toml requires {name} {}", required.unwrap_or_default()));
        }
    }
    for path in LOCK_FILES {
        for package in text(path).unwrap_or_default().split("[[package]]") {
            let value = |key: &str| {
                let start = format!("{key} = \"");
                package.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'))
            };
            let name = value("name").filter(|name| name.starts_with("quorate"));
            if let (Some(name), Some(locked)) = (name, value("version"))
                && locked != version
                && files.iter().any(|file| file.path == format!("crates/{name}/Cargo.toml"))
            {
                problems.push(format!("{path} has {name} {locked}"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_its_section_and_nothing_is_left_over() {
        let good = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-11-19\n\n- New.\n\n## 0.1.0 - 2026-01-01\n";
        assert_eq!(changelog_problems(good, "0.2.0"), Vec::<String>::new());
        for (bad, version, why) in [
            (good.to_owned(), "0.3.0", "has no section `## 0.3.0"),
            (good.to_owned(), "0.1.0", "is empty"),
            (good.replace("Unreleased\n", "Unreleased\n\n- Newer.\n"), "0.2.0", "Unreleased"),
            (good.replace("2026-11-19", "soon"), "0.2.0", "has no section"),
        ] {
            let problems = changelog_problems(&bad, version);
            assert!(problems.len() == 1 && problems[0].contains(why), "{problems:?}");
        }
    }

    #[test]
    fn another_version_is_found_in_manifests_and_lock_files() {
        let file =
            |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let lock = "[[package]]\nname = \"quorate-core\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\n";
        let files = [
            file(
                "Cargo.toml",
                "[workspace.dependencies]\nquorate-core = { path = \"p\", version = \"0.1.0\" }\n",
            ),
            file("crates/quorate-core/Cargo.toml", ""),
            file("fuzz/Cargo.lock", lock),
        ];
        assert_eq!(version_problems(&files, "0.1.0"), Vec::<String>::new());
        let problems = version_problems(&files, "0.2.0");
        assert_eq!(
            problems,
            ["Cargo.toml requires quorate-core 0.1.0", "fuzz/Cargo.lock has quorate-core 0.1.0"]
        );
    }
}
