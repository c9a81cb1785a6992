//! Rules for the numbers that a voter learns because of a change of the voters: the answers that count, their configuration,
//! and the durable state. `docs/membership.md` has the numbers of these rules.

use super::changes::{after, joint};
use super::*;

/// A voter that has forgotten its votes, after it has abstained.
fn forgotten() -> VoterHarness {
    let memory = Memory { incarnation: 3, mark: None };
    let voter = Voter::new(ProcessId::new(0), electorate(), terms()).forgotten(memory, Time(0));
    let mut harness = VoterHarness { voter, now: 10 * TTL.0 };
    harness.voter.wake(Time(harness.now), &mut Vec::new());
    harness
}

fn told_to_forgotten(harness: &mut VoterHarness, from: u32, floor: u64) {
    let config = harness.voter.electorate().index();
    harness.hears(from, PeerMessage::Known { asked: 3, config, floor, clock: 1 });
}

#[test]
fn rule_8_answers_of_the_configuration_before_do_not_suffice() {
    let mut harness = forgotten();
    told_to_forgotten(&mut harness, 1, 7);
    harness.adopt(joint(), Some(electorate()));
    for from in [2, 3, 4] {
        told_to_forgotten(&mut harness, from, 5);
    }
    assert!(!harness.voter.is_voting(), "node 1 has answered in the configuration before");
    told_to_forgotten(&mut harness, 1, 6);
    assert!(harness.voter.is_voting() && harness.voter.has_learned());
    // The greater number of the first answer still counts.
    assert_eq!(harness.voter.last(&"a"), Some(7));
    let learned = Record::Learned { index: 1, floor: 7 };
    assert!(harness.voter.records().contains(&learned));
}

#[test]
fn rule_8_a_voter_that_has_forgotten_needs_a_quorum_of_the_configuration_before_too() {
    let mut harness = forgotten();
    harness.adopt(after(), Some(joint()));
    for from in [3, 4, 1] {
        told_to_forgotten(&mut harness, from, 5);
    }
    assert!(!harness.voter.is_voting());
    told_to_forgotten(&mut harness, 2, 5);
    assert!(harness.voter.is_voting() && harness.voter.has_learned());
}

#[test]
fn rule_8_a_voter_that_has_forgotten_does_not_answer_itself() {
    let mut harness = forgotten();
    told_to_forgotten(&mut harness, 0, 7);
    told_to_forgotten(&mut harness, 9, 7);
    told_to_forgotten(&mut harness, 1, 7);
    assert!(!harness.voter.is_voting(), "a stranger and the voter itself do not count");
    assert_eq!(harness.hears(2, PeerMessage::Learn { asked: 1, config: 0 }), []);
    told_to_forgotten(&mut harness, 2, 3);
    assert_eq!(harness.voter.last(&"a"), Some(7), "the greatest number");
}

#[test]
fn rule_6_the_learned_floor_is_written() {
    let mut harness = VoterHarness::new();
    harness.adopt(joint(), Some(electorate()));
    harness.is_told(0, 99);
    harness.is_told(9, 98);
    assert!(!harness.voter.has_learned(), "neither the voter itself nor a stranger counts");
    let out = harness.is_told(1, 50);
    let counters = Record::Counters { floor: 50, epochs: 0 };
    let learned = Record::Learned { index: 1, floor: 50 };
    for record in [counters, learned] {
        assert!(out.contains(&VoterEffect::Persist(record)), "{out:?}");
    }
    assert_eq!(harness.voter.learned_floor(), 50);
    // Smaller numbers of a later configuration leave it.
    harness.adopt(after(), Some(joint()));
    assert!(!harness.voter.has_learned());
    for from in [1, 3, 4] {
        harness.is_told(from, 20);
    }
    assert!(harness.voter.has_learned());
    assert_eq!(harness.voter.learned_floor(), 50);
}

#[test]
fn rule_6_a_restart_remembers_for_which_configuration_it_has_learned() {
    let mut harness = VoterHarness::new();
    harness.adopt(joint(), Some(electorate()));
    let early = harness.voter.records();
    harness.is_told(1, 50);
    let has_learned = |records: &[Record<Name>], present, previous| {
        let voter = restarts::restart(records.to_vec()).voter;
        voter.in_configuration(present, Some(previous), Time(1)).has_learned()
    };
    let records = harness.voter.records();
    assert!(has_learned(&records, joint(), electorate()));
    assert!(!has_learned(&records, after(), joint()), "numbers of an earlier configuration");
    assert!(!has_learned(&early, joint(), electorate()));
}

#[test]
fn rule_6_a_restored_vote_has_a_number_above_the_floor() {
    let mut harness = VoterHarness::new();
    let own = claim(1, 1, 10);
    let mut file =
        restarts::written(&mut harness, 10, records::request_of(presented(1, 1), "a", own));
    file.push(Record::Learned { index: 1, floor: 50 });
    let mut harness = restarts::restart(file);
    assert_eq!(harness.voter.last(&"a"), Some(50));
    let request = own.request;
    harness.deliver(10, ToVoter::Release { lock: "a", request, attempt: u64::MAX, token: None });
    assert_eq!(vote_in(&harness.ask(claim(2, 1, 11), 0)).map(|vote| vote.number), Some(51));
}

#[test]
fn rule_5_a_record_is_made_in_the_configuration_of_the_request() {
    let mut harness = VoterHarness::new();
    let own = claim(1, 1, 10);
    let record = |harness: &mut VoterHarness, index: u64| {
        let vote = vote_in(&harness.ask_in(index, own, 0)).expect("it has the vote");
        let raise = ToVoter::Raise { lock: "a", claim: own, vote, token: 4, enters: true };
        match harness.deliver(10, raise)[..] {
            [ToCandidate::Raised { recorded_in, entered, .. }] => (recorded_in, entered),
            ref answers => panic!("{answers:?}"),
        }
    };
    assert_eq!(record(&mut harness, 0), (0, Some(4)));
    harness.adopt(joint(), Some(electorate()));
    // The record is the earlier one until it is made again.
    let answers = harness.ask_in(1, own, 0);
    let earlier = |it: &ToCandidate<Name>| {
        matches!(it, ToCandidate::Vote { entered: Some((1, 4)), recorded_in: 0, config: 1, .. })
    };
    assert!(answers.iter().any(earlier), "{answers:?}");
    assert_eq!(record(&mut harness, 1), (1, Some(4)));
    assert_eq!(harness.voter.entries(1)[0].recorded_in, 1);
}
