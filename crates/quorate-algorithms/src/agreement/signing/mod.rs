//! Digital signatures with Ed25519.

mod chain;
mod keys;

pub(super) use chain::Chain;
pub use keys::PublicKeys;
pub(super) use keys::{SecretKey, Signature};
