//! Nodes: a core, its vote file, its durable mark, and its restarts.

use quorate_algorithms::mutex::leased_quorum::{ChainState, Memory, Record, RestartId};
use quorate_core::{DelayBounds, ProcessId, Span, Time};
use quorate_protocol::{Members, Name};

use super::rng::{Clock, MS, Rng, SECOND};
use super::world::{Event, World};
use crate::core::{Action, NodeCore, Quotas, Settings, VoterStart};

/// Number of vote numbers that are reserved when a node starts.
const FIRST_BLOCK: u64 = 16;

/// Number of records at which the vote file is rewritten.
const GROWN: usize = 64;

pub(super) struct Node {
    pub(super) core: Option<NodeCore>,
    pub(super) clock: Clock,
    /// Error of the wall clock, in milliseconds.
    skew: u64,
    /// Events during a pause of the machine; `None` while it runs.
    pub(super) backlog: Option<Vec<Event>>,
    /// Number of processes that were started so far.
    pub(super) process: u64,
    /// The earliest wake that is scheduled.
    wake: u64,
    /// Records of the vote file; `None` until the voter votes. The voter's incarnation and its number of
    /// restarts with memory follow.
    file: Option<Vec<Record<Name>>>,
    incarnation: u64,
    restarts: u64,
    /// The durable mark of vote numbers.
    mark: Option<u64>,
    /// The members as the node remembers them; `None` if it has learned nothing.
    members: Option<ChainState<Members>>,
    /// The peers that the node wants; `None` before it has named any.
    pub(super) peers: Option<Vec<usize>>,
    /// Data that the next process has lost when it starts.
    pub(super) memory_loss: Option<MemoryLoss>,
}

/// Data that a node has lost when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryLoss {
    /// The vote file is lost.
    Votes,
    /// The whole data folder is lost.
    Everything,
}

impl Node {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            core: None,
            clock: Clock::new(rng),
            skew: rng.below(200),
            backlog: None,
            process: 0,
            wake: u64::MAX,
            file: None,
            incarnation: 0,
            restarts: 0,
            mark: None,
            members: None,
            peers: None,
            memory_loss: None,
        }
    }

    /// Returns whether the node runs and votes.
    pub(super) fn is_voting(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.voter().is_voting())
    }
}

impl World {
    /// Passes an input to a node after handling everything that is due, and applies the resulting actions.
    pub(super) fn with_core(&mut self, at: usize, input: impl FnOnce(&mut NodeCore, Time)) {
        let node = &mut self.nodes[at];
        let Some(core) = &mut node.core else { return };
        let local_time = node.clock.local_time(self.now);
        core.wake(local_time, self.now / MS + node.skew);
        input(core, local_time);
        self.apply_actions(at);
        self.plan_wake(at);
    }

    /// Applies actions: records are written before anything is sent.
    fn apply_actions(&mut self, at: usize) {
        let Some(core) = &mut self.nodes[at].core else { return };
        let actions: Vec<Action> = core.actions().collect();
        actions.iter().for_each(|action| self.note_action(at, action));
        let node = &mut self.nodes[at];
        let Some(core) = &node.core else { return };
        let (mut records, mut rest) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Persist(record) => records.push(record),
                action => rest.push(action),
            }
        }
        match &mut node.file {
            Some(file) if file.len() < GROWN => file.extend(records),
            None if !core.voter().is_voting() => {}
            file => *file = Some(core.voter().records()),
        }
        for action in rest {
            match action {
                Action::Send(peer, message) => self.send_peer(at, peer.index(), message),
                Action::SendClient(connection, message) => self.send_to_client(connection, message),
                Action::Reserve(mark) => {
                    let time = self.now + self.rng.below(20 * MS);
                    let process = self.nodes[at].process;
                    self.plan(time, Event::Reserved { at, process, mark });
                }
                Action::PersistChain(state) => self.nodes[at].members = Some(*state),
                Action::Peers(peers) => self.set_peers(at, peers.into_keys()),
                Action::Persist(_) => {}
            }
        }
    }

    fn plan_wake(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        if let Some(time) = node.core.as_ref().and_then(NodeCore::next_alarm) {
            let (time, process) = (node.clock.world_time(time), node.process);
            if time < node.wake {
                node.wake = time;
                self.plan(time, Event::WakeNode { at, process });
            }
        }
    }

    pub(super) fn wake_node(&mut self, at: usize, process: u64) {
        if self.nodes[at].process == process {
            self.nodes[at].wake = u64::MAX;
            self.with_core(at, |_, _| {});
        }
    }

    pub(super) fn reserved(&mut self, at: usize, process: u64, mark: u64) {
        let node = &mut self.nodes[at];
        if node.process == process {
            node.mark = node.mark.max(Some(mark));
            self.with_core(at, |core, now| core.reserved(mark, now));
        }
    }

    /// Starts a process of a node from the state that its predecessor has left.
    pub(super) fn start_node(&mut self, at: usize) {
        let (n, seed) = (self.nodes.len(), self.rng.next_u128());
        let first_members = self.first_members(at);
        let others = (0..n).filter(|other| *other != at);
        let all_vote = others.into_iter().all(|other| self.nodes[other].is_voting());
        let node = &mut self.nodes[at];
        let first_start = node.process == 0;
        node.process += 1;
        let memory_loss = match node.memory_loss.take() {
            // A majority that forgets without marks cannot recover without an operator.
            Some(MemoryLoss::Everything) if !all_vote => Some(MemoryLoss::Votes),
            memory_loss => memory_loss,
        };
        if memory_loss.is_some() {
            node.clock.reset(&mut self.rng);
            node.file = None;
        }
        if memory_loss == Some(MemoryLoss::Everything) {
            node.mark = None;
        }
        let block = |mark: u64| mark + FIRST_BLOCK;
        let voter = match &node.file {
            _ if first_start => {
                node.mark = Some(block(0));
                VoterStart::New
            }
            Some(records) => {
                node.restarts += 1;
                let restart_id = RestartId { incarnation: node.incarnation, number: node.restarts };
                VoterStart::Restored { restart_id, records: records.clone() }
            }
            None => {
                (node.incarnation, node.restarts) = (node.process, 0);
                let memory = Memory { incarnation: node.incarnation, mark: node.mark };
                node.mark = node.mark.map(block);
                VoterStart::Forgotten(memory)
            }
        };
        let forgotten = matches!(voter, VoterStart::Forgotten(_));
        if memory_loss == Some(MemoryLoss::Everything) {
            node.members = Some(ChainState::after_loss(first_members.present.clone()));
        }
        let members = node.members.clone().unwrap_or(first_members);
        let settings = Settings {
            id: ProcessId::from_index(at),
            cluster: 1,
            members,
            delay_bounds: DelayBounds {
                delay: Span::from_millis(250),
                bound: Span::from_millis(250),
            },
            voter,
            ceiling: Some(node.mark.unwrap_or(0)),
            persists: true,
            client_address: None,
            sessions_most: 1_000,
            requests_most: 1_000,
            seed,
            quotas: Quotas::default(),
        };
        node.peers = None;
        node.core = Some(NodeCore::new(settings, node.clock.local_time(self.now)));
        node.wake = u64::MAX;
        self.log(|| format!("node {at} starts, forgotten: {forgotten}"));
        if first_start {
            (0..at).for_each(|peer| self.connect(at, peer));
        } else {
            self.counts.restarts += 1;
            self.counts.forgotten += u64::from(forgotten);
        }
        self.with_core(at, |_, _| {});
    }

    /// Stops the process of a node, and schedules its restart.
    pub(super) fn stop_node(&mut self, at: usize, after: u64) {
        let node = &mut self.nodes[at];
        (node.core, node.backlog) = (None, None);
        self.log(|| format!("node {at} stops"));
        (0..self.nodes.len()).for_each(|peer| self.break_link(at, peer, 0));
        let open = self.connections.iter().filter(|(_, it)| it.node == at && !it.closed);
        for connection in open.map(|(id, _)| *id).collect::<Vec<_>>() {
            if !self.rng.one_in(4) {
                let time = self.now + self.rng.below(100 * MS);
                self.plan(time, Event::Broken { connection });
            }
        }
        self.plan(self.now + after, Event::StartNode { at });
    }

    /// Stops a leaving node once it is idle, or when its deadline has passed.
    pub(super) fn depart(&mut self, at: usize, process: u64, until: u64) {
        let node = &self.nodes[at];
        let Some(core) = node.core.as_ref().filter(|_| node.process == process) else { return };
        if core.is_idle(node.clock.local_time(self.now)) || self.now > until {
            let after = 50 * MS + self.rng.below(SECOND);
            self.stop_node(at, after);
        } else {
            self.plan(self.now + 20 * MS, Event::Depart { at, process, until });
        }
    }
}
