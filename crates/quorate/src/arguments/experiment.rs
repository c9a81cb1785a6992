//! The flags of `quorate experiment`.

use std::path::PathBuf;

use clap::Args;
use quorate_lab::experiment::Options;
use quorate_lab::shard::Shard;

/// Flags of `quorate experiment`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate experiment                                 List all experiments
  quorate experiment mutex-cost --up-to 32           Run a smaller experiment, in about a second
  quorate experiment mutex-cost --svg charts/ --csv cost.csv
  quorate experiment thesis --up-to 64               Repeat a published study, in seconds
  quorate experiment mutex-cost --up-to 8 --shard 1/2 > 1.part
                                                     Run one part, for `quorate merge`
  quorate experiment verification --up-to 2 --seeds 100 --markdown shown.md
  quorate experiment mutex-faults --json | jq -r '.rows[] | select(.blocks > 0) | .replay'")]
pub(crate) struct ExperimentFlags {
    /// Name of the experiment [default: list all experiments]
    pub(crate) name: Option<String>,
    /// List all experiments
    #[arg(long, conflicts_with = "name")]
    pub(crate) list: bool,
    /// Number of seeds, starting with 0 [default: depends on the experiment]
    #[arg(long, value_name = "M")]
    seeds: Option<u64>,
    /// Maximum number of processes, if the experiment varies it [default: depends on the experiment]
    #[arg(long, value_name = "N")]
    up_to: Option<usize>,
    /// Maximum number of processes for our own algorithm, if it is compared with a published one [default: depends on
    /// the experiment]
    #[arg(long, value_name = "N")]
    ours_up_to: Option<usize>,
    /// Number of threads, which does not change the results [default: the number of cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Run only part I of K, and print it for `quorate merge`
    #[arg(long, value_name = "I/K", requires = "name", conflicts_with_all = ["csv", "svg", "png"])]
    pub(crate) shard: Option<Shard>,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write the table as CSV
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the charts as SVG: all to one file, or one file each to a directory
    #[arg(long, value_name = "FILE|DIR", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the charts as PNG: all to one file, or one file each to a directory (only if built
    /// with `--features png`)
    #[arg(long, value_name = "FILE|DIR", help_heading = "Output")]
    pub(crate) png: Option<PathBuf>,
    /// Write the tables and notes as Markdown
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
