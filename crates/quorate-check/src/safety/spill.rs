//! Segments of a queue on disk, in the order in which they were written.
//!
//! The file has no name, so the operating system removes it when the search ends, however it ends.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::frontier::Segment;

/// Queue of segments in a file. Each has a header with its number of states and its length.
#[derive(Debug)]
pub(super) struct SpillFile {
    file: File,
    /// Where the next segment is read, and where the next one is written.
    read_at: u64,
    end: u64,
    segments: u64,
}

/// Length of the header of a segment.
const HEADER: u64 = 8;

impl SpillFile {
    pub(super) fn create(directory: &Path) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile_in(directory)?, read_at: 0, end: 0, segments: 0 })
    }

    /// Number of segments that were not read yet.
    pub(super) fn segments(&self) -> u64 {
        self.segments
    }

    /// Appends segments to the file.
    pub(super) fn write(&mut self, segments: impl Iterator<Item = Segment>) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut out = BufWriter::with_capacity(1 << 20, &self.file);
        for segment in segments {
            out.write_all(&segment.states.to_le_bytes())?;
            out.write_all(&(segment.bytes.len() as u32).to_le_bytes())?;
            out.write_all(&segment.bytes)?;
            self.end += HEADER + segment.bytes.len() as u64;
            self.segments += 1;
        }
        out.flush()
    }

    /// Removes the first segments, at most `most` of them. The file becomes empty when nothing is left.
    pub(super) fn take(&mut self, most: usize) -> io::Result<Vec<Segment>> {
        let count = self.segments.min(most as u64);
        let mut taken = Vec::with_capacity(count as usize);
        self.read(count, |segment| {
            taken.push(segment);
            Ok(())
        })?;
        self.read_at +=
            taken.iter().map(|segment| HEADER + segment.bytes.len() as u64).sum::<u64>();
        self.segments -= count;
        if self.segments == 0 {
            self.file.set_len(0)?;
            (self.read_at, self.end) = (0, 0);
        }
        Ok(taken)
    }

    /// Calls `on_segment` with each segment that was not read yet, and leaves it in the file.
    pub(super) fn for_each(
        &self,
        on_segment: impl FnMut(Segment) -> io::Result<()>,
    ) -> io::Result<()> {
        self.read(self.segments, on_segment)
    }

    fn read(
        &self,
        count: u64,
        mut on_segment: impl FnMut(Segment) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.read_at))?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        for _ in 0..count {
            let [mut states, mut length] = [[0; 4]; 2];
            reader.read_exact(&mut states)?;
            reader.read_exact(&mut length)?;
            let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
            reader.read_exact(&mut bytes)?;
            on_segment(Segment { bytes: bytes.into(), states: u32::from_le_bytes(states) })?;
        }
        Ok(())
    }
}
