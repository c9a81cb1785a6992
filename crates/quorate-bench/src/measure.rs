//! Measured values.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};

/// Histogram of durations with three significant digits, up to ten minutes.
#[derive(Clone, Debug)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("the bounds are sound"))
    }
}

impl Latency {
    /// Adds one duration to the histogram.
    pub fn add(&mut self, time: Duration) {
        self.0.saturating_record(time.as_nanos() as u64);
    }

    /// Adds all durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.0 += &other.0;
    }

    /// Number of recorded durations.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Duration at this percentile, in microseconds.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.0.value_at_percentile(percent) as f64 / 1_000.0
    }

    /// Longest duration, in microseconds.
    pub fn longest(&self) -> f64 {
        self.0.max() as f64 / 1_000.0
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Microseconds {
            count: u64,
            p50_us: f64,
            p90_us: f64,
            p99_us: f64,
            p999_us: f64,
            longest_us: f64,
        }
        let (count, longest_us) = (self.count(), self.longest());
        let [p50_us, p90_us, p99_us, p999_us] =
            [50.0, 90.0, 99.0, 99.9].map(|percent| self.percentile(percent));
        Microseconds { count, p50_us, p90_us, p99_us, p999_us, longest_us }.serialize(serializer)
    }
}

/// Result of one workload.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Name of the workload.
    pub work: &'static str,
    /// Duration of the workload.
    pub seconds: f64,
    /// Number of times that a lock was acquired and released.
    pub cycles: u64,
    /// Number of grants to a client other than the previous holder.
    pub hand_offs: u64,
    /// Time to acquire a lock; for a contended lock, the time from its release to the next grant.
    pub latency: Latency,
    /// Processor time of the servers per cycle, in microseconds.
    pub processor_us: f64,
    /// Part of `processor_us` that was spent in the kernel.
    pub kernel_us: f64,
    /// Processor time of the clients per cycle, in microseconds.
    pub client_us: f64,
    /// Messages between the servers per cycle, if the servers report them.
    pub messages: Option<f64>,
}

impl Measurement {
    /// Number of cycles per second.
    pub fn rate(&self) -> f64 {
        self.cycles as f64 / self.seconds
    }

    /// Percentage of cycles in which the lock went to the client that had it before.
    pub fn kept_percent(&self) -> f64 {
        100.0 * (1.0 - self.hand_offs as f64 / self.cycles.max(1) as f64)
    }

    /// Percentage of the servers' processor time that was spent in the kernel.
    pub fn kernel_percent(&self) -> f64 {
        // The kernel counts in ticks and may be one tick too high.
        (100.0 * self.kernel_us / self.processor_us.max(f64::MIN_POSITIVE)).min(100.0)
    }

    /// Average number of cores that servers and clients kept busy.
    pub fn busy(&self) -> f64 {
        (self.processor_us + self.client_us) * self.rate() / 1e6
    }

    /// Number of hand-offs per second.
    pub fn hand_off_rate(&self) -> f64 {
        self.hand_offs as f64 / self.seconds
    }
}
