//! A run as one line of text.

use std::io::{self, Write};

use quorate_lab::run;
use quorate_sim::report::Report;
use quorate_sim::trace::Format;
use quorate_sim::{Conditions, Scenario};

/// Maximum number of events of a run. Only runs outside the assumptions of their algorithm reach it.
const EVENTS_MOST: u64 = 20_000;

/// FNV-1a with 64 bits: the same on every machine and in every version of the compiler, unlike the hashes of `std`.
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

impl Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a scenario. Returns its report, and the line with its verdict, its messages and its digest.
pub(crate) fn line(name: &str, scenario: &Scenario) -> (Option<Report>, String) {
    let mut digest = Fnv::new();
    let conditions = Conditions { events: EVENTS_MOST, ..Conditions::default() };
    let outcome = {
        let mut trace = Format::JsonLines.writer(scenario.processes, &mut digest);
        run(scenario, conditions, Some(&mut *trace))
    };
    match outcome {
        Ok(outcome) => {
            let report = outcome.report;
            write!(digest, "{report:?}").expect("a digest takes everything");
            let (verdict, messages) = (report.verdict, report.messages.total);
            let line = format!("{name}: {verdict:?}, {messages} messages, {}", digest.text());
            (Some(report), line)
        }
        Err(error) => (None, format!("{name}: {error}")),
    }
}
