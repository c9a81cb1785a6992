//! `cargo xtask dist`: packages of the program for Linux on x86-64.
//!
//! ```text
//!   static binary -> contents -+-> tar.gz
//!   (or --binary)   (staging)  +-> Debian package
//!                              +-> container image (buildah or podman)
//!                              +-> bill of materials, checksums
//! ```
//!
//! The same commit gives the same bytes: times are `SOURCE_DATE_EPOCH`, or that of the commit, and names, owners and order
//! are fixed. Debian's tools do the work (tar, gzip, dpkg-deb), so that nothing has to be compiled first.

mod archive;
mod binary;
mod check;
mod contents;
mod debian;
mod image;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::target_directory;
use crate::dependencies::{bill_of_materials, of_program};
use crate::manifest::Manifest;
use contents::Contents;

pub(crate) use check::{check, check_clean_root};

/// Options of the command, in the order in which they are listed in its help.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// Packs this binary, which is not checked, and compresses quickly.
    binary: Option<PathBuf>,
    /// Folder of the packages; default: `dist` in the target directory.
    out: Option<PathBuf>,
    /// Kinds of packages; empty for all.
    only: Vec<String>,
}

/// Kinds of packages that `--only` selects.
const KINDS: [&str; 3] = ["tar", "deb", "image"];

/// Version, time and folder of the packages.
struct Release<'a> {
    root: &'a Path,
    version: String,
    /// Time that all files have, in seconds since 1970.
    time: u64,
    /// Whether packages may be large, for tests.
    quick: bool,
    out: PathBuf,
}

/// Builds the packages, with the words of the command line. Returns whether that succeeded.
pub(crate) fn run(root: &Path, words: &[&str]) -> io::Result<bool> {
    let options = Options::parse(words).map_err(io::Error::other)?;
    let out = options.out.clone().unwrap_or_else(|| target_directory(root).join("dist"));
    let release = Release::new(root, out, options.binary.is_some())?;
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => binary::build(root)?,
    };
    build(&release, &binary, |kind| {
        options.only.is_empty() || options.only.iter().any(|only| only == kind)
    })?;
    Ok(true)
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word {
                "--binary" => options.binary = Some(value()?.into()),
                "--out" => options.out = Some(value()?.into()),
                "--only" => options.only.extend(value()?.split(',').map(str::to_owned)),
                other => return Err(format!("`dist` does not know `{other}`")),
            }
        }
        match options.only.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
            Some(kind) => Err(format!("`{kind}` is not one of {}", KINDS.join(", "))),
            None => Ok(options),
        }
    }
}

impl<'a> Release<'a> {
    fn new(root: &'a Path, out: PathBuf, quick: bool) -> io::Result<Self> {
        Ok(Self { root, version: version(root)?, time: source_time(root)?, quick, out })
    }

    /// Name of the folder in the archive, and of the files that are not a package of a distribution.
    fn name(&self) -> String {
        format!("quorate-{}-x86_64-linux", self.version)
    }

    /// A command with the time of the release for programs that support reproducible builds.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SOURCE_DATE_EPOCH", self.time.to_string()).env("LC_ALL", "C").env("TZ", "UTC");
        command
    }
}

/// Builds the packages that are `wanted`, and returns their paths.
fn build(
    release: &Release<'_>,
    binary: &Path,
    wanted: impl Fn(&str) -> bool,
) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(&release.out)?;
    let dependencies = of_program(release.root)?;
    let contents = Contents::collect(release, binary, &dependencies)?;
    let mut files = Vec::new();
    if wanted("tar") {
        files.push(archive::build(release, &contents)?);
    }
    if wanted("deb") {
        files.push(debian::build(release, &contents)?);
    }
    if wanted("image") {
        files.extend(image::build(release, &contents)?);
    }
    let time = output(
        release
            .command("date")
            .args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"])
            .arg(format!("@{}", release.time)),
    )?;
    let bill = release.out.join(format!("quorate-{}.cdx.json", release.version));
    fs::write(&bill, bill_of_materials(&dependencies, time.trim()))?;
    files.push(bill);
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
    let sums = output(release.command("sha256sum").args(&names).current_dir(&release.out))?;
    fs::write(release.out.join("SHA256SUMS"), &sums)?;
    for file in &files {
        eprintln!("    {:>9}  {}", mebibytes(fs::metadata(file)?.len()), file.display());
    }
    Ok(files)
}

/// Version of all crates of the workspace.
pub(crate) fn version(root: &Path) -> io::Result<String> {
    let manifest = Manifest::parse(&fs::read_to_string(root.join("Cargo.toml"))?);
    let version = manifest.value("workspace.package.version").map(str::to_owned);
    version.ok_or_else(|| io::Error::other("Cargo.toml has no workspace.package.version"))
}

/// `SOURCE_DATE_EPOCH`, or the time of the commit.
fn source_time(root: &Path) -> io::Result<u64> {
    let time = match env::var("SOURCE_DATE_EPOCH") {
        Ok(time) => time,
        Err(_) => {
            output(Command::new("git").current_dir(root).args(["log", "-1", "--format=%ct"]))?
        }
    };
    let wrong = || io::Error::other(format!("SOURCE_DATE_EPOCH: `{}` is no time", time.trim()));
    time.trim().parse().map_err(|_| wrong())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Runs a command, and returns its output. An error names the program.
pub(crate) fn output(command: &mut Command) -> io::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot start `{program}`: {error}"))
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("`{program}` failed: {}", why.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_mistakes_are_named() {
        let options = Options::parse(&["--binary", "b", "--only", "tar,deb"]).expect("options");
        assert_eq!((options.binary, options.only.len()), (Some("b".into()), 2));
        for (words, why) in [
            (&["--binary"][..], "--binary needs a value"),
            (&["--only", "rpm"], "`rpm` is not one of tar, deb, image"),
            (&["fast"], "`dist` does not know `fast`"),
        ] {
            assert_eq!(Options::parse(words), Err(why.to_owned()));
        }
    }
}
