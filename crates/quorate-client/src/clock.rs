//! The clock that measures validity. It includes the time during which the machine sleeps (`CLOCK_BOOTTIME`).

use std::time::Duration;

use quorate_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// The present time of this clock, in nanoseconds since boot.
pub(crate) fn now() -> Time {
    let time = clock_gettime(ClockId::Boottime);
    Time(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// A point in time of this clock, in microseconds since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// The present time of this clock.
    pub fn now() -> Self {
        Self::from_time(now())
    }

    /// Rounds a time down to whole microseconds, so that the result is never later than the time.
    pub(crate) fn from_time(time: Time) -> Self {
        Self(time.0 / 1_000)
    }

    /// Time left until this moment; zero if it has passed.
    pub fn from_now(self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(Self::now().0))
    }

    /// The moment `by` after this one.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by.as_micros() as u64))
    }

    /// The moment `by` before this one.
    #[must_use]
    pub fn earlier(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by.as_micros() as u64))
    }

    /// Waits until this moment, even if the machine sleeps meanwhile.
    pub async fn reached(self) {
        // The runtime's clock stops while the machine sleeps, so this clock is polled.
        loop {
            let left = self.from_now();
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(Duration::from_millis(200))).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_microseconds() {
        let (moment, by) = (Moment::from_time(Time(7_999)), Duration::from_micros(5));
        assert_eq!(moment, Moment(7));
        assert_eq!((moment.later(by), moment.earlier(by)), (Moment(12), Moment(2)));
        assert_eq!(Moment(3).earlier(by), Moment(0));
    }

    #[tokio::test]
    async fn a_moment_is_reached_when_its_time_has_come() {
        let (now, by) = (Moment::now(), Duration::from_millis(20));
        let then = now.later(by);
        assert!(now.0 > 0 && then.from_now() <= by && now.from_now().is_zero());
        assert!(now.later(2 * by).from_now() > Duration::ZERO);
        tokio::time::timeout(Duration::from_secs(10), then.reached()).await.expect("it comes");
        assert!(Moment::now() >= then);
        // The clock counts nanoseconds since boot, so it runs at the speed of the runtime's clock.
        let elapsed = Duration::from_micros(Moment::now().0 - now.0);
        assert!(elapsed >= by && elapsed < Duration::from_secs(10), "{elapsed:?}");
    }
}
