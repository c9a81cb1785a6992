//! `quorate check`: names and flags.

use std::path::PathBuf;

use clap::Args;
use quorate_sim::notation::TreeText;
use quorate_sim::scenario::Requesters;

use super::{Diagram, YesNo};
use crate::memory::Memory;

/// `quorate check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate check ricart-agrawala -n 3 --requests 2
  quorate check quorum -n 3 --quorums vcube --crashes 2
  quorate check maekawa-original -n 3 --save hang.toml --diagram hang.svg
  quorate check central -n 3 --fifo no --json

Whatever can happen may happen next: a message arrives, a user asks or leaves, a process crashes, also
in the middle of a multicast, or hears of a crash. Every state is visited, so that what holds here
holds in every run of this world; a counterexample is a shortest one. A search that stops before says
how far it came, and not that the algorithm is correct.")]
pub(crate) struct Check {
    /// The algorithm; `quorate list` names them
    #[arg(value_parser = super::algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,
    /// How many processes, 8 at most
    #[arg(short = 'n', long = "processes", value_name = "N", default_value_t = 3)]
    pub(crate) processes: usize,
    /// How often each requester asks
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) requests: u8,
    /// Who asks: one, all or a number
    #[arg(long, value_name = "one|all|K", default_value = "all")]
    pub(crate) requesters: Requesters,
    /// How many processes may crash
    #[arg(long, value_name = "F", default_value_t = 0)]
    pub(crate) crashes: u8,
    /// How many messages may be lost
    #[arg(long, value_name = "L", default_value_t = 0)]
    pub(crate) losses: u8,
    /// How often somebody may be suspected wrongly
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) suspicions: u8,
    /// Whether links keep the order of messages
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(super) fifo: YesNo,
    /// The quorum system, where the algorithm votes
    #[arg(long, value_name = "SYSTEM")]
    pub(crate) quorums: Option<String>,
    /// The tree to talk along, where the algorithm does
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<TreeText>,
    /// The process that serves the others, where the algorithm has one
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub(crate) server: u32,
    /// Keep votes until leaving, where the algorithm could give them back earlier
    #[arg(long)]
    pub(crate) no_cancel: bool,
    /// The permission goes straight from the leaving to the next, where a server could pass it on
    #[arg(long)]
    pub(crate) hand_over: bool,
    /// Go no further from the start than this
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// Whether commuting deliveries are gone through in one order only
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(super) reduce: YesNo,
    /// Threads; as many as there are cores if not said
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,
    /// Memory that the search may take, such as 8GiB; most of what is free if not said
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Memory>,
    /// Write the counterexample to this file, as a scenario
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) picture: Diagram,
}

impl Check {
    /// Whether links keep the order of messages.
    pub(crate) fn keeps_order(&self) -> bool {
        self.fifo == YesNo::Yes
    }

    /// Whether to reduce.
    pub(crate) fn reduces(&self) -> bool {
        self.reduce == YesNo::Yes
    }
}
