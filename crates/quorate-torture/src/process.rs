//! One process of a run. It can be stopped, killed and started again. Unexpected exits are recorded.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use quorate_client::Moment;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::wait::pause;

/// Interval at which a process is polled after SIGTERM, in milliseconds.
const POLL_MS: u64 = 10;

#[derive(Debug)]
pub(crate) struct ManagedProcess {
    name: String,
    child: Option<Child>,
    /// Clock error in seconds, for each start.
    shifts: Vec<i64>,
    stopped: bool,
    /// Exits that were caused neither by a fault nor by the end of the run.
    exits: Vec<String>,
}

impl ManagedProcess {
    /// A process that is not started yet. The name is used in messages.
    pub(crate) fn new(name: String) -> Self {
        Self { name, child: None, shifts: Vec::new(), stopped: false, exits: Vec::new() }
    }

    /// Starts the process, unless it runs, with a clock that is wrong by `shift` seconds. Its stderr is appended to a file.
    pub(crate) fn start(
        &mut self,
        command: &mut Command,
        errors: &Path,
        shift: i64,
    ) -> io::Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let errors = fs::OpenOptions::new().create(true).append(true).open(errors)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn()?;
        (self.child, self.stopped) = (Some(child), false);
        self.shifts.push(shift);
        Ok(())
    }

    /// Whether the process runs. Records an exit since the last poll.
    pub(crate) fn is_running(&mut self) -> bool {
        if let Some(child) = &mut self.child
            && let Ok(Some(status)) = child.try_wait()
        {
            self.ended_by_itself(status);
        }
        self.child.is_some()
    }

    fn ended_by_itself(&mut self, status: ExitStatus) {
        let now = Moment::now().0;
        self.exits.push(format!("{} ended by itself: {status}, noticed at {now}", self.name));
        (self.child, self.stopped) = (None, false);
    }

    /// All unexpected exits, including one since the last poll.
    pub(crate) fn exits(&mut self) -> &[String] {
        self.is_running();
        &self.exits
    }

    /// Kills the process, and the processes that it has started.
    pub(crate) fn kill(&mut self) {
        if !self.is_running() {
            return;
        }
        let Some(mut child) = self.child.take() else { return };
        send(&child, Signal::KILL);
        self.stopped = false;
        // It may have exited just before the signal was sent.
        if let Ok(status) = child.wait()
            && status.signal() != Some(Signal::KILL.as_raw())
        {
            self.ended_by_itself(status);
        }
    }

    /// Sends SIGTERM and waits for the exit. Fails if the process does not exit with success. After the timeout, kills the
    /// process and fails.
    pub(crate) fn terminate(&mut self, timeout_ms: u64) -> Result<(), String> {
        if !self.is_running() {
            return Ok(());
        }
        let Some(mut child) = self.child.take() else { return Ok(()) };
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
        for _ in 0..timeout_ms / POLL_MS {
            if let Ok(Some(status)) = child.try_wait() {
                let wrong = || format!("{} ended with {status} after SIGTERM", self.name);
                return if status.success() { Ok(()) } else { Err(wrong()) };
            }
            pause(POLL_MS);
        }
        send(&child, Signal::KILL);
        let _ = child.wait();
        Err(format!("{} did not end within {} s after SIGTERM", self.name, timeout_ms / 1_000))
    }

    pub(crate) fn stop(&mut self) {
        self.signal(Signal::STOP, true);
    }

    pub(crate) fn resume(&mut self) {
        self.signal(Signal::CONT, false);
    }

    fn signal(&mut self, signal: Signal, stops: bool) {
        if let Some(child) = &self.child {
            send(child, signal);
            self.stopped = stops;
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The process id, if the process runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Clock error in seconds, for each start.
    pub(crate) fn shifts(&self) -> &[i64] {
        &self.shifts
    }
}

/// Sends a signal to a process, and to its process group if it leads one, as clients do.
fn send(child: &Child, signal: Signal) {
    if let Some(pid) = Pid::from_raw(child.id() as i32)
        && kill_process_group(pid, signal).is_err()
    {
        let _ = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(script: &str) -> ManagedProcess {
        let mut process = ManagedProcess::new("node 1".to_owned());
        let mut command = Command::new("sh");
        let start = process.start(command.args(["-c", script]), Path::new("/dev/null"), 0);
        start.expect("there is a shell");
        process
    }

    fn ended(process: &mut ManagedProcess) {
        while process.is_running() {
            pause(1);
        }
    }

    #[test]
    fn an_exit_that_nothing_asked_for_is_told_whatever_follows() {
        let mut process = started("exit 3");
        ended(&mut process);
        process.kill();
        let mut again = Command::new("sh");
        let again = process.start(again.args(["-c", "sleep 60"]), Path::new("/dev/null"), 0);
        again.expect("there is a shell");
        process.kill();
        let exits = process.exits();
        assert_eq!(exits.len(), 1, "{exits:?}");
        assert!(exits[0].starts_with("node 1 ended by itself: exit status: 3"), "{exits:?}");
    }

    #[test]
    fn a_crash_just_before_a_kill_is_told() {
        let mut process = started("exit 4");
        // Not polled before: the child is reaped by the kill.
        if let Some(child) = &process.child {
            let path = format!("/proc/{}/stat", child.id());
            while fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z ")) {
                pause(1);
            }
        }
        process.kill();
        assert_eq!(process.exits().len(), 1);
    }

    #[test]
    fn a_process_that_is_asked_to_end_has_to_succeed() {
        let folder = tempfile::tempdir().expect("a folder");
        let trap = |action: &str| {
            let file = folder.path().join("ready");
            let loops =
                format!("trap '{action}' TERM; : > {}; while :; do :; done", file.display());
            let process = started(&loops);
            while !file.exists() {
                pause(1);
            }
            fs::remove_file(file).expect("it is there");
            process
        };
        assert_eq!(trap("exit 0").terminate(5_000), Ok(()));
        let failed = trap("exit 5").terminate(5_000).expect_err("it ends with 5");
        assert_eq!(failed, "node 1 ended with exit status: 5 after SIGTERM");
        let deaf = trap("").terminate(50).expect_err("it does not end");
        assert!(deaf.contains("did not end"), "{deaf}");
    }
}
