//! Rules for candidates: which votes, lists and records count, and for which beat.

use super::changes::{after, joint};
use super::records::{recordings, relay, relayed, vote_with};
use super::*;

fn held(candidate: &Candidate<Name>, claim: Claim) -> Option<u64> {
    match candidate.report(claim.request)?.standing {
        RequestStatus::Held(beat) => Some(beat?.number),
        _ => None,
    }
}

/// An echo of this beat, with a list of this version.
fn echo(number: u64, version: u64, entries: Vec<Entry<Name>>) -> ToCandidate<Name> {
    let (epoch, beat) = (vote_id().epoch, Beat { incarnation: 7, number });
    let part = Some(Part { index: 0, is_last: true });
    ToCandidate::Echo { epoch, beat, continuous: true, clock: 6, version, part, entries }
}

fn entry(claim: Claim, vote: Option<u64>, entered: Option<(u64, u64)>) -> Entry<Name> {
    Entry { lock: "a", claim, vote, entered, forced: false, recorded_in: 0 }
}

/// A client that is inside with the votes of voters 0 and 1 and with beat 1, and has begun beat 2.
fn inside() -> (Candidate<Name>, Claim) {
    let (mut candidate, claim) = candidate(2, Some(1));
    for voter in [0, 1] {
        deliver_to_candidate(&mut candidate, voter, vote_for(claim, 1, 5));
    }
    candidate.begin_beat(2, 1, &mut Vec::new());
    assert_eq!(held(&candidate, claim), Some(1));
    (candidate, claim)
}

#[test]
fn a_list_extends_only_the_same_vote_of_the_same_claim() {
    let earlier = claim(1, 1, 10);
    let (_, own) = inside();
    for (of, number, extended) in [(own, 1, 2), (own, 9, 1), (earlier, 1, 1)] {
        let (mut candidate, claim) = inside();
        for voter in [0, 1] {
            // The list is older than the vote.
            let list = echo(2, 4, vec![entry(of, Some(number), None)]);
            deliver_to_candidate(&mut candidate, voter, list);
        }
        assert_eq!(held(&candidate, claim), Some(extended), "{of:?}, number {number}");
    }
}

#[test]
fn a_vote_under_a_force_release_is_kept_and_not_extended() {
    let (mut candidate, claim) = inside();
    let forced = Entry { forced: true, ..entry(claim, None, None) };
    deliver_to_candidate(&mut candidate, 0, echo(2, 6, vec![forced]));
    let listed = entry(claim, Some(1), None);
    deliver_to_candidate(&mut candidate, 1, echo(2, 6, vec![listed]));
    assert_eq!(held(&candidate, claim), Some(1));
}

#[test]
fn a_direct_client_asks_again_for_a_vote_that_it_has_lost() {
    let (mut candidate, _) = inside();
    let effects = deliver_to_candidate(&mut candidate, 0, echo(2, 6, Vec::new()));
    let asks = |it: &CandidateEffect<Name>| matches!(it, CandidateEffect::Send(voter, ToVoter::Request { .. }) if voter.index() == 0);
    assert!(effects.iter().any(asks), "{effects:?}");
}

#[test]
fn a_late_echo_takes_nothing_back() {
    let mut candidate: Candidate<Name> =
        Candidate::new(CandidateId(10), electorate(), presented(1, 3));
    for (voter, number) in [(0, 2), (1, 2), (0, 1), (1, 1)] {
        deliver_to_candidate(&mut candidate, voter, echo(number, 1, Vec::new()));
    }
    assert_eq!(candidate.echoed().map(|beat| beat.number), Some(2));
}

#[test]
fn a_late_confirmation_takes_nothing_back() {
    let (mut candidate, claim) = candidate(1, None);
    deliver_to_candidate(&mut candidate, 0, vote_for(claim, 1, 5));
    for last in [4, 2] {
        deliver_to_candidate(&mut candidate, 0, raised(claim, last, None));
    }
    deliver_to_candidate(&mut candidate, 1, vote_with(claim, 4, None));
    let report = candidate.report(claim.request).map(|report| report.standing);
    assert!(matches!(report, Some(RequestStatus::Granted { token: 4, .. })), "{report:?}");
}

#[test]
fn a_beat_of_another_process_does_not_count() {
    let (mut candidate, claim) = candidate(1, None);
    for voter in [0, 1] {
        let mut vote = vote_for(claim, 1, 5);
        if let ToCandidate::Vote { beat, .. } = &mut vote {
            beat.incarnation = 8;
        }
        deliver_to_candidate(&mut candidate, voter, vote);
    }
    let report = candidate.report(claim.request).map(|report| report.standing);
    assert!(matches!(report, Some(RequestStatus::Waiting(_))), "{report:?}");
    let mut client: Client<Name> = Client::new(1, 7, TTL, terms());
    let (beat, request) = (client.begin_beat(Time(1)), client.acquire("a", 0));
    let mut events = Vec::new();
    for (incarnation, entered) in [(8, 0), (7, 1)] {
        let beat = Beat { incarnation, ..beat };
        let standing = RequestStatus::Granted { token: 1, beat };
        let report = Report { request, attempt: 1, stamp: 5, standing };
        client.on_report(report, Time(2), &mut events);
        assert_eq!(client.held().count(), entered);
    }
}

#[test]
fn a_late_report_does_not_shorten_what_a_client_relies_on() {
    let mut client: Client<Name> = Client::new(1, 7, TTL, terms());
    let (first, request) = (client.begin_beat(Time(1)), client.acquire("a", 0));
    let second = client.begin_beat(Time(100));
    let mut events = Vec::new();
    let granted = RequestStatus::Granted { token: 1, beat: second };
    for standing in [granted, RequestStatus::Held(Some(first)), RequestStatus::Held(None)] {
        let report = Report { request, attempt: 1, stamp: 5, standing };
        client.on_report(report, Time(200), &mut events);
        assert_eq!(client.valid_until(request), Some(Time(100) + terms().validity(TTL)));
    }
}

#[test]
fn the_last_attempt_that_has_ended_and_a_force_release_are_remembered() {
    let (mut candidate, claim) = candidate(2, None);
    let request = claim.request;
    for (voter, attempt, forced, ended) in
        [(0, 3, false, (3, false)), (1, 5, true, (5, true)), (2, 4, false, (5, true))]
    {
        let gone = ToCandidate::Gone { lock: "a", request, attempt, forced };
        deliver_to_candidate(&mut candidate, voter, gone);
        assert_eq!(candidate.ended(request), Some(ended));
    }
}

#[test]
fn only_voters_that_list_the_greatest_token_count_for_it() {
    let of = claim(1, 2, 9);
    for (other, recorded) in [(5, None), (6, Some(6))] {
        let relay = Candidate::new(CandidateId(10), electorate(), presented(1, 9));
        let mut relay = relay.recording_entries();
        for (voter, token) in [(0, 6), (1, other)] {
            let list = echo(4, 1, vec![entry(of, Some(1), Some((2, token)))]);
            deliver_to_candidate(&mut relay, voter, list);
        }
        assert_eq!(relay.recorded(of.request).map(|(token, _)| token), recorded);
    }
}

#[test]
fn a_greater_token_that_is_not_on_record_does_not_count() {
    let (mut relay, claim) = relay(2, Some(1));
    for voter in [0, 1] {
        deliver_to_candidate(&mut relay, voter, vote_with(claim, 1, Some((2, 1))));
    }
    deliver_to_candidate(&mut relay, 2, vote_with(claim, 4, Some((1, 4))));
    let raised = |number, entered| {
        let vote = VoteId { number, ..vote_id() };
        ToCandidate::Raised { lock: "a", claim, vote, last: 4, entered, recorded_in: 0 }
    };
    deliver_to_candidate(&mut relay, 2, raised(4, Some(4)));
    deliver_to_candidate(&mut relay, 0, raised(1, Some(1)));
    assert_eq!(relay.inside(claim.request), Some(1), "voter 0 has the smaller token on record");
    deliver_to_candidate(&mut relay, 0, raised(1, Some(4)));
    assert_eq!(relay.inside(claim.request), Some(4));
}

#[test]
fn rule_4_a_client_that_is_inside_asks_all_voters_and_counts_late_votes() {
    let (mut candidate, claim) = inside();
    let mut out = Vec::new();
    candidate.adopt(joint(), Some(electorate()), &mut out);
    let mut asked: Vec<u32> = out
        .iter()
        .filter_map(|effect| match effect {
            CandidateEffect::Send(voter, ToVoter::Request { .. }) => Some(voter.number()),
            _ => None,
        })
        .collect();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked, [0, 1, 2, 3, 4]);
    assert_eq!(held(&candidate, claim), None, "rule 3: a quorum of the new voters is missing");
    // An answer to a request of the configuration before.
    deliver_to_candidate(&mut candidate, 3, vote_for(claim, 1, 5));
    assert_eq!(held(&candidate, claim), Some(1));
}

#[test]
fn rule_4_a_grant_is_not_given_back_although_its_votes_are_confirmed_again() {
    let (mut candidate, claim) = candidate(1, None);
    for voter in [0, 1] {
        deliver_to_candidate(&mut candidate, voter, vote_for(claim, 1, 5));
    }
    candidate.adopt(joint(), Some(electorate()), &mut Vec::new());
    let mut vote = vote_for(claim, 1, 5);
    if let ToCandidate::Vote { config, .. } = &mut vote {
        *config = 1;
    }
    deliver_to_candidate(&mut candidate, 0, vote);
    let inquire = ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
    let effects = deliver_to_candidate(&mut candidate, 0, inquire);
    let yields =
        |it: &CandidateEffect<Name>| matches!(it, CandidateEffect::Send(_, ToVoter::Yield { .. }));
    assert!(!effects.iter().any(yields), "the client may be inside: {effects:?}");
}

#[test]
fn rule_5_a_relay_that_holds_a_lock_records_its_token_again() {
    let (mut relay, claim) = relay(1, Some(1));
    for voter in 0..3 {
        deliver_to_candidate(&mut relay, voter, vote_with(claim, 1, Some((1, 1))));
    }
    assert_eq!(held(&relay, claim), Some(1));
    let mut out = Vec::new();
    // The same voters, so that only the records are missing.
    relay.adopt(electorate().at(1), Some(electorate()), &mut out);
    assert_eq!(recordings(&out), [(0, 1), (1, 1), (2, 1)]);
    assert_eq!(held(&relay, claim), None, "the records are of the configuration before");
    let (lock, vote, last, entered) = ("a", vote_id(), 1, Some(1));
    for (voter, beat) in [(0, None), (1, Some(1))] {
        let raised = ToCandidate::Raised { lock, claim, vote, last, entered, recorded_in: 1 };
        deliver_to_candidate(&mut relay, voter, raised);
        assert_eq!(held(&relay, claim), beat);
    }
    // A late confirmation names the record of the configuration before.
    let late = ToCandidate::Raised { lock, claim, vote, last, entered, recorded_in: 0 };
    deliver_to_candidate(&mut relay, 0, late);
    assert_eq!(held(&relay, claim), Some(1));
}

#[test]
fn voters_are_confirmed_by_a_quorum_of_either_configuration() {
    for (voters, confirms) in [(vec![3, 4], true), (vec![1, 2], true), (vec![1, 3], false)] {
        let relay: Candidate<Name> = Candidate::new(CandidateId(10), after(), relayed(7, 1));
        let mut relay = relay.recording_entries().after(Some(electorate()));
        for voter in &voters {
            deliver_to_candidate(&mut relay, *voter, echo(1, 1, Vec::new()));
        }
        assert_eq!(relay.echoed_to_confirm().is_some(), confirms, "{voters:?}");
    }
}
