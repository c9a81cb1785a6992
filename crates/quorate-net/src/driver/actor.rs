//! A process whose messages are bytes: the interface between a driver and a process.

use std::task::{Context, Poll};

use bytes::Bytes;
use quorate_core::{Belief, ProcessId, Time};

/// Messages that an actor sends.
#[derive(Debug, Default)]
pub struct Outbox {
    pub(super) sends: Vec<(ProcessId, Bytes)>,
}

impl Outbox {
    /// Queues a message to another process.
    pub fn send(&mut self, to: ProcessId, payload: Bytes) {
        self.sends.push((to, payload));
    }
}

/// A process that a driver runs. Times are counted from the start of the driver.
pub trait Actor {
    /// Starts the actor. Called once.
    fn start(&mut self, now: Time, out: &mut Outbox);

    /// Handles a message. Bytes that cannot be decoded are to be ignored.
    fn on_message(&mut self, now: Time, from: ProcessId, payload: &[u8], out: &mut Outbox);

    /// When the next timer or message to itself is due.
    fn next_due(&self) -> Option<Time>;

    /// Handles one timer or message to itself that is due.
    fn on_due(&mut self, now: Time, out: &mut Outbox);

    /// Handles a change of the driver's failure detector.
    fn on_belief(&mut self, now: Time, belief: Belief, out: &mut Outbox);

    /// Handles one command of the user, once there is one. Returns false when no further commands can arrive.
    fn poll_command(
        &mut self,
        context: &mut Context<'_>,
        now: Time,
        out: &mut Outbox,
    ) -> Poll<bool> {
        let _ = (context, now, out);
        Poll::Pending
    }

    /// Whether the output queue is full, so that nothing new should be processed.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether the actor has finished, which ends the driver.
    fn has_finished(&self) -> bool {
        false
    }
}
