//! `quorate draw`: draws a JSON Lines trace as a space-time diagram.

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;

use quorate_draw::spacetime::Diagram;
use quorate_sim::trace;

use crate::CommandResult;
use crate::arguments::DrawFlags;
use crate::command::sim::same_file;
use crate::command_error::CommandError;
use crate::picture::PictureFile;

pub(crate) fn draw(flags: &DrawFlags) -> CommandResult {
    let name = flags.trace.display();
    if same_file(&flags.trace, &flags.output) {
        return Err(CommandError::new(
            "the picture would overwrite the trace; choose another file",
        ));
    }
    let picture = PictureFile::begin(&flags.output)?;
    let file = File::open(&flags.trace)
        .map_err(|error| CommandError::new(format!("{name} cannot be read: {error}")))?;
    let (processes, records) = trace::read(BufReader::new(file)).map_err(|error| {
        CommandError::new(format!(
            "{name} cannot be drawn: {error}; write a trace with --trace FILE.jsonl"
        ))
    })?;
    let file_name = flags.trace.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let title = flags.title.clone().or(file_name).unwrap_or_default();
    picture.draw_run(&Diagram::new(processes, &records).titled(title), &flags.view.view())?;
    Ok(ExitCode::SUCCESS)
}
