//! The clock by which locks are relied on: it counts the time that the machine sleeps.

use std::time::Duration;

use quorate_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// The present time by that clock, in nanoseconds since the machine was started.
pub(crate) fn now() -> Time {
    let time = clock_gettime(ClockId::Boottime);
    Time(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// A moment by that clock, in microseconds since the machine was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// This one.
    pub fn now() -> Self {
        Self::from_time(now())
    }

    /// The whole microsecond that a time is in: never later than the time.
    pub(crate) fn from_time(time: Time) -> Self {
        Self(time.0 / 1_000)
    }

    /// How long until then; nothing if that is past.
    pub fn from_now(self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(Self::now().0))
    }

    /// So much later.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by.as_micros() as u64))
    }

    /// So much earlier.
    #[must_use]
    pub fn earlier(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by.as_micros() as u64))
    }

    /// Waits until then, also if the machine sleeps meanwhile.
    pub async fn reached(self) {
        // The runtime's own clock stands still while the machine sleeps, so it is looked at again and again.
        loop {
            let left = self.from_now();
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(Duration::from_millis(200))).await;
        }
    }
}
