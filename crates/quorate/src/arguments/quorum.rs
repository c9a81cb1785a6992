//! `quorate quorum`: names and flags.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use quorate_core::quorum::AnySystem;
use quorate_draw::Theme;
use quorate_sim::notation::SetText;

/// Flags of `quorate quorum`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate quorum vcube -n 8 --failed 2,5
  quorate quorum tree -n 7 --process 5
  quorate quorum vcube -n 8 --failed 3 --diagram vcube.svg
  quorate quorum plane -n 13 --json | jq .maekawa
  quorate quorum grid-rebuilt -n 9 --json | jq .not_monotone

A view is the set of processes that are believed to have failed. With up to 16 processes all views \
are enumerated; with more, views are sampled with the seed, and the report says so. With up to 1024 \
processes JSON lists every quorum; with more (at most 65536), it lists some. Degree and load are \
null unless every quorum is built.")]
pub(crate) struct QuorumFlags {
    /// Quorum system: vcube, tree, grid (with substitutes), grid-fixed, grid-rebuilt (of the live processes), wall (with
    /// substitutes), majority, majority-live (of the live processes) or plane
    #[arg(value_parser = system_names(), hide_possible_values = true)]
    pub(crate) system: String,
    /// Number of processes
    #[arg(short = 'n', long = "processes", value_name = "N", default_value_t = 8)]
    pub(crate) processes: usize,
    /// Process whose quorum is drawn [default: the first live process]
    #[arg(long, value_name = "P")]
    pub(crate) process: Option<u32>,
    /// Processes that have failed [default: none]
    #[arg(long, value_name = "P,P,..")]
    pub(crate) failed: Option<SetText>,
    /// Seed of the sampled views
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Draw the structure of the system and the quorum; the extension .svg or .png selects the
    /// format (.png only if built with `--features png`)
    #[arg(long, value_name = "FILE")]
    pub(crate) diagram: Option<PathBuf>,
    /// Colours of the drawing: auto (the reader's preference; light in a PNG), light or dark
    #[arg(long, value_name = "THEME", default_value = "auto", requires = "diagram")]
    pub(crate) theme: Theme,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn system_names() -> PossibleValuesParser {
    PossibleValuesParser::new(AnySystem::names())
}
