use alloc::vec::Vec;

use quorate_core::mutex::Command;
use quorate_core::quorum::AnySystem;
use quorate_core::{Effect, Effects, LamportClock, Process, ProcessId, Time};

use super::{Message, Quorum, QuorumVoting, Ticket};

const CANDIDATE: ProcessId = ProcessId::new(0);
const VOTER: ProcessId = ProcessId::new(1);
const TICKET: Ticket = Ticket { time: 1, attempt: 0 };

/// Process 0 of three with majorities. It has heard that process 1 has recovered.
fn candidate() -> Quorum {
    let system = AnySystem::by_name("majority", 3).unwrap();
    let mut candidate = QuorumVoting::new(CANDIDATE, &system, LamportClock::default(), true);
    let mut out = Effects::new(Time::ZERO);
    candidate.on_message(VOTER, Message::Rejoin, &mut out);
    candidate
}

/// The tickets of the votes that the candidate returns when this vote arrives.
fn returned(candidate: &mut Quorum, ticket: Ticket) -> Vec<Ticket> {
    let mut out = Effects::new(Time::ZERO);
    candidate.on_message(VOTER, Message::Reply(ticket), &mut out);
    let release = |effect| match effect {
        Effect::Send { to: VOTER, message: Message::Release(ticket) } => Some(ticket),
        _ => None,
    };
    out.into_iter().filter_map(release).collect()
}

#[test]
fn a_vote_for_no_request_is_returned_to_a_voter_that_has_recovered() {
    assert_eq!(returned(&mut candidate(), TICKET), [TICKET]);
}

#[test]
fn a_vote_in_use_is_kept_although_it_arrives_twice() {
    let mut candidate = candidate();
    let mut out = Effects::new(Time::ZERO);
    candidate.on_command(Command::Acquire, &mut out).unwrap();
    candidate.on_message(CANDIDATE, Message::Reply(TICKET), &mut out);
    candidate.on_message(VOTER, Message::Reply(TICKET), &mut out);
    assert!(out.into_iter().any(|effect| matches!(effect, Effect::Output(_))), "it is inside");

    assert_eq!(returned(&mut candidate, TICKET), []);
    let of_before = Ticket { time: 0, ..TICKET };
    assert_eq!(returned(&mut candidate, of_before), [of_before]);
}
