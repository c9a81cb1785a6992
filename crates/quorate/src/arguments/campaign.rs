//! `quorate campaign`: names and flags.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use quorate_lab::campaign::CampaignRequest;
use quorate_lab::shard::Shard;

use crate::memory::MemorySize;

/// `quorate campaign`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate campaign ricart-agrawala --seeds 200
  quorate campaign central -n 2..8 --crashes 1..3 --seeds 100
  quorate campaign maekawa-original --first             stops at the first violation, shrinks it
  quorate campaign maekawa-original --seeds 100 --keep found
  quorate campaign lamport --beyond --seeds 200         losses, crashes, .., and what they break
  quorate campaign quorum --minutes 0.1 --resume quorum.part
  quorate campaign quorum --seeds 400 --shard 1/4 > 1.part   for `quorate merge`

Each seed makes a world inside the algorithm's assumptions: how many processes, delays, the order
of links, who asks when and how often and, where the algorithm bears it, who crashes when and who
notices when. The same flags and seed make the same world, whatever the number of threads.

Violations are put together by their causes. The first world of each is made as small as it gets;
that of the first cause is written to a file for `quorate replay`, with --keep those of all.")]
pub(crate) struct CampaignFlags {
    /// The algorithm; `quorate list` names them
    #[arg(value_parser = super::algorithm_names(), hide_possible_values = true)]
    algorithm: String,
    /// How many seeds, each a run; 1000 if neither this nor --minutes is said
    #[arg(long, value_name = "M")]
    seeds: Option<u64>,
    /// Stop when this time is up
    #[arg(long, value_name = "T")]
    pub(crate) minutes: Option<Minutes>,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// How many processes, both ends included
    #[arg(short = 'n', long = "processes", value_name = "N|LOW..HIGH", default_value = "2..16")]
    processes: CountRange,
    /// How many of them crash; all but one, at most, if not said and the algorithm bears it
    #[arg(long, value_name = "F|LOW..HIGH")]
    crashes: Option<CountRange>,
    /// The quorum system, where the algorithm votes
    #[arg(long, value_name = "SYSTEM")]
    quorums: Option<String>,
    /// Watch a property though it is not promised (repeatable)
    #[arg(long, value_name = "PROPERTY")]
    watch: Vec<String>,
    /// Leave one or two of the algorithm's assumptions in each world, to see what breaks
    #[arg(long)]
    beyond: bool,
    /// Stop at the first violation, which is that of the lowest seed
    #[arg(long)]
    first: bool,
    /// Keep progress in this file, and go on from what it holds
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Run part I of K only and print it for `quorate merge`
    #[arg(long, value_name = "I/K", conflicts_with_all = ["minutes", "keep", "no_shrink"])]
    pub(crate) shard: Option<Shard>,
    /// Threads; as many as there are cores if not said
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,
    /// Memory that all runs together may take, such as 8GiB; most of what is free if not said
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    /// Write a scenario of each cause to this directory, at most 10
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Leave violations as they are, and write none unless --keep is said
    #[arg(long)]
    pub(crate) no_shrink: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl CampaignFlags {
    /// What is asked for.
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
        }
    }
}

/// How many seeds there are if nobody says.
const DEFAULT_SEEDS: u64 = 1_000;

/// A length of real time in minutes: `10`, `0.5`.
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

/// A number, or a range of numbers with both ends: `8`, `2..16`.
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
