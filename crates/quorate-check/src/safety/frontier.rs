//! Queue of the states that wait to be expanded, packed and in segments of one batch each.

use std::collections::VecDeque;

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

    /// Removes the first segments, at most `most` of them.
    pub(super) fn take(&mut self, most: usize) -> Vec<Segment> {
        if self.full.len() < most && self.last_states > 0 {
            self.finish();
        }
        let taken: Vec<Segment> = self.full.drain(..most.min(self.full.len())).collect();
        self.states -= taken.iter().map(|segment| u64::from(segment.states)).sum::<u64>();
        self.bytes -= taken.iter().map(size_of_segment).sum::<u64>();
        taken
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

    #[test]
    fn states_leave_the_queue_in_order_and_in_full_segments() {
        let mut frontier = Frontier::default();
        (0..1_000_u32).for_each(|state| frontier.push(&state.to_le_bytes()));
        let (mut bytes, mut sizes) = (Vec::new(), Vec::new());
        while let taken = frontier.take(3)
            && !taken.is_empty()
        {
            sizes.extend(taken.iter().map(|segment| segment.states));
            taken.iter().for_each(|segment| bytes.extend_from_slice(&segment.bytes));
        }
        assert_eq!(sizes, [128, 128, 128, 128, 128, 128, 128, 104]);
        assert_eq!(bytes, (0..1_000).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        assert_eq!((frontier.states(), frontier.bytes), (0, 0));
    }
}
