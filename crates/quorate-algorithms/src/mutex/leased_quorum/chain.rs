//! The chain of configurations: how the voters of a cluster agree to be replaced, and when a configuration is settled.
//!
//! - **Source**: joint configurations from Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX
//!   ATC 2014; the next configuration is chosen by the voters of the present one with Paxos (Lamport, "The Part-Time
//!   Parliament", ACM TOCS 16(2), 1998), as in Lamport, Malkhi and Zhou, "Reconfiguring a State Machine", 2010.
//! - **Assumes**: the state survives restarts; a voter that has lost it takes no part in choosing the next configuration.
//! - **Guarantees**: of each index there is one configuration. A configuration is settled only once no client relies on the one
//!   before it. See `docs/membership.md`.
//! - **Costs**: two round trips to a quorum of the present voters to choose; then each voter sends its progress to the others.
//! - **Departs from the sources**: there is no log, so clients are told by the voters that they ask, and a configuration is left
//!   when the votes that were given in it have lapsed. The stable configuration after a joint one is not chosen: it follows.

mod choosing;

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use quorate_core::{ProcessId, ProcessSet, SortedMap, Time};

use super::electorate::Electorate;
use super::message::Name;
use super::terms::Terms;
use super::voter::Voter;
pub use choosing::CannotPropose;
use choosing::Proposal;

/// The voters of a configuration, with whatever else the cluster agrees on.
pub trait Voters: Clone + Eq + Hash + Debug {
    /// These voters and their quorum system, in the configuration of this index.
    fn electorate(&self, index: u64) -> Electorate;

    /// The drift of clocks, and the bounds of the times-to-live that voters accept. The bounds never become narrower from
    /// one configuration to the next: sessions keep their times-to-live, and a voter abstains for the longest of them.
    fn terms(&self) -> Terms;
}

/// A configuration of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Configuration<V> {
    /// Position in the chain.
    pub index: u64,
    /// The voters that these ones have replaced, if the configuration is stable and not the first.
    pub before: Option<V>,
    /// The voters; of a joint configuration, those of the configuration before.
    pub voters: V,
    /// The voters after these ones, if the configuration is joint.
    pub next: Option<V>,
}

impl<V: Voters> Configuration<V> {
    /// The first configuration of a cluster.
    pub fn first(voters: V) -> Self {
        Self { index: 0, before: None, voters, next: None }
    }

    /// Returns `true` if the configuration is between two stable ones.
    pub fn is_joint(&self) -> bool {
        self.next.is_some()
    }

    /// The voters and their quorum system.
    pub fn electorate(&self) -> Electorate {
        let voters = |voters: &V| voters.electorate(self.index);
        match &self.next {
            None => voters(&self.voters),
            Some(next) => Electorate::joint(&voters(&self.voters), &voters(next)).at(self.index),
        }
    }

    /// The terms. Those of a joint configuration permit what both sets of voters permit.
    pub fn terms(&self) -> Terms {
        let terms = self.voters.terms();
        self.next.as_ref().map_or(terms, |next| terms.joint(&next.terms()))
    }

    /// The electorate of the configuration before.
    pub fn previous(&self) -> Option<Electorate> {
        let index = self.index.checked_sub(1)?;
        let voters = self.voters.electorate(index);
        match (&self.next, &self.before) {
            (Some(_), _) => Some(voters),
            (None, Some(before)) => {
                Some(Electorate::joint(&before.electorate(index), &voters).at(index))
            }
            (None, None) => None,
        }
    }

    /// The voters that the cluster has, or will have once a joint configuration is settled.
    pub fn target(&self) -> &V {
        self.next.as_ref().unwrap_or(&self.voters)
    }

    /// The joint configuration from this one to these voters.
    fn towards(&self, next: V) -> Self {
        Self { index: self.index + 1, before: None, voters: self.voters.clone(), next: Some(next) }
    }

    /// The stable configuration after this joint one.
    fn after(&self) -> Option<Self> {
        let voters = self.next.clone()?;
        Some(Self { index: self.index + 1, before: Some(self.voters.clone()), voters, next: None })
    }
}

/// A round of an attempt to choose a configuration, unique by its proposer.
pub type Round = (u64, ProcessId);

/// The part of the chain that a node remembers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChainState<V> {
    /// The newest configuration that the node knows.
    pub present: Configuration<V>,
    /// Whether that configuration is settled.
    pub settled: bool,
    /// The greatest round that the node has promised for the next configuration.
    pub promised: Option<Round>,
    /// The round and voters that the node has accepted last for the next configuration.
    pub accepted: Option<(Round, V)>,
    /// Whether the node forgets all of this when it stops, so that its promises are worth nothing.
    pub volatile: bool,
    /// Set when the node has lost its earlier state, until it may vote again.
    pub lost: Option<Lost>,
}

/// Number of ticks after which the first voter lets in voters that stay out. Until then they hear which configuration is the newest.
const RENEWAL_TICKS: u32 = 2;
/// Number of further ticks after which each later voter does so.
const RENEWAL_TICKS_APART: u32 = 4;

/// A node that has lost its state. It may have reported and promised anything about configurations up to the one after those
/// that others know. So it stays out until there is one two further.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lost {
    /// Nodes that have told the newest configuration that they know, since the loss.
    heard: ProcessSet,
    /// Index from which on the node may vote, once it is known.
    from: Option<u64>,
}

impl<V: Voters> ChainState<V> {
    /// The state of a node that knows this configuration and has promised nothing.
    pub fn new(present: Configuration<V>, settled: bool) -> Self {
        Self { present, settled, promised: None, accepted: None, volatile: false, lost: None }
    }

    /// The state of a node that has lost its state, and knows only this early configuration.
    pub fn after_loss(early: Configuration<V>) -> Self {
        Self { lost: Some(Lost::default()), ..Self::new(early, true) }
    }
}

/// The part of one node in the chain of configurations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain<V> {
    id: ProcessId,
    state: ChainState<V>,
    /// The progress of the voters in the present configuration.
    reports: SortedMap<ProcessId, Progress>,
    /// Voters that have lost their state and stay out.
    out: ProcessSet,
    /// Number of ticks for which there were such voters and no change.
    idle: u32,
    proposal: Option<Proposal<V>>,
    /// The greatest round that was heard of.
    rounds: u64,
}

/// The progress of a voter in its present configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Progress {
    /// Whether the voter has lost its state and stays out.
    pub lost: bool,
    /// Whether no client relies on the voter because of the configuration before.
    pub closed: bool,
    /// Whether the voter has learned the numbers of the configuration before.
    pub learned: bool,
}

/// A message between two nodes about the chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ChainMessage<V> {
    /// Progress of the sender in its present configuration.
    Progress {
        /// Index of that configuration.
        index: u64,
        /// Whether the sender knows that it is settled.
        settled: bool,
        /// The progress itself; `None` if the sender only asks for the newest configuration.
        progress: Option<Progress>,
    },
    /// The newest configuration that the sender knows, and whether it is settled.
    Present(Configuration<V>, bool),
    /// Asks for a promise to ignore smaller rounds in choosing the configuration after this index.
    Prepare(u64, Round),
    /// Gives the promise, with the voters that the sender has accepted last.
    Promise(u64, Round, Option<(Round, V)>),
    /// Asks to accept these voters.
    Accept(u64, Round, V),
    /// The sender has accepted the voters of this round.
    Accepted(u64, Round),
    /// The sender has promised this greater round.
    Refused(u64, Round),
}

/// An effect of a node's part in the chain. Drivers apply effects in order: the state is durable before anything after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainEffect<V> {
    /// Makes [`Chain::state`] durable before any later effect.
    Persist,
    /// Sends a message to another node.
    Send(ProcessId, ChainMessage<V>),
    /// The node has learned of a newer configuration: its voter and its candidates have to adopt it.
    Adopted,
    /// The present configuration is settled.
    Settled,
}

/// Buffer of effects of a chain.
pub type ChainEffects<V> = Vec<ChainEffect<V>>;

impl<V: Voters> Chain<V> {
    /// The part of a node that remembers this state.
    pub fn new(id: ProcessId, state: ChainState<V>) -> Self {
        let (reports, out) = (SortedMap::new(), ProcessSet::new());
        // Before the restart the node may have asked others to accept voters in a round that it had promised itself.
        let rounds = state.promised.map_or(0, |(round, _)| round);
        Self { id, state, reports, out, idle: 0, proposal: None, rounds }
    }

    /// The state that the node has to remember.
    pub fn state(&self) -> &ChainState<V> {
        &self.state
    }

    /// The newest configuration that the node knows.
    pub fn present(&self) -> &Configuration<V> {
        &self.state.present
    }

    /// Returns `true` if the newest configuration is settled.
    pub fn is_settled(&self) -> bool {
        self.state.settled
    }

    /// The electorate of the configuration before, unless it is not needed any more.
    pub fn previous(&self) -> Option<Electorate> {
        self.state.present.previous().filter(|_| !self.state.settled)
    }

    /// All other nodes that need messages about the chain.
    fn others(&self) -> ProcessSet {
        let mut others = self.present().electorate().all();
        if let Some(previous) = self.previous() {
            others.union_with(&previous.all());
        }
        others.remove(self.id);
        others
    }

    /// Sends the progress of this node to the others, and repeats messages that may have been lost. Drivers call it
    /// periodically.
    pub fn tick<K: Name>(&mut self, voter: &Voter<K>, now: Time, out: &mut ChainEffects<V>) {
        let lost = self.state.lost.is_some();
        let (closed, learned) = (!lost && voter.is_closed(now), !lost && voter.has_learned());
        let progress = Progress { lost, closed, learned };
        self.note(self.id, &progress, out);
        let (index, settled) = (self.present().index, self.is_settled());
        let progress = ChainMessage::Progress { index, settled, progress: Some(progress) };
        for other in &self.others() {
            out.push(ChainEffect::Send(other, progress.clone()));
        }
        self.renew(out);
        self.repeat_proposal(out);
    }

    /// Chooses the present voters once more, if one of them stays out until the configurations have changed. The first
    /// voter that is not out does so, and the others if it does not.
    fn renew(&mut self, out: &mut ChainEffects<V>) {
        let present = self.present().electorate().all();
        let before = present.iter().take_while(|voter| *voter < self.id);
        let rank = before.filter(|voter| !self.out.contains(*voter)).count() as u32;
        let needed = self.is_settled() && !present.is_disjoint(&self.out) && self.takes_part();
        self.idle = if needed && self.proposal.is_none() { self.idle + 1 } else { 0 };
        if self.idle > RENEWAL_TICKS + RENEWAL_TICKS_APART * rank {
            self.idle = 0;
            let voters = self.present().voters.clone();
            self.begin_round(voters, out);
        }
    }

    /// Returns `true` if the node has lost its state and may not vote yet.
    pub fn stays_out(&self) -> bool {
        self.state.lost.is_some()
    }

    /// Takes note that a node has told its newest configuration, which this one knows. After a loss, the configurations that a
    /// quorum knows bound those about which this node has told anything before.
    fn hear_index(&mut self, from: ProcessId, out: &mut ChainEffects<V>) {
        let present = self.state.present.clone();
        let Some(lost) = &mut self.state.lost else { return };
        if from == self.id || lost.from.is_some() || !lost.heard.insert(from) {
            return;
        }
        if present.electorate().is_quorum(&lost.heard) {
            lost.from = Some(present.index + 2);
        }
        out.push(ChainEffect::Persist);
    }

    /// The voters whose progress the present configuration still needs, and what they have not done.
    pub fn waits_for(&self) -> impl Iterator<Item = (ProcessId, &'static str)> {
        let previous = self.previous().map(|previous| previous.all()).unwrap_or_default();
        let present = self.present().electorate().all();
        let has = |voter: &ProcessId, done: fn(&Progress) -> bool| {
            self.reports.get(voter).is_some_and(done)
        };
        let open = previous.iter().filter(|voter| !has(voter, |it| it.closed)).collect::<Vec<_>>();
        let new = present.iter().filter(|voter| !has(voter, |it| it.learned)).collect::<Vec<_>>();
        let open = open
            .into_iter()
            .map(|voter| (voter, "has given votes before the change that may still be relied on"));
        open.chain(
            new.into_iter().map(|voter| (voter, "has not learned the numbers of earlier votes")),
        )
    }

    /// Asks another node for its newest configuration, because it seems to know a newer one.
    pub fn ask(&self, node: ProcessId, out: &mut ChainEffects<V>) {
        let (index, settled) = (self.present().index, self.is_settled());
        let question = ChainMessage::Progress { index, settled, progress: None };
        out.push(ChainEffect::Send(node, question));
    }

    /// Handles a message of another node.
    pub fn on_message(
        &mut self,
        from: ProcessId,
        message: ChainMessage<V>,
        out: &mut ChainEffects<V>,
    ) {
        match message {
            ChainMessage::Progress { index, settled, progress } => {
                let own = self.present().index;
                // A node that is out itself may have forgotten a newer configuration.
                if index <= own && progress.as_ref().is_some_and(|progress| !progress.lost) {
                    self.hear_index(from, out);
                }
                match progress.as_ref().is_some_and(|progress| progress.lost) {
                    true => self.out.insert(from),
                    false => self.out.remove(from),
                };
                if index < own || (index == own && !settled && self.is_settled()) {
                    let present = ChainMessage::Present(self.present().clone(), self.is_settled());
                    out.push(ChainEffect::Send(from, present));
                } else if index > own || (settled && !self.is_settled()) {
                    self.ask(from, out);
                } else if let Some(progress) = progress {
                    self.note(from, &progress, out);
                }
            }
            ChainMessage::Present(configuration, settled) => {
                self.hear_of(configuration, settled, out);
            }
            choosing => self.choose(from, choosing, out),
        }
    }

    /// Handles a configuration that another node knows.
    pub fn hear_of(&mut self, present: Configuration<V>, settled: bool, out: &mut ChainEffects<V>) {
        if present.index > self.present().index {
            self.begin(present, settled, out);
        } else if present.index == self.present().index && settled && !self.is_settled() {
            self.settle(out);
        }
    }

    fn begin(&mut self, present: Configuration<V>, settled: bool, out: &mut ChainEffects<V>) {
        let (volatile, lost, index) = (self.state.volatile, self.state.lost.take(), present.index);
        // Nodes that have told an older configuration since the loss may know a newer one by now.
        let lost = lost.map(|lost| if lost.from.is_some() { lost } else { Lost::default() });
        let lost = lost.filter(|lost| lost.from.is_none_or(|from| index < from));
        self.state = ChainState { volatile, lost, ..ChainState::new(present, settled) };
        (self.reports, self.proposal) = (SortedMap::new(), None);
        out.extend([ChainEffect::Persist, ChainEffect::Adopted]);
        let progress = ChainMessage::Present(self.present().clone(), settled);
        for other in &self.others() {
            out.push(ChainEffect::Send(other, progress.clone()));
        }
        if settled {
            self.follow(out);
        }
    }

    /// Takes note of the progress of a voter. The configuration is settled once a quorum of the one before is closed and a
    /// quorum of the present one has learned.
    fn note(&mut self, from: ProcessId, progress: &Progress, out: &mut ChainEffects<V>) {
        let Some(previous) = self.previous() else { return };
        let known = self.reports.entry(from).or_default();
        known.closed |= progress.closed;
        known.learned |= progress.learned;
        let voters = |has: fn(&Progress) -> bool| -> ProcessSet {
            self.reports.iter().filter(|(_, it)| has(it)).map(|(voter, _)| *voter).collect()
        };
        let (closed, learned) = (voters(|it| it.closed), voters(|it| it.learned));
        if previous.is_quorum(&closed) && self.present().electorate().is_quorum(&learned) {
            self.settle(out);
        }
    }

    fn settle(&mut self, out: &mut ChainEffects<V>) {
        self.state.settled = true;
        out.extend([ChainEffect::Persist, ChainEffect::Settled]);
        self.follow(out);
    }

    /// The stable configuration after a settled joint one needs no choice.
    fn follow(&mut self, out: &mut ChainEffects<V>) {
        if let Some(after) = self.present().after() {
            self.begin(after, false, out);
        }
    }
}
