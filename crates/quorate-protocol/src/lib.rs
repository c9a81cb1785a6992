//! What clients of a cluster and its nodes say to each other: one place for both sides.
//!
//! A connection begins with [`handshake`], both ways. Then each side writes frames: a length of four bytes and that many
//! bytes of postcard, [`ClientMessage`] from the client and [`ServerMessage`] from the node. The format does not describe itself: variants of
//! enums are only ever appended, and whoever changes one raises the version.

mod direct;
mod escape;
pub mod frame;
pub mod handshake;
mod message;
mod name;
pub mod spans;

pub use direct::Attached;
pub use escape::{Escaped, escaped};
pub use message::{
    Call, CallResponse, ClientMessage, Cursor, Failure, HeldLock, HolderChange, LeaseInfo,
    MemberStatus, Mode, NodeStatus, Page, RequestInfo, RequestState, ServerMessage, SessionKey,
    TEXT_MOST, TokenStatus, Validity,
};
pub use name::{BadName, Kind, NAME_MOST, Name};
