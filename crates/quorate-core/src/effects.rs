//! What a process may want from the world, in the order in which it wanted it.

use alloc::vec::{self, Vec};

use crate::{Belief, Process, ProcessId, ProcessSet, Span, Time};

/// One thing that a process wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<P: Process> {
    /// A message to one process, itself perhaps.
    Send {
        /// To whom.
        to: ProcessId,
        /// What.
        message: P::Message,
    },
    /// The same message to several, one send after the other in ascending order.
    Multicast {
        /// To whom.
        to: Recipients,
        /// What.
        message: P::Message,
    },
    /// Tell me when so much of my own time has passed. Replaces an equal timer that is running.
    SetTimer {
        /// Its name.
        timer: P::Timer,
        /// How long.
        after: Span,
    },
    /// Forget this timer, if it is running.
    CancelTimer(P::Timer),
    /// Tell me when the current synchronous round is over.
    AwaitRound,
    /// Something for the user.
    Output(P::Output),
    /// The detector below has changed its mind: for whoever watches, since only the process itself acts on it.
    Believed(Belief),
    /// An input was ignored, and why.
    Ignored(&'static str),
}

impl<P: Process> Effect<P> {
    /// The same for a process of which this one is a part; an output is for the whole to deal with.
    pub fn embed<W: Process>(
        self,
        message_of: impl FnOnce(P::Message) -> W::Message,
        timer_of: impl FnOnce(P::Timer) -> W::Timer,
    ) -> Result<Effect<W>, P::Output> {
        Ok(match self {
            Self::Send { to, message } => Effect::Send { to, message: message_of(message) },
            Self::Multicast { to, message } => {
                Effect::Multicast { to, message: message_of(message) }
            }
            Self::SetTimer { timer, after } => Effect::SetTimer { timer: timer_of(timer), after },
            Self::CancelTimer(timer) => Effect::CancelTimer(timer_of(timer)),
            Self::AwaitRound => Effect::AwaitRound,
            Self::Believed(belief) => Effect::Believed(belief),
            Self::Ignored(why) => Effect::Ignored(why),
            Self::Output(output) => return Err(output),
        })
    }
}

/// Whom a multicast goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipients {
    /// Every process but the sender.
    Others,
    /// These.
    Set(ProcessSet),
}

impl Recipients {
    /// They one by one, in ascending order, if this one of n processes sends.
    #[inline]
    pub fn among(&self, n: usize, sender: ProcessId) -> impl Iterator<Item = ProcessId> + '_ {
        let (mut others, mut members) = match self {
            Self::Others => (0..n, None),
            Self::Set(set) => (0..0, Some(set.iter())),
        };
        core::iter::from_fn(move || match &mut members {
            Some(members) => members.next(),
            None => others.by_ref().map(ProcessId::from_index).find(|other| *other != sender),
        })
    }
}

/// The buffer into which a process puts what it wants. Drivers keep one and drain it after each input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects<P: Process> {
    now: Time,
    effects: Vec<Effect<P>>,
}

impl<P: Process> Effects<P> {
    /// An empty buffer for an input at this moment of the process's own clock.
    pub fn new(now: Time) -> Self {
        Self { now, effects: Vec::new() }
    }

    /// What the process's own clock shows. It may be wrong, like any clock of one machine.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Sends a message.
    #[inline]
    pub fn send(&mut self, to: ProcessId, message: P::Message) {
        // By far the most common effect: with room to spare it is written straight into its place.
        if self.effects.len() < self.effects.capacity() {
            self.effects.push(Effect::Send { to, message });
        } else {
            self.push(Effect::Send { to, message });
        }
    }

    /// Sends a message to every other process.
    pub fn send_to_others(&mut self, message: P::Message) {
        self.push(Effect::Multicast { to: Recipients::Others, message });
    }

    /// Sends a message to each of these.
    pub fn multicast(&mut self, to: ProcessSet, message: P::Message) {
        self.push(Effect::Multicast { to: Recipients::Set(to), message });
    }

    /// Starts a timer, or starts it again.
    pub fn set_timer(&mut self, timer: P::Timer, after: Span) {
        self.push(Effect::SetTimer { timer, after });
    }

    /// Stops a timer.
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.push(Effect::CancelTimer(timer));
    }

    /// Asks to be told when the current round is over.
    pub fn await_round(&mut self) {
        self.push(Effect::AwaitRound);
    }

    /// Tells the user.
    pub fn output(&mut self, output: P::Output) {
        self.push(Effect::Output(output));
    }

    /// Says that an input was not acted on, for the trace.
    pub fn ignored(&mut self, why: &'static str) {
        self.push(Effect::Ignored(why));
    }

    /// Adds any effect.
    #[inline(never)]
    pub fn push(&mut self, effect: Effect<P>) {
        self.effects.push(effect);
    }

    /// What is wanted so far.
    pub fn as_slice(&self) -> &[Effect<P>] {
        &self.effects
    }

    /// Whether nothing is wanted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// Takes everything out, in order, and keeps the memory.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect<P>> + '_ {
        self.effects.drain(..)
    }

    /// The driver's clock for the next input.
    pub const fn set_now(&mut self, now: Time) {
        self.now = now;
    }
}

impl<P: Process> Default for Effects<P> {
    fn default() -> Self {
        Self::new(Time::ZERO)
    }
}

impl<P: Process> IntoIterator for Effects<P> {
    type Item = Effect<P>;
    type IntoIter = vec::IntoIter<Effect<P>>;
    fn into_iter(self) -> Self::IntoIter {
        self.effects.into_iter()
    }
}
