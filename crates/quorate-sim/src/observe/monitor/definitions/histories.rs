//! Definitions that depend on the order of commands and outputs: snapshots and stable properties.

use quorate_core::detection::{self, StableProperty};
use quorate_core::snapshot::{self, SnapshotId, Transfer};
use quorate_core::{ProcessId, Property, Time};

use super::at;
use crate::engine::Ending;
use crate::observe::monitor::{Announcements, Snapshots};

/// An event at a process.
#[derive(Clone)]
enum Step<C, O> {
    Command(C),
    Output(O),
    Crash,
}

use Step::Crash;

fn p(number: u32) -> ProcessId {
    ProcessId::new(number)
}

type SnapshotStep = Step<snapshot::Command, snapshot::Output>;

/// Properties that a snapshot of two processes with 10 coins each breaks.
fn snapshot(steps: &[(u32, SnapshotStep)]) -> Vec<Property> {
    let mut run = Snapshots::new([10, 10]);
    for (event, (process, step)) in (1..).zip(steps) {
        let at = at(event, *process);
        match step {
            Step::Command(command) => run.on_command(at, command),
            Step::Output(output) => drop(run.on_output(at, output)),
            Crash => run.crashed(at.process),
        }
    }
    run.end(Time(99), Ending::Quiescent);
    let found = [run.cut(), run.channels(), run.termination()];
    found.into_iter().flatten().map(|violation| violation.property).collect()
}

const SNAPSHOT: SnapshotId = SnapshotId { initiator: ProcessId::new(0), number: 0 };

fn begins() -> (u32, SnapshotStep) {
    (0, Step::Command(snapshot::Command::Record))
}

/// Process 0 transfers coins to process 1.
fn transfers(amount: u64) -> (u32, SnapshotStep) {
    (0, Step::Command(snapshot::Command::Transfer { to: p(1), amount }))
}

/// Process 1 receives coins of process 0.
fn receives(id: u64, amount: u64) -> (u32, SnapshotStep) {
    let transfer = Transfer { id, amount };
    (1, Step::Output(snapshot::Output::Received { from: p(0), transfer }))
}

fn records(process: u32, balance: i64) -> (u32, SnapshotStep) {
    (process, Step::Output(snapshot::Output::Recorded { snapshot: SNAPSHOT, balance }))
}

/// A process records the state of the channel from the other process, and completes.
fn completes(process: u32, in_flight: &[(u64, u64)]) -> [(u32, SnapshotStep); 2] {
    let transfers = in_flight.iter().map(|(id, amount)| Transfer { id: *id, amount: *amount });
    let (snapshot, from) = (SNAPSHOT, p(1 - process));
    let channel =
        snapshot::Output::RecordedChannel { snapshot, from, transfers: transfers.collect() };
    [channel, snapshot::Output::Completed { snapshot }]
        .map(|output| (process, Step::Output(output)))
}

#[test]
fn a_cut_has_no_receipt_without_its_sending() {
    let orphan = [begins(), records(0, 10), transfers(1), receives(0, 1), records(1, 11)];
    let orphan = [&orphan[..], &completes(0, &[]), &completes(1, &[])].concat();
    assert_eq!(snapshot(&orphan), [Property::ConsistentCut]);
}

#[test]
fn a_channel_has_what_was_sent_before_the_cut_and_received_after_it() {
    let whole = |steps: &[(u32, SnapshotStep)], in_flight: &[(u64, u64)]| {
        snapshot(&[steps, &completes(0, &[]), &completes(1, in_flight)].concat())
    };
    let received = [transfers(1), begins(), records(0, 9), receives(0, 1), records(1, 11)];
    assert_eq!(whole(&received, &[]), []);
    let sent_later = [begins(), records(0, 10), records(1, 10), transfers(1), receives(0, 1)];
    assert_eq!(whole(&sent_later, &[]), []);
    assert_eq!(whole(&sent_later, &[(0, 1)]), [Property::ChannelState]);
    let both = [transfers(1), transfers(2), begins(), records(0, 7), records(1, 10)];
    let overtaken = [&both[..], &[receives(1, 2), receives(0, 1)]].concat();
    assert_eq!(whole(&overtaken, &[(1, 2), (0, 1)]), [], "in the order of arrival");
}

#[test]
fn live_processes_complete_a_snapshot_that_was_begun() {
    let missing = [Property::SnapshotTermination];
    assert_eq!(snapshot(&[begins()]), missing, "no process has recorded its state");
    assert_eq!(snapshot(&[begins(), (0, Crash)]), [], "it may be lost with its initiator");
    let other = [begins(), records(1, 10), (0, Crash)];
    assert_eq!(snapshot(&other), missing, "p1 has begun its part");
    assert_eq!(snapshot(&[&other[..], &completes(1, &[])].concat()), []);
    let completed = (0, Step::Output(snapshot::Output::Completed { snapshot: SNAPSHOT }));
    let no_channel = [begins(), records(0, 10), records(1, 10), completed];
    let no_channel = [&no_channel[..], &completes(1, &[])].concat();
    assert_eq!(snapshot(&no_channel), missing, "p0 has not recorded the channel from p1");
    let alone = [begins(), records(0, 10), no_channel[3].clone(), (1, Crash)];
    assert_eq!(snapshot(&alone), []);
}

type DetectionStep = Step<detection::Command, detection::Output>;

/// Properties that a computation of three processes breaks.
fn detection(property: StableProperty, steps: &[(u32, DetectionStep)]) -> Vec<Property> {
    let mut run = Announcements::new(3, property);
    for (event, (process, step)) in (1..).zip(steps) {
        let at = at(event, *process);
        match step {
            Step::Command(command) => run.on_command(at, command),
            Step::Output(output) => run.on_output(at, output),
            Crash => run.crashed(at.process),
        }
    }
    run.end(Time(99), Ending::Quiescent);
    let found = [run.false_detection(), run.missing()];
    found.into_iter().flatten().map(|violation| violation.property).collect()
}

fn starts() -> (u32, DetectionStep) {
    (0, Step::Command(detection::Command::Start))
}

fn sends(process: u32, to: u32) -> (u32, DetectionStep) {
    (process, Step::Command(detection::Command::Send(p(to))))
}

fn rests(process: u32) -> (u32, DetectionStep) {
    (process, Step::Command(detection::Command::Rest))
}

fn waits(process: u32, on: &[u32]) -> (u32, DetectionStep) {
    let on = on.iter().copied().map(p).collect();
    (process, Step::Command(detection::Command::Wait(on)))
}

/// The grant of `by` arrives at a process that has requested it.
fn granted(process: u32, by: u32) -> [(u32, DetectionStep); 3] {
    let requested = Step::Output(detection::Output::Requested(p(process)));
    [(by, requested), (by, Step::Command(detection::Command::Grant)), received(process, by)]
}

fn received(process: u32, from: u32) -> (u32, DetectionStep) {
    (process, Step::Output(detection::Output::Received(p(from))))
}

fn announced(process: u32) -> (u32, DetectionStep) {
    (process, Step::Output(detection::Output::Announced))
}

#[test]
fn a_computation_ends_once_its_messages_have_arrived_or_are_lost() {
    let kind = StableProperty::Termination;
    let sent = [starts(), sends(0, 1), rests(0)];
    let then = |more: &[(u32, DetectionStep)]| detection(kind, &[&sent[..], more].concat());
    assert_eq!(then(&[received(1, 0), rests(1), announced(0)]), []);
    assert_eq!(then(&[]), [Property::EventualDetection], "the message is lost");
    assert_eq!(then(&[received(1, 0), (1, Crash), announced(0)]), [], "the dead are passive");
    assert_eq!(then(&[(0, Crash)]), [], "the dead announce nothing");
}

#[test]
fn a_cycle_consists_of_processes_that_wait_for_each_other() {
    let kind = StableProperty::AndDeadlock;
    let cycle = [waits(0, &[1]), waits(1, &[0]), waits(2, &[0])];
    let then = |more: &[(u32, DetectionStep)]| detection(kind, &[&cycle[..], more].concat());
    assert_eq!(then(&[announced(0)]), []);
    let outside = then(&[announced(0), announced(2)]);
    assert_eq!(outside, [Property::NoFalseDetection], "p2 waits for a cycle");
    assert_eq!(then(&[(1, Crash)]), [], "the dead wait for no process");
    let [requested, grants, arrives] = granted(0, 1);
    let half = [waits(0, &[1, 2]), requested, grants, arrives, waits(1, &[0]), announced(0)];
    assert_eq!(detection(kind, &half), [Property::NoFalseDetection], "p0 waits for p2 alone");
    let chain = [waits(0, &[1]), waits(1, &[2]), waits(2, &[0]), announced(0)];
    assert_eq!(detection(kind, &chain), []);
}

#[test]
fn a_message_on_its_way_ends_a_knot() {
    let kind = StableProperty::OrDeadlock;
    let knot = [sends(1, 0), waits(0, &[1]), waits(1, &[0]), announced(1)];
    assert_eq!(detection(kind, &knot), [Property::NoFalseDetection]);
    assert_eq!(detection(kind, &knot[1..]), []);
}
