//! quorate's simulator and checker beside others: the same work, in one run.
//!
//! The programs of others are small ones (`peers/`), which are built and run on the spot in a temporary folder, so that
//! nobody has to compile what only this needs.

#[path = "../../peers/stateright/lamport.rs"]
mod lamport;
mod ours;
mod programs;
mod ring;
mod tables;

use std::time::Duration;

use serde::Serialize;

use crate::peers::Absent;
use programs::Program;

/// A simulator or checker that others made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// A checker, in Rust.
    Stateright,
    /// A deterministic runtime, in Rust.
    Madsim,
    /// A simulator, in Python.
    Simpy,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Stateright, Self::Madsim, Self::Simpy];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stateright => "stateright",
            Self::Madsim => "madsim",
            Self::Simpy => "simpy",
        }
    }

    /// Its version, which is written into what is built.
    pub fn version(self) -> &'static str {
        match self {
            Self::Stateright => "0.31.0",
            Self::Madsim => "0.2.34",
            Self::Simpy => "4.1.2",
        }
    }

    fn workloads(self) -> &'static [EngineWorkload] {
        match self {
            Self::Stateright => &[EngineWorkload::LAMPORT],
            Self::Madsim | Self::Simpy => &[
                EngineWorkload::RING,
                EngineWorkload::RicartAgrawala(64),
                EngineWorkload::RicartAgrawala(256),
            ],
        }
    }
}

/// What is simulated or explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineWorkload {
    /// 32 processes in a ring and 128 tokens, each passed on so many times, with uniform delays.
    Ring { hops: u64 },
    /// So many processes of Ricart and Agrawala, each asking once, with uniform delays.
    RicartAgrawala(usize),
    /// Lamport's mutex among three, with clocks up to a bound, explored.
    Lamport { clock_most: u8 },
}

impl EngineWorkload {
    /// A multiple of the ring's length, so that every process gets as many tokens.
    const RING: Self = Self::Ring { hops: 3_200 };
    const LAMPORT: Self = Self::Lamport { clock_most: 6 };

    fn title(self) -> String {
        match self {
            Self::Ring { .. } => {
                format!("ring of {}, {} tokens, deliveries/s", ring::PROCESSES, ring::TOKENS)
            }
            Self::RicartAgrawala(n) => format!("Ricart-Agrawala, n = {n}, deliveries/s"),
            Self::Lamport { clock_most } => {
                format!("Lamport's mutex, N = 3, clocks to {clock_most}, states/s")
            }
        }
    }

    /// How many deliveries or states there are in a run, whoever does it.
    fn amount(self) -> u64 {
        match self {
            Self::Ring { hops } => ring::TOKENS as u64 * hops,
            Self::RicartAgrawala(n) => 2 * n as u64 * (n as u64 - 1),
            // As TLC counts them; with the smaller bound that tests use, as we do.
            Self::Lamport { clock_most: 6 } => 724_274,
            Self::Lamport { .. } => ours::states(self),
        }
    }
}

/// The same work by ours and by another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineResult {
    /// Which work, and what is counted.
    pub work: String,
    /// Who else did it.
    pub engine: Engine,
    /// In which way, if it has several.
    #[serde(rename = "way")]
    pub mode: &'static str,
    /// Of ours, in a second.
    pub ours: f64,
    /// Of the other, in a second.
    pub theirs: f64,
}

/// All laps.
#[derive(Clone, Debug, Default)]
pub struct EngineComparison {
    /// What was measured.
    pub results: Vec<EngineResult>,
    /// Who did not take part, and why.
    pub absent: Vec<(Engine, Absent)>,
}

/// Builds and runs them one after the other; each piece of work lasts about so long. `progress` hears what is done next.
pub async fn compare(
    engines: &[Engine],
    time: Duration,
    mut progress: impl FnMut(&str),
) -> EngineComparison {
    let mut comparison = EngineComparison::default();
    let mut known: Vec<(EngineWorkload, f64)> = Vec::new();
    for engine in engines {
        progress(&format!("{}: builds", engine.name()));
        let program = match Program::build(*engine).await {
            Ok(program) => program,
            Err(absent) => {
                comparison.absent.push((*engine, absent));
                continue;
            }
        };
        for work in engine.workloads() {
            let ours = match known.iter().find(|(done, _)| done == work) {
                Some((_, rate)) => *rate,
                None => {
                    progress(&format!("quorate: {}", work.title()));
                    let rate = ours::rate(*work, time);
                    known.push((*work, rate));
                    rate
                }
            };
            progress(&format!("{}: {}", engine.name(), work.title()));
            match program.rates(*work, time).await {
                Ok(rates) => comparison.results.extend(rates.into_iter().map(|(mode, theirs)| {
                    EngineResult { work: work.title(), engine: *engine, mode, ours, theirs }
                })),
                Err(error) => comparison.absent.push((*engine, error.into())),
            }
        }
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_do_all_of_the_work() {
        // Each of these makes sure that there are as many deliveries or states as there must be.
        for work in [EngineWorkload::Ring { hops: 32 }, EngineWorkload::RicartAgrawala(8)] {
            assert!(ours::rate(work, Duration::ZERO) > 0.0);
        }
        assert!(ours::rate(EngineWorkload::Lamport { clock_most: 3 }, Duration::ZERO) > 0.0);
    }

    #[test]
    fn versions_are_those_of_the_manifests() {
        for engine in [Engine::Stateright, Engine::Madsim] {
            let pinned = format!("\"={}\"", engine.version());
            let files = programs::sources(engine);
            assert!(files.iter().any(|(_, text)| text.contains(&pinned)), "{}", engine.name());
        }
    }
}
