//! Where servers keep what they must remember.

use serde::Serialize;
use tempfile::TempDir;

use crate::service::BenchError;

/// A folder in the machine's memory, as Linux has it.
const MEMORY: &str = "/dev/shm";

/// On what a server keeps what it must remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// On a disk, and an answer waits until it is there.
    Disk,
    /// In memory: gone when the machine is.
    Memory,
}

impl Storage {
    /// A new folder there, which goes when it is dropped.
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

    /// Whether temporary folders are in memory, too, so that nothing here is on a disk: TMPDIR says where they are.
    pub fn disk_is_memory() -> bool {
        /// The number by which Linux knows such a file system.
        const TMPFS: rustix::fs::FsWord = 0x0102_1994;
        let found = rustix::fs::statfs(std::env::temp_dir());
        found.is_ok_and(|found| found.f_type == TMPFS)
    }
}
