//! What is compared: every sound mutual exclusion algorithm, over each quorum system or tree it can work over.

use quorate_algorithms::Algorithm;
use quorate_algorithms::catalogue::{self, AlgorithmQuery, PROFILES};
use quorate_core::{Assumption, Layer, SpanningTree};
use quorate_sim::Scenario;
use quorate_sim::notation::TreeText;

/// An algorithm over something, and the facts that decide which questions make sense for it.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) algorithm: &'static str,
    /// The quorum system or tree, or that permissions are handed over, if there is a choice.
    pub(super) over: Option<&'static str>,
    /// The place of the algorithm among those compared.
    pub(super) group: usize,
    /// The place of the quorum system or tree among those of the algorithm.
    pub(super) variant: usize,
    /// Whether one process serves the others.
    pub(super) has_server: bool,
    /// The kind of message that is the token, if there is one.
    pub(super) token: Option<&'static str>,
    /// Whether it votes.
    pub(super) votes: bool,
    along_a_tree: bool,
}

/// What a server can be made to do.
const HAND_OVER: &str = "hand-over";

const TREES: [(&str, SpanningTree); 3] = [
    ("chain", SpanningTree::Chain),
    ("star", SpanningTree::Star),
    ("binary", SpanningTree::Binary),
];

impl Series {
    /// All there are, in the order of the catalogue.
    pub(super) fn all() -> Vec<Self> {
        let sound = |profile: &&quorate_core::Profile| {
            profile.layer == Layer::Mutex && profile.specimen.is_none()
        };
        let names = PROFILES.iter().filter(sound).map(|profile| profile.name).enumerate();
        names
            .flat_map(|(group, name)| catalogue::query_algorithm(name, SeriesQuery(group)))
            .flatten()
            .collect()
    }

    /// As it is called where there is one word for it: `maekawa plane`.
    pub(super) fn label(&self) -> String {
        match self.over {
            None => self.algorithm.to_owned(),
            Some(over) => format!("{} {over}", self.algorithm),
        }
    }

    /// The default run with n processes.
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

struct SeriesQuery(usize);

impl AlgorithmQuery for SeriesQuery {
    type Answer = Vec<Series>;

    fn query<A: Algorithm>(self) -> Vec<Series> {
        let overs: Vec<Option<&'static str>> = match (A::ALONG_A_TREE, A::QUORUMS) {
            (true, _) => TREES.iter().map(|(name, _)| Some(*name)).collect(),
            (false, []) if A::HANDS_OVER => vec![None, Some(HAND_OVER)],
            (false, []) => vec![None],
            (false, systems) => systems.iter().copied().map(Some).collect(),
        };
        let series = |(variant, over)| Series {
            algorithm: A::PROFILE.name,
            over,
            group: self.0,
            variant,
            has_server: A::PROFILE.assumes.contains(&Assumption::ServerUp),
            token: A::TOKEN,
            votes: !A::QUORUMS.is_empty(),
            along_a_tree: A::ALONG_A_TREE,
        };
        overs.into_iter().enumerate().map(series).collect()
    }
}
