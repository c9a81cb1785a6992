//! What a process did, one line for each thing, in a file of its own: whatever kills the process, what it did is there.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A file that is only ever appended to, unbuffered.
#[derive(Debug)]
pub(crate) struct Log(File);

impl Log {
    /// Appends to this file, which is made if need be.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path)?))
    }

    /// One line, with one write.
    pub(crate) fn line(&mut self, words: std::fmt::Arguments<'_>) {
        // Who cannot write down what it does must not do anything.
        self.0.write_all(format!("{words}\n").as_bytes()).expect("the disk takes what is logged");
    }
}

/// Words of the lines of a file; none if there is no such file.
pub(crate) fn lines(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // What was being written when its writer was killed does not count.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}
