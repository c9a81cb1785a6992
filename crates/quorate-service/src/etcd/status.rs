//! Why something was not done, in etcd's words and with a code that says so.

use quorate_protocol::Failure;
use tonic::{Code, Status};

/// The words for a lease that there is not.
pub(super) const NO_LEASE: &str = "etcdserver: requested lease not found";

/// A failure of a call; `service` is what the caller has called, `mutex` or `election`.
pub(super) fn of(failure: Failure, service: &str) -> Status {
    let (code, text) = match failure {
        Failure::NoSession => (Code::NotFound, NO_LEASE.to_owned()),
        Failure::Ended => (Code::FailedPrecondition, format!("{service}: session is expired")),
        Failure::Busy | Failure::TimedOut => {
            (Code::DeadlineExceeded, format!("{service}: Locked by another session"))
        }
        Failure::NoRequest | Failure::Free => {
            (Code::Aborted, format!("{service}: the key was deleted while it waited"))
        }
        Failure::NotAllowed(why) => {
            (Code::PermissionDenied, format!("etcdserver: permission denied: {why}"))
        }
        Failure::TooMuch(why) => {
            (Code::ResourceExhausted, format!("etcdserver: too many requests: {why}"))
        }
        Failure::NoQuorum => (Code::Unavailable, "etcdserver: no leader".to_owned()),
        Failure::Leaving => (Code::Unavailable, "etcdserver: server stopped".to_owned()),
    };
    Status::new(code, text)
}

/// Somebody who is not let in.
pub(super) fn unauthenticated(why: &str) -> Status {
    Status::unauthenticated(format!("etcdserver: invalid auth token: {why}"))
}

/// An answer of another kind than the question's: it cannot be.
pub(super) fn internal() -> Status {
    Status::internal("the node is confused")
}
