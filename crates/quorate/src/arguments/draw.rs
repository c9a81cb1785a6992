//! `quorate draw`: names and flags.

use std::path::PathBuf;

use clap::Args;

use super::ViewFlags;

/// Flags of `quorate draw`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples, after `quorate sim central -n 4 --requesters all --trace run.jsonl`:
  quorate draw run.jsonl -o run.svg
  quorate draw run.jsonl -o start.svg --window 0..3ms --theme dark

`sim`, `replay` and `check` draw directly with --diagram. A trace can be drawn again later, with \
another window, other processes or another theme.")]
pub(crate) struct DrawFlags {
    /// Trace written by `--trace FILE.jsonl`
    pub(crate) trace: PathBuf,
    /// Picture to write; the extension .svg or .png selects the
    /// format (.png only if built with `--features png`)
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Title of the picture [default: the name of the trace]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) view: ViewFlags,
}
