//! The file formats of traces.

use std::io::Write;
use std::str::FromStr;

use super::jsonl::JsonLines;
use super::perfetto::Perfetto;
use super::shiviz::ShiViz;
use super::sink::TraceSink;
use crate::scenario::notation::NotationError;

/// A file format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON Lines: one object per line for each record.
    JsonLines,
    /// The log format of ShiViz: an event and its vector clock.
    ShiViz,
    /// The Chrome trace format, which Perfetto reads too.
    Perfetto,
}

impl Format {
    /// Chooses the format by the extension of a file name.
    pub fn of_file(name: &str) -> Self {
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("shiviz" | "log") => Self::ShiViz,
            Some("json" | "perfetto") => Self::Perfetto,
            _ => Self::JsonLines,
        }
    }

    /// Creates a writer of this format for a run of n processes.
    pub fn writer<'w>(self, n: usize, out: impl Write + 'w) -> Box<dyn TraceSink + 'w> {
        match self {
            Self::JsonLines => Box::new(JsonLines::new(out)),
            Self::ShiViz => Box::new(ShiViz::new(n, out)),
            Self::Perfetto => Box::new(Perfetto::new(n, out)),
        }
    }
}

impl FromStr for Format {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        match text {
            "jsonl" => Ok(Self::JsonLines),
            "shiviz" => Ok(Self::ShiViz),
            "perfetto" => Ok(Self::Perfetto),
            _ => Err(NotationError::new("a trace format: jsonl, shiviz or perfetto", text)),
        }
    }
}
