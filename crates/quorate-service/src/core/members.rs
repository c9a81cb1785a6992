//! The members of the cluster: this node's part in the chain of configurations, and changes that operators want.
//!
//! ```text
//!   operator -> change_members -> new nodes are connected -> chain: chosen -> adopted: voter, relays, direct clients,
//!   peers' messages ------------------------------------------------^          detector, links
//! ```
//!
//! A node that has not joined a cluster yet knows no members. It takes the first configuration that an authenticated node of
//! its cluster sends.

use std::collections::{BTreeMap, BTreeSet};

use quorate_algorithms::detector::VcubeDiagnosis;
use quorate_algorithms::mutex::leased_quorum::{Chain, ChainEffect, ChainEffects, ChainMessage};
use quorate_core::{ProcessId, ProcessSet, Span, Time};
use quorate_protocol::{
    CallResponse, ClusterTerms, Configuration, Failure, Member, MemberChange, Members,
    MembersKnown, MembersStatus, ServerMessage, session_terms,
};

use super::{Action, Alarm, CallId, CallerId, NodeCore};
use crate::peer::PeerMessage;

/// Interval at which a node works on a change of the members.
const CHANGE_INTERVAL: Span = Span::from_millis(100);

/// Maximum time to connect to new nodes and to choose a change.
const CHANGE_TIMEOUT: Span = Span::from_millis(10_000);

const IN_PROGRESS: &str =
    "another change of the members is in progress; `quorate members` shows it";

/// Time for which nodes that were removed stay connected, so that they learn of it.
const FORMER_LINGER: Span = Span::from_millis(5_000);

/// A change that an operator wants, until it is chosen or refused.
#[derive(Debug)]
pub(super) struct PendingChange {
    call_id: CallId,
    target: Members,
    /// Index of the configuration that is to be changed.
    index: u64,
    until: Time,
}

/// This node's knowledge of the members.
#[derive(Debug)]
pub(super) struct Membership {
    pub(super) chain: Chain<Members>,
    /// Addresses of all nodes that are needed: those of the present configuration, of the one before, and new ones.
    pub(super) addresses: BTreeMap<ProcessId, String>,
    /// Peers whose configurations were compared with the one of this node, since this process has started.
    pub(super) greeted: ProcessSet,
    /// Peers that were started with other members, with the difference.
    pub(super) foreign: BTreeMap<ProcessId, String>,
    pending: Option<PendingChange>,
    /// Whether an alarm is set for the next step of a change.
    works: bool,
    /// Until when nodes that were removed stay connected.
    former_until: Option<Time>,
    /// Whether this node is a member of the newest configuration.
    is_member: bool,
    /// Positions in the detector.
    pub(super) positions: Vec<ProcessId>,
}

impl Membership {
    pub(super) fn new(id: ProcessId, chain: Chain<Members>) -> Self {
        Self {
            is_member: chain.present().electorate().contains(id),
            chain,
            addresses: BTreeMap::new(),
            greeted: ProcessSet::new(),
            foreign: BTreeMap::new(),
            pending: None,
            works: false,
            former_until: None,
            positions: Vec::new(),
        }
    }

    /// All members, those that are about to join or to leave, too.
    pub(super) fn members(&self) -> Vec<(ProcessId, &str)> {
        let Configuration { voters, next, .. } = self.chain.present();
        let nodes = next.iter().flat_map(|next| &next.nodes).chain(&voters.nodes);
        let nodes = nodes.map(|node| (ProcessId::new(node.node), node.address.as_str()));
        nodes.collect::<BTreeMap<_, _>>().into_iter().collect()
    }

    /// Returns whether this node has not joined a cluster yet.
    pub(super) fn is_joining(&self) -> bool {
        self.chain.present().voters.nodes.is_empty()
    }
}

/// Checks a configuration that another node has sent.
fn is_sound(configuration: &Configuration) -> bool {
    let Configuration { before, voters, next, .. } = configuration;
    let all = [before.as_ref(), Some(voters), next.as_ref()];
    all.into_iter().flatten().all(|members| members.validate().is_ok())
}

/// Describes how two configurations of one index differ: what is different, and both values.
fn difference(mine: &Configuration, theirs: &Configuration) -> (&'static str, String, String) {
    let list = |of: &Configuration| {
        let nodes = of.voters.nodes.iter();
        let nodes = nodes.map(|node| format!("{} at {}", node.node, node.address));
        nodes.collect::<Vec<_>>().join(", ")
    };
    let (nodes, others) = (list(mine), list(theirs));
    if nodes != others {
        return ("members", nodes, others);
    }
    let values = |of: &Configuration| {
        let ClusterTerms { ttl_least_ms, ttl_most_ms, drift_ppm, .. } = of.target().terms;
        [
            format!("quorums = {}", of.voters.quorums),
            format!("ttl_least_ms = {ttl_least_ms}"),
            format!("ttl_most_ms = {ttl_most_ms}"),
            format!("drift_ppm = {drift_ppm}"),
        ]
    };
    let unequal = values(mine).into_iter().zip(values(theirs)).filter(|(one, other)| one != other);
    let (mine, theirs): (Vec<_>, Vec<_>) = unequal.unzip();
    ("terms", mine.join(", "), theirs.join(", "))
}

impl NodeCore {
    /// Handles a message about the chain.
    pub(super) fn on_chain_message(
        &mut self,
        from: ProcessId,
        message: ChainMessage<Members>,
        now: Time,
    ) {
        let sound = match &message {
            ChainMessage::Present(configuration, _) => is_sound(configuration),
            ChainMessage::Accept(_, _, members)
            | ChainMessage::Promise(_, _, Some((_, members))) => members.validate().is_ok(),
            _ => true,
        };
        // A node that has not joined yet has nothing to tell.
        let is_empty =
            matches!(&message, ChainMessage::Present(it, _) if it.voters.nodes.is_empty());
        if !sound && !is_empty {
            return self.distrust(from, "members that cannot be", now);
        }
        if let ChainMessage::Present(configuration, _) = &message {
            if !is_empty && !self.greet(from, configuration) {
                return;
            }
            self.membership.greeted.insert(from);
            self.connecting &= self.peers_up().len() < self.peers().count();
            if is_empty {
                return;
            }
        }
        self.with_chain(now, |chain, out| chain.on_message(from, message, out));
    }

    /// Compares the configuration of a peer with the one of this node. Two nodes that call different configurations by the
    /// same index do not belong together, although they name the same cluster.
    fn greet(&mut self, from: ProcessId, theirs: &Configuration) -> bool {
        let mine = self.membership.chain.present();
        let joining = self.membership.is_joining();
        // Two nodes of a new cluster may write their own addresses differently in their files.
        let members = |of: &Configuration| -> Vec<(u32, Option<String>)> {
            let own = [from.number(), self.settings.id.number()];
            let address = |node: &Member| (!own.contains(&node.node)).then(|| node.address.clone());
            of.voters.nodes.iter().map(|node| (node.node, address(node))).collect()
        };
        let alike = mine.index == 0
            && members(mine) == members(theirs)
            && mine.voters.quorums == theirs.voters.quorums
            && mine.voters.terms == theirs.voters.terms;
        if joining || theirs.index != mine.index || theirs == mine || alike {
            self.membership.foreign.remove(&from);
            return true;
        }
        let (me, (what, mine, theirs)) = (self.settings.id, difference(mine, theirs));
        let text = format!("{what} differ: {me} has {mine}; {from} has {theirs}");
        tracing::warn!(peer = %from, %text, "a peer was started with other members or terms");
        self.membership.greeted.remove(from);
        self.membership.foreign.insert(from, text);
        false
    }

    /// Sends this node's configuration to a peer that is connected now.
    pub(super) fn greet_peer(&mut self, peer: ProcessId) {
        let chain = &self.membership.chain;
        let present = ChainMessage::Present(chain.present().clone(), chain.is_settled());
        self.send(peer, PeerMessage::Chain(Box::new(present)));
    }

    pub(super) fn with_chain(
        &mut self,
        now: Time,
        input: impl FnOnce(&mut Chain<Members>, &mut ChainEffects<Members>),
    ) {
        let mut out = Vec::new();
        input(&mut self.membership.chain, &mut out);
        self.apply_chain(out, now);
    }

    fn apply_chain(&mut self, effects: ChainEffects<Members>, now: Time) {
        for effect in effects {
            match effect {
                ChainEffect::Persist if self.settings.persists => {
                    let state = Box::new(self.membership.chain.state().clone());
                    self.actions.push(Action::PersistChain(state));
                }
                ChainEffect::Persist => {}
                ChainEffect::Send(to, message) => {
                    self.send(to, PeerMessage::Chain(Box::new(message)));
                }
                ChainEffect::Adopted => self.adopt_configuration(now),
                ChainEffect::Settled => {
                    self.voter.settled();
                    self.membership.former_until = Some(now + FORMER_LINGER);
                    tracing::info!(
                        configuration = self.membership.chain.present().index,
                        "the change of the members is complete"
                    );
                }
            }
        }
    }

    /// Passes a new configuration to everything that depends on it.
    fn adopt_configuration(&mut self, now: Time) {
        let present = self.membership.chain.present().clone();
        let (electorate, previous) = (present.electorate(), self.membership.chain.previous());
        let names: Vec<String> =
            self.membership.members().iter().map(|(id, at)| format!("{id} at {at}")).collect();
        tracing::info!(
            configuration = present.index,
            joint = present.is_joint(),
            members = names.join(", "),
            "the members of the cluster change"
        );
        self.electorate = electorate.clone();
        self.update_peers(now);
        self.start_detector(now);
        let stays_out = self.membership.chain.stays_out();
        self.terms = session_terms(&present);
        self.with_voter(now, |voter, out| {
            voter.set_terms(present.terms());
            voter.stay_out(stays_out);
            voter.adopt(electorate.clone(), previous, now, out);
            voter.wake(now, out);
        });
        for session in self.relays.keys().copied().collect::<Vec<_>>() {
            let (electorate, previous) = (electorate.clone(), present.previous());
            self.drive(session, now, |relay, out| {
                relay.candidate.adopt(electorate, previous, out);
            });
        }
        let known = self.members_known();
        let relayed = self.relays.values().map(|relay| relay.caller);
        let relayed = relayed.filter(|caller| matches!(caller, CallerId::Connection(_)));
        let callers: BTreeSet<CallerId> = relayed.chain(self.direct.callers()).collect();
        for caller in callers {
            self.send_client(caller, ServerMessage::Changes(Box::new(known.clone())));
        }
        self.ask_again(now);
        self.work(now);
        self.answer_change(now);
        let was_member = std::mem::replace(
            &mut self.membership.is_member,
            electorate.contains(self.settings.id),
        );
        if was_member && !self.membership.is_member {
            // Clients use other nodes from now on. This one still answers the other nodes until the change is complete.
            tracing::warn!(
                "this node is not a member any more; it can be stopped once the change is complete"
            );
            self.leave(now);
        }
    }

    /// The members, as direct clients need them.
    pub(super) fn members_known(&self) -> MembersKnown {
        let address = |(id, _): &(ProcessId, &str)| match *id == self.settings.id {
            true => Some((id.number(), self.settings.client_address.clone()?)),
            false => Some((id.number(), self.client_addresses.get(id)?.clone())),
        };
        MembersKnown {
            configuration: self.membership.chain.present().clone(),
            clients: self.membership.members().iter().filter_map(address).collect(),
        }
    }

    /// Determines which nodes have to be connected.
    pub(super) fn update_peers(&mut self, now: Time) {
        let Membership { chain, pending, former_until, .. } = &self.membership;
        let Configuration { before, voters, next, .. } = chain.present();
        let lingers = !chain.is_settled() || former_until.is_some_and(|until| now < until);
        let pending = pending.iter().map(|pending| &pending.target);
        let sets = before.iter().filter(|_| lingers).chain(pending).chain([voters]).chain(next);
        let nodes = sets.flat_map(|members| &members.nodes);
        let addresses: BTreeMap<ProcessId, String> =
            nodes.map(|node| (ProcessId::new(node.node), node.address.clone())).collect();
        if addresses == self.membership.addresses {
            return;
        }
        let gone = |peer: &ProcessId| !addresses.contains_key(peer);
        for peer in self.up.keys().copied().filter(gone).collect::<Vec<_>>() {
            self.up.remove(&peer);
            self.suspected.remove(peer);
            self.leaving_peers.remove(peer);
            self.membership.greeted.remove(peer);
        }
        self.membership.addresses.clone_from(&addresses);
        self.actions.push(Action::Peers(addresses));
    }

    /// Starts the failure detector anew for the present members. Its processes are their positions.
    pub(super) fn start_detector(&mut self, now: Time) {
        let members = self.membership.members();
        self.membership.positions = members.iter().map(|(id, _)| *id).collect();
        let own = self.membership.positions.iter().position(|id| *id == self.settings.id);
        // A node that is not a member tests no other node.
        let (n, position) = own.map_or((1, 0), |own| (self.membership.positions.len(), own));
        let id = ProcessId::from_index(position);
        self.detector = VcubeDiagnosis::with_delay_bounds(n, id, self.settings.delay_bounds);
        self.timers.clear();
        self.suspected.clear();
        self.with_detector(now, |detector, out| {
            quorate_core::Process::on_start(detector, out);
        });
    }

    /// Sets the alarm for the next step, while a change is in progress.
    fn work(&mut self, now: Time) {
        let Membership { chain, pending, works, former_until, .. } = &self.membership;
        let needed = !chain.is_settled() || pending.is_some() || former_until.is_some();
        if needed && !works && !self.membership.is_joining() {
            self.membership.works = true;
            self.alarms.insert((now + CHANGE_INTERVAL, Alarm::Change));
        }
    }

    /// The next step of a change.
    pub(super) fn continue_change(&mut self, now: Time) {
        self.membership.works = false;
        self.tick_chain(now);
        if !self.voter.has_learned() {
            self.with_voter(now, |voter, out| {
                voter.wake(now, out);
                voter.gossip(out);
            });
        }
        if self.membership.former_until.is_some_and(|until| until <= now) {
            self.membership.former_until = None;
            self.update_peers(now);
        }
        self.try_propose(now);
        self.work(now);
    }

    /// Tells the other nodes the progress of this one. The stable configuration that follows a joint one waits for moving leases.
    pub(super) fn tick_chain(&mut self, now: Time) {
        if self.membership.chain.present().is_joint() && self.moving_leases(now).is_some() {
            return;
        }
        let mut out = Vec::new();
        self.membership.chain.tick(&self.voter, now, &mut out);
        self.apply_chain(out, now);
        self.work(now);
    }

    /// Leases that a node has kept alive which is down now: their number, the node, and when the last one lapses. Until their
    /// clients continue through another node, the tokens of their locks are recorded in the present configuration only. In the
    /// next one they would get greater tokens, which the clients of etcd's API cannot be told, so that they would lose their locks.
    fn moving_leases(&self, now: Time) -> Option<(usize, ProcessId, Time)> {
        let up = self.peers_up();
        let moving = self.texts.sessions().filter_map(|(session, known)| {
            let text = &known.session_text;
            let node = ProcessId::new(text.node);
            let gone = text.lease != 0
                && node != self.settings.id
                && !up.contains(node)
                && !self.relays.contains_key(&session);
            let voter_session = self.voter.session(session).filter(|_| gone)?;
            let holds = !self.voter.entries(session).is_empty();
            Some((node, voter_session.lapses())).filter(|(_, lapses)| holds && *lapses > now)
        });
        moving.fold(None, |all: Option<(usize, ProcessId, Time)>, (node, lapses)| {
            let (count, node, last) = all.unwrap_or((0, node, lapses));
            Some((count + 1, node, last.max(lapses)))
        })
    }

    /// Begins a change of the members for an operator. Answered once it is chosen.
    pub(super) fn change_members(
        &mut self,
        call_id: CallId,
        change: &MemberChange,
        now: Time,
    ) -> Option<CallResponse> {
        let refused = |why: String| Some(CallResponse::Failed(Failure::NotNow(why)));
        let Membership { chain, pending, .. } = &self.membership;
        // If the change before is complete at another node already, this one learns it soon.
        if pending.is_some() || chain.present().is_joint() {
            return refused(IN_PROGRESS.to_owned());
        }
        if !self.settings.persists {
            return refused(
                "the members of a cluster without data folders cannot change; set `data` in the nodes' files"
                    .to_owned(),
            );
        }
        let target = match change.apply(&chain.present().voters) {
            Ok(target) => target,
            Err(why) => return refused(why),
        };
        if let Some(unknown) = target.nodes.iter().find(|node| node.is_unspecified()) {
            return refused(format!(
                "the address of node {} is {}, where other nodes do not reach it: name its address with `members add`, and \
                 the one on which it listens with `listen` in its file",
                unknown.node, unknown.address
            ));
        }
        if target == chain.present().voters {
            return Some(CallResponse::Members(Box::new(self.members_status())));
        }
        if !chain.present().voters.contains(self.settings.id) {
            return refused("this node is not a member; ask another one".to_owned());
        }
        let (index, until) = (chain.present().index, now + CHANGE_TIMEOUT);
        self.membership.pending = Some(PendingChange { call_id, target, index, until });
        self.update_peers(now);
        self.try_propose(now);
        self.work(now);
        None
    }

    /// Proposes the change that an operator wants once its new nodes are connected. A configuration that cannot be reached
    /// must not be chosen, because the cluster could not leave it.
    fn try_propose(&mut self, now: Time) {
        let Membership { chain, pending, .. } = &self.membership;
        let Some(PendingChange { target, until, .. }) = pending else { return };
        let present = &chain.present().voters;
        let new = target.nodes.iter().filter(|node| !present.nodes.contains(node));
        let new: Vec<ProcessId> = new.map(|node| ProcessId::new(node.node)).collect();
        let is_up = |node: &ProcessId| {
            matches!(self.up.get(node), Some(Ok(()))) || *node == self.settings.id
        };
        let missing: Vec<String> =
            new.iter().filter(|node| !is_up(node)).map(|node| self.why_missing(*node)).collect();
        let moving = self.moving_leases(now);
        if now >= *until {
            let (settled, proposes) = (chain.is_settled(), chain.proposes());
            self.membership.chain.give_up();
            let why = match (missing.is_empty(), moving) {
                (true, _) if !settled => IN_PROGRESS.to_owned(),
                (true, Some((count, node, last))) if !proposes => format!(
                    "{count} leases of etcd's API hold or wait for locks through {node}, which is down; try again once their \
                     clients continue through another node, or in {} s",
                    last.since(now).0.div_ceil(1_000_000_000)
                ),
                (true, _) => {
                    "no quorum of the members has answered in 10 s; it may still be chosen"
                        .to_owned()
                }
                (false, _) => {
                    format!("not every new node is connected after 10 s: {}", missing.join("; "))
                }
            };
            return self.refuse_change(why, now);
        }
        let waits = !missing.is_empty() || !chain.is_settled() || moving.is_some();
        if waits || chain.proposes() {
            return;
        }
        let target = target.clone();
        let mut refused = None;
        self.with_chain(now, |chain, out| refused = chain.propose(target, out).err());
        if let Some(refused) = refused {
            self.refuse_change(refused.to_string(), now);
        }
    }

    fn why_missing(&self, node: ProcessId) -> String {
        let error = self.peer_errors.get(&node).cloned();
        let why = error.or_else(|| self.up.get(&node)?.clone().err());
        let why = why.unwrap_or_else(|| "it does not answer".to_owned());
        let address = self.membership.addresses.get(&node).map_or("", String::as_str);
        format!("{node} at {address}: {why}")
    }

    fn refuse_change(&mut self, why: String, now: Time) {
        let Some(pending) = self.membership.pending.take() else { return };
        self.answer(pending.call_id, CallResponse::Failed(Failure::NotNow(why)));
        self.update_peers(now);
    }

    /// Answers the operator once a configuration was chosen: the wanted one, or another one.
    fn answer_change(&mut self, now: Time) {
        let present = self.membership.chain.present();
        let newer = |pending: &mut PendingChange| present.index > pending.index;
        let Some(pending) = self.membership.pending.take_if(newer) else { return };
        let answer = match *present.target() == pending.target {
            true => CallResponse::Members(Box::new(self.members_status())),
            false => CallResponse::Failed(Failure::NotNow(
                "another operator's change was chosen; `quorate members` shows it".to_owned(),
            )),
        };
        self.answer(pending.call_id, answer);
        self.update_peers(now);
    }

    /// The members as this node knows them.
    pub(super) fn members_status(&self) -> MembersStatus {
        let chain = &self.membership.chain;
        let (configuration, settled) = (chain.present().clone(), chain.is_settled());
        let waits_for = match settled {
            true => Vec::new(),
            false => chain
                .waits_for()
                .map(|(node, what)| format!("node {} {what}", node.number()))
                .collect(),
        };
        MembersStatus { configuration, settled, waits_for }
    }
}
