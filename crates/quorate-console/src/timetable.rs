//! When everything in a run happens, and to whom: what is left of a long run when its film is not kept.

use quorate_sim::trace::{Record, What};

/// An event of a process. All processes start in the same event; each of them is a step of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) event: u64,
    pub(crate) time: u64,
    pub(crate) process: u32,
}

/// The steps of a run in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timetable {
    stops: Vec<Stop>,
}

impl Timetable {
    /// Hears a record of the run, all of which it has to hear.
    pub(crate) fn hear(&mut self, record: &Record) {
        let Record { event, time, process, .. } = *record;
        // What was broken is no event.
        let known = self.stops.last().is_some_and(|it| (it.event, it.process) == (event, process));
        if !known && !matches!(record.what, What::Violation { .. }) {
            self.stops.push(Stop { event, time, process });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.stops.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.stops.len() * size_of::<Stop>()
    }

    /// The first step of an event, or of the next one that there is.
    pub(crate) fn of_event(&self, event: u64) -> usize {
        self.stops.partition_point(|stop| stop.event < event)
    }

    /// The last step that is not later than a time.
    pub(crate) fn at(&self, time: u64) -> usize {
        self.stops.partition_point(|stop| stop.time <= time).saturating_sub(1)
    }

    /// The last step of each process before a step.
    pub(crate) fn last_before(&self, step: usize, processes: usize) -> Vec<Option<usize>> {
        let mut last = vec![None; processes];
        for (place, stop) in self.stops.iter().enumerate().take(step) {
            if let Some(last) = last.get_mut(stop.process as usize) {
                *last = Some(place);
            }
        }
        last
    }

    /// The different times at which anything happens, each with its last step; of many an even choice.
    pub(crate) fn moments(&self, most: usize) -> Vec<(u64, usize)> {
        let next = |place: usize| self.stops.get(place + 1).map(|stop| stop.time);
        let is_last = |(place, stop): &(usize, &Stop)| next(*place) != Some(stop.time);
        let all: Vec<(u64, usize)> =
            self.stops.iter().enumerate().filter(is_last).map(|(at, it)| (it.time, at)).collect();
        let every = all.len().div_ceil(most).max(1);
        // The last one is always among them.
        let offset = all.len().saturating_sub(1) % every;
        all.into_iter().skip(offset).step_by(every).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(times: &[u64]) -> Timetable {
        let mut table = Timetable::default();
        for (place, time) in times.iter().enumerate() {
            let (event, process) = (place as u64, place as u32 % 2);
            let record = Record { event, time: *time, process, what: What::Start, cause: None };
            table.hear(&record);
            table.hear(&record);
        }
        table
    }

    #[test]
    fn steps_are_found_by_event_and_by_time() {
        let table = table(&[0, 0, 5, 9]);
        assert_eq!(table.len(), 4, "a second record of an event is no step");
        assert_eq!([0, 2, 9].map(|event| table.of_event(event)), [0, 2, 4]);
        assert_eq!([0, 4, 5, 100].map(|time| table.at(time)), [1, 1, 2, 3]);
        assert_eq!(table.last_before(3, 3), [Some(2), Some(1), None]);
    }

    #[test]
    fn of_many_moments_some_are_told_and_the_last_one_always() {
        let table = table(&[0, 0, 1, 2, 3, 4, 5]);
        assert_eq!(table.moments(10), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]);
        assert_eq!(table.moments(3), [(1, 2), (3, 4), (5, 6)]);
        assert_eq!(Timetable::default().moments(3), []);
    }
}
