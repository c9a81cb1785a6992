//! Keys of requests in etcd, and the operations that read and change them.
//!
//! The layout is that of etcd's own locks and elections: a request is the key `NAME/LEASE`, with the lease in hexadecimal,
//! and the oldest key that begins with `NAME/` holds the lock. All users of etcd's locks therefore exclude each other.

use quorate_protocol::etcd::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use quorate_protocol::etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use quorate_protocol::etcd::etcdserverpb::request_op::Request;
use quorate_protocol::etcd::etcdserverpb::response_op::Response;
use quorate_protocol::etcd::etcdserverpb::{
    Compare, DeleteRangeRequest, PutRequest, RangeRequest, RequestOp, ResponseOp,
};
use quorate_protocol::etcd::mvccpb::KeyValue;

pub(super) fn request_key(name: &str, lease: i64) -> Vec<u8> {
    format!("{name}/{lease:x}").into_bytes()
}

/// Prefix of all keys of a name.
pub(super) fn prefix(name: &str) -> Vec<u8> {
    format!("{name}/").into_bytes()
}

/// The name that a key is a request for; `None` if the key is no request of this lease.
pub(super) fn name_of(key: &[u8], lease: i64) -> Option<&str> {
    let (name, end) = std::str::from_utf8(key).ok()?.rsplit_once('/')?;
    (lease != 0 && end == format!("{lease:x}")).then_some(name)
}

/// Range end that covers all keys with this prefix.
pub(super) fn range_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    // No greater prefix exists: etcd reads `\0` as "all keys from the start on".
    vec![0]
}

/// Query for the oldest key of a name.
pub(super) fn oldest(name: &str) -> RangeRequest {
    let key = prefix(name);
    RangeRequest {
        range_end: range_end(&key),
        key,
        limit: 1,
        sort_order: SortOrder::Ascend.into(),
        sort_target: SortTarget::Create.into(),
        ..RangeRequest::default()
    }
}

/// Query for the keys of a name created before revision `created`, the youngest first.
pub(super) fn older(name: &str, created: i64) -> RangeRequest {
    let key = prefix(name);
    RangeRequest {
        range_end: range_end(&key),
        key,
        max_create_revision: created - 1,
        keys_only: true,
        sort_order: SortOrder::Descend.into(),
        sort_target: SortTarget::Create.into(),
        ..RangeRequest::default()
    }
}

/// Query for exactly this key.
pub(super) fn exact_key(key: &[u8]) -> RangeRequest {
    RangeRequest { key: key.to_vec(), ..RangeRequest::default() }
}

/// Condition that this key was created at revision `then`; zero means that it does not exist. With an `end`, the condition
/// is for all keys up to there.
pub(super) fn created(key: &[u8], end: Vec<u8>, then: i64) -> Compare {
    Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Create.into(),
        key: key.to_vec(),
        target_union: Some(TargetUnion::CreateRevision(then)),
        range_end: end,
    }
}

pub(super) fn put(key: &[u8], value: &str, lease: i64) -> RequestOp {
    let (key, value) = (key.to_vec(), value.as_bytes().to_vec());
    let put = PutRequest { key, value, lease, ..PutRequest::default() };
    RequestOp { request: Some(Request::RequestPut(put)) }
}

pub(super) fn delete(key: &[u8]) -> RequestOp {
    let delete = DeleteRangeRequest { key: key.to_vec(), ..DeleteRangeRequest::default() };
    RequestOp { request: Some(Request::RequestDeleteRange(delete)) }
}

pub(super) fn read(range: RangeRequest) -> RequestOp {
    RequestOp { request: Some(Request::RequestRange(range)) }
}

/// The first key of a range response.
pub(super) fn first(answer: ResponseOp) -> Option<KeyValue> {
    match answer.response {
        Some(Response::ResponseRange(range)) => range.kvs.into_iter().next(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_name_and_the_lease_in_hexadecimal() {
        assert_eq!(request_key("foo", 777), b"foo/309");
        assert_eq!(name_of(b"foo/309", 777), Some("foo"));
        assert_eq!(name_of(b"a/b/309", 777), Some("a/b"));
        assert_eq!(name_of(b"foo/309", 778), None, "a key of something else");
        assert_eq!(name_of(b"foo/0", 0), None, "a key without a lease");
        assert_eq!(name_of(b"\xff/309", 777), None, "no text");
        assert_eq!(name_of(b"309", 777), None, "no name");
    }

    #[test]
    fn the_end_of_a_prefix_is_behind_all_that_begin_so() {
        assert_eq!(range_end(b"foo/"), b"foo0");
        assert_eq!(range_end(b"a\xff"), b"b");
        assert_eq!((range_end(b""), range_end(b"\xff\xff")), (vec![0], vec![0]));
    }
}
