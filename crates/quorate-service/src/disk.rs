//! Durable state of a node: its incarnation, and the mark up to which it may have used vote numbers.
//!
//! The state is one small file. It is written beside the old file, synced, and renamed to replace it. Numbers are reserved
//! in large blocks long before they are used, so that votes do not wait for the disk. The file ends with a checksum: a
//! truncated or foreign file is refused, never trusted.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The data folder of a node.
#[derive(Clone, Debug)]
pub struct Disk {
    path: PathBuf,
    /// The lock file, once this process has locked the folder.
    lock: Option<Arc<File>>,
}

/// Contents of the state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurableState {
    /// The cluster that the node belongs to.
    pub cluster: u128,
    /// The node that wrote the file; `None` in files of the first format.
    pub node: Option<u32>,
    /// Number of starts so far.
    pub incarnation: u64,
    /// Greatest vote number that may have been used. `None` if it is not known: the node has lost its earlier state, and
    /// the other nodes have not reported their numbers yet.
    pub mark: Option<u64>,
}

/// Reason why the data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// An operation of the file system failed.
    #[error("{path}: {error}")]
    Io {
        /// The file or folder of the operation.
        path: String,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The file is truncated, damaged or foreign.
    #[error("{0} is not a valid node state file; move it away to start this node as a new one")]
    Garbled(String),
    /// Another process has locked the folder.
    #[error("{0} is in use by another process; each node needs a data folder of its own")]
    InUse(String),
}

const HEAD: &str = "quorate node 2";

/// First line of the first format, which has neither a node nor a checksum. Only a complete file of exactly
/// four lines is read.
const HEAD_1: &str = "quorate node 1";

/// Represents a node or mark that is not known.
const UNKNOWN: &str = "unknown";

impl Disk {
    /// Opens a data folder, and creates it if it does not exist.
    pub fn open(folder: &Path) -> Result<Self, DiskError> {
        fs::create_dir_all(folder).map_err(|error| io_error(folder, error))?;
        Ok(Self { path: folder.join("node.state"), lock: None })
    }

    /// Returns the path of the data folder.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Locks the folder for this process, as long as a clone of the result exists. Fails with [`DiskError::InUse`] if
    /// another process has locked it.
    pub fn lock(mut self) -> Result<Self, DiskError> {
        let path = self.path.with_file_name("node.lock");
        let open = || File::options().create(true).truncate(false).write(true).open(&path);
        let file = open().map_err(|error| io_error(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(DiskError::InUse(self.folder().display().to_string()));
            }
            Err(TryLockError::Error(error)) => return Err(io_error(&path, error)),
        }
        self.lock = Some(Arc::new(file));
        Ok(self)
    }

    /// Reads the state file; `None` if it does not exist.
    pub fn read(&self) -> Result<Option<DurableState>, DiskError> {
        let garbled = || DiskError::Garbled(self.path.display().to_string());
        match fs::read_to_string(&self.path) {
            Ok(text) => parse(&text).map(Some).ok_or_else(garbled),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(garbled()),
            Err(error) => Err(io_error(&self.path, error)),
        }
    }

    /// Writes the state file. It is durable when this returns.
    pub fn write(&self, durable: DurableState) -> Result<(), DiskError> {
        let DurableState { cluster, node, incarnation, mark } = durable;
        let unknown = || UNKNOWN.to_owned();
        let node = node.map_or_else(unknown, |node| node.to_string());
        let mark = mark.map_or_else(unknown, |mark| mark.to_string());
        let text = format!(
            "{HEAD}\ncluster {cluster:032x}\nnode {node}\nlife {incarnation}\nmark {mark}\n"
        );
        let text = format!("{text}sum {}\n", sum(&text));
        self.replace(&self.path, &text)
    }

    /// Replaces a file of the folder. The new contents are durable when this returns.
    pub(crate) fn replace(&self, path: &Path, text: &str) -> Result<(), DiskError> {
        let beside = path.with_extension("new");
        let write = || {
            let mut file = File::create(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, path)?;
            File::open(self.folder())?.sync_all()
        };
        write().map_err(|error| io_error(path, error))
    }
}

fn io_error(path: &Path, error: io::Error) -> DiskError {
    DiskError::Io { path: path.display().to_string(), error }
}

/// Returns the checksum of a text. It detects accidents, not forgery: a process that can write to the
/// folder can do anything.
pub(crate) fn sum(text: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse(text: &str) -> Option<DurableState> {
    let lines: Vec<&str> = text.strip_suffix('\n')?.split('\n').collect();
    let (cluster, node, incarnation, mark) = match lines[..] {
        [HEAD_1, cluster, incarnation, mark] => (cluster, None, incarnation, mark),
        [HEAD, cluster, node, incarnation, mark, last] => {
            let body = text.strip_suffix(&format!("{last}\n"))?;
            if value(last, "sum")? != sum(body) {
                return None;
            }
            (cluster, Some(node), incarnation, mark)
        }
        _ => return None,
    };
    let node = match node.map(|node| value(node, "node")) {
        None | Some(Some(UNKNOWN)) => None,
        Some(node) => Some(node?.parse().ok()?),
    };
    let mark = match value(mark, "mark")? {
        UNKNOWN => None,
        mark => Some(mark.parse().ok()?),
    };
    let cluster = u128::from_str_radix(value(cluster, "cluster")?, 16).ok()?;
    Some(DurableState {
        cluster,
        node,
        incarnation: value(incarnation, "life")?.parse().ok()?,
        mark,
    })
}

fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name)?.strip_prefix(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(mark: Option<u64>) -> DurableState {
        DurableState { cluster: 1 << 127, node: Some(2), incarnation: 3, mark }
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::open(&folder.path().join("a/b")).expect("it is made");
        assert_eq!(disk.read().expect("nothing is no error"), None);
        for mark in [None, Some(7), Some(u64::MAX)] {
            disk.write(some(mark)).expect("a disk");
            assert_eq!(disk.read().expect("it is there"), Some(some(mark)));
        }
    }

    #[test]
    fn a_truncated_or_foreign_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::open(folder.path()).expect("it is made");
        let path = folder.path().join("node.state");
        disk.write(some(Some(1_234_567))).expect("a disk");
        let whole = fs::read(&path).expect("it is there");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("a disk");
            assert!(
                matches!(disk.read(), Err(DiskError::Garbled(_))),
                "{length} bytes are trusted"
            );
        }
        let text = String::from_utf8(whole).expect("text");
        for foreign in [
            text.replace("1234567", "123456"),
            format!("{text}\n"),
            "quorate node 1\nlife x\n".to_owned(),
            "quorate node 1\ncluster 1\nlife 3\nmark 12".to_owned(),
            "{}".to_owned(),
        ] {
            fs::write(&path, &foreign).expect("a disk");
            assert!(matches!(disk.read(), Err(DiskError::Garbled(_))), "{foreign:?} is trusted");
        }
        fs::write(&path, [0xff, 0xfe, 0]).expect("a disk");
        assert!(matches!(disk.read(), Err(DiskError::Garbled(_))));
    }

    #[test]
    fn the_first_format_is_still_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::open(folder.path()).expect("it is made");
        let old = "quorate node 1\ncluster 01\nlife 3\nmark 12\n";
        fs::write(folder.path().join("node.state"), old).expect("a disk");
        let read = disk.read().expect("it is whole");
        assert_eq!(
            read,
            Some(DurableState { cluster: 1, node: None, incarnation: 3, mark: Some(12) })
        );
    }

    #[test]
    fn a_folder_belongs_to_one_owner_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Disk::open(folder.path()).expect("it is made");
        let first = open().lock().expect("it is free");
        assert!(matches!(open().lock(), Err(DiskError::InUse(_))));
        let clone = first.clone();
        drop(first);
        assert!(matches!(open().lock(), Err(DiskError::InUse(_))));
        drop(clone);
        open().lock().expect("it is free again");
    }
}
