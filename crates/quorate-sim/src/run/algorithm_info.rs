//! Facts about an algorithm that a run needs, apart from the processes.

use quorate_core::{Cost, Kind, Profile};

/// The algorithm to run: its profile, its promised cost in this world, and its kinds of message.
#[derive(Clone, Debug)]
pub struct AlgorithmInfo {
    /// Assumptions and guarantees of the algorithm.
    pub profile: Profile,
    /// Promised cost for this scenario.
    pub cost: Cost,
    /// The kinds of message. They belong to the message type of the processes, but a type-erased message type does not
    /// know them (see [`quorate_core::Erased`]).
    pub kinds: &'static [Kind],
}
