//! The algorithms by name: one list, from which drivers, experiments and the command line are fed.
//!
//! An algorithm is a type, and drivers are compiled for each: [`visit`] calls a [`Visitor`] with the
//! type that a name stands for.

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

/// What an algorithm is told about the world it is to live in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How many processes there are.
    pub n: usize,
    /// The process that serves the others, starts with the token or commands, where the algorithm has one.
    pub server: ProcessId,
    /// The tree to talk along, where the algorithm does.
    pub tree: SpanningTree,
    /// Whose votes are enough, where the algorithm votes.
    pub quorums: AnySystem,
    /// Whether votes are kept until leaving, where the algorithm could give them back earlier.
    pub no_cancel: bool,
    /// Whether the permission goes straight from the leaving to the next, where a server could pass it on.
    pub hand_over: bool,
    /// What the logical clocks show at the start, from process 0 on; zero where nothing is said.
    pub clocks: Vec<u64>,
    /// How many faults an agreement is to bear.
    pub tolerates: usize,
    /// What everybody needs to check signatures, where the algorithm signs.
    pub keys: PublicKeys,
    /// For whom messages are, where the algorithm multicasts.
    pub to: Group,
    /// What may be known about time, where the algorithm is a detector or has timeouts.
    pub delay_bounds: DelayBounds,
    /// Time-to-live of a lease, where the algorithm has leases.
    pub lease: Span,
    /// How often a waiting client renews its lease before it gives up, where that is bounded.
    pub renewals: Option<u32>,
    /// With what processes stand, where the algorithm elects.
    pub candidates: Candidates,
    /// How long a process waits for each one above it before it stands, where the algorithm can.
    pub rank_delay: Span,
    /// How clocks are set, where the algorithm sets them.
    pub clock: ClockSetup,
}

/// What an algorithm is told that sets clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockSetup {
    /// Those who serve the time, where some do.
    pub servers: ProcessSet,
    /// How many servers' answers are waited for.
    pub replies: usize,
    /// How often they are asked before the best answers are taken.
    pub probes: u32,
    /// Clocks further apart than this are not averaged.
    pub outlier: Span,
    /// What is known of clocks and links.
    pub limits: clock_sync::Limits,
}

impl Setup {
    /// So many processes, and nothing out of the ordinary: a message takes a millisecond, and majorities decide.
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

    /// The smallest and the largest quorum while nobody has failed.
    pub fn quorum_sizes(&self) -> (u64, u64) {
        let none = ProcessSet::new();
        let sizes =
            || ProcessId::all(self.n).filter_map(|process| self.quorums.quorum(process, &none));
        let least = sizes().map(|quorum| quorum.len()).min().unwrap_or(0);
        let most = sizes().map(|quorum| quorum.len()).max().unwrap_or(0);
        (least as u64, most as u64)
    }

    /// The logical clock that the process starts with.
    pub fn clock(&self, id: ProcessId) -> LamportClock {
        LamportClock::at(self.clocks.get(id.index()).copied().unwrap_or(0))
    }

    /// With what the process stands for election at the start.
    pub fn identifier(&self, id: ProcessId) -> Identifier {
        self.candidates.of(id)
    }

    /// The coterie, for an algorithm that works over no other system and says so in its list.
    pub fn coterie(&self) -> &AnyCoterie {
        self.quorums.fixed().expect("an algorithm is given only a quorum system of its list")
    }
}

/// Who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Everybody to everybody.
    Everybody,
    /// Each to the next.
    Ring,
    /// All to the one that serves them.
    Server,
    /// Along a spanning tree.
    Tree,
    /// Along the edges of a VCube.
    VCube,
    /// Each to its quorum.
    Quorums,
}

/// A message that can be sent over a wire, with the feature `serde`; without it, any.
#[cfg(feature = "serde")]
pub trait Sendable: serde::Serialize + serde::de::DeserializeOwned {}
#[cfg(feature = "serde")]
impl<M: serde::Serialize + serde::de::DeserializeOwned> Sendable for M {}

/// A message that can be sent over a wire, with the feature `serde`; without it, any.
#[cfg(not(feature = "serde"))]
pub trait Sendable {}
#[cfg(not(feature = "serde"))]
impl<M> Sendable for M {}

/// An algorithm in the catalogue.
pub trait Algorithm: Process<Message: Sendable> {
    /// What it says of itself.
    const PROFILE: Profile;

    /// The quorum systems it can work over, the usual one first; none if it does not vote.
    const QUORUMS: &'static [&'static str] = &[];

    /// The kind of message that is the token, if whoever has a token may enter.
    const TOKEN: Option<&'static str> = None;

    /// Whether its processes talk along a spanning tree.
    const ALONG_A_TREE: bool = false;

    /// Who talks to whom.
    const SHAPE: Shape = match (Self::QUORUMS, Self::ALONG_A_TREE) {
        (_, true) => Shape::Tree,
        ([], false) => Shape::Everybody,
        _ => Shape::Quorums,
    };

    /// Whether a permission may go straight from the leaving to the next.
    const HANDS_OVER: bool = false;

    /// Whether its processes set their clocks by servers that have the true time.
    const ASKS_SERVERS: bool = false;

    /// Whether it averages clocks, and may leave some out.
    const AVERAGES_CLOCKS: bool = false;

    /// Whether everybody knows the identifiers of all beforehand, so that they cannot change.
    const KNOWS_IDENTIFIERS: bool = false;

    /// About how many bytes each process keeps for each other one, where that adds up in a large world.
    const BYTES_PER_OTHER: u64 = 0;

    /// Whether a process can leave those above it time to stand first.
    const DELAYS_BY_RANK: bool = false;

    /// Whether a message may be for some only, where it multicasts.
    const GROUPS: bool = true;

    /// Whether its processes act in synchronous rounds.
    const IN_ROUNDS: bool = false;

    /// Whether its processes sign what they say.
    const SIGNS: bool = false;

    /// What an agreement is about.
    const AGREEMENT_KIND: AgreementKind = AgreementKind::Proposal;

    /// How many faults it is built to bear among n processes if nobody says; none where that is no question.
    fn tolerates(n: usize) -> Option<usize> {
        let _ = n;
        None
    }

    /// What it says of itself in such a world, where that makes a difference.
    fn profile(setup: &Setup) -> Profile {
        let _ = setup;
        Self::PROFILE
    }

    /// Its process `id`.
    fn build(setup: &Setup, id: ProcessId) -> Self;

    /// What it promises to cost in such a world.
    fn cost(setup: &Setup) -> Cost;
}

/// An algorithm that is not a specimen. Whatever runs one for real asks for this.
pub trait Sound: Algorithm {}

/// A mutex that lets some of what it has to say ride on the answers of a VCube diagnosis below it.
pub trait Piggybacking: Algorithm {
    /// The two together.
    type WithDiagnosis: Mutex + Process<Message: Sendable> + 'static;

    /// Their process `id`.
    fn build_piggybacking(setup: &Setup, id: ProcessId) -> Self::WithDiagnosis;
}

/// Something to be done with an algorithm whose type is known only by name.
pub trait Visitor {
    /// What comes of it.
    type Answer;

    /// Does it with a mutual exclusion algorithm.
    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer;

    /// Does it with one that can ride on a diagnosis, where that makes a difference.
    fn piggybacking_mutex<A: Piggybacking + Mutex + 'static>(self) -> Self::Answer
    where
        Self: Sized,
    {
        self.mutex::<A>()
    }

    /// Does it with an election.
    fn election<A: Algorithm + Election + 'static>(self) -> Self::Answer;
    /// Does it with an agreement.
    fn agreement<A: Algorithm + Agreement + 'static>(self) -> Self::Answer;

    /// Does it with a multicast.
    fn multicast<A: Algorithm + Multicast + 'static>(self) -> Self::Answer;

    /// Does it with a failure detector.
    fn detector<A: Algorithm + Detector + 'static>(self) -> Self::Answer;

    /// Does it with one that sets clocks.
    fn clock<A: Algorithm + ClockSync + 'static>(self) -> Self::Answer;
}

/// Something to be done with any algorithm, whatever its family.
pub trait AlgorithmQuery {
    /// What comes of it.
    type Answer;

    /// Does it.
    fn query<A: Algorithm>(self) -> Self::Answer;
}

macro_rules! catalogue {
    ($($visit:ident $algorithm:ty),* $(,)?) => {
        /// What every algorithm says of itself, family by family.
        pub const PROFILES: &[Profile] = &[$(<$algorithm>::PROFILE),*];

        /// Calls the visitor with the algorithm of that name, if there is one.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Answer> {
            $(if name == <$algorithm>::PROFILE.name {
                return Some(visitor.$visit::<$algorithm>());
            })*
            None
        }

        /// The same for one who does not care about families.
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
