//! Forks between neighbours: the part that the dining and the drinking philosophers share.
//!
//! Each two neighbours share a fork and a request token. A fork is clean or dirty. A hungry process that lacks a fork sends the
//! token. A process that has the token and a dirty fork, and is not eating, cleans the fork and sends it. So a process gives up
//! a dirty fork and keeps a clean one until it has eaten. The holder of a clean fork goes before the neighbour with which it shares
//! it, and the holder of a dirty fork after. This order of the neighbours is acyclic at first. It stays acyclic, because a process
//! that eats goes after all its neighbours from then on.
//!
//! ```text
//!            request, if away             fork arrives            eats
//!     Away -------------------> Requested ------------> Clean ----------> Dirty
//!      ^                                                                    |
//!      +---------------------- neighbour asks, not eating ------------------+
//! ```

use quorate_core::{ProcessId, ProcessSet, SortedMap};

/// The forks of one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Forks {
    diner: Diner,
    edges: SortedMap<ProcessId, Edge>,
}

/// State of the process towards its forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Diner {
    Thinking,
    Hungry,
    Eating,
}

/// The fork shared with one neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Edge {
    fork: Fork,
    /// Whether the neighbour has asked for the fork. On links that reorder, its request may arrive before the fork that this
    /// process has asked for.
    wanted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fork {
    /// The neighbour has it, and this process has not asked for it.
    Away,
    /// The neighbour has it or has sent it, and this process has asked for it.
    Requested,
    Clean,
    Dirty,
}

/// A message about a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ForkMessage {
    /// Asks for the fork: the request token.
    Request,
    /// Hands over the fork, clean.
    Fork,
}

impl Forks {
    /// Initially the neighbour with the lower number has each fork, dirty. So the order of the processes is acyclic.
    pub(super) fn new(id: ProcessId, neighbours: &ProcessSet) -> Self {
        let edge = |other| {
            let fork = if id < other { Fork::Dirty } else { Fork::Away };
            (other, Edge { fork, wanted: false })
        };
        Self { diner: Diner::Thinking, edges: neighbours.iter().map(edge).collect() }
    }

    pub(super) fn diner(&self) -> Diner {
        self.diner
    }

    /// Whether this process has the fork that it shares with a neighbour.
    pub(super) fn holds(&self, neighbour: ProcessId) -> bool {
        self.edges.get(&neighbour).is_some_and(|edge| edge.is_here())
    }

    /// The neighbours whose forks are missing.
    pub(super) fn missing(&self) -> ProcessSet {
        self.edges.iter().filter(|(_, edge)| !edge.is_here()).map(|(other, _)| *other).collect()
    }

    /// Asks for all forks that are missing. Eats if none is.
    pub(super) fn become_hungry(&mut self, send: &mut dyn FnMut(ProcessId, ForkMessage)) {
        self.diner = Diner::Hungry;
        for (other, edge) in self.edges.iter_mut() {
            if edge.fork == Fork::Away {
                edge.fork = Fork::Requested;
                send(*other, ForkMessage::Request);
            }
        }
        self.eat_if_complete();
    }

    /// Handles a message of a neighbour. Returns why it was ignored, if it was.
    pub(super) fn on_message(
        &mut self,
        from: ProcessId,
        message: ForkMessage,
        send: &mut dyn FnMut(ProcessId, ForkMessage),
    ) -> Option<&'static str> {
        let diner = self.diner;
        let Some(edge) = self.edges.get_mut(&from) else {
            return Some("a message of a process that is not a neighbour");
        };
        match message {
            ForkMessage::Request => {
                edge.wanted = true;
                edge.yield_if_dirty(diner, from, send);
            }
            ForkMessage::Fork if edge.fork == Fork::Requested => {
                edge.fork = Fork::Clean;
                self.eat_if_complete();
            }
            ForkMessage::Fork => return Some("a fork that was not asked for"),
        }
        None
    }

    /// Stops eating, and sends the forks that neighbours have asked for meanwhile.
    pub(super) fn stop_eating(&mut self, send: &mut dyn FnMut(ProcessId, ForkMessage)) {
        self.diner = Diner::Thinking;
        for (other, edge) in self.edges.iter_mut() {
            edge.yield_if_dirty(Diner::Thinking, *other, send);
        }
    }

    fn eat_if_complete(&mut self) {
        if self.diner == Diner::Hungry && self.edges.values().all(Edge::is_here) {
            self.diner = Diner::Eating;
            self.edges.values_mut().for_each(|edge| edge.fork = Fork::Dirty);
        }
    }
}

impl Edge {
    fn is_here(&self) -> bool {
        matches!(self.fork, Fork::Clean | Fork::Dirty)
    }

    /// Sends the fork if the neighbour wants it and this process need not keep it. A hungry process asks for it again.
    fn yield_if_dirty(
        &mut self,
        diner: Diner,
        neighbour: ProcessId,
        send: &mut dyn FnMut(ProcessId, ForkMessage),
    ) {
        if !self.wanted || self.fork != Fork::Dirty || diner == Diner::Eating {
            return;
        }
        *self = Self { fork: Fork::Away, wanted: false };
        send(neighbour, ForkMessage::Fork);
        if diner == Diner::Hungry {
            self.fork = Fork::Requested;
            send(neighbour, ForkMessage::Request);
        }
    }
}
