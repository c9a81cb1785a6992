//! Byzantine generals with signed messages, SM(m): no general can alter an order that another has signed.
//!
//! - **Source**: Lamport, Shostak and Pease, "The Byzantine Generals Problem", ACM TOPLAS 4(3), 1982.
//! - **Assumes**: synchronous rounds; no message is lost; at most m generals lie or crash. There may be any number of
//!   generals; with n <= m + 1 there is nothing to agree on. Signatures cannot be forged.
//! - **Guarantees**: agreement and termination of the loyal; validity: if the commander is loyal, its order is obeyed.
//! - **Costs**: (n - 1) + (n - 1)(n - 2) messages if no general lies, n - 1 if m = 0; at most twice the relays if one
//!   does; m + 1 rounds. A message in round r has r signatures of 64 bytes.
//! - **Departs from the paper**: a lieutenant that knows two orders does not relay a third one, because two are enough
//!   to prove that the commander lies. An order that arrives in round r must have r signatures. The paper leaves it to
//!   timeouts to reject an order that arrives too late to be relayed.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::mem;

use quorate_core::agreement::{AgreementKind, Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property, SortedSet,
};

use super::reduction::General;
use super::signing::{Chain, PublicKeys, SecretKey};
use crate::{Algorithm, Setup, Sound};

/// One general of SM(m).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SignedGenerals {
    id: ProcessId,
    n: usize,
    commander: ProcessId,
    m: usize,
    key: SecretKey,
    keys: PublicKeys,
    /// The current round, from 1 on; greater than m + 1 when the algorithm is over.
    round: u64,
    /// The orders signed by the commander, at most two. At the commander, its own order.
    orders: SortedSet<Value>,
    /// Orders that arrived in this round and will be relayed at its end.
    unrelayed: Vec<Message>,
}

/// An order and its signatures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    /// The order of the commander.
    pub order: Value,
    /// The commander's signature, followed by those of the lieutenants that relayed the order.
    pub chain: Chain,
}

impl SignedGenerals {
    /// Creates general `id` of `n` under a commander, with at most `m` traitors and these keys.
    pub fn new(
        n: usize,
        id: ProcessId,
        commander: ProcessId,
        m: usize,
        key: SecretKey,
        keys: PublicKeys,
    ) -> Self {
        let (round, orders, unrelayed) = (1, SortedSet::new(), Vec::new());
        Self { id, n, commander, m, key, keys, round, orders, unrelayed }
    }

    /// The reason for ignoring an order, if there is one. Signatures are checked last, because that takes the longest.
    fn objection(&self, Message { order, chain }: &Message) -> Option<&'static str> {
        if self.id == self.commander || chain.len() as u64 != self.round {
            return Some("an order out of turn");
        }
        if self.orders.contains(order) || self.orders.len() == 2 {
            return Some("an order that changes nothing");
        }
        let strange = |signers: &ProcessSet| {
            signers.contains(self.id) || signers.iter().any(|by| by.index() >= self.n)
        };
        if chain.first() != Some(self.commander) || chain.signers().is_none_or(|all| strange(&all))
        {
            return Some("an order that the wrong generals have signed");
        }
        (!chain.verify(*order, &self.keys)).then_some("an order with a forged signature")
    }

    /// Relays the orders of the finished round to the generals that have not signed them.
    fn relay(&mut self, out: &mut Effects<Self>) {
        for Message { order, chain } in mem::take(&mut self.unrelayed) {
            let signed = chain.signed(order, self.id, &self.key);
            let mut others = ProcessSet::all(self.n);
            others.subtract(&signed.signers().unwrap_or_default());
            out.multicast(others, Message { order, chain: signed });
        }
    }
}

impl Process for SignedGenerals {
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
        if !self.orders.is_empty() {
            return Err(Misuse::AlreadyProposed);
        }
        if self.round > 1 {
            return Err(Misuse::TooLate);
        }
        self.orders.insert(order);
        let chain = Chain::default().signed(order, self.id, &self.key);
        out.send_to_others(Message { order, chain });
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: Message, out: &mut Effects<Self>) {
        if let Some(why) = self.objection(&message) {
            return out.ignored(why);
        }
        self.orders.insert(message.order);
        self.unrelayed.push(message);
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.round = round.saturating_add(1);
        let last = self.m as u64 + 1;
        if round < last {
            self.relay(out);
            out.await_round();
        } else if round == last {
            let decision = self.agreed().unwrap_or(Value::RETREAT);
            out.output(Output::Decided(Decision::Value(decision)));
        }
    }

    /// A lying commander can sign two orders. A change to an order that others have signed is detected.
    fn forge(&self, message: &Message, choice: u64) -> Message {
        let order = message.order.forged(choice);
        let own = message.chain.len() == 1 && message.chain.first() == Some(self.id);
        match own {
            true => Message { order, chain: Chain::default().signed(order, self.id, &self.key) },
            false => Message { order, chain: message.chain.clone() },
        }
    }
}

impl General for SignedGenerals {
    fn with_commander(setup: &Setup, id: ProcessId, commander: ProcessId) -> Self {
        let (key, keys) = (SecretKey::simulated(id), setup.keys.clone());
        Self::new(setup.n, id, commander, setup.tolerates, key, keys)
    }

    fn agreed(&self) -> Option<Value> {
        let single = self.orders.len() == 1;
        self.orders.first().copied().filter(|_| single)
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::agreement("ORDER"), Kind::agreement("RELAY")];

    fn kind(&self) -> usize {
        usize::from(self.chain.len() > 1)
    }

    fn bytes(&self) -> Option<u64> {
        Some(9 + (8 + 64) * self.chain.len() as u64)
    }

    fn forged(&self, choice: u64) -> Self {
        Self { order: self.order.forged(choice), chain: self.chain.clone() }
    }
}

impl Algorithm for SignedGenerals {
    const PROFILE: Profile = Profile {
        name: "signed-generals",
        layer: Layer::Agreement,
        summary: "signed messages SM(m): every order is passed on with one more signature",
        source: "Lamport, Shostak and Pease, ACM TOPLAS 4(3), 1982",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::FewFaults, Assumption::Synchrony],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "(n - 1) + (n - 1)(n - 2) messages, n - 1 if m = 0; m + 1 rounds",
        never_quiescent: false,
    };

    const IN_ROUNDS: bool = true;

    const AGREEMENT_KIND: AgreementKind = AgreementKind::Order;

    const SIGNS: bool = true;

    fn tolerates(n: usize) -> Option<usize> {
        Some(2.min(n.saturating_sub(2)))
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::with_commander(setup, id, setup.server)
    }

    fn cost(setup: &Setup) -> Cost {
        let (others, rounds) = (setup.n as u64 - 1, setup.tolerates as u64 + 1);
        let relays = others.saturating_mul(others.saturating_sub(1));
        let cost = match setup.tolerates {
            0 => Cost::exact("n - 1", others),
            _ => Cost::exact("(n - 1) + (n - 1)(n - 2)", others.saturating_add(relays)),
        };
        cost.with_delays(rounds..=rounds, 0..=0).with_stored_messages_max(relays.saturating_mul(2))
    }
}

impl Sound for SignedGenerals {}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::Effect;

    fn general(id: u32) -> SignedGenerals {
        let id = ProcessId::new(id);
        let keys = PublicKeys::simulated(3);
        SignedGenerals::new(3, id, ProcessId::new(0), 1, SecretKey::simulated(id), keys)
    }

    fn heard(lieutenant: &mut SignedGenerals, from: u32, message: Message) -> bool {
        let mut out = Effects::default();
        lieutenant.on_message(ProcessId::new(from), message, &mut out);
        out.into_iter().next().is_none()
    }

    #[test]
    fn a_traitor_signs_two_orders_as_commander_and_none_for_another() {
        let (commander, traitor) = (general(0), general(1));
        let chain = Chain::default().signed(Value::ATTACK, commander.id, &commander.key);
        let order = Message { order: Value::ATTACK, chain };
        let other = commander.forge(&order, 1);
        assert_eq!(other.order, Value::RETREAT);
        assert!(heard(&mut general(2), 0, order.clone()) && heard(&mut general(2), 0, other));
        // A lieutenant that relays a changed order is not believed.
        assert!(!heard(&mut general(2), 0, traitor.forge(&order, 1)));
        let mut lieutenant = general(2);
        lieutenant.on_round_end(1, &mut Effects::default());
        let chain = order.chain.signed(Value::ATTACK, traitor.id, &traitor.key);
        let relay = Message { order: Value::ATTACK, chain };
        assert!(!heard(&mut lieutenant.clone(), 1, traitor.forge(&relay, 1)));
        assert!(heard(&mut lieutenant, 1, relay));
    }

    #[test]
    fn an_order_with_too_few_signatures_comes_too_late() {
        let commander = general(0);
        let chain = Chain::default().signed(Value::ATTACK, commander.id, &commander.key);
        let mut lieutenant = general(2);
        let mut out = Effects::default();
        lieutenant.on_round_end(1, &mut out);
        assert!(!heard(&mut lieutenant, 0, Message { order: Value::ATTACK, chain }));
        lieutenant.on_round_end(2, &mut out);
        let decided = Output::Decided(Decision::Value(Value::RETREAT));
        assert_eq!(out.as_slice().last(), Some(&Effect::Output(decided)));
    }
}
