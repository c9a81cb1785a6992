//! Consensus with an unreliable detector: coordinators take turns, and a value that a majority has adopted is decided.
//!
//! - **Source**: Chandra and Toueg, "Unreliable Failure Detectors for Reliable Distributed Systems", JACM
//!   43(2), 1996, figure 6.
//! - **Assumes**: fewer than half of the processes crash, n > 2f, and crashed processes do not recover; links that lose
//!   nothing, in any order; a detector that eventually reports every crash. It may suspect other processes for a while,
//!   as long as from some moment on at least one live process is suspected by no process.
//! - **Guarantees**: agreement and validity regardless of the detector; termination once it stops suspecting wrongly.
//! - **Costs**: (n + 3)(n - 1) messages if no process is suspected: n - 1 of each of ESTIMATE, PROPOSE and ACK, and
//!   DECIDE from every process to every other; four message delays. A process that learns the decision early saves its
//!   ESTIMATE and ACK; a majority sends these in any case.
//! - **Departs from the paper**: a process that has acknowledged waits for the decision before it begins the next
//!   round, until its coordinator abandons the round (NEXT) or is suspected; in the paper it continues immediately. The
//!   reliable broadcast of the decision is written out: a process that receives its first DECIDE forwards it.
//!
//! Safety argument: a value that a majority has adopted in round r is among the estimates of a majority that every
//! later coordinator collects. There it has the latest round of all, so that the coordinator proposes it again.

use core::convert::Infallible;

use quorate_core::agreement::{Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Cost, Effects, Layer, NoMessage, Process, ProcessId, Profile, Property, Route,
    Stack, UpperLayer,
};

use super::rotating::Rotating;
use crate::{Algorithm, Setup, Sound};

/// Consensus on a number by rotating coordinators.
pub type ChandraToueg = Stack<Proposer, Rotating<Value>>;

/// Translates between the common interface of agreements and the rotating coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proposer {
    proposed: bool,
}

/// Outputs of the layer, to the rotating coordinator or to the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ProposerOutput {
    /// Proposes a value to the layer below.
    Propose(Value),
    /// Reports the decided value to the user.
    Decided(Value),
}

impl Process for Proposer {
    type Command = Command;
    type Message = NoMessage;
    type Timer = Infallible;
    type Output = ProposerOutput;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Propose(value): Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if core::mem::replace(&mut self.proposed, true) {
            return Err(Misuse::AlreadyProposed);
        }
        out.output(ProposerOutput::Propose(value));
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: NoMessage, _: &mut Effects<Self>) {
        match message {}
    }
}

impl UpperLayer<Rotating<Value>> for Proposer {
    type Up = Output;

    fn on_lower_output(&mut self, value: Value, out: &mut Effects<Self>) {
        out.output(ProposerOutput::Decided(value));
    }

    fn route(output: ProposerOutput) -> Route<Output, Value> {
        match output {
            ProposerOutput::Propose(value) => Route::Down(value),
            ProposerOutput::Decided(value) => Route::Up(Output::Decided(Decision::Value(value))),
        }
    }
}

impl Algorithm for ChandraToueg {
    const PROFILE: Profile = Profile {
        name: "chandra-toueg",
        layer: Layer::Agreement,
        summary: "coordinators take turns until a majority has adopted a proposal",
        source: "Chandra, Toueg, JACM 43(2), 1996",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewCrashes,
            Assumption::LessThanAHalf,
            Assumption::CrashStop,
            Assumption::EventualDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "(n + 3)(n - 1) messages if no process is suspected",
        never_quiescent: false,
    };

    fn tolerates(n: usize) -> Option<usize> {
        Some((n - 1) / 2)
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(Proposer { proposed: false }, Rotating::new(setup.n, id))
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::between(
            "(n + 3)(n - 1) less up to n - 1",
            (n + 1) * (n - 1) + n / 2 * 2,
            (n + 3) * (n - 1),
        )
        .with_delays(3..=4, 0..=0)
        .with_stored_messages_max(n * (n - 1))
        .without_delays_if_single(setup.n)
    }
}

impl Sound for ChandraToueg {}
