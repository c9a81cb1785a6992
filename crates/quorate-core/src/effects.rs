//! The effects that a process requests from its driver, in order.

use alloc::boxed::Box;
use alloc::vec::{self, Vec};
use core::any::Any;
use core::fmt;

use crate::{Belief, Process, ProcessId, ProcessSet, Span, Time};

/// A single request of a process to its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<P: Process> {
    /// Sends a message to one process, which may be the sender itself.
    Send {
        /// The recipient of the message.
        to: ProcessId,
        /// The message to send.
        message: P::Message,
    },
    /// Sends the same message to several processes, one after another in ascending order.
    Multicast {
        /// The recipients of the message.
        to: Recipients,
        /// The message to send.
        message: P::Message,
    },
    /// Starts a timer that fires when `after` has passed on the process's own clock. Replaces an equal
    /// timer that is running.
    SetTimer {
        /// The timer, which also identifies it.
        timer: P::Timer,
        /// Time until the timer fires.
        after: Span,
    },
    /// Cancels this timer if it is running.
    CancelTimer(P::Timer),
    /// Requests a notification when the current synchronous round has ended.
    AwaitRound,
    /// Reports an output to the user.
    Output(P::Output),
    /// Reports that the detector below has changed its belief. This is for observers only; the process itself acts on it.
    Believed(Belief),
    /// Reports that an input was ignored, with the reason.
    Ignored(&'static str),
}

impl<P: Process> Effect<P> {
    /// Converts the effect into one of a process `W` that contains `P`. An output is returned as the error, because
    /// `W` handles it itself.
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

/// The recipients of a multicast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipients {
    /// Every process except the sender.
    Others,
    /// The members of this set.
    Set(ProcessSet),
}

impl Recipients {
    /// Iterates over the recipients in ascending order, given n processes and the sender.
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

/// The buffer into which a process writes its effects. Drivers keep one and drain it after each input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects<P: Process> {
    now: Time,
    effects: Vec<Effect<P>>,
    spare: Spare,
}

impl<P: Process> Effects<P> {
    /// An empty buffer for an input that arrives at this time of the process's own clock.
    pub fn new(now: Time) -> Self {
        Self { now, effects: Vec::new(), spare: Spare(None) }
    }

    /// An empty buffer for a process inside of this one. It takes the spare buffer along; see [`Self::end_nested`].
    pub(crate) fn begin_nested<Q: Process>(&mut self) -> Effects<Q> {
        Effects { now: self.now, effects: Vec::new(), spare: Spare(self.spare.0.take()) }
    }

    /// Takes the spare buffer back.
    pub(crate) fn end_nested<Q: Process>(&mut self, nested: &mut Effects<Q>) {
        self.spare.0 = nested.spare.0.take();
    }

    /// An empty buffer for the process inside of a type-erased one: the one of the last input, if there was one.
    pub(crate) fn take_spare<Q: Process + 'static>(&mut self) -> Box<Effects<Q>> {
        let spare: Option<Box<dyn Any>> = self.spare.0.take().map(|spare| spare as _);
        let mut buffer: Box<Effects<Q>> =
            spare.and_then(|spare| spare.downcast().ok()).unwrap_or_default();
        buffer.now = self.now;
        buffer
    }

    /// Keeps an empty buffer for the next input.
    pub(crate) fn keep_spare<Q: Process + 'static>(&mut self, buffer: Box<Effects<Q>>) {
        self.spare.0 = Some(buffer);
    }

    /// The present time of the process's own clock. It may be wrong, like the clock of any machine.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Sends a message to one process.
    #[inline]
    pub fn send(&mut self, to: ProcessId, message: P::Message) {
        // This is by far the most common effect. With spare capacity it is written straight into the buffer.
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

    /// Sends a message to each process in the set.
    pub fn multicast(&mut self, to: ProcessSet, message: P::Message) {
        self.push(Effect::Multicast { to: Recipients::Set(to), message });
    }

    /// Starts a timer, or restarts it if it is running.
    pub fn set_timer(&mut self, timer: P::Timer, after: Span) {
        self.push(Effect::SetTimer { timer, after });
    }

    /// Cancels a timer if it is running.
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.push(Effect::CancelTimer(timer));
    }

    /// Requests a notification when the current round has ended.
    pub fn await_round(&mut self) {
        self.push(Effect::AwaitRound);
    }

    /// Reports an output to the user.
    pub fn output(&mut self, output: P::Output) {
        self.push(Effect::Output(output));
    }

    /// Records in the trace that an input was not acted on.
    pub fn ignored(&mut self, why: &'static str) {
        self.push(Effect::Ignored(why));
    }

    /// Appends an effect of any kind.
    #[inline(never)]
    pub fn push(&mut self, effect: Effect<P>) {
        self.effects.push(effect);
    }

    /// Appends an effect where it is worth more code than a call.
    #[inline]
    pub(crate) fn push_inlined(&mut self, effect: Effect<P>) {
        self.effects.push(effect);
    }

    /// The effects requested so far.
    pub fn as_slice(&self) -> &[Effect<P>] {
        &self.effects
    }

    /// Returns `true` if no effect was requested.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// Removes all effects, in order, and keeps the allocated memory.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect<P>> + '_ {
        self.effects.drain(..)
    }

    /// Passes each effect on, in order, and keeps the allocated memory. This is compiled for every type-erased process, and
    /// is less code than `drain`.
    pub(crate) fn for_each(&mut self, mut pass_on: impl FnMut(Effect<P>)) {
        for effect in &mut self.effects {
            pass_on(core::mem::replace(effect, Effect::AwaitRound));
        }
        self.effects.clear();
    }

    /// Sets the time of the process's own clock for the next input.
    pub const fn set_now(&mut self, now: Time) {
        self.now = now;
    }
}

/// The buffer of a type-erased process between two inputs, so that it is not allocated for each input. It is always empty
/// and therefore neither compared nor copied.
struct Spare(Option<Box<dyn Any + Send + Sync>>);

impl Clone for Spare {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl PartialEq for Spare {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Spare {}

impl fmt::Debug for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spare")
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
