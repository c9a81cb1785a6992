//! The catalogue: the list of all algorithms by name, used by drivers, experiments and the command line.
//!
//! An algorithm is a type, and drivers are monomorphised for each of them. [`visit`] calls a [`Visitor`] with the type
//! that belongs to a name.

use alloc::vec::Vec;

use quorate_core::agreement::{Agreement, AgreementKind};
use quorate_core::clock_sync::{self, ClockSync};
use quorate_core::detector::{DelayBounds, Detector};
use quorate_core::election::{Candidates, Election, Identifier};
use quorate_core::multicast::{Group, Multicast};
use quorate_core::mutex::Mutex;
use quorate_core::quorum::{AnyCoterie, AnySystem, Majority, QuorumSystem};
use quorate_core::{
    Cost, Drift, LamportClock, Process, ProcessId, ProcessSet, Profile, Span, SpanningTree,
};

use crate::agreement::{
    ByzantineGenerals, ByzantineGeneralsObedient, ChandraToueg, ConsensusFromGenerals,
    ConsensusFromTotal, InteractiveConsistency, PublicKeys, SignedGenerals, SyncConsensus,
    SyncConsensusShort, TwoPhaseCommit,
};
use crate::clock::{Berkeley, Cristian};
use crate::detector::{AdaptiveHeartbeat, Heartbeat, HeartbeatRing, VcubeDiagnosis};
use crate::election::{
    AnnounceAll, Bully, BullyAll, ChangRoberts, DetectorLeader, HirschbergSinclair, ListRing,
};
use crate::multicast::{
    Basic, Causal, Fifo, Reliable, TotalFromConsensus, TotalIsis, TotalLamport, TotalSequencer,
    VcubeMulticast,
};
use crate::mutex::{
    AgrawalElAbbadi, Central, Lamport, LeasedQuorum, Maekawa, MaekawaOriginal, Quorum,
    QuorumPublished, QuorumWithoutAttempts, Raymond, RicartAgrawala, RicartAgrawalaPriority,
    Singhal, SuzukiKasami, TokenRing,
};

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
    /// Parameters of clock synchronisation, for algorithms that set clocks.
    pub clock: ClockSetup,
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
            clock: ClockSetup {
                servers: ProcessSet::new(),
                replies: 1,
                probes: 1,
                outlier: Span::from_millis(1_000),
                limits: clock_sync::Limits { delay_min: Span::ZERO, drift: Drift::default() },
            },
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

/// The communication topology of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Every process sends to every other one.
    Everybody,
    /// Each process sends to its neighbours on a ring.
    Ring,
    /// All processes communicate with one server.
    Server,
    /// Messages travel along a spanning tree.
    Tree,
    /// Messages travel along the edges of a VCube.
    VCube,
    /// Each process sends to the members of its quorum.
    Quorums,
}

/// A message that can be serialised for a network. Without the feature `serde`, any type qualifies.
#[cfg(feature = "serde")]
pub trait Sendable: serde::Serialize + serde::de::DeserializeOwned {}
#[cfg(feature = "serde")]
impl<M: serde::Serialize + serde::de::DeserializeOwned> Sendable for M {}

/// A message that can be serialised for a network. Without the feature `serde`, any type qualifies.
#[cfg(not(feature = "serde"))]
pub trait Sendable {}
#[cfg(not(feature = "serde"))]
impl<M> Sendable for M {}

/// An algorithm of the catalogue.
pub trait Algorithm: Process<Message: Sendable> {
    /// Name, assumptions, guarantees and cost of the algorithm.
    const PROFILE: Profile;

    /// Names of the supported quorum systems, the default first. Empty if the algorithm does not vote.
    const QUORUMS: &'static [&'static str] = &[];

    /// The message kind that carries the token, if holding a token is what permits entry.
    const TOKEN: Option<&'static str> = None;

    /// Whether messages travel along a spanning tree.
    const ALONG_A_TREE: bool = false;

    /// The communication topology of the algorithm.
    const SHAPE: Shape = match (Self::QUORUMS, Self::ALONG_A_TREE) {
        (_, true) => Shape::Tree,
        ([], false) => Shape::Everybody,
        _ => Shape::Quorums,
    };

    /// Whether the algorithm supports [`Setup::hand_over`].
    const HANDS_OVER: bool = false;

    /// Whether processes set their clocks by time servers.
    const ASKS_SERVERS: bool = false;

    /// Whether the algorithm averages clocks and may leave outliers out.
    const AVERAGES_CLOCKS: bool = false;

    /// Whether all processes know all identifiers in advance, so that identifiers cannot change.
    const KNOWS_IDENTIFIERS: bool = false;

    /// Approximate memory in bytes that each process needs per other process, if it is significant with many processes.
    const BYTES_PER_OTHER: u64 = 0;

    /// Whether the algorithm supports [`Setup::rank_delay`].
    const DELAYS_BY_RANK: bool = false;

    /// Whether a multicast may go to a subset of the processes.
    const GROUPS: bool = true;

    /// Whether the algorithm runs in synchronous rounds.
    const IN_ROUNDS: bool = false;

    /// Whether processes sign their messages.
    const SIGNS: bool = false;

    /// The kind of agreement: what is proposed and decided.
    const AGREEMENT_KIND: AgreementKind = AgreementKind::Proposal;

    /// Default number of faults to tolerate among `n` processes. `None` if the algorithm has no such parameter.
    fn tolerates(n: usize) -> Option<usize> {
        let _ = n;
        None
    }

    /// The profile under this configuration, for algorithms whose profile depends on it.
    fn profile(setup: &Setup) -> Profile {
        let _ = setup;
        Self::PROFILE
    }

    /// Builds process `id` of the algorithm under this configuration.
    fn build(setup: &Setup, id: ProcessId) -> Self;

    /// The promised cost under this configuration.
    fn cost(setup: &Setup) -> Cost;
}

/// An algorithm that is not a specimen. Code that runs an algorithm in production requires this trait.
pub trait Sound: Algorithm {}

/// A mutex that can piggyback data on the answers of a VCube diagnosis below it.
pub trait Piggybacking: Algorithm {
    /// The mutex stacked over the diagnosis.
    type WithDiagnosis: Mutex + Process<Message: Sendable> + 'static;

    /// Builds process `id` of the stack.
    fn build_piggybacking(setup: &Setup, id: ProcessId) -> Self::WithDiagnosis;
}

/// An operation on an algorithm whose type is selected by name. It has one method per family.
pub trait Visitor {
    /// The result of the operation.
    type Answer;

    /// Visits a mutual exclusion algorithm.
    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer;

    /// Visits a mutual exclusion algorithm that can piggyback on a diagnosis. Default: calls [`Visitor::mutex`].
    fn piggybacking_mutex<A: Piggybacking + Mutex + 'static>(self) -> Self::Answer
    where
        Self: Sized,
    {
        self.mutex::<A>()
    }

    /// Visits an election algorithm.
    fn election<A: Algorithm + Election + 'static>(self) -> Self::Answer;
    /// Visits an agreement algorithm.
    fn agreement<A: Algorithm + Agreement + 'static>(self) -> Self::Answer;

    /// Visits a multicast algorithm.
    fn multicast<A: Algorithm + Multicast + 'static>(self) -> Self::Answer;

    /// Visits a failure detector.
    fn detector<A: Algorithm + Detector + 'static>(self) -> Self::Answer;

    /// Visits a clock synchronisation algorithm.
    fn clock<A: Algorithm + ClockSync + 'static>(self) -> Self::Answer;
}

/// An operation that treats the algorithms of all families alike.
pub trait AlgorithmQuery {
    /// The result of the operation.
    type Answer;

    /// Performs the operation on algorithm `A`.
    fn query<A: Algorithm>(self) -> Self::Answer;
}

macro_rules! catalogue {
    ($($visit:ident $algorithm:ty),* $(,)?) => {
        /// The profiles of all algorithms, grouped by family.
        pub const PROFILES: &[Profile] = &[$(<$algorithm>::PROFILE),*];

        /// Calls the visitor with the algorithm of that name. Returns `None` if there is none.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Answer> {
            $(if name == <$algorithm>::PROFILE.name {
                return Some(visitor.$visit::<$algorithm>());
            })*
            None
        }

        /// Performs a query on the algorithm of that name, whatever its family. Returns `None` if there is none.
        pub fn query_algorithm<L: AlgorithmQuery>(name: &str, query: L) -> Option<L::Answer> {
            $(if name == <$algorithm>::PROFILE.name {
                return Some(query.query::<$algorithm>());
            })*
            None
        }
    };
}

catalogue! {
    mutex Central,
    mutex TokenRing,
    mutex Lamport,
    mutex RicartAgrawala,
    mutex RicartAgrawalaPriority,
    mutex Singhal,
    mutex SuzukiKasami,
    mutex Raymond,
    mutex Maekawa,
    mutex MaekawaOriginal,
    mutex AgrawalElAbbadi,
    piggybacking_mutex Quorum,
    mutex QuorumPublished,
    piggybacking_mutex QuorumWithoutAttempts,
    mutex LeasedQuorum,
    election AnnounceAll,
    election ChangRoberts,
    election ListRing,
    election HirschbergSinclair,
    election Bully,
    election BullyAll,
    election DetectorLeader,
    agreement SyncConsensus,
    agreement SyncConsensusShort,
    agreement ByzantineGenerals,
    agreement ByzantineGeneralsObedient,
    agreement SignedGenerals,
    agreement InteractiveConsistency,
    agreement ConsensusFromGenerals,
    agreement ChandraToueg,
    agreement ConsensusFromTotal,
    agreement TwoPhaseCommit,
    multicast Basic,
    multicast Reliable,
    multicast Fifo,
    multicast Causal,
    multicast TotalSequencer,
    multicast TotalIsis,
    multicast TotalLamport,
    multicast TotalFromConsensus,
    multicast VcubeMulticast,
    detector Heartbeat,
    detector HeartbeatRing,
    detector AdaptiveHeartbeat,
    detector VcubeDiagnosis,
    clock Cristian,
    clock Berkeley,
}
