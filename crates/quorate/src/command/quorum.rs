//! `quorate quorum`: analyses a quorum system.

use std::process::ExitCode;

use quorate_check::quorums::{ANALYSED_MOST, analyse};
use quorate_core::quorum::AnySystem;
use quorate_core::{ProcessId, ProcessSet};
use quorate_draw::topology::Topology;

use crate::CommandResult;
use crate::arguments::QuorumFlags;
use crate::command_error::CommandError;
use crate::picture::PictureFile;
use crate::print;

pub(crate) fn quorum(flags: &QuorumFlags) -> CommandResult {
    let n = flags.processes;
    let failed = flags.failed.clone().unwrap_or_default().0;
    check(flags, &failed)?;
    let live = || ProcessId::all(n).find(|process| !failed.contains(*process));
    let shown = flags.process.map(ProcessId::new).or_else(live).unwrap_or(ProcessId::new(0));
    let system = AnySystem::by_name(&flags.system, n).ok_or_else(|| {
        CommandError::new(format!("there is no quorum system `{}`", flags.system))
    })?;
    let picture = flags.diagram.as_deref().map(PictureFile::begin).transpose()?;
    let report = analyse(&system, &failed, shown, flags.seed);
    if let Some(picture) = picture {
        let drawn = Topology::quorum(&system, &failed, shown);
        picture.draw(flags.theme, |theme| drawn.svg(theme))?;
    }
    print::quorum::print(&system, &report, &failed, shown, flags.json)?;
    Ok(ExitCode::SUCCESS)
}

fn check(flags: &QuorumFlags, failed: &ProcessSet) -> Result<(), CommandError> {
    let n = flags.processes;
    if n == 0 {
        return Err(CommandError::new("-n: there must be at least 1 process"));
    }
    if n > ANALYSED_MOST {
        let problem = format!("-n: at most {ANALYSED_MOST} processes can be analysed");
        return Err(CommandError::new(problem));
    }
    let named = [("--process", flags.process), ("--failed", failed.last().map(ProcessId::number))];
    for (flag, process) in named {
        if let Some(process) = process.filter(|process| *process as usize >= n) {
            let last = n - 1;
            let problem =
                format!("{flag}: there is no process {process}; the processes are 0 to {last}");
            return Err(CommandError::new(problem));
        }
    }
    Ok(())
}
