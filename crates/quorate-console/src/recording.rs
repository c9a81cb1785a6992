//! A film of a part of a run: every event with what it made of its process, to be stepped through forwards and back.
//!
//! A long run is filmed part by part. It is a function of its scenario, so whoever wants another part runs it again and
//! films that one: [`Recording::around`] a step that a [`StepIndex`] of the first run has found.
//!
//! States are kept as text and only where they change, each text once: processes come back to the same few states
//! again and again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;

use quorate_sim::trace::{Record, RecordKind, TraceSink};

use crate::prefix::RunPrefix;
use crate::step_index::StepIndex;

/// How much of a run one film keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingBounds {
    /// The most events.
    pub events: usize,
    /// The most bytes, of records and states together.
    pub bytes: usize,
    /// The most bytes of one state; the rest of a longer one is left out.
    pub state_bytes: usize,
}

impl Default for RecordingBounds {
    fn default() -> Self {
        Self { events: 10_000, bytes: 8 << 20, state_bytes: 8 << 10 }
    }
}

/// Of this part of the bounds comes what was before the step that somebody wants to see.
const LEAD_IN_DIVISOR: usize = 4;

/// An event of a run: something that a process was told, or that befell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedStep {
    /// The number of the event; all processes start in event 0.
    pub(crate) event: u64,
    /// Its time in nanoseconds.
    pub(crate) time: u64,
    /// Whose it is.
    pub(crate) process: u32,
    /// What the process has become by it, as a place among the texts; none if it is what it was.
    pub(crate) state: Option<usize>,
    pub(crate) records: Vec<Record>,
    bytes: usize,
}

/// A film of a part of a run, up to some bounds.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    bounds: RecordingBounds,
    /// How many steps came before the first that is in it.
    first: usize,
    /// The step that somebody wants to see.
    target: usize,
    prefix: RunPrefix,
    /// What each process was before the film begins.
    states_before: BTreeMap<u32, usize>,
    /// The steps before the film whose states are those.
    last_steps: Vec<Option<usize>>,
    steps: VecDeque<RecordedStep>,
    texts: Vec<String>,
    text_indices: BTreeMap<String, usize>,
    /// The last state of each process.
    current_states: BTreeMap<u32, usize>,
    /// What was broken, which belongs to no step.
    violations: Vec<Record>,
    bytes: usize,
    /// How many steps have begun, and the last of them.
    steps_begun: usize,
    current_step: Option<(u64, u32)>,
    is_full: bool,
}

impl Recording {
    /// Films a run from its start.
    pub(crate) fn new(bounds: RecordingBounds) -> Self {
        Self {
            bounds,
            first: 0,
            target: 0,
            prefix: RunPrefix::default(),
            states_before: BTreeMap::new(),
            last_steps: Vec::new(),
            steps: VecDeque::new(),
            texts: Vec::new(),
            text_indices: BTreeMap::new(),
            current_states: BTreeMap::new(),
            violations: Vec::new(),
            bytes: 0,
            steps_begun: 0,
            current_step: None,
            is_full: false,
        }
    }

    /// Films the part of a run around a step, with a little of what came before it.
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

    /// How many steps came before the first that is in it.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// What came before it and still counts.
    pub(crate) fn prefix(&self) -> &RunPrefix {
        &self.prefix
    }

    /// What a process was before it, as a place among the texts.
    pub(crate) fn state_before(&self, process: u32) -> Option<usize> {
        self.states_before.get(&process).copied()
    }

    /// The events in order.
    pub(crate) fn steps(&self) -> impl ExactSizeIterator<Item = &RecordedStep> {
        self.steps.iter()
    }

    /// What was broken, if it has been filmed to the end.
    pub(crate) fn violations(&self) -> &[Record] {
        &self.violations
    }

    /// The states that processes were in, each once.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether what comes now is no longer filmed.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Another event has begun.
    fn begin_step(&mut self, record: &Record) {
        let Record { event, time, process, .. } = *record;
        self.current_step = Some((event, process));
        self.steps_begun += 1;
        let step = self.steps_begun - 1;
        if step < self.first {
            return;
        }
        // What leads up to the step that is wanted must leave room for what follows it.
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

    /// Leaves out the first step; what still counts of it belongs to what came before.
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

    fn intern(&mut self, text: String) -> usize {
        if let Some(index) = self.text_indices.get(&text) {
            return *index;
        }
        let index = self.texts.len();
        self.text_indices.insert(text.clone(), index);
        self.texts.push(text);
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

    fn state(&mut self, event: u64, process: u32, state: &dyn fmt::Debug) -> io::Result<()> {
        let step = self.steps_begun.saturating_sub(1);
        let is_last_before =
            self.last_steps.get(process as usize).is_some_and(|it| *it == Some(step));
        let is_recorded = self.steps_begun > self.first && !self.is_full;
        if self.current_step != Some((event, process)) || !(is_recorded || is_last_before) {
            return Ok(());
        }
        let text = shortened(format!("{state:?}"), self.bounds.state_bytes);
        let (length, known) = (text.len(), self.texts.len());
        let index = self.intern(text);
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
    use super::*;

    /// Two processes in turn, whose states are half the number of their event.
    fn replay(recording: &mut Recording, events: u64) -> StepIndex {
        let mut step_index = StepIndex::default();
        for event in 0..events {
            let kind = RecordKind::Timer { timer: "Tick".to_owned() };
            let process = (event % 2) as u32;
            let record = Record { event, time: event * 10, process, kind, cause: None };
            step_index.observe(&record);
            recording.record(&record).expect("a film takes everything");
            recording.state(event, process, &(event / 4)).expect("a film takes everything");
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
        assert_eq!(recording.texts(), ["0", "1"]);
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
                let state =
                    recording.state_before(process).map(|index| recording.texts()[index].clone());
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
