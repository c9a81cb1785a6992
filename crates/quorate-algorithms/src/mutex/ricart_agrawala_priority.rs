//! Ricart-Agrawala with priorities in place of stamps: a specimen that lets two processes in.
//!
//! - **Source**: course notes on coordination and consensus (2023/24), which warn of the idea and show the run.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate.
//! - **Guarantees**: claims ME1 to ME3 and violates ME1: a waiting process agrees to a later request of higher
//!   priority, although the other process has agreed to its request before and does not remember it.
//! - **Costs**: 2(n - 1) messages per entry.
//! - **Departs from the paper**: in the rule alone. The greater identifier goes first.

use quorate_core::{Assumption, Layer, Profile, Property, Specimen, Stamp};

use super::ricart_agrawala::{AskEveryone, PriorityRule};

/// One process of the specimen.
pub type RicartAgrawalaPriority = AskEveryone<ByPriority>;

/// The broken rule: the request of the process with the greater identifier goes first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByPriority;

impl PriorityRule for ByPriority {
    const PROFILE: Profile = Profile {
        name: "ricart-agrawala-priority",
        layer: Layer::Mutex,
        summary: "ask everyone, but let priorities decide",
        source: "course notes on coordination and consensus, 2023/24",
        specimen: Some(Specimen {
            breaks: Property::ME1,
            also_breaks: &[Property::ME3],
            why: "a waiting process agrees to any process of higher priority, even to one that has agreed to its request before",
        }),
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2, Property::ME3],
        cost: "2(n - 1) messages per entry",
        never_quiescent: false,
    };

    fn goes_first(mine: Stamp, theirs: Stamp) -> bool {
        mine.process > theirs.process
    }
}
