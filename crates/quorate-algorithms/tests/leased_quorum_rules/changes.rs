//! Rules for changes of the voters, one by one. `docs/membership.md` has their numbers.

use super::*;
use quorate_algorithms::mutex::leased_quorum::{DirectEffects, VoterEffects};
use quorate_core::ProcessSet;

fn majority(index: u64, voters: &[u32]) -> Electorate {
    let voters: ProcessSet = voters.iter().copied().map(ProcessId::new).collect();
    let coterie = AnyCoterie::by_name("majority", voters.len()).expect("a coterie");
    Electorate::stable(index, &voters, coterie)
}

/// From the voters 0, 1, 2 to 0, 3, 4.
pub(super) fn joint() -> Electorate {
    Electorate::joint(&majority(0, &[0, 1, 2]), &majority(0, &[0, 3, 4]))
}

pub(super) fn after() -> Electorate {
    majority(2, &[0, 3, 4])
}

impl VoterHarness {
    pub(super) fn adopt(
        &mut self,
        electorate: Electorate,
        previous: Option<Electorate>,
    ) -> VoterEffects<Name> {
        let mut out = Vec::new();
        self.voter.adopt(electorate, previous, Time(self.now), &mut out);
        out
    }

    pub(super) fn ask_in(
        &mut self,
        config: u64,
        claim: Claim,
        stamp: u64,
    ) -> Vec<ToCandidate<Name>> {
        self.deliver(claim.candidate.0, request_in(config, claim, stamp))
    }

    pub(super) fn hears(&mut self, from: u32, message: PeerMessage) -> VoterEffects<Name> {
        let mut out = Vec::new();
        self.voter.on_peer(ProcessId::new(from), message, &mut out);
        out
    }

    pub(super) fn is_told(&mut self, from: u32, floor: u64) -> VoterEffects<Name> {
        let config = self.voter.electorate().index();
        self.hears(from, PeerMessage::Known { asked: 0, config, floor, clock: 1 })
    }
}

fn request_in(config: u64, claim: Claim, stamp: u64) -> ToVoter<Name> {
    ToVoter::Request {
        session: Presented { config, ..presented(claim.request.session, 1) },
        lock: "a",
        claim,
        stamp,
        inside: None,
        rank: Rank::Waits,
        ended: 0,
    }
}

fn floor_in(answers: &[ToCandidate<Name>]) -> Option<u64> {
    answers.iter().find_map(|answer| match answer {
        ToCandidate::Vote { floor, .. } => Some(*floor),
        _ => None,
    })
}

#[test]
fn rule_2_a_voter_serves_only_candidates_of_its_own_configuration() {
    let mut harness = VoterHarness::new();
    let (early, late) = (claim(1, 1, 10), claim(2, 1, 11));
    let vote = vote_in(&harness.ask(early, 0)).expect("the vote is free");
    harness.adopt(joint(), Some(electorate()));
    let raise = ToVoter::Raise { lock: "a", claim: early, vote, token: 1, enters: false };
    let beat = ToVoter::Beat {
        session: presented(1, 2),
        seen: None,
        waiting: Vec::new(),
        confirms: false,
    };
    for message in [request_in(0, early, 0), raise.clone(), beat] {
        let answers = harness.deliver(10, message);
        assert!(matches!(answers[..], [ToCandidate::Outdated { index: 1 }]), "{answers:?}");
    }
    // The votes that it had given lapse, because their beats were refused.
    harness.now += TTL.0;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), None);
    // A message of a newer configuration waits, and is answered once the voter knows it.
    assert_eq!(harness.ask_in(2, late, 0), []);
    let out = harness.adopt(after(), Some(joint()));
    let votes = out.iter().filter(|it| {
        matches!(it, VoterEffect::Send(_, ToCandidate::Vote { claim, config: 2, .. }) if *claim == late)
    });
    assert_eq!(votes.count(), 1, "{out:?}");
    assert_eq!(harness.ask_in(9, early, 0), [], "far beyond what this voter can know");
}

#[test]
fn rule_2_a_vote_is_not_given_to_a_waiter_that_does_not_know_the_configuration() {
    let mut harness = VoterHarness::new();
    let (holder, waiter, other) = (claim(1, 1, 10), claim(2, 1, 11), claim(3, 1, 12));
    let vote = vote_in(&harness.ask(holder, 3)).expect("the vote is free");
    harness.ask(waiter, 4);
    harness.ask(other, 5);
    let out = harness.adopt(joint(), Some(electorate()));
    // All three are told, so that they ask again.
    let told = |candidate: u64| {
        out.iter().any(|it| {
            matches!(it, VoterEffect::Send(CandidateId(to), ToCandidate::Outdated { index: 1 }) if *to == candidate)
        })
    };
    assert!(told(10) && told(11) && told(12), "{out:?}");
    harness.ask_in(1, other, 5);
    // A message that frees a vote is accepted from every candidate.
    harness.deliver(10, ToVoter::Yield { lock: "a", claim: holder, vote });
    assert_eq!(harness.holder(), Some(other), "the first waiter that knows the configuration");
    // The older waiter keeps its place: it asks for the vote back once it knows the configuration.
    let answers = harness.ask_in(1, waiter, 4);
    let inquires = |it: &ToCandidate<Name>| matches!(it, ToCandidate::Inquire { claim, .. } if *claim == other);
    assert!(answers.iter().any(inquires), "{answers:?}");
}

#[test]
fn rule_5_a_voter_learns_from_a_quorum_of_the_configuration_before() {
    let mut harness = VoterHarness::new();
    let waiter = claim(1, 1, 10);
    harness.ask(waiter, 0);
    let out = harness.adopt(joint(), Some(electorate()));
    let asks = |to: u32| {
        let message = PeerMessage::Learn { asked: 0, config: 1 };
        out.contains(&VoterEffect::SendPeer(ProcessId::new(to), message))
    };
    assert!(asks(1) && asks(2) && asks(3) && asks(4), "{out:?}");
    assert!(!harness.voter.has_learned());
    harness.is_told(3, 70);
    assert!(!harness.voter.has_learned(), "not a voter of the configuration before");
    let late = PeerMessage::Known { asked: 0, config: 2, floor: 60, clock: 1 };
    harness.hears(1, late);
    assert!(!harness.voter.has_learned(), "that voter is in a newer configuration");
    assert_eq!(floor_in(&harness.ask_in(1, waiter, 0)), Some(0));
    harness.is_told(1, 50);
    assert!(harness.voter.has_learned() && harness.voter.learned_floor() == 70);
    // The vote that was given before requires a greater token now, and later numbers are greater.
    assert_eq!(floor_in(&harness.ask_in(1, waiter, 0)), Some(70));
    assert!(harness.voter.last(&"a") >= Some(70) && harness.voter.last(&"b") >= Some(70));
    // The floor survives a restart, and is passed on.
    let restarted = restarts::restart(harness.voter.records());
    assert_eq!(restarted.voter.learned_floor(), 70);
    let out = harness.hears(3, PeerMessage::Learn { asked: 4, config: 1 });
    let known = |it: &VoterEffect<Name>| matches!(it, VoterEffect::SendPeer(_, PeerMessage::Known { floor, .. }) if *floor >= 70);
    assert!(out.iter().any(known), "{out:?}");
    // It does not answer voters whose configuration it does not know.
    assert_eq!(harness.hears(3, PeerMessage::Learn { asked: 4, config: 2 }), []);
}

#[test]
fn rule_5_numbers_are_reserved_before_they_count_as_learned() {
    let voter = Voter::new(ProcessId::new(0), electorate(), terms()).with_ceiling(10);
    let mut harness = VoterHarness { voter, now: 1 };
    harness.adopt(joint(), Some(electorate()));
    let out = harness.is_told(1, 50);
    assert!(
        out.iter().any(|it| matches!(it, VoterEffect::Reserve(mark) if *mark >= 50)),
        "{out:?}"
    );
    assert!(!harness.voter.has_learned(), "a voter that forgets its votes would vote below 50");
    harness.voter.reserved(2_000_000, &mut Vec::new());
    assert!(harness.voter.has_learned());
}

#[test]
fn rule_6_a_voter_is_closed_when_the_sessions_that_it_knew_have_lapsed() {
    let mut harness = VoterHarness::new();
    harness.beat(1, 1);
    harness.now += 2_000;
    harness.adopt(joint(), Some(electorate()));
    let is_closed = |harness: &VoterHarness, at| harness.voter.is_closed(Time(at));
    assert!(!is_closed(&harness, TTL.0) && is_closed(&harness, TTL.0 + 1));
    // A restart counts as a beat of every session.
    let records = harness.voter.records();
    let restarted = restarts::restart(records).voter;
    let restarted = restarted.in_configuration(joint(), Some(electorate()), Time(5_000));
    assert!(restarted.is_closed(Time(5_000)), "a session without votes begins again");
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 1, 10), 0);
    let restarted = restarts::restart(harness.voter.records()).voter;
    let restarted = restarted.in_configuration(joint(), Some(electorate()), Time(1));
    assert!(!restarted.is_closed(Time(TTL.0)) && restarted.is_closed(Time(1 + TTL.0)));
}

#[test]
fn rule_7_a_voter_that_has_forgotten_learns_from_both_configurations() {
    let forgotten = |mark| {
        let memory = Memory { incarnation: 3, mark };
        let voter = Voter::<Name>::new(ProcessId::new(0), electorate(), terms());
        voter.forgotten(memory, Time(0)).in_configuration(joint(), Some(electorate()), Time(0))
    };
    let mut harness = VoterHarness { voter: forgotten(None), now: 1 };
    assert!(!harness.voter.is_closed(Time(TTL.0 - 1)), "a client may rely on a forgotten vote");
    harness.now = 10 * TTL.0;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    let told = |harness: &mut VoterHarness, from, floor| {
        harness.hears(from, PeerMessage::Known { asked: 3, config: 1, floor, clock: 1 });
    };
    told(&mut harness, 1, 5);
    told(&mut harness, 2, 6);
    assert!(!harness.voter.is_voting(), "no quorum of the new voters yet");
    told(&mut harness, 3, 9);
    assert!(!harness.voter.is_voting());
    told(&mut harness, 4, 8);
    assert!(harness.voter.is_voting() && harness.voter.has_learned());
    assert_eq!(harness.voter.last(&"a"), Some(9));
    // A voter that has lost more than its votes waits until it may return.
    let mut harness = VoterHarness { voter: forgotten(None), now: 1 };
    harness.voter.stay_out(true);
    harness.now = 10 * TTL.0;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    (1..5).for_each(|from| told(&mut harness, from, 9));
    assert!(!harness.voter.is_voting() && harness.voter.next_wake().is_none());
    harness.voter.stay_out(false);
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    (1..5).for_each(|from| told(&mut harness, from, 9));
    assert!(harness.voter.is_voting());
}

#[test]
fn rule_10_a_voter_that_has_lost_everything_abstains_on_the_terms_of_its_cluster() {
    let longer = Terms { ttl_most: Span(3 * TTL.0), ..terms() };
    let abstains = |lost_everything: bool| {
        let memory = Memory { incarnation: 3, mark: None };
        let voter = Voter::<Name>::new(ProcessId::new(0), electorate(), terms());
        let mut voter = voter.forgotten(memory, Time(0));
        voter.stay_out(lost_everything);
        voter.set_terms(longer);
        voter.stay_out(false);
        voter.next_wake().expect("it abstains")
    };
    assert_eq!(abstains(true), Time(longer.abstention().0));
    // The votes of a voter that knows its configuration were not given on later terms.
    assert_eq!(abstains(false), Time(terms().abstention().0));
    // Terms never shorten what has begun.
    let memory = Memory { incarnation: 3, mark: None };
    let voter = Voter::<Name>::new(ProcessId::new(0), electorate(), longer);
    let mut voter = voter.forgotten(memory, Time(0));
    voter.stay_out(true);
    voter.set_terms(Terms { drift: Drift::NONE, ..longer });
    voter.stay_out(false);
    assert_eq!(voter.next_wake(), Some(Time(longer.abstention().0)));
}

#[test]
fn a_direct_client_relies_on_the_terms_of_the_newest_configuration() {
    let (mut direct, request, _) = direct();
    let cautious = Terms { drift: Drift(Drift::ONE / 4), ..terms() };
    direct.adopt(joint(), cautious, Time(1), &mut Vec::new());
    // Those of an older configuration change nothing.
    direct.adopt(electorate(), terms(), Time(1), &mut Vec::new());
    for voter in 0..4 {
        let vote = vote_of(request, 1, 0, 1);
        direct.on_message(ProcessId::new(voter), vote, Time(2), &mut Vec::new());
    }
    // It counts from the beat, which began at 0.
    let until = direct.client().valid_until(request).expect("it is inside");
    assert_eq!(until, Time(cautious.validity(TTL).0));
    assert!(until < Time(terms().validity(TTL).0));
}

/// A direct client of voters 0, 1, 2 that has asked for a lock, with what it has sent.
fn direct() -> (DirectClient<Name>, RequestId, DirectEffects<Name>) {
    let (claim, mut out) = (claim(1, 1, 10), Vec::new());
    let client = Client::new(1, 7, TTL, terms());
    let mut direct = DirectClient::new(client, claim.candidate, electorate());
    direct.beat(Time(0), &mut out);
    let request = direct.acquire("a", 0, Time(0), &mut out);
    direct.widen(request, Time(0), &mut out);
    (direct, request, out)
}

/// A vote of the client's first beat, as a voter sends it.
fn vote_of(request: RequestId, config: u64, floor: u64, number: u64) -> ToCandidate<Name> {
    let claim = Claim { request, attempt: 1, candidate: CandidateId(10) };
    let vote = VoteId { number, ..vote_id() };
    match vote_for(claim, 1, 1) {
        ToCandidate::Vote {
            lock,
            claim,
            stamp,
            beat,
            clock,
            version,
            entered,
            recorded_in,
            ended,
            ..
        } => {
            let last = number.max(floor);
            ToCandidate::Vote {
                lock,
                claim,
                vote,
                last,
                stamp,
                beat,
                clock,
                version,
                entered,
                recorded_in,
                ended,
                config,
                floor,
            }
        }
        other => other,
    }
}

fn asked(out: &DirectEffects<Name>, in_config: u64) -> Vec<u32> {
    let requests = out.iter().filter_map(|effect| match effect {
        DirectEffect::Send(voter, ToVoter::Request { session, .. }) => {
            (session.config == in_config).then_some(voter.number())
        }
        _ => None,
    });
    let mut voters: Vec<u32> = requests.collect();
    voters.sort_unstable();
    voters.dedup();
    voters
}

#[test]
fn rule_4_votes_are_requested_again_and_late_ones_do_not_count() {
    let (mut direct, request, _) = direct();
    let mut out = Vec::new();
    direct.on_message(ProcessId::new(0), vote_of(request, 0, 0, 1), Time(1), &mut out);
    out.clear();
    direct.adopt(joint(), terms(), Time(1), &mut out);
    assert_eq!(asked(&out, 1), [0, 1, 2, 3, 4]);
    let votes = |direct: &mut DirectClient<Name>, voters: &[u32], config| {
        for voter in voters {
            let vote = vote_of(request, config, 0, 1);
            direct.on_message(ProcessId::new(*voter), vote, Time(2), &mut Vec::new());
        }
    };
    votes(&mut direct, &[0, 1, 2, 3, 4], 0);
    assert_eq!(
        direct.client().held().count(),
        0,
        "answers to requests of the configuration before"
    );
    votes(&mut direct, &[0, 1], 1);
    assert_eq!(direct.client().held().count(), 0, "rule 3: a quorum of the new voters is missing");
    votes(&mut direct, &[3], 1);
    assert_eq!(direct.client().held().count(), 1);
    // A configuration that is not newer changes nothing.
    let mut out = Vec::new();
    direct.adopt(electorate(), terms(), Time(3), &mut out);
    assert_eq!((direct.candidate().electorate().index(), out.len()), (1, 0));
}

#[test]
fn rule_4_a_client_that_is_inside_keeps_its_votes_and_needs_a_quorum_of_the_new_voters() {
    let (mut direct, request, _) = direct();
    for voter in 0..2 {
        let vote = vote_of(request, 0, 0, 1);
        direct.on_message(ProcessId::new(voter), vote, Time(1), &mut Vec::new());
    }
    let until = direct.client().valid_until(request).expect("it is inside");
    let mut out = Vec::new();
    direct.adopt(joint(), terms(), Time(2), &mut out);
    assert_eq!(asked(&out, 1), [0, 1, 2, 3, 4]);
    assert_eq!(direct.client().valid_until(request), Some(until), "what it was told is still true");
    // An echo of the old voters is not enough to extend it.
    direct.beat(Time(3), &mut Vec::new());
    let echo = |number| {
        let claim = Claim { request, attempt: 1, candidate: CandidateId(10) };
        let (vote, entered) = (Some(1), None);
        let entry = Entry { lock: "a", claim, vote, forced: false, entered, recorded_in: 0 };
        ToCandidate::Echo {
            epoch: vote_id().epoch,
            beat: Beat { incarnation: 7, number },
            continuous: false,
            clock: 5,
            version: 1,
            part: Some(Part { index: 0, is_last: true }),
            entries: vec![entry],
        }
    };
    for voter in 0..3 {
        direct.on_message(ProcessId::new(voter), echo(2), Time(4), &mut Vec::new());
    }
    assert_eq!(direct.client().valid_until(request), Some(until));
    // A number above the token does no harm to a vote of a client that is inside.
    direct.on_message(ProcessId::new(3), vote_of(request, 1, 9, 12), Time(5), &mut Vec::new());
    direct.on_message(ProcessId::new(3), echo_of(echo(2), 12), Time(5), &mut Vec::new());
    assert!(direct.client().valid_until(request) > Some(until));
}

/// The echo with another number of the vote.
fn echo_of(echo: ToCandidate<Name>, number: u64) -> ToCandidate<Name> {
    match echo {
        ToCandidate::Echo { epoch, beat, continuous, clock, part, mut entries, .. } => {
            entries.iter_mut().for_each(|entry| entry.vote = Some(number));
            ToCandidate::Echo { epoch, beat, continuous, clock, version: 2, part, entries }
        }
        other => other,
    }
}

#[test]
fn rule_5_a_token_is_greater_than_what_the_voters_have_learned() {
    let (mut direct, request, _) = direct();
    direct.adopt(after(), terms(), Time(1), &mut Vec::new());
    let mut out = Vec::new();
    direct.on_message(ProcessId::new(0), vote_of(request, 2, 40, 3), Time(2), &mut out);
    direct.on_message(ProcessId::new(3), vote_of(request, 2, 30, 2), Time(2), &mut out);
    let raised: Vec<u64> = out
        .iter()
        .filter_map(|effect| match effect {
            DirectEffect::Send(_, ToVoter::Raise { token, .. }) => Some(*token),
            _ => None,
        })
        .collect();
    assert!(!raised.is_empty() && raised.iter().all(|token| *token == 41), "{raised:?}");
    assert_eq!(direct.client().held().count(), 0);
}

#[test]
fn a_grant_that_the_client_may_know_is_not_given_back_after_a_change() {
    let claim = claim(1, 1, 10);
    let mut candidate = Candidate::new(claim.candidate, electorate(), presented(1, 1));
    let mut out = Vec::new();
    let wanted =
        Wanted { lock: "a", request: claim.request, attempt: 1, stamp: 0, inside: None, ended: 0 };
    candidate.pursue(wanted, &mut out);
    candidate.widen(claim.request, &mut out);
    for voter in 0..2 {
        candidate.on_message(ProcessId::new(voter), vote_for(claim, 1, 1), &mut out);
    }
    let granted = |it: &CandidateEffect<Name>| {
        matches!(
            it,
            CandidateEffect::Report(Report { standing: RequestStatus::Granted { .. }, .. })
        )
    };
    assert!(out.iter().any(granted), "{out:?}");
    let mut out = Vec::new();
    candidate.adopt(joint(), Some(electorate()), &mut out);
    let broken = |it: &CandidateEffect<Name>| {
        matches!(it, CandidateEffect::Report(Report { standing: RequestStatus::Broken, .. }))
    };
    assert!(out.iter().any(broken), "a client that is not inside raises its attempt: {out:?}");
    let mut out = Vec::new();
    let inquire = ToCandidate::Inquire { lock: "a", claim, vote: vote_id() };
    candidate.on_message(ProcessId::new(0), inquire, &mut out);
    let yields =
        |it: &CandidateEffect<Name>| matches!(it, CandidateEffect::Send(_, ToVoter::Yield { .. }));
    assert!(!out.iter().any(yields), "the client may be inside: {out:?}");
}

#[test]
fn rule_4b_a_record_counts_only_in_the_configuration_in_which_it_was_made() {
    let claim = claim(1, 1, 10);
    let session = Presented { relayed: true, ..presented(1, 1) };
    let mut relay = Candidate::new(claim.candidate, after(), session).recording_entries();
    let echo = |recorded_in| {
        let entered = Some((1, 4));
        let entry = Entry { lock: "a", claim, vote: Some(3), forced: false, entered, recorded_in };
        ToCandidate::Echo {
            epoch: vote_id().epoch,
            beat: Beat { incarnation: 7, number: 1 },
            continuous: true,
            clock: 5,
            version: 1 + recorded_in,
            part: Some(Part { index: 0, is_last: true }),
            entries: vec![entry],
        }
    };
    for voter in [0, 3, 4] {
        relay.on_message(ProcessId::new(voter), echo(1), &mut Vec::new());
    }
    assert_eq!(relay.recorded(claim.request), None, "another client may have had the lock since");
    for voter in [0, 3] {
        relay.on_message(ProcessId::new(voter), echo(2), &mut Vec::new());
    }
    assert_eq!(relay.recorded(claim.request).map(|(token, _)| token), Some(4));
}

#[test]
fn waiters_keep_their_places_at_a_new_voter() {
    let new =
        |id| VoterHarness { voter: Voter::new(ProcessId::new(id), electorate(), terms()), now: 1 };
    let mut harness = new(3);
    harness.voter.set_wall_clock(1_000_000);
    harness.adopt(joint(), Some(electorate()));
    let (old, young) = (claim(1, 1, 10), claim(2, 1, 11));
    // The older request is heard of last.
    let behind = |answers: Vec<ToCandidate<Name>>| match answers[..] {
        [ToCandidate::Behind { stamp, .. } | ToCandidate::Vote { stamp, .. }, ..] => stamp,
        _ => 0,
    };
    harness.ask_in(1, claim(3, 1, 12), 1_000);
    assert_eq!(behind(harness.ask_in(1, young, 5_000)), 5_000);
    assert_eq!(behind(harness.ask_in(1, old, 4_000)), 4_000);
    // One time-to-live later, a request cannot claim to be older than the clock any more.
    harness.now += TTL.0 + 1;
    assert!(behind(harness.ask_in(1, claim(4, 1, 13), 2_000)) >= 1_000_000);
}

#[test]
fn rule_5_a_found_token_is_kept_only_above_the_floor_or_if_it_was_recorded_since() {
    let rows = [(1, 3, true), (1, 4, false), (1, 40, false), (2, 40, true)];
    for (recorded_in, floor, kept) in rows {
        let claim = claim(1, 2, 10);
        let session = Presented { relayed: true, ..presented(1, 1) };
        let mut relay = Candidate::new(claim.candidate, after(), session).recording_entries();
        let mut out = Vec::new();
        let (request, attempt, stamp, inside, ended) = (claim.request, 2, 0, None, 0);
        relay.pursue(Wanted { lock: "a", request, attempt, stamp, inside, ended }, &mut out);
        relay.widen(request, &mut out);
        for voter in [0, 3, 4] {
            let found = match vote_for(claim, 1, 1) {
                ToCandidate::Vote {
                    lock, claim, vote, stamp, beat, clock, version, ended, ..
                } => {
                    let (entered, config, last) = (Some((1, 4)), 2, floor.max(6));
                    // A later number than the token on record.
                    let vote = VoteId { number: 6, ..vote };
                    ToCandidate::Vote {
                        lock,
                        claim,
                        vote,
                        last,
                        stamp,
                        beat,
                        clock,
                        version,
                        entered,
                        recorded_in,
                        ended,
                        config,
                        floor,
                    }
                }
                other => other,
            };
            relay.on_message(ProcessId::new(voter), found, &mut out);
        }
        let tokens: Vec<u64> = out
            .iter()
            .filter_map(|effect| match effect {
                CandidateEffect::Send(_, ToVoter::Raise { token, .. }) => Some(*token),
                _ => None,
            })
            .collect();
        let expected = if kept { 4 } else { 6.max(floor + 1) };
        assert!(!tokens.is_empty() && tokens.iter().all(|it| *it == expected), "{tokens:?}");
    }
}
