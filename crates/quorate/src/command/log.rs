//! What a node writes to stderr about what happens.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use tracing_subscriber::EnvFilter;

use crate::arguments::LogFormat;
use crate::command_error::CommandError;

/// From now on what happens is written, as much of it as the level says.
pub(crate) fn init(format: LogFormat, level: &str) -> Result<(), CommandError> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        CommandError::new(format!(
            "--log-level {level}: {error}; try info, or info,quorate_net=debug"
        ))
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    let colours = io::stderr().is_terminal();
    match format {
        LogFormat::Json => log.json().flatten_event(true).with_writer(io::stderr).init(),
        LogFormat::Text => {
            let lines = move || SingleLineWriter { out: io::stderr(), colours };
            log.with_ansi(colours).with_writer(lines).init();
        }
    }
    Ok(())
}

/// Writes each event on one line, whatever the texts in it contain: an event arrives in one call.
struct SingleLineWriter<W> {
    out: W,
    /// Whether the escape character is ours.
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

/// A file that is written to behind what is there.
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
