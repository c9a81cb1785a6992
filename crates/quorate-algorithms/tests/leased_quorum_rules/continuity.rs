//! Rules for voters that have kept a session without a gap. Only they count when a lease is kept alive, because the answer
//! does not list what the lease holds.

use super::records::relayed;
use super::restarts::{restart, written};
use super::*;

/// The epoch that an echo names, and whether the session is continuous there.
fn echoed(answers: &[ToCandidate<Name>]) -> (Epoch, bool) {
    match answers {
        [ToCandidate::Echo { epoch, continuous, .. }] => (*epoch, *continuous),
        answers => panic!("{answers:?}"),
    }
}

fn beat(number: u64, confirmed: Option<Epoch>) -> ToVoter<Name> {
    let seen = confirmed.map(|epoch| (epoch, 0));
    let (session, waiting) = (relayed(7, number), Vec::new());
    ToVoter::Beat { session, seen, waiting, confirms: confirmed.is_some() }
}

#[test]
fn a_session_is_continuous_once_it_is_confirmed_and_until_it_lapses() {
    let mut harness = VoterHarness::new();
    let (first, continuous) = echoed(&harness.deliver(10, beat(1, None)));
    assert!(!continuous, "the voter cannot know");
    assert_eq!(echoed(&harness.deliver(10, beat(1, Some(first)))), (first, true));
    assert_eq!(echoed(&harness.deliver(11, beat(2, None))), (first, true));
    // A beat that arrives after the lapse begins the session anew, whatever it confirms.
    for number in [3, 4] {
        harness.now += TTL.0;
        let (later, continuous) = echoed(&harness.deliver(10, beat(number, Some(first))));
        assert!(later > first && !continuous);
    }
    let (later, continuous) = echoed(&harness.deliver(10, beat(4, Some(first))));
    assert!(!continuous, "another epoch was confirmed");
    assert_eq!(echoed(&harness.deliver(10, beat(4, Some(later)))), (later, true));
}

#[test]
fn a_session_is_continuous_across_a_restart_of_the_voter() {
    let mut harness = VoterHarness::new();
    let mut file = written(&mut harness, 10, beat(1, None));
    let (epoch, _) = echoed(&harness.deliver(10, beat(1, None)));
    // Without votes, and as far as this voter knows without anything to lose.
    file.extend(written(&mut harness, 10, beat(1, Some(epoch))));
    for file in [file, harness.voter.records()] {
        let mut harness = restart(file);
        assert_eq!(echoed(&harness.deliver(11, beat(2, None))), (epoch, true));
    }
}

/// A relay, and the beats that it sends.
struct Relay {
    candidate: Candidate<Name>,
}

impl Relay {
    fn new() -> Self {
        let candidate = Candidate::new(CandidateId(10), electorate(), relayed(7, 1));
        Self { candidate: candidate.recording_entries() }
    }

    fn hear(&mut self, voter: u32, (epoch, number): (u64, u64), continuous: bool) {
        let epoch = Epoch { incarnation: 0, number: epoch };
        let (beat, part) =
            (Beat { incarnation: 7, number }, Some(Part { index: 0, is_last: true }));
        let (clock, version, entries) = (5, number, Vec::new());
        let echo = ToCandidate::Echo { epoch, beat, continuous, clock, version, part, entries };
        deliver_to_candidate(&mut self.candidate, voter, echo);
    }

    fn begin_beat(&mut self, number: u64) -> Vec<(u32, bool)> {
        let mut out = Vec::new();
        self.candidate.begin_beat(number, 0, &mut out);
        confirmations(&out)
    }

    fn confirm(&mut self, beat: u64) -> Vec<(u32, bool)> {
        let mut out = Vec::new();
        self.candidate.confirm(beat, &mut out);
        confirmations(&out)
    }

    fn alive(&self) -> Option<u64> {
        self.candidate.echoed_continuously().map(|beat| beat.number)
    }
}

/// The voters to which a beat is sent, and whether it confirms their sessions.
fn confirmations(effects: &[CandidateEffect<Name>]) -> Vec<(u32, bool)> {
    let beats = effects.iter().filter_map(|effect| match effect {
        CandidateEffect::Send(voter, ToVoter::Beat { confirms, .. }) => {
            Some((voter.number(), *confirms))
        }
        _ => None,
    });
    beats.collect()
}

#[test]
fn a_new_session_is_confirmed_at_all_that_have_answered() {
    let mut relay = Relay::new();
    relay.hear(0, (1, 1), false);
    relay.hear(1, (1, 1), false);
    assert_eq!(relay.alive(), None);
    assert_eq!(relay.confirm(u64::MAX), [(0, true), (1, true)]);
    // The client must not learn of the session yet: if this node stops, other nodes would find it lapsed.
    assert!(!relay.candidate.is_continuous());
    relay.hear(0, (1, 1), true);
    assert!(!relay.candidate.is_continuous());
    // The second voter has not said yet that it knows.
    assert_eq!(relay.begin_beat(2), [(0, false), (1, true), (2, false)]);
    relay.hear(1, (1, 2), true);
    assert!(relay.candidate.is_continuous());
    assert_eq!(relay.begin_beat(3), [(0, false), (1, false), (2, false)]);
}

#[test]
fn a_voter_that_begins_anew_counts_only_after_a_beat_that_began_later() {
    let mut relay = Relay::new();
    relay.hear(0, (1, 1), true);
    relay.hear(1, (1, 1), true);
    assert_eq!(relay.alive(), Some(1));
    relay.begin_beat(2);
    relay.hear(0, (1, 2), true);
    // The session has lapsed at this voter, and the beat has begun it anew.
    relay.hear(1, (2, 2), false);
    relay.hear(2, (1, 2), false);
    assert_eq!(relay.alive(), None);
    assert!(relay.candidate.is_broken(2), "two of three have begun anew");
    // Its lapse may be later than the beginning of this beat.
    assert_eq!(relay.confirm(2), []);
    relay.begin_beat(3);
    assert_eq!(relay.confirm(3), [(1, true), (2, true)]);
    relay.hear(0, (1, 3), true);
    relay.hear(2, (1, 3), false);
    assert_eq!(relay.alive(), Some(3), "this relay has confirmed it");
    assert!(!relay.candidate.is_broken(1));
}

#[test]
fn a_session_is_broken_only_by_answers_to_the_beat_in_question() {
    let mut relay = Relay::new();
    relay.hear(0, (1, 1), false);
    relay.hear(1, (1, 1), false);
    assert!(relay.candidate.is_broken(1) && !relay.candidate.is_broken(2));
    // Another relay has confirmed it meanwhile.
    relay.hear(1, (1, 1), true);
    assert!(!relay.candidate.is_broken(1));
}
