//! The clock of leases. It counts the time during which the machine is suspended, and cannot be set.

use quorate_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// Returns the time since the machine was booted, in nanoseconds.
pub fn now() -> Time {
    let time = clock_gettime(ClockId::Boottime);
    Time(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Returns the wall clock in milliseconds since 1970. Logical clocks are never below it, so that order survives a
/// restart of all voters.
#[expect(clippy::disallowed_methods, reason = "stamps outlive this machine's boot")]
pub(crate) fn wall_millis() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}
