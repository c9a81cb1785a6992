//! The list of all experiments.

use quorate_sim::nearest;

use super::definition::Experiment;
use super::error::ExperimentError;
use super::{
    byzantine, clock_sync, consensus_rounds, detectors, election_cost, literature, mutex_cost,
    mutex_faults, settled_versus_majority, thesis, vcube_diagnosis, verification, without_cancel,
};

/// All experiments that can be run by name.
pub const EXPERIMENTS: &[Experiment] = &[
    mutex_cost::EXPERIMENT,
    mutex_faults::EXPERIMENT,
    election_cost::EXPERIMENT,
    thesis::EXPERIMENT,
    settled_versus_majority::EXPERIMENT,
    without_cancel::EXPERIMENT,
    vcube_diagnosis::EXPERIMENT,
    detectors::EXPERIMENT,
    clock_sync::EXPERIMENT,
    byzantine::EXPERIMENT,
    consensus_rounds::EXPERIMENT,
    literature::EXPERIMENT,
    verification::EXPERIMENT,
];

impl Experiment {
    /// Finds the experiment with this name.
    pub fn by_name(name: &str) -> Result<&'static Self, ExperimentError> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
            let known = EXPERIMENTS.iter().map(|experiment| experiment.name);
            let way_out = match nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`quorate experiment` names them all".to_owned(),
            };
            let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
            ExperimentError::Option(format!("there is no experiment `{name}`; {way_out}"))
        })
    }
}
