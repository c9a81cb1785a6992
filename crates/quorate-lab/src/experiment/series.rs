//! Series to compare: every correct mutual exclusion algorithm, with each quorum system or tree that it supports.

use quorate_algorithms::literature::{MutexFigure, Prediction};
use quorate_algorithms::{Setup, Shape};
use quorate_core::{Layer, ProcessId, SpanningTree};
use quorate_run::{Facts, catalogue};
use quorate_sim::Scenario;
use quorate_sim::notation::TreeText;

/// An algorithm in one variant, and the facts that decide which questions make sense for it.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) algorithm: &'static str,
    /// Quorum system or tree, or `hand-over` if permissions are handed over; `None` if there is no choice.
    pub(super) over: Option<&'static str>,
    /// Index of the algorithm among those compared.
    pub(super) group: usize,
    /// Index of the variant among those of the algorithm.
    pub(super) variant: usize,
    /// Whether one process is the server of the others.
    pub(super) has_server: bool,
    /// Kind of the token message, if the algorithm has a token.
    pub(super) token: Option<&'static str>,
    /// Whether the algorithm collects votes of a quorum.
    pub(super) votes: bool,
    /// The literature's prediction of a figure.
    pub(super) predict: fn(MutexFigure, &Setup, &[Vec<ProcessId>]) -> Prediction,
    along_a_tree: bool,
}

/// Variant of a server in which permissions are handed over.
const HAND_OVER: &str = "hand-over";

const TREES: [(&str, SpanningTree); 3] = [
    ("chain", SpanningTree::Chain),
    ("star", SpanningTree::Star),
    ("binary", SpanningTree::Binary),
];

impl Series {
    /// All series, in the order of the catalogue.
    pub(super) fn all() -> Vec<Self> {
        let sound = |facts: &&Facts| {
            facts.profile.layer == Layer::Mutex && facts.profile.specimen.is_none()
        };
        let compared = catalogue().entries().iter().map(|entry| entry.facts()).filter(sound);
        compared.enumerate().flat_map(|(group, facts)| Self::of(group, facts)).collect()
    }

    /// All variants of an algorithm.
    fn of(group: usize, facts: &Facts) -> Vec<Self> {
        let overs: Vec<Option<&'static str>> = match (facts.along_a_tree, facts.quorums) {
            (true, _) => TREES.iter().map(|(name, _)| Some(*name)).collect(),
            (false, []) if facts.hands_over => vec![None, Some(HAND_OVER)],
            (false, []) => vec![None],
            (false, systems) => systems.iter().copied().map(Some).collect(),
        };
        let series = |(variant, over)| Self {
            algorithm: facts.profile.name,
            over,
            group,
            variant,
            has_server: facts.shape == Shape::Server,
            token: facts.token,
            votes: !facts.quorums.is_empty(),
            predict: facts.predict_entry,
            along_a_tree: facts.along_a_tree,
        };
        overs.into_iter().enumerate().map(series).collect()
    }

    /// Label in one phrase, such as `maekawa plane`.
    pub(super) fn label(&self) -> String {
        match self.over {
            None => self.algorithm.to_owned(),
            Some(over) => format!("{} {over}", self.algorithm),
        }
    }

    /// Default scenario with n processes.
    pub(super) fn scenario(&self, n: usize) -> Scenario {
        let mut scenario = Scenario::new(self.algorithm, n);
        if self.along_a_tree {
            let tree = TREES.iter().find(|(name, _)| Some(*name) == self.over);
            scenario.tree = tree.map(|(_, tree)| TreeText(tree.clone()));
        } else if self.over == Some(HAND_OVER) {
            scenario.hand_over = true;
        } else {
            scenario.quorums = self.over.map(str::to_owned);
        }
        scenario
    }
}
