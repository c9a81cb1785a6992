//! A film of a part of a run: every event with what it made of its process, to be stepped through forwards and back.
//!
//! A long run is filmed part by part. It is a function of its scenario, so whoever wants another part runs it again and
//! films that one: [`Film::around`] a step that a [`Timetable`] of the first run has found.
//!
//! States are kept as text and only where they change, each text once: processes come back to the same few states
//! again and again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;

use quorate_sim::trace::{Record, TraceSink, What};

use crate::earlier::Earlier;
use crate::timetable::Timetable;

/// How much of a run one film keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilmBounds {
    /// The most events.
    pub events: usize,
    /// The most bytes, of records and states together.
    pub bytes: usize,
    /// The most bytes of one state; the rest of a longer one is left out.
    pub state_bytes: usize,
}

impl Default for FilmBounds {
    fn default() -> Self {
        Self { events: 10_000, bytes: 8 << 20, state_bytes: 8 << 10 }
    }
}

/// Of this part of the bounds comes what was before the step that somebody wants to see.
const RUN_UP: usize = 4;

/// An event of a run: something that a process was told, or that befell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
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
pub(crate) struct Film {
    bounds: FilmBounds,
    /// How many steps came before the first that is in it.
    first: usize,
    /// The step that somebody wants to see.
    wanted: usize,
    earlier: Earlier,
    /// What each process was before the film begins.
    before: BTreeMap<u32, usize>,
    /// The steps before the film whose states are those.
    last: Vec<Option<usize>>,
    steps: VecDeque<Step>,
    texts: Vec<String>,
    places: BTreeMap<String, usize>,
    /// The last state of each process.
    current: BTreeMap<u32, usize>,
    /// What was broken, which belongs to no step.
    broken: Vec<Record>,
    bytes: usize,
    /// How many steps have begun, and the last of them.
    begun: usize,
    now: Option<(u64, u32)>,
    is_full: bool,
}

impl Film {
    /// Films a run from its start.
    pub(crate) fn new(bounds: FilmBounds) -> Self {
        Self {
            bounds,
            first: 0,
            wanted: 0,
            earlier: Earlier::default(),
            before: BTreeMap::new(),
            last: Vec::new(),
            steps: VecDeque::new(),
            texts: Vec::new(),
            places: BTreeMap::new(),
            current: BTreeMap::new(),
            broken: Vec::new(),
            bytes: 0,
            begun: 0,
            now: None,
            is_full: false,
        }
    }

    /// Films the part of a run around a step, with a little of what came before it.
    pub(crate) fn around(
        step: usize,
        timetable: &Timetable,
        processes: usize,
        bounds: FilmBounds,
    ) -> Self {
        let wanted = step.min(timetable.len().saturating_sub(1));
        let first = wanted.saturating_sub(bounds.events / RUN_UP);
        let last = timetable.last_before(first, processes);
        Self { first, wanted, last, ..Self::new(bounds) }
    }

    /// How many steps came before the first that is in it.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// What came before it and still counts.
    pub(crate) fn earlier(&self) -> &Earlier {
        &self.earlier
    }

    /// What a process was before it, as a place among the texts.
    pub(crate) fn before(&self, process: u32) -> Option<usize> {
        self.before.get(&process).copied()
    }

    /// The events in order.
    pub(crate) fn steps(&self) -> impl ExactSizeIterator<Item = &Step> {
        self.steps.iter()
    }

    /// What was broken, if it has been filmed to the end.
    pub(crate) fn broken(&self) -> &[Record] {
        &self.broken
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
    fn begin(&mut self, record: &Record) {
        let Record { event, time, process, .. } = *record;
        self.now = Some((event, process));
        self.begun += 1;
        let step = self.begun - 1;
        if step < self.first {
            return;
        }
        // What leads up to the step that is wanted must leave room for what follows it.
        let (events, bytes) = (self.bounds.events / RUN_UP, self.bounds.bytes / RUN_UP);
        while step <= self.wanted && (self.steps.len() >= events.max(1) || self.bytes > bytes) {
            if !self.forget() {
                break;
            }
        }
        self.is_full |= self.steps.len() >= self.bounds.events || self.bytes >= self.bounds.bytes;
        if !self.is_full {
            let records = Vec::new();
            self.steps.push_back(Step { event, time, process, state: None, records, bytes: 0 });
        }
    }

    /// Leaves out the first step; what still counts of it belongs to what came before.
    fn forget(&mut self) -> bool {
        let Some(step) = self.steps.pop_front() else { return false };
        self.first += 1;
        self.bytes -= step.bytes;
        step.records.iter().for_each(|record| self.earlier.hear(record));
        if let Some(state) = step.state {
            self.before.insert(step.process, state);
        }
        true
    }

    fn place_of(&mut self, text: String) -> usize {
        if let Some(place) = self.places.get(&text) {
            return *place;
        }
        let place = self.texts.len();
        self.places.insert(text.clone(), place);
        self.texts.push(text);
        place
    }
}

impl TraceSink for Film {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        if matches!(record.what, What::Violation { .. }) {
            self.broken.push(record.clone());
            return Ok(());
        }
        if self.now != Some((record.event, record.process)) {
            self.begin(record);
        }
        if self.begun <= self.first {
            self.earlier.hear(record);
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
        let step = self.begun.saturating_sub(1);
        let is_last_before = self.last.get(process as usize).is_some_and(|it| *it == Some(step));
        let is_filmed = self.begun > self.first && !self.is_full;
        if self.now != Some((event, process)) || !(is_filmed || is_last_before) {
            return Ok(());
        }
        let text = shortened(format!("{state:?}"), self.bounds.state_bytes);
        let (length, known) = (text.len(), self.texts.len());
        let place = self.place_of(text);
        if self.current.insert(process, place) == Some(place) {
            return Ok(());
        }
        match self.steps.back_mut().filter(|_| is_filmed) {
            Some(step) => {
                step.state = Some(place);
                if place == known {
                    step.bytes += length;
                    self.bytes += length;
                }
            }
            None => drop(self.before.insert(process, place)),
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
    fn play(film: &mut Film, events: u64) -> Timetable {
        let mut timetable = Timetable::default();
        for event in 0..events {
            let what = What::Timer { timer: "Tick".to_owned() };
            let process = (event % 2) as u32;
            let record = Record { event, time: event * 10, process, what, cause: None };
            timetable.hear(&record);
            film.record(&record).expect("a film takes everything");
            film.state(event, process, &(event / 4)).expect("a film takes everything");
        }
        timetable
    }

    fn events(film: &Film) -> Vec<u64> {
        film.steps().map(|step| step.event).collect()
    }

    #[test]
    fn states_are_kept_where_they_change() {
        let mut film = Film::new(FilmBounds::default());
        play(&mut film, 6);
        let states: Vec<Option<usize>> = film.steps().map(|step| step.state).collect();
        assert_eq!(states, [Some(0), Some(0), None, None, Some(1), Some(1)]);
        assert_eq!(film.texts(), ["0", "1"]);
    }

    #[test]
    fn what_does_not_fit_is_not_filmed() {
        let bounds = FilmBounds { events: 3, ..FilmBounds::default() };
        let mut film = Film::new(bounds);
        play(&mut film, 10);
        assert_eq!((events(&film), film.is_full()), (vec![0, 1, 2], true));
        let mut film = Film::new(FilmBounds { bytes: 1, ..bounds });
        play(&mut film, 10);
        assert_eq!(events(&film), [0]);
    }

    #[test]
    fn any_part_of_a_run_can_be_filmed() {
        let bounds = FilmBounds { events: 8, ..FilmBounds::default() };
        let timetable = play(&mut Film::new(bounds), 100);
        for wanted in [0, 1, 7, 50, 99, 1000] {
            let mut film = Film::around(wanted, &timetable, 2, bounds);
            play(&mut film, 100);
            let (filmed, first) = (events(&film), film.first());
            assert_eq!(filmed[0], first as u64);
            assert!(filmed.contains(&(wanted.min(99) as u64)), "{wanted} is not in {filmed:?}");
            for process in 0..2u32 {
                let earlier = (0..first as u64).rev().find(|event| event % 2 == u64::from(process));
                let told = film.before(process).map(|place| film.texts()[place].clone());
                assert_eq!(told, earlier.map(|event| (event / 4).to_string()), "before {first}");
            }
        }
    }

    #[test]
    fn what_is_wanted_is_filmed_however_little_room_there_is() {
        let bounds = FilmBounds { events: 8, bytes: 1, ..FilmBounds::default() };
        let timetable = play(&mut Film::new(bounds), 100);
        let mut film = Film::around(50, &timetable, 2, bounds);
        play(&mut film, 100);
        assert_eq!(events(&film), [50]);
    }

    #[test]
    fn a_long_state_is_cut_between_characters() {
        assert_eq!(shortened("añb".to_owned(), 2), "a…");
        assert_eq!(shortened("añb".to_owned(), 4), "añb");
    }
}
