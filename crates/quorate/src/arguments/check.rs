//! `quorate check`: names and flags.

use std::path::PathBuf;

use clap::Args;
use quorate_lab::exhaustive::Reductions;
use quorate_sim::fault::Traitor;
use quorate_sim::notation::{SetText, TreeText};
use quorate_sim::scenario::Requesters;
use quorate_sim::script::Script;

use super::campaign::Minutes;
use super::claims::ClaimFlags;
use super::{DiagramFlags, YesNo};
use crate::memory::MemorySize;

/// Flags of `quorate check`.
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
  quorate check bracha -n 4 --requesters 1 --traitor 0:equivocator
  quorate check quorum-published -n 3 --crashes 2 --only ME1
  quorate check raymond-k -n 3 --capacity 2 --requests 2
  quorate check readers-writers -n 3 --claim-of 0=write --claim-of 1=read --claim-of 2=read
  quorate check leased-quorum -n 2 --requesters 1 --crashes 1 --recoveries 1
  quorate check raft -n 3 --requesters 1 --timeouts 2
  quorate check leased-quorum -n 3 --requesters 2 --crashes 1 --crashing 2 --recoveries 1
  quorate check lamport -n 3 --requests 2 --safety-only
  quorate check bully -n 4 --safety-only --memory 16GiB --spill /var/tmp --checkpoint bully.search
  quorate check bully -n 4 --safety-only --memory 24GiB --spill /var/tmp --resume bully.search

Each step delivers a message, lets a user request entry, leave, start an election, propose, \
multicast or make a step of its script, crashes a process (also in the middle of a multicast), or reports a crash to a process. \
Every reachable state is visited, so a property that holds here holds in every run of this system. A \
counterexample is a shortest one. A search that stops early reports how far it got, and proves \
nothing about the rest.

Processes of an agreement, a multicast or a replicated log may lie, by a fixed strategy (--traitor). Time passes only if \
processes set timers, in steps of the maximum message delay. Timers of a replicated log expire at any time, \
at most --timeouts of them. Failure detectors and clock synchronisation cannot be explored; use \
`quorate campaign` for them.")]
pub(crate) struct CheckFlags {
    /// Algorithm to explore; `quorate list` lists them all
    #[arg(value_parser = super::algorithm_names(), hide_possible_values = true)]
    pub(crate) algorithm: String,
    /// Number of processes, at most 8
    #[arg(short = 'n', long = "processes", value_name = "N", default_value_t = 3)]
    pub(crate) processes: usize,
    /// Number of times that each requester requests entry, starts an election, multicasts or submits a command; must be 1 for
    /// an agreement
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) requests: u8,
    /// Processes that request entry, start an election or multicast: one (process 0), all, or the first K
    #[arg(long, value_name = "one|all|K", default_value = "all")]
    pub(crate) requesters: Requesters,
    /// Explicit set of requesters, such as 0,3, in place of --requesters
    #[arg(long, value_name = "P,..", conflicts_with = "requesters")]
    pub(crate) asking: Option<SetText>,
    /// Maximum number of crashes
    #[arg(long, value_name = "F", default_value_t = 0)]
    pub(crate) crashes: u8,
    /// Processes that may crash, such as 0,2 [default: all]
    #[arg(long, value_name = "P,..", requires = "crashes")]
    pub(crate) crashing: Option<SetText>,
    /// Maximum number of recoveries of crashed processes, with their memory
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub(crate) recoveries: u8,
    /// Duration of a lease in maximum message delays, at most 15, if the algorithm has leases
    #[arg(long, value_name = "I", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=15))]
    pub(crate) lease: u8,
    /// Number of lease renewals before a waiting client gives up, if the algorithm has leases
    #[arg(long, value_name = "R", default_value_t = 0)]
    pub(crate) renewals: u32,
    /// Maximum number of lost messages
    #[arg(long, value_name = "L", default_value_t = 0)]
    pub(crate) losses: u8,
    /// Maximum number of false suspicions
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) suspicions: u8,
    /// Maximum number of timers that expire, for replicated logs, whose timers may expire at any time
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub(crate) timeouts: u8,
    /// Processes whose timers may expire, such as 0,1, for replicated logs [default: all]
    #[arg(long, value_name = "P,..")]
    pub(crate) expiring: Option<SetText>,
    /// Make process P Byzantine: silent, liar, equivocator, two-faced or stutterer (repeatable)
    #[arg(long, value_name = "P:STRATEGY")]
    pub(crate) traitor: Vec<Traitor>,
    /// Whether links keep the order of messages (FIFO)
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(super) fifo: YesNo,
    /// Quorum system, if the algorithm votes: vcube, tree, grid, grid-fixed, grid-rebuilt, wall, majority, majority-live or
    /// plane [default: depends on the algorithm]
    #[arg(long, value_name = "SYSTEM")]
    pub(crate) quorums: Option<String>,
    /// Spanning tree that messages follow, if the algorithm uses one: chain, star, binary, or edges such as 0-1,1-2
    /// [default: binary]
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<TreeText>,
    /// Process that is the server or the commander, if the algorithm has one
    #[arg(long, value_name = "P", default_value_t = 0)]
    pub(crate) server: u32,
    /// Identifiers for an election, starting with process 0 [default: the process numbers]
    #[arg(long, value_name = "I,I,..", value_delimiter = ',')]
    pub(crate) ids: Vec<u64>,
    /// Proposed values of an agreement, starting with process 0 [default: n down to 1, or attack, or commit]
    #[arg(long, value_name = "V,V,..", value_delimiter = ',')]
    pub(crate) values: Vec<u64>,
    /// Steps of the user of process P, in algorithms that observe a computation, such as '0: send 1 20; record'
    /// (repeatable)
    #[arg(long, value_name = "P: STEP; ..")]
    pub(crate) script: Vec<Script>,
    /// Number of faults that an agreement must tolerate [default: depends on the algorithm]
    #[arg(long, value_name = "F")]
    pub(crate) faults: Option<usize>,
    #[command(flatten)]
    pub(crate) claims: ClaimFlags,
    /// Check a property of a multicast or a replicated log even if the algorithm does not promise it (repeatable)
    #[arg(long, value_name = "PROPERTY")]
    pub(crate) watch: Vec<String>,
    /// Keep votes until the exit, in algorithms that could return them earlier
    #[arg(long)]
    pub(crate) no_cancel: bool,
    /// Pass the permission directly from one process to the next, in algorithms with a server that could do so
    #[arg(long)]
    pub(crate) hand_over: bool,
    /// Maximum number of steps from the initial state [default: unlimited]
    #[arg(long, value_name = "D")]
    pub(crate) depth: Option<u32>,
    /// Reductions to use: `order` explores deliveries that commute in one order only, `names` merges states that differ
    /// only by a renaming of identical processes, `clocks` merges states that differ only by the same amount in all logical
    /// clocks, `values` merges states that differ only in values that no later step can read, as the algorithm declares
    /// them, `timers` merges states that differ only in the order in which timers were set; several are separated by commas. `yes` uses the first two, `all` uses all, and `no` none
    #[arg(long, value_name = "NAME,..", default_value = "yes", value_parser = reductions)]
    pub(crate) reduce: Reductions,
    /// First check the reductions `clocks` and `values`: that each state behaves like the one that stands for it, in all states
    /// without reductions, or in the first two million
    #[arg(long)]
    pub(crate) validate: bool,
    /// Look for violations of this property only
    #[arg(long, value_name = "PROPERTY")]
    pub(crate) only: Option<String>,
    /// Check only safety and deadlocks, in at most 32 bytes per state: keep fingerprints of states and no steps between them. The
    /// report tells how likely it is that a state was missed, and whether processes that wait forever would have been found
    #[arg(long)]
    pub(crate) safety_only: bool,
    /// Directory for a temporary file with the states that wait to be expanded, used if memory is short
    #[arg(long, value_name = "DIR", requires = "safety_only")]
    pub(crate) spill: Option<PathBuf>,
    /// Write a checkpoint to FILE from time to time, on Ctrl-C and at the memory limit [default: the file of --resume]
    #[arg(long, value_name = "FILE", requires = "safety_only")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Time between two checkpoints in minutes
    #[arg(long, value_name = "MINUTES", default_value = "10", requires = "safety_only")]
    pub(crate) checkpoint_every: Minutes,
    /// Continue the search of a checkpoint; all flags except --threads, --memory, --depth and files have to be the same
    #[arg(long, value_name = "FILE", requires = "safety_only")]
    pub(crate) resume: Option<PathBuf>,
    /// Number of threads [default: the number of cores]
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,
    /// Memory limit of the search, such as 8GiB [default: three quarters of the available memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    /// Write the counterexample to a scenario file
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
}

/// Reads the names of reductions.
fn reductions(text: &str) -> Result<Reductions, String> {
    match text {
        "yes" => return Ok(Reductions::USUAL),
        "no" => return Ok(Reductions::NONE),
        "all" => return Ok(Reductions::ALL),
        _ => {}
    }
    let mut reductions = Reductions::NONE;
    for name in text.split(',') {
        let reduction = match name {
            "order" => &mut reductions.partial_order,
            "names" => &mut reductions.symmetry,
            "clocks" => &mut reductions.clocks,
            "values" => &mut reductions.dead_values,
            "timers" => &mut reductions.timers,
            _ => {
                return Err(format!(
                    "there is no reduction `{name}`; there are order, names, clocks, values and timers, or yes, no and all"
                ));
            }
        };
        *reduction = true;
    }
    Ok(reductions)
}
