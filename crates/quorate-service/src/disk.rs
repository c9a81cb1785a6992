//! What a node remembers whatever happens: how often it has lived, and up to which number it may have used numbers.
//!
//! One small file, written anew beside the old one, brought to the disk and then put in its place. Numbers are reserved in
//! large blocks long before they are used, so that nothing waits for this.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The memory of a node.
#[derive(Clone, Debug)]
pub struct Disk {
    path: PathBuf,
}

/// What it remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Of which cluster.
    pub cluster: u128,
    /// How often it has started.
    pub life: u64,
    /// Numbers up to this one may have been used. None if that is not known: it has lost an earlier memory, and nobody has
    /// told it yet how far the others have come.
    pub mark: Option<u64>,
}

/// Why nothing can be remembered.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The system says so.
    #[error("{path}: {error}")]
    Io {
        /// Where.
        path: String,
        /// What.
        error: io::Error,
    },
    /// The file is not ours.
    #[error(
        "{0} is not what a node has written; move it away if this node is to start as a new one"
    )]
    Garbled(String),
}

const HEAD: &str = "quorate node 1";

/// A mark that is not known.
const UNKNOWN: &str = "unknown";

impl Disk {
    /// In this folder, which is made if need be.
    pub fn open(folder: &Path) -> Result<Self, DiskError> {
        fs::create_dir_all(folder).map_err(|error| io_error(folder, error))?;
        Ok(Self { path: folder.join("node.state") })
    }

    /// The data folder.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// What was remembered; none if nothing ever was.
    pub fn read(&self) -> Result<Option<Remembered>, DiskError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => match parse(&text) {
                Some(remembered) => Ok(Some(remembered)),
                None => Err(DiskError::Garbled(self.path.display().to_string())),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error(&self.path, error)),
        }
    }

    /// Remembers. When this returns, it is on the disk.
    pub fn write(&self, remembered: Remembered) -> Result<(), DiskError> {
        let Remembered { cluster, life, mark } = remembered;
        let mark = mark.map_or(UNKNOWN.to_owned(), |mark| mark.to_string());
        let text = format!("{HEAD}\ncluster {cluster:032x}\nlife {life}\nmark {mark}\n");
        let beside = self.path.with_extension("new");
        let write = || {
            let mut file = File::create(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)?;
            let folder = self.path.parent().unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| io_error(&self.path, error))
    }
}

fn io_error(path: &Path, error: io::Error) -> DiskError {
    DiskError::Io { path: path.display().to_string(), error }
}

fn parse(text: &str) -> Option<Remembered> {
    let mut lines = text.lines();
    if lines.next()? != HEAD {
        return None;
    }
    let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    let cluster = u128::from_str_radix(value("cluster")?, 16).ok()?;
    let life = value("life")?.parse().ok()?;
    let mark = match value("mark")? {
        UNKNOWN => None,
        mark => Some(mark.parse().ok()?),
    };
    Some(Remembered { cluster, life, mark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::open(&folder.path().join("a/b")).expect("it is made");
        assert_eq!(disk.read().expect("nothing is no error"), None);
        for mark in [None, Some(7), Some(u64::MAX)] {
            let remembered = Remembered { cluster: 1 << 127, life: 3, mark };
            disk.write(remembered).expect("a disk");
            assert_eq!(disk.read().expect("it is there"), Some(remembered));
        }
        fs::write(folder.path().join("a/b/node.state"), "quorate node 1\nlife x\n")
            .expect("a disk");
        assert!(matches!(disk.read(), Err(DiskError::Garbled(_))));
    }
}
