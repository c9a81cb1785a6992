//! The lock service of etcd's API.

use std::time::Duration;

use quorate_protocol::etcd::v3lockpb::{LockRequest, LockResponse, UnlockRequest, UnlockResponse};
use quorate_protocol::{CallResponse, Failure, Kind, Name};
use tonic::{Request, Response, Status};

use super::{Caller, Etcd, names, status};
use crate::lease::LeaseCall;
use crate::node::random_number;

/// Time-to-live of a lease that the node creates for a call without a lease, in seconds.
const OWN_LEASE_TTL: i64 = 60;

/// Interval at which such a lease is renewed while its connection is open.
const RENEW_INTERVAL: Duration = Duration::from_secs(20);

impl Etcd {
    /// Acquires a lock or wins an election; returns the token.
    pub(super) async fn acquire(
        &self,
        caller: &Caller,
        lease: i64,
        name: &Name,
        value: String,
        service: &str,
    ) -> Result<u64, Status> {
        let request = random_number() as u64;
        let acquire = LeaseCall::Acquire { name: name.clone(), request, value };
        match self.lease_call(caller, lease, acquire).await {
            Ok(CallResponse::Granted { token, .. }) => Ok(token),
            Ok(_) => Err(status::internal()),
            Err(failure) => Err(status::of(failure, service)),
        }
    }

    /// Returns the caller's lease, or creates a lease for the lifetime of the caller's connection. A call through the JSON
    /// gateway has no lasting connection: its lease is not renewed and expires after its time-to-live, as with etcd.
    pub(super) async fn lease_or_new(&self, caller: &Caller, lease: i64) -> Result<i64, Status> {
        if lease != 0 {
            return Ok(lease);
        }
        let (lease, _) = self.grant(caller, 0, OWN_LEASE_TTL).await?;
        if let Some(lifetime) = caller.lifetime.clone() {
            let (etcd, caller) = (self.clone(), caller.clone());
            tokio::spawn(async move { etcd.keep_while_connected(&caller, lease, lifetime).await });
        }
        Ok(lease)
    }

    async fn keep_while_connected(
        &self,
        caller: &Caller,
        lease: i64,
        lifetime: super::ConnectionLifetime,
    ) {
        let ended = lifetime.ended();
        tokio::pin!(ended);
        loop {
            tokio::select! {
                () = &mut ended => break,
                () = tokio::time::sleep(RENEW_INTERVAL) => drop(self.renew(caller, lease).await),
            }
        }
        let _ = self.lease_call(caller, lease, LeaseCall::Revoke).await;
    }
}

impl Etcd {
    pub(super) async fn lock(
        &self,
        request: Request<LockRequest>,
    ) -> Result<Response<LockResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let LockRequest { name, lease } = request.into_inner();
        let name = names::name(Kind::Lock, &name)?;
        let lease = self.lease_or_new(&caller, lease).await?;
        let token = self.acquire(&caller, lease, &name, String::new(), "mutex").await?;
        let (header, key) = (self.header(token), names::key(name.text(), lease));
        Ok(Response::new(LockResponse { header, key }))
    }

    pub(super) async fn unlock(
        &self,
        request: Request<UnlockRequest>,
    ) -> Result<Response<UnlockResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let key = request.into_inner().key;
        let Some((name, lease)) = names::split(Kind::Lock, &key) else {
            return Err(Status::invalid_argument(
                "etcdserver: key is not provided: Unlock takes the key that Lock returned",
            ));
        };
        match self.lease_call(&caller, lease, LeaseCall::Release { name, token: None }).await {
            // Releasing a free lock succeeds, so that a caller that does not know whether its call arrived can repeat it.
            Ok(_) | Err(Failure::NoSession | Failure::NoRequest) => {
                Ok(Response::new(UnlockResponse { header: self.header(0) }))
            }
            Err(failure) => Err(status::of(failure, "mutex")),
        }
    }
}
