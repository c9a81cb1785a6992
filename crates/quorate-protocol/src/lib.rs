//! What clients of a cluster and its nodes say to each other: one place for both sides.
//!
//! A connection begins with [`greeting`], both ways. Then each side writes frames: a length of four bytes and that many
//! bytes of postcard, [`Ask`] from the client and [`Say`] from the node. The format does not describe itself: variants of
//! enums are only ever appended, and whoever changes one raises the version.

mod direct;
mod escape;
pub mod frame;
pub mod greeting;
mod name;
pub mod spans;
mod talk;

pub use direct::Attached;
pub use escape::{Escaped, escaped};
pub use name::{BadName, Kind, NAME_MOST, Name};
pub use talk::{
    About, Answer, Ask, Call, Change, Cursor, Failure, Held, Life, MemberStatus, Mode, NodeStatus,
    Page, Reliance, Say, SessionKey, Standing, TEXT_MOST, TokenStanding,
};
