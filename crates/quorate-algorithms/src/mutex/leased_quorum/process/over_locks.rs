//! Abstraction of the processes to the model of `proofs/locks.py`.
//!
//! An instant of the model is the end of a beat by the clock of its client, computed from what the client itself remembers.
//! Numbers, beats and quorums that the code compares become rows: a voter that has confirmed a number has confirmed all numbers
//! from that of its vote on, and an echo of a beat is one of all earlier beats since the request was made.
//!
//! - `lock` maps voters, candidates, clients and their messages, whatever drives them.
//! - `history` is about earlier steps, and `elements` about identities.
//! - This file is about processes of the simulator. Every one has a client with its own candidate.

mod elements;
mod history;
mod lock;

use alloc::string::String;

use quorate_core::abstraction::{
    AbstractState, Abstraction, Element, ElementOrder, Elements, MessageInFlight, Rows,
};
use quorate_core::{ProcessId, SortedMap, Time};

pub use self::elements::ClientName;
pub use self::lock::{FollowedClient, FollowedKind, FollowedLock, Restart};
use super::{Cluster, LeasedQuorum};
use crate::Setup;
use crate::mutex::leased_quorum::wire::Message;

/// Maps `leased-quorum` to the model of the lock service.
#[derive(Clone, Debug)]
pub struct OverLocks {
    cluster: Cluster,
    lock: FollowedLock<()>,
    /// Number of restarts of each process.
    restarts: SortedMap<ProcessId, u64>,
}

impl OverLocks {
    /// Creates the abstraction of processes with this setup, if there are at most eight voters.
    pub fn new(setup: &Setup) -> Option<Self> {
        let cluster = Cluster::new(setup);
        let lock = FollowedLock::new((), &cluster.electorate, cluster.first)?;
        Some(Self { cluster, lock, restarts: SortedMap::new() })
    }
}

impl Abstraction for OverLocks {
    type Process = LeasedQuorum;

    const MODEL: &'static str = FollowedLock::<()>::MODEL;

    const ORDERS: &'static [(&'static str, ElementOrder)] = FollowedLock::<()>::ORDERS;

    const ACTORS: &'static [&'static str] = FollowedLock::<()>::ACTORS;

    fn observe(&mut self, process: &LeasedQuorum, is_up: bool) {
        if !is_up {
            return;
        }
        let presented = process.client.client().presented();
        let (session, incarnation) = (presented.session, presented.beat.incarnation);
        let name = ClientName { machine: session as u32, process: incarnation as u32 };
        let client = FollowedClient {
            name,
            owner: process.id,
            kind: FollowedKind::Direct,
            is_remote: false,
        };
        self.lock.add_client(session, incarnation, client);
        let before = self.restarts.insert(process.id, process.restarts).unwrap_or(0);
        if let Some((voter, id)) = process.voter.as_ref().zip(self.cluster.voter_of(process.id)) {
            // Its client is new as well, and begins after the restart.
            let restart = (process.restarts != before).then_some(Restart::WithFile);
            self.lock.observe_voter(id, voter, restart);
        }
        self.lock.observe_client(process.client.client());
    }

    fn time_passes(&mut self, clock: &dyn Fn(ProcessId) -> Time, rows: &mut Rows) {
        self.lock.time_passes(clock, rows);
    }

    fn state(&self, process: &LeasedQuorum, is_up: bool) -> AbstractState {
        let (client, candidate) = (process.client.client(), process.client.candidate());
        let mut state = match is_up {
            true => self.lock.client_state(Some((client, candidate.id())), Some(candidate)),
            false => self.lock.nothing(),
        };
        if let Some((voter, id)) = process.voter.as_ref().zip(self.cluster.voter_of(process.id)) {
            state.append(self.lock.voter_state(id, voter));
        }
        state
    }

    fn in_flight(&self, sent: &MessageInFlight<'_, Message>, rows: &mut Rows) {
        match sent.message {
            Message::ToVoter(message) => {
                if let Some(voter) = self.cluster.voter_of(sent.to) {
                    self.lock.sent_to_voter(voter, message, rows);
                }
            }
            Message::ToCandidate(message) => {
                if let Some(voter) = self.cluster.voter_of(sent.from) {
                    self.lock.sent_to_candidate(voter, message, rows);
                }
            }
            // Only voters that change, or that have forgotten, send messages to each other.
            Message::ToPeer(_) => {}
        }
    }
}

impl Elements for OverLocks {
    fn owner(&self, element: &Element) -> Option<ProcessId> {
        self.lock.owner(element)
    }

    fn describe(&self, element: &Element, rows: &mut Rows) {
        self.lock.describe(element, rows);
    }

    fn name(&self, element: &Element) -> String {
        self.lock.name(element)
    }
}
