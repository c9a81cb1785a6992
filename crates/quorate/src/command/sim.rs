//! `quorate sim`: flags make a scenario, which is run once.

use std::path::Path;
use std::process::ExitCode;

use quorate_lab::LabError;
use quorate_sim::report::Verdict;
use quorate_sim::trace::Format;
use quorate_sim::{Conditions, Outcome, RunError, Scenario};

use crate::Done;
use crate::arguments::{Output, SelfMessages, Sim, flag_of};
use crate::failure::Failure;
use crate::files::{NewFile, write_whole};
use crate::memory;
use crate::print;

pub(crate) fn sim(flags: Sim) -> Done {
    let (scenario, output, save) = flags.into_scenario();
    scenario.validate().map_err(|invalid| {
        Failure::new(format!("{}: {}", flag_of(invalid.key), invalid.problem))
    })?;
    let outcome = run(&scenario, &output)?;
    if let Some(path) = &save {
        save_scenario(path, &scenario)?;
    }
    print::outcome(&scenario, &outcome, output.json, &this_command())?;
    Ok(exit_code(&outcome))
}

/// Runs a scenario and writes the trace that was asked for.
pub(crate) fn run(scenario: &Scenario, output: &Output) -> Result<Outcome, Failure> {
    let conditions = Conditions {
        count_self: output.self_messages == SelfMessages::Include,
        memory: output.memory.unwrap_or_else(memory::available).0,
        ..Conditions::default()
    };
    let Some(path) = &output.trace else {
        return quorate_lab::run(scenario, conditions, None).map_err(explain);
    };
    let format = output.trace_format.unwrap_or_else(|| Format::of_file(&path.to_string_lossy()));
    let mut file = NewFile::begin(path)?;
    let outcome = {
        let mut sink = format.writer(scenario.processes, &mut file);
        quorate_lab::run(scenario, conditions, Some(&mut *sink)).map_err(explain)?
    };
    file.keep()?;
    Ok(outcome)
}

/// Writes a scenario to a file.
pub(crate) fn save_scenario(path: &Path, scenario: &Scenario) -> Result<(), Failure> {
    let text = toml::to_string(scenario)
        .map_err(|error| Failure::new(format!("the scenario cannot be written: {error}")))?;
    write_whole(path, &format!("# {}\n{text}", print::title(scenario)))
}

/// 1 if a property was violated, else 0.
pub(crate) fn exit_code(outcome: &Outcome) -> ExitCode {
    if outcome.report.verdict == Verdict::Violated { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn explain(error: LabError) -> Failure {
    match &error {
        LabError::Run(RunError::TooManyProcesses { .. } | RunError::TooManyMessages { .. }) => {
            Failure::new(format!("{error}; use fewer processes or requesters, or raise --memory"))
        }
        _ => Failure::new(error),
    }
}

/// The command line as it was typed, quoted for a shell.
fn this_command() -> String {
    let quoted = |argument: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    let arguments =
        std::env::args_os().skip(1).map(|argument| quoted(argument.to_string_lossy().into_owned()));
    std::iter::once("quorate".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}
