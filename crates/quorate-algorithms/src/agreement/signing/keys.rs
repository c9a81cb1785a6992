//! Keys: each process has a secret key, and all processes know all public keys.
//!
//! In a simulation, keys are derived from the process numbers, so that a run can be replayed. No process uses a key
//! other than its own.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use quorate_core::ProcessId;

/// The key with which a process signs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretKey([u8; 32]);

/// The keys with which signatures are verified, indexed by process.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PublicKeys(Arc<[VerifyingKey]>);

/// An Ed25519 signature of 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "([u8; 32], [u8; 32])", from = "([u8; 32], [u8; 32])"))]
pub struct Signature([u8; 64]);

/// A signature is serialised as two halves, because `serde` does not support arrays of 64 bytes.
#[cfg(feature = "serde")]
impl From<Signature> for ([u8; 32], [u8; 32]) {
    fn from(Signature(bytes): Signature) -> Self {
        core::array::from_fn(|half| core::array::from_fn(|place| bytes[32 * half + place])).into()
    }
}

#[cfg(feature = "serde")]
impl From<([u8; 32], [u8; 32])> for Signature {
    fn from((first, second): ([u8; 32], [u8; 32])) -> Self {
        Self(core::array::from_fn(
            |place| {
                if place < 32 { first[place] } else { second[place - 32] }
            },
        ))
    }
}

impl SecretKey {
    /// The key of a process in a simulation.
    pub fn simulated(process: ProcessId) -> Self {
        let mut seed = *b"quorate simulated key of process";
        for (byte, number) in seed.iter_mut().zip(process.number().to_le_bytes()) {
            *byte ^= number;
        }
        Self(seed)
    }

    /// Signs a text with this key.
    pub fn sign(&self, text: &[u8]) -> Signature {
        Signature(SigningKey::from_bytes(&self.0).sign(text).to_bytes())
    }
}

impl PublicKeys {
    /// The public keys of `n` processes in a simulation.
    pub fn simulated(n: usize) -> Self {
        let public = |process| {
            let SecretKey(seed) = SecretKey::simulated(process);
            SigningKey::from_bytes(&seed).verifying_key()
        };
        Self(ProcessId::all(n).map(public).collect::<Vec<_>>().into())
    }

    /// Whether `signature` is the process's signature of the text.
    pub fn verify(&self, by: ProcessId, text: &[u8], signature: &Signature) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        self.0.get(by.index()).is_some_and(|key| key.verify_strict(text, &signature).is_ok())
    }
}

impl core::hash::Hash for PublicKeys {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|key| key.as_bytes().hash(state));
    }
}

impl Signature {
    /// The 64 bytes of the encoded signature.
    pub const fn bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

impl fmt::Debug for PublicKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKeys({})", self.0.len())
    }
}

/// Shows only the first four bytes, which is enough to distinguish signatures.
impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
