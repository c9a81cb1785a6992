//! Reductions change the number of states and not the verdict.

use std::ops::ControlFlow;

use quorate_check::Bounds;
use quorate_lab::exhaustive::{CheckConfig, CheckReport, Reductions, explore};
use quorate_sim::scenario::Requesters;

use crate::{config, explored};

#[test]
fn reductions_change_the_number_of_states_and_not_the_verdict() {
    let mut fewer = 0;
    let names = [
        "central",
        "ricart-agrawala",
        "singhal",
        "maekawa-original",
        "maekawa",
        "raymond",
        "quorum-vcube-multicast",
        "announce-all",
        "list-ring",
        "chandra-toueg",
        "paxos",
        "three-phase-commit",
        "total-sequencer",
        "total-isis",
    ];
    for name in names {
        let reduced = explored(&config(name, 3)).report;
        let full =
            explored(&CheckConfig { reductions: Reductions::NONE, ..config(name, 3) }).report;
        assert_eq!(reduced.verdict, full.verdict, "{name}");
        assert!(reduced.states <= full.states, "{name}: {} of {}", reduced.states, full.states);
        let status = |report: &CheckReport| {
            report.properties.iter().map(|found| found.status).collect::<Vec<_>>()
        };
        assert_eq!(status(&reduced), status(&full), "{name}");
        fewer += u32::from(reduced.states < full.states);
    }
    assert!(fewer > 0, "a reduction that reduces nothing");
}

/// The clocks of a process that is ahead and of one that is behind differ as much after as before.
#[test]
fn states_that_differ_in_their_clocks_alone_have_one_verdict() {
    let worlds = [
        ("lamport", 2, 3),
        ("lamport", 3, 1),
        ("ricart-agrawala", 2, 3),
        ("ricart-agrawala", 3, 1),
        ("ricart-agrawala-priority", 3, 1),
        ("singhal", 3, 1),
    ];
    let mut fewer = 0;
    for (name, processes, requests) in worlds {
        let full =
            CheckConfig { requests, reductions: Reductions::NONE, ..config(name, processes) };
        let clocks = Reductions { clocks: true, ..Reductions::NONE };
        let reduced = explored(&CheckConfig { reductions: clocks, ..full.clone() }).report;
        let full = explored(&full).report;
        assert_eq!(reduced.verdict, full.verdict, "{name}");
        assert!(reduced.states <= full.states, "{name}: {} of {}", reduced.states, full.states);
        fewer += u32::from(reduced.states < full.states);
    }
    assert!(fewer >= 3, "{fewer} of the worlds have fewer states");
}

/// Of Lamport's mutex a world with three processes that was too large becomes one of millions of states in this way.
#[test]
fn states_that_differ_in_dead_values_alone_have_one_verdict() {
    let mut fewer = 0;
    for (name, processes, requests) in [
        ("lamport", 2, 3),
        ("lamport", 3, 1),
        ("ricart-agrawala", 2, 3),
        ("ricart-agrawala", 3, 1),
        ("ricart-agrawala-priority", 3, 1),
        ("singhal", 3, 1),
        ("maekawa", 3, 1),
        ("announce-all", 3, 1),
        ("list-ring", 3, 1),
        ("total-lamport", 2, 1),
    ] {
        let make = |reductions| {
            let config = CheckConfig { requests, reductions, ..config(name, processes) };
            explored(&config).report
        };
        let full = make(Reductions::NONE);
        let values = make(Reductions { dead_values: true, ..Reductions::NONE });
        let both = make(Reductions { dead_values: true, clocks: true, ..Reductions::NONE });
        let status = |report: &CheckReport| {
            report.properties.iter().map(|found| found.status).collect::<Vec<_>>()
        };
        for reduced in [&values, &both] {
            assert_eq!(reduced.verdict, full.verdict, "{name}");
            assert_eq!(status(reduced), status(&full), "{name}");
            assert_eq!(reduced.counterexample_steps, full.counterexample_steps, "{name}");
            assert!(reduced.states <= full.states, "{name}: {} of {}", reduced.states, full.states);
        }
        fewer += u32::from(both.states * 2 < full.states);
    }
    assert!(fewer >= 2, "{fewer} of the worlds have less than half of the states");
}

/// An author who declares a wrong form learns of it: every algorithm is validated in a small world.
#[test]
fn the_forms_of_every_algorithm_are_valid() {
    let mut validated = 0;
    // Without a form, states of an algorithm that is never quiescent do not recur.
    let profiles = quorate_lab::catalogue().profiles();
    for profile in profiles.filter(|profile| !profile.never_quiescent) {
        let reductions = Reductions { clocks: true, dead_values: true, ..Reductions::NONE };
        let config = CheckConfig {
            reductions,
            validate: true,
            allow_partial: true,
            bounds: Bounds { memory: 1 << 30, depth: 2 },
            ..config(profile.name, 2)
        };
        // Some algorithms are not explored, and some not with two processes.
        let Ok(found) = explore(&config, |_| ControlFlow::Continue(())) else { continue };
        let forms = found.report.validated.expect("it was asked for");
        assert!(forms.all || forms.states > 100_000, "{}: {forms:?}", profile.name);
        validated += 1;
    }
    assert!(validated > 40, "{validated} algorithms");
}

/// The order in which a process has set its timers is not the order in which they expire.
#[test]
fn states_that_differ_in_the_order_of_timers_alone_have_one_verdict() {
    for (name, n) in [("leased-quorum", 2), ("raft", 2), ("multi-paxos", 2)] {
        let mut full = config(name, n);
        (full.scenario.requesters, full.budget.timeouts) = (Requesters::One, 2);
        full.reductions = Reductions::NONE;
        let timers = Reductions { timers: true, ..Reductions::NONE };
        let reduced = explored(&CheckConfig { reductions: timers, ..full.clone() }).report;
        let full = explored(&full).report;
        assert_eq!(reduced.verdict, full.verdict, "{name}");
        assert!(reduced.states <= full.states, "{name}: {} of {}", reduced.states, full.states);
    }
}
