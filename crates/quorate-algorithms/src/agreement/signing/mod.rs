//! Signatures that nobody else can make: ed25519.

mod chain;
mod keys;

pub(super) use chain::Chain;
pub use keys::PublicKeys;
pub(super) use keys::{SecretKey, Signature};
