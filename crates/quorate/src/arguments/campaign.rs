//! `quorate campaign`: names and flags.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::memory::Memory;

/// `quorate campaign`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate campaign ricart-agrawala --seeds 200
  quorate campaign central -n 2..8 --crashes 1..3 --seeds 100
  quorate campaign maekawa-original --seeds 100 --keep .
  quorate campaign agrawal-el-abbadi --quorums majority --seeds 100 --json

Each seed makes a world inside the algorithm's assumptions: how many processes, delays, the order
of links, who asks when and how often and, where the algorithm bears it, who crashes when and who
notices when. The same flags and seed make the same world, whatever the number of threads.")]
pub(crate) struct Campaign {
    /// The algorithm; `quorate list` names them
    #[arg(value_parser = super::algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,
    /// How many seeds, each a run
    #[arg(long, value_name = "M", default_value_t = 1000)]
    pub(crate) seeds: u64,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many processes, both ends included
    #[arg(short = 'n', long = "processes", value_name = "N|LOW..HIGH", default_value = "2..16")]
    pub(crate) processes: Between,
    /// How many of them crash; all but one, at most, if not said and the algorithm bears it
    #[arg(long, value_name = "F|LOW..HIGH")]
    pub(crate) crashes: Option<Between>,
    /// The quorum system, where the algorithm votes
    #[arg(long, value_name = "SYSTEM")]
    pub(crate) quorums: Option<String>,
    /// Watch a property though it is not promised (repeatable)
    #[arg(long, value_name = "PROPERTY")]
    pub(crate) watch: Vec<String>,
    /// Threads; as many as there are cores if not said
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,
    /// Memory that all runs together may take, such as 8GiB; most of what is free if not said
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Memory>,
    /// Write the scenarios of violations to this directory, at most 10
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A number, or a range of numbers with both ends: `8`, `2..16`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Between(pub(crate) RangeInclusive<usize>);

impl FromStr for Between {
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
