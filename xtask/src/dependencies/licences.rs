//! Licences of the crates in the program: which are allowed, and their texts.

use std::fmt::Write as _;
use std::fs;
use std::io;

use super::Dependency;

/// Licences that are compatible with MIT and Apache-2.0 for a program that is given away as a binary.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Beginnings of the names of files that contain a licence or a notice that has to be passed on.
const FILES: [&str; 5] = ["COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "NOTICE"];

/// Crates whose licence is not allowed, one line each.
pub(crate) fn problems(dependencies: &[Dependency]) -> Vec<String> {
    let refused = dependencies.iter().filter(|dependency| !is_allowed(&dependency.licence));
    refused
        .map(|Dependency { name, version, licence, .. }| {
            let licence = if licence.is_empty() { "none" } else { licence };
            format!("{name} {version}: licence {licence}")
        })
        .collect()
}

/// Whether the terms of an SPDX expression can be met with allowed licences. `/` is an old way to write `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = words.as_slice();
    either(&mut words) == Some(true) && words.is_empty()
}

/// Evaluates alternatives; `None` if the expression is malformed, as in the functions below.
fn either(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = both(words)?;
    while let ["OR", rest @ ..] = words {
        *words = rest;
        allowed |= both(words)?;
    }
    Some(allowed)
}

fn both(words: &mut &[&str]) -> Option<bool> {
    let mut allowed = one(words)?;
    while let ["AND", rest @ ..] = words {
        *words = rest;
        allowed &= one(words)?;
    }
    Some(allowed)
}

fn one(words: &mut &[&str]) -> Option<bool> {
    match words {
        ["(", rest @ ..] => {
            *words = rest;
            let allowed = either(words)?;
            let [")", rest @ ..] = words else { return None };
            *words = rest;
            Some(allowed)
        }
        [licence, "WITH", exception, rest @ ..] => {
            let licence = format!("{licence} WITH {exception}");
            *words = rest;
            Some(ALLOWED.contains(&licence.as_str()))
        }
        [licence, rest @ ..] => {
            let allowed = ALLOWED.contains(licence);
            *words = rest;
            Some(allowed)
        }
        [] => None,
    }
}

/// The licences of all crates of others. Equal texts appear once.
pub(crate) fn third_party_notices(dependencies: &[Dependency]) -> io::Result<String> {
    let mut page = String::from(
        "The program quorate contains these crates. Their source is at https://crates.io/crates/NAME.\n\n",
    );
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    for dependency in dependencies.iter().filter(|dependency| !dependency.is_own) {
        let Dependency { name, version, licence, .. } = dependency;
        let _ = writeln!(page, "{name} {version}: {licence}");
        for text in licence_files(dependency)? {
            let of = format!("{name} {version}");
            match texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, crates)) => crates.push(of),
                None => texts.push((text, vec![of])),
            }
        }
    }
    for (text, crates) in texts {
        let _ =
            write!(page, "\n{}\n{}:\n\n{}\n", "-".repeat(72), crates.join(", "), text.trim_end());
    }
    Ok(page)
}

/// Licence texts of a crate, in the order of their file names.
fn licence_files(dependency: &Dependency) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(&dependency.folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && FILES.iter().any(|start| name.starts_with(start)) {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    paths.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_by_allowed_licences() {
        for allowed in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT OR",
            "(MIT",
            "MIT)",
            "(GPL-3.0 OR LGPL-2.1) AND MIT",
            "Apache-2.0 WITH Other-exception",
        ] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn a_crate_with_another_licence_is_named() {
        assert_eq!(problems(&super::super::example()), ["b 0.1.0: licence GPL-3.0"]);
    }
}
