//! Crashes drawn from a seed: the same for every algorithm and quorum system.

use quorate_core::{ProcessId, Span, Time};
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, When};
use quorate_sim::random::{Random, Stream};
use quorate_sim::scenario::Requesters;

/// Number of processes that crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failures {
    None,
    One,
    Two,
    Half,
}

/// Crash times are drawn from zero up to this duration, multiplied by the number of requests.
const PER_REQUEST: Span = Span::from_millis(1);

/// Note for the reader about the crashes.
pub(super) const WINDOW: &str = "The processes that crash and the times are drawn for each load, number of failures, \
    number of processes and seed, and are the same for every quorum system and algorithm. Times are uniform over the \
    first third of a run without failures, which lasts three message delays for each request: with one requester, \
    while its REQUESTs are under way, because a crash that becomes known later changes no quorum. The one requester \
    does not crash.";

impl Failures {
    pub(super) const SOME: [Self; 3] = [Self::One, Self::Two, Self::Half];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "0",
            Self::One => "1",
            Self::Two => "2",
            Self::Half => "n/2",
        }
    }

    const fn of(self, n: usize) -> usize {
        match self {
            Self::None => 0,
            Self::One => 1,
            Self::Two => 2,
            Self::Half => n / 2,
        }
    }

    /// Draws the processes that crash among n, and the times. With one requester, process 0, that one does not crash:
    /// nothing would be left to measure.
    pub(super) fn draw(self, n: usize, requesters: Requesters, seed: u64) -> Vec<ProcessAt> {
        let (spared, requests) = match requesters {
            Requesters::One => (1, 1),
            Requesters::All | Requesters::First(_) => (0, n as u64),
        };
        let count = self.of(n);
        // One random sequence for each number of failures and of processes, so that none is a prefix of another.
        let mut random =
            Random::new(seed << 32 | (count as u64) << 16 | n as u64, Stream::Experiment);
        let mut processes: Vec<ProcessId> = ProcessId::all(n).skip(spared).collect();
        let draw = |place: usize| {
            let chosen = place + random.below((processes.len() - place) as u64) as usize;
            processes.swap(place, chosen);
            let time = Time(random.below(requests * PER_REQUEST.0));
            ProcessAt { process: ProcessSelector::Process(processes[place]), at: When::At(time) }
        };
        (0..count).map(draw).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn everyone_may_crash_once_but_the_one_requester() {
        let mut victims = BTreeSet::new();
        for seed in 0..200 {
            for requesters in [Requesters::One, Requesters::All] {
                let crashes = Failures::Half.draw(16, requesters, seed);
                let victims_of_seed: BTreeSet<String> =
                    crashes.iter().map(|crash| format!("{requesters} {}", crash.process)).collect();
                assert_eq!(victims_of_seed.len(), 8, "nobody crashes twice");
                victims.extend(victims_of_seed);
            }
        }
        assert_eq!(victims.len(), 15 + 16);
        assert!(!victims.contains("one 0"));
    }

    #[test]
    fn times_are_within_the_window() {
        for (requesters, end) in [(Requesters::One, 1_000_000), (Requesters::All, 8_000_000)] {
            let times: Vec<u64> = (0..500)
                .flat_map(|seed| Failures::Two.draw(8, requesters, seed))
                .map(|crash| match crash.at {
                    When::At(time) => time.0,
                    When::Between(..) => panic!("a time is drawn"),
                })
                .collect();
            assert!(times.iter().all(|time| *time < end));
            assert!(times.iter().any(|time| *time > end / 10 * 9), "the window is used to its end");
        }
    }
}
