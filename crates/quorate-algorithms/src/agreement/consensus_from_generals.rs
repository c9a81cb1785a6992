//! Consensus from Byzantine generals: agree on the vector of all proposals, then decide its most frequent value.
//!
//! - **Source**: Coulouris, Dollimore, Kindberg and Blair, "Distributed Systems: Concepts and Design", 5th edition,
//!   section 15.5, on how the problems of agreement reduce to each other.
//! - **Assumes**: synchronous rounds; no message is lost; at most m processes lie or crash, and n > 3m.
//! - **Guarantees**: agreement and termination; validity: a value that all correct processes propose is decided, and
//!   without liars the decided value was proposed.
//! - **Costs**: the cost of interactive consistency, and nothing more; m + 1 rounds.
//! - **Departs from the paper**: if no value has a majority, the most frequent one is decided, and the least of several.

use core::cmp::Reverse;
use core::convert::Infallible;

use quorate_core::agreement::{Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Cost, Effects, Kind, Layer, Message, Process, ProcessId, Profile, Property, Route, SortedMap,
    Stack, UpperLayer,
};

use super::interactive_consistency::InteractiveConsistency;
use crate::{Algorithm, Setup, Sound};

/// One process: the choice of a value over interactive consistency.
pub type ConsensusFromGenerals = Stack<MostFrequent, InteractiveConsistency>;

/// Chooses one value of a vector. It sends no messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MostFrequent;

/// Outputs of the layer, to interactive consistency or to the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MostFrequentOutput {
    /// Proposes a value for this process's entry of the vector.
    Propose(Value),
    /// Passes an output on to the user.
    ToUser(Output),
}

/// The empty message type: this layer sends none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NoMessage {}

impl Message for NoMessage {
    const KINDS: &'static [Kind] = &[];

    fn kind(&self) -> usize {
        match *self {}
    }
}

impl Process for MostFrequent {
    type Command = Command;
    type Message = NoMessage;
    type Timer = Infallible;
    type Output = MostFrequentOutput;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        let Command::Propose(value) = command;
        out.output(MostFrequentOutput::Propose(value));
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: NoMessage, _: &mut Effects<Self>) {
        match message {}
    }
}

impl UpperLayer<InteractiveConsistency> for MostFrequent {
    type Up = Output;

    fn on_lower_output(&mut self, output: Output, out: &mut Effects<Self>) {
        let output = match output {
            Output::Decided(Decision::Vector(entries)) => match most_frequent(&entries) {
                Some(value) => Output::Decided(Decision::Value(value)),
                None => return out.ignored("a vector without a value"),
            },
            other => other,
        };
        out.output(MostFrequentOutput::ToUser(output));
    }

    fn route(output: MostFrequentOutput) -> Route<Output, Command> {
        match output {
            MostFrequentOutput::Propose(value) => Route::Down(Command::Propose(value)),
            MostFrequentOutput::ToUser(output) => Route::Up(output),
        }
    }
}

/// The most frequent value, and the least of several equally frequent ones.
fn most_frequent(entries: &[Option<Value>]) -> Option<Value> {
    let mut counts: SortedMap<Value, u64> = SortedMap::new();
    for value in entries.iter().flatten() {
        *counts.entry(*value).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(value, count)| (*count, Reverse(*value)))
        .map(|(value, _)| value)
}

impl Algorithm for ConsensusFromGenerals {
    const PROFILE: Profile = Profile {
        name: "consensus-from-generals",
        layer: Layer::Agreement,
        summary: "interactive consistency below; the most frequent value of the vector is decided",
        source: "Coulouris et al., Distributed Systems, 5th edition, section 15.5",
        specimen: None,
        assumes: InteractiveConsistency::PROFILE.assumes,
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "n times the messages of byzantine-generals, m + 1 rounds",
        never_quiescent: false,
    };

    const IN_ROUNDS: bool = true;

    fn tolerates(n: usize) -> Option<usize> {
        InteractiveConsistency::tolerates(n)
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(MostFrequent, InteractiveConsistency::build(setup, id))
    }

    fn cost(setup: &Setup) -> Cost {
        InteractiveConsistency::cost(setup)
    }
}

impl Sound for ConsensusFromGenerals {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_the_most_frequent_values() {
        let entry = |value: u64| Some(Value(value));
        assert_eq!(most_frequent(&[entry(5), entry(3), entry(5)]), entry(5));
        assert_eq!(most_frequent(&[entry(5), None, entry(3)]), entry(3));
        assert_eq!(most_frequent(&[None, None]), None);
    }
}
