//! `quorate replay`: runs a scenario file, and compares with what it expects.

use std::process::ExitCode;

use quorate_sim::Expect;

use crate::Done;
use crate::arguments::Replay;
use crate::command::sim::{exit_code, run, save_scenario};
use crate::failure::Failure;
use crate::print;

pub(crate) fn replay(flags: &Replay) -> Done {
    let scenario = quorate_sim::load(&flags.scenario).map_err(Failure::new)?;
    let expected = match (&scenario.expect, flags.expect) {
        (None, true) => {
            let problem =
                format!("{} expects nothing; give it an [expect] table", flags.scenario.display());
            return Err(Failure::new(problem));
        }
        (expect, _) => expect.clone(),
    };
    let outcome = run(&scenario, &flags.output)?;
    if let Some(path) = &flags.save {
        let mut found = scenario.clone();
        found.expect = Some(Expect::from_report(&outcome.report));
        save_scenario(path, &found)?;
    }
    let command = format!("quorate replay {}", flags.scenario.display());
    print::outcome(&scenario, &outcome, flags.output.json, &command)?;
    let Some(expected) = expected else { return Ok(exit_code(&outcome)) };
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
