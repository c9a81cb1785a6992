//! The configuration of an algorithm: everything that its processes are told before they start.

use alloc::vec::Vec;

use quorate_core::allocation::ConflictGraph;
use quorate_core::clock_sync;
use quorate_core::detector::DelayBounds;
use quorate_core::election::{Candidates, Identifier};
use quorate_core::multicast::Group;
use quorate_core::quorum::{AnyCoterie, AnySystem, Majority, QuorumSystem};
use quorate_core::{Drift, LamportClock, ProcessId, ProcessSet, Span, SpanningTree};

use crate::agreement::PublicKeys;

/// The configuration from which the processes of an algorithm are built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Number of processes in the system.
    pub n: usize,
    /// The process that is the server, first token holder, coordinator or commander, for algorithms that have one.
    pub server: ProcessId,
    /// The spanning tree along which messages travel, for algorithms that use one.
    pub tree: SpanningTree,
    /// The quorum system, for algorithms that vote.
    pub quorums: AnySystem,
    /// Whether a requester keeps its votes until it leaves, for algorithms in which it could return them earlier.
    pub no_cancel: bool,
    /// Whether a leaving holder passes the permission directly to the next waiter and not through the server, for
    /// algorithms that support it.
    pub hand_over: bool,
    /// Initial values of the logical clocks, indexed by process. Default: 0.
    pub clocks: Vec<u64>,
    /// Number of faults that an agreement tolerates.
    pub tolerates: usize,
    /// The public keys of all processes, for algorithms that sign messages.
    pub keys: PublicKeys,
    /// The group that receives each message, for multicast algorithms.
    pub to: Group,
    /// Usual and maximum message delay, for detectors and algorithms with timeouts.
    pub delay_bounds: DelayBounds,
    /// Time-to-live of a lease, for algorithms that have leases.
    pub lease: Span,
    /// Number of times a waiting client renews its lease before it gives up. `None` means no limit.
    pub renewals: Option<u32>,
    /// The identifiers with which the processes stand for election, for election algorithms.
    pub candidates: Candidates,
    /// Delay before a process starts an election, per process that ranks above it, for algorithms that support it.
    pub rank_delay: Span,
    /// Seed of the coins, for randomised algorithms. A coin is a function of the seed, the process and the round.
    pub seed: u64,
    /// Number of rounds after which a process gives up, for randomised algorithms. `None` means no limit.
    pub rounds: Option<u32>,
    /// Parameters of clock synchronisation, for algorithms that set clocks.
    pub clock: ClockSetup,
    /// Number of permits, for algorithms that allocate permits.
    pub capacity: usize,
    /// Processes that share resources, for algorithms that allocate resources between neighbours.
    pub conflicts: ConflictGraph,
    /// Initial balances of the accounts, indexed by process, for snapshots. Default: 100.
    pub balances: Vec<u64>,
}

/// Parameters of clock synchronisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockSetup {
    /// The time servers, for algorithms that have them.
    pub servers: ProcessSet,
    /// Number of servers whose answers end a probe.
    pub replies: usize,
    /// Number of probes per synchronisation; the best reading of each server is used.
    pub probes: u32,
    /// Maximum difference between clocks that are averaged. Clocks further apart are left out.
    pub outlier: Span,
    /// Known bounds on message delay and clock drift.
    pub limits: clock_sync::Limits,
}

impl Setup {
    /// The default configuration for `n` processes: a message takes one millisecond, and quorums are majorities.
    pub fn new(n: usize) -> Self {
        let delay = Span::from_millis(1);
        Self {
            n,
            server: ProcessId::new(0),
            tree: SpanningTree::default(),
            quorums: AnySystem::Fixed(AnyCoterie::Majority(Majority::new(n))),
            no_cancel: false,
            hand_over: false,
            clocks: Vec::new(),
            tolerates: 0,
            keys: PublicKeys::default(),
            to: Group::All,
            delay_bounds: DelayBounds { delay, bound: delay },
            lease: Span(delay.0 * 60),
            renewals: None,
            candidates: Candidates::new(n, &[]),
            rank_delay: Span::ZERO,
            seed: 0,
            rounds: None,
            clock: ClockSetup {
                servers: ProcessSet::new(),
                replies: 1,
                probes: 1,
                outlier: Span::from_millis(1_000),
                limits: clock_sync::Limits { delay_min: Span::ZERO, drift: Drift::default() },
            },
            capacity: 2,
            conflicts: ConflictGraph::Ring,
            balances: Vec::new(),
        }
    }

    /// The sizes of the smallest and the largest quorum while no process has failed.
    pub fn quorum_sizes(&self) -> (u64, u64) {
        let none = ProcessSet::new();
        let sizes =
            || ProcessId::all(self.n).filter_map(|process| self.quorums.quorum(process, &none));
        let least = sizes().map(|quorum| quorum.len()).min().unwrap_or(0);
        let most = sizes().map(|quorum| quorum.len()).max().unwrap_or(0);
        (least as u64, most as u64)
    }

    /// The initial logical clock of a process.
    pub fn clock(&self, id: ProcessId) -> LamportClock {
        LamportClock::at(self.clocks.get(id.index()).copied().unwrap_or(0))
    }

    /// The identifier with which a process stands for election initially.
    pub fn identifier(&self, id: ProcessId) -> Identifier {
        self.candidates.of(id)
    }

    /// The coterie. Panics if the quorum system is not a fixed one, so only algorithms whose `QUORUMS` list fixed
    /// systems alone may call it.
    pub fn coterie(&self) -> &AnyCoterie {
        self.quorums.fixed().expect("an algorithm is given only a quorum system of its list")
    }
}
