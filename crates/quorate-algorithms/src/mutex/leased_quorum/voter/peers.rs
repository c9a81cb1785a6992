//! Messages between voters: clocks, and numbers for a voter that has forgotten its votes.

use quorate_core::{ProcessId, ProcessSet, Time};

use super::super::message::Name;
use super::{Abstains, Voter, VoterEffect, VoterEffects};

/// A message of a voter to another voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PeerMessage {
    /// The sender's logical clock.
    Clock(u64),
    /// The sender asks for the recipient's numbers, because it has forgotten its own or because the voters change.
    Learn {
        /// The incarnation of the sender.
        asked: u64,
        /// Index of the sender's configuration. Voters that do not know it do not answer.
        config: u64,
    },
    /// The sender has not forgotten, and all numbers of its votes are at most `floor`.
    Known {
        /// The incarnation that has asked.
        asked: u64,
        /// Index of the sender's configuration.
        config: u64,
        /// The greatest number of the sender.
        floor: u64,
        /// The sender's logical clock.
        clock: u64,
    },
}

/// Maximum by which the clock of another voter may be ahead, in milliseconds: one day. A faulty voter
/// cannot exhaust the clock.
const AHEAD_MOST: u64 = 86_400_000;

impl<K: Name> Voter<K> {
    /// Handles a message of another voter.
    pub fn on_peer(&mut self, from: ProcessId, message: PeerMessage, out: &mut VoterEffects<K>) {
        match message {
            PeerMessage::Clock(clock) => self.hear_clock(clock),
            PeerMessage::Learn { asked, config } => {
                let own = self.electorate.index();
                if self.is_voting() && own >= config {
                    let (config, floor, clock) = (own, self.furthest(), self.clock);
                    let known = PeerMessage::Known { asked, config, floor, clock };
                    out.push(VoterEffect::SendPeer(from, known));
                }
            }
            PeerMessage::Known { asked, config, floor, clock } => {
                self.hear_clock(clock);
                // A late answer to an earlier incarnation does not cover tokens that were given since. The numbers of a voter
                // that knows a newer configuration are requested again once this one knows it too.
                if asked == self.incarnation && config == self.electorate.index() {
                    self.learn(from, floor, out);
                }
            }
        }
    }

    fn hear_clock(&mut self, clock: u64) {
        if clock <= self.clock.saturating_add(AHEAD_MOST) {
            self.clock = self.clock.max(clock);
        }
    }

    /// Learns the numbers of another voter. Every earlier token was confirmed by a quorum, and a quorum that remembers
    /// shares a voter with it.
    fn learn(&mut self, from: ProcessId, told: u64, out: &mut VoterEffects<K>) {
        if !self.others().contains(from) {
            return;
        }
        let Some(Abstains::Learning { told: by, floor }) = &mut self.abstains else {
            return self.learn_for_change(from, told, out);
        };
        by.insert(from);
        *floor = told.max(*floor);
        let (by, floor) = (by.clone(), *floor);
        if self.knows_numbers(&by) {
            self.floor = self.floor.max(floor);
            self.begin_voting(out);
            self.has_learned_all(out);
        }
    }

    /// Repeats messages that may have been lost. Drivers call it periodically.
    pub fn gossip(&self, out: &mut VoterEffects<K>) {
        let learns = matches!(self.abstains, Some(Abstains::Learning { .. }));
        let message = match learns || self.has_to_learn() {
            true => self.asks_for_numbers(),
            false => PeerMessage::Clock(self.clock),
        };
        for voter in &self.others() {
            out.push(VoterEffect::SendPeer(voter, message));
        }
    }

    pub(super) fn end_abstention(&mut self, now: Time, out: &mut VoterEffects<K>) {
        match self.abstains {
            Some(Abstains::Until { time, has_mark: true }) if time <= now => {
                self.begin_voting(out);
            }
            Some(Abstains::Until { time, has_mark: false }) if time <= now && !self.stays_out => {
                let (told, floor) = (ProcessSet::new(), self.floor);
                self.abstains = Some(Abstains::Learning { told, floor });
                self.gossip(out);
            }
            _ => {}
        }
    }

    /// Begins to vote. From now on a restart can use the vote file; before, it would have had to abstain again.
    fn begin_voting(&mut self, out: &mut VoterEffects<K>) {
        self.abstains = None;
        out.push(VoterEffect::Persist(self.counters()));
        self.learn_own(out);
    }
}
