//! The step `test`: compiles all tests, then runs the test programs and the examples of the documentation side by side.
//!
//! Half of the test programs compute and the others wait for sockets and timers. One after the other, as `cargo test` runs
//! them, they leave the machine idle for half of the time. Later steps of `verify` that need what was compiled run beside them,
//! as processes of their own, for the same reason.

use std::collections::VecDeque;
use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::cargo::{self, Cargo, target_directory};

/// Property tests use the same cases every time, so that a failure recurs on the next run although it left no file behind.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("INSTA_UPDATE", "no"),
    ("PROPTEST_RNG_SEED", "0"),
    ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1"),
];

const COMPILE: Cargo<'_> = Cargo {
    environment: ENVIRONMENT,
    arguments: "test --workspace --features quorate/png --locked --no-run --message-format=json-render-diagnostics",
};

const DOCUMENTATION: &str = "test --workspace --features quorate/png --locked --doc --quiet";

/// Programs that need the whole machine: leases of two seconds lapse if nodes do not run for that long, and a thousand clients
/// that ask at once keep both cores busy.
const ALONE: [&str; 2] = ["slice", "locks"];

/// Programs that take longest. They start first, so that no core is idle at the end.
const FIRST: [&str; 12] = [
    "own-mutex",
    "console",
    "proofs",
    "contract",
    "exhaustive",
    "storms",
    "bench",
    "quorate_service",
    "python",
    "service",
    "bounds",
    "direct",
];

/// A compiled test program or another command that tests something, and where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TestProgram {
    package: String,
    name: String,
    path: PathBuf,
    arguments: Vec<String>,
    /// Folder of the package, in which its tests run.
    folder: PathBuf,
}

/// Runs every test, and the steps of these names beside them. Returns whether all passed.
pub(crate) fn check(root: &Path, steps: &[&str]) -> io::Result<bool> {
    eprintln!("    {COMPILE}");
    let Some(artifacts) = COMPILE.output(root)? else { return Ok(false) };
    let mut programs: Vec<TestProgram> = artifacts.lines().filter_map(test_program).collect();
    programs.push(TestProgram::other(root, "doc", cargo::program(), DOCUMENTATION));
    for step in steps {
        programs.push(TestProgram::other(
            root,
            step,
            env::current_exe()?,
            &format!("verify {step}"),
        ));
    }
    let rank = |program: &TestProgram| FIRST.iter().position(|name| *name == program.name);
    programs.sort_by_key(|program| rank(program).unwrap_or(FIRST.len()));
    let (alone, beside): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| ALONE.contains(&program.name.as_str()));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut failed = run_all(root, alone, 1)?;
    failed.extend(run_all(root, beside, cores + 1)?);
    if !failed.is_empty() {
        eprintln!("error: {} test programs failed: {}", failed.len(), failed.join(", "));
    }
    Ok(failed.is_empty())
}

/// Runs the programs, this many at a time. Returns the names of those that failed.
fn run_all(root: &Path, programs: Vec<TestProgram>, lanes: usize) -> io::Result<Vec<String>> {
    let outputs = target_directory(root).join("test-output");
    fs::create_dir_all(&outputs)?;
    let waiting = Mutex::new(VecDeque::from(programs));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let lane = || -> io::Result<Vec<String>> {
        let mut failed = Vec::new();
        while let Some(program) = next() {
            if !program.run(&outputs)? {
                failed.push(format!("{} {}", program.package, program.name));
            }
        }
        Ok(failed)
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        let failed = lanes.into_iter().map(|lane| lane.join().expect("a lane does not panic"));
        // All of them, before the result of the first is looked at.
        let failed: Vec<io::Result<Vec<String>>> = failed.collect();
        let failed: io::Result<Vec<Vec<String>>> = failed.into_iter().collect();
        Ok(failed?.concat())
    })
}

impl TestProgram {
    /// Another command, which runs in the folder of this program.
    fn other(root: &Path, name: &str, path: PathBuf, arguments: &str) -> Self {
        let (package, name) = ("xtask".to_owned(), name.to_owned());
        let arguments = arguments.split(' ').map(str::to_owned).collect();
        Self { package, name, path, arguments, folder: root.join("xtask") }
    }

    /// Runs the program and reports how it went, with its output if it failed.
    fn run(&self, outputs: &Path) -> io::Result<bool> {
        let path = outputs.join(format!("{}-{}.txt", self.package, self.name));
        let (status, took) = self.run_into(&path)?;
        let output = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let Self { package, name, .. } = self;
        if status.success() {
            // Other commands run several test programs.
            let result = if self.arguments.is_empty() { counts(&output) } else { "passed".into() };
            eprintln!("    {:>6.1} s  {package} {name}: {result}", took.as_secs_f64());
            return Ok(true);
        }
        eprintln!("{output}\nerror: the tests {name} of {package} failed ({status})");
        Ok(false)
    }

    #[expect(clippy::disallowed_methods, reason = "a person wants to know how long a test took")]
    fn run_into(&self, path: &Path) -> io::Result<(ExitStatus, Duration)> {
        let file = File::create(path)?;
        let mut command = Command::new(&self.path);
        cargo::clean_environment(&mut command);
        command.current_dir(&self.folder).args(&self.arguments);
        command.envs(ENVIRONMENT.iter().copied());
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("CARGO_PKG_NAME", &self.package);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let start = Instant::now();
        let status = command.status()?;
        Ok((status, start.elapsed()))
    }
}

/// Numbers of tests, from the last line of the test harness.
fn counts(output: &str) -> String {
    let result = output.lines().rev().find_map(|line| line.strip_prefix("test result: ok. "));
    let parts = result.unwrap_or("passed").split("; ");
    let parts = parts.filter(|part| !part.starts_with("0 ") && !part.starts_with("finished"));
    match parts.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "no tests".to_owned(),
        parts => parts,
    }
}

/// Reads a test program from a line of cargo's messages.
fn test_program(line: &str) -> Option<TestProgram> {
    // A target may have tests and be compiled without them, for other tests that start it.
    let profile = line.split(r#""profile":{"#).nth(1)?.split('}').next()?;
    let is_test = profile.contains(r#""test":true"#);
    let manifest = PathBuf::from(text(line, "manifest_path").filter(|_| is_test)?);
    let path = PathBuf::from(text(line, "executable")?);
    let folder = manifest.parent()?.to_path_buf();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let target = line.split(r#""target":"#).nth(1)?;
    Some(TestProgram { package, name: text(target, "name")?, path, arguments: Vec::new(), folder })
}

/// The text of a field of a JSON object. Our paths and names need no escapes.
fn text(json: &str, field: &str) -> Option<String> {
    let rest = json.split(&format!(r#""{field}":""#)).nth(1)?;
    rest.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARTIFACT: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///r/crates/quorate-net#0.1.0","manifest_path":"/r/crates/quorate-net/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"mesh","src_path":"/r/mesh.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"1","debuginfo":0,"debug_assertions":true,"overflow_checks":true,"test":true},"features":[],"filenames":["/t/mesh-1"],"executable":"/t/mesh-1","fresh":true}"#;

    #[test]
    fn test_programs_are_read_from_messages_of_cargo() {
        let program = TestProgram {
            package: "quorate-net".to_owned(),
            name: "mesh".to_owned(),
            path: "/t/mesh-1".into(),
            arguments: Vec::new(),
            folder: "/r/crates/quorate-net".into(),
        };
        assert_eq!(test_program(ARTIFACT), Some(program));
        let library = ARTIFACT.replace(r#""executable":"/t/mesh-1""#, r#""executable":null"#);
        assert_eq!(test_program(&library), None);
        let program = ARTIFACT.replace(r#""overflow_checks":true,"test":true"#, r#""test":false"#);
        assert_eq!(test_program(&program), None);
        assert_eq!(test_program(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn results_are_short() {
        let output = "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\n";
        assert_eq!(counts(output), "2 passed, 1 ignored");
        assert_eq!(counts("test result: ok. 0 passed; 0 failed"), "no tests");
    }
}
