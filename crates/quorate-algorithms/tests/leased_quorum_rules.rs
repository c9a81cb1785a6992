//! Rules of leased-quorum one by one: how voters answer faulty or malicious clients, which messages candidates and
//! clients ignore, order, and cost.

#[path = "leased_quorum_rules/candidates.rs"]
mod candidates;
#[path = "leased_quorum_rules/chain.rs"]
mod chain;
#[path = "leased_quorum_rules/changes.rs"]
mod changes;
#[path = "leased_quorum_rules/choosing.rs"]
mod choosing;
#[path = "leased_quorum_rules/continuity.rs"]
mod continuity;
#[path = "leased_quorum_rules/counting.rs"]
mod counting;
#[path = "leased_quorum_rules/learning.rs"]
mod learning;
#[path = "leased_quorum_rules/places.rs"]
mod places;
#[path = "leased_quorum_rules/records.rs"]
mod records;
#[path = "leased_quorum_rules/restarts.rs"]
mod restarts;
#[path = "leased_quorum_rules/turns.rs"]
mod turns;
#[path = "leased_quorum_rules/votes.rs"]
mod votes;

use quorate_algorithms::mutex::leased_quorum::{
    Ballot, Beat, Candidate, CandidateEffect, CandidateId, Claim, Client, ClientEvent,
    DirectClient, DirectEffect, Electorate, Entry, Epoch, Memory, Part, PeerMessage, Presented,
    Rank, Record, Report, RequestId, RequestStatus, RestartId, Terms, ToCandidate, ToVoter, VoteId,
    Voter, VoterEffect, Wanted,
};
use quorate_core::quorum::AnyCoterie;
use quorate_core::{Drift, ProcessId, Span, Time};

type Name = &'static str;

const TTL: Span = Span(9_000);

fn electorate() -> Electorate {
    Electorate::new(AnyCoterie::by_name("majority", 3).expect("a coterie"))
}

fn terms() -> Terms {
    Terms { ttl_least: Span(3_000), ttl_most: TTL, drift: Drift::NONE }
}

/// One voter, and messages to it.
struct VoterHarness {
    voter: Voter<Name>,
    now: u64,
}

impl VoterHarness {
    fn new() -> Self {
        Self { voter: Voter::new(ProcessId::new(0), electorate(), terms()), now: 1 }
    }

    fn deliver(&mut self, from: u64, message: ToVoter<Name>) -> Vec<ToCandidate<Name>> {
        let mut out = Vec::new();
        self.voter.wake(Time(self.now), &mut out);
        out.clear();
        self.voter.on_message(CandidateId(from), message, Time(self.now), &mut out);
        let sent = out.into_iter().filter_map(|effect| match effect {
            VoterEffect::Send(_, message) => Some(message),
            _ => None,
        });
        sent.collect()
    }

    fn beat(&mut self, session: u128, number: u64) -> Vec<ToCandidate<Name>> {
        let session = presented(session, number);
        self.deliver(9, ToVoter::Beat { session, seen: None, waiting: Vec::new(), confirms: false })
    }

    fn ask(&mut self, claim: Claim, stamp: u64) -> Vec<ToCandidate<Name>> {
        let session = presented(claim.request.session, 1);
        let request = ToVoter::Request {
            session,
            lock: "a",
            claim,
            stamp,
            inside: None,
            rank: Rank::Waits,
            ended: 0,
        };
        self.deliver(claim.candidate.0, request)
    }

    fn holder(&self) -> Option<Claim> {
        self.voter.ballot(&"a")?.vote().map(|vote| vote.claim)
    }
}

fn presented(session: u128, number: u64) -> Presented {
    Presented {
        session,
        ttl: TTL,
        beat: Beat { incarnation: 7, number },
        relayed: false,
        config: 0,
    }
}

fn claim(session: u128, attempt: u64, candidate: u64) -> Claim {
    let request = RequestId { session, incarnation: 7, number: 1 };
    Claim { request, attempt, candidate: CandidateId(candidate) }
}

fn vote_in(answers: &[ToCandidate<Name>]) -> Option<VoteId> {
    answers.iter().find_map(|answer| match answer {
        ToCandidate::Vote { vote, .. } => Some(*vote),
        _ => None,
    })
}

#[test]
fn the_same_attempt_of_another_candidate_is_stale() {
    let mut harness = VoterHarness::new();
    assert!(vote_in(&harness.ask(claim(1, 1, 10), 0)).is_some());
    let answers = harness.ask(claim(1, 1, 11), 0);
    assert!(matches!(answers[..], [ToCandidate::Stale { attempt: 1, .. }]), "{answers:?}");
    // A greater attempt takes the vote over and keeps its number.
    let before = vote_in(&harness.ask(claim(1, 1, 10), 0));
    assert_eq!(vote_in(&harness.ask(claim(1, 2, 11), 0)), before);
    assert_eq!(harness.holder(), Some(claim(1, 2, 11)));
    let answers = harness.ask(claim(1, 1, 10), 0);
    assert!(matches!(answers[..], [ToCandidate::Stale { attempt: 2, .. }]), "{answers:?}");
}

#[test]
fn a_repeated_beat_extends_nothing() {
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 1, 10), 0);
    harness.now += TTL.0 - 1;
    harness.beat(1, 1);
    harness.now += 1;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), None, "one ttl after the only beat");
    harness.ask(claim(1, 1, 10), 0);
    harness.now += TTL.0 - 1;
    harness.beat(1, 2);
    harness.now += 1;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert!(harness.holder().is_some(), "a newer beat extends");
}

#[test]
fn a_client_that_is_inside_comes_before_those_that_wait() {
    let mut harness = VoterHarness::new();
    let waiter = claim(1, 1, 10);
    let vote = vote_in(&harness.ask(waiter, 5)).expect("the vote is free");
    // It entered with the votes of other voters, before the older request arrived.
    let inside = claim(2, 1, 11);
    let spare = ToVoter::Request {
        session: presented(2, 1),
        lock: "a",
        claim: inside,
        stamp: 9,
        inside: Some(1),
        rank: Rank::First,
        ended: 0,
    };
    let answers = harness.deliver(11, spare);
    let asked_back = |it: &ToCandidate<Name>| matches!(it, ToCandidate::Inquire { claim, .. } if *claim == waiter);
    assert!(answers.iter().any(asked_back), "{answers:?}");
    harness.deliver(10, ToVoter::Yield { lock: "a", claim: waiter, vote });
    assert_eq!(harness.holder(), Some(inside));
    // Its vote is not asked back, however old another request is.
    let answers = harness.ask(claim(3, 1, 12), 1);
    assert!(!answers.iter().any(|it| matches!(it, ToCandidate::Inquire { .. })), "{answers:?}");
}

#[test]
fn a_candidate_withdraws_only_its_own_attempt_and_only_before_a_token_is_recorded() {
    let withdraw = |claim, untold| ToVoter::Withdraw { lock: "a", claim, untold };
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 2, 11), 0);
    harness.deliver(10, withdraw(claim(1, 1, 10), true));
    harness.deliver(12, withdraw(claim(1, 2, 11), true));
    assert!(harness.holder().is_some(), "it is not theirs");
    harness.deliver(11, withdraw(claim(1, 2, 11), false));
    assert_eq!(harness.holder(), None);
    // A withdrawal is not final: the client may request the lock again.
    let vote = vote_in(&harness.ask(claim(1, 3, 12), 0)).expect("the vote is free");
    let own = claim(1, 3, 12);
    harness.deliver(12, ToVoter::Raise { lock: "a", claim: own, vote, token: 9, enters: true });
    harness.deliver(12, withdraw(own, false));
    assert!(harness.holder().is_some(), "a token is recorded");
    harness.deliver(12, withdraw(own, true));
    assert_eq!(harness.holder(), None, "nobody was told");
}

#[test]
fn a_release_is_final() {
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 2, 11), 0);
    let request = claim(1, 2, 11).request;
    harness.deliver(10, ToVoter::Release { lock: "a", request, attempt: u64::MAX, token: None });
    assert_eq!(harness.holder(), None);
    let answers = harness.ask(claim(1, 3, 12), 0);
    assert!(matches!(answers[..], [ToCandidate::Gone { .. }]), "{answers:?}");
}

#[test]
fn a_release_up_to_an_attempt_leaves_later_ones_alone() {
    let release = |attempt| {
        let (lock, request, token) = ("a", claim(1, 1, 10).request, None);
        ToVoter::Release { lock, request, attempt, token }
    };
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 2, 11), 0);
    harness.deliver(10, release(1));
    assert!(harness.holder().is_some());
    harness.deliver(10, release(2));
    assert_eq!(harness.holder(), None);
    let answers = harness.ask(claim(1, 2, 11), 0);
    assert!(matches!(answers[..], [ToCandidate::Gone { attempt: 2, .. }]), "{answers:?}");
    assert!(vote_in(&harness.ask(claim(1, 3, 11), 0)).is_some());
}

#[test]
fn what_a_relayed_session_has_lapses_together() {
    let relayed = |incarnation, number| {
        let beat = Beat { incarnation, number };
        Presented { relayed: true, beat, ..presented(1, 1) }
    };
    let beat = |incarnation, number| {
        let (session, seen, waiting) = (relayed(incarnation, number), None, Vec::new());
        ToVoter::Beat { session, seen, waiting, confirms: false }
    };
    let mut harness = VoterHarness::new();
    let (lock, claim, stamp, inside, rank) = ("a", claim(1, 1, 10), 0, None, Rank::Waits);
    let session = relayed(7, 1);
    harness.deliver(10, ToVoter::Request { session, lock, claim, stamp, inside, rank, ended: 0 });
    harness.now += TTL.0 - 1;
    harness.deliver(11, beat(8, 1));
    harness.now += TTL.0 - 1;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert!(harness.holder().is_some(), "its client has called another node");
    harness.now += 1;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), None);
}

#[test]
fn a_request_whose_client_may_be_inside_comes_first() {
    let mut harness = VoterHarness::new();
    let older = claim(1, 1, 10);
    harness.ask(older, 5);
    let (session, lock, claim, inside) = (presented(2, 1), "a", claim(2, 2, 11), None);
    let first =
        ToVoter::Request { session, lock, claim, stamp: 9, inside, rank: Rank::First, ended: 0 };
    let answers = harness.deliver(11, first);
    let asked_back = |it: &ToCandidate<Name>| matches!(it, ToCandidate::Inquire { claim, .. } if *claim == older);
    assert!(answers.iter().any(asked_back), "{answers:?}");
}

#[test]
fn requests_come_by_their_ranks_and_those_without_by_their_stamps() {
    let mut harness = VoterHarness::new();
    harness.voter.set_wall_clock(100);
    harness.ask(claim(1, 1, 10), 0);
    let ask = |harness: &mut VoterHarness, of: u32, rank| {
        let (session, lock, claim) = (presented(of.into(), 1), "a", claim(of.into(), 1, of.into()));
        let (stamp, inside, ended) = (0, None, 0);
        harness.deliver(
            of.into(),
            ToVoter::Request { session, lock, claim, stamp, inside, rank, ended },
        );
    };
    ask(&mut harness, 2, Rank::Waits);
    ask(&mut harness, 3, Rank::Found);
    ask(&mut harness, 4, Rank::First);
    let order = |harness: &VoterHarness| {
        let ballot = harness.voter.ballot(&"a").expect("it is in use");
        ballot.queue().map(|(_, claim)| claim.request.session).collect::<Vec<u128>>()
    };
    assert_eq!(order(&harness), [4, 3, 2]);
    // It has no record any more, and its new stamp is younger than the other one's.
    harness.voter.set_wall_clock(200);
    ask(&mut harness, 3, Rank::Waits);
    assert_eq!(order(&harness), [4, 2, 3]);
}

#[test]
fn a_client_cannot_use_up_numbers_or_clocks() {
    let mut harness = VoterHarness::new();
    harness.voter.set_wall_clock(1_000);
    let own = claim(1, 1, 10);
    let vote = vote_in(&harness.ask(own, u64::MAX)).expect("the vote is free");
    assert_eq!(harness.voter.clock(), 1_000, "stamps of clients do not move a voter's clock");
    let raise = ToVoter::Raise { lock: "a", claim: own, vote, token: u64::MAX, enters: false };
    assert!(harness.deliver(10, raise).is_empty());
    let request = own.request;
    harness.deliver(
        10,
        ToVoter::Release { lock: "a", request, attempt: u64::MAX, token: Some(u64::MAX) },
    );
    assert_eq!(harness.voter.last(&"a"), Some(1));
    let spare = ToVoter::Request {
        session: presented(2, 1),
        lock: "a",
        claim: claim(2, u64::MAX, 12),
        stamp: 5,
        inside: Some(u64::MAX),
        rank: Rank::Waits,
        ended: 0,
    };
    assert_eq!(vote_in(&harness.deliver(12, spare)).map(|vote| vote.number), Some(2));
}

#[test]
fn a_vote_of_another_claim_is_neither_confirmed_nor_given_back() {
    let mut harness = VoterHarness::new();
    let vote = vote_in(&harness.ask(claim(1, 1, 10), 0)).expect("the vote is free");
    harness.ask(claim(1, 2, 11), 0);
    for claim in [claim(1, 1, 10), claim(2, 1, 12)] {
        let raise = ToVoter::Raise { lock: "a", claim, vote, token: 5, enters: true };
        assert!(harness.deliver(claim.candidate.0, raise).is_empty());
        harness.deliver(claim.candidate.0, ToVoter::Yield { lock: "a", claim, vote });
    }
    let late = VoteId { number: vote.number + 1, ..vote };
    harness.deliver(11, ToVoter::Yield { lock: "a", claim: claim(1, 2, 11), vote: late });
    assert_eq!((harness.holder(), harness.voter.last(&"a")), (Some(claim(1, 2, 11)), Some(1)));
}

#[test]
fn a_candidate_speaks_for_itself_only() {
    let mut harness = VoterHarness::new();
    let session = presented(1, 1);
    for (from, of) in [(11, claim(1, 1, 10)), (10, claim(2, 1, 10))] {
        let (lock, claim, stamp, inside, rank) = ("a", of, 0, None, Rank::Waits);
        let request = ToVoter::Request { session, lock, claim, stamp, inside, rank, ended: 0 };
        assert!(harness.deliver(from, request).is_empty());
    }
    assert_eq!(harness.holder(), None);
}

#[test]
fn a_session_keeps_its_ttl() {
    let mut harness = VoterHarness::new();
    harness.beat(1, 1);
    let other = Presented { ttl: Span(5_000), ..presented(1, 2) };
    let beat =
        |session| ToVoter::Beat { session, seen: None, waiting: Vec::new(), confirms: false };
    let answers = harness.deliver(9, beat(other));
    assert!(matches!(answers[..], [ToCandidate::Refused { ttl: TTL, .. }]), "{answers:?}");
    let long = Presented { ttl: Span(u64::MAX), ..presented(3, 1) };
    let answers = harness.deliver(9, beat(long));
    assert!(matches!(answers[..], [ToCandidate::Refused { ttl: TTL, .. }]), "{answers:?}");
}

#[test]
fn stamps_that_are_too_old_are_lifted() {
    let mut harness = VoterHarness::new();
    harness.voter.set_wall_clock(500);
    harness.beat(1, 1);
    harness.ask(claim(1, 1, 10), 700);
    // A session that has received clock 500 cannot have an older request.
    harness.beat(2, 1);
    let answers = harness.ask(claim(2, 1, 11), 3);
    assert!(
        answers.iter().any(|it| matches!(it, ToCandidate::Behind { stamp: 501, place: 1, .. })),
        "{answers:?}"
    );
    // The request that has the vote is younger, so the voter asks for the vote back.
    assert!(answers.iter().any(|it| matches!(it, ToCandidate::Inquire { .. })), "{answers:?}");
}

#[test]
fn a_request_without_a_stamp_comes_after_those_that_wait() {
    let mut harness = VoterHarness::new();
    harness.voter.set_wall_clock(500);
    // The later session receives the clock first, and requests the lock last.
    harness.beat(3, 1);
    harness.ask(claim(1, 1, 10), 0);
    harness.voter.set_wall_clock(600);
    harness.ask(claim(2, 1, 11), 0);
    harness.voter.set_wall_clock(700);
    let answers = harness.ask(claim(3, 1, 12), 0);
    assert!(
        answers.iter().any(|it| matches!(it, ToCandidate::Behind { stamp: 700, place: 2, .. })),
        "{answers:?}"
    );
}

#[test]
fn a_waiter_keeps_its_place_at_a_voter_it_had_not_asked() {
    let mut harness = VoterHarness::new();
    harness.voter.set_wall_clock(100);
    let waiting = vec![(claim(1, 1, 10).request, 90)];
    let beat = |number, waiting: &Vec<_>| ToVoter::Beat {
        session: presented(1, number),
        seen: None,
        waiting: waiting.clone(),
        confirms: false,
    };
    harness.deliver(10, beat(1, &waiting));
    harness.voter.set_wall_clock(10_000);
    harness.deliver(10, beat(2, &waiting));
    harness.ask(claim(2, 1, 11), 0);
    let answers = harness.ask(claim(1, 1, 10), 90);
    let place = answers.iter().find_map(|it| match it {
        ToCandidate::Behind { stamp, .. } => Some(*stamp),
        _ => None,
    });
    assert_eq!(place, Some(100), "the clock when its first beat named it, not the present one");
}

#[test]
fn a_forced_request_is_dead_and_listed_as_such() {
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 1, 10), 0);
    harness.ask(claim(2, 1, 11), 0);
    let mut out = Vec::new();
    assert!(harness.voter.force(&"a", claim(1, 1, 10).request, &mut out));
    assert_eq!(harness.holder(), Some(claim(1, 1, 10)), "its client may still rely on it");
    let answers = harness.ask(claim(1, 2, 12), 0);
    assert!(matches!(answers[..], [ToCandidate::Gone { .. }]), "{answers:?}");
    let listed = |entry: &Entry<Name>| entry.forced && entry.vote.is_none();
    assert!(harness.voter.entries(1).iter().any(listed));
    harness.now += TTL.0;
    harness.beat(1, 2);
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), None, "both sessions have lapsed");
}

#[test]
fn a_forced_request_that_waited_does_not_come_back() {
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 1, 10), 0);
    harness.ask(claim(2, 1, 11), 0);
    assert!(harness.voter.force(&"a", claim(2, 1, 11).request, &mut Vec::new()));
    let answers = harness.ask(claim(2, 2, 12), 0);
    assert!(matches!(answers[..], [ToCandidate::Gone { .. }]), "{answers:?}");
}

/// A vote without a recorded entry, as a voter sends it.
fn vote_for(claim: Claim, beat: u64, version: u64) -> ToCandidate<Name> {
    ToCandidate::Vote {
        lock: "a",
        claim,
        vote: vote_id(),
        last: 1,
        stamp: 5,
        beat: Beat { incarnation: 7, number: beat },
        clock: 5,
        version,
        entered: None,
        recorded_in: 0,
        ended: 0,
        config: 0,
        floor: 0,
    }
}

fn vote_id() -> VoteId {
    VoteId { epoch: Epoch { incarnation: 0, number: 1 }, number: 1 }
}

fn raised(claim: Claim, last: u64, entered: Option<u64>) -> ToCandidate<Name> {
    ToCandidate::Raised { lock: "a", claim, vote: vote_id(), last, entered, recorded_in: 0 }
}

/// A candidate of session 1 that pursues a request in this attempt.
fn candidate(attempt: u64, inside: Option<u64>) -> (Candidate<Name>, Claim) {
    let claim = claim(1, attempt, 10);
    let mut candidate = Candidate::new(claim.candidate, electorate(), presented(1, 1));
    let wanted = Wanted { lock: "a", request: claim.request, attempt, stamp: 5, inside, ended: 0 };
    candidate.pursue(wanted, &mut Vec::new());
    (candidate, claim)
}

fn deliver_to_candidate(
    candidate: &mut Candidate<Name>,
    voter: u32,
    message: ToCandidate<Name>,
) -> Vec<CandidateEffect<Name>> {
    let mut out = Vec::new();
    candidate.on_message(ProcessId::new(voter), message, &mut out);
    out
}

#[test]
fn a_grant_of_an_earlier_attempt_lets_nobody_in() {
    let mut client: Client<Name> = Client::new(1, 7, TTL, terms());
    let beat = client.begin_beat(Time(1));
    let request = client.acquire("a", 0);
    client.change_candidate();
    let granted = |attempt| {
        let standing = RequestStatus::Granted { token: 1, beat };
        Report { request, attempt, stamp: 5, standing }
    };
    let mut events = Vec::new();
    client.on_report(granted(1), Time(2), &mut events);
    assert_eq!(events, [], "the earlier candidate may have given votes back since");
    client.on_report(granted(2), Time(2), &mut events);
    assert!(matches!(events[..], [ClientEvent::Entered { token: 1, .. }]), "{events:?}");
}

#[test]
fn a_vote_that_is_not_listed_is_not_extended() {
    let (mut candidate, claim) = candidate(1, Some(1));
    for voter in [0, 1] {
        deliver_to_candidate(&mut candidate, voter, vote_for(claim, 1, 5));
    }
    let held = |candidate: &Candidate<Name>| match candidate.report(claim.request) {
        Some(Report { standing: RequestStatus::Held(Some(beat)), .. }) => Some(beat.number),
        _ => None,
    };
    assert_eq!(held(&candidate), Some(1));
    candidate.begin_beat(2, 1, &mut Vec::new());
    // These lists were sent before the votes, so the beat that they echo does not extend them.
    let echo = |entries, version| ToCandidate::Echo {
        epoch: vote_id().epoch,
        beat: Beat { incarnation: 7, number: 2 },
        continuous: false,
        clock: 6,
        version,
        part: Some(Part { index: 0, is_last: true }),
        entries,
    };
    for voter in [0, 1] {
        deliver_to_candidate(&mut candidate, voter, echo(Vec::new(), 4));
    }
    assert_eq!(held(&candidate), Some(1));
    let (lock, vote, entered, forced) = ("a", Some(1), None, false);
    for voter in [0, 1] {
        let entry = Entry { lock, claim, vote, entered, forced, recorded_in: 0 };
        deliver_to_candidate(&mut candidate, voter, echo(vec![entry], 5));
    }
    assert_eq!(held(&candidate), Some(2));
}

#[test]
fn a_vote_with_a_recorded_entry_is_not_given_back() {
    let inquire = |claim| ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
    let yields = |effects: &[CandidateEffect<Name>]| {
        effects.iter().any(|it| matches!(it, CandidateEffect::Send(_, ToVoter::Yield { .. })))
    };
    let (mut own, claim) = candidate(2, None);
    assert!(
        !yields(&deliver_to_candidate(&mut own, 0, inquire(claim))),
        "the vote itself has not arrived"
    );
    deliver_to_candidate(&mut own, 0, vote_for(claim, 1, 5));
    assert!(yields(&deliver_to_candidate(&mut own, 0, inquire(claim))));
    // An earlier candidate has recorded a token, so the client may be inside.
    let (mut own, claim) = candidate(2, None);
    let mut recorded = vote_for(claim, 1, 5);
    let ToCandidate::Vote { entered, .. } = &mut recorded else { unreachable!("it is a vote") };
    *entered = Some((1, 1));
    deliver_to_candidate(&mut own, 0, recorded);
    assert!(!yields(&deliver_to_candidate(&mut own, 0, inquire(claim))));
}

#[test]
fn a_voter_keeps_a_vote_with_a_recorded_entry() {
    let mut harness = VoterHarness::new();
    let own = claim(1, 1, 10);
    let vote = vote_in(&harness.ask(own, 0)).expect("the vote is free");
    harness.deliver(10, ToVoter::Raise { lock: "a", claim: own, vote, token: 1, enters: true });
    harness.deliver(10, ToVoter::Yield { lock: "a", claim: own, vote });
    assert_eq!(harness.holder(), Some(own));
    // Another candidate has taken the request over, and does not know whether the client has learned its token.
    let later = claim(1, 2, 11);
    harness.ask(later, 0);
    harness.deliver(11, ToVoter::Withdraw { lock: "a", claim: later, untold: true });
    assert_eq!(harness.holder(), Some(later));
    harness
        .deliver(12, ToVoter::Release { lock: "a", request: own.request, attempt: 2, token: None });
    assert_eq!(harness.holder(), None);
}

/// Three voters and direct clients. Messages take no time.
struct Cluster {
    voters: Vec<Voter<Name>>,
    clients: Vec<DirectClient<Name>>,
    messages: u64,
    events: Vec<(usize, ClientEvent)>,
    now: u64,
}

impl Cluster {
    fn new(clients: u64) -> Self {
        let voter = |id| Voter::new(ProcessId::new(id), electorate(), terms());
        let client = |id: u64| {
            let client = Client::new(id.into(), 7, TTL, terms());
            DirectClient::new(client, CandidateId(id), electorate())
        };
        Self {
            voters: (0..3).map(voter).collect(),
            clients: (0..clients).map(client).collect(),
            messages: 0,
            events: Vec::new(),
            now: 1,
        }
    }

    fn act(
        &mut self,
        at: usize,
        input: impl FnOnce(&mut DirectClient<Name>, Time, &mut Vec<DirectEffect<Name>>),
    ) {
        let (now, mut out) = (Time(self.now), Vec::new());
        input(&mut self.clients[at], now, &mut out);
        let mut effects: std::collections::VecDeque<(usize, DirectEffect<Name>)> =
            out.into_iter().map(|effect| (at, effect)).collect();
        while let Some((client, effect)) = effects.pop_front() {
            match effect {
                DirectEffect::Send(voter, message) => {
                    self.messages += 1;
                    let (from, mut out) = (CandidateId(client as u64), Vec::new());
                    self.voters[voter.index()].on_message(from, message, now, &mut out);
                    for effect in out {
                        let VoterEffect::Send(to, message) = effect else { continue };
                        self.messages += 1;
                        let (to, mut out) = (to.0 as usize, Vec::new());
                        self.clients[to].on_message(voter, message, now, &mut out);
                        effects.extend(out.into_iter().map(|effect| (to, effect)));
                    }
                }
                DirectEffect::Event(event) => self.events.push((client, event)),
                DirectEffect::Refused(ttl) => panic!("refused: {ttl:?}"),
            }
        }
    }

    fn acquire(&mut self, at: usize) -> RequestId {
        let mut request = None;
        self.act(at, |client, now, out| request = Some(client.acquire("a", 0, now, out)));
        request.expect("a request was made")
    }

    fn token(&self, at: usize) -> Option<u64> {
        self.clients[at].client().held().next().map(|(_, _, token)| token)
    }
}

#[test]
fn an_entry_costs_three_messages_per_voter_of_a_quorum() {
    let mut cluster = Cluster::new(2);
    for at in [0, 1] {
        cluster.act(at, |client, now, out| client.beat(now, out));
    }
    cluster.messages = 0;
    let request = cluster.acquire(0);
    assert_eq!(cluster.token(0), Some(1));
    cluster.act(0, |client, now, out| _ = client.release(request, now, out));
    assert_eq!(cluster.messages, 6, "request, vote and release, with two voters");
    let request = cluster.acquire(1);
    cluster.act(1, |client, now, out| _ = client.release(request, now, out));
    assert_eq!((cluster.messages, cluster.token(1)), (12, None));
}

#[test]
fn a_holder_takes_spare_votes_after_a_beat() {
    let mut cluster = Cluster::new(1);
    cluster.act(0, |client, now, out| client.beat(now, out));
    cluster.acquire(0);
    let votes = |cluster: &Cluster| {
        let has = |voter: &&Voter<Name>| voter.ballot(&"a").is_some_and(|it| it.vote().is_some());
        cluster.voters.iter().filter(has).count()
    };
    assert_eq!(votes(&cluster), 2);
    for _ in 0..2 {
        cluster.now += TTL.0 / 3;
        cluster.act(0, |client, now, out| client.beat(now, out));
    }
    assert_eq!(votes(&cluster), 3);
}

#[test]
fn waiters_enter_in_the_order_of_their_requests() {
    let mut cluster = Cluster::new(4);
    for at in 0..4 {
        cluster.act(at, |client, now, out| client.beat(now, out));
    }
    let first = cluster.acquire(0);
    let mut requests = vec![first];
    for at in 1..4 {
        cluster.now += 10;
        for voter in &mut cluster.voters {
            voter.set_wall_clock(at as u64 * 10);
        }
        cluster.act(at, |client, now, out| client.beat(now, out));
        requests.push(cluster.acquire(at));
    }
    for (at, request) in requests.into_iter().enumerate() {
        assert_eq!(cluster.token(at), Some(at as u64 + 1), "{:?}", cluster.events);
        cluster.act(at, |client, now, out| _ = client.release(request, now, out));
    }
}
