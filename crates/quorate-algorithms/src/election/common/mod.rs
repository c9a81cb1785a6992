//! Parts shared by the elections: identifiers, numbered elections, and positions on a ring.

mod identifier_list;
mod own_identifier;
mod participation;
mod ring;

pub(super) use identifier_list::IdentifierList;
pub(super) use own_identifier::OwnIdentifier;
pub(super) use participation::Participation;
pub(super) use ring::{Direction, Ring};

/// Encoded size of the message kind.
pub(super) const KIND_BYTES: u64 = 1;
/// Encoded size of a number, a process or a time.
pub(super) const NUMBER_BYTES: u64 = 8;
/// Encoded size of an identifier: its value and its process.
pub(super) const IDENTIFIER_BYTES: u64 = 2 * NUMBER_BYTES;
