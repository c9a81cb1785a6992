//! Status of a lock that a session requests or holds.

use crate::clock::Moment;

/// Status of a request for a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockStatus {
    pub(crate) lost: Option<Loss>,
    /// The token, once the request holds the lock.
    pub(crate) token: Option<u64>,
    pub(crate) position: Option<u32>,
    /// End of this lock's own validity; `None` if the lock is valid as long as the session.
    pub(crate) until: Option<Moment>,
}

/// Why a lock was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The session had no contact to a quorum for too long.
    NoQuorum,
    /// The lock was revoked by force.
    Expelled,
    /// The session expired or was closed.
    SessionOver,
}
