//! `quorate completions` and `quorate man`: generated from the same definitions as the help.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::CommandResult;
use crate::arguments::Arguments;
use crate::command_error::CommandError;

pub(crate) fn completions(shell: Shell) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "quorate", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(command: Option<&str>) -> CommandResult {
    let mut root = Arguments::command();
    root.build();
    let page = match command {
        None => root,
        Some(name) => root.find_subcommand(name).cloned().ok_or_else(|| {
            let known = root.get_subcommands().map(clap::Command::get_name);
            let hint = match quorate_sim::nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`quorate --help` lists all commands".to_owned(),
            };
            CommandError::new(format!("there is no command `{name}`; {hint}"))
        })?,
    };
    let mut text = Vec::new();
    let version = format!("quorate {}", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(page).source(version).manual("quorate").render(&mut text)?;
    std::io::stdout().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}
