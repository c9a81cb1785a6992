//! `quorate replay`: runs a scenario file and compares the outcome with its expectations.

use std::process::ExitCode;

use quorate_lab::CannotRun;
use quorate_sim::{Expect, Scenario};

use crate::CommandResult;
use crate::arguments::ReplayFlags;
use crate::command::shrink::run_shrink;
use crate::command::sim::{RunFiles, exit_code, follow, print_conformance, quoted, same_file};
use crate::command_error::CommandError;
use crate::print;

pub(crate) fn replay(flags: &ReplayFlags) -> CommandResult {
    let scenario = load(flags)?;
    if flags.shrink {
        return run_shrink(&scenario, flags);
    }
    if flags.expect && scenario.expect.is_none() {
        let problem =
            format!("{} has no expectations; add an [expect] table", flags.scenario.display());
        return Err(CommandError::new(problem));
    }
    let written = [
        ("trace", &flags.output.trace),
        ("diagram", &flags.output.picture.diagram),
        ("topology", &flags.output.topology),
    ];
    for (what, path) in written {
        if path.as_deref().is_some_and(|path| same_file(path, &flags.scenario)) {
            let problem = format!("the {what} would overwrite the scenario; choose another file");
            return Err(CommandError::new(problem));
        }
    }
    let followed = flags.output.conform.then(|| follow(&scenario)).transpose()?;
    let files = RunFiles::begin(&flags.output, flags.save.as_deref())?;
    let (outcome, stamps) = files.run(&scenario, &flags.output, |outcome| Scenario {
        expect: Some(Expect::from_report(&outcome.report)),
        ..scenario.clone()
    })?;
    let command = format!("quorate replay {}", quoted(&flags.scenario.to_string_lossy()));
    print::outcome(&scenario, &outcome, stamps.as_ref(), flags.output.json, &command)?;
    if !followed.map_or(Ok(true), print_conformance)? {
        return Ok(ExitCode::FAILURE);
    }
    let Some(expected) = &scenario.expect else { return Ok(exit_code(&outcome)) };
    let differences = expected.differences(&outcome.report);
    if !flags.output.json || flags.expect {
        print::expectations(&differences)?;
    }
    match flags.expect {
        true if differences.is_empty() => Ok(ExitCode::SUCCESS),
        true => Ok(ExitCode::FAILURE),
        false => Ok(exit_code(&outcome)),
    }
}

/// Reads the scenario file. Errors about its contents name the position in the file.
fn load(flags: &ReplayFlags) -> Result<Scenario, CommandError> {
    let scenario = quorate_sim::load(&flags.scenario).map_err(CommandError::new)?;
    let file_error_at = |key, error: CannotRun| {
        CommandError::new(quorate_sim::file_error_at(&flags.scenario, key, error.to_string()))
    };
    match quorate_lab::check(&scenario) {
        Ok(()) => Ok(scenario),
        Err(error @ CannotRun::UnknownQuorums { .. }) => Err(file_error_at("quorums", error)),
        Err(error @ CannotRun::UnknownKind { .. }) => Err(file_error_at("expect.by-kind", error)),
        Err(error @ CannotRun::OtherFamily { key, .. }) => Err(file_error_at(key, error)),
        Err(error) => Err(file_error_at("algorithm", error)),
    }
}
