//! Rules for sessions whose candidates run in nodes: tokens on record, releases, and votes that lapse together.

use super::restarts::{restart, written};
use super::*;

/// A relayed session, as one of its candidates presents it.
pub(super) fn relayed(incarnation: u64, number: u64) -> Presented {
    Presented { relayed: true, beat: Beat { incarnation, number }, ..presented(1, 1) }
}

fn beat_of(session: Presented) -> ToVoter<Name> {
    ToVoter::Beat { session, seen: None, waiting: Vec::new(), confirms: false }
}

pub(super) fn request_of(session: Presented, lock: Name, claim: Claim) -> ToVoter<Name> {
    ToVoter::Request { session, lock, claim, stamp: 0, inside: None, rank: Rank::Waits, ended: 0 }
}

fn is_relayed(record: &Record<Name>) -> bool {
    matches!(record, Record::Session { relayed: true, .. })
}

#[test]
fn a_release_outlives_a_restart_of_the_voter() {
    let mut harness = VoterHarness::new();
    let (own, session) = (claim(1, 1, 10), relayed(7, 1));
    let kept = Claim { request: RequestId { number: 2, ..own.request }, ..own };
    let mut file = written(&mut harness, 10, request_of(session, "a", own));
    file.extend(written(&mut harness, 10, request_of(session, "b", kept)));
    let (request, attempt) = (own.request, u64::MAX);
    let release = ToVoter::Release { lock: "a", request, attempt, token: None };
    file.extend(written(&mut harness, 11, release));
    // From the file as it was written, and from a compacted file.
    for file in [file, harness.voter.records()] {
        let mut harness = restart(file);
        assert_eq!(harness.holder(), None);
        let late = Claim { attempt: 2, candidate: CandidateId(12), ..own };
        let answers = harness.deliver(12, request_of(relayed(7, 2), "a", late));
        assert!(matches!(answers[..], [ToCandidate::Gone { .. }]), "{answers:?}");
    }
}

#[test]
fn a_session_that_nodes_present_stays_one_after_a_restart() {
    let mut harness = VoterHarness::new();
    written(&mut harness, 10, request_of(presented(1, 1), "a", claim(1, 1, 10)));
    assert!(!harness.voter.records().iter().any(is_relayed));
    let records = written(&mut harness, 11, beat_of(relayed(8, 1)));
    assert!(records.iter().any(is_relayed), "{records:?}");
    let harness = restart(harness.voter.records());
    assert!(harness.voter.records().iter().any(is_relayed));
}

#[test]
fn a_forced_vote_is_kept_while_its_client_may_rely_on_any_node() {
    let mut harness = VoterHarness::new();
    let own = claim(1, 1, 10);
    harness.deliver(10, request_of(relayed(7, 1), "a", own));
    harness.now += 100;
    harness.deliver(11, beat_of(relayed(8, 1)));
    assert!(harness.voter.force(&"a", own.request, &mut Vec::new()));
    harness.now += TTL.0 - 1;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), Some(own), "one ttl after the other beat it is free");
    harness.now += 1;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), None);
}

#[test]
fn a_beat_of_one_node_leaves_the_places_that_another_one_announced() {
    let mut harness = VoterHarness::new();
    harness.voter.set_wall_clock(100);
    let own = claim(1, 1, 10);
    let (session, seen, waiting) = (relayed(7, 1), None, vec![(own.request, 90)]);
    harness.deliver(10, ToVoter::Beat { session, seen, waiting, confirms: false });
    harness.voter.set_wall_clock(10_000);
    harness.deliver(11, beat_of(relayed(8, 1)));
    harness.ask(claim(2, 1, 12), 0);
    let answers = harness.deliver(10, request_of(relayed(7, 2), "a", own));
    let place = |it: &ToCandidate<Name>| matches!(it, ToCandidate::Behind { stamp: 100, .. });
    assert!(answers.iter().any(place), "{answers:?}");
}

#[test]
fn a_token_that_an_earlier_attempt_recorded_does_not_confirm_a_later_one() {
    let mut harness = VoterHarness::new();
    let (earlier, later) = (claim(1, 1, 10), claim(1, 2, 11));
    let vote = vote_in(&harness.ask(earlier, 0)).expect("the vote is free");
    let raise = |claim, enters| ToVoter::Raise { lock: "a", claim, vote, token: 1, enters };
    harness.deliver(10, raise(earlier, true));
    harness.ask(later, 0);
    let answers = harness.deliver(11, raise(later, false));
    assert!(matches!(answers[..], [ToCandidate::Raised { entered: None, .. }]), "{answers:?}");
    let answers = harness.deliver(11, raise(later, true));
    assert!(matches!(answers[..], [ToCandidate::Raised { entered: Some(1), .. }]), "{answers:?}");
}

/// A candidate in a node that asks every voter in this attempt.
pub(super) fn relay(attempt: u64, inside: Option<u64>) -> (Candidate<Name>, Claim) {
    let claim = claim(1, attempt, 10);
    let relay = Candidate::new(claim.candidate, electorate(), presented(1, 1));
    let mut relay = relay.recording_entries();
    pursue(&mut relay, claim, inside);
    (relay, claim)
}

fn pursue(
    candidate: &mut Candidate<Name>,
    claim: Claim,
    inside: Option<u64>,
) -> Vec<CandidateEffect<Name>> {
    let Claim { request, attempt, .. } = claim;
    let (wanted, mut out) =
        (Wanted { lock: "a", request, attempt, stamp: 5, inside, ended: 0 }, Vec::new());
    candidate.pursue(wanted, &mut out);
    for _ in 0..2 {
        candidate.widen(request, &mut out);
    }
    out
}

/// A vote with this number and with this record at the voter.
pub(super) fn vote_with(
    claim: Claim,
    of_number: u64,
    on_record: Option<(u64, u64)>,
) -> ToCandidate<Name> {
    let mut message = vote_for(claim, 1, 5);
    if let ToCandidate::Vote { vote, last, entered, .. } = &mut message {
        (vote.number, *last, *entered) = (of_number, of_number, on_record);
    }
    message
}

/// Voters that are asked to record a token, with the token.
pub(super) fn recordings(effects: &[CandidateEffect<Name>]) -> Vec<(u32, u64)> {
    let recording = effects.iter().filter_map(|effect| match effect {
        CandidateEffect::Send(voter, ToVoter::Raise { token, enters: true, .. }) => {
            Some((voter.number(), *token))
        }
        _ => None,
    });
    recording.collect()
}

/// Voters that are asked for their votes, with the rank.
fn asked(effects: &[CandidateEffect<Name>]) -> Vec<(u32, Rank)> {
    let asked = effects.iter().filter_map(|effect| match effect {
        CandidateEffect::Send(voter, ToVoter::Request { rank, .. }) => {
            Some((voter.number(), *rank))
        }
        _ => None,
    });
    asked.collect()
}

fn standing(candidate: &Candidate<Name>, claim: Claim) -> RequestStatus {
    candidate.report(claim.request).expect("the request is pursued").standing
}

fn list(version: u64, entries: Vec<Entry<Name>>) -> ToCandidate<Name> {
    let (epoch, beat) = (vote_id().epoch, Beat { incarnation: 7, number: 1 });
    let part = Some(Part { index: 0, is_last: true });
    ToCandidate::Echo { epoch, beat, continuous: false, clock: 6, version, part, entries }
}

fn entry(claim: Claim, vote: Option<u64>, entered: Option<(u64, u64)>) -> Entry<Name> {
    Entry { lock: "a", claim, vote, entered, forced: false, recorded_in: 0 }
}

#[test]
fn a_token_is_recorded_at_a_quorum_before_the_client_hears_of_it() {
    let (mut relay, claim) = relay(1, None);
    deliver_to_candidate(&mut relay, 0, vote_with(claim, 1, None));
    let effects = deliver_to_candidate(&mut relay, 1, vote_with(claim, 1, None));
    assert_eq!(recordings(&effects), [(0, 1), (1, 1)]);
    assert_eq!(asked(&effects), [(2, Rank::First)], "its client may soon be inside");
    for (voter, entered) in [(0, Some(1)), (1, None)] {
        assert!(matches!(standing(&relay, claim), RequestStatus::Waiting(_)));
        deliver_to_candidate(&mut relay, voter, raised(claim, 1, entered));
    }
    assert!(matches!(standing(&relay, claim), RequestStatus::Waiting(_)));
    deliver_to_candidate(&mut relay, 1, raised(claim, 1, Some(1)));
    assert!(matches!(standing(&relay, claim), RequestStatus::Granted { token: 1, .. }));
}

#[test]
fn a_candidate_that_records_a_token_neither_yields_nor_withdraws() {
    let (mut relay, claim) = relay(1, None);
    deliver_to_candidate(&mut relay, 0, vote_with(claim, 1, None));
    let inquire = ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
    let gives_back = |relay: &mut Candidate<Name>| {
        let effects = deliver_to_candidate(relay, 0, inquire.clone());
        effects.iter().any(|it| matches!(it, CandidateEffect::Send(_, ToVoter::Yield { .. })))
    };
    assert!(gives_back(&mut relay.clone()));
    assert!(relay.clone().withdraw(claim.request, false, &mut Vec::new()));
    deliver_to_candidate(&mut relay, 1, vote_with(claim, 1, None));
    assert!(!gives_back(&mut relay));
    assert!(!relay.withdraw(claim.request, false, &mut Vec::new()));
    let mut out = Vec::new();
    assert!(relay.withdraw(claim.request, true, &mut out), "no other node can tell the client");
    assert_eq!(out.len(), 3);
}

#[test]
fn a_vote_without_a_record_is_given_back_although_another_voter_has_one() {
    // Otherwise two requests with records at some voters each would wait for each other.
    let five = Electorate::new(AnyCoterie::by_name("majority", 5).expect("a coterie"));
    let claim = claim(1, 2, 10);
    let mut relay = Candidate::new(claim.candidate, five, presented(1, 1)).recording_entries();
    pursue(&mut relay, claim, None);
    let inquire = ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
    let gives_back = |relay: &Candidate<Name>, voter| {
        let effects = deliver_to_candidate(&mut relay.clone(), voter, inquire.clone());
        effects.iter().any(|it| matches!(it, CandidateEffect::Send(_, ToVoter::Yield { .. })))
    };
    deliver_to_candidate(&mut relay, 0, vote_with(claim, 1, Some((1, 1))));
    assert!(!gives_back(&relay, 0), "the client may have been told, and may rely on it");
    assert!(!gives_back(&relay, 1), "the vote has not arrived");
    deliver_to_candidate(&mut relay, 1, vote_with(claim, 1, None));
    assert!(gives_back(&relay, 1));
    assert!(!gives_back(&relay, 0));
    deliver_to_candidate(&mut relay, 2, vote_with(claim, 1, None));
    assert!(!gives_back(&relay, 1), "three of five votes are being recorded");
}

#[test]
fn a_spare_vote_counts_once_it_is_recorded() {
    let (mut relay, claim) = relay(2, Some(1));
    deliver_to_candidate(&mut relay, 0, vote_with(claim, 1, Some((1, 1))));
    deliver_to_candidate(&mut relay, 1, vote_with(claim, 1, None));
    assert_eq!(standing(&relay, claim), RequestStatus::Held(None));
    deliver_to_candidate(&mut relay, 1, raised(claim, 1, Some(1)));
    assert!(matches!(standing(&relay, claim), RequestStatus::Held(Some(_))));
}

#[test]
fn a_client_that_is_inside_asks_before_all_others() {
    let (mut holder, claim) = relay(1, Some(1));
    let effects = pursue(&mut holder, Claim { attempt: 2, ..claim }, Some(1));
    assert_eq!(asked(&effects), [0, 1, 2].map(|voter| (voter, Rank::First)));
}

#[test]
fn a_candidate_that_finds_a_token_goes_on_with_it() {
    let (mut relay, claim) = relay(2, None);
    // The voters gave later numbers to a client that was already inside with token 1.
    let effects = deliver_to_candidate(&mut relay, 0, vote_with(claim, 3, Some((1, 1))));
    assert_eq!(asked(&effects), [(1, Rank::Found), (2, Rank::Found)]);
    assert!(!relay.withdraw(claim.request, true, &mut Vec::new()));
    let effects = deliver_to_candidate(&mut relay, 1, vote_with(claim, 3, Some((1, 1))));
    assert_eq!(asked(&effects), [(2, Rank::First)], "there is no quorum without the two");
    assert_eq!(recordings(&effects), [(0, 1), (1, 1)], "for this attempt it is not recorded");
    assert!(matches!(standing(&relay, claim), RequestStatus::Waiting(_)));
}

#[test]
fn a_candidate_that_finds_a_greater_token_records_no_smaller_one() {
    let (mut relay, claim) = relay(3, None);
    for voter in [0, 1] {
        deliver_to_candidate(&mut relay, voter, vote_with(claim, 1, None));
    }
    // The client may have learned token 4, so from now on that is the token.
    let effects = deliver_to_candidate(&mut relay, 2, vote_with(claim, 4, Some((2, 4))));
    assert!(!recordings(&effects).is_empty());
    assert!(recordings(&effects).iter().all(|(_, token)| *token == 4), "{effects:?}");
}

#[test]
fn a_token_in_a_list_is_found_by_the_next_attempt() {
    let (mut relay, earlier) = relay(1, None);
    relay.forget(earlier.request);
    for (voter, of) in [(0, Rank::Found), (1, Rank::First)] {
        deliver_to_candidate(
            &mut relay,
            voter,
            list(5, vec![entry(earlier, Some(1), Some((1, 1)))]),
        );
        let mut relay = relay.clone();
        let effects = pursue(&mut relay, claim(1, 2, 10), None);
        assert_eq!(relay.found_token(earlier.request), Some(1));
        assert_eq!(asked(&effects).len(), 3);
        assert!(asked(&effects).iter().all(|(_, rank)| *rank == of), "{effects:?}");
    }
}

#[test]
fn a_request_of_a_node_records_no_token() {
    // It may have waited, or been in transit, for longer than its client was inside.
    let mut harness = VoterHarness::new();
    let inside = |claim, relayed: bool| {
        let session = if relayed { super::records::relayed(7, 1) } else { presented(1, 1) };
        ToVoter::Request {
            session,
            lock: "a",
            claim,
            stamp: 0,
            inside: Some(4),
            rank: Rank::Waits,
            ended: 0,
        }
    };
    let on_record = |answers: &[ToCandidate<Name>]| match answers[..] {
        [ToCandidate::Vote { vote, entered, .. }, ..] => (vote.number, entered),
        _ => panic!("{answers:?}"),
    };
    let own = claim(1, 1, 10);
    assert_eq!(on_record(&harness.deliver(10, inside(own, true))), (4, None));
    let later = Claim { attempt: 2, ..own };
    assert_eq!(on_record(&harness.deliver(10, inside(later, true))), (4, None));
    // A direct client sends `inside` only while it is valid.
    let mut harness = VoterHarness::new();
    assert_eq!(on_record(&harness.deliver(10, inside(own, false))), (4, Some((1, 4))));
    assert_eq!(on_record(&harness.deliver(10, inside(later, false))), (4, Some((2, 4))));
}

#[test]
fn every_vote_of_a_client_that_is_inside_is_recorded() {
    let (mut relay, claim) = relay(1, Some(1));
    let effects = deliver_to_candidate(&mut relay, 2, vote_with(claim, 1, None));
    assert_eq!(recordings(&effects), [(2, 1)]);
    let next_beat = |relay: &mut Candidate<Name>, number| {
        let mut out = Vec::new();
        relay.begin_beat(number, 1, &mut out);
        recordings(&out)
    };
    assert_eq!(next_beat(&mut relay, 2), [(2, 1)], "the message may have been lost");
    deliver_to_candidate(&mut relay, 2, raised(claim, 1, Some(1)));
    assert_eq!(next_beat(&mut relay, 3), []);
}

#[test]
fn a_greater_token_counts_once_a_quorum_has_recorded_it() {
    let (mut relay, claim) = relay(2, Some(1));
    for voter in [0, 1] {
        deliver_to_candidate(&mut relay, voter, vote_with(claim, 1, Some((2, 1))));
    }
    assert!(matches!(standing(&relay, claim), RequestStatus::Held(Some(_))));
    let effects = deliver_to_candidate(&mut relay, 2, vote_with(claim, 4, Some((1, 4))));
    assert_eq!(recordings(&effects), [(0, 4), (1, 4), (2, 4)]);
    let confirms = |relay: &mut Candidate<Name>, voter, of_number, last| {
        let vote = VoteId { number: of_number, ..vote_id() };
        deliver_to_candidate(
            relay,
            voter,
            ToCandidate::Raised { lock: "a", claim, vote, last, entered: Some(4), recorded_in: 0 },
        )
    };
    confirms(&mut relay, 2, 4, 4);
    confirms(&mut relay, 0, 1, 3);
    assert_eq!(relay.inside(claim.request), Some(1), "voter 0 may give a number below 4 again");
    assert_eq!(standing(&relay, claim), RequestStatus::Held(None), "its client is told nothing");
    confirms(&mut relay, 0, 1, 4);
    assert_eq!(relay.inside(claim.request), Some(4));
    assert!(matches!(standing(&relay, claim), RequestStatus::Held(Some(_))));
}

#[test]
fn a_voter_that_has_forgotten_a_force_release_is_asked_again() {
    let (mut waiter, claim) = candidate(1, None);
    let request = claim.request;
    deliver_to_candidate(
        &mut waiter,
        0,
        ToCandidate::Gone { lock: "a", request, attempt: u64::MAX, forced: true },
    );
    let asks_again = |waiter: &mut Candidate<Name>, beat| {
        let mut out = Vec::new();
        waiter.begin_beat(beat, 1, &mut out);
        out.iter().any(|effect| {
            matches!(effect, CandidateEffect::Send(voter, ToVoter::Request { .. }) if voter.index() == 0)
        })
    };
    assert!(!asks_again(&mut waiter, 2));
    // A late request has reached the voter after its restart.
    deliver_to_candidate(&mut waiter, 0, list(1, vec![entry(claim, None, None)]));
    assert!(asks_again(&mut waiter, 3), "its place there would block others");
    let ended = Entry { forced: true, ..entry(claim, None, None) };
    deliver_to_candidate(&mut waiter, 0, list(2, vec![ended]));
    assert!(!asks_again(&mut waiter, 4));
}

#[test]
fn one_voter_that_knows_a_release_ends_a_request_that_waits() {
    let gone = |of: Claim, attempt, forced| {
        let (lock, request) = ("a", of.request);
        ToCandidate::Gone { lock, request, attempt, forced }
    };
    let (mut waiter, claim) = candidate(2, None);
    deliver_to_candidate(&mut waiter, 0, gone(claim, 1, false));
    assert_eq!(standing(&waiter, claim), RequestStatus::Waiting(0), "an earlier attempt has ended");
    deliver_to_candidate(&mut waiter, 0, gone(claim, 2, false));
    assert_eq!(standing(&waiter, claim), RequestStatus::Gone);
    // By force, a request ends only once the remaining voters contain no quorum.
    let (mut waiter, claim) = candidate(2, None);
    deliver_to_candidate(&mut waiter, 0, gone(claim, u64::MAX, true));
    assert_eq!(standing(&waiter, claim), RequestStatus::Waiting(0));
    deliver_to_candidate(&mut waiter, 1, gone(claim, u64::MAX, true));
    assert_eq!(standing(&waiter, claim), RequestStatus::Gone);
    // A client that is inside has the votes of the other voters.
    let (mut holder, claim) = candidate(2, Some(1));
    deliver_to_candidate(&mut holder, 0, gone(claim, u64::MAX, false));
    assert_eq!(standing(&holder, claim), RequestStatus::Held(None));
    deliver_to_candidate(&mut holder, 1, gone(claim, u64::MAX, false));
    assert_eq!(standing(&holder, claim), RequestStatus::Gone);
}

#[test]
fn a_vote_that_was_released_through_another_node_is_not_asked_for_again() {
    let (mut holder, claim) = relay(1, Some(1));
    deliver_to_candidate(&mut holder, 0, vote_with(claim, 1, Some((1, 1))));
    assert_eq!(asked(&deliver_to_candidate(&mut holder, 0, list(6, Vec::new()))), []);
    let (mut waiter, claim) = relay(1, None);
    deliver_to_candidate(&mut waiter, 0, vote_with(claim, 1, None));
    assert_eq!(
        asked(&deliver_to_candidate(&mut waiter, 0, list(6, Vec::new()))),
        [(0, Rank::Waits)]
    );
}

#[test]
fn a_token_is_on_record_where_a_quorum_lists_it_with_a_vote_that_is_renewed() {
    let (mut relay, claim) = relay(2, None);
    let listed = |vote| list(6, vec![entry(claim, vote, Some((1, 1)))]);
    let recorded = |relay: &Candidate<Name>| relay.recorded(claim.request).map(|(token, _)| token);
    deliver_to_candidate(&mut relay, 0, listed(Some(1)));
    assert_eq!(recorded(&relay), None);
    let mut forced = relay.clone();
    deliver_to_candidate(&mut forced, 1, listed(None));
    assert_eq!(recorded(&forced), None, "an operator has ended the request");
    deliver_to_candidate(&mut relay, 1, listed(Some(1)));
    assert_eq!(recorded(&relay), Some(1));
    // A vote carries a later token than the lists.
    deliver_to_candidate(&mut relay, 2, vote_with(claim, 4, Some((1, 4))));
    assert_eq!(recorded(&relay), None);
}

#[test]
fn voters_stamp_the_requests_of_candidates_in_nodes() {
    let stamps = |mut candidate: Candidate<Name>| {
        deliver_to_candidate(&mut candidate, 0, list(1, Vec::new()));
        let (request, mut out) = (claim(1, 1, 10).request, Vec::new());
        let wanted = Wanted { lock: "a", request, attempt: 1, stamp: 0, inside: None, ended: 0 };
        candidate.pursue(wanted, &mut out);
        let stamps = out.into_iter().filter_map(|effect| match effect {
            CandidateEffect::Send(_, ToVoter::Request { stamp, .. }) => Some(stamp),
            _ => None,
        });
        stamps.collect::<Vec<u64>>()
    };
    let candidate = || Candidate::new(CandidateId(10), electorate(), presented(1, 1));
    assert_eq!(stamps(candidate()), [7, 7], "the clock that it was told, and one");
    assert_eq!(stamps(candidate().recording_entries()), [0, 0], "it may not be the first one");
}

#[test]
fn a_candidate_releases_only_what_its_own_client_has_ended() {
    let releases = |mut candidate: Candidate<Name>, listed: RequestId| {
        candidate.begin_beat(2, 1, &mut Vec::new());
        let of = Claim { request: listed, ..claim(1, 1, 9) };
        let effects =
            deliver_to_candidate(&mut candidate, 0, list(1, vec![entry(of, Some(1), None)]));
        effects.iter().any(|it| matches!(it, CandidateEffect::Send(_, ToVoter::Release { .. })))
    };
    let candidate = || Candidate::new(CandidateId(10), electorate(), presented(1, 1));
    let ended = claim(1, 1, 9).request;
    assert!(releases(candidate(), ended));
    assert!(!releases(candidate(), RequestId { number: 2, ..ended }), "it is not known yet");
    assert!(!releases(candidate(), RequestId { incarnation: 8, ..ended }), "another process");
    assert!(!releases(candidate().recording_entries(), ended), "other nodes may go on with it");
}

/// A list that echoes this beat.
fn list_of_beat(number: u64, version: u64, entries: Vec<Entry<Name>>) -> ToCandidate<Name> {
    let mut list = list(version, entries);
    if let ToCandidate::Echo { beat, .. } = &mut list {
        beat.number = number;
    }
    list
}

#[test]
fn a_token_is_found_for_later_attempts_of_the_same_turn() {
    let found = |attempt: u64, ended: u64| {
        let relay = Candidate::new(CandidateId(10), electorate(), presented(1, 1));
        let mut relay = relay.recording_entries();
        let earlier = entry(claim(1, 2, 9), Some(1), Some((2, 6)));
        deliver_to_candidate(&mut relay, 0, list(1, vec![earlier]));
        let (request, inside) = (claim(1, attempt, 10).request, None);
        let wanted = Wanted { lock: "a", request, attempt, stamp: 5, inside, ended };
        relay.pursue(wanted, &mut Vec::new());
        relay.found_token(request)
    };
    assert_eq!((found(2, 0), found(3, 0)), (None, Some(6)), "its own record is no earlier one");
    assert_eq!((found(3, 1), found(3, 2)), (Some(6), None), "an earlier turn does not count");
}

#[test]
fn a_token_that_a_quorum_lists_is_good_for_the_beat_of_that_quorum() {
    let recorded = |pursued: Option<(u64, Option<u64>)>| {
        let relay = Candidate::new(CandidateId(10), electorate(), presented(1, 9));
        let mut relay = relay.recording_entries();
        let of = claim(1, 2, 9);
        for (voter, beat) in [(0, 4), (1, 3), (2, 2)] {
            let listed = vec![entry(of, Some(1), Some((2, 6)))];
            deliver_to_candidate(&mut relay, voter, list_of_beat(beat, 1, listed));
        }
        if let Some((ended, inside)) = pursued {
            let (lock, request) = ("a", of.request);
            let wanted = Wanted { lock, request, attempt: 3, stamp: 5, inside, ended };
            relay.pursue(wanted, &mut Vec::new());
        }
        relay.recorded(of.request).map(|(token, beat)| (token, beat.incarnation, beat.number))
    };
    assert_eq!(recorded(None), Some((6, 7, 3)));
    assert_eq!(recorded(Some((1, Some(6)))), Some((6, 7, 3)));
    assert_eq!(recorded(Some((1, Some(7)))), None, "the lists are older than the client's token");
    assert_eq!(recorded(Some((2, None))), None, "the record of an earlier turn");
}

#[test]
fn a_token_that_was_never_sent_is_not_recorded() {
    let (mut relay, claim) = relay(1, None);
    for voter in [0, 1] {
        deliver_to_candidate(&mut relay, voter, vote_with(claim, 1, None));
    }
    let withdraws =
        |relay: &Candidate<Name>| relay.clone().withdraw(claim.request, false, &mut Vec::new());
    assert!(!withdraws(&relay), "voters may have recorded the token");
    relay.not_raised(claim.request, 2, None);
    assert!(!withdraws(&relay), "another token was not sent");
    relay.not_raised(claim.request, 1, None);
    assert!(withdraws(&relay));
}

#[test]
fn a_list_with_a_gap_is_not_complete() {
    let complete = |parts: &[(u64, u32, bool)]| {
        let relay = Candidate::new(CandidateId(10), electorate(), presented(1, 1));
        let mut relay = relay.recording_entries();
        for (number, (version, index, is_last)) in (1..).zip(parts) {
            let of =
                Claim { request: RequestId { number, ..claim(1, 1, 9).request }, ..claim(1, 1, 9) };
            let mut part = list(*version, vec![entry(of, Some(1), None)]);
            if let ToCandidate::Echo { part, .. } = &mut part {
                *part = Some(Part { index: *index, is_last: *is_last });
            }
            deliver_to_candidate(&mut relay, 0, part);
        }
        relay.listed().count()
    };
    assert_eq!(complete(&[(1, 0, false), (1, 1, false), (1, 2, true)]), 3);
    assert_eq!(complete(&[(1, 0, false), (1, 2, true)]), 0, "a part is missing");
    assert_eq!(complete(&[(1, 1, true)]), 0, "the first part is missing");
    assert_eq!(complete(&[(1, 0, false), (2, 1, true)]), 0, "parts of two lists");
    assert_eq!(complete(&[(1, 0, false), (2, 0, true)]), 1, "a later list begins anew");
    assert_eq!(complete(&[(1, 0, false), (1, 0, false), (1, 1, true)]), 2, "a repeated part");
}

#[test]
fn a_grant_that_ends_now_lets_nobody_in() {
    for (now, events) in [(TTL.0 - 1, 1), (TTL.0, 0)] {
        let mut client: Client<Name> = Client::new(1, 7, TTL, terms());
        assert_eq!(client.beat_interval(), Span(TTL.0 / 3));
        let (beat, request) = (client.begin_beat(Time(1)), client.acquire("a", 0));
        assert_eq!(terms().validity(TTL), Span(TTL.0 - 1));
        let standing = RequestStatus::Granted { token: 1, beat };
        let mut out = Vec::new();
        let report = Report { request, attempt: 1, stamp: 5, standing };
        client.on_report(report, Time(now), &mut out);
        assert_eq!(out.len(), events, "{now}: {out:?}");
    }
}
