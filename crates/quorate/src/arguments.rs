//! The command line: names, flags and help.

mod bench;
mod campaign;
mod certs;
mod check;
mod diagram;
mod draw;
mod experiment;
mod lab;
mod merge;
mod quorum;
mod service;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use quorate_algorithms::catalogue::PROFILES;
use quorate_core::Span;
use quorate_sim::fault::{
    Clock, CrashMid, Cut, Fast, Faults, LinkAt, Omission, Partition, ProcessAt, Recover, Slow,
    Suspect, Traitor,
};
use quorate_sim::notation::{
    DriftText, Identify, QuorumOf, Rate, SectionOf, SetText, SpanText, TreeText, parse_span,
};
use quorate_sim::scenario::{DetectorChoice, Requesters};
use quorate_sim::trace::Format;
use quorate_sim::{Delay, LinkDelay, LocalClock, Scenario, Timing};

pub(crate) use bench::BenchFlags;
pub(crate) use campaign::CampaignFlags;
pub(crate) use certs::CertsFlags;
pub(crate) use check::CheckFlags;
pub(crate) use diagram::{DiagramFlags, ViewFlags};
pub(crate) use draw::DrawFlags;
pub(crate) use lab::LabFlags;
pub(crate) use merge::MergeFlags;
pub(crate) use quorum::QuorumFlags;
pub(crate) use service::{
    BecomeCommandFlags, ClusterFlags, LockFlags, LocksFlags, LogFormat, NodeFlags, ReleaseFlags,
    StatusFlags, UpFlags,
};

use crate::memory::MemorySize;

pub(crate) use experiment::ExperimentFlags;

/// Distributed coordination you can run, break and prove.
#[derive(Debug, Parser)]
#[command(name = "quorate", version, arg_required_else_help = true, propagate_version = true)]
#[command(after_help = "\
Examples:
  quorate list                                               what there is
  quorate sim ricart-agrawala -n 5 --requesters all --seed 7  run once
  quorate sim ricart-agrawala -n 5 --requesters all --crash 2@1ms
                                                             break it
  quorate replay scenarios/mutex/ricart-agrawala-five.toml   run a file
  quorate sim ricart-agrawala -n 3 --requesters all --diagram run.svg
                                                             draw it
  quorate quorum vcube -n 8 --failed 2,5                     look at a quorum system
  quorate campaign ricart-agrawala --seeds 200               many random worlds
  quorate check ricart-agrawala -n 3 --requests 2            every interleaving
  quorate experiment mutex-cost --up-to 32                   compare them all
  quorate lab                                                all of it in a browser
  quorate up                                                 a cluster on this machine
  quorate lock deploy -- ./deploy.sh                         a command under a lock
  quorate certs --nodes 3 --dir certs                        certificates for a cluster
  quorate completions bash > quorate.bash                    complete names and flags

Exit codes: 0 done; 1 a property was violated; 2 it could not run.")]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the algorithms: what each assumes, guarantees and costs
    List(ListFlags),
    /// Run an algorithm once: verdict, message counts, timeline
    Sim(Box<SimFlags>),
    /// Run a scenario file
    Replay(ReplayFlags),
    /// Draw a trace as a space-time diagram
    Draw(DrawFlags),
    /// Analyse a quorum system: quorums, load, whether they meet, what they survive
    Quorum(QuorumFlags),
    /// Run many random worlds of an algorithm inside its assumptions
    Campaign(CampaignFlags),
    /// Put the parts of a campaign or an experiment together that several machines have run
    Merge(MergeFlags),
    /// Explore every interleaving of a small world
    Check(Box<CheckFlags>),
    /// Run an experiment: a published table or figure beside ours
    Experiment(ExperimentFlags),
    /// Open the lab in a browser: run, step, break, compare
    Lab(LabFlags),
    /// Start a cluster in one process, on this machine
    Up(UpFlags),
    /// Run one node of a cluster
    Node(NodeFlags),
    /// Measure how fast locks are on this machine
    Bench(BenchFlags),
    /// Run a command while holding a lock
    Lock(LockFlags),
    /// Run a command while being the leader
    Elect(LockFlags),
    /// Look how a cluster is
    Status(StatusFlags),
    /// See who has which lock, and who waits
    Locks(LocksFlags),
    /// See the nodes of a cluster
    Members(StatusFlags),
    /// Take a lock away from whoever has it
    Release(ReleaseFlags),
    /// What becomes the command under a lock
    #[command(hide = true)]
    BecomeCommand(BecomeCommandFlags),
    /// Make the certificates of a cluster: an authority, and one for each node
    Certs(CertsFlags),
    /// Play one process of a scenario that runs over sockets
    #[command(hide = true, name = "over-tcp-player")]
    OverTcpChild,
    /// Print completions for a shell
    #[command(after_help = "Example: quorate completions zsh > _quorate")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a manual page, of quorate or of one command
    #[command(after_help = "Example: quorate man sim | man -l -")]
    Man {
        /// The command
        command: Option<String>,
    },
}

/// `quorate list`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  quorate list\n  quorate list --json | jq -r '.[].name'")]
pub(crate) struct ListFlags {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `quorate sim`
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

Times are virtual: whole nanoseconds, or with ns, us, ms or s. In a fault, ? in place of a process and
1ms~5ms in place of a time leave the choice to the seed; 2ms..9ms is a window, 2ms alone lasts for ever.")]
pub(crate) struct SimFlags {
    /// The algorithm; `quorate list` names them
    #[arg(value_parser = algorithm_names(), hide_possible_values = true)]
    algorithm: String,
    /// How many processes
    #[arg(
        short = 'n',
        long = "processes",
        value_name = "N",
        help = "How many processes [default: 5, or one for each of --ids]"
    )]
    processes: Option<usize>,
    /// The seed of all chance
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
    /// Write the scenario to a file that `quorate replay` runs
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) save: Option<PathBuf>,
}

/// Who asks, and for how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
struct WorkloadFlags {
    /// Who asks to enter, multicasts, begins an election or sets its clock at the start: one (process 0), all, or the
    /// first K; in an agreement whoever has to
    #[arg(long, value_name = "one|all|K", default_value = "one", conflicts_with = "request")]
    requesters: Requesters,
    /// A request at a time of its own (repeatable)
    #[arg(long, value_name = "P@T")]
    request: Vec<ProcessAt>,
    /// How often each requester enters, multicasts, begins an election or sets its clock
    #[arg(long, value_name = "R", default_value_t = 1)]
    repeat: u32,
    /// For whom messages are, where the algorithm multicasts; everybody if not said
    #[arg(long, value_name = "P,P,..")]
    to: Option<SetText>,
    /// Draw the times of the first requests between 0 and this
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    spread: Span,
    /// Time inside the critical section
    #[arg(long, value_name = "D", default_value = "1ms", value_parser = parse_span)]
    section: Span,
    /// How long one process stays inside, one time after the other; the last for all that follow (repeatable)
    #[arg(long, value_name = "P=D,D,..")]
    section_of: Vec<SectionOf>,
    /// Time between leaving and asking again, between multicasts, or between settings of a clock
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    think: Span,
    /// The process that serves the others or commands, where the algorithm has one
    #[arg(long, value_name = "P", default_value_t = 0)]
    server: u32,
    /// The tree to talk along: chain, star, binary, or edges such as 0-1,1-2
    #[arg(long, value_name = "TREE")]
    tree: Option<TreeText>,
    /// The quorum system, where the algorithm votes: vcube, tree, grid, grid-fixed, majority or plane
    #[arg(long, value_name = "SYSTEM", conflicts_with = "quorum_set")]
    quorums: Option<String>,
    /// A quorum written down, once for each process in order
    #[arg(long, value_name = "P,P,..")]
    quorum_set: Vec<SetText>,
    /// The quorum of P, once F have failed if they are named (repeatable)
    #[arg(long, value_name = "P[/F,F]=P,P,..", conflicts_with_all = ["quorums", "quorum_set"])]
    quorum_of: Vec<QuorumOf>,
    /// Keep votes until leaving, where the algorithm could give them back earlier
    #[arg(long)]
    no_cancel: bool,
    /// Let the leaving hand the permission straight to the next, where a server could pass it on
    #[arg(long)]
    hand_over: bool,
    /// The identifiers with which processes stand for election, from process 0 on; their numbers if not said
    #[arg(long, value_name = "I,I,..", value_delimiter = ',')]
    ids: Vec<u64>,
    /// A process gets identifier I at time T, for the elections after that (repeatable)
    #[arg(long, value_name = "P:I@T")]
    identify: Vec<Identify>,
    /// Wait this long for each process above before standing for election, where the algorithm can
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    rank_delay: Span,
    /// What the logical clocks show at the start, from process 0 on
    #[arg(long, value_name = "T,T,..", value_delimiter = ',')]
    clocks: Vec<u64>,
    /// Those who serve the time, where several are asked; the server alone if not said
    #[arg(long, value_name = "P,P,..")]
    servers: Option<SetText>,
    /// How many servers' answers are waited for: the first is believed, several are compared
    #[arg(long, value_name = "R", default_value_t = 1)]
    replies: u32,
    /// How often servers are asked before the best answer is taken
    #[arg(long, value_name = "K", default_value_t = 1)]
    probes: u32,
    /// Clocks further apart than this are not averaged; a second if not said
    #[arg(long, value_name = "D", value_parser = parse_span)]
    outlier: Option<Span>,
    /// What is proposed in an agreement, from process 0 on; if not said, n to 1, to attack or to commit
    #[arg(long, value_name = "V,V,..", value_delimiter = ',')]
    values: Vec<u64>,
    /// How many faults an agreement is to bear: f crashes or m traitors; at most 2 of what it can bear if not said
    #[arg(long, value_name = "F")]
    faults: Option<usize>,
    /// Watch a property though it is not promised or the world is large (repeatable)
    #[arg(long, value_name = "PROPERTY")]
    watch: Vec<String>,
}

/// How long things take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Time")]
struct TimingFlags {
    /// Message delays: constant:D, uniform:LOW..HIGH, exponential:MEAN or list:D,D,..
    #[arg(long, value_name = "LAW", default_value = "constant:1ms")]
    delay: Delay,
    /// The delays of one link, from A to B (repeatable)
    #[arg(long, value_name = "A-B=LAW")]
    link_delay: Vec<LinkDelay>,
    /// Timing model: rounds:D, synchronous, asynchronous, eventually:T or unknown-bound
    #[arg(long, value_name = "MODEL")]
    timing: Option<Timing>,
    /// Whether links keep the order of messages
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    fifo: YesNo,
    /// Time to handle a message
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    handling: Span,
    /// Failure detector: oracle, heartbeat, heartbeat-ring, adaptive-heartbeat, vcube or none
    #[arg(long, value_name = "DETECTOR", default_value = "oracle")]
    detector: DetectorChoice,
    /// How long the oracle takes to tell each observer; a mean link delay if not said
    #[arg(long, value_name = "LAW")]
    detection: Option<Delay>,
    /// The same for one observer and victim (repeatable)
    #[arg(long, value_name = "O-V=LAW")]
    detection_pair: Vec<LinkDelay>,
    /// A machine's clock: by how much it is ahead or behind at the start, and gains or loses (repeatable)
    #[arg(long, value_name = "P:OFFSET[:DRIFT]")]
    local_clock: Vec<LocalClock>,
    /// Let the seed draw by how much each other clock is off at the start, up to this
    #[arg(long, value_name = "D", default_value = "0", value_parser = parse_span)]
    clock_offset: Span,
    /// Let the seed draw by how much each other clock gains or loses, up to this, such as 100ppm
    #[arg(long, value_name = "DRIFT", default_value = "0ppm")]
    clock_drift: DriftText,
    /// Stop at this time
    #[arg(long, value_name = "T", value_parser = parse_span)]
    until: Option<Span>,
    /// Nobody may wait longer than this (ME2 by a bound)
    #[arg(long, value_name = "D", value_parser = parse_span)]
    patience: Option<Span>,
}

/// What goes wrong.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults (all but the rates repeatable)")]
struct FaultFlags {
    /// A process crashes
    #[arg(long, value_name = "P@T")]
    crash: Vec<ProcessAt>,
    /// A process crashes after K sends of its first multicast at or after T
    #[arg(long, value_name = "P@T:K")]
    crash_mid: Vec<CrashMid>,
    /// A crashed process comes back, with its memory or without
    #[arg(long, value_name = "P@T[:amnesia]")]
    recover: Vec<Recover>,
    /// A process omits to send
    #[arg(long, value_name = "P@WINDOW[:RATE]")]
    omit_send: Vec<Omission>,
    /// A process omits to receive
    #[arg(long, value_name = "P@WINDOW[:RATE]")]
    omit_receive: Vec<Omission>,
    /// Each message is lost with this probability
    #[arg(long, value_name = "RATE", default_value = "0", hide_default_value = true)]
    loss: Rate,
    /// The first message from A to B at or after T is lost
    #[arg(long, value_name = "A-B@T")]
    lose: Vec<LinkAt>,
    /// Each message arrives twice with this probability
    #[arg(long, value_name = "RATE", default_value = "0", hide_default_value = true)]
    duplication: Rate,
    /// The first message from A to B at or after T arrives twice
    #[arg(long, value_name = "A-B@T")]
    duplicate: Vec<LinkAt>,
    /// Each message is overtaken with this probability
    #[arg(long, value_name = "RATE", default_value = "0", hide_default_value = true)]
    reordering: Rate,
    /// The first message from A to B at or after T is overtaken
    #[arg(long, value_name = "A-B@T")]
    reorder: Vec<LinkAt>,
    /// A process takes so long to handle each message
    #[arg(long, value_name = "P@WINDOW:D")]
    slow: Vec<Slow>,
    /// A process does everything so many times too fast
    #[arg(long, value_name = "P@WINDOW:FACTOR")]
    fast: Vec<Fast>,
    /// A process's clock runs wrong from T on
    #[arg(long, value_name = "P@T:RATE")]
    clock: Vec<Clock>,
    /// A link is dead, both ways or, with > in place of -, one way
    #[arg(long, value_name = "A-B@WINDOW")]
    cut: Vec<Cut>,
    /// Groups cannot reach each other; the end of the window heals them
    #[arg(long, value_name = "A,B|C,D@WINDOW")]
    partition: Vec<Partition>,
    /// Process O wrongly believes that V has crashed
    #[arg(long, value_name = "O-V@WINDOW")]
    suspect: Vec<Suspect>,
    /// A Byzantine process: silent, liar, equivocator, two-faced, stutterer or random
    #[arg(long, value_name = "P:STRATEGY")]
    traitor: Vec<Traitor>,
}

/// What to print and write.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a trace; .jsonl, .shiviz and .json (Perfetto) say in which format
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// The trace's format: jsonl, shiviz or perfetto
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) trace_format: Option<Format>,
    /// Whether messages to oneself are in the totals
    #[arg(
        long,
        value_name = "include|exclude",
        default_value = "include",
        hide_possible_values = true
    )]
    pub(crate) self_messages: SelfMessages,
    /// Run on real sockets, between processes of this machine; a crash is a kill. Times are real: see --stretch
    #[arg(long, value_name = "tcp", hide_possible_values = true)]
    pub(crate) over: Option<Over>,
    /// With --over: how many times slower than the scenario says, so that milliseconds mean something
    #[arg(
        long,
        value_name = "K",
        default_value_t = 20,
        requires = "over",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(crate) stretch: u32,
    /// Memory that the run may take, such as 8GiB; most of what is free if not said
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
    #[command(flatten)]
    pub(crate) picture: DiagramFlags,
    /// Draw who talks to whom: the ring, the tree, the quorums; .svg and .png say in which format
    #[arg(long, value_name = "FILE", help_heading = "Diagram")]
    pub(crate) topology: Option<PathBuf>,
}

/// `quorate replay`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quorate replay scenarios/mutex/ricart-agrawala-five.toml
  quorate replay scenarios/mutex/ricart-agrawala-five.toml --expect   exits 0 exactly if expectations are met
  quorate replay scenarios/mutex/ricart-agrawala-five.toml --diagram five.svg")]
pub(crate) struct ReplayFlags {
    /// The scenario file
    pub(crate) scenario: PathBuf,
    /// Compare with the file's expectations; exit 0 exactly if they are met
    #[arg(long)]
    pub(crate) expect: bool,
    /// Make what breaks a property as small as it gets, and print or --save it
    #[arg(long, conflicts_with_all = ["expect", "json", "trace"])]
    pub(crate) shrink: bool,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Write the scenario to a file, with what was found as its expectations
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) save: Option<PathBuf>,
}

/// How many processes there are if nobody says.
const DEFAULT_PROCESSES: usize = 5;

/// A yes or a no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

/// What processes talk over, if not in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Over {
    Tcp,
}

/// What to do with messages to oneself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelfMessages {
    Include,
    Exclude,
}

fn algorithm_names() -> PossibleValuesParser {
    PossibleValuesParser::new(PROFILES.iter().map(|profile| profile.name))
}

impl SimFlags {
    /// The scenario that the flags describe, and what to do with its outcome.
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

/// The flag that stands for a key of a scenario.
pub(crate) fn flag_of(key: &str) -> String {
    match key {
        "processes" => "-n".to_owned(),
        "bears" => "--faults".to_owned(),
        "quorum-sets" => "--quorum-set".to_owned(),
        key => format!("--{}", key.strip_prefix("faults.").unwrap_or(key)),
    }
}
