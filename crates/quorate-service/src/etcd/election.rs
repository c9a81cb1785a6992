//! The election service of etcd's API.

use futures_util::stream::{self, StreamExt};
use quorate_protocol::etcd::v3electionpb::{
    CampaignRequest, CampaignResponse, LeaderKey, LeaderRequest, LeaderResponse, ProclaimRequest,
    ProclaimResponse, ResignRequest, ResignResponse,
};
use quorate_protocol::{Failure, Kind, Name, RequestInfo, RequestState, ServerMessage};
use tonic::{Request, Response, Status};

use super::methods::{Messages, ResponseStream};
use super::{Caller, Etcd, keys, names, status};
use crate::lease::LeaseCall;
use crate::local_client::LocalConnection;

impl Etcd {
    /// Returns the leader of an election, if there is one.
    async fn leader_of(&self, caller: &Caller, name: &Name) -> Result<Option<RequestInfo>, Status> {
        let leader = self.local_client.leader_of(&caller.permissions, name.text()).await;
        leader.map_err(|failure| status::of(failure, "election"))
    }

    fn led_by(&self, info: &RequestInfo) -> LeaderResponse {
        let kv = keys::kv(info);
        // The key has the revision that the leader received first; the header has the token.
        let token = match info.state {
            RequestState::Holding { token, .. } => token,
            RequestState::Waiting => 0,
        };
        LeaderResponse { header: self.header(token), kv: Some(kv) }
    }
}

/// Parses the name, the lease and the token of a leader, as its caller knows them.
fn leader(key: Option<LeaderKey>) -> Result<(Name, i64, u64), Status> {
    let Some(LeaderKey { name, key, rev, lease }) = key else {
        return Err(Status::invalid_argument("\"leader\" field must be provided"));
    };
    let name = names::name(Kind::Election, &name)?;
    // If the field is zero, the lease is taken from the key.
    let lease = match names::split(Kind::Election, &key) {
        Some((_, of_key)) if lease == 0 => of_key,
        _ => lease,
    };
    Ok((name, lease, rev as u64))
}

impl Etcd {
    pub(super) async fn campaign(
        &self,
        request: Request<CampaignRequest>,
    ) -> Result<Response<CampaignResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let CampaignRequest { name, lease, value } = request.into_inner();
        let name = names::name(Kind::Election, &name)?;
        let lease = self.lease_or_new(&caller, lease).await?;
        let value = names::text(&value);
        let token = self.acquire(&caller, lease, &name, value.clone(), "election").await?;
        // A client that already leads proclaims its new value.
        let proclaim = LeaseCall::Proclaim { name: name.clone(), token, value };
        match self.lease_call(&caller, lease, proclaim).await {
            Ok(_) => {}
            Err(Failure::NoRequest) => {
                return Err(Status::failed_precondition("election: not leader"));
            }
            Err(failure) => return Err(status::of(failure, "election")),
        }
        let leader = LeaderKey {
            name: name.text().as_bytes().to_vec(),
            key: names::key(name.text(), lease),
            rev: token as i64,
            lease,
        };
        Ok(Response::new(CampaignResponse { header: self.header(token), leader: Some(leader) }))
    }

    pub(super) async fn proclaim(
        &self,
        request: Request<ProclaimRequest>,
    ) -> Result<Response<ProclaimResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let ProclaimRequest { leader: key, value } = request.into_inner();
        let (name, lease, token) = leader(key)?;
        let proclaim = LeaseCall::Proclaim { name, token, value: names::text(&value) };
        match self.lease_call(&caller, lease, proclaim).await {
            Ok(_) => Ok(Response::new(ProclaimResponse { header: self.header(token) })),
            Err(Failure::NoSession | Failure::NoRequest) => {
                Err(Status::failed_precondition("election: not leader"))
            }
            Err(failure) => Err(status::of(failure, "election")),
        }
    }

    pub(super) async fn leader(
        &self,
        request: Request<LeaderRequest>,
    ) -> Result<Response<LeaderResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let name = names::name(Kind::Election, &request.into_inner().name)?;
        match self.leader_of(&caller, &name).await? {
            Some(info) => Ok(Response::new(self.led_by(&info))),
            None => Err(Status::not_found("election: no leader")),
        }
    }

    pub(super) async fn observe(
        &self,
        request: Request<LeaderRequest>,
    ) -> Result<Response<ResponseStream<LeaderResponse>>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let name = names::name(Kind::Election, &request.into_inner().name)?;
        let watch = self.local_client.watch(&caller.permissions, name.text().to_owned()).await;
        let mut connection = watch.map_err(|failure| status::of(failure, "election"))?;
        // Once all reachable nodes know the watch, no change is missed. The leader at that time is queried.
        let missed = connection.wait_until_watching().await;
        let missed = missed.map_err(|failure| status::of(failure, "election"))?;
        let missed = missed.into_iter().filter_map(|change| change.holder).next_back();
        let first = self.leader_of(&caller, &name).await?.or(missed);
        let observer = Observer { etcd: self.clone(), name, connection, first, last: None };
        Ok(Response::new(stream::try_unfold(observer, Observer::next).boxed()))
    }

    /// The same as `observe`, for a request that arrives as a stream of one message.
    pub(super) async fn observe_first(
        &self,
        request: Request<Messages<LeaderRequest>>,
    ) -> Result<Response<ResponseStream<LeaderResponse>>, Status> {
        let (metadata, extensions, mut messages) = request.into_parts();
        let Some(message) = messages.next().await? else {
            return Err(Status::invalid_argument("the request has no message"));
        };
        self.observe(Request::from_parts(metadata, extensions, message)).await
    }

    pub(super) async fn resign(
        &self,
        request: Request<ResignRequest>,
    ) -> Result<Response<ResignResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let (name, lease, token) = leader(request.into_inner().leader)?;
        match self.lease_call(&caller, lease, LeaseCall::Release { name, token: Some(token) }).await
        {
            // Resigning succeeds for a client that does not lead.
            Ok(_) | Err(Failure::NoSession | Failure::NoRequest) => {
                Ok(Response::new(ResignResponse { header: self.header(token) }))
            }
            Err(failure) => Err(status::of(failure, "election")),
        }
    }
}

/// State of an observer.
struct Observer {
    etcd: Etcd,
    name: Name,
    connection: LocalConnection,
    first: Option<RequestInfo>,
    /// The last token that was sent, and the value that was proclaimed with it.
    last: Option<(u64, String)>,
}

impl Observer {
    /// Returns the next leader, or the next value of the present leader. Never returns to an earlier leader.
    async fn next(mut self) -> Result<Option<(LeaderResponse, Self)>, Status> {
        loop {
            let info = match self.first.take() {
                Some(first) => first,
                None => match self.connection.messages.recv().await {
                    Some(ServerMessage::Changed(change)) => match change.holder {
                        Some(info) => info,
                        None => continue,
                    },
                    Some(ServerMessage::Leaving) | None => {
                        return Err(status::of(Failure::Leaving, "election"));
                    }
                    Some(_) => continue,
                },
            };
            let RequestState::Holding { token, .. } = info.state else { continue };
            let now = (token, info.why.clone());
            let older =
                |(last, said): &(u64, String)| token < *last || now == (*last, said.clone());
            if info.name != self.name || self.last.as_ref().is_some_and(older) {
                continue;
            }
            let led = self.etcd.led_by(&info);
            self.last = Some(now);
            return Ok(Some((led, self)));
        }
    }
}
