//! Reasons why a scenario cannot be run, and suggestions for names that do not exist.

use quorate_sim::{RunError, nearest};

use crate::catalogue::catalogue;

/// Reason why a scenario could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CannotRun {
    /// No algorithm has that name.
    #[error("there is no algorithm `{name}`; {}", suggestion(name))]
    UnknownAlgorithm {
        /// Requested name of an algorithm.
        name: String,
    },
    /// The algorithm does not work over that quorum system.
    #[error("{algorithm} does not work over `{quorums}`; {known}")]
    UnknownQuorums {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Name of the requested quorum system.
        quorums: String,
        /// Sentence that names the supported quorum systems.
        known: String,
    },
    /// The algorithm needs a monotone quorum system.
    #[error(
        "{algorithm} does not work over `{quorums}`, which is not monotone, so that quorums taken before and after a \
         crash may miss each other: {why}"
    )]
    NotMonotone {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Name of the requested quorum system.
        quorums: &'static str,
        /// Counterexample, or the systems that are possible.
        why: String,
    },
    /// There is no proved model of the algorithm with the quorums, the detector and the recoveries of the scenario.
    #[error(
        "there is no model of {algorithm} with these quorums, this detector and these recoveries"
    )]
    NoModel {
        /// Name of the algorithm.
        algorithm: &'static str,
    },
    /// The algorithm has no messages of this kind.
    #[error("{algorithm} has no messages of the kind `{kind}`")]
    UnknownKind {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Kind of message that was expected.
        kind: String,
    },
    /// The search of every interleaving is impossible for the reason given.
    #[error("{0}")]
    Search(String),
    /// A key of the scenario does not fit the family of the algorithm.
    #[error("{algorithm} is {} {family} algorithm: {problem}", article(family))]
    OtherFamily {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Family of the algorithm.
        family: &'static str,
        /// Key of the scenario that does not fit.
        key: &'static str,
        /// Description of the mismatch.
        problem: String,
    },
    /// The run itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

fn suggestion(name: &str) -> String {
    match nearest(name, catalogue().profiles().map(|profile| profile.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`quorate list` names them all".to_owned(),
    }
}

fn article(family: &str) -> &'static str {
    if family.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

pub(crate) fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}
