//! Runs a command with a timeout.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which a running command is polled.
const POLL: Duration = Duration::from_millis(20);

/// Runs a command with its output in a file. Returns `None` if it has not ended after `limit`. Then it is killed
/// together with the processes that it has started.
#[expect(clippy::disallowed_methods, reason = "the limit is real time")]
pub(super) fn run(
    command: &mut Command,
    limit: Duration,
    output: &Path,
) -> io::Result<Option<ExitStatus>> {
    // Unlike a pipe, a file never fills up, so nothing has to read while the command runs.
    let file = File::create(output)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    lead_group(command);
    let (mut child, began) = (command.spawn()?, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            kill_group(&mut child)?;
            return child.wait().map(|_| None);
        }
        thread::sleep(POLL);
    }
}

/// Makes the command the leader of a process group. Cargo starts the tests as separate processes, and killing cargo
/// alone would leave them running. An interrupt from the terminal does not reach such a group, so a test that never
/// ends outlives an interrupted task.
#[cfg(unix)]
fn lead_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    command.process_group(0);
}

#[cfg(unix)]
fn kill_group(child: &mut Child) -> io::Result<()> {
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-KILL", "--", &group]).status().map(drop)
}

#[cfg(not(unix))]
fn lead_group(_: &mut Command) {}

#[cfg(not(unix))]
fn kill_group(child: &mut Child) -> io::Result<()> {
    child.kill()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{env, fs, process};

    fn run_script(script: &str, limit: Duration) -> (Option<bool>, String) {
        let output = env::temp_dir().join(format!("limited-{}-{}", process::id(), script.len()));
        let mut shell = Command::new("sh");
        let status = run(shell.args(["-c", script]), limit, &output).expect("there is a shell");
        let text = fs::read_to_string(&output).expect("the output was kept");
        fs::remove_file(&output).expect("the output can be removed");
        (status.map(|status| status.success()), text)
    }

    #[test]
    fn a_command_that_ends_in_time_has_a_status() {
        let limit = Duration::from_secs(60);
        assert_eq!(run_script("echo out; echo err >&2", limit), (Some(true), "out\nerr\n".into()));
        assert_eq!(run_script("exit 3", limit), (Some(false), String::new()));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the limit is real time")]
    fn a_command_that_takes_too_long_is_killed_with_its_children() {
        let script = "sleep 600 & echo $!; wait";
        let (status, text) = run_script(script, Duration::from_millis(300));
        assert_eq!(status, None);
        let child = text.trim();
        let is_gone = || {
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        };
        let began = Instant::now();
        while !is_gone() && began.elapsed() < Duration::from_secs(10) {
            thread::sleep(POLL);
        }
        assert!(!child.is_empty() && is_gone(), "process {child} still runs");
    }
}
