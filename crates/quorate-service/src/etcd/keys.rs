//! The subset of etcd's key API that recipes for locks and elections use. These recipes are Go's concurrency package, and
//! therefore `etcdctl lock` and `etcdctl elect`.
//!
//! There is no store. A key `NAME/LEASE` is the request of that lease for that name. Putting the key makes the request;
//! deleting the key releases it. Such a recipe concludes from create revisions that the first key is the owner. Here this
//! conclusion always agrees with the cluster's grants: as long as a request is not granted, another key is shown before it,
//! and the range before it is empty only if it holds the lock. A lease that has ended gets an error where the recipe would
//! conclude that it is the owner.

use std::time::Duration;

use quorate_protocol::etcd::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use quorate_protocol::etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use quorate_protocol::etcd::etcdserverpb::request_op::Request as Op;
use quorate_protocol::etcd::etcdserverpb::response_op::Response as OpResponse;
use quorate_protocol::etcd::etcdserverpb::{
    Compare, DeleteRangeRequest, DeleteRangeResponse, PutRequest, PutResponse, RangeRequest,
    RangeResponse, ResponseOp, TxnRequest, TxnResponse,
};
use quorate_protocol::etcd::mvccpb::KeyValue;
use quorate_protocol::{CallResponse, Failure, Kind, LeaseInfo, Name, RequestInfo, RequestState};
use tonic::{Request, Response, Status};

use super::{Caller, Etcd, names, status, unsupported};
use crate::lease::LeaseCall;
use crate::node::random_number;

/// Maximum number of polls for the new holder of a lock that is free at the moment, and the interval between them.
const GRANT_POLLS: usize = 5;
const GRANT_POLL_INTERVAL: Duration = Duration::from_millis(2);

fn unsupported_key() -> Status {
    Status::unimplemented(unsupported::KV)
}

/// A parsed key: the text of a name, and a lease.
pub(super) struct Key {
    pub(super) name: String,
    pub(super) lease: i64,
}

impl Key {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Status> {
        let (name, lease) = names::split(Kind::Lock, bytes).ok_or_else(unsupported_key)?;
        Ok(Self { name: name.text().to_owned(), lease })
    }

    fn bytes(&self) -> Vec<u8> {
        names::key(&self.name, self.lease)
    }
}

/// Returns the name if a range covers all keys of one name.
pub(super) fn name_of_range(key: &[u8], end: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(key).ok()?.strip_suffix('/')?;
    let after: Vec<u8> = name.bytes().chain([b'/' + 1]).collect();
    (end == after).then(|| name.to_owned())
}

fn holds(info: &RequestInfo) -> bool {
    matches!(info.state, RequestState::Holding { .. })
}

fn token(info: &RequestInfo) -> u64 {
    match info.state {
        RequestState::Holding { token, .. } => token,
        RequestState::Waiting => 0,
    }
}

/// Converts a request to a key with its value.
pub(super) fn kv(info: &RequestInfo) -> KeyValue {
    let revision = info.revision as i64;
    let key = names::key_of(info);
    let value = names::bytes(&info.why);
    KeyValue {
        key,
        create_revision: revision,
        mod_revision: revision,
        version: 1,
        value,
        lease: info.lease,
    }
}

impl Etcd {
    /// Returns the holder and the waiters of a name, the holder first. For such recipes a lock and an election of the same
    /// name are one, as with etcd: whichever is held counts.
    pub(super) async fn requests(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<Vec<RequestInfo>, Status> {
        let list = self.local_client.requests_for(&caller.permissions, name).await;
        let mut list = list.map_err(|failure| status::of(failure, "mutex"))?;
        list.sort_by_key(|info| (!holds(info), info.stamp, info.tie_breaker));
        Ok(list)
    }

    /// Returns the request of a lease for a name, if there is one.
    async fn own(&self, caller: &Caller, key: &Key) -> Result<Option<RequestInfo>, Status> {
        match self.lease_call(caller, key.lease, LeaseCall::TimeToLive).await {
            Ok(CallResponse::LeaseInfo(LeaseInfo { requests, .. })) => {
                Ok(requests.into_iter().find(|info| info.name.text() == key.name))
            }
            Ok(_) => Err(status::internal()),
            Err(Failure::NoSession) => Ok(None),
            Err(failure) => Err(status::of(failure, "mutex")),
        }
    }

    async fn range_of(
        &self,
        caller: &Caller,
        asked: &RangeRequest,
    ) -> Result<RangeResponse, Status> {
        if asked.range_end.is_empty() {
            let own = self.own(caller, &Key::read(&asked.key)?).await?;
            return Ok(
                self.range_response(own.iter().map(kv).collect(), own.as_ref().map_or(0, token))
            );
        }
        let name = name_of_range(&asked.key, &asked.range_end).ok_or_else(unsupported_key)?;
        let mut all = self.requests(caller, &name).await?;
        // The query for the last key before the caller's. A bound of zero belongs only to the request with revision
        // 1, the first token.
        if asked.sort_order() == SortOrder::Descend && asked.sort_target() == SortTarget::Create {
            for _ in 0..GRANT_POLLS {
                // Between two holders there is no key that the caller could wait for, so the next grant is awaited.
                if all.first().is_none_or(holds) {
                    break;
                }
                tokio::time::sleep(GRANT_POLL_INTERVAL).await;
                all = self.requests(caller, &name).await?;
            }
            return self.before(&name, &all, (asked.max_create_revision as u64).wrapping_add(1));
        }
        // The first key is the holder's. A request that only waits is not first.
        let listed = match asked.limit {
            1 => all.iter().filter(|info| holds(info)).take(1).map(kv).collect(),
            _ => all.iter().map(kv).collect(),
        };
        Ok(self.range_response(listed, all.first().map_or(0, token)))
    }

    /// Returns the key before the request with this create revision. There always is one until the request is granted.
    fn before(
        &self,
        name: &str,
        all: &[RequestInfo],
        revision: u64,
    ) -> Result<RangeResponse, Status> {
        let own = all.iter().find(|info| info.revision == revision);
        let Some(own) = own else {
            return Err(status::of(Failure::Ended, "mutex"));
        };
        if holds(own) {
            return Ok(self.range_response(Vec::new(), token(own)));
        }
        let first = all.iter().find(|info| holds(info)).map(kv);
        Ok(self.range_response(vec![first.unwrap_or_else(|| placeholder_key(name))], own.revision))
    }

    fn range_response(&self, kvs: Vec<KeyValue>, revision: u64) -> RangeResponse {
        let count = kvs.len() as i64;
        RangeResponse { header: self.header(revision), kvs, more: false, count }
    }

    /// Makes the request of a key, or changes its value. Returns the create revision, and whether the lock was granted.
    async fn put_key(&self, caller: &Caller, put: &PutRequest) -> Result<(u64, bool), Status> {
        let key = Key::read(&put.key)?;
        if put.lease != key.lease || put.ignore_value || put.ignore_lease {
            return Err(unsupported_key());
        }
        let value = names::text(&put.value);
        if let Some(own) = self.own(caller, &key).await? {
            let (name, token) = (own.name.clone(), token(&own));
            let proclaim = LeaseCall::Proclaim { name, token, value };
            let done = self.lease_call(caller, key.lease, proclaim).await;
            done.map_err(|failure| status::of(failure, "election"))?;
            return Ok((own.revision, holds(&own)));
        }
        // A leader proclaims a value, and the holder of a lock does not.
        let kind = if put.value.is_empty() { Kind::Lock } else { Kind::Election };
        let name = Name::new(kind, &key.name).map_err(|_| unsupported_key())?;
        let enqueue = LeaseCall::Enqueue { name, request: random_number() as u64, value };
        match self.lease_call(caller, key.lease, enqueue).await {
            Ok(CallResponse::Granted { token, .. }) => Ok((token, true)),
            Ok(CallResponse::Queued(revision)) => Ok((revision, false)),
            Ok(_) => Err(status::internal()),
            Err(failure) => Err(status::of(failure, "mutex")),
        }
    }

    async fn delete_key(&self, caller: &Caller, asked: &DeleteRangeRequest) -> Result<i64, Status> {
        if !asked.range_end.is_empty() {
            return Err(unsupported_key());
        }
        let key = Key::read(&asked.key)?;
        let Some(own) = self.own(caller, &key).await? else { return Ok(0) };
        let release = LeaseCall::Release { name: own.name, token: None };
        match self.lease_call(caller, key.lease, release).await {
            Ok(_) => Ok(1),
            Err(Failure::NoSession | Failure::NoRequest) => Ok(0),
            Err(failure) => Err(status::of(failure, "mutex")),
        }
    }

    /// Compares a key by its create revision, the only supported target. Returns whether it is equal, and the request.
    async fn compared(
        &self,
        caller: &Caller,
        compare: &Compare,
    ) -> Result<(bool, Option<RequestInfo>), Status> {
        let target = (compare.result(), compare.target());
        let Some(TargetUnion::CreateRevision(wanted)) = compare.target_union else {
            return Err(unsupported_key());
        };
        if target != (CompareResult::Equal, CompareTarget::Create) || !compare.range_end.is_empty()
        {
            return Err(unsupported_key());
        }
        let own = self.own(caller, &Key::read(&compare.key)?).await?;
        Ok((own.as_ref().map_or(0, |info| info.revision as i64) == wanted, own))
    }
}

/// Returns a key that stands for a holder that is not known yet.
fn placeholder_key(name: &str) -> KeyValue {
    KeyValue { key: names::key(name, 0), create_revision: 1, ..KeyValue::default() }
}

impl Etcd {
    pub(super) async fn range(
        &self,
        request: Request<RangeRequest>,
    ) -> Result<Response<RangeResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        self.range_of(&caller, request.get_ref()).await.map(Response::new)
    }

    pub(super) async fn put(
        &self,
        request: Request<PutRequest>,
    ) -> Result<Response<PutResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let (revision, _) = self.put_key(&caller, request.get_ref()).await?;
        Ok(Response::new(PutResponse { header: self.header(revision), prev_kv: None }))
    }

    pub(super) async fn delete_range(
        &self,
        request: Request<DeleteRangeRequest>,
    ) -> Result<Response<DeleteRangeResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let deleted = self.delete_key(&caller, request.get_ref()).await?;
        let (header, prev_kvs) = (self.header(0), Vec::new());
        Ok(Response::new(DeleteRangeResponse { header, deleted, prev_kvs }))
    }

    pub(super) async fn txn(
        &self,
        request: Request<TxnRequest>,
    ) -> Result<Response<TxnResponse>, Status> {
        let caller = self.admit(request.metadata(), request.extensions()).await?;
        let TxnRequest { compare, success, failure } = request.into_inner();
        let [compare] = compare.as_slice() else { return Err(unsupported_key()) };
        let (succeeded, own) = self.compared(&caller, compare).await?;
        // Go's package assumes that it owns a lock that shows no holder.
        let queued = own.as_ref().filter(|own| !succeeded && !holds(own));
        let mut waits = queued.map(|_| Key::read(&compare.key));
        let (mut revision, mut responses) = (0, Vec::new());
        for op in if succeeded { success } else { failure } {
            let response = match op.request.ok_or_else(unsupported_key)? {
                Op::RequestPut(put) => {
                    let (created, granted) = self.put_key(&caller, &put).await?;
                    (revision, waits) = (created, (!granted).then(|| Key::read(&put.key)));
                    OpResponse::ResponsePut(PutResponse {
                        header: self.header(created),
                        prev_kv: None,
                    })
                }
                // A transaction sees one state, but the key may have been deleted since it was compared.
                Op::RequestRange(asked)
                    if !succeeded && asked.key == compare.key && asked.range_end.is_empty() =>
                {
                    let token = own.as_ref().map_or(0, token);
                    OpResponse::ResponseRange(
                        self.range_response(own.iter().map(kv).collect(), token),
                    )
                }
                Op::RequestRange(asked) => {
                    let mut range_response = self.range_of(&caller, &asked).await?;
                    if let (Some(Ok(key)), 1) = (&waits, asked.limit)
                        && range_response.kvs.first().is_none_or(|kv| kv.key == key.bytes())
                    {
                        // The request waits, so another request is first, but this node does not know it yet or
                        // no longer knows it.
                        range_response.kvs = vec![placeholder_key(&key.name)];
                    }
                    OpResponse::ResponseRange(range_response)
                }
                Op::RequestDeleteRange(asked) => {
                    let deleted = self.delete_key(&caller, &asked).await?;
                    let (header, prev_kvs) = (self.header(0), Vec::new());
                    OpResponse::ResponseDeleteRange(DeleteRangeResponse {
                        header,
                        deleted,
                        prev_kvs,
                    })
                }
                Op::RequestTxn(_) => return Err(unsupported_key()),
            };
            responses.push(ResponseOp { response: Some(response) });
        }
        Ok(Response::new(TxnResponse { header: self.header(revision), succeeded, responses }))
    }
}
