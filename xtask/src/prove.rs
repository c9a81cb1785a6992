//! `cargo xtask prove`: proves the quorum mutex and its quorum systems, and refutes mutants of the mutex.
//!
//! The proofs are the Python programs of `proofs/`. They need Python 3.10 or newer and the solver z3, which is installed
//! below the target directory when it is missing there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::cargo::target_directory;
use crate::programs::{is_installed, succeeds};

const PYTHON: &str = "python3";
const REQUIREMENTS: &str = "proofs/requirements.txt";

/// Exit code of Python's `argparse` for options that it does not know.
const USAGE_ERROR: i32 = 2;

/// A program of `proofs/` with its arguments.
struct Proof {
    title: &'static str,
    arguments: &'static [&'static str],
}

const PROOFS: [Proof; 3] = [
    Proof { title: "quorum systems are monotone", arguments: &["proofs/monotone.py"] },
    Proof { title: "settled quorums exclude", arguments: &["proofs/settled_quorums.py"] },
    Proof {
        title: "every mutant lets two processes in",
        arguments: &["proofs/settled_quorums.py", "--mutants"],
    },
];

/// Runs all proofs, with further options such as `--seed 7` for each of them, and prints a summary. Returns whether all of
/// them succeed.
pub(crate) fn run(root: &Path, options: &[&str]) -> io::Result<bool> {
    let python = Python::with_solver(root)?;
    let mut summary = Vec::new();
    let mut passed = true;
    for proof in &PROOFS {
        let mut command = python.command(root);
        let (code, seconds) = timed(command.args(proof.arguments).args(options))?;
        if code == Some(USAGE_ERROR) {
            return Err(io::Error::other("the proofs do not know one of these options"));
        }
        let proved = code == Some(0);
        let verdict = if proved { "proved" } else { "FAILED" };
        summary.push(format!("{:<36} {verdict}  {seconds:.1} s", proof.title));
        passed &= proved;
        println!();
    }
    println!("{}", summary.join("\n"));
    Ok(passed)
}

#[expect(clippy::disallowed_methods, reason = "a person wants to know how long a proof took")]
fn timed(command: &mut Command) -> io::Result<(Option<i32>, f64)> {
    let start = Instant::now();
    let code = command.status()?.code();
    Ok((code, start.elapsed().as_secs_f64()))
}

/// A Python interpreter, and the folder with the packages that it needs if it has no environment of its own.
struct Python {
    program: PathBuf,
    packages: Option<PathBuf>,
}

impl Python {
    /// Installs the solver, unless these requirements are installed already. A system without the module `venv` gets the
    /// packages in a folder instead.
    fn with_solver(root: &Path) -> io::Result<Self> {
        if !is_installed(PYTHON) {
            return Err(io::Error::other(format!("the proofs need `{PYTHON}`; is it installed?")));
        }
        let folder = target_directory(root).join("proofs");
        let (environment, packages) = (folder.join("environment"), folder.join("packages"));
        let in_environment = Self { program: environment.join("bin/python"), packages: None };
        let with_packages = Self { program: PYTHON.into(), packages: Some(packages.clone()) };
        let requirements = fs::read_to_string(root.join(REQUIREMENTS))?;
        let installed = folder.join("installed.txt");
        if fs::read_to_string(&installed).is_ok_and(|text| text == requirements) {
            let exists = in_environment.program.exists();
            return Ok(if exists { in_environment } else { with_packages });
        }
        fs::create_dir_all(&folder)?;
        eprintln!("    installing {}", requirements.trim_end());
        let mut venv = Command::new(PYTHON);
        venv.args(["-m", "venv", "--clear"]).arg(&environment);
        let python = if succeeds(venv.stdout(Stdio::null()))? {
            in_environment
        } else {
            // A failed attempt leaves an environment without pip.
            fs::remove_dir_all(&environment).or_else(ignore_missing)?;
            with_packages
        };
        python.install(root)?;
        fs::write(installed, requirements)?;
        Ok(python)
    }

    fn install(&self, root: &Path) -> io::Result<()> {
        let mut pip = self.command(root);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.args(["--requirement", REQUIREMENTS]);
        if let Some(packages) = &self.packages {
            pip.arg("--upgrade").arg("--target").arg(packages);
        }
        if succeeds(&mut pip)? {
            return Ok(());
        }
        let why = "cannot install the solver; proofs/README.md lists what the proofs need";
        Err(io::Error::other(why))
    }

    /// A command of this interpreter. It writes no compiled files to the work tree.
    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(root).arg("-B");
        if let Some(packages) = &self.packages {
            command.env("PYTHONPATH", packages);
        }
        command
    }
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
        for proof in &PROOFS {
            assert!(root.join(proof.arguments[0]).is_file(), "{}", proof.title);
        }
        assert!(root.join(REQUIREMENTS).is_file());
    }
}
