//! Adaptive heartbeat failure detector: a process that was suspected wrongly gets a longer timeout from then on.
//!
//! - **Source**: Chandra and Toueg, "Unreliable Failure Detectors for Reliable Distributed Systems", JACM 43(2), 1996,
//!   section 9.1: an eventually perfect detector for partial synchrony.
//! - **Assumes**: eventual synchrony: from some moment on, message delays have an upper bound. Neither the moment nor
//!   the bound needs to be known. Nothing is lost.
//! - **Guarantees**: completeness and eventual accuracy. Suspicions may be wrong, but each wrong one lengthens a
//!   timeout. Once the timeout exceeds the delay of the slowest heartbeat, that process is not suspected again.
//! - **Costs**: n(n - 1) messages per period. A crash is detected one timeout after the last heartbeat, however long
//!   the timeout has become.
//! - **Departs from the paper**: a mistake doubles the allowed lateness of a heartbeat where the paper adds one, so
//!   that mistakes stop sooner. One timer for the next deadline replaces a test at every tick. A process that recovers
//!   from a crash gets a longer timeout as well, because a recovery cannot be distinguished from a wrong suspicion.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::detector::Detector;
use quorate_core::{
    Assumption, Belief, Cost, DelayBounds, Effects, Kind, Layer, Message, Process, ProcessId,
    Profile, Property, Span, Time,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdaptiveHeartbeat {
    id: ProcessId,
    period: Span,
    /// The leeway and deadline of each process, indexed by process.
    peers: Vec<Peer>,
}

/// Leeway and deadline of another process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Peer {
    /// Allowed lateness of a heartbeat, beyond one period after the previous heartbeat.
    leeway: Span,
    /// When the process will be suspected. `None` if it is suspected already, and for this process itself.
    deadline: Option<Time>,
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
    /// The earliest deadline may have passed.
    Judge,
}

impl AdaptiveHeartbeat {
    /// Creates the detector at process `id` of `n`. It knows no bound and starts with a guess: a heartbeat takes at
    /// most twice the usual delay.
    pub fn with_delay_bounds(n: usize, id: ProcessId, delay_bounds: DelayBounds) -> Self {
        let period = Span(delay_bounds.delay.0.saturating_mul(4)).max(Span(1));
        let leeway = delay_bounds.delay + delay_bounds.delay + Span(1);
        let peer = Peer { leeway, deadline: None };
        Self { id, period, peers: alloc::vec![peer; n] }
    }

    fn beat(&self, out: &mut Effects<Self>) {
        out.send_to_others(Alive);
        out.set_timer(Timer::Beat, self.period);
    }

    /// Sets new deadlines for all processes that are not suspected, with their current leeway, and starts both timers.
    fn begin(&mut self, suspected: &[bool], out: &mut Effects<Self>) {
        for (index, peer) in self.peers.iter_mut().enumerate() {
            let watched = index != self.id.index() && !suspected[index];
            peer.deadline = watched.then(|| out.now() + self.period + peer.leeway);
        }
        self.beat(out);
        self.await_deadline(out);
    }

    fn judge(&mut self, out: &mut Effects<Self>) {
        for (index, peer) in self.peers.iter_mut().enumerate() {
            if peer.deadline.is_some_and(|deadline| deadline <= out.now()) {
                peer.deadline = None;
                out.output(Belief::Crashed(ProcessId::from_index(index)));
            }
        }
        self.await_deadline(out);
    }

    fn await_deadline(&self, out: &mut Effects<Self>) {
        if let Some(next) = self.peers.iter().filter_map(|peer| peer.deadline).min() {
            // Clock and timer may run at different rates, so the earliest deadline may have passed already.
            out.set_timer(Timer::Judge, (next - out.now()).max(Span(1)));
        }
    }
}

impl Detector for AdaptiveHeartbeat {
    fn round(&self) -> Span {
        self.period
    }
}

impl Process for AdaptiveHeartbeat {
    type Command = Infallible;
    type Message = Alive;
    type Timer = Timer;
    type Output = Belief;
    type Misuse = Infallible;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        let nobody = alloc::vec![false; self.peers.len()];
        self.begin(&nobody, out);
    }

    fn on_command(&mut self, command: Infallible, _: &mut Effects<Self>) -> Result<(), Infallible> {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, Alive: Alive, out: &mut Effects<Self>) {
        let Some(peer) = self.peers.get_mut(from.index()) else {
            return out.ignored("a heartbeat of nobody");
        };
        let wrong = peer.deadline.is_none();
        if wrong {
            peer.leeway = peer.leeway + peer.leeway;
            out.output(Belief::Alive(from));
        }
        peer.deadline = Some(out.now() + self.period + peer.leeway);
        // A heartbeat postpones a deadline, so the running timer fires early at worst. Only a process that had no
        // deadline can now have the earliest one.
        if wrong {
            self.await_deadline(out);
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match timer {
            Timer::Beat => self.beat(out),
            Timer::Judge => self.judge(out),
        }
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        let suspected: Vec<bool> = self.peers.iter().map(|peer| peer.deadline.is_none()).collect();
        for (index, _) in suspected.iter().enumerate().filter(|(_, suspected)| **suspected) {
            if index != self.id.index() {
                out.output(Belief::Crashed(ProcessId::from_index(index)));
            }
        }
        self.begin(&suspected, out);
    }
}

impl Message for Alive {
    const KINDS: &'static [Kind] = &[Kind::detector("ALIVE")];

    fn kind(&self) -> usize {
        0
    }

    fn bytes(&self) -> Option<u64> {
        Some(1)
    }
}

impl Algorithm for AdaptiveHeartbeat {
    const PROFILE: Profile = Profile {
        name: "adaptive-heartbeat",
        layer: Layer::Detector,
        summary: "heartbeats to everyone; the timeout of a wrongly suspected process grows",
        source: "Chandra, Toueg, JACM 43(2), 1996, section 9.1",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::EventualSynchrony, Assumption::Honesty],
        guarantees: &[Property::Completeness, Property::EventualAccuracy],
        cost: "n(n - 1) messages a round",
        never_quiescent: true,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::with_delay_bounds(setup.n, id, setup.delay_bounds)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::between("n(n - 1)", 0, n * (n - 1))
    }
}

impl Sound for AdaptiveHeartbeat {}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::Effect;

    #[test]
    fn a_mistake_doubles_the_leeway_of_that_process_only() {
        let delay_bounds = DelayBounds { delay: Span(10), bound: Span(10) };
        let mut p0 = AdaptiveHeartbeat::with_delay_bounds(3, ProcessId::new(0), delay_bounds);
        let [p1, p2] = [1, 2].map(ProcessId::new);
        let mut out = Effects::new(Time::ZERO);
        p0.on_start(&mut out);
        out.set_now(Time(50));
        p0.on_message(p2, Alive, &mut out);
        // A period of 40 and a leeway of 21 have passed without a heartbeat from p1.
        out.set_now(Time(61));
        p0.on_timer(Timer::Judge, &mut out);
        assert!(out.as_slice().contains(&Effect::Output(Belief::Crashed(p1))), "{out:?}");
        assert!(!out.as_slice().contains(&Effect::Output(Belief::Crashed(p2))), "{out:?}");
        p0.on_message(p1, Alive, &mut out);
        assert_eq!(p0.peers[1], Peer { leeway: Span(42), deadline: Some(Time(61 + 40 + 42)) });
        assert_eq!(p0.peers[2].leeway, Span(21));
    }
}
