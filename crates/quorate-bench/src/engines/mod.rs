//! Comparison of quorate's simulator and model checker with others: the same work, in one run.
//!
//! The programs for the others are small (`peers/`). They are built and run on demand in a temporary directory, so that
//! their dependencies are not part of the normal build.

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

/// A simulator or model checker of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Model checker in Rust.
    Stateright,
    /// Deterministic simulation runtime in Rust.
    Madsim,
    /// Discrete-event simulator in Python.
    Simpy,
}

impl Engine {
    /// All engines, in the order of comparison.
    pub const ALL: [Self; 3] = [Self::Stateright, Self::Madsim, Self::Simpy];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stateright => "stateright",
            Self::Madsim => "madsim",
            Self::Simpy => "simpy",
        }
    }

    /// Version that is pinned in the program's manifest.
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

/// Workload to simulate or explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineWorkload {
    /// 32 processes in a ring and 128 tokens, each forwarded `hops` times, with uniform delays.
    Ring { hops: u64 },
    /// Ricart and Agrawala with this many processes, each requesting once, with uniform delays.
    RicartAgrawala(usize),
    /// Exploration of Lamport's mutex with three processes and bounded clocks.
    Lamport { clock_most: u8 },
}

impl EngineWorkload {
    /// A multiple of the ring's length, so that every process receives the same number of tokens.
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

    /// Number of deliveries or states of a run, which is the same for every engine.
    fn amount(self) -> u64 {
        match self {
            Self::Ring { hops } => ring::TOKENS as u64 * hops,
            Self::RicartAgrawala(n) => 2 * n as u64 * (n as u64 - 1),
            // As counted by TLC. For the smaller bounds of tests, as counted by our checker.
            Self::Lamport { clock_most: 6 } => 724_274,
            Self::Lamport { .. } => ours::states(self),
        }
    }
}

/// Result of one workload for quorate and another engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineResult {
    /// Title of the workload, with what is counted.
    pub work: String,
    /// Engine that quorate is compared with.
    pub engine: Engine,
    /// Search mode, if the engine has several.
    #[serde(rename = "way")]
    pub mode: &'static str,
    /// Rate of quorate, per second.
    pub ours: f64,
    /// Rate of the other engine, per second.
    pub theirs: f64,
}

/// Results of all engines.
#[derive(Clone, Debug, Default)]
pub struct EngineComparison {
    /// Results of the engines that ran.
    pub results: Vec<EngineResult>,
    /// Engines that could not run, with the reason.
    pub absent: Vec<(Engine, Absent)>,
}

/// Builds and runs all engines in sequence. Each workload lasts about `time`. `progress` receives the next step.
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
        // Each of these asserts the expected number of deliveries or states.
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
