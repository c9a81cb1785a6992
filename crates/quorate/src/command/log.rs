//! Log of a node on stderr.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::arguments::LogFormat;
use crate::command_error::CommandError;

/// Installs the global log subscriber with this format and level.
pub(crate) fn init(format: LogFormat, level: &str) -> Result<(), CommandError> {
    let filter: Targets = level.parse().map_err(|error| {
        CommandError::new(format!(
            "--log-level {level}: {error}; try info, or info,quorate_net=debug"
        ))
    })?;
    let log = tracing_subscriber::registry().with(filter);
    let colours = io::stderr().is_terminal();
    match format {
        LogFormat::Json => {
            log.with(fmt::layer().json().flatten_event(true).with_writer(io::stderr)).init();
        }
        LogFormat::Text => {
            let lines = move || SingleLineWriter { out: io::stderr(), colours };
            log.with(fmt::layer().with_ansi(colours).with_writer(lines)).init();
        }
    }
    Ok(())
}

/// Writes each event on one line, whatever its texts contain. It relies on one `write` call per event.
struct SingleLineWriter<W> {
    out: W,
    /// Whether escape characters are ours, for colours, and must be kept.
    colours: bool,
}

impl<W: Write> Write for SingleLineWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let (event_text, end) = match event.strip_suffix(b"\n") {
            Some(line) => (line, &b"\n"[..]),
            None => (event, &b""[..]),
        };
        let mut line = Vec::with_capacity(event.len() + 16);
        for &byte in event_text {
            match byte {
                0x1b if self.colours => line.push(byte),
                b'\t' => line.push(byte),
                0..0x20 | 0x7f => line.extend(byte.escape_ascii()),
                _ => line.push(byte),
            }
        }
        line.extend(end);
        self.out.write_all(&line)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Opens a file for appending and creates it if necessary.
pub(crate) fn open_for_append(path: &Path) -> Result<File, CommandError> {
    let opened = File::options().create(true).append(true).open(path);
    opened.map_err(|error| CommandError::new(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let mut line = SingleLineWriter { out: Vec::new(), colours: false };
        line.write_all(b"WARN reason=x\nERROR forged \x1b[2J\r\n").expect("memory");
        assert_eq!(line.out, b"WARN reason=x\\nERROR forged \\x1b[2J\\r\n");
    }
}
