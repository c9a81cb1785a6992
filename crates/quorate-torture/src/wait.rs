//! Waiting in real time.

use std::io;
use std::time::Duration;

use quorate_client::Moment;

/// Interval between two looks, in milliseconds.
const LOOK_MS: u64 = 100;

pub(crate) fn pause(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}

/// Waits until something is so. It is looked at once at least; false if it is not so when the time is up.
pub(crate) fn becomes(
    patience: Duration,
    mut look: impl FnMut() -> io::Result<bool>,
) -> io::Result<bool> {
    let end = Moment::now().later(patience);
    loop {
        if look()? {
            return Ok(true);
        }
        if end.from_now().is_zero() {
            return Ok(false);
        }
        pause(LOOK_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_at_once_at_least() {
        let mut looks = 0;
        let mut look = |is_so: bool| {
            looks += 1;
            Ok(is_so)
        };
        assert!(becomes(Duration::ZERO, || look(true)).expect("no error"));
        assert!(!becomes(Duration::ZERO, || look(false)).expect("no error"));
        assert_eq!(looks, 2);
    }
}
