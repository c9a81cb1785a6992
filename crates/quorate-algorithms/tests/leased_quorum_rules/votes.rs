//! Rules for the votes of one voter: boundaries of times and numbers, votes under a force release, and votes of others.

use super::records::{relayed, request_of};
use super::restarts::{restart, restart_at, written};
use super::*;

fn raise(claim: Claim, vote: VoteId, token: u64) -> ToVoter<Name> {
    ToVoter::Raise { lock: "a", claim, vote, token, enters: true }
}

fn release(claim: Claim, token: Option<u64>) -> ToVoter<Name> {
    ToVoter::Release { lock: "a", request: claim.request, attempt: u64::MAX, token }
}

fn force(harness: &mut VoterHarness, claim: Claim) {
    assert!(harness.voter.force(&"a", claim.request, &mut Vec::new()));
}

/// The holder after time has passed while all sessions have sent beats.
fn holder_at(harness: &mut VoterHarness, now: u64) -> Option<Claim> {
    while harness.now < now {
        harness.now = now.min(harness.now + TTL.0 / 2);
        for session in 1..4 {
            harness.beat(session, harness.now);
        }
    }
    harness.voter.wake(Time(now), &mut Vec::new());
    harness.holder()
}

#[test]
fn a_vote_under_a_force_release_is_freed_one_ttl_after_its_last_beat() {
    let (own, next) = (claim(1, 1, 10), claim(2, 1, 11));
    let mut harness = VoterHarness::new();
    harness.ask(own, 0);
    harness.ask(next, 0);
    force(&mut harness, own);
    let file = harness.voter.records();
    assert_eq!(holder_at(&mut harness, TTL.0), Some(own));
    assert_eq!(holder_at(&mut harness, TTL.0 + 1), Some(next));
    assert!(!harness.voter.session(1).is_some_and(|session| session.has(own.request)));
    // A restart counts as a beat, and the clock of the earlier process means nothing.
    let mut harness = restart_at(100, RestartId { incarnation: 0, number: 1 }, file);
    assert_eq!(holder_at(&mut harness, TTL.0 + 99), Some(own));
    assert_eq!(holder_at(&mut harness, TTL.0 + 100), None);
}

#[test]
fn the_end_of_an_earlier_force_release_does_not_free_a_later_one() {
    let (first, second) = (claim(1, 1, 10), claim(2, 1, 11));
    let mut harness = VoterHarness::new();
    harness.ask(first, 0);
    force(&mut harness, first);
    harness.deliver(10, release(first, None));
    harness.ask(second, 0);
    assert_eq!(holder_at(&mut harness, TTL.0 / 2), Some(second));
    force(&mut harness, second);
    assert_eq!(holder_at(&mut harness, TTL.0 + 1), Some(second));
}

#[test]
fn a_vote_under_a_force_release_is_neither_confirmed_nor_queued_again() {
    let own = claim(1, 1, 10);
    let mut harness = VoterHarness::new();
    let vote = vote_in(&harness.ask(own, 0)).expect("the vote is free");
    force(&mut harness, own);
    assert_eq!(harness.deliver(10, raise(own, vote, 1)), []);
    harness.deliver(10, ToVoter::Yield { lock: "a", claim: own, vote });
    assert_eq!(harness.holder(), None);
    assert!(!harness.voter.session(1).is_some_and(|session| session.has(own.request)));
}

#[test]
fn the_token_on_record_only_grows_and_the_first_one_is_kept() {
    let own = claim(1, 1, 10);
    let mut harness = VoterHarness::new();
    let vote = vote_in(&harness.ask(own, 0)).expect("the vote is free");
    for (token, on_record) in [(3, 3), (5, 5), (4, 5)] {
        harness.deliver(10, raise(own, vote, token));
        let vote = *harness.voter.ballot(&"a").and_then(Ballot::vote).expect("it has the vote");
        assert_eq!((vote.entered, vote.first), (Some((1, on_record)), Some(3)));
    }
    let (session, lock, stamp, inside, rank) = (presented(1, 2), "a", 0, Some(7), Rank::First);
    harness
        .deliver(10, ToVoter::Request { session, lock, claim: own, stamp, inside, rank, ended: 0 });
    let vote = *harness.voter.ballot(&"a").and_then(Ballot::vote).expect("it has the vote");
    assert_eq!((vote.entered, vote.first), (Some((1, 7)), Some(3)));
}

#[test]
fn numbers_of_clients_stay_below_the_ceiling() {
    let voter = || Voter::new(ProcessId::new(0), electorate(), terms()).with_ceiling(10);
    for (token, last) in [(10, 10), (11, 1)] {
        let mut harness = VoterHarness { voter: voter(), now: 1 };
        let own = claim(1, 1, 10);
        let vote = vote_in(&harness.ask(own, 0)).expect("the vote is free");
        let confirmed = harness.deliver(10, raise(own, vote, token));
        assert_eq!(confirmed.len(), usize::from(last == token), "{confirmed:?}");
        let mut harness = VoterHarness { voter: voter(), now: 1 };
        harness.ask(own, 0);
        harness.deliver(10, release(own, Some(token)));
        assert_eq!(harness.voter.last(&"a"), Some(last));
    }
}

#[test]
fn a_candidate_does_not_request_for_another_session_that_lives() {
    let mut harness = VoterHarness::new();
    harness.beat(2, 1);
    let request = request_of(presented(1, 1), "a", claim(2, 1, 10));
    assert_eq!(harness.deliver(10, request), []);
    assert_eq!(harness.holder(), None);
}

#[test]
fn a_session_ends_exactly_one_ttl_after_its_beat() {
    let beat = |number| {
        let (session, seen, waiting) = (presented(1, number), None, Vec::new());
        ToVoter::Beat { session, seen, waiting, confirms: false }
    };
    for (late, ends) in [(TTL.0 - 1, false), (TTL.0, true)] {
        let mut harness = VoterHarness::new();
        harness.ask(claim(1, 1, 10), 0);
        harness.now += late;
        // The beat arrives before the voter has woken up.
        let records = written(&mut harness, 10, beat(2));
        assert_eq!(records.contains(&Record::Ended { session: 1 }), ends, "{records:?}");
        assert_eq!(harness.holder().is_none(), ends);
    }
}

#[test]
fn an_epoch_is_not_used_again_after_a_restart() {
    let mut harness = VoterHarness::new();
    let file = written(&mut harness, 10, request_of(presented(1, 1), "a", claim(1, 1, 10)));
    let mut harness = restart(file);
    harness.deliver(10, ToVoter::End { session: 1 });
    let answers = harness.beat(1, 2);
    let second = Epoch { incarnation: 0, number: 2 };
    assert!(
        matches!(answers[..], [ToCandidate::Echo { epoch, .. }] if epoch == second),
        "{answers:?}"
    );
}

#[test]
fn a_vote_of_a_session_that_has_ended_is_free_after_a_restart() {
    let mut harness = VoterHarness::new();
    let mut file = written(&mut harness, 10, request_of(presented(1, 1), "a", claim(1, 1, 10)));
    assert!(restart(file.clone()).holder().is_some());
    file.push(Record::Ended { session: 1 });
    assert_eq!(restart(file).holder(), None);
}

/// The client requests the lock again, after attempts that it has ended.
fn anew(claim: Claim, ended: u64) -> ToVoter<Name> {
    let (session, lock, stamp, inside, rank) = (relayed(7, 2), "a", 0, None, Rank::Waits);
    ToVoter::Request { session, lock, claim, stamp, inside, rank, ended }
}

#[test]
fn a_turn_that_has_ended_takes_no_vote_of_another_request() {
    let (other, waiter) = (claim(2, 1, 20), claim(1, 9, 10));
    let mut harness = VoterHarness::new();
    let vote = vote_in(&harness.ask(other, 0)).expect("the vote is free");
    harness.deliver(20, raise(other, vote, 1));
    harness.deliver(10, anew(waiter, 0));
    harness.deliver(10, anew(waiter, 8));
    assert_eq!(harness.holder(), Some(other));
    assert_eq!(harness.voter.entries(2)[0].entered, Some((1, 1)));
}

#[test]
fn the_last_attempt_of_an_ended_turn_belongs_to_it() {
    let (earlier, later) = (claim(1, 3, 10), claim(1, 9, 10));
    for (ended, entered) in [(2, Some((3, 1))), (3, None)] {
        let mut harness = VoterHarness::new();
        let answers = harness.deliver(10, request_of(relayed(7, 1), "a", earlier));
        let vote = vote_in(&answers).expect("the vote is free");
        harness.deliver(10, raise(earlier, vote, 1));
        // The later attempt takes the vote over before its candidate knows that the turn has ended.
        let mut file = harness.voter.records();
        harness.deliver(10, anew(later, 0));
        let mut forced = VoterHarness { voter: harness.voter.clone(), now: harness.now };
        file.extend(written(&mut harness, 10, anew(later, ended)));
        assert_eq!(harness.voter.entries(1)[0].entered, entered, "ended {ended}");
        let late = request_of(relayed(7, 3), "a", claim(1, ended, 10));
        let answers = restart(harness.voter.records()).deliver(10, late.clone());
        let is_gone = matches!(answers[..], [ToCandidate::Gone { .. }]);
        assert_eq!(is_gone, entered.is_none(), "from the records: {answers:?}");
        let answers = restart(file).deliver(10, late);
        let is_gone = matches!(answers[..], [ToCandidate::Gone { .. }]);
        assert_eq!(is_gone, entered.is_none(), "from the file: {answers:?}");
        // Its client was told to stop, and may not have stopped yet.
        force(&mut forced, later);
        forced.deliver(10, anew(later, 3));
        assert_eq!(forced.holder(), Some(later));
        let frozen = forced.voter.ballot(&"a").and_then(Ballot::vote).and_then(|vote| vote.frozen);
        assert!(frozen.is_some());
    }
}

#[test]
fn a_list_changes_when_a_vote_under_a_force_release_is_freed() {
    let own = claim(1, 1, 10);
    let mut harness = VoterHarness::new();
    harness.ask(own, 0);
    force(&mut harness, own);
    harness.now = TTL.0 / 2;
    let beat = |number, seen| {
        let (session, waiting) = (presented(1, number), Vec::new());
        ToVoter::Beat { session, seen, waiting, confirms: false }
    };
    let answers = harness.deliver(10, beat(2, None));
    let [ToCandidate::Echo { epoch, version, .. }] = answers[..] else { panic!("{answers:?}") };
    harness.now = TTL.0 + 1;
    let answers = harness.deliver(10, beat(3, Some((epoch, version))));
    assert_eq!(harness.holder(), None);
    assert!(matches!(answers[..], [ToCandidate::Echo { part: Some(_), .. }]), "{answers:?}");
}

#[test]
fn the_oldest_of_too_many_releases_is_forgotten() {
    let mut harness = VoterHarness::new();
    let of = |number| Claim {
        request: RequestId { number, ..claim(1, 1, 10).request },
        ..claim(1, 1, 10)
    };
    harness.beat(1, 1);
    for number in 1..=65 {
        harness.deliver(10, release(of(number), None));
    }
    let mut is_gone = |number| {
        let answers = harness.ask(of(number), 0);
        matches!(answers[..], [ToCandidate::Gone { .. }])
    };
    assert!(is_gone(65) && is_gone(64) && is_gone(2) && !is_gone(1));
}

#[test]
fn a_forced_request_that_was_released_is_no_longer_listed_after_a_restart() {
    let own = claim(1, 1, 10);
    let mut harness = VoterHarness::new();
    let mut file = written(&mut harness, 10, request_of(relayed(7, 1), "a", own));
    let mut out = Vec::new();
    assert!(harness.voter.force(&"a", own.request, &mut out));
    file.push(Record::Dead { request: own.request, lock: "a" });
    file.extend(written(&mut harness, 10, release(own, None)));
    assert_eq!(restart(file).voter.entries(1), []);
}
