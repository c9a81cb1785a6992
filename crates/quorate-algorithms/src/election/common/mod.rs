//! What elections have in common: with what a process stands, in which of several elections, and beside whom on a ring.

mod identifier_list;
mod own_identifier;
mod participation;
mod ring;

pub(super) use identifier_list::IdentifierList;
pub(super) use own_identifier::OwnIdentifier;
pub(super) use participation::Participation;
pub(super) use ring::{Direction, Ring};

/// What a kind of message takes on a wire.
pub(super) const KIND_BYTES: u64 = 1;
/// What a number, a process or a time takes.
pub(super) const NUMBER_BYTES: u64 = 8;
/// What an identifier takes: its value and its process.
pub(super) const IDENTIFIER_BYTES: u64 = 2 * NUMBER_BYTES;
