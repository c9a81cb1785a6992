//! Index of all steps of a run by event, time and process. It is kept even where a long run is not recorded.

use quorate_sim::trace::{Record, RecordKind};

/// An event of a process. All processes start in the same event, and each start is a separate step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexedStep {
    pub(crate) event: u64,
    pub(crate) time: u64,
    pub(crate) process: u32,
}

/// Steps of a run in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepIndex {
    steps: Vec<IndexedStep>,
}

impl StepIndex {
    /// Adds a record. Every record of the run must be added in order.
    pub(crate) fn observe(&mut self, record: &Record) {
        let Record { event, time, process, .. } = *record;
        // A violation is not an event.
        let known = self.steps.last().is_some_and(|it| (it.event, it.process) == (event, process));
        if !known && !matches!(record.kind, RecordKind::Violation { .. }) {
            self.steps.push(IndexedStep { event, time, process });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.steps.len() * size_of::<IndexedStep>()
    }

    /// First step of an event, or of the next existing one.
    pub(crate) fn step_of_event(&self, event: u64) -> usize {
        self.steps.partition_point(|step| step.event < event)
    }

    /// Last step that is not later than `time`.
    pub(crate) fn step_at_time(&self, time: u64) -> usize {
        self.steps.partition_point(|step| step.time <= time).saturating_sub(1)
    }

    /// Last step of each process before `step`.
    pub(crate) fn last_before(&self, step: usize, processes: usize) -> Vec<Option<usize>> {
        let mut last = vec![None; processes];
        for (index, step) in self.steps.iter().enumerate().take(step) {
            if let Some(last) = last.get_mut(step.process as usize) {
                *last = Some(index);
            }
        }
        last
    }

    /// Distinct times of steps, each with its last step. Of many, an even selection.
    pub(crate) fn moments(&self, most: usize) -> Vec<(u64, usize)> {
        let next = |index: usize| self.steps.get(index + 1).map(|step| step.time);
        let is_last = |(index, step): &(usize, &IndexedStep)| next(*index) != Some(step.time);
        let all: Vec<(u64, usize)> =
            self.steps.iter().enumerate().filter(is_last).map(|(at, it)| (it.time, at)).collect();
        let every = all.len().div_ceil(most).max(1);
        // The offset makes the selection end with the last time.
        let offset = all.len().saturating_sub(1) % every;
        all.into_iter().skip(offset).step_by(every).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(times: &[u64]) -> StepIndex {
        let mut table = StepIndex::default();
        for (index, time) in times.iter().enumerate() {
            let (event, process) = (index as u64, index as u32 % 2);
            let record =
                Record { event, time: *time, process, kind: RecordKind::Start, cause: None };
            table.observe(&record);
            table.observe(&record);
        }
        table
    }

    #[test]
    fn steps_are_found_by_event_and_by_time() {
        let table = table(&[0, 0, 5, 9]);
        assert_eq!(table.len(), 4, "a second record of an event is no step");
        assert_eq!([0, 2, 9].map(|event| table.step_of_event(event)), [0, 2, 4]);
        assert_eq!([0, 4, 5, 100].map(|time| table.step_at_time(time)), [1, 1, 2, 3]);
        assert_eq!(table.last_before(3, 3), [Some(2), Some(1), None]);
    }

    #[test]
    fn of_many_moments_some_are_told_and_the_last_one_always() {
        let table = table(&[0, 0, 1, 2, 3, 4, 5]);
        assert_eq!(table.moments(10), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]);
        assert_eq!(table.moments(3), [(1, 2), (3, 4), (5, 6)]);
        assert_eq!(StepIndex::default().moments(3), []);
    }
}
