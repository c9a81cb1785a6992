//! Reductions change the number of states and not the verdict.

use quorate_lab::exhaustive::{CheckConfig, CheckReport, Reductions};

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
