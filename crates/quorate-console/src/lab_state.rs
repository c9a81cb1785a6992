//! State of the lab, shared by all requests.

use std::path::PathBuf;

use crate::api::{CheckJobs, ExperimentJobs};
use crate::runs::Runs;

/// Runs and jobs of a lab server.
#[derive(Debug)]
pub(crate) struct LabState {
    pub(crate) runs: Runs,
    pub(crate) experiments: ExperimentJobs,
    pub(crate) checks: CheckJobs,
    /// Folder with lessons of a teacher.
    pub(crate) lesson_folder: Option<PathBuf>,
}
