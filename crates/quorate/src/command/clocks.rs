//! `quorate clocks`: Lamport and vector stamps of events, happened-before, and cuts.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use quorate_lab::logical_time::{self, Computation};
use quorate_sim::trace;

use crate::CommandResult;
use crate::arguments::ClocksFlags;
use crate::command_error::CommandError;
use crate::{output, print};

/// Maximum size of a text of events in bytes.
const TEXT_MOST: u64 = 1 << 20;

pub(crate) fn clocks(flags: &ClocksFlags) -> CommandResult {
    let computation = computation(flags)?;
    let mut out = output::stdout();
    if flags.exercise && !flags.answers && !flags.json {
        print::clocks::exercise(&mut out, &computation, flags.seed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let find = |title: &String| {
        computation.find(title).map_err(|why| CommandError::new(format!("--compare: {why}")))
    };
    let pair = match flags.compare.as_deref() {
        Some([first, second]) => Some((find(first)?, find(second)?)),
        _ => None,
    };
    let cut = flags.cut.as_deref().map(|text| computation.parse_cut(text)).transpose();
    let cut = cut.map_err(|why| CommandError::new(format!("--cut: {why}")))?;
    if flags.json {
        let report = print::clocks::json(&computation, pair, cut.as_ref());
        writeln!(out, "{report}")?;
    } else {
        print::clocks::print(&mut out, &computation, pair, cut.as_ref())?;
    }
    let inconsistent = cut.is_some_and(|cut| computation.inconsistency(&cut).is_some());
    Ok(if inconsistent { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn computation(flags: &ClocksFlags) -> Result<Computation, CommandError> {
    if let Some(path) = &flags.trace {
        return of_trace(path);
    }
    let text = match (&flags.events, &flags.file) {
        (Some(events), _) => events.clone(),
        (_, Some(path)) => read(path)?,
        _ => logical_time::exercise(flags.processes.into(), flags.length.into(), flags.seed),
    };
    Computation::parse(&text).map_err(CommandError::new)
}

fn of_trace(path: &Path) -> Result<Computation, CommandError> {
    let name = path.display();
    let problem = |why: String| CommandError::new(format!("{name}: {why}"));
    let file = File::open(path).map_err(|error| problem(format!("it cannot be read: {error}")))?;
    let (processes, records) = trace::read(BufReader::new(file))
        .map_err(|error| problem(format!("{error}; write a trace with --trace FILE.jsonl")))?;
    logical_time::of_trace(processes, &records).map_err(|why| problem(why.to_string()))
}

fn read(path: &Path) -> Result<String, CommandError> {
    let problem = |why: String| CommandError::new(format!("{}: {why}", path.display()));
    let mut text = String::new();
    let read =
        |input: &mut dyn Read, text: &mut String| input.take(TEXT_MOST + 1).read_to_string(text);
    let size = if path == Path::new("-") {
        read(&mut io::stdin(), &mut text)
    } else {
        File::open(path).and_then(|mut file| read(&mut file, &mut text))
    };
    match size {
        Ok(size) if size as u64 > TEXT_MOST => {
            Err(problem("more than 1 MiB of events are too many".to_owned()))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(problem(format!("it cannot be read: {error}"))),
    }
}
