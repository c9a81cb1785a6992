//! Declarations of an algorithm about itself, apart from its behaviour: profile, options and cost.

use alloc::vec::Vec;

use quorate_core::agreement::AgreementKind;
use quorate_core::allocation::ClaimKind;
use quorate_core::detection::StableProperty;
use quorate_core::mutex::Mutex;
use quorate_core::{Cost, Process, ProcessId, Profile};

use crate::literature::{ElectionCosts, MutexFigure, Prediction};
use crate::pseudo_code::Step;
use crate::setup::Setup;

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
    /// Each process sends to its neighbours in the conflict graph.
    Conflicts,
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

/// An algorithm that drivers can find by name, build and describe.
pub trait Algorithm: Process<Message: Sendable> {
    /// Name, assumptions, guarantees and cost of the algorithm.
    const PROFILE: Profile;

    /// The algorithm in pseudo-code. Empty if it is not written down yet.
    const STEPS: &'static [Step] = &[];

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

    /// The kind of claims that the algorithm serves, if it allocates resources.
    const CLAIM_KIND: ClaimKind = ClaimKind::Permit;
    /// The stable property that the algorithm detects, if it detects one.
    const STABLE_PROPERTY: StableProperty = StableProperty::Termination;

    /// Whether faults during a long stay in the critical section matter, so that campaigns let users stay for many message delays.
    const LONG_STAYS: bool = false;

    /// Whether clocks count every message, or registers are read again and again, so that few states recur and only very small
    /// worlds can be explored.
    const STATES_RARELY_RECUR: bool = false;

    /// Maximum difference that matters between two numbers of [`Process::visit_shift_invariant`] among `n` processes: a
    /// number that lags further behind the greatest one has no effect. `None` if every difference matters.
    const COUNTER_WINDOW: Option<fn(usize) -> u64> = None;

    /// The costs of an election in the literature, for each variant of the algorithm. Empty if none are known.
    const ELECTION_COSTS: &'static [ElectionCosts] = &[];

    /// Predicts a figure of a mutex for these requesters, in order, of each run. Default: the promised cost.
    fn predict_entry(
        figure: MutexFigure,
        setup: &Setup,
        requests: &[Vec<ProcessId>],
    ) -> Prediction {
        let _ = requests;
        Prediction::of_cost(figure, &Self::cost(setup))
    }

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
