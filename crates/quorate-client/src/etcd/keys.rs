//! Which key stands for a request, and how keys are asked about and changed.
//!
//! As for etcd's own locks and elections: a request is the key `NAME/LEASE`, the lease in hexadecimal, and who has the
//! oldest key that begins with `NAME/` has the lock. So all who use etcd's locks wait for each other.

use quorate_etcd::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use quorate_etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use quorate_etcd::etcdserverpb::request_op::Request;
use quorate_etcd::etcdserverpb::response_op::Response;
use quorate_etcd::etcdserverpb::{
    Compare, DeleteRangeRequest, PutRequest, RangeRequest, RequestOp, ResponseOp,
};
use quorate_etcd::mvccpb::KeyValue;

/// The key of a request.
pub(super) fn request_key(name: &str, lease: i64) -> Vec<u8> {
    format!("{name}/{lease:x}").into_bytes()
}

/// What all keys of a name begin with.
pub(super) fn prefix(name: &str) -> Vec<u8> {
    format!("{name}/").into_bytes()
}

/// The name that a key is a request for, if it is one.
pub(super) fn name_of(key: &[u8], lease: i64) -> Option<&str> {
    let (name, end) = std::str::from_utf8(key).ok()?.rsplit_once('/')?;
    (lease != 0 && end == format!("{lease:x}")).then_some(name)
}

/// The end of all keys that begin so.
pub(super) fn range_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    // There is none: everything from there on.
    vec![0]
}

/// The oldest key of a name.
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

/// The keys of a name that are older than that, the youngest of them first.
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

/// That key alone.
pub(super) fn exact_key(key: &[u8]) -> RangeRequest {
    RangeRequest { key: key.to_vec(), ..RangeRequest::default() }
}

/// If this key was created then; never, if that is zero. With an end: if that is so of all keys up to there.
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

/// The first key of an answer that is a range.
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
