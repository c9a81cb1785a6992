//! `quorate replay --shrink`: finds a minimal scenario that violates the same property.

use std::io::Write;
use std::process::ExitCode;

use quorate_lab::{attempt, attempt_in_model, shrink};
use quorate_sim::{Conditions, Scenario};

use crate::CommandResult;
use crate::arguments::ReplayFlags;
use crate::command_error::CommandError;
use crate::files::AtomicFile;
use crate::memory;

/// Maximum number of events of a scenario to shrink.
const EVENTS_MOST: u64 = 50_000_000;

/// Shrinks the scenario until nothing more can be removed, and prints or saves it.
pub(crate) fn run_shrink(scenario: &Scenario, flags: &ReplayFlags) -> CommandResult {
    let file = flags.save.as_deref().map(AtomicFile::create).transpose()?;
    let memory = flags.output.memory.unwrap_or_else(memory::available).0;
    let conditions = Conditions { memory, events: EVENTS_MOST, ..Conditions::default() };
    let attempt = if flags.output.conform { attempt_in_model } else { attempt };
    let found = attempt(scenario, conditions).map_err(CommandError::new)?;
    let Some((property, _)) = found.broken().first().copied() else {
        let name = flags.scenario.display();
        writeln!(
            anstream::stderr().lock(),
            "{name} violates no property: there is nothing to shrink"
        )?;
        return Ok(ExitCode::FAILURE);
    };
    let small = shrink(scenario, property, conditions).map_err(CommandError::new)?;
    let small = small.ok_or_else(|| CommandError::new("the violation cannot be reproduced"))?;
    let toml = toml::to_string(&small.scenario)
        .map_err(|error| CommandError::new(format!("the scenario cannot be written: {error}")))?;
    let text = format!("# {property}: {}\n{toml}", small.detail);
    let mut stderr = anstream::stderr().lock();
    let end = if small.is_minimal { "it is minimal" } else { "it may not be minimal" };
    writeln!(stderr, "shrunk in {} runs; {end}", small.runs)?;
    match (file, &flags.save) {
        (Some(mut file), Some(path)) => {
            file.write_all(text.as_bytes())?;
            file.commit()?;
            let path = super::sim::quoted(&path.to_string_lossy());
            writeln!(stderr, "replay: quorate replay {path}")?;
        }
        _ => crate::output::stdout().write_all(text.as_bytes())?,
    }
    Ok(ExitCode::FAILURE)
}
