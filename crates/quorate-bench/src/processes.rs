//! Server processes: their processor time and memory, and their termination with this program.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::error::BenchError;

/// Processes that are killed when this is dropped.
#[derive(Debug, Default)]
pub struct Processes {
    children: Vec<Child>,
    /// Log file of each process, if it has one.
    logs: Vec<Option<PathBuf>>,
}

impl Processes {
    /// Starts a process whose output is discarded.
    pub fn start(&mut self, command: &mut Command) -> Result<(), BenchError> {
        self.spawn(command.stdout(Stdio::null()).stderr(Stdio::null()), None)
    }

    /// Starts a process whose output is written to a file.
    pub(crate) fn start_logged(
        &mut self,
        command: &mut Command,
        log: &Path,
    ) -> Result<(), BenchError> {
        let file = File::create(log).map_err(BenchError::new)?;
        let same = file.try_clone().map_err(BenchError::new)?;
        self.spawn(command.stdout(file).stderr(same), Some(log.to_owned()))
    }

    fn spawn(&mut self, command: &mut Command, log: Option<PathBuf>) -> Result<(), BenchError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).spawn();
        self.children.push(child.map_err(|error| BenchError(format!("{program}: {error}")))?);
        self.logs.push(log);
        Ok(())
    }

    /// Whether a process is still running.
    pub(crate) fn is_alive(&mut self, number: usize) -> bool {
        self.children.get_mut(number).is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Last line that a process logged, or the given error if there is none.
    pub(crate) fn last_log_line(&self, number: usize, error: &BenchError) -> String {
        let log = self.logs.get(number).cloned().flatten();
        let output = log.and_then(|log| std::fs::read(log).ok()).unwrap_or_default();
        let output = String::from_utf8_lossy(&output).into_owned();
        let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.map_or_else(|| error.to_string(), ToOwned::to_owned)
    }

    /// Kills a process, as a crash would.
    pub fn kill(&mut self, number: usize) {
        if let Some(child) = self.children.get_mut(number) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Processor time of all processes.
    pub fn processor(&self) -> Duration {
        Duration::from_nanos(self.children.iter().filter_map(|child| nanoseconds(child.id())).sum())
    }

    /// Part of the processor time that was spent in the kernel, mostly for the network.
    pub fn kernel(&self) -> Duration {
        let ticks: u64 = self.children.iter().filter_map(|child| kernel_ticks(child.id())).sum();
        let each = rustix::param::clock_ticks_per_second().max(1);
        Duration::from_nanos(ticks * (1_000_000_000 / each))
    }

    /// Resident memory of all processes, in bytes.
    pub fn memory(&self) -> u64 {
        let pages: u64 = self.children.iter().filter_map(|child| pages(child.id())).sum();
        pages * rustix::param::page_size() as u64
    }
}

/// Raises the limit of open files to the maximum, for this process and its children. A thousand and more clients have a
/// connection each, and many systems start with a limit of a thousand files.
pub fn raise_open_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If the limit cannot be raised, opening too many files reports it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Processor time of this process, including threads that have ended.
pub(crate) fn own_processor() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// Processor time of all running threads of a process. Threads that have ended are not included.
fn nanoseconds(process: u32) -> Option<u64> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of_thread = |thread: std::fs::DirEntry| -> Option<u64> {
        let stat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse().ok()
    };
    Some(threads.filter_map(|thread| of_thread(thread.ok()?)).sum())
}

fn kernel_ticks(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program name may contain any character. The numbers follow it, and this one is field 15 of the whole line.
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(12)?.parse().ok()
}

fn pages(process: u32) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    statm.split_whitespace().nth(1)?.parse().ok()
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &self.children {
            let pid = Pid::from_raw(child.id() as i32);
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_can_be_looked_at() {
        let this = std::process::id();
        assert!(nanoseconds(this).is_some_and(|used| used > 0));
        assert!(kernel_ticks(this).is_some());
        assert!(pages(this).is_some_and(|pages| pages > 0));
        assert_eq!(kernel_ticks(u32::MAX), None, "there is no such process");
    }
}
