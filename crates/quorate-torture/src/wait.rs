//! Waiting in real time, until a signal interrupts it.
//!
//! SIGINT and SIGTERM end a run early, but not immediately: temporary objects are removed by `Drop`, so each wait ends and
//! the run returns an error.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quorate_client::Moment;
use tokio::signal::unix::{SignalKind, signal};

/// Interval at which a condition is polled, in milliseconds.
const POLL_MS: u64 = 100;

/// Interval at which a wait checks for an interrupt, in milliseconds.
const SLICE_MS: u64 = 20;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes SIGINT and SIGTERM interrupt waits from now on. A second signal ends the process immediately; its children end
/// with it.
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

/// Waits this long, or until the run is interrupted.
pub(crate) fn pause(millis: u64) {
    let end = Moment::now().later(Duration::from_millis(millis));
    while !end.from_now().is_zero() && !is_interrupted() {
        std::thread::sleep(end.from_now().min(Duration::from_millis(SLICE_MS)));
    }
}

/// Polls a condition until it holds, at least once. Returns false if it does not hold when the timeout has passed.
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
