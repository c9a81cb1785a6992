//! Chains of signatures: they record which processes relayed a value, in a sequence that cannot be altered.

use alloc::vec::Vec;

use quorate_core::agreement::Value;
use quorate_core::{ProcessId, ProcessSet};

use super::{PublicKeys, SecretKey, Signature};

/// The signers of a value, in sequence. Each has signed the value and all signatures before its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Chain(Vec<(ProcessId, Signature)>);

impl Chain {
    /// Number of signatures in the chain.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The first process that signed.
    pub fn first(&self) -> Option<ProcessId> {
        self.0.first().map(|(by, _)| *by)
    }

    /// The set of signers. `None` if a process has signed twice.
    pub fn signers(&self) -> Option<ProcessSet> {
        let mut signers = ProcessSet::new();
        self.0.iter().all(|(by, _)| signers.insert(*by)).then_some(signers)
    }

    /// The same chain with one more signature.
    #[must_use]
    pub fn signed(&self, value: Value, by: ProcessId, key: &SecretKey) -> Self {
        let mut chain = self.clone();
        chain.0.push((by, key.sign(&self.text(value, self.len()))));
        chain
    }

    /// Whether all signatures are genuine: made by the named processes, for this value.
    pub fn verify(&self, value: Value, keys: &PublicKeys) -> bool {
        let genuine = |(place, (by, signature)): (usize, &(ProcessId, Signature))| {
            keys.verify(*by, &self.text(value, place), signature)
        };
        self.0.iter().enumerate().all(genuine)
    }

    /// The text that is signed by the signature at this position.
    fn text(&self, value: Value, place: usize) -> Vec<u8> {
        let mut text = Vec::from(*b"quorate order");
        text.extend(value.0.to_le_bytes());
        for (by, signature) in &self.0[..place] {
            text.extend(by.number().to_le_bytes());
            text.extend(signature.bytes());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_holds_for_its_value_and_signers_only() {
        let keys = PublicKeys::simulated(3);
        let [p0, p1] = [0, 1].map(ProcessId::new);
        let order = Chain::default().signed(Value(1), p0, &SecretKey::simulated(p0));
        let relayed = order.signed(Value(1), p1, &SecretKey::simulated(p1));
        assert!(order.verify(Value(1), &keys) && relayed.verify(Value(1), &keys));
        assert!(!order.verify(Value(0), &keys) && !relayed.verify(Value(0), &keys));
        // A process cannot sign for another, remove a signature, or reorder signatures.
        assert!(
            !Chain::default()
                .signed(Value(0), p0, &SecretKey::simulated(p1))
                .verify(Value(0), &keys)
        );
        assert!(!Chain(relayed.0[1..].to_vec()).verify(Value(1), &keys));
        assert!(!Chain(relayed.0.iter().rev().copied().collect()).verify(Value(1), &keys));
        assert_eq!(order.signed(Value(1), p0, &SecretKey::simulated(p0)).signers(), None);
    }
}
