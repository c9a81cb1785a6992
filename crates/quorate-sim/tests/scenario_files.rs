//! Scenario files, and what is derived from them: every file of the repository, and thousands of variants of a few of them.
//!
//! A variant has one key with a value from another file, or with an unusual one. Most variants are refused, and the text of the
//! refusal is pinned like the values that are derived from an accepted one. A digest tells only that something has changed.
//! `INSTA_UPDATE=always cargo test -p quorate-sim --test scenario_files` renews the snapshots after a legitimate change.

#[path = "../../quorate-algorithms/tests/protocols/fnv.rs"]
mod fnv;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use fnv::Fnv;
use quorate_algorithms::catalogue::PROFILES;
use quorate_core::allocation::ClaimKind;
use quorate_core::{Layer, ProcessId, Property, Span, Time};
use quorate_sim::plan::Plan;
use quorate_sim::traitor::Strategy;
use quorate_sim::{Scenario, parse};

/// Values that are tried for each key, beside those of the other files.
const UNUSUAL: [&str; 16] = [
    "0",
    "1",
    "3",
    "4",
    "5",
    "-1",
    "0.5",
    "1.5",
    "1000000",
    "100000000000000000000",
    "true",
    "\"\"",
    "\"9@1ms\"",
    "\"ring\"",
    "\"complete\"",
    "[\"3@1ms\", \"3@1ms\"]",
];

/// Maximum number of values of other files that are tried for a key.
const OTHERS: usize = 14;

fn folder(path: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let entries = fs::read_dir(&root).unwrap_or_else(|error| panic!("{root:?}: {error}"));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}

/// The files with scenarios: those of the repository, and those of tests, of which many are refused. Each with its name.
fn files() -> Vec<(String, String)> {
    let own = folder("scenarios").into_iter().filter(|path| path.is_dir());
    let own = own.flat_map(|path| folder(&format!("scenarios/{}", name(&path))));
    let all = own.chain(folder("crates/quorate-lab/tests/corpus"));
    let files = all.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let read = |path: PathBuf| fs::read_to_string(&path).ok().map(|text| (name(&path), text));
    files.filter_map(read).collect()
}

fn name(path: &Path) -> String {
    path.file_name().expect("a file has a name").to_string_lossy().into_owned()
}

/// Everything that is derived from a scenario, or the text of the refusal.
fn outcome(text: &str, name: &str) -> String {
    let scenario = match parse(text, name) {
        Ok(scenario) => scenario,
        Err(error) => return error.to_string(),
    };
    let mut out = toml::to_string(&scenario).expect("a scenario can be written");
    assert_eq!(parse(&out, name).ok().as_ref(), Some(&scenario), "{name}: {out}");
    let line = |text: String| out.push_str(&text);
    derived(&scenario).into_iter().for_each(line);
    out
}

fn derived(scenario: &Scenario) -> Vec<String> {
    let n = scenario.processes;
    let mut lines = vec![
        format!("group {:?}", scenario.group()),
        format!("requests {:?}", scenario.first_requests()),
        format!("steps {:?}", scenario.step_times()),
        format!("identifications {:?}", scenario.identifications()),
        format!("until {:?} {:?}", scenario.until(false), scenario.until(true)),
        format!("patience {:?} {:?}", scenario.patience(false), scenario.patience(true)),
        format!("quiet {:?}, burst {}", scenario.quiet(), scenario.burst(10)),
        format!("permits {}, links {:?}", scenario.permits(), scenario.links()),
        format!("clocks {:?}", scenario.local_clocks()),
        format!("right {:?}", scenario.local_clocks().right(Time(3_000_000_000))),
        format!("servers {:?}, oracle {:?}", scenario.time_servers(), scenario.oracle()),
        format!("timing {:?} {:?}", scenario.timing(), scenario.delay_bound()),
        format!("delays {:?} {:?}", scenario.delay_unit(), scenario.delay_least()),
        format!("bounds {:?} {}", scenario.delay_bounds(), scenario.is_timeless()),
        format!("mean {:?} {}", scenario.delay.mean(), scenario.delay.is_constant()),
        format!("detector {}", scenario.detector_never_quiescent()),
        format!("within a millisecond {}", scenario.quiet() < Span::from_millis(1)),
    ];
    if let Some(timing) = scenario.timing {
        lines.push(format!("{} {}", timing.is_synchronous(), timing.needs_bound()));
    }
    for script in &scenario.script {
        lines.extend(script.steps.iter().map(|step| format!("{step}: {:?}", step.others())));
    }
    for process in ProcessId::all(n.min(4)) {
        lines.push(format!("neighbours {:?}", scenario.neighbours(process)));
        for kind in [ClaimKind::ReadWrite, ClaimKind::Group, ClaimKind::SomeResources] {
            let claims = (0..4).map(|number| scenario.claim(kind, process, number));
            lines.push(format!("claims {:?}", claims.collect::<Vec<_>>()));
        }
    }
    let watched = Property::of(Layer::Mutex).filter(|property| scenario.watches(*property));
    lines.push(format!("watched {:?}", watched.map(Property::id).collect::<Vec<_>>()));
    // One with a perfect detector, one with an eventual one, and one that circulates a token.
    for name in ["central", "chandra-toueg", "token-ring"] {
        let profile = PROFILES.iter().find(|profile| profile.name == name).expect("a known name");
        let suspects = scenario.has_false_suspicions(profile);
        lines.push(format!("{name} {suspects} {}", scenario.may_never_end(profile)));
    }
    for seed in [scenario.seed, 7] {
        let plan = Plan::new(&scenario.faults, n, seed);
        lines.push(format!("plan {plan:?} ends {:?}, traitors {:?}", plan.end(), plan.traitors()));
        for (_, event) in &plan.fault_events {
            lines.push(format!("{event}: {:?} {:?}", event.victim(), event.victims()));
        }
        for (_, strategy) in &plan.traitors {
            lines.extend(treatments(*strategy));
        }
    }
    lines
}

/// The treatment of the messages of a traitor whose strategy leaves nothing to chance.
fn treatments(strategy: Strategy) -> impl Iterator<Item = String> {
    let cases = (0..4).flat_map(|to| (0..4).map(move |kind| (ProcessId::new(to), kind)));
    cases.map(move |(to, kind)| format!("{to}: {:?}", strategy.fixed_treatment(to, kind)))
}

#[test]
fn files_are_read_or_refused_as_before() {
    let mut lines = String::new();
    for (name, text) in files() {
        let mut digest = Fnv::new();
        write!(digest, "{}", outcome(&text, &name)).expect("a digest takes everything");
        let _ = writeln!(lines, "{name}: {}", digest.short());
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn variants_are_read_or_refused_as_before() {
    let files = files();
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in files.iter().flat_map(|(_, text)| text.lines()) {
        if let Some((key, value)) = line.split_once(" = ").filter(|(key, _)| is_key(key)) {
            values.entry(key).or_default().insert(value);
        }
    }
    let is_base = |name: &str| BASES.contains(&name);
    let mut lines = String::new();
    for (name, text) in files.iter().filter(|(name, _)| is_base(name)) {
        for (key, values) in &values {
            let mut digest = Fnv::new();
            let step = values.len().div_ceil(OTHERS);
            for value in values.iter().step_by(step).chain(&UNUSUAL) {
                for variant in variants(text, key, value) {
                    write!(digest, "{}", outcome(&variant, name))
                        .expect("a digest takes everything");
                }
            }
            let _ = writeln!(lines, "{name} {key}: {}", digest.short());
        }
    }
    insta::assert_snapshot!(lines);
}

/// Files that are varied: different families, with faults and without.
const BASES: [&str; 4] = [
    "a-client-that-crashes-inside-is-succeeded.toml",
    "three-rounds-bear-two-crashes.toml",
    "the-best-of-several-probes-is-kept.toml",
    "neighbours-drink-from-different-bottles.toml",
];

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// The text with another value of the key, at the top and among the faults. No expectation is left.
fn variants(text: &str, key: &str, value: &str) -> [String; 2] {
    let text = text.split("[expect]").next().unwrap_or(text);
    let other = |line: &&str| !line.starts_with(&format!("{key} = "));
    let rest: Vec<&str> = text.lines().filter(other).collect();
    let rest = rest.join("\n");
    let faults = if rest.contains("[faults]") { "" } else { "\n[faults]" };
    [format!("{key} = {value}\n{rest}\n"), format!("{rest}{faults}\n{key} = {value}\n")]
}
