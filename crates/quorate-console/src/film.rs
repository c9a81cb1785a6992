//! A film of a run: every event with what it made of its process, to be stepped through forwards and back.
//!
//! States are kept as text and only where they change, each text once: processes come back to the same few states
//! again and again.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use quorate_sim::trace::{Record, TraceSink, What};

/// How much of a run is kept.
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
        Self { events: 10_000, bytes: 16 << 20, state_bytes: 8 << 10 }
    }
}

/// An event of a run: something that a process was told, or that befell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the event; all processes start in event 0.
    pub event: u64,
    /// Its time in nanoseconds.
    pub time: u64,
    /// Whose it is.
    pub process: u32,
    /// The first of its records.
    pub first: usize,
    /// What the process has become by it, as a place among the texts; none if it is what it was.
    pub state: Option<usize>,
}

/// A film of a run, up to some bounds.
#[derive(Clone, Debug)]
pub struct Film {
    bounds: FilmBounds,
    steps: Vec<Step>,
    records: Vec<Record>,
    texts: Vec<String>,
    places: BTreeMap<String, usize>,
    /// The last state of each process.
    current: BTreeMap<u32, usize>,
    bytes: usize,
    /// How many events there were after the last that was kept.
    left_out: u64,
    last: Option<(u64, u32)>,
}

impl Film {
    /// Films up to these bounds.
    pub fn new(bounds: FilmBounds) -> Self {
        Self {
            bounds,
            steps: Vec::new(),
            records: Vec::new(),
            texts: Vec::new(),
            places: BTreeMap::new(),
            current: BTreeMap::new(),
            bytes: 0,
            left_out: 0,
            last: None,
        }
    }

    /// The events in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Everything that happened in them, in order, and at the end what was broken.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The states that processes were in, each once.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// How many events are not in the film, because it was full.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn is_full(&self) -> bool {
        self.steps.len() >= self.bounds.events || self.bytes >= self.bounds.bytes
    }

    fn place_of(&mut self, text: String) -> usize {
        if let Some(place) = self.places.get(&text) {
            return *place;
        }
        let place = self.texts.len();
        self.bytes += text.len();
        self.places.insert(text.clone(), place);
        self.texts.push(text);
        place
    }
}

impl TraceSink for Film {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        // What was broken is no event, and is told though the film may be full.
        if matches!(record.what, What::Violation { .. }) {
            self.records.push(record.clone());
            return Ok(());
        }
        let Record { event, time, process, .. } = *record;
        if self.wants(event, process)? {
            if self.steps.last().map(|step| (step.event, step.process)) != Some((event, process)) {
                let first = self.records.len();
                self.steps.push(Step { event, time, process, first, state: None });
            }
            self.bytes += record.bytes();
            self.records.push(record.clone());
        }
        Ok(())
    }

    fn wants(&mut self, event: u64, process: u32) -> io::Result<bool> {
        let this = Some((event, process));
        // An event is filmed whole or not at all, and none after one that is not.
        if self.last != this && (self.left_out > 0 || self.is_full()) {
            self.left_out += 1;
        }
        self.last = this;
        Ok(self.left_out == 0)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn fmt::Debug) -> io::Result<()> {
        if self.left_out > 0 || self.last != Some((event, process)) {
            return Ok(());
        }
        let text = shortened(format!("{state:?}"), self.bounds.state_bytes);
        let place = self.place_of(text);
        if self.current.insert(process, place) != Some(place)
            && let Some(step) = self.steps.last_mut()
        {
            step.state = Some(place);
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

    fn film(bounds: FilmBounds, events: u64) -> Film {
        let mut film = Film::new(bounds);
        for event in 1..=events {
            let what = What::Timer { timer: "Tick".to_owned() };
            let record = Record { event, time: event * 10, process: 0, what, cause: None };
            film.record(&record).expect("a film takes everything");
            film.state(event, 0, &(event / 2)).expect("a film takes everything");
        }
        film
    }

    #[test]
    fn states_are_kept_where_they_change() {
        let film = film(FilmBounds::default(), 4);
        let states: Vec<Option<usize>> = film.steps().iter().map(|step| step.state).collect();
        assert_eq!(states, [Some(0), Some(1), None, Some(2)]);
        assert_eq!(film.texts(), ["0", "1", "2"]);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let bounds = FilmBounds { events: 3, ..FilmBounds::default() };
        let film = film(bounds, 10);
        assert_eq!((film.steps().len(), film.left_out()), (3, 7));
        let film = self::film(FilmBounds { bytes: 1, ..bounds }, 10);
        assert_eq!((film.steps().len(), film.left_out()), (1, 9));
    }

    #[test]
    fn a_long_state_is_cut_between_characters() {
        assert_eq!(shortened("añb".to_owned(), 2), "a…");
        assert_eq!(shortened("añb".to_owned(), 4), "añb");
    }
}
