//! `cargo xtask verify`: runs every check, cheapest first. None of them writes to the work tree.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::cargo::Cargo;
use crate::{
    compat, console, mutants, no_std, own_mutex, packages, prove, release, test_programs, tidy,
    tree,
};

/// One check, selected by its name.
pub(crate) struct Step {
    name: &'static str,
    description: &'static str,
    action: StepAction,
    hint: Option<&'static str>,
}

enum StepAction {
    Cargo(Cargo<'static>),
    Tidy,
    NoStd,
    Tests,
    Console,
    Compat,
    OwnMutex,
    Proofs,
    Mutants,
    Packages,
    CleanRoot,
    Release,
}

const STEPS: [Step; 17] = [
    Step {
        name: "fmt",
        description: "the code is formatted",
        action: StepAction::Cargo(Cargo { environment: &[], arguments: "fmt --all --check" }),
        hint: Some("`cargo xtask fix` formats it"),
    },
    Step {
        name: "tidy",
        description: "the tree keeps the house rules",
        action: StepAction::Tidy,
        hint: None,
    },
    Step {
        name: "no-std",
        description: "core and algorithms need no operating system",
        action: StepAction::NoStd,
        hint: None,
    },
    Step {
        name: "clippy",
        description: "no lint complains",
        action: StepAction::Cargo(Cargo {
            environment: &[],
            arguments: "clippy --workspace --all-targets --features quorate/png --locked -- -D warnings",
        }),
        hint: Some("`cargo xtask fix` applies what clippy can repair"),
    },
    Step {
        name: "test",
        description: "every test passes, documentation examples included",
        action: StepAction::Tests,
        hint: Some(
            "`cargo xtask fix --snapshots` accepts changed outputs, once they are understood",
        ),
    },
    Step {
        name: "console",
        description: "the page's scripts have types, and the page works in a browser",
        action: StepAction::Console,
        hint: None,
    },
    Step {
        name: "compat",
        description: "etcd's clients do with quorate what they do with etcd, but for what is listed",
        action: StepAction::Compat,
        hint: Some("`UPDATE=1 cargo xtask verify compat` writes a changed list into docs/etcd.md"),
    },
    Step {
        name: "own-mutex",
        description: "a crate outside the workspace adds an algorithm to the catalogue",
        action: StepAction::OwnMutex,
        hint: None,
    },
    Step {
        name: "packages",
        description: "the Debian package installs, and its node grants a lock; needs root",
        action: StepAction::Packages,
        hint: None,
    },
    Step {
        name: "release",
        description: "versions, licences and packages of the crates agree",
        action: StepAction::Release,
        hint: Some("`cargo xtask release` checks everything that a release needs"),
    },
    Step {
        name: "proofs",
        description: "the proofs of the algorithms succeed, and short ones fail without a rule",
        action: StepAction::Proofs,
        hint: Some("`cargo xtask prove` runs all of them, with every mutant"),
    },
    Step {
        name: "doc",
        description: "the documentation builds without warnings",
        action: StepAction::Cargo(Cargo {
            environment: &[("RUSTDOCFLAGS", "-D warnings")],
            arguments: "doc --workspace --no-deps --locked",
        }),
        hint: None,
    },
    Step {
        name: "bench",
        description: "a short slice of each benchmark runs",
        action: StepAction::Cargo(Cargo {
            environment: &[],
            arguments: "test --workspace --features quorate/png --bench deliveries --bench explorers --locked -- --quick",
        }),
        hint: None,
    },
    Step {
        name: "mutants",
        description: "a mutant of each family is noticed by a quick test; compiles a copy of the workspace for minutes",
        action: StepAction::Mutants,
        hint: Some("`cargo xtask mutants PATH` tries all mutants of a file"),
    },
    Step {
        name: "clean-root",
        description: "the Debian package installs in a fresh Debian; needs root and mmdebstrap, and downloads a minute",
        action: StepAction::CleanRoot,
        hint: None,
    },
    Step {
        name: "worlds",
        description: "the largest small worlds hold in full; minutes and some gigabytes of memory",
        action: StepAction::Cargo(Cargo {
            environment: &[("INSTA_UPDATE", "no")],
            arguments: "test --release -p quorate-lab --test leased_quorum --test settled_quorums --locked -- --ignored",
        }),
        hint: None,
    },
    Step {
        name: "engines",
        description: "the simulators and checkers of others do the same work; downloads and compiles for minutes",
        action: StepAction::Cargo(Cargo {
            environment: &[],
            arguments: "test -p quorate-bench --test engines --locked -- --ignored",
        }),
        hint: None,
    },
];

/// Steps with these names, or all steps if no name is given. Fails with the first unknown name.
pub(crate) fn choose<'a>(names: &[&'a str]) -> Result<Vec<&'static Step>, &'a str> {
    if names.is_empty() {
        return Ok(STEPS.iter().collect());
    }
    names.iter().map(|&name| STEPS.iter().find(|step| step.name == name).ok_or(name)).collect()
}

/// Steps that show whether everything works, for CI. The others take minutes each and are meant for contributors.
pub(crate) fn tests() -> Vec<&'static Step> {
    STEPS
        .iter()
        .filter(|step| {
            !["clippy", "doc", "mutants", "clean-root", "worlds", "engines"].contains(&step.name)
        })
        .collect()
}

/// Table of the steps, one per line.
pub(crate) fn list() -> String {
    let mut text = String::from("Steps of verify:\n");
    for step in &STEPS {
        let _ = writeln!(text, "  {:<10} {}", step.name, step.description);
    }
    text
}

/// Runs the steps in order until one fails, and returns whether all passed. Steps that may run beside the tests do so if both
/// are among the steps.
pub(crate) fn run(root: &Path, steps: &[&Step]) -> io::Result<bool> {
    let with_tests = steps.iter().any(|step| matches!(step.action, StepAction::Tests));
    let (beside, in_order): (Vec<&Step>, Vec<&Step>) =
        steps.iter().partition(|step| with_tests && step.action.runs_beside_tests());
    let beside: Vec<&str> = beside.iter().map(|step| step.name).collect();
    let mut total = Duration::ZERO;
    for step in in_order {
        let headline = step.action.headline(&beside);
        eprintln!("==> {}: {headline}", step.name);
        let (result, took) = timed(|| step.action.passes(root, &beside));
        if !result? {
            eprintln!("{}", failure(step, took));
            return Ok(false);
        }
        eprintln!("    {}: ok in {}", step.name, seconds(took));
        total += took;
    }
    let count = if steps.len() == 1 { "1 step" } else { &format!("{} steps", steps.len()) };
    eprintln!("verify: {count} passed in {}", seconds(total));
    Ok(true)
}

impl StepAction {
    /// Whether this uses the programs that the step `test` compiles, or waits for other programs more than it computes. Clients of
    /// etcd have timeouts of their own, so that they need the machine.
    fn runs_beside_tests(&self) -> bool {
        match self {
            Self::Console | Self::OwnMutex | Self::Proofs | Self::Packages | Self::Release => true,
            Self::Cargo(cargo) => cargo.arguments.contains("--bench "),
            Self::Tidy | Self::NoStd | Self::Tests | Self::Compat | Self::Mutants => false,
            Self::CleanRoot => false,
        }
    }

    fn headline(&self, beside: &[&str]) -> String {
        match self {
            StepAction::Cargo(cargo) => cargo.to_string(),
            StepAction::Tidy => "the house rules".to_owned(),
            StepAction::NoStd => "core and algorithms without an operating system".to_owned(),
            StepAction::Tests if beside.is_empty() => "the tests of all crates".to_owned(),
            StepAction::Tests => {
                format!("the tests of all crates; beside them {}", beside.join(", "))
            }
            StepAction::Console => "the page of the lab".to_owned(),
            StepAction::Compat => "clients of etcd".to_owned(),
            StepAction::OwnMutex => "examples/own_mutex".to_owned(),
            StepAction::Proofs => "a slice of the proofs".to_owned(),
            StepAction::Mutants => "a sample of mutants".to_owned(),
            StepAction::Packages => "the Debian package".to_owned(),
            StepAction::CleanRoot => "the Debian package in a fresh Debian".to_owned(),
            StepAction::Release => "versions, licences and packages of the crates".to_owned(),
        }
    }

    fn passes(&self, root: &Path, beside: &[&str]) -> io::Result<bool> {
        match self {
            StepAction::Cargo(cargo) => cargo.succeeds(root),
            StepAction::Tidy => Ok(report(&tidy::problems(&tree::text_files(root)?))),
            StepAction::NoStd => check_no_std(root),
            StepAction::Tests => test_programs::check(root, beside),
            StepAction::Console => console::check(root),
            StepAction::Compat => compat::check(root),
            StepAction::OwnMutex => own_mutex::check(root),
            StepAction::Proofs => prove::check(root),
            StepAction::Mutants => mutants::sample(root),
            StepAction::Packages => packages::check(root),
            StepAction::CleanRoot => packages::check_clean_root(root),
            StepAction::Release => release::check(root),
        }
    }
}

/// Prefers the compiler, which needs a target without `std`, to a scan of the sources.
fn check_no_std(root: &Path) -> io::Result<bool> {
    if let Some(target) = no_std::installed_target(root) {
        let arguments =
            format!("check -p quorate-core -p quorate-algorithms --locked --target {target}");
        let check = Cargo { environment: &[], arguments: &arguments };
        eprintln!("    {check}");
        return check.succeeds(root);
    }
    eprintln!(
        "    reading the sources; with `rustup target add {}` the compiler judges",
        no_std::USUAL_TARGET
    );
    Ok(report(&no_std::problems(&tree::text_files(root)?)))
}

fn report(problems: &[tidy::Problem]) -> bool {
    for problem in problems {
        eprintln!("{problem}");
    }
    problems.is_empty()
}

fn failure(step: &Step, took: Duration) -> String {
    let Step { name, hint, .. } = step;
    let mut text = format!(
        "error: step `{name}` failed after {}; rerun it with: cargo xtask verify {name}",
        seconds(took)
    );
    if let Some(hint) = hint {
        let _ = write!(text, "\nhint: {hint}");
    }
    text
}

#[expect(clippy::disallowed_methods, reason = "a person wants to know how long a check took")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(steps: &[&Step]) -> Vec<&'static str> {
        steps.iter().map(|step| step.name).collect()
    }

    #[test]
    fn without_a_name_every_step_is_chosen() {
        let every: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(choose(&[]).map(|steps| names(&steps)), Ok(every));
    }

    #[test]
    fn named_steps_are_chosen_in_the_order_given() {
        assert_eq!(choose(&["doc", "fmt"]).map(|steps| names(&steps)), Ok(vec!["doc", "fmt"]));
    }

    #[test]
    fn an_unknown_step_is_handed_back() {
        assert_eq!(choose(&["fmt", "frobnicate"]).map(|steps| names(&steps)), Err("frobnicate"));
    }

    #[test]
    fn the_list_names_every_step() {
        let list = list();
        assert!(STEPS.iter().all(|step| list.contains(&format!("\n  {} ", step.name))), "{list}");
    }

    #[test]
    fn a_failure_says_what_to_rerun_and_the_way_out() {
        let text = failure(&STEPS[0], Duration::from_millis(1234));
        assert_eq!(
            text,
            "error: step `fmt` failed after 1.2 s; rerun it with: cargo xtask verify fmt\n\
             hint: `cargo xtask fix` formats it"
        );
    }

    #[test]
    fn no_step_may_touch_the_lock_file() {
        for step in &STEPS {
            let StepAction::Cargo(cargo) = &step.action else { continue };
            assert!(step.name == "fmt" || cargo.arguments.contains("--locked"), "{}", step.name);
        }
    }
}
