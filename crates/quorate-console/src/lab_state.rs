//! State of the lab, shared by all requests.

use crate::api::{CheckJobs, ExperimentJobs};
use crate::runs::Runs;

/// Runs and jobs of a lab server.
#[derive(Debug)]
pub(crate) struct LabState {
    pub(crate) runs: Runs,
    pub(crate) experiments: ExperimentJobs,
    pub(crate) checks: CheckJobs,
}
