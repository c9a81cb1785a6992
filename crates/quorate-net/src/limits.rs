//! Size limits and timeouts of the network: the resources that a peer may use, and the time to wait for it.

use std::time::Duration;

/// Overhead in bytes that each queued message counts in addition to its size, so that empty messages fill a queue too.
pub const MESSAGE_OVERHEAD: usize = 64;

/// Size limits and timeouts. The defaults suit a few machines in one data centre.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum size of a message, in bytes.
    pub message: usize,
    /// Capacity of the queue per peer, in bytes. Sent but unacknowledged messages count too. Each message counts
    /// [`MESSAGE_OVERHEAD`] more than its size.
    pub queue: usize,
    /// Capacity of the owner's event queue. While it is full, peers are not read (backpressure).
    pub events: usize,
    /// Maximum number of incoming connections in a handshake. A further connection evicts the oldest.
    pub handshakes: usize,
    /// Timeout of connecting. While packets are dropped, the operating system repeats the first one after 1 s, 2 s and 4 s,
    /// so a new attempt is faster than a long wait.
    pub connect: Duration,
    /// Timeout of connecting, TLS and handshake together.
    pub handshake: Duration,
    /// Idle time after which a keep-alive frame is sent.
    pub ping: Duration,
    /// Time without any received byte after which a connection counts as lost.
    pub silence: Duration,
    /// Maximum delay of an acknowledgement that waits to be piggybacked on a message.
    pub acknowledge: Duration,
    /// First pause before a redial. Each further pause is twice as long, with jitter.
    pub redial: Duration,
    /// Maximum pause before a redial.
    pub redial_max: Duration,
    /// Maximum time that a stop waits for queued messages to be acknowledged.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 1 << 20,
            queue: 8 << 20,
            events: 4096,
            handshakes: 32,
            connect: Duration::from_secs(1),
            handshake: Duration::from_secs(5),
            ping: Duration::from_secs(2),
            silence: Duration::from_secs(5),
            acknowledge: Duration::from_millis(100),
            redial: Duration::from_millis(20),
            redial_max: Duration::from_millis(500),
            stop: Duration::from_secs(5),
        }
    }
}

/// Error for limits that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLimits(&'static str);

impl Limits {
    /// Checks that the limits are consistent.
    pub fn validate(&self) -> Result<(), InvalidLimits> {
        let problems = [
            (self.message == 0, "the largest message must not be empty"),
            (
                self.message > u32::MAX as usize / 2,
                "the largest message must be smaller than 2 GiB",
            ),
            (
                self.queue < self.message.saturating_add(MESSAGE_OVERHEAD),
                "the queue of a peer must have room for the largest message",
            ),
            (self.queue > u32::MAX as usize, "the queue of a peer must be smaller than 4 GiB"),
            (self.events == 0, "the owner's queue must have room for an event"),
            (self.handshakes == 0, "there must be room for a handshake"),
            (
                self.silence <= self.ping,
                "the silence timeout must be longer than the interval between pings",
            ),
            (self.redial.is_zero(), "the pause before redialling must not be zero"),
        ];
        match problems.iter().find(|(wrong, _)| *wrong) {
            Some((_, why)) => Err(InvalidLimits(why)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_make_sense() {
        assert_eq!(Limits::default().validate(), Ok(()));
    }

    #[test]
    fn a_queue_must_hold_the_largest_message() {
        let limits = Limits { queue: 100, message: 100, ..Limits::default() };
        let why = limits.validate().expect_err("no room").to_string();
        assert_eq!(why, "the queue of a peer must have room for the largest message");
    }

    #[test]
    fn every_limit_is_checked_at_its_bound() {
        const MESSAGE_MOST: usize = u32::MAX as usize / 2;
        let largest = Limits { queue: u32::MAX as usize, ..Limits::default() };
        let valid = [
            Limits { message: MESSAGE_MOST, ..largest.clone() },
            Limits { message: 1, queue: 1 + MESSAGE_OVERHEAD, ..Limits::default() },
            Limits { silence: Duration::from_millis(2001), ..Limits::default() },
        ];
        for limits in valid {
            assert_eq!(limits.validate(), Ok(()));
        }
        let invalid = [
            (Limits { message: 0, ..Limits::default() }, "must not be empty"),
            (Limits { message: MESSAGE_MOST + 1, ..largest.clone() }, "smaller than 2 GiB"),
            (Limits { queue: largest.queue + 1, ..largest }, "smaller than 4 GiB"),
            (Limits { events: 0, ..Limits::default() }, "room for an event"),
            (Limits { handshakes: 0, ..Limits::default() }, "room for a handshake"),
            (Limits { silence: Limits::default().ping, ..Limits::default() }, "longer than"),
            (Limits { redial: Duration::ZERO, ..Limits::default() }, "must not be zero"),
        ];
        for (limits, expected) in invalid {
            let why = limits.validate().expect_err(expected).to_string();
            assert!(why.contains(expected), "{why}");
        }
    }
}
