//! Leased-quorum locks under lost, duplicated, late and reordered messages, network cuts, pauses, drifting clocks,
//! every kind of restart, force releases, clients that change their candidate and clients that crash.
//!
//! "Valid" is what the *client* may rely on: from when it enters until it stops or its own clock passes its own
//! deadline, whatever any voter or candidate believes. After every event at most one client is valid per lock, and
//! every token is greater than the ones before. Once the faults stop, every live client that waits must enter.

mod changes;
mod clients;
mod faults;
mod followed;
mod nodes;
mod rng;
mod world;

use world::{Setup, Storm};

/// Number of storms in each configuration.
const STORMS: u64 = 60;

/// Runs the storms of one configuration. A campaign is `QUORATE_STORMS=20000 cargo test --release -p quorate-algorithms
/// --test leased_quorum_storm`; `QUORATE_STORMS_FROM` is its first seed.
fn storms(name: &str, setup: Setup) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, asked) = (number("QUORATE_STORMS_FROM").unwrap_or(0), number("QUORATE_STORMS"));
    let storms = asked.unwrap_or(STORMS);
    let mut total = world::Counts::default();
    for seed in first..first + storms {
        let run = std::panic::catch_unwind(|| Storm::new(seed, setup, None).run());
        let counts = run.unwrap_or_else(|_| panic!("{setup:?}, seed {seed}"));
        total.add(counts);
    }
    if asked.is_some() {
        eprintln_of(&format!("{setup:?}: {total:?}"));
    }
    if asked.is_none() {
        insta::assert_snapshot!(name, format!("{total:#?}"));
    }
    // Storms without events prove nothing. A run with fewer storms than this is a replay.
    if storms >= STORMS {
        let world::Counts { entries, lost, switches, restarts, forced, kept, .. } = total;
        assert!(entries > 500 && lost > 5 && switches > 20 && restarts > 50, "{total:?}");
        assert!(forced > 0 && kept > 0, "{total:?}");
        assert!(setup.spares == 0 || total.changes > storms && total.longer > 0, "{total:?}");
    }
}

/// Runs one storm that failed before.
fn replay(seed: u64, system: &'static str, voters: usize, marks: bool) {
    Storm::new(seed, Setup { system, voters, marks, spares: 0, followed: false }, None).run();
}

#[expect(clippy::print_stderr, reason = "a campaign says what it has covered")]
fn eprintln_of(text: &str) {
    eprintln!("{text}");
}

#[test]
fn three_voters_with_durable_marks() {
    storms(
        "three_voters_with_durable_marks",
        Setup { system: "majority", voters: 3, marks: true, spares: 0, followed: false },
    );
}

#[test]
fn three_voters_without_marks() {
    storms(
        "three_voters_without_marks",
        Setup { system: "majority", voters: 3, marks: false, spares: 0, followed: false },
    );
}

#[test]
fn five_voters() {
    storms(
        "five_voters",
        Setup { system: "majority", voters: 5, marks: true, spares: 0, followed: false },
    );
}

#[test]
fn a_tree() {
    storms("a_tree", Setup { system: "tree", voters: 7, marks: true, spares: 0, followed: false });
}

#[test]
fn a_grid_without_marks() {
    storms(
        "a_grid_without_marks",
        Setup { system: "grid-fixed", voters: 4, marks: false, spares: 0, followed: false },
    );
}

#[test]
fn changing_voters() {
    let setup = Setup { system: "majority", voters: 3, marks: true, spares: 3, followed: false };
    storms("changing_voters", setup);
}

#[test]
fn changing_voters_without_marks() {
    let setup = Setup { system: "majority", voters: 3, marks: false, spares: 2, followed: false };
    storms("changing_voters_without_marks", setup);
}

#[test]
fn worlds_that_failed_before() {
    // Two requests were ended by force at some of the voters. One voter forgot this, voted for such a request when a
    // late message arrived, and never learned its stamp. Each of the two requests waited for a vote of the other.
    replay(126_987, "majority", 5, true);
    // A voter that had forgotten twice mistook a late answer to its first LEARN for an answer to its second, and gave
    // the same token again.
    replay(37_156, "majority", 3, false);
    replay(45_376, "majority", 3, false);
    // Each of two requests had found a record of an earlier attempt at one voter, and gave no vote back.
    replay(20_700, "grid-fixed", 4, false);
    replay(36_069, "grid-fixed", 4, false);
    // One of two requests had records at two of four voters. The other one, with one record, came first by its identifier.
    replay(18_608, "grid-fixed", 4, false);
    // A request with a record at one voter gave no vote back, and was queued behind a request without a record.
    replay(5_701, "grid-fixed", 4, false);
}
