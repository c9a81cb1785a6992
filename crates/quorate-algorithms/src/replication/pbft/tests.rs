use super::super::common::cluster::Cluster;
use super::*;
use alloc::vec;
use quorate_core::Span;

fn cluster(n: usize, f: usize) -> Cluster<Pbft> {
    let timeouts = Timeouts::new(Span::from_millis(1), 0);
    Cluster::new(ProcessId::all(n).map(|id| Pbft::new(n, id, f, timeouts)).collect())
}

fn request(origin: u32, value: u64) -> Operation {
    Some(Request { origin: ProcessId::new(origin), value: Value(value) })
}

#[test]
fn a_request_is_prepared_committed_and_applied() {
    let mut four = cluster(4, 1);
    four.submit(2, 7);
    four.deliver();
    for process in 0..4 {
        assert_eq!(four.applied(process), [7], "p{process}");
    }
}

#[test]
fn a_silent_primary_is_replaced() {
    let mut four = cluster(4, 1);
    four.isolate(&[0]);
    four.submit(2, 7);
    four.deliver();
    assert_eq!(four.applied(2), [] as [u64; 0]);
    // The third replica follows the first two, of which one is loyal.
    four.expire(2, Patience);
    four.expire(3, Patience);
    four.deliver();
    assert_eq!(four.led(1), [1]);
    for process in 1..4 {
        assert_eq!(four.applied(process), [7], "p{process}");
    }
}

#[test]
fn an_operation_is_applied_with_the_commits_of_a_quorum() {
    let mut replica = cluster(4, 1).replicas.remove(1);
    let mut out = Effects::default();
    let [p0, p2, p3] = [0, 2, 3].map(ProcessId::new);
    replica.on_message(p0, Message::PrePrepare(0, 1, request(0, 7)), &mut out);
    for other in [p2, p3] {
        replica.on_message(other, Message::Prepare(0, 1, request(0, 7)), &mut out);
    }
    assert_eq!(replica.applied, 0, "it is prepared here, and perhaps nowhere else");
    replica.on_message(p2, Message::Commit(0, 1, request(0, 7)), &mut out);
    assert_eq!(replica.applied, 0, "two of four are no quorum");
    replica.on_message(p3, Message::Commit(0, 1, request(0, 7)), &mut out);
    assert_eq!(replica.applied, 1);
}

#[test]
fn two_operations_with_one_number_are_not_both_prepared() {
    let mut replica = cluster(4, 1).replicas.remove(1);
    let mut out = Effects::default();
    let primary = ProcessId::new(0);
    replica.on_message(primary, Message::PrePrepare(0, 1, request(0, 7)), &mut out);
    replica.on_message(primary, Message::PrePrepare(0, 1, request(0, 8)), &mut out);
    let sent = out.as_slice().iter().filter(|effect| {
        matches!(effect, quorate_core::Effect::Multicast { message: Message::Prepare(..), .. })
    });
    assert_eq!(sent.count(), 1);
}

#[test]
fn a_new_view_keeps_what_is_prepared_and_fills_gaps() {
    let mut replica = cluster(4, 1).replicas.remove(2);
    let signers: Vec<ProcessId> = ProcessId::all(3).collect();
    let certificate =
        |view, value| Certificate { view, operation: request(0, value), signers: signers.clone() };
    let change = |by: u32, prepared| ViewChange { view: 1, by: ProcessId::new(by), prepared };
    let asked = vec![change(0, vec![(2, certificate(0, 7))]), change(1, vec![]), change(3, vec![])];
    let mut out = Effects::default();
    let few = Message::NewView(1, asked[..2].to_vec());
    replica.on_message(ProcessId::new(1), few, &mut out);
    assert_eq!(replica.view, 0, "two of four are no quorum");
    replica.on_message(ProcessId::new(3), Message::NewView(1, asked.clone()), &mut out);
    assert_eq!(replica.view, 0, "p3 is not the primary of view 1");
    replica.on_message(ProcessId::new(1), Message::NewView(1, asked), &mut out);
    let proposed = |sequence| replica.rounds[&(1, sequence)].proposed;
    assert_eq!((proposed(1), proposed(2)), (Some(None), Some(request(0, 7))));
}
