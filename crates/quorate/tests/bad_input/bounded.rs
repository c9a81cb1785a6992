//! Runs in a process with limited address space: everything that grows with the input must be bounded by
//! `--memory`.

use std::process::Command;

use crate::refusal::{Folder, line_of};
use crate::support::Run;

/// Runs the command with at most this much memory.
fn within(kibibytes: u32, arguments: &str) -> Run {
    let folder = Folder::empty();
    let mut shell = Command::new("sh");
    shell
        .current_dir(folder.path())
        .env_remove("RUST_BACKTRACE")
        .args(["-c", &format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_quorate"))
        .args(arguments.split_whitespace());
    Run::of(shell)
}

/// A run may need less memory than expected, but must not be killed for using more.
#[track_caller]
fn ends_properly(run: &Run) {
    assert!(matches!(run.code, Some(0 | 1)) || line_of(run).is_ok(), "{run}");
}

#[test]
fn what_links_remember_to_keep_order_is_bounded() {
    // Every replying process remembers when its last message reached each other process.
    let flags = "-n 8000 --delay uniform:1ms..2ms --memory 100MB";
    ends_properly(&within(400_000, &format!("sim ricart-agrawala {flags}")));
}

#[test]
fn what_is_sent_at_the_start_is_bounded() {
    ends_properly(&within(400_000, "sim central -n 5000 --detector heartbeat --memory 20MB"));
}

#[test]
fn what_observers_know_of_crashes_is_bounded() {
    ends_properly(&within(400_000, "sim central -n 60000 --crash 59999@0 --memory 60MB"));
}

#[test]
fn a_trace_of_many_messages_needs_no_memory_for_those_delivered() {
    let flags = "-n 60 --requesters all --repeat 10 --memory 50MB --trace trace.shiviz";
    ends_properly(&within(400_000, &format!("sim ricart-agrawala {flags}")));
}

#[test]
fn a_scenario_that_never_ends_is_refused() {
    let run = within(400_000, "replay /dev/zero");
    let line = line_of(&run);
    assert!(line.is_ok_and(|line| line.contains("larger than")), "{run}");
}
