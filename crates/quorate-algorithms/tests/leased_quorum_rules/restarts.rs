//! Rules for voters that restart: what their vote file contains, and how they behave if they have forgotten their votes.

use super::*;

/// The records that a voter writes before it sends anything.
pub(super) fn written(
    harness: &mut VoterHarness,
    from: u64,
    message: ToVoter<Name>,
) -> Vec<Record<Name>> {
    let mut out = Vec::new();
    harness.voter.on_message(CandidateId(from), message, Time(harness.now), &mut out);
    records_in(out)
}

fn records_in(effects: Vec<VoterEffect<Name>>) -> Vec<Record<Name>> {
    let first = effects.into_iter().take_while(|it| !matches!(it, VoterEffect::Send(..)));
    let records = first.filter_map(|effect| match effect {
        VoterEffect::Persist(record) => Some(record),
        _ => None,
    });
    records.collect()
}

/// The voter after its first restart, from these records.
pub(super) fn restart(records: Vec<Record<Name>>) -> VoterHarness {
    restart_at(1, RestartId { incarnation: 0, number: 1 }, records)
}

pub(super) fn restart_at(
    now: u64,
    restart_id: RestartId,
    records: Vec<Record<Name>>,
) -> VoterHarness {
    let voter = Voter::new(ProcessId::new(0), electorate(), terms());
    VoterHarness { voter: voter.restored(restart_id, records, Time(now)), now }
}

fn request_of(claim: Claim) -> ToVoter<Name> {
    let session = presented(claim.request.session, 1);
    ToVoter::Request {
        session,
        lock: "a",
        claim,
        stamp: 0,
        inside: None,
        rank: Rank::Waits,
        ended: 0,
    }
}

#[test]
fn what_a_voter_sends_is_in_its_file() {
    let mut harness = VoterHarness::new();
    let (own, later) = (claim(1, 1, 10), claim(1, 2, 11));
    let mut file = written(&mut harness, 10, request_of(own));
    let agrees = |harness: &VoterHarness, file: &[Record<Name>]| {
        let restarted = restart(file.to_vec());
        let ballot = |harness: &VoterHarness| {
            let ballot = harness.voter.ballot(&"a")?;
            let vote = ballot.vote()?;
            Some((ballot.last(), vote.claim, vote.number, vote.entered, vote.frozen.is_some()))
        };
        assert!(ballot(harness).is_some());
        assert_eq!(ballot(&restarted), ballot(harness));
    };
    agrees(&harness, &file);
    file.extend(written(&mut harness, 11, request_of(later)));
    agrees(&harness, &file);
    let vote = vote_in(&harness.ask(later, 0)).expect("it has the vote");
    for enters in [false, true] {
        let raise = ToVoter::Raise { lock: "a", claim: later, vote, token: 5, enters };
        file.extend(written(&mut harness, 11, raise));
        agrees(&harness, &file);
    }
    let mut out = Vec::new();
    assert!(harness.voter.force(&"a", own.request, &mut out));
    file.extend(records_in(out));
    agrees(&harness, &file);
    assert!(
        harness.voter.ballot(&"a").and_then(Ballot::vote).is_some_and(|it| it.frozen.is_some())
    );
}

#[test]
fn a_voter_that_reads_its_file_keeps_votes_for_one_ttl() {
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 1, 10), 0);
    let restart_id = RestartId { incarnation: 0, number: 1 };
    let mut harness = restart_at(1_000, restart_id, harness.voter.records());
    harness.now += TTL.0 - 1;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), Some(claim(1, 1, 10)), "the file does not say when it was heard");
    harness.now += 1;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    assert_eq!(harness.holder(), None);
}

#[test]
fn votes_from_before_a_restart_are_unheard_until_a_beat_or_their_end() {
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 1, 10), 0);
    assert_eq!(harness.voter.unheard(), 0);
    let restart_id = RestartId { incarnation: 0, number: 1 };
    let mut heard = restart_at(1, restart_id, harness.voter.records());
    assert_eq!(heard.voter.unheard(), 1);
    heard.beat(2, 2);
    assert_eq!(heard.voter.unheard(), 1, "another session was heard");
    heard.beat(1, 2);
    assert_eq!(heard.voter.unheard(), 0);
    let mut lapsed = restart_at(1, restart_id, harness.voter.records());
    lapsed.voter.wake(Time(1 + TTL.0), &mut Vec::new());
    assert_eq!(lapsed.voter.unheard(), 0);
}

#[test]
fn a_list_of_an_earlier_life_is_sent_again() {
    let mut harness = VoterHarness::new();
    harness.ask(claim(1, 1, 10), 0);
    let lives = [1, 2].map(|number| {
        let restart_id = RestartId { incarnation: 0, number };
        let mut harness = restart_at(1, restart_id, harness.voter.records());
        let answers = harness.beat(1, 2);
        let [ToCandidate::Echo { epoch, version, part: Some(_), .. }] = answers[..] else {
            panic!("one echo with a list: {answers:?}");
        };
        (harness, Some((epoch, version)))
    });
    let [(_, earlier), (mut harness, present)] = lives;
    for (seen, is_known) in [(earlier, false), (present, true)] {
        let (session, waiting) = (presented(1, 3), Vec::new());
        let answers = harness.deliver(9, ToVoter::Beat { session, seen, waiting, confirms: false });
        let lists = matches!(answers[..], [ToCandidate::Echo { part: Some(_), .. }]);
        assert_eq!(lists, !is_known, "{answers:?}");
    }
}

/// A voter that has forgotten its votes at time 1.
fn forgotten(mark: Option<u64>) -> VoterHarness {
    let voter = Voter::new(ProcessId::new(0), electorate(), terms());
    let memory = Memory { incarnation: 1, mark };
    VoterHarness { voter: voter.forgotten(memory, Time(1)), now: 1 }
}

#[test]
fn a_voter_that_has_forgotten_abstains_and_goes_on_above_its_mark() {
    let mut harness = forgotten(Some(50));
    harness.now += terms().abstention().0 - 1;
    let answers = harness.ask(claim(1, 1, 10), 0);
    assert!(matches!(answers[..], [ToCandidate::Unavailable]), "{answers:?}");
    harness.now += 1;
    let vote = vote_in(&harness.ask(claim(1, 1, 10), 0)).expect("it votes again");
    assert_eq!(vote.number, 51);
}

#[test]
fn a_voter_without_a_mark_learns_numbers_from_a_quorum() {
    let mut harness = forgotten(None);
    harness.now += terms().abstention().0;
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    let mut out = Vec::new();
    harness.voter.gossip(&mut out);
    let asked = out.iter().find_map(|effect| match effect {
        VoterEffect::SendPeer(_, PeerMessage::Learn { asked, .. }) => Some(*asked),
        _ => None,
    });
    let asked = asked.expect("it asks");
    let mut out = Vec::new();
    // Answers to an earlier incarnation do not count.
    for (voter, asked, floor) in
        [(1, asked - 1, 5), (2, asked - 1, 5), (1, asked, 70), (2, asked, 60)]
    {
        assert!(!harness.voter.is_voting());
        let known = PeerMessage::Known { asked, config: 0, floor, clock: 1 };
        harness.voter.on_peer(ProcessId::new(voter), known, &mut out);
    }
    let records = records_in(out);
    let is_floor = |it: &Record<Name>| matches!(it, Record::Counters { floor: 70, .. });
    assert!(records.iter().any(is_floor), "{records:?}");
    let vote = vote_in(&harness.ask(claim(1, 1, 10), 0)).expect("it votes again");
    assert_eq!(vote.number, 71);
}
