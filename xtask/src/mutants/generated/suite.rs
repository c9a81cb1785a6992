//! Tests that run for each mutant, and the functions that each of them reaches.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cargo::clean_environment;
use crate::json::Json;
use crate::mutants::with_timeout;

/// Test programs of a crate that take seconds, besides its unit tests.
const QUICK: &[(&str, &[&str])] = &[
    (
        "quorate-algorithms",
        &["protocols", "leased_quorum_rules", "leased_quorum_storm", "lease_continuity"],
    ),
    ("quorate-net", &["bytes", "hostile", "mesh", "reload", "simulated"]),
    ("quorate-protocol", &["codec"]),
    ("quorate-sim", &["scenario_files"]),
];

/// Tests of one program that run together take at least this long, so that starting the program takes little of it.
const CHUNK: Duration = Duration::from_millis(150);

/// Timeout of a single test that is named.
const NAMED_MOST: Duration = Duration::from_secs(120);

/// The quick tests of a crate, as arguments of `cargo test`.
pub(super) fn quick_tests(package: &str) -> Vec<&'static str> {
    let programs = QUICK.iter().filter(|(name, _)| *name == package).flat_map(|(_, it)| *it);
    let arguments = programs.flat_map(|program| ["--test", program]);
    std::iter::once("--lib").chain(arguments).collect()
}

/// A compiled test program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    path: PathBuf,
    folder: PathBuf,
}

impl Program {
    /// Reads a test program from a message of cargo.
    pub(super) fn of_message(message: &Json) -> Option<Self> {
        let path = PathBuf::from(message.at(&["executable"]).text()?);
        let is_test = message.at(&["profile", "test"]) == &Json::Bool(true);
        let manifest = Path::new(message.at(&["manifest_path"]).text()?);
        let folder = manifest.parent().filter(|_| is_test)?.to_path_buf();
        Some(Self { path, folder })
    }

    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(&self.path);
        clean_environment(&mut command);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", root);
        command.env("PROPTEST_RNG_SEED", "0").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        command.env("RUST_BACKTRACE", "0").env("RUST_TEST_THREADS", "1");
        command
    }

    /// Names of the tests that are not ignored.
    fn tests(&self, root: &Path) -> io::Result<Vec<String>> {
        let names = |more: &[&str]| -> io::Result<Vec<String>> {
            let mut command = self.command(root);
            let output = command.args(["--list", "--format", "terse"]).args(more).output()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Ok(text
                .lines()
                .filter_map(|line| line.strip_suffix(": test"))
                .map(str::to_owned)
                .collect())
        };
        let ignored = names(&["--ignored"])?;
        Ok(names(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
    }
}

/// A test, and the functions that it reaches.
#[derive(Clone, Debug)]
struct Test {
    program: usize,
    name: String,
    took: Duration,
    reaches: BTreeSet<usize>,
}

/// All quick tests.
pub(super) struct Suite {
    root: PathBuf,
    programs: Vec<Program>,
    /// Tests, the quickest first.
    tests: Vec<Test>,
    /// Folder for the output of the tests.
    folder: PathBuf,
}

impl Suite {
    /// Runs every test once, without a mutant. Fails if a test fails.
    #[expect(
        clippy::disallowed_methods,
        reason = "the timeout of a mutant is a multiple of real time"
    )]
    pub(super) fn record(root: &Path, programs: Vec<Program>, folder: &Path) -> io::Result<Self> {
        let record = folder.join("reached.txt");
        let mut tests = Vec::new();
        for (number, program) in programs.iter().enumerate() {
            for name in program.tests(root)? {
                fs::write(&record, "")?;
                let mut command = program.command(root);
                command.env("QUORATE_MUTANTS_REACHED", &record).args(["--exact", &name]);
                let began = Instant::now();
                let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
                let took = began.elapsed();
                if !status.success() {
                    let text = format!("the test {name} fails without a mutant");
                    return Err(io::Error::other(text));
                }
                let text = fs::read_to_string(&record)?;
                let reaches = text.lines().filter_map(|line| line.parse().ok()).collect();
                tests.push(Test { program: number, name, took, reaches });
            }
        }
        tests.sort_by_key(|test| test.took);
        Ok(Self { root: root.to_path_buf(), programs, tests, folder: folder.to_path_buf() })
    }

    pub(super) fn count(&self) -> usize {
        self.tests.len()
    }

    /// Time that all tests take, one after the other.
    pub(super) fn took(&self) -> Duration {
        self.tests.iter().map(|test| test.took).sum()
    }

    /// Programs whose tests are named one by one.
    pub(super) fn without_record(root: &Path, programs: Vec<Program>, folder: &Path) -> Self {
        let (root, folder) = (root.to_path_buf(), folder.to_path_buf());
        Self { root, programs, tests: Vec::new(), folder }
    }

    /// Runs one test, with the mutant that the number selects.
    pub(super) fn run_test(&self, number: usize, test: &str) -> io::Result<Fate> {
        let output = self.folder.join("output.txt");
        for program in &self.programs {
            let mut command = program.command(&self.root);
            command.env("QUORATE_MUTANT", number.to_string()).args(["--exact", test]);
            match with_timeout::run(&mut command, NAMED_MOST, &output)? {
                None => return Ok(Fate::TimedOut),
                Some(status) if status.success() => {}
                Some(_) => return caught(&output),
            }
        }
        Ok(Fate::Survived)
    }

    /// Runs the tests that reach the function of a mutant until one of them fails. Jobs run at the same time.
    pub(super) fn run(&self, job: usize, number: usize, function: usize) -> io::Result<Fate> {
        let output = self.folder.join(format!("output-{job}.txt"));
        let reaching: Vec<&Test> =
            self.tests.iter().filter(|test| test.reaches.contains(&function)).collect();
        if reaching.is_empty() {
            return Ok(Fate::NotReached);
        }
        for chunk in chunks(reaching) {
            let program = &self.programs[chunk[0].program];
            let took: Duration = chunk.iter().map(|test| test.took).sum();
            let mut command = program.command(&self.root);
            command.env("QUORATE_MUTANT", number.to_string()).arg("--exact");
            command.args(chunk.iter().map(|test| &test.name));
            let limit = took * 5 + Duration::from_secs(10);
            match with_timeout::run(&mut command, limit, &output)? {
                None => return Ok(Fate::TimedOut),
                Some(status) if status.success() => {}
                Some(_) => return caught(&output),
            }
        }
        Ok(Fate::Survived)
    }
}

/// Groups tests of the same program. Each group but the last of a program takes at least [`CHUNK`].
fn chunks(tests: Vec<&Test>) -> Vec<Vec<&Test>> {
    let mut chunks: Vec<(Duration, Vec<&Test>)> = Vec::new();
    for test in tests {
        let open = chunks.iter_mut().rev().find(|(_, chunk)| chunk[0].program == test.program);
        match open {
            Some((took, chunk)) if *took < CHUNK => {
                *took += test.took;
                chunk.push(test);
            }
            _ => chunks.push((test.took, vec![test])),
        }
    }
    chunks.sort_by_key(|(took, _)| *took);
    chunks.into_iter().map(|(_, chunk)| chunk).collect()
}

fn caught(output: &Path) -> io::Result<Fate> {
    let text = fs::read(output)?;
    Ok(Fate::Caught(first_failure(&String::from_utf8_lossy(&text))))
}

/// Name of the first test that failed.
fn first_failure(output: &str) -> String {
    let failed =
        output.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    failed.unwrap_or("the end of the program").to_owned()
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A test failed.
    Caught(String),
    /// The tests took several times as long as without the mutant.
    TimedOut,
    /// All tests that reach its function pass.
    Survived,
    /// No test reaches its function.
    NotReached,
    /// It does not compile.
    DoesNotCompile,
    /// It is in a constant, or in a function that takes no alternatives.
    LeftOut,
}
