//! The lease service of etcd's API.

use futures_util::stream::{self, StreamExt};
use quorate_protocol::etcd::etcdserverpb::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse,
    LeaseLeasesRequest, LeaseLeasesResponse, LeaseRevokeRequest, LeaseRevokeResponse, LeaseStatus,
    LeaseTimeToLiveRequest, LeaseTimeToLiveResponse,
};
use quorate_protocol::{CallResponse, Failure, LeaseInfo};
use tonic::{Request, Response, Status};

use super::methods::{Messages, ResponseStream};
use super::{Caller, Etcd, names, status};
use crate::lease::{LeaseCall, LeaseId};
use crate::node::random_number;

/// Minimum time-to-live of a lease in seconds, as with etcd's default settings.
const LEAST: i64 = 2;

/// Maximum time-to-live in seconds that is accepted, as with etcd.
const MOST: i64 = 9_000_000_000;

/// Maximum time-to-live in seconds that can be represented. Longer ones are clamped.
const LONGEST: i64 = u32::MAX as i64 / 1_000;

/// Returns the TTL that a client receives, in whole seconds. It is rounded down, because the client relies on all of it.
fn remaining_ttl(info: &LeaseInfo) -> i64 {
    (info.valid_ms.min(info.ttl_ms) / 1_000) as i64
}

impl Etcd {
    /// Creates a lease; returns its identifier and its time-to-live in seconds.
    pub(super) async fn grant(
        &self,
        caller: &Caller,
        id: i64,
        seconds: i64,
    ) -> Result<(i64, i64), Status> {
        if seconds > MOST {
            return Err(Status::out_of_range("etcdserver: too large lease TTL"));
        }
        let seconds = seconds.clamp(LEAST, LONGEST);
        let fresh = id == 0;
        let id = if fresh { LeaseId::chosen(random_number() as u64) } else { id };
        let ttl_ms = (seconds * 1_000) as u32;
        let grant =
            LeaseCall::Grant { ttl_ms, fresh, client_location: caller.client_location.clone() };
        match self.lease_call(caller, id, grant).await {
            Ok(CallResponse::LeaseInfo(info)) => Ok((id, remaining_ttl(&info))),
            Ok(_) => Err(status::internal()),
            Err(Failure::Busy) => {
                Err(Status::failed_precondition("etcdserver: lease already exists"))
            }
            Err(failure) => Err(status::of(failure, "lease")),
        }
    }

    /// Renews a lease; returns the time in seconds for which it may be relied on from now, or zero if it has ended.
    pub(super) async fn renew(&self, caller: &Caller, id: i64) -> Result<i64, Status> {
        match self.lease_call(caller, id, LeaseCall::KeepAlive).await {
            Ok(CallResponse::LeaseInfo(info)) => Ok(remaining_ttl(&info)),
            Ok(_) => Err(status::internal()),
            Err(Failure::NoSession) => Ok(0),
            Err(failure) => Err(status::of(failure, "lease")),
        }
    }

    pub(super) async fn kept_alive(
        &self,
        caller: &Caller,
        id: i64,
    ) -> Result<LeaseKeepAliveResponse, Status> {
        let ttl = self.renew(caller, id).await?;
        Ok(LeaseKeepAliveResponse { header: self.header(0), id, ttl })
    }
}

impl Etcd {
    pub(super) async fn lease_grant(
        &self,
        request: Request<LeaseGrantRequest>,
    ) -> Result<Response<LeaseGrantResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let LeaseGrantRequest { ttl, id } = request.into_inner();
        let (id, ttl) = self.grant(&caller, id, ttl).await?;
        let header = self.header(0);
        Ok(Response::new(LeaseGrantResponse { header, id, ttl, error: String::new() }))
    }

    pub(super) async fn lease_revoke(
        &self,
        request: Request<LeaseRevokeRequest>,
    ) -> Result<Response<LeaseRevokeResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let id = request.into_inner().id;
        let over = self.lease_call(&caller, id, LeaseCall::Revoke).await;
        over.map_err(|failure| status::of(failure, "lease"))?;
        Ok(Response::new(LeaseRevokeResponse { header: self.header(0) }))
    }

    pub(super) async fn lease_keep_alive(
        &self,
        request: Request<Messages<LeaseKeepAliveRequest>>,
    ) -> Result<Response<ResponseStream<LeaseKeepAliveResponse>>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let etcd = self.clone();
        let state = (etcd, caller, request.into_inner());
        let answers = stream::try_unfold(state, async |(etcd, caller, mut requests)| {
            let Some(request) = requests.next().await? else { return Ok(None) };
            if let Some(pause) = caller.permissions.throttle_delay() {
                tokio::time::sleep(pause).await;
            }
            let answer = etcd.kept_alive(&caller, request.id).await?;
            Ok(Some((answer, (etcd, caller, requests))))
        });
        Ok(Response::new(answers.boxed()))
    }

    pub(super) async fn lease_time_to_live(
        &self,
        request: Request<LeaseTimeToLiveRequest>,
    ) -> Result<Response<LeaseTimeToLiveResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let LeaseTimeToLiveRequest { id, keys } = request.into_inner();
        let header = self.header(0);
        let answer = match self.lease_call(&caller, id, LeaseCall::TimeToLive).await {
            Ok(CallResponse::LeaseInfo(info)) => LeaseTimeToLiveResponse {
                header,
                id,
                ttl: remaining_ttl(&info),
                granted_ttl: info.ttl_ms as i64 / 1_000,
                keys: match keys {
                    true => info.requests.iter().map(|it| names::key(it.name.text(), id)).collect(),
                    false => Vec::new(),
                },
            },
            Ok(_) => return Err(status::internal()),
            Err(Failure::NoSession) => {
                LeaseTimeToLiveResponse { header, id, ttl: -1, granted_ttl: 0, keys: Vec::new() }
            }
            Err(failure) => return Err(status::of(failure, "lease")),
        };
        Ok(Response::new(answer))
    }

    pub(super) async fn lease_leases(
        &self,
        request: Request<LeaseLeasesRequest>,
    ) -> Result<Response<LeaseLeasesResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        match self.local_client.leases(&caller.permissions).await {
            Ok(CallResponse::Leases(all)) => {
                let leases = all.into_iter().map(|id| LeaseStatus { id }).collect();
                Ok(Response::new(LeaseLeasesResponse { header: self.header(0), leases }))
            }
            Ok(_) => Err(status::internal()),
            Err(failure) => Err(status::of(failure, "lease")),
        }
    }
}
