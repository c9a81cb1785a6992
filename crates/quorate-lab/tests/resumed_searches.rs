//! A search for safety that is interrupted and continued, again and again, finds what an uninterrupted one finds.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use quorate_check::{Bounds, Budget, Progress};
use quorate_lab::exhaustive::{
    CheckConfig, CheckOutcome, CheckReport, Reductions, SafetyConfig, SafetyReport, explore,
};
use quorate_sim::Scenario;
use quorate_sim::scenario::Requesters;

fn config(algorithm: &str, n: usize, requests: u8, budget: Budget) -> CheckConfig {
    CheckConfig {
        scenario: Scenario { requesters: Requesters::All, ..Scenario::new(algorithm, n) },
        requests,
        budget,
        crashable: None,
        expirable: None,
        lease: 3,
        renewals: Some(0),
        reductions: Reductions::ALL,
        only: None,
        validate: false,
        allow_partial: false,
        safety_only: Some(SafetyConfig::default()),
        bounds: Bounds { memory: 1 << 30, depth: u32::MAX },
        threads: 2,
    }
}

/// Explores a world with these files, and stops after some blocks.
fn part(config: &CheckConfig, safety: SafetyConfig, blocks: u32) -> CheckOutcome {
    let config = CheckConfig { safety_only: Some(safety), ..config.clone() };
    let (mut left, mut last) = (blocks, None);
    let go_on = |progress: &Progress| {
        // The second pass of a search for safety finds no states. It begins again if it is interrupted.
        if last.replace(*progress) == Some(*progress) {
            return ControlFlow::Continue(());
        }
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    explore(&config, go_on).expect("it can be explored")
}

/// Explores a world in parts of some blocks. Returns the last outcome and the number of interruptions.
fn interrupted(
    config: &CheckConfig,
    file: &Path,
    blocks: u32,
    spill: Option<&Path>,
) -> (CheckOutcome, u32) {
    let (checkpoint, spill) = (Some((file.to_owned(), Duration::MAX)), spill.map(Path::to_owned));
    let (mut resume, mut interruptions) = (None, 0);
    let outcome = loop {
        let (checkpoint, spill) = (checkpoint.clone(), spill.clone());
        let outcome = part(config, SafetyConfig { spill, checkpoint, resume }, blocks);
        if outcome.report.bounded_by != Some("stopped") {
            break outcome;
        }
        (resume, interruptions) = (Some(file.to_owned()), interruptions + 1);
    };
    (outcome, interruptions)
}

/// Compares an interrupted search with an uninterrupted one. How much memory was reserved does not matter.
fn same(name: &str, config: CheckConfig) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("search");
    let whole = part(&config, SafetyConfig::default(), u32::MAX);
    let (parts, interruptions) = interrupted(&config, &file, 2, None);
    assert!(interruptions >= 2, "{name}: {interruptions} interruptions");
    let [mut whole_report, mut parts_report] = [&whole, &parts].map(|it| it.report.clone());
    for report in [&mut whole_report, &mut parts_report] {
        let facts = report.safety_only.expect("it checks only safety");
        report.safety_only = Some(SafetyReport { bytes_per_state: 0.0, ..facts });
        report.bytes = 0;
    }
    assert_eq!(whole_report, parts_report, "{name}");
    assert_eq!(whole.steps, parts.steps, "{name}");
}

#[test]
fn interruptions_change_nothing() {
    let none = Budget::default();
    let crashes = |crashes| Budget { crashes, ..none };
    same("lamport", config("lamport", 3, 1, none));
    // Identical clients, and a process that crashes for good.
    same("central with crashes", config("central", 4, 1, crashes(2)));
    // Counters that are lowered, and a process that comes back.
    same("token-ring", config("token-ring", 3, 2, none));
    same(
        "two-phase-commit",
        config("two-phase-commit", 3, 1, Budget { recoveries: 1, ..crashes(1) }),
    );
    // Timers in instants, times in messages, timers at any time.
    same("bully", config("bully", 3, 1, crashes(1)));
    same("leased-quorum", config("leased-quorum", 2, 1, none));
    let mut raft = config("raft", 2, 1, Budget { timeouts: 3, ..none });
    raft.scenario.requesters = Requesters::One;
    same("raft", raft);
    // Violations.
    same("maekawa-original", config("maekawa-original", 3, 2, none));
    same("a crash that is not tolerated", config("suzuki-kasami", 3, 1, crashes(1)));
}

#[test]
fn a_checkpoint_is_refused_by_other_searches() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("search");
    let lamport = config("lamport", 3, 1, Budget::default());
    let checkpoint = Some((file.clone(), Duration::MAX));
    part(&lamport, SafetyConfig { checkpoint, ..SafetyConfig::default() }, 3);
    let resumed = |config: &CheckConfig| {
        let resume = Some(file.clone());
        let safety_only = Some(SafetyConfig { resume, ..SafetyConfig::default() });
        explore(&CheckConfig { safety_only, ..config.clone() }, |_| ControlFlow::Continue(()))
    };
    let bounds = Bounds { memory: 1 << 31, ..lamport.bounds };
    resumed(&CheckConfig { bounds, threads: 1, ..lamport.clone() }).expect("it is the same search");
    for other in [
        CheckConfig { requests: 2, ..lamport.clone() },
        CheckConfig { reductions: Reductions::NONE, ..lamport.clone() },
        config("ricart-agrawala", 3, 1, Budget::default()),
    ] {
        let refused = resumed(&other).expect_err("it is another search").to_string();
        assert!(refused.contains("other flags"), "{refused}");
    }
    let whole = std::fs::read(&file).expect("readable");
    std::fs::write(&file, &whole[..whole.len() - 9]).expect("room on the disk");
    resumed(&lamport).expect_err("it is cut off");
}

#[test]
fn a_search_in_little_memory_moves_states_to_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = config("lamport", 3, 1, Budget::default());
    (config.reductions, config.allow_partial) = (Reductions::NONE, true);
    let whole = part(&config, SafetyConfig::default(), u32::MAX).report;
    config.bounds.memory = whole.bytes * 9 / 10;
    let short = part(&config, SafetyConfig::default(), u32::MAX).report;
    assert_eq!(short.bounded_by, Some("memory"), "{short:?}");
    let size = |report: &CheckReport| (report.verdict, report.states, report.steps, report.depth);
    let spill = Some(directory.path().to_owned());
    let spilled = part(&config, SafetyConfig { spill, ..SafetyConfig::default() }, u32::MAX).report;
    assert_eq!(size(&spilled), size(&whole));
    assert!(spilled.bytes < whole.bytes, "{} and {}", spilled.bytes, whole.bytes);
    assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
    // A checkpoint contains the states on disk.
    let files = tempfile::tempdir().expect("a directory");
    let file = files.path().join("search");
    let (parts, interruptions) = interrupted(&config, &file, 20, Some(directory.path()));
    assert!(interruptions >= 2, "{interruptions} interruptions");
    assert_eq!(size(&parts.report), size(&whole));
}
