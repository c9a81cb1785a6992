//! Heartbeat failure detector: every process sends "I am alive" to all others; silence means a crash.
//!
//! - **Source**: Chandra and Toueg, "Unreliable Failure Detectors for Reliable Distributed Systems", JACM 43(2), 1996,
//!   class P under synchrony.
//! - **Assumes**: synchrony: a heartbeat sent every `period` arrives within the bound, so that no interval of
//!   `timeout` >= period + bound is silent while the sender is alive; nothing is lost.
//! - **Guarantees**: strong completeness (a crash is detected within two timeouts and a bound) and, while the
//!   assumptions hold, strong accuracy.
//! - **Costs**: n(n - 1) messages per period.
//! - **Departs from the paper**: one timer and a set of live senders replace one timer per peer, which keeps the state
//!   small enough to be explored. A suspicion is withdrawn when a heartbeat arrives.

use core::convert::Infallible;

use quorate_core::detector::Detector;
use quorate_core::{
    Assumption, Belief, Cost, DelayBounds, Effects, Kind, Layer, Message, Process, ProcessId,
    ProcessSet, Profile, Property, Span,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat {
    id: ProcessId,
    n: usize,
    period: Span,
    timeout: Span,
    heard: ProcessSet,
    suspected: ProcessSet,
}

/// The heartbeat message, "I am alive".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Alive;

/// The timers of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The next heartbeat is due.
    Beat,
    /// Suspects every process that has been silent since the last expiry.
    Judge,
}

impl Heartbeat {
    /// Creates the detector at process `id` of `n`. It sends a heartbeat every `period` and suspects after `timeout`.
    pub fn new(n: usize, id: ProcessId, period: Span, timeout: Span) -> Self {
        assert!(period > Span::ZERO && timeout > Span::ZERO, "a heartbeat takes time");
        Self { id, n, period, timeout, heard: ProcessSet::new(), suspected: ProcessSet::new() }
    }

    /// Creates the detector at process `id` of `n` with the shortest safe timeout: it leaves just enough time
    /// for the slowest heartbeat.
    pub fn with_delay_bounds(n: usize, id: ProcessId, delay_bounds: DelayBounds) -> Self {
        let period = Span(delay_bounds.delay.0.saturating_mul(4));
        Self::new(n, id, period, period + delay_bounds.bound + Span(1))
    }

    fn beat(&self, out: &mut Effects<Self>) {
        out.send_to_others(Alive);
        out.set_timer(Timer::Beat, self.period);
    }

    fn judge(&mut self, out: &mut Effects<Self>) {
        let mut silent = ProcessSet::others(self.n, self.id);
        silent.subtract(&self.heard);
        silent.subtract(&self.suspected);
        for process in &silent {
            out.output(Belief::Crashed(process));
        }
        self.suspected.union_with(&silent);
        self.heard.clear();
        out.set_timer(Timer::Judge, self.timeout);
    }
}

impl Detector for Heartbeat {
    fn round(&self) -> Span {
        self.period
    }
}

impl Process for Heartbeat {
    type Command = Infallible;
    type Message = Alive;
    type Timer = Timer;
    type Output = Belief;
    type Misuse = Infallible;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.beat(out);
        out.set_timer(Timer::Judge, self.timeout);
    }

    fn on_command(&mut self, command: Infallible, _: &mut Effects<Self>) -> Result<(), Infallible> {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, Alive: Alive, out: &mut Effects<Self>) {
        self.heard.insert(from);
        if self.suspected.remove(from) {
            out.output(Belief::Alive(from));
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match timer {
            Timer::Beat => self.beat(out),
            Timer::Judge => self.judge(out),
        }
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.heard.clear();
        self.suspected.iter().for_each(|process| out.output(Belief::Crashed(process)));
        self.on_start(out);
    }
}

impl Message for Alive {
    const KINDS: &'static [Kind] = &[Kind::detector("ALIVE")];

    fn kind(&self) -> usize {
        0
    }
}

impl Algorithm for Heartbeat {
    const PROFILE: Profile = Profile {
        name: "heartbeat",
        layer: Layer::Detector,
        summary: "every process sends heartbeats to all others; silence means a crash",
        source: "Chandra, Toueg, JACM 43(2), 1996",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::Synchrony, Assumption::Honesty],
        guarantees: &[Property::Completeness, Property::Accuracy],
        cost: "n(n - 1) messages a round",
        never_quiescent: true,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::with_delay_bounds(setup.n, id, setup.delay_bounds)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        // A crash just after a heartbeat is detected after a whole timeout of silence: at most two timeouts and a bound.
        let heartbeat = Self::build(setup, ProcessId::new(0));
        let noticed = heartbeat.timeout + heartbeat.timeout + setup.delay_bounds.bound;
        let rounds = noticed.0.div_ceil(heartbeat.period.0);
        Cost::between("n(n - 1)", 0, n * (n - 1)).with_detection(rounds)
    }
}

impl Sound for Heartbeat {}
