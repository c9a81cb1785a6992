//! `cargo xtask timings`: builds from nothing and prints where the time goes, so that a regression is seen.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use crate::cargo::{Cargo, target_directory};

/// The build that is timed: the program as the README builds it, or everything that the tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    Release,
    Tests,
}

/// Number of units that are listed.
const LISTED: usize = 25;

/// Builds into an empty folder below the target directory, prints a table, and returns whether the build succeeded.
#[expect(clippy::disallowed_methods, reason = "the time of a build is what is measured")]
pub(crate) fn run(root: &Path, build: Build) -> io::Result<bool> {
    let target = target_directory(root).join("timings");
    match fs::remove_dir_all(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (arguments, goal) = match build {
        Build::Release => {
            ("build --release --locked -p quorate --timings", "at most 180 s on two cores")
        }
        Build::Tests => (
            "test --workspace --features quorate/png --locked --no-run --timings",
            "CI under 10 minutes",
        ),
    };
    let target = target.to_string_lossy();
    let cargo = Cargo { environment: &[("CARGO_TARGET_DIR", &target)], arguments };
    eprintln!("==> {cargo}");
    let start = Instant::now();
    if !cargo.succeeds(root)? {
        return Ok(false);
    }
    let took = start.elapsed().as_secs_f64();
    let report = Path::new(&*target).join("cargo-timings/cargo-timing.html");
    print!("{}", table(&units(&fs::read_to_string(&report)?), took, goal));
    println!("the whole picture: {}", report.display());
    Ok(true)
}

/// One compilation, and how long it took while others ran beside it.
#[derive(Clone, Debug, PartialEq)]
struct Unit {
    name: String,
    /// Empty for the library, otherwise such as ` (test)`.
    target: String,
    seconds: f64,
}

/// Reads the units from cargo's report: objects with one field per line.
fn units(report: &str) -> Vec<Unit> {
    let data = report.split("const UNIT_DATA = [").nth(1).unwrap_or_default();
    let data = data.split("\n];").next().unwrap_or_default();
    let mut units = Vec::new();
    let (mut name, mut target) = (String::new(), String::new());
    for line in data.lines() {
        let Some((key, value)) = line.trim().trim_end_matches(',').split_once(": ") else {
            continue;
        };
        let text = || value.trim_matches('"').trim().to_owned();
        match key {
            "\"name\"" => name = text(),
            "\"target\"" => target = text(),
            "\"duration\"" => units.push(Unit {
                name: name.clone(),
                target: target.clone(),
                seconds: value.parse().unwrap_or(0.0),
            }),
            _ => {}
        }
    }
    units
}

/// Table of the slowest units and of the sums for our crates and for dependencies.
fn table(units: &[Unit], took: f64, goal: &str) -> String {
    let mut by_unit: BTreeMap<String, f64> = BTreeMap::new();
    for unit in units {
        let label = format!("{} {}", unit.name, unit.target);
        *by_unit.entry(label.trim_end().to_owned()).or_default() += unit.seconds;
    }
    let total: f64 = units.iter().map(|unit| unit.seconds).sum();
    let is_ours = |unit: &&Unit| unit.name.starts_with("quorate") || unit.name == "xtask";
    let ours: f64 = units.iter().filter(is_ours).map(|unit| unit.seconds).sum();
    let mut slowest: Vec<(String, f64)> = by_unit.into_iter().collect();
    slowest.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut text = String::from("  seconds  share  unit\n");
    let mut row = |seconds: f64, label: &str| {
        let share = if total > 0.0 { 100.0 * seconds / total } else { 0.0 };
        let _ = writeln!(text, "{seconds:9.1} {share:5.1}%  {label}");
    };
    for (label, seconds) in slowest.iter().take(LISTED) {
        row(*seconds, label);
    }
    let rest = slowest.iter().skip(LISTED);
    row(rest.clone().map(|(_, seconds)| seconds).sum(), &format!("{} more", rest.count()));
    row(ours, "our crates");
    row(total - ours, "dependencies");
    let _ = writeln!(text, "built in {took:.0} s; goal: {goal}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"
const UNIT_DATA = [
  {
    "i": 0,
    "name": "quorate-sim",
    "version": "0.1.0",
    "mode": "run-custom-build",
    "target": " (test)",
    "start": 1.5,
    "duration": 12.25,
    "sections": null
  },
  {
    "name": "serde",
    "target": "",
    "duration": 4.0
  }
];
const CONCURRENCY_DATA = [
  { "duration": 99.0 }
];
"#;

    #[test]
    fn units_of_a_report_are_read() {
        let unit = |name: &str, target: &str, seconds| Unit {
            name: name.to_owned(),
            target: target.to_owned(),
            seconds,
        };
        assert_eq!(units(REPORT), [unit("quorate-sim", "(test)", 12.25), unit("serde", "", 4.0)]);
    }

    #[test]
    fn the_slowest_unit_is_first_and_sums_are_told() {
        let text = table(&units(REPORT), 10.0, "short");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "     12.2  75.4%  quorate-sim (test)");
        assert!(
            text.contains("      4.0  24.6%  dependencies\nbuilt in 10 s; goal: short\n"),
            "{text}"
        );
    }

    #[test]
    fn a_report_without_units_gives_an_empty_table() {
        assert!(table(&units("<html>"), 0.0, "short").contains("0 more"));
    }
}
