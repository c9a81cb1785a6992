//! Rules for candidates and clients: which votes are sufficient, given back and repeated, and how long they are valid.

use std::collections::BTreeSet;

use super::*;

fn is_yield(effect: &CandidateEffect<Name>) -> bool {
    matches!(effect, CandidateEffect::Send(_, ToVoter::Yield { .. }))
}

fn is_granted(candidate: &Candidate<Name>, claim: Claim) -> bool {
    let report = candidate.report(claim.request).expect("the request is pursued");
    matches!(report.standing, RequestStatus::Granted { .. })
}

/// Voters that are asked for their votes, with the stamp that is sent to them.
fn asked(effects: &[CandidateEffect<Name>]) -> Vec<(u32, u64)> {
    let asked = effects.iter().filter_map(|effect| match effect {
        CandidateEffect::Send(voter, ToVoter::Request { stamp, .. }) => {
            Some((voter.number(), *stamp))
        }
        _ => None,
    });
    asked.collect()
}

#[test]
fn a_voter_with_a_smaller_number_confirms_the_token() {
    let (mut candidate, claim) = candidate(1, None);
    deliver_to_candidate(&mut candidate, 0, vote_for(claim, 1, 5));
    let mut greater = vote_for(claim, 1, 5);
    if let ToCandidate::Vote { vote, last, .. } = &mut greater {
        (vote.number, *last) = (3, 3);
    }
    let effects = deliver_to_candidate(&mut candidate, 1, greater);
    let raise = ToVoter::Raise { lock: "a", claim, vote: vote_id(), token: 3, enters: false };
    assert_eq!(effects, [CandidateEffect::Send(ProcessId::new(0), raise)]);
    assert!(!is_granted(&candidate, claim));
    deliver_to_candidate(&mut candidate, 0, raised(claim, 2, None));
    assert!(!is_granted(&candidate, claim));
    deliver_to_candidate(&mut candidate, 0, raised(claim, 3, None));
    assert!(is_granted(&candidate, claim));
}

#[test]
fn a_vote_that_was_given_back_does_not_count_again() {
    let (mut candidate, claim) = candidate(1, None);
    let inquire = ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
    deliver_to_candidate(&mut candidate, 0, vote_for(claim, 1, 5));
    assert!(deliver_to_candidate(&mut candidate, 0, inquire).iter().any(is_yield));
    // The vote arrives once more, because the voter repeats it until it receives the YIELD.
    assert!(deliver_to_candidate(&mut candidate, 0, vote_for(claim, 1, 5)).iter().any(is_yield));
    deliver_to_candidate(&mut candidate, 1, vote_for(claim, 1, 5));
    assert!(!is_granted(&candidate, claim));
}

#[test]
fn a_candidate_whose_votes_were_taken_over_gives_no_other_vote_back() {
    let (mut candidate, claim) = candidate(1, None);
    for voter in [0, 1] {
        deliver_to_candidate(&mut candidate, voter, vote_for(claim, 1, 5));
    }
    // The client may have entered with the grant, and then have gone on with another candidate.
    let newer = Claim { attempt: 2, candidate: CandidateId(11), ..claim };
    let entry = Entry {
        lock: "a",
        claim: newer,
        vote: Some(1),
        forced: false,
        entered: None,
        recorded_in: 0,
    };
    let echo = ToCandidate::Echo {
        epoch: vote_id().epoch,
        beat: Beat { incarnation: 7, number: 1 },
        continuous: false,
        clock: 5,
        version: 6,
        part: Some(Part { index: 0, is_last: true }),
        entries: vec![entry],
    };
    deliver_to_candidate(&mut candidate, 0, echo);
    assert!(!is_granted(&candidate, claim));
    let inquire = ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
    assert!(!deliver_to_candidate(&mut candidate, 1, inquire).iter().any(is_yield));
}

#[test]
fn a_vote_on_which_a_client_may_rely_is_not_given_back() {
    for inside in [None, Some(1)] {
        let (mut candidate, claim) = candidate(1, inside);
        for voter in [0, 1] {
            deliver_to_candidate(&mut candidate, voter, vote_for(claim, 1, 5));
        }
        assert_eq!(is_granted(&candidate, claim), inside.is_none());
        let inquire = ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
        assert!(!deliver_to_candidate(&mut candidate, 0, inquire).iter().any(is_yield));
    }
}

/// A direct client with the vote of voter 0, which is no longer valid, and the vote of voter 1, with the time.
fn direct_client_with_an_expired_grant() -> (DirectClient<Name>, Claim, Time) {
    let claim = claim(1, 1, 10);
    let client = Client::new(1, 7, TTL, terms());
    let mut direct = DirectClient::new(client, claim.candidate, electorate());
    let mut out = Vec::new();
    direct.beat(Time(0), &mut out);
    direct.acquire("a", 5, Time(0), &mut out);
    direct.on_message(ProcessId::new(0), vote_for(claim, 1, 5), Time(1), &mut out);
    let late = Time(0) + terms().validity(TTL);
    direct.beat(late, &mut out);
    out.clear();
    direct.on_message(ProcessId::new(1), vote_for(claim, 2, 5), late, &mut out);
    assert!(is_granted(direct.candidate(), claim));
    assert_eq!(out, [], "the vote of voter 0 is no longer valid");
    (direct, claim, late)
}

#[test]
fn votes_of_a_grant_that_has_expired_are_given_back() {
    let (mut direct, claim, now) = direct_client_with_an_expired_grant();
    let mut out = Vec::new();
    direct.beat(now, &mut out);
    let inquire = ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
    out.clear();
    direct.on_message(ProcessId::new(1), inquire, now, &mut out);
    let yields = ToVoter::Yield { lock: "a", claim, vote: vote_id() };
    assert_eq!(out, [DirectEffect::Send(ProcessId::new(1), yields)]);
}

#[test]
fn the_voter_of_a_vote_that_has_expired_is_asked_again() {
    let (mut direct, claim, now) = direct_client_with_an_expired_grant();
    let mut out = Vec::new();
    direct.beat(now, &mut out);
    let asked = out.iter().filter_map(|effect| match effect {
        DirectEffect::Send(voter, ToVoter::Request { .. }) => Some(voter.number()),
        _ => None,
    });
    let asked: BTreeSet<u32> = asked.collect();
    assert_eq!(asked, BTreeSet::from([0, 2]), "the vote of voter 1 is good");
    out.clear();
    direct.on_message(ProcessId::new(0), vote_for(claim, 3, 5), now, &mut out);
    let entered = ClientEvent::Entered { request: claim.request, token: 1 };
    assert_eq!(out, [DirectEffect::Event(entered)]);
}

#[test]
fn the_greatest_stamp_is_told_to_all_voters_until_they_know_it() {
    let (mut candidate, claim) = candidate(1, None);
    let mut out = Vec::new();
    candidate.begin_beat(2, 1, &mut out);
    let repeated = asked(&out);
    assert_eq!(repeated.len(), 2, "no voter has answered: {out:?}");
    let [first, second] = [0, 1].map(|index| repeated[index].0);
    deliver_to_candidate(&mut candidate, first, vote_for(claim, 1, 5));
    let (epoch, stamp, place, clock) = (vote_id().epoch, 9, 1, 9);
    let behind = ToCandidate::Behind { lock: "a", claim, epoch, stamp, place, clock, ended: 0 };
    assert_eq!(asked(&deliver_to_candidate(&mut candidate, second, behind)), [(first, 9)]);
    let mut out = Vec::new();
    candidate.begin_beat(3, 1, &mut out);
    assert!(asked(&out).contains(&(first, 9)), "the message may have been lost: {out:?}");
}

#[test]
fn a_process_that_has_died_keeps_nothing_because_another_one_lives() {
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 1, 10), 0);
    harness.now += 100;
    let session = Presented { beat: Beat { incarnation: 8, number: 1 }, ..presented(1, 1) };
    harness
        .deliver(11, ToVoter::Beat { session, seen: None, waiting: Vec::new(), confirms: false });
    harness.now += TTL.0 - 100;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), None);
    assert!(harness.voter.session(1).is_some());
}

#[test]
fn validity_is_counted_from_the_beat_and_is_not_renewed_once_it_has_ended() {
    let terms = Terms { drift: Drift(Drift::ONE / 100), ..terms() };
    let mut client: Client<Name> = Client::new(1, 7, TTL, terms);
    let sent = Time(100);
    let beat = client.begin_beat(sent);
    let request = client.acquire("a", 0);
    let report = |standing| Report { request, attempt: 1, stamp: 5, standing };
    let mut events = Vec::new();
    client.on_report(report(RequestStatus::Granted { token: 1, beat }), Time(2_000), &mut events);
    let until = sent + terms.validity(TTL);
    assert_eq!(client.valid_until(request), Some(until));
    assert!(until < sent + TTL, "clocks may differ");
    let beat = client.begin_beat(Time(3_000));
    let mut late = client.clone();
    client.on_report(report(RequestStatus::Held(Some(beat))), Time(until.0 - 1), &mut events);
    assert_eq!(client.valid_until(request), Some(Time(3_000) + terms.validity(TTL)));
    late.on_report(report(RequestStatus::Held(Some(beat))), until, &mut events);
    assert_eq!(late.valid_until(request), Some(until));
}

#[test]
fn a_client_that_is_inside_withdraws_only_what_it_was_not_told() {
    for untold in [false, true] {
        let (mut own, claim) = candidate(1, Some(1));
        let mut out = Vec::new();
        assert_eq!(own.withdraw(claim.request, untold, &mut out), untold);
        let is_withdrawal = |effect: &CandidateEffect<Name>| {
            matches!(effect, CandidateEffect::Send(_, ToVoter::Withdraw { untold: true, .. }))
        };
        assert_eq!(out.iter().filter(|effect| is_withdrawal(effect)).count() > 0, untold);
        assert_eq!(own.report(claim.request).is_none(), untold);
    }
}
