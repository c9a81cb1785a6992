//! Queue of the states that wait to be expanded, packed and in segments of one batch each. Its front may be on disk.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use super::checkpoint::{CheckpointReader, CheckpointWriter, invalid};
use super::spill::SpillFile;

/// Number of states that one thread expands at a time.
pub(super) const BATCH: u32 = 1 << 7;

/// Packed states. Every segment of a queue except the last one has [`BATCH`] states.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    pub(super) bytes: Box<[u8]>,
    pub(super) states: u32,
}

/// Queue of packed states.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    /// First segments of the queue, on disk.
    spilled: Option<SpillFile>,
    /// The segments behind them, in memory.
    full: VecDeque<Segment>,
    /// The last segment, to which states are added.
    last: Vec<u8>,
    last_states: u32,
    states: u64,
    bytes: u64,
}

impl Frontier {
    /// Appends a packed state to the last segment.
    pub(super) fn push(&mut self, state: &[u8]) {
        self.last.extend_from_slice(state);
        self.last_states += 1;
        self.states += 1;
        if self.last_states == BATCH {
            self.finish();
        }
    }

    /// Appends a segment, which is the last one unless it is full.
    fn push_segment(&mut self, segment: Segment) {
        self.states += u64::from(segment.states);
        if segment.states < BATCH {
            (self.last, self.last_states) = (segment.bytes.into(), segment.states);
            return;
        }
        self.bytes += size_of_segment(&segment);
        self.full.push_back(segment);
    }

    /// Removes the first segments, at most `most` of them. An empty result means that no state is left.
    pub(super) fn take(&mut self, most: usize) -> io::Result<Vec<Segment>> {
        let taken = match self.spilled.as_mut().filter(|spilled| spilled.segments() > 0) {
            Some(spilled) => spilled.take(most)?,
            None => self.take_from_memory(most),
        };
        self.states -= taken.iter().map(|segment| u64::from(segment.states)).sum::<u64>();
        Ok(taken)
    }

    fn take_from_memory(&mut self, most: usize) -> Vec<Segment> {
        if self.full.len() < most && self.last_states > 0 {
            self.finish();
        }
        let taken: Vec<Segment> = self.full.drain(..most.min(self.full.len())).collect();
        self.bytes -= taken.iter().map(size_of_segment).sum::<u64>();
        taken
    }

    /// Moves all full segments to a file in this directory.
    pub(super) fn spill(&mut self, directory: &Path) -> io::Result<()> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(SpillFile::create(directory)?),
        };
        spilled.write(self.full.drain(..))?;
        (self.full, self.bytes) = (VecDeque::new(), 0);
        Ok(())
    }

    /// Calls `on_segment` with every segment of the queue, in order. The last one may be partly filled.
    pub(super) fn for_each(
        &self,
        mut on_segment: impl FnMut(&Segment) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(spilled) = &self.spilled {
            spilled.for_each(|segment| on_segment(&segment))?;
        }
        self.full.iter().try_for_each(&mut on_segment)?;
        match self.last_states {
            0 => Ok(()),
            states => on_segment(&Segment { bytes: self.last.as_slice().into(), states }),
        }
    }

    pub(super) fn write(&self, out: &mut CheckpointWriter<'_>) -> io::Result<()> {
        out.number(self.states)?;
        self.for_each(|segment| {
            out.number(segment.states.into())?;
            out.bytes(&segment.bytes)
        })
    }

    pub(super) fn read(input: &mut CheckpointReader) -> io::Result<Self> {
        let (mut frontier, states) = (Self::default(), input.number()?);
        while frontier.states < states {
            let states = input.number()?;
            if !(1..=u64::from(BATCH)).contains(&states) {
                return Err(invalid("it is damaged"));
            }
            let (bytes, states) = (input.bytes()?.into(), states as u32);
            frontier.push_segment(Segment { bytes, states });
        }
        Ok(frontier)
    }

    /// Number of states in the queue.
    pub(super) fn states(&self) -> u64 {
        self.states
    }

    /// Memory that the queued states take, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes + self.last.capacity() as u64
    }

    fn finish(&mut self) {
        let segment = Segment { bytes: self.last.as_slice().into(), states: self.last_states };
        self.last.clear();
        self.last_states = 0;
        self.bytes += size_of_segment(&segment);
        self.full.push_back(segment);
    }
}

fn size_of_segment(segment: &Segment) -> u64 {
    (size_of::<Segment>() + segment.bytes.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a queue, on disk from time to time, and empties it.
    fn through(spill_each: usize) -> (Vec<u32>, Vec<u8>) {
        let directory = tempfile::tempdir().expect("a directory");
        let mut frontier = Frontier::default();
        let (mut bytes, mut sizes) = (Vec::new(), Vec::new());
        for state in 0..1_000_u32 {
            frontier.push(&state.to_le_bytes());
            if state as usize % spill_each == spill_each - 1 {
                frontier.spill(directory.path()).expect("room on the disk");
            }
        }
        let mut seen = 0;
        let count = |segment: &Segment| {
            seen += segment.states;
            Ok(())
        };
        frontier.for_each(count).expect("readable");
        assert_eq!((seen, frontier.states()), (1_000, 1_000));
        while let taken = frontier.take(3).expect("readable")
            && !taken.is_empty()
        {
            sizes.extend(taken.iter().map(|segment| segment.states));
            taken.iter().for_each(|segment| bytes.extend_from_slice(&segment.bytes));
        }
        assert_eq!((frontier.states(), frontier.bytes), (0, 0));
        assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
        (sizes, bytes)
    }

    #[test]
    fn states_leave_the_queue_in_order_and_in_full_segments() {
        for spill_each in [1, 100, 300, 700, 10_000] {
            let (sizes, bytes) = through(spill_each);
            assert_eq!(sizes, [128, 128, 128, 128, 128, 128, 128, 104], "{spill_each}");
            assert_eq!(bytes, (0..1_000).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        }
    }
}
