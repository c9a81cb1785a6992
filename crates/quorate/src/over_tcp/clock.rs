//! Clock shared by all processes of a machine.

use quorate_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// Scenario clock that starts at `epoch` and runs `stretch` times slower than real time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaledClock {
    pub(crate) epoch: u64,
    pub(crate) stretch: u32,
}

/// Nanoseconds of the monotonic clock, which all processes of the machine share.
pub(crate) fn machine_time() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

impl ScaledClock {
    /// Current time of the scenario.
    pub(crate) fn now(self) -> Time {
        Time(machine_time().saturating_sub(self.epoch) / u64::from(self.stretch))
    }

    /// Machine time in nanoseconds at which the scenario reaches `time`.
    pub(crate) fn machine_time_at(self, time: Time) -> u64 {
        self.epoch.saturating_add(time.0.saturating_mul(self.stretch.into()))
    }
}
