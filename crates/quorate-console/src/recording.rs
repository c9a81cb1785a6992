//! Recording of a part of a run: every event and the state after it, to be stepped through forwards and backwards.
//!
//! A long run is recorded in parts. A run is a function of its scenario, so another part is recorded by repeating the
//! run: [`Recording::around`] a step that was found in the [`StepIndex`] of the first run.
//!
//! States are stored as text, only where they change, and each text once, because processes return to the same few
//! states repeatedly.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use quorate_core::{Permission, ProcessSet};
use quorate_sim::trace::{Record, RecordKind, TraceSink, TracedState};

use crate::prefix::RunPrefix;
use crate::step_index::StepIndex;

/// Limits of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingBounds {
    /// Maximum number of events.
    pub events: usize,
    /// Maximum number of bytes of records and states together.
    pub bytes: usize,
    /// Maximum number of bytes of one state; a longer one is truncated.
    pub state_bytes: usize,
}

impl Default for RecordingBounds {
    fn default() -> Self {
        Self { events: 10_000, bytes: 8 << 20, state_bytes: 8 << 10 }
    }
}

/// One part in this many of the limits is reserved for the steps before the requested one.
const LEAD_IN_DIVISOR: usize = 4;

/// An event of a run: an input of a process, or a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedStep {
    /// Number of the event; all processes start in event 0.
    pub(crate) event: u64,
    /// Time of the event in nanoseconds.
    pub(crate) time: u64,
    /// Process of the event.
    pub(crate) process: u32,
    /// New state of the process as an index into the states; `None` if it did not change.
    pub(crate) state: Option<usize>,
    pub(crate) records: Vec<Record>,
    bytes: usize,
}

/// State of a process in a recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StateText {
    /// The state, shortened if it is long.
    pub(crate) text: String,
    /// Processes for which a process in this state waits.
    pub(crate) waits_for: ProcessSet,
    /// Location of the vote or the token of a process in this state.
    pub(crate) permission: Permission,
}

/// Recording of a part of a run, up to its limits.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    bounds: RecordingBounds,
    /// Number of steps before the first recorded one.
    first: usize,
    /// Step that the client requested.
    target: usize,
    prefix: RunPrefix,
    /// State of each process before the recording.
    states_before: BTreeMap<u32, usize>,
    /// Last step of each process before the recording. Its state is the one in `states_before`.
    last_steps: Vec<Option<usize>>,
    steps: VecDeque<RecordedStep>,
    states: Vec<StateText>,
    state_indices: BTreeMap<StateText, usize>,
    /// Latest state of each process.
    current_states: BTreeMap<u32, usize>,
    /// Violations, which belong to no step.
    violations: Vec<Record>,
    bytes: usize,
    /// Number of steps that have begun.
    steps_begun: usize,
    /// Event and process of the last step that has begun.
    current_step: Option<(u64, u32)>,
    is_full: bool,
}

impl Recording {
    /// Records a run from its start.
    pub(crate) fn new(bounds: RecordingBounds) -> Self {
        Self {
            bounds,
            first: 0,
            target: 0,
            prefix: RunPrefix::default(),
            states_before: BTreeMap::new(),
            last_steps: Vec::new(),
            steps: VecDeque::new(),
            states: Vec::new(),
            state_indices: BTreeMap::new(),
            current_states: BTreeMap::new(),
            violations: Vec::new(),
            bytes: 0,
            steps_begun: 0,
            current_step: None,
            is_full: false,
        }
    }

    /// Records the part of a run around a step, with some steps before it.
    pub(crate) fn around(
        step: usize,
        step_index: &StepIndex,
        processes: usize,
        bounds: RecordingBounds,
    ) -> Self {
        let target = step.min(step_index.len().saturating_sub(1));
        let first = target.saturating_sub(bounds.events / LEAD_IN_DIVISOR);
        let last_steps = step_index.last_before(first, processes);
        Self { first, target, last_steps, ..Self::new(bounds) }
    }

    /// Number of steps before the first recorded one.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// Summary of the run before the recording.
    pub(crate) fn prefix(&self) -> &RunPrefix {
        &self.prefix
    }

    /// State of a process before the recording, as an index into the states.
    pub(crate) fn state_before(&self, process: u32) -> Option<usize> {
        self.states_before.get(&process).copied()
    }

    /// Recorded steps in order.
    pub(crate) fn steps(&self) -> impl ExactSizeIterator<Item = &RecordedStep> {
        self.steps.iter()
    }

    /// Violations, if the run was recorded to its end.
    pub(crate) fn violations(&self) -> &[Record] {
        &self.violations
    }

    /// Distinct states of processes.
    pub(crate) fn states(&self) -> &[StateText] {
        &self.states
    }

    /// Whether the limits are reached and further steps are not recorded.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Starts the step of another event.
    fn begin_step(&mut self, record: &Record) {
        let Record { event, time, process, .. } = *record;
        self.current_step = Some((event, process));
        self.steps_begun += 1;
        let step = self.steps_begun - 1;
        if step < self.first {
            return;
        }
        // The steps before the requested one must leave room for the steps after it.
        let (events, bytes) =
            (self.bounds.events / LEAD_IN_DIVISOR, self.bounds.bytes / LEAD_IN_DIVISOR);
        while step <= self.target && (self.steps.len() >= events.max(1) || self.bytes > bytes) {
            if !self.drop_first_step() {
                break;
            }
        }
        self.is_full |= self.steps.len() >= self.bounds.events || self.bytes >= self.bounds.bytes;
        if !self.is_full {
            let records = Vec::new();
            self.steps.push_back(RecordedStep {
                event,
                time,
                process,
                state: None,
                records,
                bytes: 0,
            });
        }
    }

    /// Removes the first step and adds its relevant records to the prefix.
    fn drop_first_step(&mut self) -> bool {
        let Some(step) = self.steps.pop_front() else { return false };
        self.first += 1;
        self.bytes -= step.bytes;
        step.records.iter().for_each(|record| self.prefix.observe(record));
        if let Some(state) = step.state {
            self.states_before.insert(step.process, state);
        }
        true
    }

    fn intern(&mut self, state: StateText) -> usize {
        if let Some(index) = self.state_indices.get(&state) {
            return *index;
        }
        let index = self.states.len();
        self.state_indices.insert(state.clone(), index);
        self.states.push(state);
        index
    }
}

impl TraceSink for Recording {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        if matches!(record.kind, RecordKind::Violation { .. }) {
            self.violations.push(record.clone());
            return Ok(());
        }
        if self.current_step != Some((record.event, record.process)) {
            self.begin_step(record);
        }
        if self.steps_begun <= self.first {
            self.prefix.observe(record);
        } else if !self.is_full
            && let Some(step) = self.steps.back_mut()
        {
            let bytes = record.bytes();
            step.bytes += bytes;
            self.bytes += bytes;
            step.records.push(record.clone());
        }
        Ok(())
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn TracedState) -> io::Result<()> {
        let step = self.steps_begun.saturating_sub(1);
        let is_last_before =
            self.last_steps.get(process as usize).is_some_and(|it| *it == Some(step));
        let is_recorded = self.steps_begun > self.first && !self.is_full;
        if self.current_step != Some((event, process)) || !(is_recorded || is_last_before) {
            return Ok(());
        }
        let text = shortened(format!("{state:?}"), self.bounds.state_bytes);
        let waits_for = state.waits_for();
        let length = text.len() + waits_for.len() * size_of::<u32>();
        let known = self.states.len();
        let index = self.intern(StateText { text, waits_for, permission: state.permission() });
        if self.current_states.insert(process, index) == Some(index) {
            return Ok(());
        }
        match self.steps.back_mut().filter(|_| is_recorded) {
            Some(step) => {
                step.state = Some(index);
                if index == known {
                    step.bytes += length;
                    self.bytes += length;
                }
            }
            None => drop(self.states_before.insert(process, index)),
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn shortened(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    /// A state that waits for as many processes as its number.
    struct Quarter(u64);

    impl fmt::Debug for Quarter {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}", self.0)
        }
    }

    impl TracedState for Quarter {
        fn waits_for(&self) -> ProcessSet {
            ProcessSet::all(self.0 as usize)
        }

        fn permission(&self) -> Permission {
            Permission::token(self.0 == 1)
        }
    }

    /// Two processes alternate. The state after an event is a quarter of its number, rounded down.
    fn replay(recording: &mut Recording, events: u64) -> StepIndex {
        let mut step_index = StepIndex::default();
        for event in 0..events {
            let kind = RecordKind::Timer { timer: "Tick".to_owned() };
            let process = (event % 2) as u32;
            let record = Record { event, time: event * 10, process, kind, cause: None };
            step_index.observe(&record);
            recording.record(&record).expect("a recording accepts every record");
            recording
                .state(event, process, &Quarter(event / 4))
                .expect("a recording accepts every record");
        }
        step_index
    }

    fn events(recording: &Recording) -> Vec<u64> {
        recording.steps().map(|step| step.event).collect()
    }

    #[test]
    fn states_are_kept_where_they_change() {
        let mut recording = Recording::new(RecordingBounds::default());
        replay(&mut recording, 6);
        let states: Vec<Option<usize>> = recording.steps().map(|step| step.state).collect();
        assert_eq!(states, [Some(0), Some(0), None, None, Some(1), Some(1)]);
        let texts: Vec<&str> = recording.states().iter().map(|state| state.text.as_str()).collect();
        assert_eq!(texts, ["0", "1"]);
        let waits: Vec<usize> = recording.states().iter().map(|it| it.waits_for.len()).collect();
        assert_eq!(waits, [0, 1]);
    }

    #[test]
    fn what_does_not_fit_is_not_filmed() {
        let bounds = RecordingBounds { events: 3, ..RecordingBounds::default() };
        let mut recording = Recording::new(bounds);
        replay(&mut recording, 10);
        assert_eq!((events(&recording), recording.is_full()), (vec![0, 1, 2], true));
        let mut recording = Recording::new(RecordingBounds { bytes: 1, ..bounds });
        replay(&mut recording, 10);
        assert_eq!(events(&recording), [0]);
    }

    #[test]
    fn any_part_of_a_run_can_be_filmed() {
        let bounds = RecordingBounds { events: 8, ..RecordingBounds::default() };
        let step_index = replay(&mut Recording::new(bounds), 100);
        for target in [0, 1, 7, 50, 99, 1000] {
            let mut recording = Recording::around(target, &step_index, 2, bounds);
            replay(&mut recording, 100);
            let (recorded, first) = (events(&recording), recording.first());
            assert_eq!(recorded[0], first as u64);
            assert!(recorded.contains(&(target.min(99) as u64)), "{target} is not in {recorded:?}");
            for process in 0..2u32 {
                let last_event =
                    (0..first as u64).rev().find(|event| event % 2 == u64::from(process));
                let state = recording
                    .state_before(process)
                    .map(|index| recording.states()[index].text.clone());
                assert_eq!(
                    state,
                    last_event.map(|event| (event / 4).to_string()),
                    "before {first}"
                );
            }
        }
    }

    #[test]
    fn what_is_wanted_is_filmed_however_little_room_there_is() {
        let bounds = RecordingBounds { events: 8, bytes: 1, ..RecordingBounds::default() };
        let step_index = replay(&mut Recording::new(bounds), 100);
        let mut recording = Recording::around(50, &step_index, 2, bounds);
        replay(&mut recording, 100);
        assert_eq!(events(&recording), [50]);
    }

    #[test]
    fn a_long_state_is_cut_between_characters() {
        assert_eq!(shortened("añb".to_owned(), 2), "a…");
        assert_eq!(shortened("añb".to_owned(), 4), "añb");
    }
}
