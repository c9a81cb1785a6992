//! `cargo xtask book`: builds the manual with mdBook, if it is installed.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::cargo::target_directory;
use crate::packages::output;
use crate::programs::{is_installed, succeeds};

/// Links that leave the manual lead to the repository.
const REPOSITORY: &str = "https://github.com/quorate/quorate/blob/main/";

/// Builds the manual in `target/book`. Returns whether that succeeded.
pub(crate) fn run(root: &Path) -> io::Result<bool> {
    if !is_installed("mdbook") {
        eprintln!(
            "mdbook is missing: `cargo install mdbook --locked` installs it; docs/ can be read without it"
        );
        return Ok(false);
    }
    let staging = target_directory(root).join("book-source");
    if staging.exists() {
        fs::remove_dir_all(&staging)?;
    }
    fs::create_dir_all(&staging)?;
    output(
        Command::new("cp")
            .arg("-R")
            .arg(root.join("docs"))
            .arg(root.join("book.toml"))
            .arg(&staging),
    )?;
    for entry in fs::read_dir(staging.join("docs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path)?;
            fs::write(&path, text.replace("](../", &format!("]({REPOSITORY}")))?;
        }
    }
    let book = target_directory(root).join("book");
    let mut build = Command::new("mdbook");
    build.arg("build").arg(&staging).arg("--dest-dir").arg(&book);
    let built = succeeds(&mut build)?;
    if built {
        eprintln!("{}", book.join("index.html").display());
    }
    Ok(built)
}
