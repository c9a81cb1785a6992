//! Facts about an algorithm that are known before it runs, collected from its type into one value.

use quorate_algorithms::literature::{ElectionCosts, MutexFigure, Prediction};
use quorate_algorithms::{Algorithm, Setup, Shape, Step};
use quorate_core::agreement::AgreementKind;
use quorate_core::allocation::ClaimKind;
use quorate_core::detection::StableProperty;
use quorate_core::{Cost, Kind, Message, ProcessId, Profile};

/// Declarations of an algorithm about itself. Each field is the item of [`Algorithm`] with the same name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each field is described at the item of `Algorithm` with its name")]
pub struct Facts {
    pub profile: Profile,
    /// The profile with a setup: over other quorums, an algorithm may assume something else.
    pub profile_of: fn(&Setup) -> Profile,
    pub kinds: &'static [Kind],
    pub steps: &'static [Step],
    pub quorums: &'static [&'static str],
    pub token: Option<&'static str>,
    pub along_a_tree: bool,
    pub shape: Shape,
    pub hands_over: bool,
    pub asks_servers: bool,
    pub averages_clocks: bool,
    pub knows_identifiers: bool,
    pub delays_by_rank: bool,
    pub groups: bool,
    pub in_rounds: bool,
    pub signs: bool,
    pub agreement_kind: AgreementKind,
    pub claim_kind: ClaimKind,
    /// The stable property that is detected, by algorithms that detect one.
    pub stable_property: StableProperty,
    pub long_stays: bool,
    pub states_rarely_recur: bool,
    pub counter_window: Option<fn(usize) -> u64>,
    pub election_costs: &'static [ElectionCosts],
    pub predict_entry: fn(MutexFigure, &Setup, &[Vec<ProcessId>]) -> Prediction,
    pub tolerates: fn(usize) -> Option<usize>,
    pub cost: fn(&Setup) -> Cost,
}

impl Facts {
    /// Collects the facts about an algorithm.
    pub const fn of<A: Algorithm>() -> Self {
        Self {
            profile: A::PROFILE,
            profile_of: A::profile,
            kinds: A::Message::KINDS,
            steps: A::STEPS,
            quorums: A::QUORUMS,
            token: A::TOKEN,
            along_a_tree: A::ALONG_A_TREE,
            shape: A::SHAPE,
            hands_over: A::HANDS_OVER,
            asks_servers: A::ASKS_SERVERS,
            averages_clocks: A::AVERAGES_CLOCKS,
            knows_identifiers: A::KNOWS_IDENTIFIERS,
            delays_by_rank: A::DELAYS_BY_RANK,
            groups: A::GROUPS,
            in_rounds: A::IN_ROUNDS,
            signs: A::SIGNS,
            agreement_kind: A::AGREEMENT_KIND,
            claim_kind: A::CLAIM_KIND,
            stable_property: A::STABLE_PROPERTY,
            long_stays: A::LONG_STAYS,
            states_rarely_recur: A::STATES_RARELY_RECUR,
            counter_window: A::COUNTER_WINDOW,
            election_costs: A::ELECTION_COSTS,
            predict_entry: A::predict_entry,
            tolerates: A::tolerates,
            cost: A::cost,
        }
    }
}
