//! Sessions of etcd: a lease, which expires unless it is kept alive.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream;
use quorate_core::SortedMap;
use quorate_protocol::etcd::etcdserverpb::lease_client::LeaseClient;
use quorate_protocol::etcd::etcdserverpb::{
    LeaseGrantRequest, LeaseKeepAliveRequest, LeaseRevokeRequest,
};
use quorate_protocol::{Failure, SessionKey, Validity};
use tonic::Status;

use super::members::Members;
use crate::clock::Moment;
use crate::error::Error;
use crate::session_state::SessionState;

/// Divisor of the safety margin: 1/`DRIFT` of a lease's time is not relied on, since the clocks of client and server may
/// drift apart by that much.
const DRIFT: u64 = 100;

/// A session and its keys.
pub(super) struct Lease {
    pub(super) id: i64,
    pub(super) state: Arc<SessionState>,
    /// Validity of everything that the session holds, once it is known.
    validity: Mutex<Option<Validity>>,
    /// Keys of the session by name. Two requests of the session for one name share a key.
    holds: Mutex<SortedMap<String, Arc<tokio::sync::Mutex<HeldKey>>>>,
}

/// The key of a session for one name, shared by all its requests for that name.
#[derive(Default)]
pub(super) struct HeldKey {
    /// Revision at which the key was created: greater than that of all earlier holders.
    pub(super) created: i64,
    /// Number of requests that hold the key.
    pub(super) times: u32,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lease {
    pub(super) fn new(key: SessionKey, state: Arc<SessionState>) -> Self {
        let (validity, holds) = (Mutex::default(), Mutex::default());
        Self { id: key.0 as i64, state, validity, holds }
    }

    /// The session's key for a name. Drops entries that are no longer in use.
    pub(super) fn hold(&self, name: &str) -> Arc<tokio::sync::Mutex<HeldKey>> {
        let mut holds = locked(&self.holds);
        holds.retain(|_, hold| Arc::strong_count(hold) > 1);
        Arc::clone(holds.entry(name.to_owned()).or_default())
    }

    /// Sends a keep-alive and returns the new validity.
    pub(super) async fn keep_alive(
        &self,
        members: &Members,
        timeout: Duration,
    ) -> Result<Validity, Error> {
        let response = members.call_any(timeout, async |member| {
            let since = Moment::now().0;
            let once = member.request(stream::iter([LeaseKeepAliveRequest { id: self.id }]));
            let answers = LeaseClient::new(member.channel.clone()).lease_keep_alive(once).await?;
            let answer = answers.into_inner().message().await?;
            Ok((
                since,
                answer.ok_or_else(|| Status::unavailable("no answer to the keep-alive"))?.ttl,
            ))
        });
        let (since, ttl) = response.await?;
        // This is how etcd reports an expired lease.
        let ttl = u64::try_from(ttl).ok().filter(|ttl| *ttl > 0).ok_or(Failure::NoSession)?;
        let micros = ttl.saturating_mul(1_000_000);
        let fresh = Validity { since, micros: micros - micros / DRIFT };
        let mut known = locked(&self.validity);
        let latest = known.filter(|known| known.since > since).unwrap_or(fresh);
        *known = Some(latest);
        self.state.set_validity(latest);
        Ok(latest)
    }

    /// The known validity of the session. Sends a keep-alive if there is none.
    pub(super) async fn validity(
        &self,
        members: &Members,
        timeout: Duration,
    ) -> Result<Validity, Error> {
        let known = *locked(&self.validity);
        match known {
            Some(known) => {
                self.state.set_validity(known);
                Ok(known)
            }
            None => self.keep_alive(members, timeout).await,
        }
    }
}

/// Creates a lease that expires after `ttl_ms`, rounded up to seconds, unless it is kept alive.
pub(super) async fn grant(
    members: &Members,
    ttl_ms: u32,
    timeout: Duration,
) -> Result<SessionKey, Error> {
    let ttl = i64::from(ttl_ms.div_ceil(1_000));
    let granted = members.call_any(timeout, async |member| {
        let request = member.request(LeaseGrantRequest { ttl, id: 0 });
        LeaseClient::new(member.channel.clone()).lease_grant(request).await
    });
    let id = granted.await?.into_inner().id;
    u64::try_from(id).map(|id| SessionKey(id.into())).map_err(|_| Error::UnexpectedAnswer)
}

/// Revokes a lease. etcd deletes its keys.
pub(super) async fn revoke(
    members: &Members,
    key: SessionKey,
    timeout: Duration,
) -> Result<(), Error> {
    let revoked = members.call_any(timeout, async |member| {
        let request = member.request(LeaseRevokeRequest { id: key.0 as i64 });
        LeaseClient::new(member.channel.clone()).lease_revoke(request).await
    });
    match revoked.await {
        Ok(_) | Err(Error::Failed(Failure::NoSession)) => Ok(()),
        Err(error) => Err(error),
    }
}
