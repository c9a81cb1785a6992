//! Delay laws on the command line. They may name a file of delays, which a scenario may not.

use std::fs::File;
use std::io::{Error, Read as _};

use quorate_sim::notation::NotationError;
use quorate_sim::{DELAY_FILE_BYTES_MOST, Delay};

/// Reads a delay law. `file:PATH` stands for a choice among the lines of a file, so that a saved scenario contains the
/// delays and replays without the file.
pub(super) fn delay_law(text: &str) -> Result<Delay, String> {
    let Some(path) = text.strip_prefix("file:") else {
        return text.parse().map_err(|error: NotationError| error.to_string());
    };
    let cannot = |error: Error| format!("{path} cannot be read: {error}");
    let mut lines = String::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(DELAY_FILE_BYTES_MOST + 1).read_to_string(&mut lines).map_err(cannot)?;
    if lines.len() as u64 > DELAY_FILE_BYTES_MOST {
        return Err(format!("{path} is larger than {DELAY_FILE_BYTES_MOST} bytes"));
    }
    Delay::choice_of_lines(&lines).map_err(|error| format!("{path}: {error}"))
}
