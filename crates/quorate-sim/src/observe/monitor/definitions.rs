//! Each definition in `quorate_core::definition`, seen through the monitor that uses it: one run that keeps the property and one
//! that breaks it. The explorer's users have the same tests, so that a definition that is broken is noticed by both.

mod histories;

use quorate_core::agreement::{AgreementKind, Decision, Value};
use quorate_core::allocation::Claim;
use quorate_core::detection::{self, StableProperty};
use quorate_core::election::{Candidates, Output};
use quorate_core::multicast::{Content, Group};
use quorate_core::replication::{Entry, Output as LogOutput};
use quorate_core::snapshot::{self, SnapshotId, Transfer};
use quorate_core::{ProcessId, ProcessSet, Property, Time};

use super::{
    Announcements, CausalOrder, Concurrency, Decisions, Deliveries, E1, E2, Exclusion, Fencing,
    FifoOrder, Me1, MutexEvent, ReplicatedLogs, Snapshots, TotalOrder,
};
use crate::engine::Ending;
use crate::engine::observer::Moment;
use crate::observe::followers::Followers;

fn at(event: u64, process: u32) -> Moment {
    Moment { event, time: Time(event), process: ProcessId::new(process) }
}

#[test]
fn me1_two_processes_inside() {
    let mut me1 = Me1::default();
    me1.observe(at(1, 0), MutexEvent::Entered);
    me1.observe(at(2, 0), MutexEvent::Left);
    me1.observe(at(3, 1), MutexEvent::Entered);
    assert_eq!(me1.violation(), None);
    me1.observe(at(4, 0), MutexEvent::Entered);
    assert!(me1.violation().is_some());
}

#[test]
fn fencing_a_token_that_is_not_greater() {
    let mut fencing = Fencing::default();
    fencing.enters_with(at(1, 0), 3);
    fencing.enters_with(at(2, 1), 5);
    assert_eq!(fencing.violation(), None);
    fencing.enters_with(at(3, 0), 5);
    let violation = fencing.violation().expect("5 is not greater than 5");
    assert_eq!(violation.events.iter().map(|it| it.event).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn exclusion_incompatible_claims_inside() {
    let mut readers = Exclusion::new(1);
    readers.entered(at(1, 0), Claim::Read);
    readers.entered(at(2, 1), Claim::Read);
    assert_eq!(readers.violation(), None);
    readers.entered(at(3, 2), Claim::Write);
    assert!(readers.violation().is_some());
    let mut permits = Exclusion::new(2);
    permits.entered(at(1, 0), Claim::Permit);
    permits.entered(at(2, 1), Claim::Permit);
    permits.left(at(3, 0));
    permits.entered(at(4, 2), Claim::Permit);
    assert_eq!(permits.violation(), None);
    permits.entered(at(5, 0), Claim::Permit);
    assert!(permits.violation().is_some());
    let mut forum = Exclusion::new(1);
    forum.entered(at(1, 0), Claim::Group(1));
    forum.entered(at(2, 1), Claim::Group(1));
    assert_eq!(forum.violation(), None);
    forum.entered(at(3, 2), Claim::Group(2));
    assert!(forum.violation().is_some());
    let shared = |process, others: [u32; 2]| {
        let others = others.into_iter().map(ProcessId::new).collect();
        Claim::shared_with(ProcessId::new(process), &others)
    };
    let mut table = Exclusion::new(1);
    table.entered(at(1, 0), shared(0, [1, 4]));
    table.entered(at(2, 2), shared(2, [1, 3]));
    assert_eq!(table.violation(), None, "p0 and p2 share no fork");
    table.entered(at(3, 1), shared(1, [0, 2]));
    assert!(table.violation().is_some());
}

#[test]
fn concurrency_a_claim_that_waits_for_no_other() {
    let mut permits = Concurrency::new(2);
    permits.on_event(at(1, 0), &[]);
    permits.requested(at(1, 0), Claim::Permit);
    permits.sent();
    permits.on_event(at(2, 1), &[]);
    assert_eq!(permits.violation(), None, "a message is in flight");
    permits.arrived();
    let full = [(at(0, 2), Claim::Permit), (at(0, 3), Claim::Permit)];
    permits.on_event(at(3, 1), &full);
    assert_eq!(permits.violation(), None, "all permits are taken");
    permits.on_event(at(4, 1), &full[..1]);
    assert!(permits.violation().is_some());
}

#[test]
fn concurrency_a_claim_waits_for_claims_inside_and_claims_that_wait() {
    let reader_inside = [(at(0, 0), Claim::Read)];
    let mut readers = Concurrency::new(1);
    readers.on_event(at(1, 1), &reader_inside);
    readers.requested(at(1, 1), Claim::Write);
    readers.on_event(at(2, 2), &reader_inside);
    assert_eq!(readers.violation(), None, "a reader is inside");
    readers.requested(at(2, 2), Claim::Read);
    readers.on_event(at(3, 1), &reader_inside);
    assert_eq!(readers.violation(), None, "a writer waits");
    readers.answered(at(3, 1));
    readers.on_event(at(4, 1), &reader_inside);
    assert!(readers.violation().is_some());
}

/// Properties that a run of three processes breaks. Values are proposals and decisions in the order of processes.
fn agreement(
    kind: AgreementKind,
    proposals: [Option<u64>; 3],
    crashed: &[u32],
    decisions: [Option<u64>; 3],
) -> Vec<Property> {
    let mut run = Decisions::new(3, kind, ProcessSet::new());
    let processes = || 0..3;
    for (process, value) in processes().zip(proposals) {
        value.into_iter().for_each(|value| run.proposed(at(1, process), Value(value)));
    }
    crashed.iter().for_each(|process| run.crashed(ProcessId::new(*process)));
    for (process, value) in processes().zip(decisions) {
        let decided = value.map(|value| Decision::Value(Value(value)));
        decided.iter().for_each(|decision| run.decided(at(2, process), decision));
    }
    run.end(Time(9), Ending::Quiescent, None);
    let found = [run.agreement(), run.validity(), run.termination()];
    found.into_iter().flatten().map(|violation| violation.property).collect()
}

#[test]
fn agreement_validity_and_termination() {
    let kind = AgreementKind::Proposal;
    let all = [Some(3), Some(2), Some(1)];
    assert_eq!(agreement(kind, all, &[], [Some(1); 3]), []);
    assert_eq!(agreement(kind, all, &[], [Some(1), Some(1), Some(2)]), [Property::Agreement]);
    assert_eq!(agreement(kind, all, &[], [Some(9); 3]), [Property::Validity]);
    assert_eq!(agreement(kind, all, &[], [Some(1), Some(1), None]), [Property::Termination]);
    assert_eq!(agreement(kind, all, &[2], [Some(1), Some(1), None]), []);
    assert_eq!(agreement(kind, [None; 3], &[], [None; 3]), [], "no process has proposed");
}

#[test]
fn votes_decide_a_transaction() {
    let kind = AgreementKind::Vote;
    let (yes, no) = (Some(1), Some(0));
    assert_eq!(agreement(kind, [yes; 3], &[], [Some(1); 3]), []);
    assert_eq!(agreement(kind, [yes, no, yes], &[], [Some(1); 3]), [Property::Validity]);
    assert_eq!(agreement(kind, [yes, yes, None], &[2], [yes, yes, None]), [Property::Validity]);
    assert_eq!(agreement(kind, [yes; 3], &[], [Some(0); 3]), [Property::Validity]);
    assert_eq!(agreement(kind, [yes; 3], &[2], [no, no, None]), []);
}

#[test]
fn a_commander_is_obeyed_unless_it_crashes() {
    let kind = AgreementKind::Order;
    let order = [Some(1), None, None];
    assert_eq!(agreement(kind, order, &[], [Some(1); 3]), []);
    assert_eq!(agreement(kind, order, &[], [Some(0); 3]), [Property::Validity]);
    assert_eq!(agreement(kind, order, &[0], [None, Some(0), Some(0)]), []);
}

/// Properties that an election of three processes breaks. `leaders` are in the order of processes.
fn election(leaders: [Option<u32>; 3], crashed: &[u32]) -> Vec<Property> {
    let candidates = Candidates::new(3, &[5, 7, 9]);
    let mut e1 = E1::new(3, candidates.clone(), ProcessSet::new());
    let (mut e2, mut followers) = (E2::default(), Followers::new(3, ProcessSet::new()));
    for process in crashed.iter().copied().map(ProcessId::new) {
        e1.crashed(process);
        followers.crash(process);
    }
    for (process, leader) in (0..3).zip(leaders) {
        let Some(leader) = leader.map(|leader| candidates.of(ProcessId::new(leader))) else {
            continue;
        };
        e1.elected(at(2, process), leader);
        followers.on_output(ProcessId::new(process), Output::Elected(leader));
    }
    e1.end(Time(9), &followers);
    e2.end(Time(9), Ending::Quiescent, None, &followers);
    let found = [e1.violation(), e2.violation()];
    found.into_iter().flatten().map(|violation| violation.property).collect()
}

#[test]
fn e1_and_e2() {
    assert_eq!(election([Some(2); 3], &[]), []);
    assert_eq!(election([Some(1); 3], &[]), [Property::E1], "p2 is passed over");
    assert_eq!(election([Some(1), Some(1), None], &[2]), []);
    assert_eq!(election([Some(2), Some(2), None], &[]), [Property::E2], "p2 knows no leader");
    assert_eq!(election([Some(2), Some(2), None], &[2]), [Property::E2], "the leader is down");
    assert_eq!(
        election([Some(2), Some(1), None], &[2]),
        [Property::E1, Property::E2],
        "two leaders, of which one is down"
    );
}

/// Properties that a multicast among three processes breaks. Events are sends, for `None`, and deliveries of `(origin, number)`.
fn multicast(
    events: &[(u32, Option<(u32, u64)>)],
    members: &[u32],
    crashed: &[u32],
) -> Vec<Property> {
    let to = Group::Only(members.iter().copied().map(ProcessId::new).collect());
    let mut deliveries = Deliveries::new(3, ProcessSet::new());
    let (mut fifo, mut causal) = (FifoOrder::default(), CausalOrder::new(3));
    let mut total = TotalOrder::new(&ProcessSet::all(3));
    let mut sent = [0; 3];
    for (event, (process, what)) in (1..).zip(events) {
        let at = at(event, *process);
        match what {
            None => {
                let id = sent[*process as usize];
                sent[*process as usize] += 1;
                deliveries.sent(at, id, to.clone());
                fifo.sent(at, id, to.clone());
                causal.sent(at, id, to.clone());
            }
            Some((origin, id)) => {
                let origin = ProcessId::new(*origin);
                deliveries.delivered(at, origin, *id, Content::TRUE);
                fifo.delivered(at, origin, *id);
                causal.delivered(at, origin, *id);
                total.delivered(at, origin, *id);
            }
        }
    }
    for process in crashed.iter().copied().map(ProcessId::new) {
        deliveries.crashed(process);
        total.crashed(process);
    }
    deliveries.end(Time(99), Ending::Quiescent, None);
    total.end();
    let of_deliveries = [deliveries.validity(), deliveries.integrity(), deliveries.agreement()];
    let of_orders = [fifo.violation(), causal.violation(), total.violation()];
    let found = of_deliveries.into_iter().chain(of_orders).flatten();
    found.map(|violation| violation.property).collect()
}

#[test]
fn validity_integrity_and_agreement_of_deliveries() {
    let all = [0, 1, 2];
    let everywhere = [(0, None), (0, Some((0, 0))), (1, Some((0, 0))), (2, Some((0, 0)))];
    assert_eq!(multicast(&everywhere, &all, &[]), []);
    let unsent = [(0, Some((1, 0)))];
    assert_eq!(multicast(&unsent, &all, &[]), [Property::DeliveryIntegrity]);
    let stranger = [(0, None), (2, Some((0, 0))), (0, Some((0, 0)))];
    assert_eq!(multicast(&stranger, &[0], &[]), [Property::DeliveryIntegrity]);
    let twice = [&everywhere[..3], &[(1, Some((0, 0))), (2, Some((0, 0)))]].concat();
    assert_eq!(multicast(&twice, &all, &[]), [Property::DeliveryIntegrity]);
    let omitted = &everywhere[..1];
    assert_eq!(multicast(omitted, &all, &[]), [Property::DeliveryValidity]);
    assert_eq!(multicast(omitted, &all, &[0]), [], "no live process has it");
    let divided = &everywhere[..3];
    assert_eq!(multicast(divided, &all, &[0]), [Property::DeliveryAgreement]);
}

/// Properties that deliveries of message 0 of p0 among three processes break, if p0 multicasts it or, as a traitor, need not.
fn contents(traitor: bool, delivered: &[(u32, u8)], crashed: &[u32]) -> Vec<Property> {
    let p0 = ProcessId::new(0);
    let traitors = if traitor { [p0].into_iter().collect() } else { ProcessSet::new() };
    let mut deliveries = Deliveries::new(3, traitors);
    if !traitor {
        deliveries.sent(at(1, 0), 0, Group::All);
    }
    for (event, (process, content)) in (2..).zip(delivered) {
        deliveries.delivered(at(event, *process), p0, 0, Content(*content));
    }
    crashed.iter().for_each(|process| deliveries.crashed(ProcessId::new(*process)));
    deliveries.end(Time(99), Ending::Quiescent, None);
    let found = [deliveries.validity(), deliveries.integrity(), deliveries.agreement()];
    found.into_iter().flatten().map(|violation| violation.property).collect()
}

#[test]
fn contents_are_those_of_the_sender_and_the_same_everywhere() {
    assert_eq!(contents(false, &[(0, 0), (1, 0), (2, 0)], &[]), []);
    assert_eq!(contents(false, &[(0, 0), (1, 0), (2, 1)], &[]), [Property::DeliveryIntegrity]);
    assert_eq!(contents(true, &[(1, 1), (2, 1)], &[]), [], "a traitor may send anything");
    assert_eq!(contents(true, &[(1, 1), (2, 0)], &[]), [Property::DeliveryAgreement]);
    assert_eq!(contents(true, &[(1, 1), (2, 0)], &[2]), [], "the dead do not count");
    assert_eq!(contents(true, &[(1, 1)], &[]), [Property::DeliveryAgreement], "all or none");
    assert_eq!(contents(true, &[(1, 1), (1, 0), (2, 1)], &[]), [Property::DeliveryIntegrity]);
    assert_eq!(contents(true, &[], &[]), [], "none");
}

#[test]
fn the_three_orders() {
    let all = [0, 1, 2];
    let overtaken = [(1, None), (1, None), (0, Some((1, 1)))];
    assert!(multicast(&overtaken, &all, &[]).contains(&Property::FifoOrder));
    let for_others = [(1, None), (1, None), (0, Some((1, 0))), (0, Some((1, 1)))];
    assert!(!multicast(&for_others, &all, &[]).contains(&Property::FifoOrder));
    let answer = [(0, None), (1, Some((0, 0))), (1, None), (2, Some((1, 0)))];
    assert!(multicast(&answer, &all, &[]).contains(&Property::CausalOrder));
    let concurrent = [(0, None), (1, None), (2, Some((1, 0)))];
    assert!(!multicast(&concurrent, &all, &[]).contains(&Property::CausalOrder));
    let two_orders = [
        (0, None),
        (1, None),
        (0, Some((0, 0))),
        (0, Some((1, 0))),
        (1, Some((1, 0))),
        (1, Some((0, 0))),
    ];
    assert!(multicast(&two_orders, &all, &[]).contains(&Property::TotalOrder));
    assert!(!multicast(&two_orders[..4], &all, &[]).contains(&Property::TotalOrder));
}

/// Properties that a snapshot of two processes breaks: p0 sends one coin and begins a snapshot.
fn snapshot(outputs: &[(u32, snapshot::Output)]) -> Vec<Property> {
    let mut run = Snapshots::new([10, 10]);
    let transfer = snapshot::Command::Transfer { to: ProcessId::new(1), amount: 1 };
    run.on_command(at(1, 0), &transfer);
    run.on_command(at(2, 0), &snapshot::Command::Record);
    for (process, output) in outputs {
        run.on_output(at(3, *process), output);
    }
    run.end(Time(9), Ending::Quiescent);
    let found = [run.cut(), run.channels(), run.termination()];
    found.into_iter().flatten().map(|violation| violation.property).collect()
}

#[test]
fn snapshots_that_are_inconsistent_inexact_or_incomplete() {
    use snapshot::Output::{Completed, Received, Recorded, RecordedChannel};
    let [p0, p1] = [0, 1].map(ProcessId::new);
    let snapshot_id = SnapshotId { initiator: p0, number: 0 };
    let coin = Transfer { id: 0, amount: 1 };
    let recorded = |balance| Recorded { snapshot: snapshot_id, balance };
    let channel = |from, transfers| RecordedChannel { snapshot: snapshot_id, from, transfers };
    let completed = || Completed { snapshot: snapshot_id };
    let right = [
        (0, recorded(9)),
        (1, recorded(10)),
        (1, Received { from: p0, transfer: coin }),
        (1, channel(p0, vec![coin])),
        (1, completed()),
        (0, channel(p1, vec![])),
        (0, completed()),
    ];
    assert_eq!(snapshot(&right), []);
    assert_eq!(snapshot(&right[..6]), [Property::SnapshotTermination]);
    let mut wrong = right.clone();
    wrong[3].1 = channel(p0, vec![]);
    assert_eq!(snapshot(&wrong), [Property::ChannelState]);
    wrong.clone_from(&right);
    wrong[0].1 = recorded(10);
    assert_eq!(snapshot(&wrong), [Property::ConsistentCut]);
}

/// Properties that a replicated log of three processes breaks. Process 0 has submitted command 1. `traitor` is a liar, if any.
fn replication(
    outputs: &[(u32, LogOutput)],
    crashed: &[u32],
    traitor: Option<u32>,
) -> Vec<Property> {
    let traitors = traitor.into_iter().map(ProcessId::new).collect();
    let mut logs = ReplicatedLogs::new(3, traitors);
    logs.submitted(at(1, 0), Value(1));
    for (event, (process, output)) in (2..).zip(outputs) {
        logs.on_output(at(event, *process), output);
    }
    crashed.iter().for_each(|process| logs.crashed(ProcessId::new(*process)));
    logs.end(Time(99), Ending::Quiescent, None);
    Property::ALL.into_iter().filter(|property| logs.violation(*property).is_some()).collect()
}

fn applied(index: u64, value: u64) -> LogOutput {
    LogOutput::Applied { index, command: Some(Value(value)) }
}

fn appended(index: u64, term: u64, value: u64) -> LogOutput {
    LogOutput::Appended { index, entry: Entry { term, command: Some(Value(value)) } }
}

#[test]
fn commands_are_applied_once_by_all_and_were_submitted() {
    let all = [0, 1, 2].map(|process| (process, applied(1, 1)));
    assert_eq!(replication(&all, &[], None), []);
    assert_eq!(replication(&all[..2], &[], None), [Property::CommandLiveness]);
    assert_eq!(replication(&all[..2], &[2], None), [], "the dead owe nothing");
    assert_eq!(replication(&all[..2], &[], Some(2)), [], "nor does a liar");
    let invented = [0, 1, 2].map(|process| (process, applied(2, 9)));
    let invented = [all, invented].concat();
    assert_eq!(replication(&invented, &[], None), [Property::CommandIntegrity]);
    assert_eq!(replication(&invented, &[], Some(2)), [], "a liar may have submitted it");
    let twice = [0, 1, 2].map(|process| (process, applied(2, 1)));
    assert_eq!(replication(&[all, twice].concat(), &[], None), [Property::CommandIntegrity]);
    let differently = [(0, applied(1, 1)), (1, LogOutput::Applied { index: 1, command: None })];
    assert!(replication(&differently, &[], None).contains(&Property::StateMachineSafety));
    assert!(replication(&differently, &[0], None).contains(&Property::StateMachineSafety));
    assert!(!replication(&differently, &[], Some(0)).contains(&Property::StateMachineSafety));
    let out_of_order = [(0, applied(2, 1))];
    assert!(replication(&out_of_order, &[], None).contains(&Property::StateMachineSafety));
}

#[test]
fn leaders_and_logs_are_compared() {
    let leads = |term| LogOutput::Leads { term };
    let broken = |outputs: &[(u32, LogOutput)]| replication(outputs, &[0], None);
    assert_eq!(broken(&[(0, leads(1)), (1, leads(2))]), []);
    assert_eq!(broken(&[(0, leads(1)), (1, leads(1))]), [Property::ElectionSafety]);
    let rewrites = [(0, leads(1)), (0, appended(1, 1, 1)), (0, LogOutput::Truncated { from: 1 })];
    assert_eq!(broken(&rewrites), [Property::LeaderAppendOnly]);
    let replaces = [(0, leads(1)), (0, appended(1, 1, 1)), (0, appended(1, 1, 2))];
    assert_eq!(broken(&replaces), [Property::LeaderAppendOnly]);
    let deposed = [rewrites[0], rewrites[1], (0, LogOutput::Follows { term: 2 }), rewrites[2]];
    assert_eq!(broken(&deposed), [], "a follower may delete entries");
    let differ = [(0, appended(1, 1, 1)), (1, appended(1, 1, 2))];
    assert_eq!(broken(&differ), [Property::LogMatching]);
    let committed = [(0, leads(1)), (0, appended(1, 1, 1)), (0, applied(1, 1))];
    let lacking = [&committed[..], &[(1, leads(2))]].concat();
    assert_eq!(broken(&lacking), [Property::LeaderCompleteness]);
    let complete = [&committed[..], &[(1, appended(1, 1, 1)), (1, leads(2))]].concat();
    assert_eq!(broken(&complete), []);
    let late = [&committed[..2], &[(1, leads(2)), (0, applied(1, 1))]].concat();
    assert_eq!(broken(&late), [Property::LeaderCompleteness], "committed in an earlier term");
    let follower = [&committed[..2], &[(1, LogOutput::Follows { term: 2 })], &committed[2..]];
    let follower = follower.concat();
    assert_eq!(broken(&follower), [], "a follower may lack it");
    let later = [(1, leads(1)), (0, leads(2)), (0, appended(1, 2, 1)), (0, applied(1, 1))];
    assert_eq!(broken(&later), [], "so may a leader of an earlier term");
    let terms = [(0, appended(1, 1, 1)), (1, appended(1, 2, 2))];
    assert_eq!(broken(&terms), [], "entries of different terms may differ");
}

/// Properties that a run of three processes breaks: commands and outputs in order, with their processes.
fn detection(
    property: StableProperty,
    commands: &[(u32, detection::Command)],
    outputs: &[(u32, detection::Output)],
) -> Vec<Property> {
    let mut run = Announcements::new(3, property);
    commands.iter().for_each(|(process, command)| run.on_command(at(1, *process), command));
    outputs.iter().for_each(|(process, output)| run.on_output(at(2, *process), output));
    run.end(Time(9), Ending::Quiescent);
    let found = [run.false_detection(), run.missing()];
    found.into_iter().flatten().map(|violation| violation.property).collect()
}

#[test]
fn announcements_that_are_false_or_missing() {
    use detection::Command::{Grant, Rest, Send, Start, Wait};
    use detection::Output::{Announced, Received, Requested};
    let wait = |on: &[u32]| Wait(on.iter().copied().map(ProcessId::new).collect());
    let (p0, p1) = (ProcessId::new(0), ProcessId::new(1));
    let kind = StableProperty::Termination;
    let ended = [(0, Start), (0, Rest)];
    assert_eq!(detection(kind, &ended, &[(0, Announced)]), []);
    assert_eq!(detection(kind, &ended, &[]), [Property::EventualDetection]);
    let false_detection = [Property::NoFalseDetection];
    assert_eq!(detection(kind, &ended[..1], &[(0, Announced)]), false_detection, "p0 is active");
    let in_flight = [(0, Start), (0, Send(p1)), (0, Rest)];
    assert_eq!(detection(kind, &in_flight, &[(0, Announced)]), false_detection);
    let active = [(1, Received(p0)), (0, Announced)];
    assert_eq!(detection(kind, &in_flight, &active), false_detection, "p1 is active");

    let kind = StableProperty::AndDeadlock;
    let cycle = [(0, wait(&[1, 2])), (1, wait(&[0]))];
    assert_eq!(detection(kind, &cycle, &[(1, Announced)]), []);
    assert_eq!(detection(kind, &cycle, &[]), [Property::EventualDetection]);
    let both = [Property::NoFalseDetection, Property::EventualDetection];
    assert_eq!(detection(kind, &cycle, &[(2, Announced)]), both, "p2 is in no cycle");
    let mut granted = Announcements::new(3, kind);
    granted.on_command(at(1, 0), &wait(&[1]));
    granted.on_output(at(2, 1), &Requested(p0));
    granted.on_command(at(3, 1), &Grant);
    granted.on_command(at(4, 1), &wait(&[0]));
    granted.on_output(at(5, 0), &Announced);
    assert!(granted.false_detection().is_some(), "a grant is in flight");

    let kind = StableProperty::OrDeadlock;
    assert_eq!(detection(kind, &cycle, &[]), [], "p2 may send");
    assert_eq!(detection(kind, &cycle, &[(0, Announced)]), false_detection);
    let knot = [(0, wait(&[1, 2])), (1, wait(&[0])), (2, wait(&[1]))];
    assert_eq!(detection(kind, &knot, &[(2, Announced)]), []);
    assert_eq!(detection(kind, &knot, &[]), [Property::EventualDetection]);
}
