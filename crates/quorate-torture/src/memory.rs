//! Samples the resident memory of processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::wait::pause;

/// A thread that samples until its result is taken.
#[derive(Debug)]
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    sampling: JoinHandle<u64>,
}

impl Watch {
    pub(crate) fn start(processes: Vec<u32>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let sampling = std::thread::spawn(move || {
            let mut most = 0;
            while !told.load(Ordering::Relaxed) {
                most =
                    processes.iter().filter_map(|process| resident(*process)).fold(most, u64::max);
                pause(10);
            }
            most
        });
        Self { over, sampling }
    }

    /// Stops sampling. Returns the maximum over all processes and samples, in bytes.
    pub(crate) fn most(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.sampling.join().unwrap_or(0)
    }
}

fn resident(process: u32) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
