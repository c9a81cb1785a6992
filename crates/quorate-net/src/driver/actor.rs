//! A process with its messages as bytes: what a driver needs to know of it.

use std::task::{Context, Poll};

use bytes::Bytes;
use quorate_core::{Belief, ProcessId, Time};

/// What an actor wants to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    pub(super) sends: Vec<(ProcessId, Bytes)>,
}

impl Outbox {
    /// Sends a message to another process.
    pub fn send(&mut self, to: ProcessId, payload: Bytes) {
        self.sends.push((to, payload));
    }
}

/// Something that a driver drives. Times are counted from the start.
pub trait Actor {
    /// It starts.
    fn start(&mut self, now: Time, out: &mut Outbox);

    /// A message has arrived. Bytes that make no sense are to be ignored.
    fn on_message(&mut self, now: Time, from: ProcessId, payload: &[u8], out: &mut Outbox);

    /// When something of its own is due next: a timer, or a message to itself.
    fn next_due(&self) -> Option<Time>;

    /// Does one thing that is due.
    fn on_due(&mut self, now: Time, out: &mut Outbox);

    /// The driver's detector has changed its mind.
    fn on_belief(&mut self, now: Time, belief: Belief, out: &mut Outbox);

    /// Takes one thing that its user asks, when there is one; false when nobody can ask any more.
    fn poll_command(
        &mut self,
        context: &mut Context<'_>,
        now: Time,
        out: &mut Outbox,
    ) -> Poll<bool> {
        let _ = (context, now, out);
        Poll::Pending
    }

    /// Whether its user has so much to read that nothing new should be taken.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether it wants no more.
    fn has_finished(&self) -> bool {
        false
    }
}
