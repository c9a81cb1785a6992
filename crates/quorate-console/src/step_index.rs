//! When everything in a run happens, and to whom: what is left of a long run when its film is not kept.

use quorate_sim::trace::{Record, RecordKind};

/// An event of a process. All processes start in the same event; each of them is a step of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexedStep {
    pub(crate) event: u64,
    pub(crate) time: u64,
    pub(crate) process: u32,
}

/// The steps of a run in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepIndex {
    steps: Vec<IndexedStep>,
}

impl StepIndex {
    /// Hears a record of the run, all of which it has to hear.
    pub(crate) fn observe(&mut self, record: &Record) {
        let Record { event, time, process, .. } = *record;
        // What was broken is no event.
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

    /// The first step of an event, or of the next one that there is.
    pub(crate) fn step_of_event(&self, event: u64) -> usize {
        self.steps.partition_point(|step| step.event < event)
    }

    /// The last step that is not later than a time.
    pub(crate) fn step_at_time(&self, time: u64) -> usize {
        self.steps.partition_point(|step| step.time <= time).saturating_sub(1)
    }

    /// The last step of each process before a step.
    pub(crate) fn last_before(&self, step: usize, processes: usize) -> Vec<Option<usize>> {
        let mut last = vec![None; processes];
        for (index, step) in self.steps.iter().enumerate().take(step) {
            if let Some(last) = last.get_mut(step.process as usize) {
                *last = Some(index);
            }
        }
        last
    }

    /// The different times at which anything happens, each with its last step; of many an even choice.
    pub(crate) fn moments(&self, most: usize) -> Vec<(u64, usize)> {
        let next = |index: usize| self.steps.get(index + 1).map(|step| step.time);
        let is_last = |(index, step): &(usize, &IndexedStep)| next(*index) != Some(step.time);
        let all: Vec<(u64, usize)> =
            self.steps.iter().enumerate().filter(is_last).map(|(at, it)| (it.time, at)).collect();
        let every = all.len().div_ceil(most).max(1);
        // The last one is always among them.
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
