//! Queries about locks in etcd, and the calls that etcd does not support.

use std::time::Duration;

use quorate_core::SortedMap;
use quorate_protocol::etcd::etcdserverpb::{RangeRequest, TxnRequest};
use quorate_protocol::etcd::mvccpb::KeyValue;
use quorate_protocol::{
    CallResponse, Failure, Kind, Name, Page, RequestInfo, RequestState, TokenStatus,
};

use super::members::Members;
use super::{keys, store};
use crate::error::Error;

/// Number of keys read in one call.
const PAGE: i64 = 1_000;
/// Maximum number of keys read for one list.
const MAX_KEYS: usize = 100_000;
/// Number of values read in one transaction: etcd permits at most 128 operations.
const VALUES: usize = 100;

/// Lists holders and waiters of names that begin with `prefix`.
pub(super) async fn list(
    members: &Members,
    prefix: &str,
    most: u32,
    timeout: Duration,
) -> Result<CallResponse, Error> {
    let (keys, revision) = all_keys(members, prefix.as_bytes(), timeout).await?;
    let mut requests = requests(&keys);
    requests.truncate(most as usize);
    let mut list = Vec::new();
    for some in requests.chunks(VALUES) {
        let read = some
            .iter()
            .map(|(_, kv, _)| keys::read(RangeRequest { revision, ..keys::exact_key(&kv.key) }));
        let txn = TxnRequest { success: read.collect(), ..TxnRequest::default() };
        let values = store::txn(members, &txn, timeout).await?.responses.into_iter();
        for ((name, kv, holds), value) in some.iter().zip(values.map(keys::first)) {
            let value = value.map(|kv| kv.value).unwrap_or_default();
            list.extend(request_info(name, kv, *holds, &value));
        }
    }
    // All pages of etcd were read above.
    Ok(CallResponse::Page(Page { requests: list, next: None, silent: Vec::new() }))
}

/// All keys that begin with `prefix`, without values, and the revision at which they were read.
async fn all_keys(
    members: &Members,
    prefix: &[u8],
    timeout: Duration,
) -> Result<(Vec<KeyValue>, i64), Error> {
    // No key is empty: this is the smallest possible key.
    let start = if prefix.is_empty() { vec![0] } else { prefix.to_vec() };
    let mut range = RangeRequest {
        key: start,
        range_end: keys::range_end(prefix),
        limit: PAGE,
        keys_only: true,
        ..RangeRequest::default()
    };
    let mut all = Vec::new();
    loop {
        let page = store::range(members, &range, timeout).await?;
        if range.revision == 0 {
            range.revision = page.header.map_or(0, |header| header.revision);
        }
        let last = page.kvs.last().map(|kv| kv.key.clone());
        all.extend(page.kvs);
        if all.len() > MAX_KEYS {
            let most = format!("more than {MAX_KEYS} keys have this prefix; use a longer prefix");
            return Err(Failure::TooMuch(most).into());
        }
        let Some(mut last) = last.filter(|_| page.more) else {
            return Ok((all, range.revision));
        };
        last.push(0);
        range.key = last;
    }
}

/// The keys that are requests, each with its name and whether it holds the lock, by name and then by age. Any older key
/// below a name delays the younger ones, even a request for another name, or a key that is no request.
fn requests(all: &[KeyValue]) -> Vec<(&str, &KeyValue, bool)> {
    let mut names: SortedMap<&str, Vec<&KeyValue>> = SortedMap::new();
    for kv in all {
        if let Some(name) = keys::name_of(&kv.key, kv.lease) {
            names.entry(name).or_default().push(kv);
        }
    }
    let mut requests = Vec::new();
    for (name, mut of_name) in names {
        of_name.sort_by_key(|kv| kv.create_revision);
        let prefix = keys::prefix(name);
        // `all` is sorted, so that the keys below a name are adjacent.
        let from = all.partition_point(|kv| kv.key.as_slice() < prefix.as_slice());
        let below = all[from..].iter().take_while(|kv| kv.key.starts_with(&prefix));
        let oldest = below.map(|kv| kv.create_revision).min();
        let is_oldest = |kv: &KeyValue| Some(kv.create_revision) == oldest;
        requests.extend(of_name.into_iter().map(|kv| (name, kv, is_oldest(kv))));
    }
    requests
}

/// The information about a request that etcd has.
fn request_info(name: &str, kv: &KeyValue, holds: bool, value: &[u8]) -> Option<RequestInfo> {
    // Only elections give their keys a value.
    let kind = if value.is_empty() { Kind::Lock } else { Kind::Election };
    let token = kv.create_revision as u64;
    Some(RequestInfo {
        name: Name::new(kind, name).ok()?,
        stamp: token,
        tie_breaker: kv.lease as u64,
        node: 0,
        client_name: format!("lease {:x}", kv.lease),
        client_location: String::new(),
        why: String::from_utf8_lossy(value).into_owned(),
        lease: kv.lease,
        revision: token,
        for_ms: 0,
        state: if holds {
            RequestState::Holding { token, times: 1 }
        } else {
            RequestState::Waiting
        },
    })
}

async fn holder(members: &Members, name: &Name, timeout: Duration) -> Result<KeyValue, Error> {
    let found = store::range(members, &keys::oldest(name.text()), timeout).await?;
    Ok(found.kvs.into_iter().next().ok_or(Failure::Free)?)
}

/// Checks a token against the holder's. This needs a holder, since etcd does not remember earlier ones.
pub(super) async fn check_token(
    members: &Members,
    name: &Name,
    token: u64,
    timeout: Duration,
) -> Result<CallResponse, Error> {
    let greatest = holder(members, name, timeout).await?.create_revision as u64;
    Ok(CallResponse::Token(TokenStatus { current: token >= greatest, greatest }))
}

/// Always fails, since etcd would not record the reason. The error names the command that revokes the lock.
pub(super) async fn force_release(
    members: &Members,
    name: &Name,
    timeout: Duration,
) -> Result<CallResponse, Error> {
    let holder = holder(members, name, timeout).await?;
    let command = match holder.lease {
        0 => format!("etcdctl del {}", String::from_utf8_lossy(&holder.key)),
        lease => format!("etcdctl lease revoke {lease:x}"),
    };
    Err(unsupported(&format!(
        "etcd does not record the reason; `{command}` releases {name} by force without one"
    )))
}

pub(super) fn unsupported(message: &str) -> Error {
    Error::Unsupported(message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kv(key: &str, lease: i64, created: i64) -> KeyValue {
        let key = key.as_bytes().to_vec();
        KeyValue { key, lease, create_revision: created, ..KeyValue::default() }
    }

    #[test]
    fn the_oldest_key_below_a_name_has_the_lock_whatever_it_is() {
        let all = [
            kv("a/1", 1, 7),
            kv("a/2", 2, 5),
            kv("a/b/3", 3, 6),
            kv("c/4", 4, 9),
            kv("c/plain", 0, 8),
        ];
        let requests: Vec<_> =
            requests(&all).into_iter().map(|(name, kv, holds)| (name, kv.lease, holds)).collect();
        let a = [("a", 2, true), ("a", 1, false)];
        assert_eq!(requests, [a[0], a[1], ("a/b", 3, true), ("c", 4, false)]);
    }
}
