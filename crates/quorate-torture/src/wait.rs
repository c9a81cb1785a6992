//! Waiting in real time, until a signal interrupts it.
//!
//! SIGINT and SIGTERM end a run early, but not at once: what it has made is removed by `Drop`, so each wait ends and the run
//! returns an error.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quorate_client::Moment;
use tokio::signal::unix::{SignalKind, signal};

/// Interval between two looks, in milliseconds.
const POLL_MS: u64 = 100;

/// Interval at which a wait looks for an interrupt, in milliseconds.
const SLICE_MS: u64 = 20;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on SIGINT and SIGTERM interrupt waits. A second signal ends the process at once; its children end with it.
pub(crate) fn watch_for_interrupts() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if INTERRUPTED.swap(true, Ordering::SeqCst) {
                    std::process::exit(2);
                }
            }
        });
    });
    Ok(())
}

fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Fails if the run was interrupted.
pub(crate) fn check() -> io::Result<()> {
    match is_interrupted() {
        true => Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted by a signal")),
        false => Ok(()),
    }
}

/// Waits until the run is interrupted.
pub(crate) async fn interrupted() {
    while !is_interrupted() {
        tokio::time::sleep(Duration::from_millis(SLICE_MS)).await;
    }
}

/// Waits so long, or until the run is interrupted.
pub(crate) fn pause(millis: u64) {
    let end = Moment::now().later(Duration::from_millis(millis));
    while !end.from_now().is_zero() && !is_interrupted() {
        std::thread::sleep(end.from_now().min(Duration::from_millis(SLICE_MS)));
    }
}

/// Waits until something is so. It is looked at once at least; false if it is not so when the time is up.
pub(crate) fn wait_until(
    timeout: Duration,
    mut condition: impl FnMut() -> io::Result<bool>,
) -> io::Result<bool> {
    let end = Moment::now().later(timeout);
    loop {
        check()?;
        if condition()? {
            return Ok(true);
        }
        if end.from_now().is_zero() {
            return Ok(false);
        }
        pause(POLL_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_at_once_at_least() {
        let mut calls = 0;
        let mut condition = |is_so: bool| {
            calls += 1;
            Ok(is_so)
        };
        assert!(wait_until(Duration::ZERO, || condition(true)).expect("no error"));
        assert!(!wait_until(Duration::ZERO, || condition(false)).expect("no error"));
        assert_eq!(calls, 2);
    }
}
