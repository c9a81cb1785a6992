//! Storage of servers.

use serde::Serialize;
use tempfile::TempDir;

use crate::error::BenchError;

/// In-memory file system of Linux.
const MEMORY: &str = "/dev/shm";

/// Storage in which a server keeps its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// On disk. Answers wait until the data is written.
    Disk,
    /// In memory. The data is lost when the machine restarts.
    Memory,
}

impl Storage {
    /// Creates a temporary directory in this storage. It is deleted when dropped.
    pub(crate) fn folder(self) -> Result<TempDir, BenchError> {
        let made = match self {
            Self::Disk => tempfile::tempdir(),
            Self::Memory => tempfile::tempdir_in(MEMORY),
        };
        made.map_err(|error| match self {
            Self::Disk => BenchError(format!("no temporary folder: {error}")),
            Self::Memory => BenchError(format!("no folder in {MEMORY}: {error}")),
        })
    }

    /// Whether temporary directories are in memory, so that nothing is on a disk. TMPDIR selects their location.
    pub fn disk_is_memory() -> bool {
        /// Magic number of tmpfs in Linux.
        const TMPFS: rustix::fs::FsWord = 0x0102_1994;
        let found = rustix::fs::statfs(std::env::temp_dir());
        found.is_ok_and(|found| found.f_type == TMPFS)
    }
}
