//! Protocol between clients and the nodes of a cluster, shared by both sides.
//!
//! A connection begins with a [`handshake`] in both directions. Then each side writes frames: a length of four
//! bytes, followed by that many bytes of postcard. The client sends [`ClientMessage`], the node sends
//! [`ServerMessage`]. The format is not self-describing: enum variants are only ever appended, and any other change
//! of a message raises the version.

mod direct;
mod escape;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod frame;
pub mod handshake;
#[cfg(feature = "http")]
pub mod http;
mod members;
mod message;
mod name;
pub mod spans;
mod terms;

pub use direct::{Attached, MembersKnown};
pub use escape::{Escaped, escaped};
pub use members::{
    Configuration, MEMBERS_MOST, Member, MemberChange, Members, MembersStatus, NODE_MOST,
    QUORUM_SYSTEMS,
};
pub use message::{
    Call, CallResponse, ClientMessage, Cursor, Failure, HeldLock, HolderChange, LeaseInfo,
    MemberStatus, Mode, NodeStatus, Page, RequestInfo, RequestState, ServerMessage, SessionKey,
    TEXT_MOST, TokenStatus, Validity,
};
pub use name::{BadName, Kind, NAME_MOST, Name};
pub use terms::{ClusterTerms, TermsChange, session_terms};
