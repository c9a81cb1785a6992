//! `quorate lab`: the console in a browser.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, ExitCode, Stdio};

use quorate_console::{LabServer, LabSettings};

use crate::CommandResult;
use crate::arguments::LabFlags;
use crate::command_error::CommandError;

pub(crate) fn lab(flags: &LabFlags) -> CommandResult {
    let address = SocketAddr::new(flags.listen, flags.port);
    let settings = LabSettings { address, names: flags.names.clone(), ..LabSettings::default() };
    let server = LabServer::bind(settings).map_err(|error| {
        CommandError::new(format!("cannot listen on {address}: {error}; try another --port"))
    })?;
    let url = server.url();
    let mut out = anstream::stdout().lock();
    writeln!(out, "{url}")?;
    out.flush()?;
    drop(out);
    if !address.ip().is_loopback() {
        anstream::eprintln!("note: anybody who reaches {address} can run things here");
    }
    anstream::eprintln!("the lab is open; Ctrl-C closes it");
    if !flags.no_open {
        open(&url);
    }
    server.run().map_err(|error| CommandError::new(format!("the lab cannot go on: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the address in a browser where there is one; the address was printed, so nothing is lost where not.
pub(crate) fn open(url: &str) {
    let opener = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let quiet = Command::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if quiet.is_err() {
        anstream::eprintln!("no browser could be opened; open the address above in one");
    }
}
