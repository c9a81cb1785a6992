//! State of the lab, shared by all requests.

use crate::jobs::Jobs;
use crate::runs::Runs;

/// Runs and jobs of a lab server.
#[derive(Debug)]
pub(crate) struct LabState {
    pub(crate) runs: Runs,
    pub(crate) jobs: Jobs,
}
