//! Creates the links of a session to its voters.

use std::sync::Arc;
use std::time::Duration;

use quorate_core::ProcessId;

use super::addresses::Addresses;
use super::attach::{Connection, SessionIdentity};
use super::link::{DialParameters, Link};
use crate::credentials::Dialler;

/// Everything that the links of a session have in common.
pub(super) struct Linking {
    pub(super) candidate: u64,
    pub(super) identity: Arc<SessionIdentity>,
    pub(super) dialler: Dialler,
    pub(super) addresses: Arc<Addresses>,
    /// Maximum pause between two attempts to reach a voter.
    pub(super) max_pause: Duration,
}

impl Linking {
    /// Creates the link to a voter, with an existing connection if there is one.
    pub(super) fn link(&self, voter: ProcessId, connection: Option<Connection>) -> Link {
        let dial = DialParameters {
            voter,
            candidate: self.candidate,
            identity: Arc::clone(&self.identity),
            dialler: self.dialler.clone(),
            addresses: Arc::clone(&self.addresses),
            max_pause: self.max_pause,
        };
        Link::new(dial, connection)
    }
}
