//! The words of etcd's lock, election and lease API, and of as much of its keys and watches as recipes for locks call.
//!
//! The files in `proto/` are written from the protocol's names and numbers; the code in `src/generated/` is made from
//! them, and a test in `compat/` makes sure that it is. As JSON, words are as etcd's gateway has them: numbers of 64 bits are texts,
//! bytes are in base64, and what is nothing is left out.

pub mod json;

#[rustfmt::skip]
#[expect(missing_docs, reason = "the protocol's names are its description")]
#[path = "generated/mvccpb.rs"]
pub mod mvccpb;

#[rustfmt::skip]
#[expect(
    missing_docs,
    clippy::allow_attributes,
    reason = "the protocol's names are its description, and the code is not ours"
)]
#[path = "generated/etcdserverpb.rs"]
pub mod etcdserverpb;

#[rustfmt::skip]
#[expect(
    missing_docs,
    clippy::allow_attributes,
    reason = "the protocol's names are its description, and the code is not ours"
)]
#[path = "generated/v3lockpb.rs"]
pub mod v3lockpb;

#[rustfmt::skip]
#[expect(
    missing_docs,
    clippy::allow_attributes,
    reason = "the protocol's names are its description, and the code is not ours"
)]
#[path = "generated/v3electionpb.rs"]
pub mod v3electionpb;
