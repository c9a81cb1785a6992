//! Five nodes, of which at most one at a time is cut off from the others. A client with a lease changes nodes. A keep-alive
//! that reaches any other node has to be answered: the lease has lapsed at no more than a minority of the voters, and the lock
//! that it holds has not been granted to another lease.
//!
//! The node is away for up to 3.7 s, longer than the lease. The other nodes notice it at once, or after a while, or not at
//! all; then messages arrive late. Relays at all nodes may still have earlier leases of the client.

use quorate_core::{Span, Time};
use quorate_protocol::ClusterTerms;

use super::{Cluster, STEP, links_of};
use crate::core::CallerId;
use crate::core::storm::rng::Rng;
use crate::core::testing::node_of;
use crate::lease::LeaseCall;

const NODES: usize = 5;

/// Duration of a world.
const END: Span = Span::from_millis(60_000);

/// Interval between calls of the client, and the time in which each has to be answered.
const CALL_INTERVAL: Span = Span::from_millis(600);
const ANSWER_TIME: Span = Span::from_millis(300);

/// Time after a grant in which no further node goes away, so that the lock gets spare votes. With a greater token it cannot be
/// continued for a lease, see docs/locks.md.
const SPARE_VOTES: Span = Span::from_millis(300);

/// A random duration of `least` plus up to `more` tenths of a second.
fn tenths(rng: &mut Rng, least: u64, more: u64) -> Span {
    Span::from_millis(100 * (least + rng.below(more)))
}

struct World {
    cluster: Cluster,
    rng: Rng,
    /// The node that is away.
    away: Option<usize>,
    /// When the node returns, or the next one goes.
    change: Time,
    /// When a silent loss of links is noticed.
    noticed: Time,
    /// The node that the client calls.
    node: usize,
    /// Number of the client's lease, and whether it is open and holds the lock.
    lease: i64,
    is_open: bool,
    holds: bool,
    /// A call for the lock that has not been answered, and its node.
    waiting: Option<(usize, CallerId)>,
    kept: u64,
    log: Vec<String>,
}

impl World {
    fn new(seed: u64) -> Self {
        let terms = ClusterTerms::new(1_000, 3_000, 500);
        let cluster = Cluster::new((0..NODES).map(|at| node_of(NODES, at, terms)).collect());
        Self {
            cluster,
            rng: Rng(seed),
            away: None,
            change: Time(1),
            noticed: Time(1),
            node: 0,
            lease: 0,
            is_open: false,
            holds: false,
            waiting: None,
            kept: 0,
            log: Vec::new(),
        }
    }

    /// Runs the world, and returns the number of keep-alives.
    fn run(mut self) -> u64 {
        let mut next_call = self.cluster.now;
        while self.cluster.now < Time(1) + END {
            self.change_links();
            self.cluster.pass(STEP);
            if self.cluster.now >= next_call {
                next_call = self.cluster.now + CALL_INTERVAL;
                self.choose_node();
                self.act();
            }
        }
        self.kept
    }

    fn log(&mut self, text: String) {
        self.log.push(format!("{} ms: {text}", self.cluster.now.0 / 1_000_000));
    }

    fn change_links(&mut self) {
        let now = self.cluster.now;
        if let Some(node) =
            self.away.filter(|_| !self.cluster.silent.is_empty() && now >= self.noticed)
        {
            self.cluster.isolate(&[node]);
            self.log("noticed".to_owned());
        }
        if now < self.change {
            return;
        }
        if self.away.take().is_some() {
            self.log("all connected".to_owned());
            match self.cluster.silent.is_empty() {
                true => self.cluster.cut([]),
                false => self.cluster.restore_silent(),
            }
            self.change = now + tenths(&mut self.rng, 3, 10);
            return;
        }
        let node = self.rng.index(NODES);
        self.away = Some(node);
        self.log(format!("node {node} is away"));
        match self.rng.one_in(2) {
            true => self.cluster.isolate(&[node]),
            false => {
                self.cluster.silent = links_of(NODES, node).collect();
                self.noticed = now + tenths(&mut self.rng, 0, 20);
            }
        }
        self.change = now + tenths(&mut self.rng, 2, 35);
    }

    /// Lets the client change nodes, at random or because its node is away.
    fn choose_node(&mut self) {
        if self.away == Some(self.node) || self.rng.one_in(6) {
            let others = (0..NODES).filter(|it| *it != self.node && Some(*it) != self.away);
            let others: Vec<usize> = others.collect();
            self.node = others[self.rng.index(others.len())];
        }
    }

    fn act(&mut self) {
        let (node, lease) = (self.node, self.lease);
        if !self.is_open {
            self.lease += 1;
            let opened = self.cluster.grant(node, self.lease, 2_000);
            self.log(format!("open at {node}"));
            self.cluster.pass(ANSWER_TIME);
            assert!(self.cluster.is_alive(opened), "a lease is not opened: {:#?}", self.log);
            (self.is_open, self.holds) = (true, false);
            return;
        }
        let kept = self.cluster.call(node, lease, LeaseCall::KeepAlive);
        self.log(format!("keep-alive at {node}"));
        if !self.holds {
            self.acquire();
        }
        self.cluster.pass(ANSWER_TIME);
        assert!(self.cluster.is_alive(kept), "a lease is not kept alive: {:#?}", self.log);
        self.kept += 1;
        self.check_acquired();
        if self.holds && self.rng.one_in(12) {
            self.cluster.release(node, lease);
            self.log(format!("release at {node}"));
            self.holds = false;
        } else if self.rng.one_in(25) {
            self.cluster.call(node, lease, LeaseCall::Revoke);
            self.log(format!("revoke at {node}"));
            self.is_open = false;
        }
    }

    /// Requests the lock through the present node, and no longer through another one.
    fn acquire(&mut self) {
        if let Some((at, call)) = self.waiting.take_if(|(at, _)| *at != self.node) {
            self.cluster.close(at, call);
        }
        if self.waiting.is_none() {
            self.log(format!("acquire at {}", self.node));
            self.waiting = Some((self.node, self.cluster.acquire(self.node, self.lease)));
        }
    }

    fn check_acquired(&mut self) {
        let answered = |(_, call): &mut (usize, CallerId)| self.cluster.answers.contains_key(call);
        if let Some((at, call)) = self.waiting.take_if(answered) {
            self.holds = self.cluster.is_granted(call);
            self.change = self.change.max(self.cluster.now + SPARE_VOTES);
            self.cluster.close(at, call);
            self.log(format!("the call was answered, held: {}", self.holds));
        }
    }
}

/// Runs one world per seed. `QUORATE_STORMS=20000` runs a campaign.
#[test]
fn a_lease_survives_while_one_node_is_away() {
    let count = std::env::var("QUORATE_STORMS").ok().and_then(|text| text.parse().ok());
    let count = count.unwrap_or(40);
    let kept: u64 = (0..count).map(|seed| World::new(seed).run()).sum();
    assert!(kept >= 30 * count, "{kept} keep-alives in {count} worlds");
}
