//! `quorate campaign`: names and flags.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use quorate_lab::campaign::CampaignRequest;
use quorate_lab::shard::Shard;

use crate::memory::MemorySize;

/// Flags of `quorate campaign`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate campaign ricart-agrawala --seeds 200
  quorate campaign central -n 2..8 --crashes 1..3 --seeds 100
  quorate campaign maekawa-original --first                 Stop at the first violation
  quorate campaign maekawa-original --seeds 100 --save found
  quorate campaign lamport --beyond --seeds 200             Break the assumptions of the algorithm
  quorate campaign quorum --minutes 0.1 --resume quorum.part
  quorate campaign quorum --seeds 400 --shard 1/4 > 1.part  Run one part, for `quorate merge`

Each seed generates a scenario inside the assumptions of the algorithm: the number of processes, \
delays, the order of links, requests and, if the algorithm tolerates them, crashes and the times at \
which they are detected, and recoveries. The same flags and seed generate the same scenario, regardless of the \
number of threads.

Violations are grouped by cause. The first scenario of each cause is reduced to a minimal one. \
--save writes it to a file for `quorate replay`; without it no file is written, and the command \
that finds the cause again is printed.")]
pub(crate) struct CampaignFlags {
    /// Algorithm to run; `quorate list` lists them all
    #[arg(value_parser = super::algorithm_names(), hide_possible_values = true)]
    algorithm: String,
    /// Number of seeds, one run each [default: 1000, or unlimited with --minutes]
    #[arg(long, value_name = "M")]
    seeds: Option<u64>,
    /// Stop after this many minutes
    #[arg(long, value_name = "T")]
    pub(crate) minutes: Option<Minutes>,
    /// First seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Number of processes, or an inclusive range
    #[arg(short = 'n', long = "processes", value_name = "N|LOW..HIGH", default_value = "2..16")]
    processes: CountRange,
    /// Number of crashes, or an inclusive range [default: as many as the algorithm tolerates, at most all processes but
    /// one]
    #[arg(long, value_name = "F|LOW..HIGH")]
    crashes: Option<CountRange>,
    /// Quorum system, if the algorithm votes: vcube, tree, grid, grid-fixed, grid-rebuilt, wall, majority, majority-live or
    /// plane [default: depends on the algorithm]
    #[arg(long, value_name = "SYSTEM")]
    quorums: Option<String>,
    /// Check a property even if the algorithm does not promise it (repeatable)
    #[arg(long, value_name = "PROPERTY")]
    watch: Vec<String>,
    /// Break one or two assumptions of the algorithm in each run, to see which properties are violated
    #[arg(long)]
    beyond: bool,
    /// Compare every step with the proved model of the algorithm
    #[arg(long, conflicts_with = "beyond")]
    conform: bool,
    /// Stop at the first violation, the one with the lowest seed
    #[arg(long)]
    first: bool,
    /// Save progress in this file, and continue from it if it exists
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Run only part I of K, and print it for `quorate merge`
    #[arg(long, value_name = "I/K", conflicts_with_all = ["minutes", "save", "no_shrink"])]
    pub(crate) shard: Option<Shard>,
    /// Number of threads [default: the number of cores]
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,
    /// Memory limit of all runs together, such as 8GiB [default: three quarters of the available memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    /// Write a scenario of each cause to this directory, at most 10
    #[arg(long, value_name = "DIR", alias = "keep")]
    pub(crate) save: Option<PathBuf>,
    /// Do not shrink violations
    #[arg(long)]
    pub(crate) no_shrink: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl CampaignFlags {
    /// Campaign that the flags describe.
    pub(crate) fn request(&self) -> CampaignRequest {
        let ends = |range: &CountRange| [*range.0.start(), *range.0.end()];
        let default_seeds =
            if self.minutes.is_some() { u64::MAX - self.seed } else { DEFAULT_SEEDS };
        CampaignRequest {
            algorithm: self.algorithm.clone(),
            seed: self.seed,
            seeds: self.seeds.unwrap_or(default_seeds),
            processes: ends(&self.processes),
            crashes: self.crashes.as_ref().map(ends),
            quorums: self.quorums.clone(),
            watch: self.watch.clone(),
            break_assumptions: self.beyond,
            stop_at_violation: self.first,
            follows_model: self.conform,
        }
    }
}

/// Default number of seeds.
const DEFAULT_SEEDS: u64 = 1_000;

/// Duration in minutes of real time: `10`, `0.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Minutes(pub(crate) Duration);

impl FromStr for Minutes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        const MOST: f64 = 1e6;
        let minutes = text.parse().ok().filter(|minutes| *minutes > 0.0 && *minutes <= MOST);
        let error = || "expected a number of minutes such as 10 or 0.5".to_owned();
        minutes.map(|minutes: f64| Self(Duration::from_secs_f64(minutes * 60.0))).ok_or_else(error)
    }
}

/// Number, or inclusive range of numbers: `8`, `2..16`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountRange(pub(crate) RangeInclusive<usize>);

impl FromStr for CountRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let error = || "expected a number such as 8 or a range such as 2..16".to_owned();
        let number = |text: &str| text.parse::<usize>().map_err(|_| error());
        let (low, high) = match text.split_once("..") {
            Some((low, high)) => (number(low)?, number(high)?),
            None => (number(text)?, number(text)?),
        };
        if low > high { Err(error()) } else { Ok(Self(low..=high)) }
    }
}
