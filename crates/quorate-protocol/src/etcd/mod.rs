//! Messages of etcd's lock, election and lease API, and the subset of its key and watch API that lock recipes call.
//!
//! The files in `proto/` are written from the protocol's names and numbers. The code in `generated/` is generated from
//! them, and a test in `compat/` verifies that it is up to date. The JSON encoding is that of etcd's gateway: 64-bit
//! numbers are strings, bytes are in base64, and default values are omitted.

pub mod json;

#[rustfmt::skip]
#[expect(missing_docs, reason = "the protocol's names are its description")]
#[path = "generated/mvccpb.rs"]
pub mod mvccpb;

#[rustfmt::skip]
#[expect(missing_docs, reason = "the protocol's names are its description")]
#[path = "generated/etcdserverpb.rs"]
pub mod etcdserverpb;

#[rustfmt::skip]
#[expect(missing_docs, reason = "the protocol's names are its description")]
#[path = "generated/v3lockpb.rs"]
pub mod v3lockpb;

#[rustfmt::skip]
#[expect(missing_docs, reason = "the protocol's names are its description")]
#[path = "generated/v3electionpb.rs"]
pub mod v3electionpb;
