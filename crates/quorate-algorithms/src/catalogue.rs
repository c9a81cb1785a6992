//! The catalogue: the list of all algorithms of this crate.
//!
//! An algorithm is a type. [`visit_all`] calls a [`Visitor`] with each type, so that a driver can make a table of
//! functions of them. Algorithms of other crates are added to that table, not here.

use quorate_core::Profile;
use quorate_core::agreement::Agreement;
use quorate_core::allocation::Allocation;
use quorate_core::clock_sync::ClockSync;
use quorate_core::detection::Detection;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::replication::Replication;
use quorate_core::snapshot::Snapshot;

use crate::agreement::{
    BenOr, ByzantineGenerals, ByzantineGeneralsObedient, ChandraToueg, ConsensusFromGenerals,
    ConsensusFromTotal, InteractiveConsistency, Paxos, PaxosAnyValue, SignedGenerals,
    SyncConsensus, SyncConsensusShort, ThreePhaseCommit, TwoPhaseCommit,
};
use crate::algorithm::{Algorithm, Piggybacking};
use crate::allocation::{
    DiningNaive, DiningPhilosophers, DrinkingPhilosophers, GroupMutex, QuorumK, RaymondK,
    ReadersWriters,
};
use crate::clock::{Berkeley, Cristian};
use crate::detection::{
    ChandyMisraHaasAnd, ChandyMisraHaasOr, DijkstraScholten, Safra, SafraUncoloured,
};
use crate::detector::{AdaptiveHeartbeat, Heartbeat, HeartbeatRing, Swim, VcubeDiagnosis};
use crate::election::{
    AnnounceAll, Bully, BullyAll, ChangRoberts, DetectorLeader, HirschbergSinclair, ListRing,
    ListRingDirect,
};
use crate::multicast::{
    Basic, Bracha, BrachaEchoOnly, Causal, Fifo, Reliable, TotalFromConsensus, TotalIsis,
    TotalLamport, TotalSequencer, VcubeMulticast,
};
use crate::mutex::{
    AgrawalElAbbadi, Bakery, Central, CentralElected, Lamport, LeasedQuorum, LeasedQuorumChanging,
    Maekawa, MaekawaOriginal, Quorum, QuorumMajority, QuorumPublished, QuorumPublishedDropping,
    QuorumVcubeMulticast, QuorumWithoutAttempts, Raymond, RicartAgrawala, RicartAgrawalaPriority,
    Singhal, SuzukiKasami, TokenRing,
};
use crate::replication::{MultiPaxos, Pbft, Raft, RaftCommitsOldTerms};
use crate::snapshot::{ChandyLamport, ChandyLamportUnordered, LaiYang};

/// Receives the type of every algorithm, with one method per family.
pub trait Visitor {
    /// Visits a mutual exclusion algorithm.
    fn mutex<A: Algorithm + Mutex + 'static>(&mut self);

    /// Visits a mutual exclusion algorithm that can piggyback on a diagnosis. Default: calls [`Visitor::mutex`].
    fn piggybacking_mutex<A: Piggybacking + Mutex + 'static>(&mut self) {
        self.mutex::<A>();
    }

    /// Visits an election algorithm.
    fn election<A: Algorithm + Election + 'static>(&mut self);

    /// Visits an agreement algorithm.
    fn agreement<A: Algorithm + Agreement + 'static>(&mut self);

    /// Visits a multicast algorithm.
    fn multicast<A: Algorithm + Multicast + 'static>(&mut self);

    /// Visits a failure detector.
    fn detector<A: Algorithm + Detector + 'static>(&mut self);

    /// Visits a clock synchronisation algorithm.
    fn clock<A: Algorithm + ClockSync + 'static>(&mut self);

    /// Visits a resource allocation algorithm.
    fn allocation<A: Algorithm + Allocation + 'static>(&mut self);
    /// Visits a snapshot algorithm.
    fn snapshot<A: Algorithm + Snapshot + 'static>(&mut self);

    /// Visits an algorithm that detects a stable property.
    fn detection<A: Algorithm + Detection + 'static>(&mut self);
    /// Visits an algorithm that replicates a log.
    fn replication<A: Algorithm + Replication + 'static>(&mut self);
}

macro_rules! catalogue {
    ($($visit:ident $algorithm:ty),* $(,)?) => {
        /// The profiles of all algorithms, grouped by family.
        pub const PROFILES: &[Profile] = &[$(<$algorithm>::PROFILE),*];

        /// Calls the visitor with every algorithm, in the order of [`PROFILES`].
        pub fn visit_all(visitor: &mut impl Visitor) {
            $(visitor.$visit::<$algorithm>();)*
        }
    };
}

catalogue! {
    mutex Central,
    mutex CentralElected,
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
    piggybacking_mutex QuorumMajority,
    mutex QuorumVcubeMulticast,
    mutex QuorumPublished,
    mutex QuorumPublishedDropping,
    piggybacking_mutex QuorumWithoutAttempts,
    mutex LeasedQuorum,
    mutex LeasedQuorumChanging,
    mutex Bakery,
    election AnnounceAll,
    election ChangRoberts,
    election ListRing,
    election ListRingDirect,
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
    agreement Paxos,
    agreement PaxosAnyValue,
    agreement BenOr,
    agreement ConsensusFromTotal,
    agreement TwoPhaseCommit,
    agreement ThreePhaseCommit,
    multicast Basic,
    multicast Reliable,
    multicast Bracha,
    multicast BrachaEchoOnly,
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
    detector Swim,
    detector VcubeDiagnosis,
    clock Cristian,
    clock Berkeley,
    allocation RaymondK,
    allocation QuorumK,
    allocation ReadersWriters,
    allocation GroupMutex,
    allocation DiningPhilosophers,
    allocation DiningNaive,
    allocation DrinkingPhilosophers,
    snapshot ChandyLamport,
    snapshot ChandyLamportUnordered,
    snapshot LaiYang,
    detection DijkstraScholten,
    detection Safra,
    detection SafraUncoloured,
    detection ChandyMisraHaasAnd,
    detection ChandyMisraHaasOr,
    replication Raft,
    replication RaftCommitsOldTerms,
    replication MultiPaxos,
    replication Pbft,
}
