//! The notation for the clock of one machine: its offset at the start, and how much it is too fast or too slow.

use std::fmt;
use std::str::FromStr;

use quorate_core::{Drift, Offset, ProcessId};

use super::notation::{DriftText, NotationError, OffsetText, ProcessSelector, serde_as_text};

/// The clock of one process: `1:+250ms`, `2:-1s:+50ppm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalClock {
    /// The process that the clock belongs to.
    pub process: ProcessId,
    /// How far the clock is ahead of the true time at the start.
    pub offset: Offset,
    /// Rate at which the clock gains on the true time.
    pub drift: Drift,
}

impl FromStr for LocalClock {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("a clock such as 1:+250ms or 2:-1s:+50ppm", text);
        let (process, rest) = text.split_once(':').ok_or_else(error)?;
        let ProcessSelector::Process(process) = process.parse()? else { return Err(error()) };
        let (offset, drift) = match rest.split_once(':') {
            None => (rest, DriftText::default()),
            Some((offset, drift)) => (offset, drift.parse()?),
        };
        Ok(Self { process, offset: offset.parse::<OffsetText>()?.0, drift: drift.0 })
    }
}

impl fmt::Display for LocalClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.process.number(), self.offset)?;
        if self.drift == Drift::NONE { Ok(()) } else { write!(f, ":{}", self.drift) }
    }
}

serde_as_text!(LocalClock);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_print_as_they_read() {
        for text in ["1:+250ms", "2:-1s:+50ppm", "0:0", "3:0:-0.5ppm"] {
            assert_eq!(text.parse::<LocalClock>().map(|clock| clock.to_string()), Ok(text.into()));
        }
        for bad in
            ["1", "1:", "?:1s", "1:1s:5", "1:2:3ppm:4", "1:-", "1:200000000s", "1:0:200000ppm"]
        {
            assert!(bad.parse::<LocalClock>().is_err(), "{bad}");
        }
    }
}
