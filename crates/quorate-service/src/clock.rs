//! The clock of leases: it counts the time that the machine sleeps, and nobody sets it.

use quorate_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the machine was started.
pub fn now() -> Time {
    let time = clock_gettime(ClockId::Boottime);
    Time(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
