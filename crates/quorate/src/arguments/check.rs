//! `quorate check`: names and flags.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use quorate_lab::exhaustive::Reductions;
use quorate_sim::notation::{SetText, TreeText};
use quorate_sim::scenario::Requesters;

use super::{DiagramFlags, YesNo};
use crate::memory::MemorySize;

/// `quorate check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate check ricart-agrawala -n 3 --requests 2
  quorate check quorum -n 3 --quorums vcube --crashes 2
  quorate check maekawa-original -n 3 --save hang.toml --diagram hang.svg
  quorate check list-ring -n 3 --crashes 1
  quorate check bully -n 3 --crashes 1
  quorate check chandra-toueg -n 3 --crashes 1 --faults 1
  quorate check total-lamport -n 3 --requesters 2 --json
  quorate check causal -n 3 --requesters 2 --watch total-order
  quorate check quorum-published -n 3 --crashes 2 --only ME1
  quorate check leased-quorum -n 2 --requesters 1 --crashes 1 --recoveries 1
  quorate check leased-quorum -n 3 --requesters 2 --crashes 1 --crashing 2 --recoveries 1

Whatever can happen may happen next: a message arrives, a user asks to enter or leaves, begins an
election, proposes or multicasts, a process crashes, also in the middle of a multicast, or hears of a
crash. Every state is visited, so that what holds here holds in every run of this world; a
counterexample is a shortest one. A search that stops before says how far it came, and not that the
algorithm is correct. Processes crash and do not lie. Time goes by only for who sets timers, in steps of
the longest that a message takes; detectors and clocks are left to `quorate campaign`.")]
pub(crate) struct CheckFlags {
    /// The algorithm; `quorate list` names them
    #[arg(value_parser = super::algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,
    /// How many processes, 8 at most
    #[arg(short = 'n', long = "processes", value_name = "N", default_value_t = 3)]
    pub(crate) processes: usize,
    /// How often each requester asks, begins an election or multicasts; an agreement is made once
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) requests: u8,
    /// Who asks, begins an election or multicasts: one, all or a number
    #[arg(long, value_name = "one|all|K", default_value = "all")]
    pub(crate) requesters: Requesters,
    /// These ask, in place of the first ones: 0,3
    #[arg(long, value_name = "P,..", conflicts_with = "requesters")]
    pub(crate) asking: Option<SetText>,
    /// How many processes may crash
    #[arg(long, value_name = "F", default_value_t = 0)]
    pub(crate) crashes: u8,
    /// Only these processes may crash: 0,2
    #[arg(long, value_name = "P,..", requires = "crashes")]
    pub(crate) crashing: Option<SetText>,
    /// How many crashed processes may come back with their memory
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub(crate) recoveries: u8,
    /// How long a lease lasts, in longest message delays, 15 at most, where the algorithm has leases
    #[arg(long, value_name = "I", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=15))]
    pub(crate) lease: u8,
    /// How often a client renews its lease before it gives up waiting, where the algorithm has leases
    #[arg(long, value_name = "R", default_value_t = 0)]
    pub(crate) renewals: u32,
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
    /// The identifiers with which processes stand for election, from process 0 on; their numbers if not said
    #[arg(long, value_name = "I,I,..", value_delimiter = ',')]
    pub(crate) ids: Vec<u64>,
    /// What is proposed in an agreement, from process 0 on; if not said, n to 1, to attack or to commit
    #[arg(long, value_name = "V,V,..", value_delimiter = ',')]
    pub(crate) values: Vec<u64>,
    /// How many faults an agreement is to bear; at most 2 of what it can bear if not said
    #[arg(long, value_name = "F")]
    pub(crate) faults: Option<usize>,
    /// Judge a property of a multicast though it is not promised (repeatable)
    #[arg(long, value_name = "PROPERTY")]
    pub(crate) watch: Vec<String>,
    /// Keep votes until leaving, where the algorithm could give them back earlier
    #[arg(long)]
    pub(crate) no_cancel: bool,
    /// The permission goes straight from the leaving to the next, where a server could pass it on
    #[arg(long)]
    pub(crate) hand_over: bool,
    /// Go no further from the start than this
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// Leave out what cannot matter: orders of deliveries that commute, names of processes that are alike, both or
    /// neither
    #[arg(
        long,
        value_name = "yes|no|order|names",
        default_value = "yes",
        hide_possible_values = true
    )]
    pub(super) reduce: Reduce,
    /// Look for violations of this property only
    #[arg(long, value_name = "PROPERTY")]
    pub(crate) only: Option<String>,
    /// Threads; as many as there are cores if not said
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,
    /// Memory that the search may take, such as 8GiB; most of what is free if not said
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    /// Write the counterexample to this file, as a scenario
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) picture: DiagramFlags,
}

impl CheckFlags {
    /// Whether links keep the order of messages.
    pub(crate) fn keeps_order(&self) -> bool {
        self.fifo == YesNo::Yes
    }

    /// What to leave out.
    pub(crate) fn reductions(&self) -> Reductions {
        Reductions {
            partial_order: matches!(self.reduce, Reduce::Yes | Reduce::Order),
            symmetry: matches!(self.reduce, Reduce::Yes | Reduce::Names),
        }
    }
}

/// What to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Reduce {
    Yes,
    No,
    Order,
    Names,
}
