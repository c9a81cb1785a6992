//! What voters tell each other: clocks, and numbers for one that has forgotten.

use quorate_core::{ProcessId, ProcessSet, Time};

use super::super::message::Name;
use super::{Abstains, Voter, VoterEffect, VoterEffects};

/// A voter's message to another voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PeerMessage {
    /// The sender's logical clock.
    Clock(u64),
    /// The sender has forgotten its numbers, and asks for those of the receiver in this incarnation.
    Learn(u64),
    /// The sender has not forgotten, and no number of its votes is greater than this.
    Known {
        /// The incarnation that has asked.
        asked: u64,
        /// The greatest number.
        floor: u64,
        /// The sender's logical clock.
        clock: u64,
    },
}

/// A voter's clock may be ahead of the receiver's by at most this, in milliseconds: one day. A voter that lies cannot use up
/// the clock.
const AHEAD_MOST: u64 = 86_400_000;

impl<K: Name> Voter<K> {
    /// Handles a message of another voter.
    pub fn on_peer(&mut self, from: ProcessId, message: PeerMessage, out: &mut VoterEffects<K>) {
        match message {
            PeerMessage::Clock(clock) => self.hear_clock(clock),
            PeerMessage::Learn(asked) if self.is_voting() => {
                let (floor, clock) = (self.furthest(), self.clock);
                out.push(VoterEffect::SendPeer(from, PeerMessage::Known { asked, floor, clock }));
            }
            PeerMessage::Learn(_) => {}
            PeerMessage::Known { asked, floor, clock } => {
                self.hear_clock(clock);
                // A late answer to an earlier incarnation does not know the tokens that were given since.
                if asked == self.incarnation {
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

    /// Every earlier token was confirmed by a quorum; a quorum that remembers shares a voter with it.
    fn learn(&mut self, from: ProcessId, told: u64, out: &mut VoterEffects<K>) {
        let Some(Abstains::Learning { told: by, floor }) = &mut self.abstains else { return };
        if from.index() >= self.electorate.len() || from == self.id {
            return;
        }
        by.insert(from);
        *floor = told.max(*floor);
        let floor = *floor;
        if self.electorate.is_quorum(by) {
            self.floor = self.floor.max(floor);
            self.begin_voting(out);
        }
    }

    /// Repeats what may have been lost. Drivers call it every now and then.
    pub fn gossip(&self, out: &mut VoterEffects<K>) {
        let message = match self.abstains {
            Some(Abstains::Learning { .. }) => PeerMessage::Learn(self.incarnation),
            _ => PeerMessage::Clock(self.clock),
        };
        for voter in ProcessId::all(self.electorate.len()).filter(|voter| *voter != self.id) {
            out.push(VoterEffect::SendPeer(voter, message));
        }
    }

    pub(super) fn end_abstention(&mut self, now: Time, out: &mut VoterEffects<K>) {
        match self.abstains {
            Some(Abstains::Until { time, has_mark: true }) if time <= now => {
                self.begin_voting(out);
            }
            Some(Abstains::Until { time, has_mark: false }) if time <= now => {
                let (told, floor) = (ProcessSet::new(), self.floor);
                self.abstains = Some(Abstains::Learning { told, floor });
                self.gossip(out);
            }
            _ => {}
        }
    }

    /// From now on a restart remembers: before, it would have to forget once more.
    fn begin_voting(&mut self, out: &mut VoterEffects<K>) {
        self.abstains = None;
        out.push(VoterEffect::Persist(self.counters()));
    }
}
