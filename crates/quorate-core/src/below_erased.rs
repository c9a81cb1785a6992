//! The lower layer of a stack whose upper layer is type-erased.
//!
//! The kinds of message of a [`Stack`](crate::Stack) are those of the upper layer, then those of the lower one. The type
//! of a type-erased message does not know its kinds, so each message of the lower layer carries their number.

use core::fmt::{self, Debug};

use crate::detector::Detector;
use crate::{
    Belief, Effect, Effects, Kind, Message, Permission, Process, ProcessId, ProcessSet, Span,
};

/// A process below a type-erased one. It behaves and is shown like the process inside.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BelowErased<L> {
    process: L,
    /// Number of kinds of message of the layer above.
    kinds_above: u8,
}

/// A message of a process below a type-erased one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BelowErasedMessage<M> {
    /// The message of the process inside.
    pub message: M,
    /// Number of kinds of message of the layer above.
    kinds_above: u8,
}

impl<M> BelowErasedMessage<M> {
    /// A message of a process below a type-erased one whose messages are of these kinds.
    pub const fn new(message: M, above: &[Kind]) -> Self {
        Self { message, kinds_above: above.len() as u8 }
    }
}

impl<L: Process> BelowErased<L> {
    /// Puts a process below a type-erased one whose messages are of these kinds.
    pub const fn new(process: L, above: &[Kind]) -> Self {
        Self { process, kinds_above: above.len() as u8 }
    }

    fn with_inner(&mut self, out: &mut Effects<Self>, step: impl FnOnce(&mut L, &mut Effects<L>)) {
        let mut effects = Effects::new(out.now());
        step(&mut self.process, &mut effects);
        self.apply_effects(effects, out);
    }

    /// Not inlined, because it is the same for every input.
    #[inline(never)]
    fn apply_effects(&self, effects: Effects<L>, out: &mut Effects<Self>) {
        let kinds_above = self.kinds_above;
        for effect in effects {
            let effect =
                effect.embed(|message| BelowErasedMessage { message, kinds_above }, |timer| timer);
            out.push(effect.unwrap_or_else(Effect::Output));
        }
    }
}

impl<L: Process> Process for BelowErased<L> {
    type Command = L::Command;
    type Message = BelowErasedMessage<L::Message>;
    type Timer = L::Timer;
    type Output = L::Output;
    type Misuse = L::Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.with_inner(out, L::on_start);
    }

    fn on_command(
        &mut self,
        command: L::Command,
        out: &mut Effects<Self>,
    ) -> Result<(), L::Misuse> {
        let mut accepted = Ok(());
        self.with_inner(out, |process, out| accepted = process.on_command(command, out));
        accepted
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, out: &mut Effects<Self>) {
        self.with_inner(out, |process, out| process.on_message(from, message.message, out));
    }

    fn on_timer(&mut self, timer: L::Timer, out: &mut Effects<Self>) {
        self.with_inner(out, |process, out| process.on_timer(timer, out));
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.with_inner(out, |process, out| process.on_belief(belief, out));
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.with_inner(out, |process, out| process.on_round_end(round, out));
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.with_inner(out, L::on_recovery);
    }

    fn forge(&self, message: &Self::Message, choice: u64) -> Self::Message {
        let kinds_above = message.kinds_above;
        BelowErasedMessage { message: self.process.forge(&message.message, choice), kinds_above }
    }

    fn waits_for(&self) -> ProcessSet {
        self.process.waits_for()
    }

    fn permission(&self) -> Permission {
        self.process.permission()
    }
}

impl<L: Detector> Detector for BelowErased<L> {
    fn round(&self) -> Span {
        self.process.round()
    }
}

impl<M: Message> Message for BelowErasedMessage<M> {
    const KINDS: &'static [Kind] = M::KINDS;

    fn kind(&self) -> usize {
        usize::from(self.kinds_above) + self.message.kind()
    }

    fn bytes(&self) -> Option<u64> {
        self.message.bytes()
    }

    fn stamp(&self) -> Option<u64> {
        self.message.stamp()
    }

    fn forged(&self, choice: u64) -> Self {
        Self { message: self.message.forged(choice), kinds_above: self.kinds_above }
    }
}

impl<L: Debug> Debug for BelowErased<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.process.fmt(f)
    }
}

impl<M: Debug> Debug for BelowErasedMessage<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layered, NoMessage, Time};
    use std::convert::Infallible;
    use std::format;
    use std::vec::Vec;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Beat;

    impl Message for Beat {
        const KINDS: &'static [Kind] = &[Kind::detector("BEAT")];
        fn kind(&self) -> usize {
            0
        }
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Beating;

    impl Process for Beating {
        type Command = Infallible;
        type Message = Beat;
        type Timer = Infallible;
        type Output = Belief;
        type Misuse = Infallible;

        fn on_start(&mut self, out: &mut Effects<Self>) {
            out.send_to_others(Beat);
        }
        fn on_command(
            &mut self,
            command: Infallible,
            _: &mut Effects<Self>,
        ) -> Result<(), Infallible> {
            match command {}
        }
        fn on_message(&mut self, from: ProcessId, _: Beat, out: &mut Effects<Self>) {
            out.output(Belief::Alive(from));
        }
    }

    #[test]
    fn only_the_kinds_of_its_messages_are_shifted() {
        let mut below = BelowErased::new(Beating, &[Kind::mutex("REQUEST"), Kind::mutex("REPLY")]);
        let mut out = Effects::new(Time::ZERO);
        below.on_start(&mut out);
        let effects: Vec<_> = out.drain().collect();
        let [Effect::Multicast { message, .. }] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!(message.kind(), 2);
        assert_eq!(Layered::<NoMessage, _>::Lower(message.clone()).kind(), 2);
        assert_eq!(format!("{below:?} {message:?}"), "Beating Beat");
        below.on_message(ProcessId::new(1), message.clone(), &mut out);
        assert_eq!(out.as_slice(), [Effect::Output(Belief::Alive(ProcessId::new(1)))]);
    }
}
