//! The flags of `quorate merge`.

use std::path::PathBuf;

use clap::Args;

use crate::memory::MemorySize;

/// `quorate merge`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples, after `quorate campaign quorum --seeds 400 --shard 1/2 > 1.part` and the same with 2/2:
  quorate merge *.part
  quorate merge *.part --json
and after the same with `quorate experiment mutex-cost`:
  quorate merge *.part --csv cost.csv --svg charts/

The result is that of one run, byte for byte, in whatever order the files are named.")]
pub(crate) struct MergeFlags {
    /// The files that `--shard` printed, all of one work
    #[arg(required = true)]
    pub(crate) parts: Vec<PathBuf>,
    /// Memory that runs may take while violations are shrunk; most of what is free if not said
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
    /// Write the table of an experiment as comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the charts of an experiment: all into one file, or each into a file of its own in a directory
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) svg: Option<PathBuf>,
    /// The same as PNG
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) png: Option<PathBuf>,
    /// Write the tables and notes of an experiment as a page in Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}
