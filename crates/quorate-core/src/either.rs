//! Choice between two types of processes at run time.
//!
//! A layer above such a choice is compiled once for both. Messages and timers keep the type of the chosen process;
//! messages and timers of the other type are ignored.

use core::convert::Infallible;

use crate::detector::Detector;
use crate::{Belief, Effects, Layered, Permission, Process, ProcessId, ProcessSet, Span};

/// One of two processes that have the same outputs and take no commands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Either<A, B> {
    /// A process of the first type.
    First(A),
    /// A process of the second type.
    Second(B),
}

impl<A: Process, B: Process<Output = A::Output>> Either<A, B> {
    fn with_chosen(
        &mut self,
        out: &mut Effects<Self>,
        first: impl FnOnce(&mut A, &mut Effects<A>),
        second: impl FnOnce(&mut B, &mut Effects<B>),
    ) {
        match self {
            Self::First(process) => {
                let mut effects = Effects::new(out.now());
                first(process, &mut effects);
                for effect in effects {
                    match effect.embed(Layered::Upper, Layered::Upper) {
                        Ok(effect) => out.push(effect),
                        Err(output) => out.output(output),
                    }
                }
            }
            Self::Second(process) => {
                let mut effects = Effects::new(out.now());
                second(process, &mut effects);
                for effect in effects {
                    match effect.embed(Layered::Lower, Layered::Lower) {
                        Ok(effect) => out.push(effect),
                        Err(output) => out.output(output),
                    }
                }
            }
        }
    }
}

impl<A: Process, B: Process<Output = A::Output>> Process for Either<A, B> {
    type Command = Infallible;
    type Message = Layered<A::Message, B::Message>;
    type Timer = Layered<A::Timer, B::Timer>;
    type Output = A::Output;
    type Misuse = Infallible;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.with_chosen(out, A::on_start, B::on_start);
    }

    fn on_command(&mut self, command: Infallible, _: &mut Effects<Self>) -> Result<(), Infallible> {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, out: &mut Effects<Self>) {
        const FOREIGN_MESSAGE: &str = "a message of another algorithm";
        match message {
            Layered::Upper(message) => self.with_chosen(
                out,
                |process, out| process.on_message(from, message, out),
                |_, out| out.ignored(FOREIGN_MESSAGE),
            ),
            Layered::Lower(message) => self.with_chosen(
                out,
                |_, out| out.ignored(FOREIGN_MESSAGE),
                |process, out| process.on_message(from, message, out),
            ),
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, out: &mut Effects<Self>) {
        match timer {
            Layered::Upper(timer) => {
                self.with_chosen(out, |process, out| process.on_timer(timer, out), |_, _| ());
            }
            Layered::Lower(timer) => {
                self.with_chosen(out, |_, _| (), |process, out| process.on_timer(timer, out));
            }
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.with_chosen(
            out,
            |process, out| process.on_belief(belief, out),
            |process, out| process.on_belief(belief, out),
        );
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.with_chosen(
            out,
            |process, out| process.on_round_end(round, out),
            |process, out| process.on_round_end(round, out),
        );
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.with_chosen(out, A::on_recovery, B::on_recovery);
    }

    fn waits_for(&self) -> ProcessSet {
        match self {
            Self::First(process) => process.waits_for(),
            Self::Second(process) => process.waits_for(),
        }
    }

    fn permission(&self) -> Permission {
        match self {
            Self::First(process) => process.permission(),
            Self::Second(process) => process.permission(),
        }
    }
}

impl<A: Detector, B: Detector> Detector for Either<A, B> {
    fn round(&self) -> Span {
        match self {
            Self::First(detector) => detector.round(),
            Self::Second(detector) => detector.round(),
        }
    }
}
