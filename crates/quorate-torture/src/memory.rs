//! Samples the resident memory of processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::wait::pause;

/// A thread that samples until its result is taken.
#[derive(Debug)]
pub(crate) struct MemorySampler {
    stop: Arc<AtomicBool>,
    sampling: JoinHandle<u64>,
}

impl MemorySampler {
    pub(crate) fn start(processes: Vec<u32>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let sampling = std::thread::spawn(move || {
            let mut max = 0;
            while !stopped.load(Ordering::Relaxed) {
                max = processes.iter().filter_map(|process| resident(*process)).fold(max, u64::max);
                pause(10);
            }
            max
        });
        Self { stop, sampling }
    }

    /// Stops sampling. Returns the maximum over all processes and samples, in bytes.
    pub(crate) fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.sampling.join().unwrap_or(0)
    }
}

fn resident(process: u32) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
