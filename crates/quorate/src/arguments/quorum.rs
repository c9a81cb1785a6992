//! `quorate quorum`: names and flags.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use quorate_core::quorum::AnySystem;
use quorate_draw::Theme;
use quorate_sim::notation::SetText;

/// `quorate quorum`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate quorum vcube -n 8 --failed 2,5
  quorate quorum tree -n 7 --process 5
  quorate quorum vcube -n 8 --failed 3 --diagram vcube.svg
  quorate quorum plane -n 13 --json | jq .maekawa

A view is who is believed to have failed. Up to 16 processes all views are gone through; of more
some are drawn from the seed, and the answer says so. Up to 1024 processes JSON lists every quorum,
of more (65536 at most) those of a few; degree and load are null where not every quorum is built.")]
pub(crate) struct QuorumFlags {
    /// The system: vcube, tree, grid (with substitutes), grid-fixed, majority or plane
    #[arg(value_parser = system_names(), hide_possible_values = true)]
    pub(crate) system: String,
    /// How many processes
    #[arg(short = 'n', long = "processes", value_name = "N", default_value_t = 8)]
    pub(crate) processes: usize,
    /// Whose quorum to draw; that of the first live process if not said
    #[arg(long, value_name = "P")]
    pub(crate) process: Option<u32>,
    /// Who has failed
    #[arg(long, value_name = "P,P,..")]
    pub(crate) failed: Option<SetText>,
    /// The seed of views that are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Draw the processes where they stand, with the quorum; .svg and .png say in which format
    #[arg(long, value_name = "FILE")]
    pub(crate) diagram: Option<PathBuf>,
    /// Of the drawing: auto (as the reader prefers; light in a PNG), light or dark
    #[arg(long, value_name = "THEME", default_value = "auto", requires = "diagram")]
    pub(crate) theme: Theme,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn system_names() -> PossibleValuesParser {
    PossibleValuesParser::new(AnySystem::names())
}
