//! `quorate draw`: names and flags.

use std::path::PathBuf;

use clap::Args;

use super::ViewFlags;

/// `quorate draw`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate sim central -n 4 --requesters all --trace run.jsonl
  quorate draw run.jsonl -o run.svg
  quorate draw run.jsonl -o start.png --window 0..3ms --theme dark

`sim`, `replay` and `check` draw at once with --diagram; a trace can be drawn again, another part of it or for
other eyes.")]
pub(crate) struct DrawFlags {
    /// The trace, as `--trace FILE.jsonl` wrote it
    pub(crate) trace: PathBuf,
    /// The picture; .svg and .png say in which format
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The heading; the name of the trace if not said
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) view: ViewFlags,
}
