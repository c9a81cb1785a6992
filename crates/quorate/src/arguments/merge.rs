//! The flags of `quorate merge`.

use std::path::PathBuf;

use clap::Args;

use crate::memory::MemorySize;

/// Flags of `quorate merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples, after `quorate campaign quorum --seeds 400 --shard 1/2 > 1.part` and the same with 2/2:
  quorate merge *.part
  quorate merge *.part --json

Example, after the same with `quorate experiment mutex-cost`:
  quorate merge *.part --csv cost.csv --svg charts/

The result is byte for byte the result of a single run, regardless of the order of the files.")]
pub(crate) struct MergeFlags {
    /// Files printed with --shard: all parts of one campaign or experiment
    #[arg(required = true)]
    pub(crate) parts: Vec<PathBuf>,
    /// Memory limit for shrinking violations, such as 8GiB [default: three quarters of the available memory]
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
    /// Write the table of an experiment as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the charts of an experiment as SVG: all to one file, or one file each to a directory
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the charts of an experiment as PNG: all to one file, or one file each to a directory (only if built
    /// with `--features png`)
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) png: Option<PathBuf>,
    /// Write the tables and notes of an experiment as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}
