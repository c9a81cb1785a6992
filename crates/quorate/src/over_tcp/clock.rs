//! The one clock that all processes of a machine share.

use quorate_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// When a run began, and how much slower than its scenario it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaledClock {
    pub(crate) epoch: u64,
    pub(crate) stretch: u32,
}

/// Nanoseconds since the machine started, the same for every process on it.
pub(crate) fn machine_time() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

impl ScaledClock {
    /// How late it is in the scenario.
    pub(crate) fn now(self) -> Time {
        Time(machine_time().saturating_sub(self.epoch) / u64::from(self.stretch))
    }

    /// When it is so late in the scenario, in nanoseconds since the machine started.
    pub(crate) fn machine_time_at(self, time: Time) -> u64 {
        self.epoch.saturating_add(time.0.saturating_mul(self.stretch.into()))
    }
}
