//! The flags of `quorate experiment`.

use std::path::PathBuf;

use clap::Args;
use quorate_lab::experiment::Options;
use quorate_lab::shard::Shard;

/// `quorate experiment`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate experiment                                   what there is
  quorate experiment mutex-cost --up-to 32             a smaller one, in a second
  quorate experiment mutex-cost --svg charts/ --csv cost.csv
  quorate experiment thesis --up-to 64                 a published study, in seconds
  quorate experiment mutex-cost --up-to 8 --shard 1/2 > 1.part   for `quorate merge`
  quorate experiment verification --up-to 2 --seeds 100 --markdown shown.md
  quorate experiment mutex-faults --json | jq -r '.rows[] | select(.blocks > 0) | .replay'")]
pub(crate) struct ExperimentFlags {
    /// Its name; without one, what there is
    pub(crate) name: Option<String>,
    /// List what there is
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,
    /// How many seeds, counted from 0; as many as the experiment takes usually if not said
    #[arg(long, value_name = "M")]
    seeds: Option<u64>,
    /// The largest number of processes, where it grows
    #[arg(long, value_name = "N")]
    up_to: Option<usize>,
    /// The same for our own algorithm, where it is compared with a published one
    #[arg(long, value_name = "N")]
    ours_up_to: Option<usize>,
    /// How many threads; one for each core if not said. The results are the same
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Run part I of K only and print it for `quorate merge`
    #[arg(long, value_name = "I/K", requires = "name", conflicts_with_all = ["csv", "svg", "png"])]
    pub(crate) shard: Option<Shard>,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write the table as comma-separated values
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the charts: all into one file, or each into a file of its own in a directory
    #[arg(long, value_name = "FILE|DIR", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// The same as PNG
    #[arg(long, value_name = "FILE|DIR", help_heading = "Output")]
    pub(crate) png: Option<PathBuf>,
    /// Write the tables and notes as a page in Markdown
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
}

impl ExperimentFlags {
    pub(crate) fn options(&self) -> Options {
        Options {
            seeds: self.seeds,
            up_to: self.up_to,
            ours_up_to: self.ours_up_to,
            threads: self.threads,
        }
    }
}
