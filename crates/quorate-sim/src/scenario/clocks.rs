//! Clocks of the machines: each may have an offset at the start and may run too fast or too slow.
//!
//! A clock shows whole nanoseconds since some epoch, and is never negative. A clock may be behind at the start.
//! Therefore a true clock starts ahead of zero, by the maximum amount that any clock may be behind.

use quorate_core::{Drift, Offset, ProcessId, ProcessSet, Time};

use super::description::Scenario;
use super::local_clock::LocalClock;
use crate::random::{Random, Stream};

/// The clocks of a run, with everything drawn that was left to the seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Time that a true clock shows at the start.
    pub start: Time,
    /// Maximum drift of any clock, known to every process.
    pub drift: Drift,
    /// The clocks that are not true.
    pub wrong: Vec<LocalClock>,
}

impl Clocks {
    /// Creates the clocks of a scenario. The scenario names some of them. Other clocks are drawn from the seed, except
    /// those of the processes in `right`, which are true.
    pub fn new(scenario: &Scenario, right: &ProcessSet) -> Self {
        let mut random = Random::new(scenario.seed, Stream::Clocks);
        let (offset_most, drift_most) = (scenario.clock_offset.0.0, scenario.clock_drift.0.0.abs());
        let mut draw = |most: u64| random.between(0, 2 * most) as i64 - most as i64;
        let named = &scenario.local_clock;
        let mut wrong = Vec::new();
        // Nothing to draw: avoid a loop over a large number of processes.
        let drawn = if offset_most > 0 || drift_most > 0 { scenario.processes } else { 0 };
        for process in ProcessId::all(drawn) {
            let (offset, drift) = (Offset(draw(offset_most)), Drift(draw(drift_most as u64)));
            if !right.contains(process) && named.iter().all(|clock| clock.process != process) {
                wrong.push(LocalClock { process, offset, drift });
            }
        }
        wrong.extend(named);
        wrong.retain(|clock| clock.offset != Offset::ZERO || clock.drift != Drift::NONE);
        let behind = named.iter().map(|clock| clock.offset.0.min(0).unsigned_abs());
        let start = Time(behind.max().unwrap_or(0).max(offset_most));
        let drift = Drift(named.iter().map(|clock| clock.drift.0.abs()).fold(drift_most, i64::max));
        Self { start, drift, wrong }
    }

    /// Time that a true clock shows at a moment of virtual time.
    pub fn right(&self, at: Time) -> Time {
        Time(self.start.0.saturating_add(at.0))
    }
}

impl Scenario {
    /// Clocks of the machines in a run without time servers.
    pub fn local_clocks(&self) -> Clocks {
        Clocks::new(self, &ProcessSet::new())
    }

    /// The time servers: `servers`, or `server` alone.
    pub fn time_servers(&self) -> ProcessSet {
        match &self.servers {
            Some(servers) => servers.0.clone(),
            None => ProcessSet::from_iter([ProcessId::new(self.server)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::notation::{DriftText, SpanText};
    use quorate_core::Span;

    #[test]
    fn the_seed_draws_all_but_the_named_and_the_right() {
        let mut scenario = Scenario::new("cristian", 5);
        scenario.clock_offset = SpanText(Span(1_000));
        scenario.clock_drift = DriftText(Drift(50));
        scenario.local_clock = vec!["1:-7us:+90ppb".parse().unwrap()];
        let right = ProcessSet::from_iter([ProcessId::new(0)]);
        let clocks = Clocks::new(&scenario, &right);
        assert_eq!((clocks.start, clocks.drift), (Time(7_000), Drift(90)));
        let numbers: Vec<u32> = clocks.wrong.iter().map(|clock| clock.process.number()).collect();
        assert_eq!(numbers, [2, 3, 4, 1]);
        let within =
            |clock: &&LocalClock| clock.offset.0.abs() <= 1_000 && clock.drift.0.abs() <= 50;
        assert_eq!(clocks.wrong.iter().filter(within).count(), 3);
        assert_eq!(clocks, Clocks::new(&scenario, &right));
    }
}
