//! Operations on the keys of an etcd cluster: read, change, and watch until deleted.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use quorate_protocol::etcd::etcdserverpb::kv_client::KvClient;
use quorate_protocol::etcd::etcdserverpb::watch_client::WatchClient;
use quorate_protocol::etcd::etcdserverpb::watch_create_request::FilterType;
use quorate_protocol::etcd::etcdserverpb::watch_request::RequestUnion;
use quorate_protocol::etcd::etcdserverpb::{
    RangeRequest, RangeResponse, TxnRequest, TxnResponse, WatchCreateRequest, WatchRequest,
};
use quorate_protocol::etcd::mvccpb::event::EventType;
use tonic::metadata::MetadataValue;

use super::keys;
use super::members::Members;
use crate::error::Error;

/// Timeout of each attempt to read or watch a key that is waited for.
const RETRY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn range(
    members: &Members,
    range: &RangeRequest,
    timeout: Duration,
) -> Result<RangeResponse, Error> {
    let answer = members.call_any(timeout, async |member| {
        let request = member.request(range.clone());
        KvClient::new(member.channel.clone()).range(request).await
    });
    answer.await.map(tonic::Response::into_inner)
}

pub(super) async fn txn(
    members: &Members,
    txn: &TxnRequest,
    timeout: Duration,
) -> Result<TxnResponse, Error> {
    let answer = members.call_any(timeout, async |member| {
        let request = member.request(txn.clone());
        KvClient::new(member.channel.clone()).txn(request).await
    });
    answer.await.map(tonic::Response::into_inner)
}

/// Waits until the key created at revision `created` is deleted. Retries forever.
pub(super) async fn wait_deleted(members: &Members, key: &[u8], created: i64) {
    loop {
        let mut member_changes = members.member_changes();
        if let Ok(found) = range(members, &keys::exact_key(key), RETRY_TIMEOUT).await {
            if found.kvs.first().is_none_or(|found| found.create_revision != created) {
                return;
            }
            let from = found.header.map_or(0, |header| header.revision) + 1;
            tokio::select! {
                response = deleted(members, key, from) => if matches!(response, Ok(true)) {
                    return;
                },
                // Another call has given up the watched member. An unresponsive member does not end its watches.
                _ = member_changes.changed() => {}
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Watches a key from a revision on; returns true when the key is deleted, false if the member ends the watch.
async fn deleted(members: &Members, key: &[u8], from: i64) -> Result<bool, Error> {
    let create = WatchCreateRequest {
        key: key.to_vec(),
        start_revision: from,
        filters: vec![FilterType::Noput.into()],
        ..WatchCreateRequest::default()
    };
    let watched = members.call_any(RETRY_TIMEOUT, async |member| {
        let create = RequestUnion::CreateRequest(create.clone());
        let create = WatchRequest { request_union: Some(create) };
        // etcd ends a watch when the request stream ends, so the stream stays open.
        let request = stream::iter([create]).chain(stream::pending());
        let mut request = member.request(request);
        // Without a leader a member would be silent. With this option it ends the watch instead.
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        WatchClient::new(member.channel.clone()).watch(request).await
    });
    let mut response = watched.await?.into_inner();
    while let Ok(Some(response)) = response.message().await {
        if response.events.iter().any(|event| event.r#type() == EventType::Delete) {
            return Ok(true);
        }
        if response.canceled {
            break;
        }
    }
    Ok(false)
}
