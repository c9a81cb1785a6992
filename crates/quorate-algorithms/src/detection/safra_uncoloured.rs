//! Safra's termination detection without colours: the token only adds up counters. A specimen that announces the end too early.
//!
//! - **Source**: Dijkstra, "Shmuel Safra's version of termination detection", EWD 998, 1987, whose colours are left out.
//! - **Assumes**: links that lose nothing and duplicate nothing; no crashes. Any order of messages on a link.
//! - **Guarantees**: claims no-false-detection and eventual-detection, and breaks the first. A process behind the token receives a message
//!   and sends another one to a process before the token. The token counts the first sending and the second receipt, which cancel each
//!   other, although the process behind it is active.
//! - **Costs**: n TOKENs for each round.
//! - **Departs from the paper**: processes and the token have no colours.

use quorate_core::{Assumption, Layer, Profile, Property, Specimen};

use super::safra::{Colouring, TokenProbe};

/// One process of the specimen.
pub type SafraUncoloured = TokenProbe<Uncoloured>;

/// The broken rule: a process that receives a message stays white.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Uncoloured;

impl Colouring for Uncoloured {
    const PROFILE: Profile = Profile {
        name: "safra-uncoloured",
        layer: Layer::Detection,
        summary: "the same without colours: the token only adds up counters",
        source: "Dijkstra, EWD 998, 1987, without its colours",
        specimen: Some(Specimen {
            breaks: Property::NoFalseDetection,
            also_breaks: &[],
            why: "behind the token a process is activated and sends ahead of it, and the counters cancel out",
        }),
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::NoFalseDetection, Property::EventualDetection],
        cost: "n tokens per round",
        never_quiescent: false,
    };

    const BLACKENS: bool = false;
}
