//! Checks that hold for every scenario file and every notation, however hostile the text.
//!
//! The tests and the fuzz targets share these checks. They are a module here and a library in `fuzz/`.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use quorate_sim::accounting::Counting;
use quorate_sim::notation::{
    DriftText, Factor, Link, NotationError, OffsetText, ProcessSelector, Rate, SpanText, When,
    Window,
};
use quorate_sim::scenario::{DetectorChoice, Requesters};
use quorate_sim::trace::{Format, TraceSink};
use quorate_sim::traitor::Strategy;
use quorate_sim::{
    Conditions, Delay, Expect, FileError, LinkDelay, LocalClock, Outcome, Scenario, Timing, fault,
    parse,
};

/// Maximum number of processes of a scenario that is run. Larger ones are only parsed.
const PROCESSES_MOST: usize = 8;

/// Limits that are large enough to reach every kind of error.
const CONDITIONS: Conditions =
    Conditions { counting: Counting::ALL, memory: 64 << 20, events: 20_000 };

/// Runs a scenario whose algorithm is known only by name.
pub type Run =
    fn(&Scenario, Conditions, Option<&mut (dyn TraceSink + '_)>) -> Result<Outcome, String>;

/// Checks that a text is a scenario, or that a short line reports why not. A scenario survives being written to a file. A
/// small one is run, and every run gives the same result.
pub fn scenario_file(text: &str, run: Run) -> Result<Scenario, FileError> {
    let parsed = parse(text, "fuzz.toml");
    match &parsed {
        Ok(scenario) => {
            survives_a_file(scenario);
            if scenario.processes <= PROCESSES_MOST {
                runs_alike(scenario, run);
            }
        }
        Err(error) => {
            is_a_short_line(&error.to_string());
            is_a_place_in(text, error.position);
        }
    }
    parsed
}

/// Checks that every value that can be parsed prints in a form that parses to the same value. For other texts a short line
/// reports what was expected. Every notation is tried; returns the number of notations that can be parsed.
pub fn notations(text: &str) -> usize {
    let common = [
        prints_as_it_reads::<SpanText>(text),
        prints_as_it_reads::<ProcessSelector>(text),
        prints_as_it_reads::<When>(text),
        prints_as_it_reads::<Window>(text),
        prints_as_it_reads::<Link>(text),
        prints_as_it_reads::<Rate>(text),
        prints_as_it_reads::<Factor>(text),
        prints_as_it_reads::<OffsetText>(text),
        prints_as_it_reads::<DriftText>(text),
    ];
    let settings = [
        prints_as_it_reads::<Delay>(text),
        prints_as_it_reads::<LinkDelay>(text),
        prints_as_it_reads::<LocalClock>(text),
        prints_as_it_reads::<Timing>(text),
        prints_as_it_reads::<Requesters>(text),
        prints_as_it_reads::<DetectorChoice>(text),
        prints_as_it_reads::<Strategy>(text),
        // A trace format occurs only in flags and need not print itself.
        text.parse::<Format>().map_err(|error| is_a_short_line(&error.to_string())).is_ok(),
    ];
    let faults = [
        prints_as_it_reads::<fault::ProcessAt>(text),
        prints_as_it_reads::<fault::CrashMid>(text),
        prints_as_it_reads::<fault::Recover>(text),
        prints_as_it_reads::<fault::Omission>(text),
        prints_as_it_reads::<fault::LinkAt>(text),
        prints_as_it_reads::<fault::Slow>(text),
        prints_as_it_reads::<fault::Fast>(text),
        prints_as_it_reads::<fault::Clock>(text),
        prints_as_it_reads::<fault::Cut>(text),
        prints_as_it_reads::<fault::Partition>(text),
        prints_as_it_reads::<fault::Suspect>(text),
        prints_as_it_reads::<fault::Traitor>(text),
    ];
    common.into_iter().chain(settings).chain(faults).filter(|&readable| readable).count()
}

/// Checks that a scenario does not change when it is written to a file and parsed again.
pub fn survives_a_file(scenario: &Scenario) {
    let text = match toml::to_string(scenario) {
        Ok(text) => text,
        Err(error) => panic!("a scenario can be written to a file: {error}\n{scenario:?}"),
    };
    match parse(&text, "again.toml") {
        Ok(again) => assert_eq!(&again, scenario, "a scenario is read as it was written\n{text}"),
        Err(error) => panic!("what was written can be read: {error}\n{text}"),
    }
}

/// Checks that a second run, which is also traced, gives the same report, and that expectations derived from it are met.
fn runs_alike(scenario: &Scenario, run: Run) {
    let once = run(scenario, CONDITIONS, None).map(|outcome| outcome.report);
    let formats = [Format::JsonLines, Format::ShiViz, Format::Perfetto];
    let format = formats[scenario.seed as usize % formats.len()];
    let mut sink = format.writer(scenario.processes, std::io::sink());
    let again = run(scenario, CONDITIONS, Some(&mut *sink)).map(|outcome| outcome.report);
    assert_eq!(once, again, "a run is a function of its scenario");
    match once {
        Err(error) => is_a_short_line(&error),
        Ok(report) => {
            let for_ever = report.ending == "events" && report.virtual_time == u64::MAX;
            assert!(!for_ever, "nothing happens at the end of time, least of all for ever");
            if let Some(expect) = &scenario.expect {
                let _ = expect.differences(&report);
            }
            let expect = Expect::from_report(&report);
            assert_eq!(expect.differences(&report), [""; 0], "a run is what it is");
            survives_a_file(&Scenario { expect: Some(expect), ..scenario.clone() });
        }
    }
}

fn prints_as_it_reads<T>(text: &str) -> bool
where
    T: FromStr<Err = NotationError> + Display + PartialEq + Debug,
{
    match text.parse::<T>() {
        Err(error) => {
            is_a_short_line(&error.to_string());
            false
        }
        Ok(value) => {
            let printed = value.to_string();
            match printed.parse::<T>() {
                Ok(again) => assert_eq!(again, value, "`{text}` prints as `{printed}`"),
                Err(error) => panic!("`{text}` prints as `{printed}`, but {error}"),
            }
            true
        }
    }
}

/// Checks that an error is one line of text, short enough for a terminal and harmless to it.
pub fn is_a_short_line(error: &str) {
    assert!(!error.chars().any(char::is_control), "an error has no control characters: {error:?}");
    assert!(error.chars().count() < 1000, "an error is short: {error:?}");
}

fn is_a_place_in(text: &str, place: Option<(usize, usize)>) {
    let Some((line, column)) = place else { return };
    let length = text.split('\n').nth(line - 1).map(|line| line.chars().count());
    assert!(length.is_some_and(|length| column <= length + 1), "no such place: {line}:{column}");
}
