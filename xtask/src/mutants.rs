//! `cargo xtask mutants`: removes one rule at a time and checks that a test fails.
//!
//! A mutant is a text replacement in a copy of the code. The rules of leased-quorum are removed from a package under the
//! target directory that contains only the module and its tests. With `--nodes` the rules of relays are removed from a
//! copy of the workspace, and a test of whole nodes has to fail. With `--members` the rules for changes of the voters are removed. With `--properties` the definitions of properties are
//! broken, and the tests of the simulator's monitors and of the explorer's users both have to fail. With `--quorum` the
//! rules of the quorum mutex over views are removed, and a small world has to fail. With `--conformance` rules of the quorum mutex
//! are removed, and trace validation has to notice; with `--conformance-locks`, rules of leased-quorum. A mutant that survives is an
//! untested rule.
//!
//! With a path it tries generated mutants instead, see [`generated`].

mod conformance_rules;
mod generated;
mod members_rules;
mod node_rules;
mod property_rules;
mod quorum_rules;
mod rules;
mod with_timeout;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{env, fs};

use crate::cargo::target_directory;
use crate::tree::synchronise;

/// A rule, and the replacement that breaks it.
struct Rule {
    /// Short name for the command line.
    name: &'static str,
    /// File in the source directory of the target.
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Code whose rules are broken.
struct MutationTarget {
    rules: &'static [Rule],
    /// Names of the rules that are broken by default, if not all of them are.
    by_default: Option<&'static [&'static str]>,
    /// Source directory in the workspace.
    source: &'static str,
    /// Source directory in the copy.
    copied: &'static str,
    /// Name of the copy's directory.
    folder: &'static str,
    /// Test suites, fastest first: a name, and the arguments of `cargo test`.
    suites: &'static [(&'static str, &'static [&'static str])],
    /// Default number of storms per configuration; `--storms` overrides it.
    storms: &'static str,
    /// Whether every suite has to notice, and not only one.
    every_suite: bool,
    /// Whether a mutant that exceeds the timeout counts as caught.
    may_hang: bool,
    /// Rules that no suite can notice, with the reason.
    unnoticed: &'static [(&'static str, &'static str)],
}

/// The state machines of leased-quorum. The tests of single rules take longer to compile than to run, so they are
/// compiled without optimisation.
const LEASED_QUORUM: MutationTarget = MutationTarget {
    rules: rules::RULES,
    by_default: None,
    source: "crates/quorate-algorithms/src/mutex/leased_quorum",
    copied: "src/mutex/leased_quorum",
    folder: "mutants",
    suites: &[
        ("rules", &["--test", "leased_quorum_rules"]),
        ("storm", &["--release", "--test", "leased_quorum_storm"]),
    ],
    storms: "1500",
    every_suite: false,
    may_hang: true,
    unnoticed: &[],
};

/// The same state machines while the voters change.
const MEMBERS: MutationTarget = MutationTarget {
    rules: members_rules::RULES,
    suites: &[
        ("rules", &["--test", "leased_quorum_rules"]),
        ("storm", &["--release", "--test", "leased_quorum_storm", "changing"]),
    ],
    storms: "20000",
    unnoticed: members_rules::UNNOTICED,
    ..LEASED_QUORUM
};

/// The tests of the service are not optimised otherwise. Hundreds of storms take longer than the compiler then.
const OPTIMISED: &str = "profile.test.package.quorate-service.opt-level=1";

/// Relays in nodes of the lock service.
const RELAYS: MutationTarget = MutationTarget {
    rules: node_rules::RULES,
    by_default: None,
    source: "crates/quorate-service/src/core",
    copied: "crates/quorate-service/src/core",
    folder: "mutants-nodes",
    suites: &[
        ("nodes", &["--config", OPTIMISED, "-p", "quorate-service", "--lib", "core::cluster"]),
        ("storm", &["--config", OPTIMISED, "-p", "quorate-service", "--lib", "storm"]),
    ],
    storms: "300",
    every_suite: false,
    may_hang: true,
    unnoticed: &[],
};

/// Definitions of properties. The simulator's monitors and the explorer's users both use them, so both have to notice.
const PROPERTIES: MutationTarget = MutationTarget {
    rules: property_rules::RULES,
    by_default: None,
    source: "crates/quorate-core/src/definition",
    copied: "crates/quorate-core/src/definition",
    folder: "mutants-properties",
    suites: &[
        ("simulator", &["-p", "quorate-sim", "--lib", "monitor::definitions"]),
        ("explorer", &["-p", "quorate-check", "--lib", "users"]),
    ],
    storms: "0",
    every_suite: true,
    may_hang: true,
    unnoticed: &[],
};

/// The quorum mutex over views, its agreement on crashes, and a quorum system.
const QUORUM: MutationTarget = MutationTarget {
    rules: quorum_rules::RULES,
    by_default: None,
    source: "crates",
    copied: "crates",
    folder: "mutants-quorum",
    suites: &[
        ("rules", &["-p", "quorate-algorithms", "--lib", "mutex::"]),
        ("worlds", &["-p", "quorate-lab", "--test", "settled_quorums"]),
    ],
    storms: "0",
    every_suite: false,
    may_hang: true,
    unnoticed: &[],
};

/// Ten thousand runs take minutes with debug assertions, and twice as long with the usual optimisation of tests.
const UNCHECKED: &str = "profile.test.debug-assertions=false";
const FAST_CHECKER: &str = "profile.test.package.quorate-check.opt-level=3";

/// The quorum mutex, whose steps have to be those of its proved model. The number of storms is the number of runs.
const CONFORMANCE: MutationTarget = MutationTarget {
    rules: conformance_rules::RULES,
    by_default: None,
    source: "crates",
    copied: "crates",
    folder: "mutants-conformance",
    suites: &[(
        "trace validation",
        &[
            "--config",
            UNCHECKED,
            "--config",
            FAST_CHECKER,
            "-p",
            "quorate-check",
            "--test",
            "conformance",
        ],
    )],
    storms: "10000",
    every_suite: false,
    may_hang: false,
    unnoticed: conformance_rules::UNNOTICED,
};

/// Leased-quorum, whose steps have to be those of the proved model of the locks. There is a run for each twenty storms.
const CONFORMANCE_LOCKS: MutationTarget = MutationTarget {
    rules: rules::RULES,
    by_default: Some(conformance_rules::OF_LOCKS),
    source: LEASED_QUORUM.source,
    copied: LEASED_QUORUM.source,
    folder: "mutants-conformance-locks",
    suites: &[
        (
            "trace validation of storms",
            &[
                "--config",
                UNCHECKED,
                "--config",
                FAST_CHECKER,
                "-p",
                "quorate-check",
                "--test",
                "locks_conformance",
            ],
        ),
        (
            "trace validation of the simulator",
            &[
                "--config",
                UNCHECKED,
                "--config",
                FAST_CHECKER,
                "-p",
                "quorate-check",
                "--test",
                "conformance",
                "leased",
            ],
        ),
    ],
    storms: "10000",
    every_suite: false,
    may_hang: false,
    unnoticed: &[],
};

/// Default timeout of one test suite, in seconds; `--timeout` overrides it. A rule may be what ends a loop, or what lets
/// the storm make progress, so a mutant that takes longer counts as caught.
const TIMEOUT_SECONDS: u64 = 300;

pub(crate) fn run(root: &Path, words: &[&str]) -> io::Result<ExitCode> {
    if words == ["--sample"] {
        let passed = sample(root)?;
        println!(
            "{}",
            if passed { "the sample is caught" } else { "not all of the sample is caught" }
        );
        return Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    // No rule has a slash in its name.
    if words.iter().any(|word| word.starts_with("crates/")) {
        return generated::run(root, words);
    }
    let (target, limits, names) = parse(words)?;
    let copy = Package::create(root, target)?;
    let whole = copy.test(&limits)?;
    println!("without a mutation: {}", whole.text());
    if !matches!(whole, MutantOutcome::Passed) {
        return Ok(ExitCode::FAILURE);
    }
    let mut survivors = Vec::new();
    let chosen = |rule: &&Rule| match names.as_slice() {
        [] => target.by_default.is_none_or(|names| names.contains(&rule.name)),
        names => names.contains(&rule.name),
    };
    for rule in target.rules.iter().filter(chosen) {
        copy.mutate(rule)?;
        let outcome = copy.test(&limits)?;
        println!("{:<48} {}", rule.name, outcome.text());
        let is_caught = outcome.is_caught()
            && (target.may_hang || !matches!(outcome, MutantOutcome::TimedOut(_)));
        let reason = target.unnoticed.iter().find(|(name, _)| *name == rule.name);
        match reason {
            Some((_, reason)) if !is_caught => println!("{:<48} {reason}", ""),
            _ if !is_caught => survivors.push(rule.name),
            _ => {}
        }
        copy.restore(rule)?;
    }
    if survivors.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("not caught: {}", survivors.join(", "));
    Ok(ExitCode::FAILURE)
}

/// Tries a fixed sample of mutants of all families, for `verify`. Returns whether the quick tests of the algorithms catch all
/// of them.
pub(crate) fn sample(root: &Path) -> io::Result<bool> {
    generated::sample::check(root)
}

/// Amount of testing per mutant.
struct TestLimits<'a> {
    /// Number of storms per configuration. With 0 the storm is skipped.
    storms: &'a str,
    timeout: Duration,
}

/// Parses the options and the names of the rules to break.
fn parse<'a>(
    words: &[&'a str],
) -> io::Result<(&'static MutationTarget, TestLimits<'a>, Vec<&'a str>)> {
    let target = match words {
        _ if words.contains(&"--nodes") => &RELAYS,
        _ if words.contains(&"--members") => &MEMBERS,
        _ if words.contains(&"--properties") => &PROPERTIES,
        _ if words.contains(&"--quorum") => &QUORUM,
        _ if words.contains(&"--conformance") => &CONFORMANCE,
        _ if words.contains(&"--conformance-locks") => &CONFORMANCE_LOCKS,
        _ => &LEASED_QUORUM,
    };
    let mut limits =
        TestLimits { storms: target.storms, timeout: Duration::from_secs(TIMEOUT_SECONDS) };
    let mut names = Vec::new();
    let targets = [
        "--nodes",
        "--members",
        "--properties",
        "--quorum",
        "--conformance",
        "--conformance-locks",
    ];
    let mut words = words.iter().filter(|word| !targets.contains(*word));
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().copied().filter(|value| value.parse::<u64>().is_ok());
            value.ok_or_else(|| io::Error::other(format!("`{word}` needs a number")))
        };
        match *word {
            "--storms" => limits.storms = number()?,
            "--timeout" => {
                let seconds = number()?.parse().unwrap_or(TIMEOUT_SECONDS);
                limits.timeout = Duration::from_secs(seconds);
            }
            name => names.push(name),
        }
    }
    let unknown = names.iter().find(|name| target.rules.iter().all(|rule| rule.name != **name));
    if let Some(unknown) = unknown {
        let known: Vec<&str> = target.rules.iter().map(|rule| rule.name).collect();
        let text = format!("there is no rule `{unknown}`; rules: {}", known.join(", "));
        return Err(io::Error::other(text));
    }
    Ok((target, limits, names))
}

enum MutantOutcome {
    Passed,
    /// The suite that failed, and its first error message.
    Caught(&'static str, String),
    /// The suite that exceeded the timeout.
    TimedOut(&'static str),
    /// The suite that passes although another one fails, where every suite has to fail.
    Missed(&'static str),
    DoesNotCompile(String),
}

impl MutantOutcome {
    fn is_caught(&self) -> bool {
        matches!(self, Self::Caught(..) | Self::TimedOut(_))
    }

    fn text(&self) -> String {
        match self {
            Self::Passed => "passes".to_owned(),
            Self::Caught(suite, how) => format!("caught by the {suite}: {how}"),
            Self::TimedOut(suite) => format!("exceeds the timeout of the {suite}"),
            Self::Missed(suite) => format!("not caught by the {suite}"),
            Self::DoesNotCompile(error) => format!("does not compile: {error}"),
        }
    }
}

/// Copy of the code in which rules are broken.
struct Package {
    target: &'static MutationTarget,
    original: PathBuf,
    folder: PathBuf,
}

impl Package {
    fn create(root: &Path, target: &'static MutationTarget) -> io::Result<Self> {
        let is_module = target.copied == LEASED_QUORUM.copied;
        let folder = target_directory(root).join(target.folder);
        match is_module {
            true => copy_module(root, &folder)?,
            false => copy_workspace(root, &folder)?,
        }
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        Ok(Self { target, original: root.join(target.source), folder })
    }

    fn mutate(&self, rule: &Rule) -> io::Result<()> {
        let text = fs::read_to_string(self.original.join(rule.file))?;
        if text.matches(rule.from).count() != 1 {
            let why = format!("{}: its text is not in {} exactly once", rule.name, rule.file);
            return Err(io::Error::other(why));
        }
        fs::write(self.copied(rule), text.replacen(rule.from, rule.to, 1))
    }

    fn restore(&self, rule: &Rule) -> io::Result<()> {
        fs::copy(self.original.join(rule.file), self.copied(rule)).map(drop)
    }

    fn copied(&self, rule: &Rule) -> PathBuf {
        self.folder.join(self.target.copied).join(rule.file)
    }

    /// Runs the suites until one of them fails, or all of them if every one has to notice.
    fn test(&self, limits: &TestLimits<'_>) -> io::Result<MutantOutcome> {
        let (mut caught, mut missed) = (None, None);
        for (suite, arguments) in self.target.suites {
            if *suite == "storm" && limits.storms == "0" {
                continue;
            }
            match self.run_suite(suite, arguments, limits)? {
                MutantOutcome::Passed => missed = Some(MutantOutcome::Missed(suite)),
                outcome if outcome.is_caught() && self.target.every_suite => caught = Some(outcome),
                outcome => return Ok(outcome),
            }
        }
        let every_suite = self.target.every_suite;
        let missed = missed.filter(|_| every_suite && caught.is_some());
        Ok(missed.or(caught).unwrap_or(MutantOutcome::Passed))
    }

    fn run_suite(
        &self,
        suite: &'static str,
        arguments: &[&str],
        limits: &TestLimits<'_>,
    ) -> io::Result<MutantOutcome> {
        // Compiling does not count towards the limit.
        let mut build = self.cargo(limits, arguments);
        let build = build.arg("--no-run").output()?;
        if !build.status.success() {
            return Ok(MutantOutcome::DoesNotCompile(first_error(&build.stderr)));
        }
        let output = self.folder.join("output.txt");
        let Some(status) =
            with_timeout::run(&mut self.cargo(limits, arguments), limits.timeout, &output)?
        else {
            return Ok(MutantOutcome::TimedOut(suite));
        };
        if status.success() {
            return Ok(MutantOutcome::Passed);
        }
        let text = fs::read(&output)?;
        Ok(MutantOutcome::Caught(suite, first_panic(&String::from_utf8_lossy(&text))))
    }

    fn cargo(&self, limits: &TestLimits<'_>, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", self.folder.join("target"));
        cargo.env("QUORATE_STORMS", limits.storms).env("RUST_BACKTRACE", "0");
        // A number of states that differs from the expected one does not count as noticed.
        cargo.env("INSTA_UPDATE", "no").env("INSTA_FORCE_PASS", "1");
        cargo.env_remove("RUSTFLAGS").args(["test", "--quiet"]).args(arguments);
        cargo
    }
}

/// Creates a package of the module of leased-quorum and its tests.
fn copy_module(root: &Path, folder: &Path) -> io::Result<()> {
    let algorithms = root.join("crates/quorate-algorithms");
    let (original, copy) = (algorithms.join("src/mutex"), folder.join("src/mutex"));
    synchronise(&original.join("leased_quorum"), &copy.join("leased_quorum"))?;
    // The process of the catalogue needs the rest of the crate, and the tests do not need the process.
    let module = fs::read_to_string(original.join("leased_quorum.rs"))?;
    let needed = |line: &&str| !line.contains(" process") && !line.contains(" wire");
    let module: Vec<&str> = module.lines().filter(needed).collect();
    fs::write(copy.join("leased_quorum.rs"), module.join("\n"))?;
    for tests in ["tests/leased_quorum_rules", "tests/leased_quorum_storm"] {
        synchronise(&algorithms.join(tests), &folder.join(tests))?;
    }
    let rules = "tests/leased_quorum_rules.rs";
    fs::copy(algorithms.join(rules), folder.join(rules))?;
    let core = root.join("crates/quorate-core");
    let manifest = format!(
        "[package]\nname = \"quorate-algorithms\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [features]\nserde = []\n\n[dependencies]\nquorate-core = {{ path = {core:?} }}\n\
         thiserror = {{ version = \"2\", default-features = false }}\n\n\
         [dev-dependencies]\ninsta = \"1\"\n\n[workspace]\n\n[profile.dev]\ndebug = false\n\n\
         [profile.release]\ndebug-assertions = true\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let library = "#![no_std]\nextern crate alloc;\n#[cfg(test)]\nextern crate std;\n\
                   pub mod mutex {\n    pub mod leased_quorum;\n}\n";
    fs::write(folder.join("src/lib.rs"), library)
}

fn copy_workspace(root: &Path, folder: &Path) -> io::Result<()> {
    let mut parts = ["crates", "xtask", "Cargo.toml"].into_iter();
    parts.try_for_each(|part| synchronise(&root.join(part), &folder.join(part)))
}

fn first_error(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let is_error = |line: &&str| line.starts_with("error[") || line.starts_with("error:");
    text.lines().find(is_error).unwrap_or("no message").to_owned()
}

/// Name and message of the first test that panicked.
fn first_panic(output: &str) -> String {
    let mut lines = output.lines().skip_while(|line| !line.contains("panicked at"));
    let test = lines.next().and_then(|line| line.split('\'').nth(1)).unwrap_or("unknown test");
    format!("{test}: {}", lines.next().unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_own_name_and_is_in_the_code_once() {
        let targets = [&LEASED_QUORUM, &MEMBERS, &RELAYS, &PROPERTIES, &QUORUM, &CONFORMANCE];
        for target in targets.into_iter().chain([&CONFORMANCE_LOCKS]) {
            for name in target.by_default.into_iter().flatten() {
                assert!(target.rules.iter().any(|rule| rule.name == *name), "{name}");
            }
            let (module, rules) = (crate::root().join(target.source), target.rules);
            for (index, rule) in rules.iter().enumerate() {
                let before = &rules[..index];
                assert!(before.iter().all(|other| other.name != rule.name), "{}", rule.name);
                let text =
                    fs::read_to_string(module.join(rule.file)).expect("a file of the module");
                assert_eq!(text.matches(rule.from).count(), 1, "{} in {}", rule.name, rule.file);
                assert_ne!(rule.from, rule.to, "{}", rule.name);
            }
        }
    }

    #[test]
    fn the_first_panic_names_its_test() {
        let output = "running 2 tests\n\nthread 'a_rule' (7) panicked at tests/a.rs:1:1:\n\
                      it is broken\nnote: more\n\nthread 'b_rule' (8) panicked at b.rs:1:1:\nit too\n";
        assert_eq!(first_panic(output), "a_rule: it is broken");
    }
}
