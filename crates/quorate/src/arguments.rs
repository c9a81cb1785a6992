//! The command line: names, flags and help.

#[cfg(feature = "service")]
mod bench;
mod campaign;
#[cfg(feature = "service")]
mod certs;
mod check;
mod claims;
mod clocks;
mod delay_law;
mod diagram;
mod draw;
mod experiment;
#[cfg(feature = "service")]
mod lab;
#[cfg(feature = "service")]
mod members;
mod merge;
mod quorum;
#[cfg(feature = "service")]
mod service;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use quorate_core::Span;
use quorate_lab::catalogue;
use quorate_sim::fault::{
    Clock, CrashMid, Cut, Fast, Faults, LinkAt, Omission, Partition, ProcessAt, Recover, Slow,
    Suspect, Traitor,
};
use quorate_sim::notation::{
    DriftText, Identify, QuorumOf, Rate, SectionOf, SetText, SpanText, TreeText, parse_span,
};
use quorate_sim::scenario::{DetectorChoice, Requesters};
use quorate_sim::script::Script;
use quorate_sim::trace::Format;
use quorate_sim::{Arrival, Delay, LinkDelay, LocalClock, Scenario, Timing};

#[cfg(feature = "service")]
pub(crate) use bench::BenchFlags;
pub(crate) use campaign::CampaignFlags;
#[cfg(feature = "service")]
pub(crate) use certs::CertsFlags;
pub(crate) use check::CheckFlags;
pub(crate) use clocks::ClocksFlags;
pub(crate) use diagram::{DiagramFlags, ViewFlags};
pub(crate) use draw::DrawFlags;
#[cfg(feature = "service")]
pub(crate) use lab::LabFlags;
#[cfg(feature = "service")]
pub(crate) use members::{ChangeFlags, ChangeMembers, MembersFlags, TermsFlags};
pub(crate) use merge::MergeFlags;
pub(crate) use quorum::QuorumFlags;
#[cfg(feature = "service")]
pub(crate) use service::{
    BecomeCommandFlags, ClusterFlags, LockFlags, LocksFlags, LogFormat, NodeFlags, ReleaseFlags,
    StatusFlags, UpFlags, endpoint,
};

use crate::memory::MemorySize;
use claims::ClaimFlags;
use delay_law::delay_law;

pub(crate) use experiment::ExperimentFlags;

/// Distributed coordination you can run, break and prove.
#[derive(Debug, Parser)]
#[command(name = "quorate", version, arg_required_else_help = true, propagate_version = true)]
#[command(after_help = "\
Examples:
  quorate list                                                List the algorithms
  quorate sim ricart-agrawala -n 5 --requesters all --seed 7  Run an algorithm once
  quorate sim ricart-agrawala -n 5 --requesters all --crash 2@1ms
                                                              Crash a process in the run
  quorate replay scenarios/mutex/ricart-agrawala-five.toml    Run a scenario file
  quorate sim ricart-agrawala -n 3 --requesters all --diagram run.svg
                                                              Draw a space-time diagram
  quorate quorum vcube -n 8 --failed 2,5                      Analyse a quorum system
  quorate clocks 'p: a m!; q: b m? c'                         Stamp events with logical clocks
  quorate campaign ricart-agrawala --seeds 200                Run many random scenarios
  quorate check ricart-agrawala -n 3 --requests 2             Explore every interleaving
  quorate experiment mutex-cost --up-to 32                    Compare the costs of algorithms
  quorate lab                                                 Open the lab in a browser
  quorate up                                                  Start a cluster on this machine
  quorate lock deploy -- ./deploy.sh                          Run a command under a lock
  quorate certs --nodes 3 --dir certs                         Create certificates for a cluster
  quorate completions bash > quorate.bash                     Generate shell completions

Exit codes: 0 success; 1 a property was violated, or the request could not be satisfied; 2 the \
command could not run. `lock` and `elect` return the exit code of their command, and have codes \
of their own: see `quorate lock --help`.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// All subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the algorithms with their assumptions, guarantees and costs
    List(ListFlags),
    /// Run an algorithm once and print the verdict, message counts and a timeline
    Sim(Box<SimFlags>),
    /// Run a scenario file
    Replay(ReplayFlags),
    /// Draw a trace as a space-time diagram
    Draw(DrawFlags),
    /// Analyse a quorum system: quorums, load, intersection and tolerated failures
    Quorum(QuorumFlags),
    /// Stamp events with logical clocks: happened-before, concurrency, consistent cuts, exercises
    Clocks(ClocksFlags),
    /// Run an algorithm in many random scenarios inside its assumptions
    Campaign(CampaignFlags),
    /// Merge the parts of a campaign or experiment that ran on several machines
    Merge(MergeFlags),
    /// Explore every interleaving of a small system
    Check(Box<CheckFlags>),
    /// Run an experiment and print its results beside published ones
    Experiment(ExperimentFlags),
    /// Open the lab in a browser to run, step through, break and compare scenarios
    #[cfg(feature = "service")]
    Lab(LabFlags),
    /// Start a cluster on this machine, in one process
    #[cfg(feature = "service")]
    Up(UpFlags),
    /// Run one node of a cluster
    #[cfg(feature = "service")]
    Node(NodeFlags),
    /// Measure the speed of locks on this machine
    #[cfg(feature = "service")]
    Bench(BenchFlags),
    /// Run a command while holding a lock
    #[cfg(feature = "service")]
    #[command(after_help = service::LOCK_HELP)]
    Lock(LockFlags),
    /// Run a command while being the leader
    #[cfg(feature = "service")]
    #[command(after_help = service::ELECT_HELP)]
    Elect(LockFlags),
    /// Show cluster health
    #[cfg(feature = "service")]
    #[command(after_help = "\
Examples:
  quorate status
  quorate status --json --endpoint 10.0.0.1:7480")]
    Status(StatusFlags),
    /// List locks and elections with their holders and waiters
    #[cfg(feature = "service")]
    Locks(LocksFlags),
    /// List the members of a cluster, and change them
    #[cfg(feature = "service")]
    #[command(after_help = members::MEMBERS_HELP)]
    Members(MembersFlags),
    /// Take a lock away from its holder
    #[cfg(feature = "service")]
    Release(ReleaseFlags),
    /// Execute the command of `lock` or `elect`; used internally
    #[cfg(feature = "service")]
    #[command(hide = true, name = "become-command")]
    Become(BecomeCommandFlags),
    /// Create the certificates of a cluster: an authority, and one for each node
    #[cfg(feature = "service")]
    Certs(CertsFlags),
    /// Run one process of a scenario over sockets; used internally
    #[cfg(feature = "service")]
    #[command(hide = true, name = "over-tcp-player")]
    OverTcpChild,
    /// Print a completion script for a shell
    #[command(after_help = "Example: quorate completions zsh > _quorate")]
    Completions {
        /// Shell that will read the script
        shell: Shell,
    },
    /// Print the manual page of quorate or of one command
    #[command(after_help = "Example: quorate man sim | man -l -")]
    Man {
        /// Command to describe [default: quorate itself]
        command: Option<String>,
    },
}

/// Flags of `quorate list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate list --short
  quorate list --family election
  quorate list maekawa raymond
  quorate list --json | jq -r '.[].name'")]
pub(crate) struct ListFlags {
    /// Algorithms to describe in detail [default: all of them, in brief]
    #[arg(value_name = "NAME", value_parser = algorithm_names(), hide_possible_values = true)]
    pub(crate) names: Vec<String>,
    /// List one family: mutex, election, agreement, multicast, detector, clock, allocation,
    /// snapshot, detection or replication
    #[arg(long, value_parser = family_names(), hide_possible_values = true)]
    pub(crate) family: Option<String>,
    /// Print one line for each algorithm
    #[arg(long)]
    pub(crate) short: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `quorate sim`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate sim ricart-agrawala -n 5 --requesters all --seed 7
  quorate sim central -n 4 --requesters all --delay uniform:1ms..3ms --crash 2@4ms
  quorate sim ricart-agrawala -n 5 --requesters all --loss 0.05 --seed 3 --json
  quorate sim central -n 5 --requesters all --crash '?@0~9ms' --save a.toml --trace a.jsonl
  quorate sim central -n 5 --requesters all --diagram run.svg --window 0..4ms
  quorate sim raymond -n 7 --topology tree.svg
  quorate sim maekawa -n 4 --requesters all --over tcp

Times are virtual: whole nanoseconds, or a number with ns, us, ms or s. In a fault, `?` in place of \
a process and `1ms~5ms` in place of a time leave the choice to the seed. `2ms..9ms` is a \
window, and `2ms` is a window without an end.")]
pub(crate) struct SimFlags {
    /// Algorithm to run; `quorate list` lists them all
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    algorithm: String,
    /// Number of processes [default: 5, or the number of --ids]
    #[arg(short = 'n', long = "processes", value_name = "N")]
    processes: Option<usize>,
    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    workload: WorkloadFlags,
    #[command(flatten)]
    timing: TimingFlags,
    #[command(flatten)]
    faults: FaultFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Write the scenario to a file for `quorate replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) save: Option<PathBuf>,
}

/// Requests of users, and parameters of the algorithm.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
struct WorkloadFlags {
    /// Processes that request entry, multicast, start an election or set their clock: one (process 0), all, or the
    /// first K; an agreement defines its own proposers
    #[arg(long, value_name = "one|all|K", default_value = "one", conflicts_with = "request")]
    requesters: Requesters,
    /// Let process P make its request at time T, in place of --requesters (repeatable)
    #[arg(long, value_name = "P@T")]
    request: Vec<ProcessAt>,
    /// Number of times that each requester enters, multicasts, starts an election or sets its clock
    #[arg(long, value_name = "R", default_value_t = 1)]
    repeat: u32,
    /// Receivers of multicasts [default: all processes]
    #[arg(long, value_name = "P,P,..")]
    to: Option<SetText>,
    /// Draw the times of first requests at random between 0 and D
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    spread: Span,
    /// Time that a process stays in the critical section
    #[arg(long, value_name = "D", default_value = "1ms", value_parser = parse_span)]
    section: Span,
    /// Times that process P stays in the critical section, in order; the last one is used for all later entries
    /// (repeatable)
    #[arg(long, value_name = "P=D,D,..")]
    section_of: Vec<SectionOf>,
    /// Pause before a user requests entry again, multicasts again or sets its clock again
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    think: Span,
    /// Process that is the server or the commander, if the algorithm has one
    #[arg(long, value_name = "P", default_value_t = 0)]
    server: u32,
    /// Spanning tree that messages follow: chain, star, binary, or edges such as 0-1,1-2 [default: binary]
    #[arg(long, value_name = "TREE")]
    tree: Option<TreeText>,
    /// Quorum system, if the algorithm votes: vcube, tree, grid, grid-fixed, grid-rebuilt, wall, majority, majority-live or
    /// plane [default: depends on the algorithm]
    #[arg(long, value_name = "SYSTEM", conflicts_with = "quorum_set")]
    quorums: Option<String>,
    /// Explicit quorum; give one for each process, in order (repeatable)
    #[arg(long, value_name = "P,P,..")]
    quorum_set: Vec<SetText>,
    /// Explicit quorum of process P, optionally only after the processes F have failed (repeatable)
    #[arg(long, value_name = "P[/F,F]=P,P,..", conflicts_with_all = ["quorums", "quorum_set"])]
    quorum_of: Vec<QuorumOf>,
    /// Keep votes until the exit, in algorithms that could return them earlier
    #[arg(long)]
    no_cancel: bool,
    /// Pass the permission directly from one process to the next, in algorithms with a server that could do so
    #[arg(long)]
    hand_over: bool,
    /// Identifiers for an election, starting with process 0 [default: the process numbers]
    #[arg(long, value_name = "I,I,..", value_delimiter = ',')]
    ids: Vec<u64>,
    /// Change the identifier of process P to I at time T, for later elections (repeatable)
    #[arg(long, value_name = "P:I@T")]
    identify: Vec<Identify>,
    /// Time that a process waits for each higher-ranked process before it becomes a candidate, if the algorithm
    /// supports it
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    rank_delay: Span,
    /// Initial values of the logical clocks, starting with process 0 [default: 0]
    #[arg(long, value_name = "T,T,..", value_delimiter = ',')]
    clocks: Vec<u64>,
    /// Time servers, if the algorithm asks several [default: the process of --server]
    #[arg(long, value_name = "P,P,..")]
    servers: Option<SetText>,
    /// Number of time servers whose answers are awaited; a single answer is trusted, several are compared
    #[arg(long, value_name = "R", default_value_t = 1)]
    replies: u32,
    /// Number of times that time servers are asked before the best answer is used
    #[arg(long, value_name = "K", default_value_t = 1)]
    probes: u32,
    /// Maximum difference between clocks that are averaged [default: 1s]
    #[arg(long, value_name = "D", value_parser = parse_span)]
    outlier: Option<Span>,
    /// Proposed values of an agreement, starting with process 0 [default: n down to 1, or attack, or commit]; initial
    /// balances for snapshots [default: 100]
    #[arg(long, value_name = "V,V,..", value_delimiter = ',')]
    values: Vec<u64>,
    /// Steps of the user of process P, in algorithms that observe a computation, such as '0: send 1 20; record'; --request
    /// then sets the times of the steps (repeatable)
    #[arg(long, value_name = "P: STEP; ..")]
    script: Vec<Script>,
    /// Number of faults that an agreement must tolerate: f crashes or m traitors [default: depends on the algorithm]
    #[arg(long, value_name = "F")]
    faults: Option<usize>,
    /// Check a property even if the algorithm does not promise it or the system is large (repeatable)
    #[arg(long, value_name = "PROPERTY")]
    watch: Vec<String>,
    #[command(flatten)]
    claims: ClaimFlags,
}

/// Delays, clocks and the failure detector.
#[derive(Debug, Args)]
#[command(next_help_heading = "Time")]
struct TimingFlags {
    /// Message delays: constant:D, uniform:LOW..HIGH, exponential:MEAN, pareto:SCALE,SHAPE, log-normal:MEDIAN,SIGMA,
    /// choice:D,D,.. (one of them at random), file:PATH (one of its lines at random) or list:D,D,.. (in this order)
    #[arg(long, value_name = "LAW", default_value = "constant:1ms", value_parser = delay_law)]
    delay: Delay,
    /// Message delays of the link from A to B (repeatable)
    #[arg(long, value_name = "A-B=LAW")]
    link_delay: Vec<LinkDelay>,
    /// Let the message with this number in the trace arrive at a time, such as 17@3ms (repeatable)
    #[arg(long, value_name = "MESSAGE@T")]
    arrival: Vec<Arrival>,
    /// Timing model: rounds:D, synchronous, asynchronous, eventually:T or unknown-bound [default: depends on the
    /// algorithm and the delays]
    #[arg(long, value_name = "MODEL")]
    timing: Option<Timing>,
    /// Whether links keep the order of messages (FIFO)
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    fifo: YesNo,
    /// Time that a process needs to handle a message
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    handling: Span,
    /// Failure detector: oracle, heartbeat, heartbeat-ring, adaptive-heartbeat, vcube or none
    #[arg(long, value_name = "DETECTOR", default_value = "oracle")]
    detector: DetectorChoice,
    /// Delay until the oracle reports a crash to a process [default: the mean message delay]
    #[arg(long, value_name = "LAW", value_parser = delay_law)]
    detection: Option<Delay>,
    /// Delay until the oracle reports a crash of V to process O (repeatable)
    #[arg(long, value_name = "O-V=LAW")]
    detection_pair: Vec<LinkDelay>,
    /// Initial offset and drift of the clock of process P, such as 1:+250ms or 2:-1s:+50ppm (repeatable)
    #[arg(long, value_name = "P:OFFSET[:DRIFT]")]
    local_clock: Vec<LocalClock>,
    /// Draw the initial offsets of all other clocks at random, up to D
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    clock_offset: Span,
    /// Draw the drift of all other clocks at random, up to this, such as 100ppm
    #[arg(long, value_name = "DRIFT", default_value = "0ppm")]
    clock_drift: DriftText,
    /// Stop the run at this time
    #[arg(long, value_name = "T", value_parser = parse_span)]
    until: Option<Span>,
    /// Maximum time that a request may wait before ME2 counts as violated
    #[arg(long, value_name = "D", value_parser = parse_span)]
    patience: Option<Span>,
}

/// Faults of the run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults (repeatable, except rates)")]
struct FaultFlags {
    /// Crash process P at time T
    #[arg(long, value_name = "P@T")]
    crash: Vec<ProcessAt>,
    /// Crash process P after K sends of its first multicast at or after T
    #[arg(long, value_name = "P@T:K")]
    crash_mid: Vec<CrashMid>,
    /// Recover the crashed process P at time T, with its memory or (amnesia) without
    #[arg(long, value_name = "P@T[:amnesia]")]
    recover: Vec<Recover>,
    /// Let process P omit sends, with probability RATE if given
    #[arg(long, value_name = "P@WINDOW[:RATE]")]
    omit_send: Vec<Omission>,
    /// Let process P omit receives, with probability RATE if given
    #[arg(long, value_name = "P@WINDOW[:RATE]")]
    omit_receive: Vec<Omission>,
    /// Lose each message with this probability
    #[arg(long, value_name = "RATE", default_value = "0")]
    loss: Rate,
    /// Lose the first message from A to B at or after T
    #[arg(long, value_name = "A-B@T")]
    lose: Vec<LinkAt>,
    /// Deliver each message twice with this probability
    #[arg(long, value_name = "RATE", default_value = "0")]
    duplication: Rate,
    /// Deliver the first message from A to B at or after T twice
    #[arg(long, value_name = "A-B@T")]
    duplicate: Vec<LinkAt>,
    /// Let each message be overtaken with this probability
    #[arg(long, value_name = "RATE", default_value = "0")]
    reordering: Rate,
    /// Let the first message from A to B at or after T be overtaken
    #[arg(long, value_name = "A-B@T")]
    reorder: Vec<LinkAt>,
    /// Change the contents of each message with this probability
    #[arg(long, value_name = "RATE", default_value = "0")]
    corruption: Rate,
    /// Change the contents of the first message from A to B at or after T
    #[arg(long, value_name = "A-B@T")]
    corrupt: Vec<LinkAt>,
    /// Let process P take D to handle each message
    #[arg(long, value_name = "P@WINDOW:D")]
    slow: Vec<Slow>,
    /// Let process P run faster by this factor
    #[arg(long, value_name = "P@WINDOW:FACTOR")]
    fast: Vec<Fast>,
    /// Let the clock of process P run at this rate from T on, such as 1.5
    #[arg(long, value_name = "P@T:RATE")]
    clock: Vec<Clock>,
    /// Cut the link between A and B, or only from A to B with > in place of -
    #[arg(long, value_name = "A-B@WINDOW")]
    cut: Vec<Cut>,
    /// Partition the network into groups until the end of the window
    #[arg(long, value_name = "A,B|C,D@WINDOW")]
    partition: Vec<Partition>,
    /// Let process O falsely suspect process V
    #[arg(long, value_name = "O-V@WINDOW")]
    suspect: Vec<Suspect>,
    /// Make process P Byzantine: silent, liar, equivocator, two-faced, stutterer or random
    #[arg(long, value_name = "P:STRATEGY")]
    traitor: Vec<Traitor>,
}

/// Output of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a trace; the extension .jsonl, .shiviz or .json (Perfetto) selects the format
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Format of the trace: jsonl, shiviz or perfetto [default: selected by the file extension]
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) trace_format: Option<Format>,
    /// Whether totals include messages that a process sends to itself
    #[arg(
        long,
        value_name = "include|exclude",
        default_value = "include",
        hide_possible_values = true
    )]
    pub(crate) self_messages: SelfMessages,
    /// Whether a multicast counts as one message for each receiver, or as one message, as on a medium that reaches all
    #[arg(
        long,
        value_name = "receivers|multicast",
        default_value = "receivers",
        hide_possible_values = true
    )]
    pub(crate) count: Count,
    /// Run each process as an operating system process that communicates over sockets; crashes are kills, and times are
    /// real (see --stretch)
    #[cfg(feature = "service")]
    #[arg(long, value_name = "tcp", hide_possible_values = true)]
    pub(crate) over: Option<Over>,
    /// With --over, run the scenario this many times slower, because a real machine cannot keep to milliseconds
    #[cfg(feature = "service")]
    #[arg(
        long,
        value_name = "K",
        default_value_t = 20,
        requires = "over",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(crate) stretch: u32,
    /// Compare every step with the proved model of the algorithm
    #[arg(long)]
    pub(crate) conform: bool,
    /// Memory limit of the run, such as 8GiB [default: three quarters of the available memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    #[command(flatten)]
    pub(crate) picture: DiagramFlags,
    /// Draw the topology that messages follow: ring, tree, VCube or quorums; the extension .svg or .png selects the
    /// format (.png only if built with `--features png`)
    #[arg(long, value_name = "FILE", help_heading = "Diagram")]
    pub(crate) topology: Option<PathBuf>,
}

/// Flags of `quorate replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate replay scenarios/mutex/ricart-agrawala-five.toml
  quorate replay scenarios/mutex/ricart-agrawala-five.toml --expect
  quorate replay scenarios/mutex/ricart-agrawala-five.toml --diagram five.svg")]
pub(crate) struct ReplayFlags {
    /// Scenario file to run
    pub(crate) scenario: PathBuf,
    /// Compare the outcome with the expectations in the file; exit with 0 if and only if they are met
    #[arg(long)]
    pub(crate) expect: bool,
    /// Reduce the scenario to a minimal one that violates the same property, and print or --save it
    #[arg(long, conflicts_with_all = ["expect", "json", "trace"])]
    pub(crate) shrink: bool,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Write the scenario to a file, with the outcome as its expectations
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) save: Option<PathBuf>,
}

/// Default number of processes.
const DEFAULT_PROCESSES: usize = 5;

/// Boolean as a value of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

/// Transport of a run that is not a simulation.
#[cfg(feature = "service")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Over {
    Tcp,
}

/// Whether totals include messages that a process sends to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelfMessages {
    Include,
    Exclude,
}

/// How the messages of a multicast are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Count {
    Receivers,
    Multicast,
}

fn algorithm_names() -> PossibleValuesParser {
    PossibleValuesParser::new(catalogue().profiles().map(|profile| profile.name))
}

fn family_names() -> PossibleValuesParser {
    let mut names: Vec<&str> = catalogue().profiles().map(|it| it.layer.name()).collect();
    names.dedup();
    PossibleValuesParser::new(names)
}

impl SimFlags {
    /// Scenario that the flags describe, and the flags for its output.
    pub(crate) fn into_scenario(self) -> (Scenario, OutputFlags, Option<PathBuf>) {
        let Self { algorithm, processes, seed, workload, timing, faults, output, save } = self;
        let default_processes =
            if workload.ids.is_empty() { DEFAULT_PROCESSES } else { workload.ids.len() };
        let scenario = Scenario {
            algorithm,
            processes: processes.unwrap_or(default_processes),
            seed,
            requesters: workload.requesters,
            request: workload.request,
            repeat: workload.repeat,
            to: workload.to,
            spread: SpanText(workload.spread),
            section: SpanText(workload.section),
            section_of: workload.section_of,
            think: SpanText(workload.think),
            delay: timing.delay,
            link_delay: timing.link_delay,
            arrival: timing.arrival,
            timing: timing.timing,
            fifo: timing.fifo == YesNo::Yes,
            handling: SpanText(timing.handling),
            detector: timing.detector,
            detection: timing.detection,
            detection_pair: timing.detection_pair,
            server: workload.server,
            tree: workload.tree,
            quorums: workload.quorums,
            quorum_sets: workload.quorum_set,
            quorum_of: workload.quorum_of,
            no_cancel: workload.no_cancel,
            hand_over: workload.hand_over,
            ids: workload.ids,
            identify: workload.identify,
            rank_delay: SpanText(workload.rank_delay),
            clocks: workload.clocks,
            local_clock: timing.local_clock,
            clock_offset: SpanText(timing.clock_offset),
            clock_drift: timing.clock_drift,
            servers: workload.servers,
            replies: workload.replies,
            probes: workload.probes,
            outlier: workload.outlier.map(SpanText),
            values: workload.values,
            tolerates: workload.faults,
            capacity: workload.claims.capacity,
            conflicts: workload.claims.conflicts,
            claim_of: workload.claims.claim_of,
            script: workload.script,
            until: timing.until.map(SpanText),
            patience: timing.patience.map(SpanText),
            watch: workload.watch,
            faults: faults.into_faults(),
            expect: None,
        };
        (scenario, output, save)
    }
}

impl FaultFlags {
    fn into_faults(self) -> Faults {
        Faults {
            crash: self.crash,
            crash_mid: self.crash_mid,
            recover: self.recover,
            omit_send: self.omit_send,
            omit_receive: self.omit_receive,
            loss: self.loss.0,
            lose: self.lose,
            duplication: self.duplication.0,
            duplicate: self.duplicate,
            reordering: self.reordering.0,
            reorder: self.reorder,
            corruption: self.corruption.0,
            corrupt: self.corrupt,
            slow: self.slow,
            fast: self.fast,
            clock: self.clock,
            cut: self.cut,
            partition: self.partition,
            suspect: self.suspect,
            traitor: self.traitor,
        }
    }
}

/// Flag that corresponds to a key of a scenario.
pub(crate) fn flag_of(key: &str) -> String {
    match key {
        "processes" => "-n".to_owned(),
        "bears" => "--faults".to_owned(),
        "quorum-sets" => "--quorum-set".to_owned(),
        key => format!("--{}", key.strip_prefix("faults.").unwrap_or(key)),
    }
}
