//! Predictions of the literature: formulas for the figures that experiments measure. Each algorithm declares its own.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use quorate_core::quorum::{AnySystem, QuorumSystem};
use quorate_core::{Cost, ProcessId, ProcessSet};

/// A formula, its value for n processes, and what is known about measurements of the figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The formula, such as `2(n - 1)`.
    pub formula: Cow<'static, str>,
    /// The value of the formula.
    pub value: PredictedValue,
    /// Explanation of every measured figure, whether it differs from the formula or not.
    pub remark: Option<&'static str>,
    /// Reason why a measured figure differs from the formula, if it does.
    pub difference: Option<&'static str>,
}

/// Value of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PredictedValue {
    /// This value for every entry, or for the entries that were made.
    Exact(f64),
    /// A value in this range.
    Between(f64, f64),
    /// Mean for random requests, and the value of the same rule for the requests that were drawn.
    Expected(f64, Option<f64>),
}

impl PredictedValue {
    /// Least and greatest value.
    pub fn ends(self) -> (f64, f64) {
        match self {
            Self::Exact(value) | Self::Expected(value, _) => (value, value),
            Self::Between(least, most) => (least, most),
        }
    }
}

impl Prediction {
    fn new(formula: impl Into<Cow<'static, str>>, value: PredictedValue) -> Self {
        Self { formula: formula.into(), value, remark: None, difference: None }
    }

    /// Prediction of an exact value.
    pub fn exact(formula: &'static str, value: f64) -> Self {
        Self::new(formula, PredictedValue::Exact(value))
    }

    /// Prediction of a mean.
    pub fn expected(formula: &'static str, value: f64) -> Self {
        Self::new(formula, PredictedValue::Expected(value, None))
    }

    /// Prediction of a mean by a rule that has another value for the requests that were drawn.
    pub fn expected_of_rule(formula: &'static str, value: f64, drawn: f64) -> Self {
        Self::new(formula, PredictedValue::Expected(value, Some(drawn)))
    }

    /// Prediction of a range.
    pub fn between(formula: impl Into<Cow<'static, str>>, least: f64, most: f64) -> Self {
        if least == most {
            Self::new(formula, PredictedValue::Exact(least))
        } else {
            Self::new(formula, PredictedValue::Between(least, most))
        }
    }

    /// The promised cost of an entry as a prediction.
    pub fn of_cost(figure: MutexFigure, cost: &Cost) -> Self {
        match figure {
            MutexFigure::Light | MutexFigure::Saturated => {
                let (least, most) = (*cost.messages.start() as f64, *cost.messages.end() as f64);
                Self::between(cost.formula, least, most)
            }
            MutexFigure::Client => Self::of_range(&cost.client_delay),
            MutexFigure::Synchronisation => Self::of_range(&cost.synchronisation_delay),
        }
    }

    /// Prediction of a range, with the range itself as its formula.
    fn of_range(range: &RangeInclusive<u64>) -> Self {
        let (least, most) = (*range.start(), *range.end());
        let formula = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Self::between(formula, least as f64, most as f64)
    }

    /// Sets the explanation of every measured figure.
    #[must_use]
    pub fn with_remark(self, remark: &'static str) -> Self {
        Self { remark: Some(remark), ..self }
    }

    /// Sets the reason why a measured figure differs from the formula.
    #[must_use]
    pub fn with_difference(self, difference: &'static str) -> Self {
        Self { difference: Some(difference), ..self }
    }
}

/// Figures of a mutual exclusion algorithm that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutexFigure {
    /// Messages per entry, with one requester at a time and 2n + 8 message delays from one request to the next.
    Light,
    /// Messages per entry, when every process always wants to enter.
    Saturated,
    /// Delay from request to entry into a free section.
    Client,
    /// Delay from exit to the next entry, while a process waits.
    Synchronisation,
}

impl MutexFigure {
    /// All figures, in the order of tables.
    pub const ALL: [Self; 4] = [Self::Light, Self::Saturated, Self::Client, Self::Synchronisation];
}

/// Mean per request of a number that depends on the order of the requests. `of_run` is its sum over one run.
pub(crate) fn mean_per_request(
    requests: &[Vec<ProcessId>],
    of_run: impl Fn(&[ProcessId]) -> usize,
) -> f64 {
    let sum: usize = requests.iter().map(|run| of_run(run)).sum();
    let count: usize = requests.iter().map(Vec::len).sum();
    sum as f64 / count as f64
}

/// Mean size of the requesters' quorums.
pub(crate) fn mean_quorum(n: usize, quorums: &AnySystem, requests: &[Vec<ProcessId>]) -> f64 {
    let none = ProcessSet::new();
    let size = |process| quorums.quorum(process, &none).map_or(0, |quorum| quorum.len());
    let sizes: Vec<usize> = ProcessId::all(n).map(size).collect();
    mean_per_request(requests, |run| run.iter().map(|process| sizes[process.index()]).sum())
}

/// An election algorithm in the literature: the cases in which its cost is known, and the number of messages in each.
#[derive(Clone, Copy, Debug)]
pub struct ElectionCosts {
    /// Whether a process waits before it starts an election, for each process that ranks above it.
    pub rank_delay: bool,
    /// The cases that differ.
    pub cases: &'static [ElectionCase],
    /// Number of messages with n processes, if there is a formula for the case.
    pub messages: fn(Starters, Order, usize) -> Option<Prediction>,
    /// Number of messages with one starter, if it follows from the position of the starter.
    pub rule: Option<StarterRule>,
    /// Whether each process stores a list of all processes for each starter.
    pub stores_lists: bool,
}

/// The processes that start an election, and the order of the identifiers.
pub type ElectionCase = (Starters, Order);

/// Cases of an election whose cost does not depend on the order of the identifiers.
pub(crate) const IN_ANY_ORDER: &[ElectionCase] =
    &[(Starters::One, Order::Any), (Starters::All, Order::Any)];

/// Processes that start an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starters {
    /// A single process starts.
    One,
    /// All processes start at the same time.
    All,
}

impl Starters {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::All => "all",
        }
    }
}

/// Order of the identifiers around the ring, or choice of the single starter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order makes no difference.
    Any,
    /// Best case of the algorithm.
    Best,
    /// Worst case of the algorithm that is known.
    Worst,
    /// Drawn from the seed.
    Random,
}

impl Order {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Best => "best",
            Self::Worst => "worst",
            Self::Random => "random",
        }
    }
}

/// Number of messages of an election with one starter, as a function of its position.
#[derive(Clone, Copy, Debug)]
pub struct StarterRule {
    /// The formula, with d steps to the greatest process on the ring or h greater processes.
    pub formula: &'static str,
    /// The value of the formula.
    pub messages: fn(StarterPosition) -> f64,
}

/// Position of the only starter of an election.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StarterPosition {
    /// Number of processes in the system, as a real number.
    pub n: f64,
    /// Number of steps to the greatest process on the ring.
    pub steps: f64,
    /// Number of processes that are greater than the starter.
    pub above: f64,
}
