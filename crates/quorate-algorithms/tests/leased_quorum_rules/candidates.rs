//! Rules for candidates and clients: which votes are sufficient, given back and repeated, and how long they are valid.

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
    let raised =
        |last| ToCandidate::Raised { lock: "a", claim, vote: vote_id(), last, entered: None };
    deliver_to_candidate(&mut candidate, 0, raised(2));
    assert!(!is_granted(&candidate, claim));
    deliver_to_candidate(&mut candidate, 0, raised(3));
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
