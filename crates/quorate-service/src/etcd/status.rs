//! Maps failures to etcd's error texts, with the matching gRPC codes.

use quorate_protocol::Failure;
use tonic::{Code, Status};

/// etcd's error text for a lease that does not exist.
pub(super) const NO_LEASE: &str = "etcdserver: requested lease not found";

/// Returns the status of a failed call. `service` is the service that was called, `mutex` or `election`.
pub(super) fn of(failure: Failure, service: &str) -> Status {
    let (code, text) = match failure {
        Failure::NoSession => (Code::NotFound, NO_LEASE.to_owned()),
        Failure::Ended => (Code::FailedPrecondition, format!("{service}: session is expired")),
        Failure::Busy | Failure::TimedOut => {
            (Code::DeadlineExceeded, format!("{service}: Locked by another session"))
        }
        Failure::NoRequest | Failure::Free => {
            (Code::Aborted, format!("{service}: the key was deleted while the request waited"))
        }
        Failure::NotAllowed(why) => {
            (Code::PermissionDenied, format!("etcdserver: permission denied: {why}"))
        }
        Failure::TooMuch(why) => {
            (Code::ResourceExhausted, format!("etcdserver: too many requests: {why}"))
        }
        Failure::NoQuorum => (Code::Unavailable, "etcdserver: no leader".to_owned()),
        Failure::NotNow(why) => (Code::FailedPrecondition, format!("etcdserver: {why}")),
        Failure::Leaving => (Code::Unavailable, "etcdserver: server stopped".to_owned()),
    };
    Status::new(code, text)
}

/// Returns the status for a caller that is not authenticated.
pub(super) fn unauthenticated(why: &str) -> Status {
    Status::unauthenticated(format!("etcdserver: invalid auth token: {why}"))
}

/// Returns the status for a response of an unexpected kind, which cannot happen.
pub(super) fn internal() -> Status {
    Status::internal("internal error: unexpected kind of response")
}
