//! `cargo xtask torture upgrade`: the torture, with nodes and clients that begin as processes of the last release.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, target_directory};
use crate::packages::output;

/// The same profile as the present build.
const BUILD: Cargo<'static> = Cargo {
    environment: &[],
    arguments: "build --profile test --locked -p quorate-torture --target-dir",
};

/// Builds the torture of an earlier revision, the last release unless `words` begin with another one. Returns the program,
/// and the words that are left.
pub(crate) fn earlier_program<'a>(
    root: &Path,
    words: &'a [&'a str],
) -> io::Result<(PathBuf, &'a [&'a str])> {
    let (named, rest) = match words {
        [revision, rest @ ..] if !revision.starts_with('-') => (Some(*revision), rest),
        _ => (None, words),
    };
    let revision = match named {
        Some(name) => git(root, &["rev-parse", "--verify", &format!("{name}^{{commit}}")])?,
        None => last_release(root)?,
    };
    let folder = target_directory(root).join("upgrade");
    let (sources, built) = (folder.join(&revision[..12]), folder.join("target"));
    if !sources.exists() {
        unpack(root, &revision, &sources)?;
    }
    eprintln!("==> the earlier build: {revision}");
    let code = BUILD.exit_code_with(&sources, &[&built.to_string_lossy()])?;
    if code != 0 {
        return Err(io::Error::other(format!("the build of {revision} failed")));
    }
    // The next build of another revision would replace it.
    let program = sources.join("quorate-torture");
    fs::copy(built.join("debug/quorate-torture"), &program)?;
    Ok((program, rest))
}

/// The last release before the present commit: a tag `v..`, or a commit `release: VERSION`, since a copy of the repository may
/// lack the tags.
fn last_release(root: &Path) -> io::Result<String> {
    let tag = git(root, &["describe", "--tags", "--match", "v*", "--abbrev=0", "HEAD~1"]);
    let tagged = tag.and_then(|tag| git(root, &["rev-list", "-n", "1", &tag]));
    let released = || git(root, &["log", "-1", "--format=%H", "--grep=^release: [0-9]", "HEAD~1"]);
    let found = tagged.or_else(|_| released()).unwrap_or_default();
    match found.as_str() {
        "" => Err(io::Error::other(
            "there is no release before this commit; name a revision: cargo xtask torture upgrade REVISION",
        )),
        _ => Ok(found),
    }
}

/// Unpacks the sources of a revision. A folder that exists is complete.
fn unpack(root: &Path, revision: &str, to: &Path) -> io::Result<()> {
    let partial = to.with_extension("partial");
    fs::create_dir_all(&partial)?;
    let archive = Command::new("git")
        .current_dir(root)
        .args(["archive", revision])
        .stdout(Stdio::piped())
        .spawn()?;
    let archive = archive.stdout.ok_or_else(|| io::Error::other("git has no output"))?;
    output(Command::new("tar").arg("-x").current_dir(&partial).stdin(archive))?;
    fs::rename(partial, to)
}

fn git(root: &Path, arguments: &[&str]) -> io::Result<String> {
    let text = output(Command::new("git").current_dir(root).args(arguments))?;
    Ok(text.trim().to_owned())
}
