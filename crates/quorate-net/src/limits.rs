//! Every bound of the network in one place: what a peer may cost us, and how long we wait for it.

use std::time::Duration;

/// What each queued message counts beside its bytes, so that empty messages fill a queue as well.
pub const MESSAGE_OVERHEAD: usize = 64;

/// How much of everything there may be. The defaults suit a handful of machines in one data centre.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest message, in bytes.
    pub message: usize,
    /// How many bytes may wait for one peer, sent but not acknowledged ones included; each message counts
    /// [`MESSAGE_OVERHEAD`] more.
    pub queue: usize,
    /// How many events may wait for the owner. If there are more, peers are not read until the owner has caught up.
    pub events: usize,
    /// How many connections may be in the middle of a handshake; one more is closed unread.
    pub handshakes: usize,
    /// How long connecting, TLS and handshake may take together.
    pub handshake: Duration,
    /// How long nothing may be sent before a sign of life is.
    pub ping: Duration,
    /// How long nothing may be heard before a connection counts as lost.
    pub silence: Duration,
    /// How long an acknowledgement may wait for a message to ride on.
    pub acknowledge: Duration,
    /// The first pause before dialling again; each further one is twice as long, with jitter.
    pub redial: Duration,
    /// The longest pause before dialling again.
    pub redial_max: Duration,
    /// How long a stop waits for what is queued to be acknowledged.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 1 << 20,
            queue: 8 << 20,
            events: 4096,
            handshakes: 32,
            handshake: Duration::from_secs(5),
            ping: Duration::from_secs(2),
            silence: Duration::from_secs(5),
            acknowledge: Duration::from_millis(100),
            redial: Duration::from_millis(20),
            redial_max: Duration::from_secs(2),
            stop: Duration::from_secs(5),
        }
    }
}

/// Limits that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLimits(&'static str);

impl Limits {
    /// Whether they make sense together.
    pub fn validate(&self) -> Result<(), InvalidLimits> {
        let problems = [
            (self.message == 0, "the largest message must not be empty"),
            (self.message > u32::MAX as usize / 2, "a message has less than 2 GiB"),
            (
                self.queue < self.message.saturating_add(MESSAGE_OVERHEAD),
                "the queue of a peer must have room for the largest message",
            ),
            (self.queue > u32::MAX as usize, "the queue of a peer has less than 4 GiB"),
            (self.events == 0, "the owner's queue must have room for an event"),
            (self.handshakes == 0, "there must be room for a handshake"),
            (
                self.silence <= self.ping,
                "silence must be longer than the pause between signs of life",
            ),
            (self.redial.is_zero(), "the pause before dialling again must not be zero"),
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
}
