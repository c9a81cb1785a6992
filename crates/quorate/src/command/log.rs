//! What a node writes to stderr about what happens.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

use tracing_subscriber::EnvFilter;

use crate::arguments::LogFormat;
use crate::failure::Failure;

/// From now on what happens is written, as much of it as the level says.
pub(crate) fn begin(format: LogFormat, level: &str) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        Failure::new(format!("--log-level {level}: {error}; try info, or info,quorate_net=debug"))
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Text => log.with_ansi(io::stderr().is_terminal()).init(),
    }
    Ok(())
}

/// A file that is written to behind what is there.
pub(crate) fn appended(path: &Path) -> Result<File, Failure> {
    let opened = File::options().create(true).append(true).open(path);
    opened.map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}
