//! What elections have in common: with what a process stands, in which of several elections, and beside whom on a ring.

mod part;
mod ring;
mod roll;
mod standing;

pub(super) use part::Part;
pub(super) use ring::{Direction, Ring};
pub(super) use roll::Roll;
pub(super) use standing::Standing;

/// What a kind of message takes on a wire.
pub(super) const KIND_BYTES: u64 = 1;
/// What a number, a process or a time takes.
pub(super) const NUMBER_BYTES: u64 = 8;
/// What an identifier takes: its value and its process.
pub(super) const IDENTIFIER_BYTES: u64 = 2 * NUMBER_BYTES;
