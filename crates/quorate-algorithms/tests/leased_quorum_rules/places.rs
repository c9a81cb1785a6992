//! Places of waiters at a voter that hears of them late.

use super::*;

/// Time-to-live of the sessions, in milliseconds of the voter's clock.
const TTL_MS: u64 = 9_000;

/// The voter's clock, in milliseconds.
const CLOCK: u64 = 100_000;

/// A voter that has lent its vote.
fn busy_voter() -> VoterHarness {
    let terms = Terms { ttl_most: Span::from_millis(TTL_MS), ..terms() };
    let voter = Voter::new(ProcessId::new(0), electorate(), terms);
    let mut harness = VoterHarness { voter, now: 1 };
    harness.voter.set_wall_clock(CLOCK);
    stamp_of(&mut harness, 99, 0);
    harness
}

fn session(session: u128) -> Presented {
    Presented { ttl: Span::from_millis(TTL_MS), ..presented(session, 1) }
}

/// Delivers the first beat of a session.
fn hear(harness: &mut VoterHarness, of: u128) {
    let (session, waiting) = (session(of), Vec::new());
    harness.deliver(10, ToVoter::Beat { session, seen: None, waiting, confirms: false });
}

/// Delivers the request of a session with this stamp, and returns the stamp that the voter gives it.
fn stamp_of(harness: &mut VoterHarness, of: u128, stamp: u64) -> u64 {
    let (lock, claim, inside, rank) = ("a", claim(of, 1, of as u64), None, Rank::Waits);
    let session = session(of);
    let request = ToVoter::Request { session, lock, claim, stamp, inside, rank, ended: 0 };
    match harness.deliver(claim.candidate.0, request)[..] {
        [ToCandidate::Behind { stamp, .. } | ToCandidate::Vote { stamp, .. }, ..] => stamp,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn no_request_is_older_than_a_clock_that_its_session_has_received() {
    let mut harness = busy_voter();
    hear(&mut harness, 1);
    assert_eq!(stamp_of(&mut harness, 1, 3), CLOCK + 1);
    assert_eq!(stamp_of(&mut harness, 2, 3), CLOCK, "the session is not known");
}

#[test]
fn waiters_keep_their_places_at_a_voter_that_was_cut_off() {
    let mut harness = busy_voter();
    harness.voter.linked(Time(harness.now));
    hear(&mut harness, 1);
    for (of, stamp) in [(2, 4_000), (1, 3_000)] {
        assert_eq!(stamp_of(&mut harness, of, stamp), stamp, "session {of}");
    }
    assert_eq!(stamp_of(&mut harness, 3, 1), 2, "a smaller one represents a rank");
    harness.now += TTL_MS * 1_000_000;
    assert_eq!(stamp_of(&mut harness, 4, 3_000), CLOCK);
}
