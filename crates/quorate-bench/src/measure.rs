//! Figures.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};

/// How long something took, many times. Kept to three digits, up to ten minutes.
#[derive(Clone, Debug)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("the bounds are sound"))
    }
}

impl Latency {
    /// It took so long once more.
    pub fn add(&mut self, time: Duration) {
        self.0.saturating_record(time.as_nanos() as u64);
    }

    /// What others have measured is added.
    pub fn merge(&mut self, other: &Self) {
        self.0 += &other.0;
    }

    /// How often.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// In so many of a hundred cases it took at most this long, in microseconds.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.0.value_at_percentile(percent) as f64 / 1_000.0
    }

    /// The longest, in microseconds.
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

/// What came of a piece of work.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Which work.
    pub work: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// How often a lock was taken and freed.
    pub cycles: u64,
    /// How often somebody else had it next.
    pub hand_offs: u64,
    /// From asking to having, or from freeing to the next one's having where many want one.
    pub latency: Latency,
    /// Processor time of the servers for each cycle, in microseconds.
    pub processor_us: f64,
    /// How much of it was spent in the kernel.
    pub kernel_us: f64,
    /// Processor time of the clients for each cycle, in microseconds.
    pub client_us: f64,
    /// Messages between the servers for each cycle, if they say.
    pub messages: Option<f64>,
}

impl Measurement {
    /// Cycles in a second.
    pub fn rate(&self) -> f64 {
        self.cycles as f64 / self.seconds
    }

    /// How often in a hundred cycles the lock went to the client that had it before.
    pub fn kept_percent(&self) -> f64 {
        100.0 * (1.0 - self.hand_offs as f64 / self.cycles.max(1) as f64)
    }

    /// How many in a hundred of the servers' processor time was spent in the kernel.
    pub fn kernel_percent(&self) -> f64 {
        // The kernel counts in ticks, and may have counted one too many.
        (100.0 * self.kernel_us / self.processor_us.max(f64::MIN_POSITIVE)).min(100.0)
    }

    /// How many cores servers and clients kept busy.
    pub fn busy(&self) -> f64 {
        (self.processor_us + self.client_us) * self.rate() / 1e6
    }

    /// Hand-offs in a second.
    pub fn hand_off_rate(&self) -> f64 {
        self.hand_offs as f64 / self.seconds
    }
}
