//! The JSON encoding of messages is that of etcd's gateway.

use quorate_protocol::etcd::etcdserverpb::{
    LeaseGrantRequest, LeaseTimeToLiveResponse, ResponseHeader,
};
use quorate_protocol::etcd::v3lockpb::{LockRequest, LockResponse};

#[test]
fn numbers_are_texts_and_bytes_base64() {
    let header = ResponseHeader { cluster_id: u64::MAX, revision: 16, ..Default::default() };
    let held = LockResponse { header: Some(header), key: b"foo/309".to_vec() };
    let text = serde_json::to_string(&held).expect("JSON");
    let expected =
        r#"{"header":{"cluster_id":"18446744073709551615","revision":"16"},"key":"Zm9vLzMwOQ=="}"#;
    assert_eq!(text, expected);
    let life = LeaseTimeToLiveResponse { ttl: -1, keys: vec![b"a".to_vec()], ..Default::default() };
    let text = serde_json::to_string(&life).expect("JSON");
    assert_eq!(text, r#"{"TTL":"-1","keys":["YQ=="]}"#);
}

#[test]
fn numbers_may_be_numbers() {
    for text in [r#"{"TTL":5,"ID":"-7"}"#, r#"{"TTL":"5","ID":-7}"#] {
        let read: LeaseGrantRequest = serde_json::from_str(text).expect("either way");
        assert_eq!(read, LeaseGrantRequest { ttl: 5, id: -7 });
    }
    let read: LockRequest = serde_json::from_str(r#"{"name":"Zm9v"}"#).expect("no lease");
    assert_eq!(read, LockRequest { name: b"foo".to_vec(), lease: 0 });
    assert!(serde_json::from_str::<LockRequest>(r#"{"name":"%"}"#).is_err());
    assert!(serde_json::from_str::<LockRequest>(r#"{"lease":1.5}"#).is_err());
}
