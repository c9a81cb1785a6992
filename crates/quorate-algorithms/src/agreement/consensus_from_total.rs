//! Consensus from total order: every process multicasts its proposal, and the first one delivered is decided.
//!
//! - **Source**: Chandra and Toueg, JACM 43(2), 1996, section 7: consensus and atomic broadcast are equivalent;
//!   described by Coulouris et al., 5th edition, section 15.5.
//! - **Assumes**: the same as the total order below, here the sequencer's: a perfect detector; any process may crash,
//!   and crashed processes do not recover; links that lose nothing.
//! - **Guarantees**: agreement, because all deliver the same message first; validity and termination, because every
//!   multicast message is delivered.
//! - **Costs**: nothing of its own; below it n multicasts in total order, n - 1 or n messages each.
//! - **Departs from the paper**: nowhere. It works over any multicast in total order; this one is over the sequencer.

use core::convert::Infallible;

use quorate_core::agreement::{Command, Decision, Misuse, Output, Value};
use quorate_core::multicast::{self, Group};
use quorate_core::{
    Assumption, Cost, Effects, Layer, NoMessage, Process, ProcessId, Profile, Property, Route,
    Stack, UpperLayer,
};

use crate::multicast::TotalSequencer;
use crate::{Algorithm, Setup, Sound};

/// Consensus over the sequencer's total order.
pub type ConsensusFromTotal = Stack<FirstDelivered, TotalSequencer<Value>>;

/// Decides the value that is delivered first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FirstDelivered {
    proposed: bool,
    decided: bool,
}

/// Outputs of the layer, to the multicast below or to the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FirstDeliveredOutput {
    /// Multicasts a value in total order.
    Multicast(Value),
    /// Reports the decided value to the user.
    Decide(Value),
}

impl Process for FirstDelivered {
    type Command = Command;
    type Message = NoMessage;
    type Timer = Infallible;
    type Output = FirstDeliveredOutput;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Propose(value): Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if core::mem::replace(&mut self.proposed, true) {
            return Err(Misuse::AlreadyProposed);
        }
        out.output(FirstDeliveredOutput::Multicast(value));
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: NoMessage, _: &mut Effects<Self>) {
        match message {}
    }
}

impl UpperLayer<TotalSequencer<Value>> for FirstDelivered {
    type Up = Output;

    fn on_lower_output(
        &mut self,
        multicast::Output::Delivered { body, .. }: multicast::Output<Value>,
        out: &mut Effects<Self>,
    ) {
        if !core::mem::replace(&mut self.decided, true) {
            out.output(FirstDeliveredOutput::Decide(body));
        }
    }

    fn route(output: FirstDeliveredOutput) -> Route<Output, multicast::Command<Value>> {
        match output {
            FirstDeliveredOutput::Multicast(body) => {
                Route::Down(multicast::Command::Multicast { id: 0, to: Group::All, body })
            }
            FirstDeliveredOutput::Decide(value) => {
                Route::Up(Output::Decided(Decision::Value(value)))
            }
        }
    }
}

impl Algorithm for ConsensusFromTotal {
    const PROFILE: Profile = Profile {
        name: "consensus-from-total",
        layer: Layer::Agreement,
        summary: "the value that is delivered first in total order is decided",
        source: "Chandra, Toueg, JACM 43(2), 1996",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "none of its own; below it n multicasts in total order",
        never_quiescent: false,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(FirstDelivered::default(), TotalSequencer::new(setup.n, id, setup.server))
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        // The sequencer's own proposal is the first if all processes propose at the same time.
        Cost::exact("0", 0).with_delays(0..=2, 0..=0).with_stored_messages_max(n * n)
    }
}

impl Sound for ConsensusFromTotal {}
