//! Byzantine generals with oral messages, OM(m): lieutenants relay to each other the orders that they have
//! received, m times over.
//!
//! - **Source**: Lamport, Shostak and Pease, "The Byzantine Generals Problem", ACM TOPLAS 4(3), 1982.
//! - **Assumes**: synchronous rounds; no message is lost; at most m generals lie or crash, and n > 3m.
//! - **Guarantees**: agreement and termination of the loyal; validity: if the commander is loyal, its order is obeyed.
//! - **Costs**: (n - 1) + (n - 1)(n - 2) + .. + (n - 1)(n - 2)..(n - m - 1) messages, exponential in m; m + 1 rounds.
//! - **Departs from the paper**: the recursion is unrolled. A relayed order names the lieutenants through which it came, so
//!   that all instances of OM(m - 1) and below run at the same time, one level in each round. A lieutenant that receives
//!   nothing relays this as "nothing", a separate value. It becomes the order to retreat after the votes have been counted.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::agreement::{AgreementKind, Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap,
};

use super::reduction::General;
use crate::{Algorithm, Setup, Sound};

/// One general of OM(m).
pub type ByzantineGenerals = OralMessages<Majority>;

/// The rule by which a lieutenant evaluates votes. The algorithm and its broken variant differ in it.
pub trait OutcomeRule: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with this rule.
    const PROFILE: Profile;

    /// The outcome of votes. The first vote is the value that the lieutenant itself received.
    fn outcome(votes: &[Option<Value>]) -> Option<Value>;
}

/// The paper's rule: the value with more than half of the votes, and nothing if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Majority;

/// A general that evaluates votes by the rule `C`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OralMessages<C> {
    id: ProcessId,
    n: usize,
    commander: ProcessId,
    m: usize,
    /// The current round, from 1 on; greater than m + 1 when the algorithm is over.
    round: u64,
    /// The commander's own order.
    order: Option<Value>,
    /// The values received by a lieutenant, by path. The path excludes the commander, and its last element is the sender.
    heard: SortedMap<Path, Option<Value>>,
    rule: PhantomData<C>,
}

/// The lieutenants that relayed an order, in sequence, without the commander.
type Path = Vec<ProcessId>;

/// The messages of the generals.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The order of the commander.
    Order(Value),
    /// The value that a lieutenant received along a path, perhaps nothing.
    Relay {
        /// The path along which the lieutenant received it.
        path: Vec<ProcessId>,
        /// The value, or `None` if nothing arrived.
        value: Option<Value>,
    },
}

impl<C: OutcomeRule> OralMessages<C> {
    /// Creates general `id` of `n` under a commander, with at most `m` traitors.
    pub fn new(n: usize, id: ProcessId, commander: ProcessId, m: usize) -> Self {
        let (round, order, heard) = (1, None, SortedMap::new());
        Self { id, n, commander, m, round, order, heard, rule: PhantomData }
    }

    /// The lieutenants other than this one and those on the path.
    fn others(&self, path: &[ProcessId]) -> ProcessSet {
        let mut others = ProcessSet::others(self.n, self.id);
        others.remove(self.commander);
        path.iter().for_each(|relay| {
            others.remove(*relay);
        });
        others
    }

    /// Records a value received along a path, if the path is possible in this round.
    fn note(&mut self, path: Path, value: Option<Value>, out: &mut Effects<Self>) {
        if self.id == self.commander || path.len() as u64 + 1 != self.round {
            return out.ignored("an order out of turn");
        }
        let mut before = self.others(&[]);
        if !path.iter().all(|relay| before.remove(*relay)) {
            return out.ignored("an order along a way that does not exist");
        }
        if self.heard.contains_key(&path) {
            return out.ignored("an order that came along this way before");
        }
        self.heard.insert(path, value);
    }

    fn value_along(&self, path: &[ProcessId]) -> Option<Value> {
        self.heard.get(path).copied().flatten()
    }

    /// Relays the values of every path of this length, including paths along which nothing arrived.
    fn relay(&self, path: &mut Path, length: usize, out: &mut Effects<Self>) {
        let others = self.others(path);
        if length == 0 {
            return out.multicast(
                others,
                Message::Relay { path: path.clone(), value: self.value_along(path) },
            );
        }
        for next in &others {
            path.push(next);
            self.relay(path, length - 1, out);
            path.pop();
        }
    }

    /// The value that came along this path, after all relayed values of it have been counted as votes.
    fn resolve(&self, path: &mut Path) -> Option<Value> {
        if path.len() == self.m {
            return self.value_along(path);
        }
        let mut votes = Vec::from([self.value_along(path)]);
        for next in &self.others(path) {
            path.push(next);
            votes.push(self.resolve(path));
            path.pop();
        }
        C::outcome(&votes)
    }
}

impl<C: OutcomeRule> Process for OralMessages<C> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        out.await_round();
    }

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        let Command::Propose(order) = command;
        if self.id != self.commander {
            return Err(Misuse::NotCommander);
        }
        if self.order.is_some() {
            return Err(Misuse::AlreadyProposed);
        }
        if self.round > 1 {
            return Err(Misuse::TooLate);
        }
        self.order = Some(order);
        out.send_to_others(Message::Order(order));
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Order(order) if from == self.commander => {
                self.note(Path::new(), Some(order), out);
            }
            Message::Order(_) => out.ignored("an order of one who does not command"),
            Message::Relay { mut path, value } => {
                path.push(from);
                self.note(path, value, out);
            }
        }
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.round = round.saturating_add(1);
        let last = self.m as u64 + 1;
        if round < last {
            if self.id != self.commander {
                self.relay(&mut Path::new(), round as usize - 1, out);
            }
            out.await_round();
        } else if round == last {
            let decision = self.agreed().unwrap_or(Value::RETREAT);
            out.output(Output::Decided(Decision::Value(decision)));
        }
    }
}

impl<C: OutcomeRule> General for OralMessages<C> {
    fn with_commander(setup: &Setup, id: ProcessId, commander: ProcessId) -> Self {
        Self::new(setup.n, id, commander, setup.tolerates)
    }

    fn agreed(&self) -> Option<Value> {
        if self.id == self.commander { self.order } else { self.resolve(&mut Path::new()) }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::agreement("ORDER"), Kind::agreement("RELAY")];

    fn kind(&self) -> usize {
        match self {
            Self::Order(_) => 0,
            Self::Relay { .. } => 1,
        }
    }

    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Order(_) => Some(9),
            Self::Relay { path, .. } => Some(9 + 8 * path.len() as u64),
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Order(order) => Self::Order(order.forged(choice)),
            Self::Relay { path, value } => {
                Self::Relay { path: path.clone(), value: Value::forged_or_none(*value, choice) }
            }
        }
    }
}

impl<C: OutcomeRule> Algorithm for OralMessages<C> {
    const PROFILE: Profile = C::PROFILE;

    const IN_ROUNDS: bool = true;

    const AGREEMENT_KIND: AgreementKind = AgreementKind::Order;

    fn tolerates(n: usize) -> Option<usize> {
        Some(2.min((n - 1) / 3))
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::with_commander(setup, id, setup.server)
    }

    fn cost(setup: &Setup) -> Cost {
        let (messages, rounds) =
            (oral_messages(setup.n, setup.tolerates), setup.tolerates as u64 + 1);
        Cost::exact("(n - 1) + (n - 1)(n - 2) + .. + (n - 1)(n - 2)..(n - m - 1)", messages)
            .with_delays(rounds..=rounds, 0..=0)
            .with_stored_messages_max(messages)
    }
}

/// Number of messages of OM(m) among `n` generals.
pub(super) fn oral_messages(n: usize, m: usize) -> u64 {
    let (mut in_round, mut all) = (1u64, 0u64);
    for gone in 1..=m as u64 + 1 {
        in_round = in_round.saturating_mul((n as u64).saturating_sub(gone));
        all = all.saturating_add(in_round);
        if in_round == 0 {
            break;
        }
    }
    all
}

impl OutcomeRule for Majority {
    const PROFILE: Profile = Profile {
        name: "byzantine-generals",
        layer: Layer::Agreement,
        summary: "oral messages OM(m): lieutenants relay the orders that they have received, m times over, and take the majority",
        source: "Lamport, Shostak and Pease, ACM TOPLAS 4(3), 1982",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewFaults,
            Assumption::LessThanAThird,
            Assumption::Synchrony,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "(n - 1) + (n - 1)(n - 2) + .. + (n - 1)(n - 2)..(n - m - 1) messages, m + 1 rounds",
        never_quiescent: false,
    };

    fn outcome(votes: &[Option<Value>]) -> Option<Value> {
        majority(votes)?
    }
}

/// The value with more than half of the votes. `None` if there is no such value.
pub(super) fn majority(votes: &[Option<Value>]) -> Option<Option<Value>> {
    // Boyer-Moore majority vote: a majority value, if there is one, is left when different votes have cancelled out.
    let mut left: Option<(Option<Value>, usize)> = None;
    for vote in votes {
        left = match left {
            Some((value, count)) if value == *vote => Some((value, count + 1)),
            Some((value, count)) if count > 1 => Some((value, count - 1)),
            Some(_) => None,
            None => Some((*vote, 1)),
        };
    }
    let (value, _) = left?;
    let count = votes.iter().filter(|vote| **vote == value).count();
    (2 * count > votes.len()).then_some(value)
}

impl Sound for ByzantineGenerals {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_level_by_level() {
        assert_eq!(oral_messages(4, 1), 3 + 3 * 2);
        assert_eq!(oral_messages(7, 2), 6 + 6 * 5 + 6 * 5 * 4);
        assert_eq!(oral_messages(5, 0), 4);
        // There are at most as many levels as lieutenants.
        assert_eq!(oral_messages(3, 2), 2 + 2);
        assert_eq!(oral_messages(1, 0), 0);
        assert_eq!(oral_messages(1 << 24, 9), u64::MAX);
    }

    #[test]
    fn a_majority_is_more_than_half() {
        let votes = |values: &[u64]| values.iter().map(|v| Some(Value(*v))).collect::<Vec<_>>();
        assert_eq!(majority(&votes(&[1, 0, 1])), Some(Some(Value(1))));
        assert_eq!(majority(&votes(&[1, 0])), None);
        assert_eq!(majority(&votes(&[2, 0, 1])), None);
        assert_eq!(majority(&votes(&[0, 0, 1, 1, 3])), None);
        assert_eq!(majority(&[None, None, Some(Value(1))]), Some(None));
        assert_eq!(majority(&[]), None);
    }
}
