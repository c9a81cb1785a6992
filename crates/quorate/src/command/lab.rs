//! `quorate lab`: serves the console for a browser.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, ExitCode, Stdio};

use quorate_console::{LabServer, LabSettings, read_lesson_folder};

use crate::CommandResult;
use crate::arguments::LabFlags;
use crate::command_error::CommandError;

pub(crate) fn lab(flags: &LabFlags) -> CommandResult {
    let address = SocketAddr::new(flags.listen, flags.port);
    if let Some(folder) = &flags.lessons {
        read_lesson_folder(folder).map_err(|error| CommandError::new(error.to_string()))?;
    }
    let settings = LabSettings {
        address,
        names: flags.names.clone(),
        framed_by: flags.framed_by.clone(),
        lesson_folder: flags.lessons.clone(),
        ..LabSettings::default()
    };
    let server = LabServer::bind(settings).map_err(|error| {
        CommandError::new(format!("cannot listen on {address}: {error}; try another --port"))
    })?;
    let url = server.url();
    let mut out = anstream::stdout().lock();
    writeln!(out, "{url}")?;
    out.flush()?;
    drop(out);
    if !address.ip().is_loopback() {
        anstream::eprintln!(
            "note: anyone who can reach {address} can run scenarios on this machine"
        );
    }
    anstream::eprintln!("the lab is running; press Ctrl-C to stop it");
    if !flags.no_open {
        open(&url);
    }
    server.run().map_err(|error| CommandError::new(format!("the lab has failed: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the URL in a browser if possible. The URL has been printed already, so a failure is only reported.
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
        anstream::eprintln!("cannot open a browser; open the address above in a browser");
    }
}
