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

/// Words of the lines of a file. Fails if there is no such file: what was not logged must not pass for what did not happen.
pub(crate) fn lines(path: &Path) -> io::Result<Vec<Vec<String>>> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(named)?;
    // A line that was being written when its process was killed does not count.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    Ok(whole.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect())
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
}
