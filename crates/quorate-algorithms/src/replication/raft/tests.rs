//! Unit tests of Raft: elections, logs and the rule of figure 8.

use super::super::common::cluster::Cluster;
use super::super::raft_commits_old_terms::AnyTerm;
use super::*;
use quorate_core::Span;

fn cluster<R: CommitRule>(n: usize) -> Cluster<Server<R>> {
    let timeouts = Timeouts::new(Span::from_millis(1), 0);
    Cluster::new(ProcessId::all(n).map(|id| Server::new(n, id, timeouts)).collect())
}

fn elect<R: CommitRule>(cluster: &mut Cluster<Server<R>>, process: usize) {
    cluster.expire(process, Timer::Election);
    cluster.deliver();
}

#[test]
fn a_command_is_replicated_and_applied_everywhere() {
    let mut three = cluster::<OwnTerm>(3);
    three.submit(1, 7);
    elect(&mut three, 0);
    three.expire(0, Timer::Heartbeat);
    three.deliver();
    three.expire(0, Timer::Heartbeat);
    three.deliver();
    for process in 0..3 {
        assert_eq!(three.applied(process), [0, 7], "p{process}");
    }
    assert_eq!(three.led(0), [1]);
    three.submit(2, 8);
    three.deliver();
    assert_eq!(three.applied(0), [0, 7, 8], "forwarded at once to a known leader");
}

#[test]
fn a_log_that_is_behind_gets_no_vote() {
    let mut three = cluster::<OwnTerm>(3);
    three.isolate(&[2]);
    elect(&mut three, 0);
    three.isolate(&[]);
    elect(&mut three, 2);
    elect(&mut three, 2);
    assert_eq!(three.led(2), [] as [u64; 0]);
    elect(&mut three, 1);
    assert_eq!(three.led(1), [3], "p1 has the entry of p0");
}

#[test]
fn a_server_votes_once_in_a_term_even_after_a_restart() {
    let mut five = cluster::<OwnTerm>(5);
    five.isolate(&[3, 4]);
    elect(&mut five, 0);
    five.recover(1);
    five.isolate(&[0, 2]);
    // p1 has voted for p0 in term 1.
    elect(&mut five, 3);
    assert_eq!((five.led(0), five.led(3)), (vec![1], vec![]));
}

#[test]
fn entries_of_a_deposed_leader_are_overwritten() {
    let mut three = cluster::<OwnTerm>(3);
    elect(&mut three, 0);
    three.isolate(&[0]);
    three.submit(0, 1);
    elect(&mut three, 1);
    three.submit(1, 2);
    three.deliver();
    three.isolate(&[]);
    three.expire(1, Timer::Heartbeat);
    three.deliver();
    three.expire(1, Timer::Heartbeat);
    three.deliver();
    assert!(three.outputs.contains(&(0, Output::Truncated { from: 2 })));
    assert_eq!(three.applied(0)[..3], [0, 0, 2], "the command of p0 comes later, if at all");
}

/// Number of entries that a leader of term 3 commits, once another server has its entry of term 1.
fn committed_by_counting<R: CommitRule>() -> u64 {
    let timeouts = Timeouts::new(Span::from_millis(1), 0);
    let mut leader = Server::<R>::new(3, ProcessId::new(0), timeouts);
    leader.current_term = 3;
    leader.log = [1, 3].map(|term| Entry { term, command: None }).into();
    leader.role = Role::Leader { next_index: vec![1; 3], match_index: vec![0; 3] };
    let mut out = Effects::default();
    leader.on_message(ProcessId::new(2), Message::Replicated { term: 3, index: 1 }, &mut out);
    leader.commit_index
}

#[test]
fn only_entries_of_its_own_term_are_committed_by_counting() {
    assert_eq!(committed_by_counting::<OwnTerm>(), 0);
    assert_eq!(committed_by_counting::<AnyTerm>(), 1, "the specimen of figure 8");
}
