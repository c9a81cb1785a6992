//! The voter of this node: its start, its messages and its clock, and the failure detector that determines
//! which voters to avoid.

use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, Chain, Record, ToCandidate, ToVoter, Voter, VoterEffect, VoterEffects,
};
use quorate_core::{Belief, Effect, Effects, Process, ProcessId, Recipients, Time};
use quorate_protocol::{Members, Name, ServerMessage};

use super::{Action, Alarm, GOSSIP, LocalMessage, NodeCore, Settings, VoterStart};
use crate::peer::{PeerMessage, VoteEnd};

/// A message between failure detectors.
type DetectorMessage = <super::VcubeDiagnosis as Process>::Message;

/// Position of the node number in a candidate's identifier. The bits below it are random.
const NODE_SHIFT: u32 = 56;

/// Returns the node that has assigned this identifier.
pub(super) fn node_of(candidate: CandidateId) -> ProcessId {
    ProcessId::from_index((candidate.0 >> NODE_SHIFT) as usize)
}

/// Creates the voter from the state that it remembers.
pub(super) fn start(settings: &Settings, chain: &Chain<Members>, now: Time) -> Voter<Name> {
    let electorate = chain.present().electorate();
    let mut voter = Voter::new(settings.id, electorate.clone(), chain.present().terms());
    match settings.voter.clone() {
        VoterStart::New => {}
        VoterStart::Forgotten(memory) => voter = voter.forgotten(memory, now),
        VoterStart::Restored { restart_id, records } => {
            voter = voter.restored(restart_id, records, now)
        }
    }
    let mut voter = voter.in_configuration(electorate, chain.previous(), now);
    voter.stay_out(chain.stays_out());
    match settings.ceiling {
        Some(ceiling) => voter.with_ceiling(ceiling),
        None => voter,
    }
}

impl NodeCore {
    /// Returns the voter, for a driver that rewrites its vote file.
    pub fn voter(&self) -> &Voter<Name> {
        &self.voter
    }

    /// Reports that vote numbers up to this one are reserved durably.
    pub fn reserved(&mut self, ceiling: u64, now: Time) {
        self.with_voter(now, |voter, out| voter.reserved(ceiling, out));
        self.deliver_local(now);
    }

    /// Sets or clears the error of the vote file. While there is an error, messages of candidates do not reach the voter,
    /// so that it promises nothing.
    pub fn set_disk_error(&mut self, error: Option<String>) {
        if error.is_some() {
            self.metrics.disk_failures.inc();
        }
        self.disk_error = error;
    }

    /// Returns a new identifier for a candidate, which contains the number of this node.
    pub(super) fn new_candidate(&mut self) -> CandidateId {
        let node = (self.settings.id.index() as u64) << NODE_SHIFT;
        CandidateId(node | self.unique_number() >> (64 - NODE_SHIFT))
    }

    pub(super) fn with_voter(
        &mut self,
        now: Time,
        input: impl FnOnce(&mut Voter<Name>, &mut VoterEffects<Name>),
    ) {
        let mut out = Vec::new();
        input(&mut self.voter, &mut out);
        for effect in out {
            match effect {
                VoterEffect::Persist(record) => {
                    if let Record::Ballot { lock, .. } = &record {
                        self.record_vote(lock, now);
                        self.publish_ballot(lock, now);
                    }
                    if self.settings.persists {
                        self.actions.push(Action::Persist(record));
                    }
                }
                VoterEffect::Reserve(mark) => self.actions.push(Action::Reserve(mark)),
                VoterEffect::Send(candidate, message) => {
                    self.send_to_candidate(candidate, message, now)
                }
                VoterEffect::SendPeer(peer, message) => {
                    self.send(peer, PeerMessage::Voter(message));
                }
            }
        }
    }

    /// Runs the voter with an input that ends votes for this reason.
    pub(super) fn with_voter_because(
        &mut self,
        why: VoteEnd,
        now: Time,
        input: impl FnOnce(&mut Voter<Name>, &mut VoterEffects<Name>),
    ) {
        self.history.set_reason(why);
        self.with_voter(now, input);
        self.history.set_reason(VoteEnd::default());
    }

    /// Delivers a candidate's message to the voter of this node.
    pub(super) fn deliver_to_voter(
        &mut self,
        from: CandidateId,
        message: ToVoter<Name>,
        now: Time,
    ) {
        if self.disk_error.is_some() {
            return;
        }
        if let (Some(spans), ToVoter::Request { claim, .. }) = (&mut self.spans, &message) {
            spans.note_request(claim.request, now);
        }
        let why = VoteEnd::by(&message);
        self.with_voter_because(why, now, |voter, out| voter.on_message(from, message, now, out));
    }

    /// Sends the voter's message to the candidate: a relay here, a direct client's connection, or a relay at another node.
    fn send_to_candidate(&mut self, candidate: CandidateId, message: ToCandidate<Name>, now: Time) {
        if let ToCandidate::Vote { lock, claim, .. } = &message {
            self.metrics.votes.inc();
            if let Some(spans) = &mut self.spans {
                spans.vote(self.settings.id, lock, claim.request, now);
            }
        }
        let (me, node) = (self.settings.id, node_of(candidate));
        if matches!(message, ToCandidate::Outdated { .. }) {
            return self.tell_of_members(candidate);
        }
        if let Some(caller) = self.direct.caller(candidate) {
            match self.actions.last_mut() {
                Some(Action::SendClient(to, ServerMessage::FromVoter(batch))) if *to == caller => {
                    batch.push(message);
                }
                _ => self.send_client(caller, ServerMessage::FromVoter(vec![message])),
            }
        } else if node == me {
            self.local_messages.push_back(LocalMessage::ToCandidate(me, candidate, message));
        } else if self.membership.addresses.contains_key(&node) {
            self.send(node, PeerMessage::ToCandidate(candidate, message));
        }
    }

    /// Delivers a voter's message to a candidate of this node.
    pub(super) fn deliver_to_candidate(
        &mut self,
        voter: ProcessId,
        candidate: CandidateId,
        message: ToCandidate<Name>,
        now: Time,
    ) {
        if let Some(session) = self.candidates.get(&candidate).copied() {
            let is_list = matches!(message, ToCandidate::Echo { .. });
            self.drive(session, now, |relay, out| relay.candidate.on_message(voter, message, out));
            if is_list {
                self.release_ended(session);
            }
        }
    }

    /// Sends a message of a candidate of this node to a voter.
    pub(super) fn send_to_voter(
        &mut self,
        candidate: CandidateId,
        voter: ProcessId,
        message: ToVoter<Name>,
    ) {
        match voter == self.settings.id {
            true => self.local_messages.push_back(LocalMessage::ToVoter(candidate, message)),
            false => self.send(voter, PeerMessage::ToVoter(candidate, message)),
        }
    }

    /// Tells a candidate that there is a newer configuration than the one that it uses.
    fn tell_of_members(&mut self, candidate: CandidateId) {
        let node = node_of(candidate);
        if let Some(caller) = self.direct.caller(candidate) {
            let known = Box::new(self.members_known());
            self.send_client(caller, ServerMessage::Changes(known));
        } else if node != self.settings.id && self.membership.addresses.contains_key(&node) {
            self.greet_peer(node);
        }
    }

    pub(super) fn gossip(&mut self, now: Time) {
        self.alarms.insert((now + GOSSIP, Alarm::Gossip));
        self.with_voter(now, |voter, out| voter.gossip(out));
        self.tick_chain(now);
        let voter = &self.voter;
        self.texts.sweep(|session| voter.session(session).is_some(), now);
        self.watch.sweep();
    }

    pub(super) fn wake_detector(&mut self, now: Time) {
        while let Some(index) = self.timers.iter().position(|(time, _)| *time <= now) {
            let (_, timer) = self.timers.swap_remove(index);
            self.with_detector(now, |detector, out| detector.on_timer(timer, out));
        }
    }

    pub(super) fn with_detector(
        &mut self,
        now: Time,
        input: impl FnOnce(&mut super::VcubeDiagnosis, &mut Effects<super::VcubeDiagnosis>),
    ) {
        let mut out = Effects::new(now);
        input(&mut self.detector, &mut out);
        for effect in out.drain().collect::<Vec<_>>() {
            match effect {
                Effect::Send { to, message } => self.send_detector(to, message),
                Effect::Multicast { to, message } => {
                    let chosen = |peer: &ProcessId| match &to {
                        Recipients::Set(set) => set.contains(*peer),
                        _ => true,
                    };
                    let all = ProcessId::all(self.membership.positions.len());
                    for position in all.filter(chosen) {
                        self.send_detector(position, message.clone());
                    }
                }
                Effect::SetTimer { timer, after } => {
                    self.timers.retain(|(_, other)| *other != timer);
                    self.timers.push((now + after, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|(_, other)| *other != timer),
                Effect::Output(belief) | Effect::Believed(belief) => {
                    self.deliver_suspicion(belief, now)
                }
                Effect::AwaitRound | Effect::Ignored(_) => {}
            }
        }
    }

    /// Sends a message to the detector of the member at this position.
    fn send_detector(&mut self, position: ProcessId, message: DetectorMessage) {
        let index = self.electorate.index();
        let peer = self.membership.positions.get(position.index()).copied();
        if let Some(peer) = peer.filter(|peer| *peer != self.settings.id) {
            self.send(peer, PeerMessage::Detector(index, message));
        }
    }

    /// Handles a message of a member's detector. Detectors of other configurations have other positions.
    pub(super) fn on_detector_message(
        &mut self,
        from: ProcessId,
        index: u64,
        message: DetectorMessage,
        now: Time,
    ) {
        let position = self.membership.positions.iter().position(|id| *id == from);
        if let Some(position) = position.filter(|_| index == self.electorate.index()) {
            let position = ProcessId::from_index(position);
            self.with_detector(now, |detector, out| detector.on_message(position, message, out));
        }
    }

    /// Handles a change of suspicion. A wrong suspicion only costs messages: a suspected voter is avoided, and
    /// its votes still count.
    fn deliver_suspicion(&mut self, belief: Belief, now: Time) {
        let Some(peer) = self.membership.positions.get(belief.about().index()).copied() else {
            return;
        };
        let changed = match belief {
            Belief::Crashed(_) => self.suspected.insert(peer),
            Belief::Alive(_) => self.suspected.remove(peer),
        };
        if !changed {
            return;
        }
        self.metrics.count_suspicion(belief);
        match belief {
            Belief::Crashed(_) => self.avoid_everywhere(peer, now),
            Belief::Alive(_) => self.resume_everywhere(peer, now),
        }
    }

    pub(super) fn avoid_everywhere(&mut self, voter: ProcessId, now: Time) {
        for session in self.relays.keys().copied().collect::<Vec<_>>() {
            self.drive(session, now, |relay, out| relay.candidate.avoid(voter, out));
        }
    }

    pub(super) fn resume_everywhere(&mut self, voter: ProcessId, now: Time) {
        if self.avoided().contains(voter) {
            return;
        }
        for session in self.relays.keys().copied().collect::<Vec<_>>() {
            self.drive(session, now, |relay, out| relay.candidate.resume(voter, out));
        }
    }
}
