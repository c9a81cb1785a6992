//! `cargo xtask prove`: proves the algorithms of `proofs/`, and refutes mutants of them.
//!
//! The proofs are Python programs. They need Python 3.10 or newer and the solver z3, which is installed below the target
//! directory when it is missing there. With `--solver cvc5` the solver cvc5 is installed as well. Programs run side by
//! side, one on each core, and each prints its output when it ends.

use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::cargo::target_directory;
use crate::programs::{is_installed, succeeds};

const PYTHON: &str = "python3";

/// Files with the packages that the proofs need, without and with the second solver.
const REQUIREMENTS: &str = "proofs/requirements.txt";
const REQUIREMENTS_CVC5: &str = "proofs/requirements-cvc5.txt";

/// Exit code of Python's `argparse` for options that it does not know.
const USAGE_ERROR: i32 = 2;

/// A program of `proofs/` with its arguments.
#[derive(Debug)]
struct Proof {
    file: &'static str,
    /// Whether the program breaks the rules of the algorithm instead.
    mutants: bool,
    title: &'static str,
}

impl Proof {
    const fn new(file: &'static str, title: &'static str) -> Self {
        Self { file, mutants: false, title }
    }

    const fn mutants(file: &'static str, title: &'static str) -> Self {
        Self { file, mutants: true, title }
    }

    fn arguments(&self) -> impl Iterator<Item = &'static str> {
        [self.file].into_iter().chain(self.mutants.then_some("--mutants"))
    }
}

/// The longest first, so that no core is idle at the end.
const PROOFS: [Proof; 20] = [
    Proof::mutants("proofs/locks.py", "mutants of the locks let two in"),
    Proof::mutants("proofs/raft.py", "mutants of Raft lose an entry"),
    Proof::mutants("proofs/settled_quorums.py", "mutants of settled quorums let two in"),
    Proof::mutants("proofs/fixed_coteries.py", "mutants over fixed coteries let two in"),
    Proof::mutants("proofs/membership.py", "mutants of changes of voters let two in"),
    Proof::new("proofs/locks.py", "locks exclude, and tokens grow"),
    Proof::new("proofs/raft.py", "Raft is safe"),
    Proof::new("proofs/membership.py", "changes of voters are safe"),
    Proof::new("proofs/settled_quorums.py", "settled quorums exclude"),
    Proof::new("proofs/fixed_coteries.py", "fixed coteries exclude, with recoveries"),
    Proof::mutants("proofs/ricart_agrawala.py", "mutants of Ricart-Agrawala let two in"),
    Proof::mutants("proofs/maekawa.py", "mutants of Maekawa let two in"),
    Proof::mutants("proofs/paxos.py", "mutants of Paxos choose two values"),
    Proof::new("proofs/monotone.py", "quorum systems are monotone"),
    Proof::new("proofs/ricart_agrawala.py", "Ricart-Agrawala excludes"),
    Proof::mutants("proofs/suzuki_kasami.py", "mutants of Suzuki-Kasami let two in"),
    Proof::new("proofs/maekawa.py", "Maekawa excludes"),
    Proof::new("proofs/paxos.py", "Paxos chooses one value"),
    Proof::new("proofs/suzuki_kasami.py", "Suzuki-Kasami excludes"),
    Proof::new(MODELS, "exported models are those of the proofs"),
];

/// The program that compares the models of trace validation with the proofs, or writes them.
const MODELS: &str = "proofs/export.py";

/// Programs that CI runs: the proofs of the algorithms, without the mutants of the large ones.
fn is_in_slice(proof: &Proof) -> bool {
    let small = ["ricart_agrawala", "maekawa", "suzuki_kasami", "paxos"];
    !proof.mutants || small.iter().any(|name| proof.file.contains(name))
}

/// Runs the slice of CI. Without Python or its packages this passes, unless `QUORATE_PROOFS` is `required`. Returns whether
/// it passed.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    let required = env::var("QUORATE_PROOFS").is_ok_and(|value| value == "required");
    match Python::with(root, REQUIREMENTS) {
        Err(error) if !required => {
            eprintln!("    nothing was proved: {error}");
            Ok(true)
        }
        Err(error) => Err(error),
        Ok(_) => run(root, &["--slice"]),
    }
}

/// Runs all proofs, with further options such as `--seed 7` for each of them, and prints a summary. With the option `--slice` it runs
/// the short ones only, and with `--models` only the comparison of the exported models. Returns whether all of them succeed.
pub(crate) fn run(root: &Path, options: &[&str]) -> io::Result<bool> {
    let (slice, models) = (options.contains(&"--slice"), options.contains(&"--models"));
    let own = ["--slice", "--models"];
    let options: Vec<&str> =
        options.iter().copied().filter(|option| !own.contains(option)).collect();
    let second_solver = options.iter().any(|option| option.ends_with("cvc5"));
    let python = Python::with(root, if second_solver { REQUIREMENTS_CVC5 } else { REQUIREMENTS })?;
    let is_chosen =
        |proof: &&Proof| (!slice || is_in_slice(proof)) && (!models || proof.file == MODELS);
    let chosen = PROOFS.iter().filter(is_chosen);
    let waiting = Mutex::new(chosen.enumerate().collect::<VecDeque<_>>());
    let results = Mutex::new(Vec::new());
    let lane = || -> io::Result<()> {
        while let Some((place, proof)) = lock(&waiting).pop_front() {
            let mut command = python.command(root);
            let (output, seconds) = timed(command.args(proof.arguments()).args(&options))?;
            let mut results = lock(&results);
            print_output(&output)?;
            results.push((place, proof.title, output.status.code(), seconds));
        }
        Ok(())
    };
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().try_for_each(|lane| lane.join().expect("a lane does not panic"))
    })?;
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    if results.iter().any(|(_, _, code, _)| *code == Some(USAGE_ERROR)) {
        return Err(io::Error::other("the proofs do not know one of these options"));
    }
    results.sort_by_key(|(place, ..)| *place);
    for (_, title, code, seconds) in &results {
        let verdict = if *code == Some(0) { "proved" } else { "FAILED" };
        println!("{title:<42} {verdict}  {seconds:.1} s");
    }
    Ok(results.iter().all(|(_, _, code, _)| *code == Some(0)))
}

fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn print_output(output: &Output) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(&output.stdout)?;
    writeln!(out)?;
    io::stderr().write_all(&output.stderr)
}

#[expect(clippy::disallowed_methods, reason = "a person wants to know how long a proof took")]
fn timed(command: &mut Command) -> io::Result<(Output, f64)> {
    let start = Instant::now();
    let output = command.output()?;
    Ok((output, start.elapsed().as_secs_f64()))
}

/// A Python interpreter, and the folder with the packages that it needs if it has no environment of its own.
struct Python {
    program: PathBuf,
    packages: Option<PathBuf>,
}

impl Python {
    /// Installs the packages of this file, unless they are installed already. A system without the module `venv` gets the
    /// packages in a folder instead.
    fn with(root: &Path, file: &str) -> io::Result<Self> {
        if !is_installed(PYTHON) {
            return Err(io::Error::other(format!("the proofs need `{PYTHON}`; is it installed?")));
        }
        let name = Path::new(file).file_stem().unwrap_or_default();
        let folder = target_directory(root).join("proofs").join(name);
        let (environment, packages) = (folder.join("environment"), folder.join("packages"));
        let in_environment = Self { program: environment.join("bin/python"), packages: None };
        let with_packages = Self { program: PYTHON.into(), packages: Some(packages.clone()) };
        let requirements = fs::read_to_string(root.join(file))?;
        let installed = folder.join("installed.txt");
        if fs::read_to_string(&installed).is_ok_and(|text| text == requirements) {
            let exists = in_environment.program.exists();
            return Ok(if exists { in_environment } else { with_packages });
        }
        fs::create_dir_all(&folder)?;
        eprintln!("    installing the packages of {file}");
        let mut venv = Command::new(PYTHON);
        venv.args(["-m", "venv", "--clear"]).arg(&environment);
        let python = if succeeds(venv.stdout(Stdio::null()))? {
            in_environment
        } else {
            // A failed attempt leaves an environment without pip.
            fs::remove_dir_all(&environment).or_else(ignore_missing)?;
            with_packages
        };
        python.install(root, file)?;
        fs::write(installed, requirements)?;
        Ok(python)
    }

    fn install(&self, root: &Path, file: &str) -> io::Result<()> {
        let mut pip = self.command(root);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.args(["--requirement", file]);
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
    fn every_program_of_the_folder_is_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
        let files = fs::read_dir(root.join("proofs")).expect("the proofs");
        for file in files.map(|file| file.expect("a file of the proofs").path()) {
            let text = fs::read_to_string(&file).expect("a readable file");
            let name = format!("proofs/{}", file.file_name().expect("a name").to_string_lossy());
            let is_program = text.contains("if __name__ == \"__main__\":");
            assert!(!is_program || PROOFS.iter().any(|proof| proof.file == name), "{name}");
        }
    }

    #[test]
    fn every_program_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
        let programs = PROOFS.iter().map(|proof| proof.file);
        for file in programs.chain([REQUIREMENTS, REQUIREMENTS_CVC5]) {
            assert!(root.join(file).is_file(), "{file}");
        }
    }
}
