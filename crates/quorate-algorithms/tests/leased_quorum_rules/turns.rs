//! Rules for repeated turns of one request: a client that cannot number its requests releases a lock and requests it
//! again. Voters that the release has not reached yet still have the vote and the record of the earlier turn.

use super::records::{recordings, relay, relayed, request_of, vote_with};
use super::*;

/// The client requests the lock again, after attempts that it has ended.
fn asked_anew(harness: &mut VoterHarness, claim: Claim, ended: u64) -> Vec<ToCandidate<Name>> {
    let (session, lock, stamp, inside, rank) = (relayed(7, 2), "a", 0, None, Rank::Waits);
    let request = ToVoter::Request { session, lock, claim, stamp, inside, rank, ended };
    harness.deliver(claim.candidate.0, request)
}

/// A voter that has recorded token 1 for a client's first attempt.
fn recorded_once() -> VoterHarness {
    let mut harness = VoterHarness::new();
    let earlier = claim(1, 1, 10);
    let answers = harness.deliver(10, request_of(relayed(7, 1), "a", earlier));
    let vote = vote_in(&answers).expect("the vote is free");
    let (lock, claim, token, enters) = ("a", earlier, 1, true);
    harness.deliver(10, ToVoter::Raise { lock, claim, vote, token, enters });
    harness
}

#[test]
fn a_vote_of_a_turn_that_has_ended_is_given_anew() {
    let later = claim(1, 9, 10);
    // The earlier turn has the vote, or this turn has taken it over before its candidate knew that the
    // earlier one had ended.
    for taken_over in [false, true] {
        let mut harness = recorded_once();
        if taken_over {
            let answers = asked_anew(&mut harness, later, 0);
            let entered = |it: &ToCandidate<Name>| {
                matches!(it, ToCandidate::Vote { entered: Some((1, 1)), ended: 0, .. })
            };
            assert!(answers.iter().any(entered), "{answers:?}");
        }
        let answers = asked_anew(&mut harness, later, 8);
        let is_new = |it: &ToCandidate<Name>| match it {
            ToCandidate::Vote { vote, entered, ended, .. } => {
                (vote.number, *entered, *ended) == (2, None, 8)
            }
            _ => false,
        };
        assert!(answers.iter().any(is_new), "taken over: {taken_over}, {answers:?}");
        // A late request of the earlier turn.
        let late = harness.deliver(11, request_of(relayed(8, 1), "a", claim(1, 8, 11)));
        assert!(matches!(late[..], [ToCandidate::Gone { attempt: 8, .. }]), "{late:?}");
    }
}

#[test]
fn a_turn_that_begins_anew_waits_behind_others() {
    for taken_over in [false, true] {
        let mut harness = recorded_once();
        let (other, later) = (claim(2, 1, 20), claim(1, 9, 10));
        if taken_over {
            asked_anew(&mut harness, later, 0);
        }
        harness.ask(other, 0);
        asked_anew(&mut harness, later, 8);
        let first = if taken_over { later } else { other };
        assert_eq!(harness.holder(), Some(first), "by the order of their stamps");
    }
}

#[test]
fn an_attempt_that_has_not_ended_keeps_its_record() {
    for ended in [0, 9, 10] {
        let mut harness = recorded_once();
        asked_anew(&mut harness, claim(1, 9, 10), ended);
        let entries = harness.voter.entries(1);
        assert_eq!(entries[0].entered, Some((1, 1)), "ended {ended}");
    }
}

/// A vote of a voter that knows that attempts up to this one have ended.
fn vote_after(claim: Claim, of_number: u64, last_ended: u64) -> ToCandidate<Name> {
    let mut message = vote_with(claim, of_number, None);
    if let ToCandidate::Vote { ended, .. } = &mut message {
        *ended = last_ended;
    }
    message
}

/// Voters that are asked for a vote, with the last ended attempt that is sent to them.
fn asks(effects: &[CandidateEffect<Name>]) -> Vec<(u32, u64)> {
    let asks = effects.iter().filter_map(|effect| match effect {
        CandidateEffect::Send(voter, ToVoter::Request { ended, .. }) => {
            Some((voter.number(), *ended))
        }
        _ => None,
    });
    asks.collect()
}

#[test]
fn a_record_of_a_turn_that_has_ended_does_not_count() {
    let voter = ProcessId::from_index;
    // The vote with the record arrives before or after the vote of the voter that knows of the release.
    for record_first in [true, false] {
        let (mut relay, claim) = relay(9, None);
        let stale = vote_with(claim, 1, Some((1, 1)));
        let knows = vote_after(claim, 3, 8);
        let mut out = Vec::new();
        let order = if record_first { [(0, stale), (1, knows)] } else { [(1, knows), (0, stale)] };
        for (index, message) in order {
            relay.on_message(voter(index), message, &mut out);
        }
        let last = asks(&out).into_iter().rfind(|(voter, _)| *voter == 0);
        assert_eq!(last, Some((0, 8)), "record first: {record_first}");
        assert_eq!(recordings(&out), [], "one vote is no quorum");
        assert_eq!(relay.found_token(claim.request), None);
        // A voter that has not voted received the rank of a request with a record before.
        let rank = out.iter().rev().find_map(|effect| match effect {
            CandidateEffect::Send(of, ToVoter::Request { rank, .. }) if *of == voter(2) => {
                Some(*rank)
            }
            _ => None,
        });
        assert_eq!(rank, record_first.then_some(Rank::Waits), "record first: {record_first}");
        out.clear();
        relay.on_message(voter(0), vote_after(claim, 2, 8), &mut out);
        assert_eq!(recordings(&out), [(0, 3), (1, 3)]);
    }
}

#[test]
fn a_client_that_asks_anew_says_what_it_has_ended() {
    let (mut relay, earlier) = relay(1, None);
    let request = earlier.request;
    relay.forget(request);
    // Lists that still contain the record of the earlier turn.
    let (epoch, beat) = (vote_id().epoch, Beat { incarnation: 7, number: 1 });
    let (vote, entered, forced) = (Some(1), Some((1, 1)), false);
    let entry = Entry { lock: "a", claim: earlier, vote, forced, entered, recorded_in: 0 };
    let mut out = Vec::new();
    for index in 0..2 {
        let (part, entries) = (Some(Part { index: 0, is_last: true }), vec![entry.clone()]);
        let echo = ToCandidate::Echo {
            epoch,
            beat,
            continuous: false,
            clock: 5,
            version: 1,
            part,
            entries,
        };
        relay.on_message(ProcessId::from_index(index), echo, &mut out);
    }
    assert_eq!(relay.recorded(request).map(|(token, _)| token), Some(1));
    out.clear();
    let (lock, attempt, stamp, inside, ended) = ("a", 9, 5, None, 8);
    relay.pursue(Wanted { lock, request, attempt, stamp, inside, ended }, &mut out);
    assert!(!out.is_empty() && asks(&out).iter().all(|(_, it)| *it == ended), "{out:?}");
    assert_eq!(relay.found_token(request), None);
    assert_eq!(relay.recorded(request), None);
}
