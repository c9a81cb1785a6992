//! Two processes that run in parallel as one process, for a layer above that uses both.
//!
//! Commands, messages and timers go to one of the two. Beliefs, round ends and recoveries go to both. The type is
//! defined here and not next to `Stack` because of coherence: `UpperLayer` has a blanket implementation for all
//! detectors, and only the crate that owns a type can rely on it not being a detector.

use core::fmt;

use quorate_core::{Belief, Effects, Layered, Permission, Process, ProcessId, ProcessSet};

/// Two processes that run in parallel, without interacting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parallel<L, R> {
    left: L,
    right: R,
}

/// A command, output or error of one of the two processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Side<L, R> {
    /// Belongs to the left process.
    Left(L),
    /// Belongs to the right process.
    Right(R),
}

impl<L: Process, R: Process> Parallel<L, R> {
    /// Combines two processes into one.
    pub const fn new(left: L, right: R) -> Self {
        Self { left, right }
    }

    fn with_left<A>(
        &mut self,
        out: &mut Effects<Self>,
        step: impl FnOnce(&mut L, &mut Effects<L>) -> A,
    ) -> A {
        let mut effects = Effects::new(out.now());
        let result = step(&mut self.left, &mut effects);
        for effect in effects {
            match effect.embed(Layered::Upper, Layered::Upper) {
                Ok(effect) => out.push(effect),
                Err(output) => out.output(Side::Left(output)),
            }
        }
        result
    }

    fn with_right<A>(
        &mut self,
        out: &mut Effects<Self>,
        step: impl FnOnce(&mut R, &mut Effects<R>) -> A,
    ) -> A {
        let mut effects = Effects::new(out.now());
        let result = step(&mut self.right, &mut effects);
        for effect in effects {
            match effect.embed(Layered::Lower, Layered::Lower) {
                Ok(effect) => out.push(effect),
                Err(output) => out.output(Side::Right(output)),
            }
        }
        result
    }
}

impl<L: Process, R: Process> Process for Parallel<L, R> {
    type Command = Side<L::Command, R::Command>;
    type Message = Layered<L::Message, R::Message>;
    type Timer = Layered<L::Timer, R::Timer>;
    type Output = Side<L::Output, R::Output>;
    type Misuse = Side<L::Misuse, R::Misuse>;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.with_left(out, L::on_start);
        self.with_right(out, R::on_start);
    }

    fn on_command(
        &mut self,
        command: Self::Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Self::Misuse> {
        match command {
            Side::Left(command) => {
                self.with_left(out, |left, out| left.on_command(command, out)).map_err(Side::Left)
            }
            Side::Right(command) => self
                .with_right(out, |right, out| right.on_command(command, out))
                .map_err(Side::Right),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, out: &mut Effects<Self>) {
        match message {
            Layered::Upper(message) => {
                self.with_left(out, |left, out| left.on_message(from, message, out));
            }
            Layered::Lower(message) => {
                self.with_right(out, |right, out| right.on_message(from, message, out));
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, out: &mut Effects<Self>) {
        match timer {
            Layered::Upper(timer) => self.with_left(out, |left, out| left.on_timer(timer, out)),
            Layered::Lower(timer) => self.with_right(out, |right, out| right.on_timer(timer, out)),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.with_left(out, |left, out| left.on_belief(belief, out));
        self.with_right(out, |right, out| right.on_belief(belief, out));
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.with_left(out, |left, out| left.on_round_end(round, out));
        self.with_right(out, |right, out| right.on_round_end(round, out));
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.with_left(out, L::on_recovery);
        self.with_right(out, R::on_recovery);
    }

    fn waits_for(&self) -> ProcessSet {
        &self.left.waits_for() | &self.right.waits_for()
    }

    fn permission(&self) -> Permission {
        match self.left.permission() {
            Permission::Free => self.right.permission(),
            left => left,
        }
    }
}

/// Displays the value itself, without naming the side.
impl<L: fmt::Display, R: fmt::Display> fmt::Display for Side<L, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left(left) => left.fmt(f),
            Self::Right(right) => right.fmt(f),
        }
    }
}
