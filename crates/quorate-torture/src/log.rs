//! Event logs: each process appends one line per event to its own file, unbuffered, so that the log is complete however the
//! process ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An append-only file, written without a buffer.
#[derive(Debug)]
pub(crate) struct Log(File);

impl Log {
    /// Opens a log for appending, and creates the file if it does not exist.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// Appends a line with one write.
    pub(crate) fn line(&mut self, words: std::fmt::Arguments<'_>) {
        // A process must not act without a log: its actions could not be judged.
        self.0.write_all(format!("{words}\n").as_bytes()).expect("there is room for the log");
    }
}

/// Reads the words of all lines of a log. Fails if there is no such file: a missing log is not an empty one.
pub(crate) fn lines(path: &Path) -> io::Result<Vec<Vec<String>>> {
    Tail::new(path.to_owned()).lines()
}

/// A log that is read while it grows. Each line is read once.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    offset: u64,
}

impl Tail {
    /// A log that is read from its start.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// A log of which only new lines are read.
    pub(crate) fn from_end(path: PathBuf) -> io::Result<Self> {
        let mut tail = Self::new(path);
        tail.lines()?;
        Ok(tail)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Words of the lines appended since the last call. Fails if there is no such file.
    pub(crate) fn lines(&mut self) -> io::Result<Vec<Vec<String>>> {
        let bytes = self.read().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot read {}: {error}", self.path.display()))
        })?;
        // An incomplete line is being written, or its process was killed. It does not count.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        self.offset += whole as u64;
        let text = String::from_utf8_lossy(&bytes[..whole]);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        Ok(text.lines().map(words).collect())
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let (mut file, mut bytes) = (File::open(&self.path)?, Vec::new());
        file.seek(SeekFrom::Start(self.offset))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_read_and_a_missing_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let missing = lines(&path).expect_err("there is no file").to_string();
        assert!(missing.contains("log"), "{missing}");
        std::fs::write(&path, "held 1 2\nlost 3").expect("a file");
        assert_eq!(lines(&path).expect("a file"), [["held", "1", "2"]]);
    }

    #[test]
    fn each_line_of_a_log_that_grows_is_read_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let write = |text: &str| {
            let mut file =
                OpenOptions::new().create(true).append(true).open(&path).expect("a file");
            file.write_all(text.as_bytes()).expect("there is room");
        };
        write("one 1\ntw");
        let (mut tail, mut end) =
            (Tail::new(path.clone()), Tail::from_end(path.clone()).expect("a log"));
        assert_eq!(tail.lines().expect("a log"), [["one", "1"]]);
        assert_eq!(tail.lines().expect("a log"), Vec::<Vec<String>>::new());
        write("o 2\nthree 3\n");
        for tail in [&mut tail, &mut end] {
            assert_eq!(tail.lines().expect("a log"), [["two", "2"], ["three", "3"]]);
        }
    }
}
