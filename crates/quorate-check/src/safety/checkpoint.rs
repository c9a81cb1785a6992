//! The state of a search as a file, from which another run of the program continues it.
//!
//! The file is written beside its final place and renamed, so that a search that dies meanwhile leaves the last complete one.
//! It begins with a line that names the format, and ends with a fingerprint of everything before. All numbers have 64 bits,
//! the lowest byte first.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use crate::{Fingerprint, FingerprintHasher};

const FORMAT: &[u8; 24] = b"quorate check search  2\n";

/// Returns the identity of the search whose checkpoint this file is.
pub fn checkpoint_identity(path: &Path) -> io::Result<Fingerprint> {
    CheckpointReader::open_any(path).map(|(_, identity)| identity)
}

/// Writes a checkpoint, number by number.
pub(super) struct CheckpointWriter<'a> {
    out: BufWriter<&'a File>,
    hasher: FingerprintHasher,
}

impl CheckpointWriter<'_> {
    /// Replaces the file with one that `write` fills, for the search with this identity.
    pub(super) fn replace(
        path: &Path,
        identity: Fingerprint,
        write: impl FnOnce(&mut CheckpointWriter<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let directory = path.parent().filter(|parent| *parent != Path::new(""));
        let file = tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?;
        let out = BufWriter::with_capacity(1 << 20, file.as_file());
        let mut writer = CheckpointWriter { out, hasher: FingerprintHasher::default() };
        writer.out.write_all(FORMAT)?;
        writer.print(identity)?;
        write(&mut writer)?;
        writer.print(writer.hasher.fingerprint())?;
        writer.out.flush()?;
        drop(writer);
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    pub(super) fn number(&mut self, number: u64) -> io::Result<()> {
        self.hasher.write_u64(number);
        self.out.write_all(&number.to_le_bytes())
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.number(bytes.len() as u64)?;
        self.hasher.write(bytes);
        self.out.write_all(bytes)
    }

    fn print(&mut self, print: Fingerprint) -> io::Result<()> {
        self.number(print as u64)?;
        self.number((print >> 64) as u64)
    }
}

/// Reads a checkpoint, number by number.
pub(super) struct CheckpointReader {
    input: BufReader<File>,
    /// Number of bytes that were not read yet.
    left: u64,
    hasher: FingerprintHasher,
}

impl CheckpointReader {
    /// Opens the checkpoint of the search with this identity.
    pub(super) fn open(path: &Path, identity: Fingerprint) -> io::Result<Self> {
        let (reader, found) = Self::open_any(path)?;
        match found == identity {
            true => Ok(reader),
            false => Err(invalid("it belongs to a search with other flags or another program")),
        }
    }

    fn open_any(path: &Path) -> io::Result<(Self, Fingerprint)> {
        let file = File::open(path)?;
        let left = file.metadata()?.len().saturating_sub(FORMAT.len() as u64);
        let input = BufReader::with_capacity(1 << 20, file);
        let mut reader = Self { input, left, hasher: FingerprintHasher::default() };
        let mut format = [0; FORMAT.len()];
        let read = reader.input.read_exact(&mut format);
        if read.is_err() || format != *FORMAT {
            return Err(invalid("it is no checkpoint of this version of the program"));
        }
        let identity = reader.print()?;
        Ok((reader, identity))
    }

    pub(super) fn number(&mut self) -> io::Result<u64> {
        let mut number = [0; 8];
        self.input.read_exact(&mut number)?;
        self.left = self.left.saturating_sub(size_of::<u64>() as u64);
        let number = u64::from_le_bytes(number);
        self.hasher.write_u64(number);
        Ok(number)
    }

    /// Reads how many items follow that take at least this many bytes each. A damaged file never leads to more memory than its
    /// own size.
    pub(super) fn length(&mut self, bytes_each: u64) -> io::Result<usize> {
        let length = self.number()?;
        match length.saturating_mul(bytes_each) <= self.left {
            true => Ok(length as usize),
            false => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(super) fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.length(1)?];
        self.input.read_exact(&mut bytes)?;
        self.left -= bytes.len() as u64;
        self.hasher.write(&bytes);
        Ok(bytes)
    }

    /// Checks that the file is complete and unchanged.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let expected = self.hasher.fingerprint();
        match self.print()? == expected && self.input.read(&mut [0])? == 0 {
            true => Ok(()),
            false => Err(invalid("it is damaged")),
        }
    }

    fn print(&mut self) -> io::Result<Fingerprint> {
        let low = self.number()?;
        Ok(Fingerprint::from(self.number()?) << 64 | Fingerprint::from(low))
    }
}

/// An error in the content of a checkpoint.
pub(super) fn invalid(problem: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path, identity: Fingerprint) -> io::Result<(u64, Vec<u8>)> {
        let mut reader = CheckpointReader::open(path, identity)?;
        let read = (reader.number()?, reader.bytes()?);
        reader.finish()?;
        Ok(read)
    }

    #[test]
    fn only_a_whole_checkpoint_of_the_same_search_is_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("search");
        for number in [7, 8] {
            CheckpointWriter::replace(&path, 1 << 100, |out| {
                out.number(number)?;
                out.bytes(b"some bytes")
            })
            .expect("room on the disk");
            assert_eq!(read(&path, 1 << 100).expect("whole"), (number, b"some bytes".to_vec()));
        }
        assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 1);
        assert!(read(&path, 5).expect_err("another search").to_string().contains("other flags"));
        let whole = std::fs::read(&path).expect("readable");
        for at in 0..whole.len() {
            std::fs::write(&path, &whole[..at]).expect("room on the disk");
            assert!(read(&path, 1 << 100).is_err(), "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).expect("room on the disk");
            assert!(read(&path, 1 << 100).is_err(), "changed at {at}");
        }
        std::fs::write(&path, [whole, vec![0]].concat()).expect("room on the disk");
        assert!(read(&path, 1 << 100).is_err(), "too long");
    }
}
