//! The processes of servers: how much of the processor and of the memory they have used, and that they end with us.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::service::Trouble;

/// Processes that end when this is dropped.
#[derive(Debug, Default)]
pub struct Processes {
    children: Vec<Child>,
}

impl Processes {
    /// Starts one more, which says nothing.
    pub fn start(&mut self, command: &mut Command) -> Result<(), Trouble> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let program = quiet.get_program().to_string_lossy().into_owned();
        let child = quiet.spawn().map_err(|error| Trouble(format!("{program}: {error}")))?;
        self.children.push(child);
        Ok(())
    }

    /// Ends one as a crash would.
    pub fn kill(&mut self, number: usize) {
        if let Some(child) = self.children.get_mut(number) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// How much processor time they have used.
    pub fn processor(&self) -> Duration {
        Duration::from_nanos(self.children.iter().filter_map(|child| nanoseconds(child.id())).sum())
    }

    /// How much memory they have resident, in bytes.
    pub fn memory(&self) -> u64 {
        let pages: u64 = self.children.iter().filter_map(|child| pages(child.id())).sum();
        pages * rustix::param::page_size() as u64
    }
}

/// The processor time of all threads of a process. What a thread has used that is over is not in it.
fn nanoseconds(process: u32) -> Option<u64> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of_thread = |thread: std::fs::DirEntry| -> Option<u64> {
        let stat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse().ok()
    };
    Some(threads.filter_map(|thread| of_thread(thread.ok()?)).sum())
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
