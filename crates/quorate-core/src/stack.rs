//! Composition: a process on top of a process is a process.
//!
//! Examples are a mutex over a failure detector, or an agreement over a multicast. Each layer has its own messages and
//! timers and does not depend on the internals of the other layer. The upper layer receives the outputs of the lower
//! one. Outputs of the upper layer go to the user or, if [`UpperLayer::route`] decides so, down as a command. Every
//! message stays marked with its layer and is counted there.

use core::fmt::Debug;
use core::hash::Hash;

use crate::detector::Detector;
use crate::{Belief, Effect, Effects, Kind, Message, Permission, Process, ProcessId, ProcessSet};

/// A process that can run on top of another process.
pub trait UpperLayer<L: Process>: Process {
    /// The outputs of the whole stack to its user: the upper layer's outputs, without those that are routed down.
    type Up: Clone + Eq + Hash + Debug + Send + Sync;

    /// Handles an output of the layer below.
    fn on_lower_output(&mut self, output: L::Output, out: &mut Effects<Self>);

    /// Decides whether an output goes to the user, or down as a command.
    fn route(output: Self::Output) -> Route<Self::Up, L::Command>;
}

/// The destination of an output of an upper layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route<O, C> {
    /// The output goes to the user.
    Up(O),
    /// The output goes to the layer below, as a command.
    Down(C),
}

/// Every process receives the beliefs of a detector below it in the same way as those of its driver's detector.
impl<U: Process, D: Detector> UpperLayer<D> for U {
    type Up = U::Output;

    fn on_lower_output(&mut self, belief: Belief, out: &mut Effects<Self>) {
        out.push(Effect::Believed(belief));
        self.on_belief(belief, out);
    }

    fn route(output: U::Output) -> Route<U::Output, D::Command> {
        Route::Up(output)
    }
}

/// A message or timer of one of two layers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Layered<U, L> {
    /// Belongs to the upper layer.
    Upper(U),
    /// Belongs to the lower layer.
    Lower(L),
}

/// An upper process on top of a lower one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stack<U, L> {
    upper: U,
    lower: L,
}

impl<U: UpperLayer<L>, L: Process> Stack<U, L> {
    /// Creates a stack of two processes.
    pub const fn new(upper: U, lower: L) -> Self {
        Self { upper, lower }
    }

    /// The upper layer of the stack.
    pub const fn upper(&self) -> &U {
        &self.upper
    }

    /// The lower layer of the stack.
    pub const fn lower(&self) -> &L {
        &self.lower
    }

    fn with_upper<R>(
        &mut self,
        out: &mut Effects<Self>,
        step: impl FnOnce(&mut U, &mut Effects<U>) -> R,
    ) -> R {
        let mut effects = out.begin_nested();
        let result = step(&mut self.upper, &mut effects);
        out.end_nested(&mut effects);
        self.apply_upper_effects(effects, out);
        result
    }

    fn with_lower<R>(
        &mut self,
        out: &mut Effects<Self>,
        step: impl FnOnce(&mut L, &mut Effects<L>) -> R,
    ) -> R {
        let mut effects = Effects::new(out.now());
        let result = step(&mut self.lower, &mut effects);
        self.apply_lower_effects(effects, out);
        result
    }

    /// Applies the effects of the upper layer. It is not inlined, because it is the same for every input of the layer.
    #[inline(never)]
    fn apply_upper_effects(&mut self, effects: Effects<U>, out: &mut Effects<Self>) {
        for effect in effects {
            match effect.embed(Layered::Upper, Layered::Upper) {
                Ok(effect) => out.push(effect),
                Err(output) => match U::route(output) {
                    Route::Up(output) => out.output(output),
                    Route::Down(command) => self.command_lower(command, out),
                },
            }
        }
    }

    fn command_lower(&mut self, command: L::Command, out: &mut Effects<Self>) {
        if self.with_lower(out, |lower, out| lower.on_command(command, out)).is_err() {
            out.ignored("the layer below refused a command");
        }
    }

    /// Applies the effects of the lower layer.
    #[inline(never)]
    fn apply_lower_effects(&mut self, effects: Effects<L>, out: &mut Effects<Self>) {
        for effect in effects {
            match effect.embed(Layered::Lower, Layered::Lower) {
                Ok(effect) => out.push(effect),
                Err(output) => {
                    self.with_upper(out, |upper, out| upper.on_lower_output(output, out))
                }
            }
        }
    }
}

impl<U: UpperLayer<L>, L: Process> Process for Stack<U, L> {
    type Command = U::Command;
    type Message = Layered<U::Message, L::Message>;
    type Timer = Layered<U::Timer, L::Timer>;
    type Output = U::Up;
    type Misuse = U::Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.with_lower(out, L::on_start);
        self.with_upper(out, U::on_start);
    }

    fn on_command(
        &mut self,
        command: U::Command,
        out: &mut Effects<Self>,
    ) -> Result<(), U::Misuse> {
        self.with_upper(out, |upper, out| upper.on_command(command, out))
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, out: &mut Effects<Self>) {
        match message {
            Layered::Upper(message) => {
                self.with_upper(out, |upper, out| upper.on_message(from, message, out))
            }
            Layered::Lower(message) => {
                self.with_lower(out, |lower, out| lower.on_message(from, message, out))
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, out: &mut Effects<Self>) {
        match timer {
            Layered::Upper(timer) => self.with_upper(out, |upper, out| upper.on_timer(timer, out)),
            Layered::Lower(timer) => self.with_lower(out, |lower, out| lower.on_timer(timer, out)),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.with_lower(out, |lower, out| lower.on_belief(belief, out));
        self.with_upper(out, |upper, out| upper.on_belief(belief, out));
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.with_lower(out, |lower, out| lower.on_round_end(round, out));
        self.with_upper(out, |upper, out| upper.on_round_end(round, out));
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        // The upper layer recovers first. When the detector below reports its suspicions again, it already knows
        // that it was down.
        self.with_upper(out, U::on_recovery);
        self.with_lower(out, L::on_recovery);
    }

    fn forge(&self, message: &Self::Message, choice: u64) -> Self::Message {
        match message {
            Layered::Upper(message) => Layered::Upper(self.upper.forge(message, choice)),
            Layered::Lower(message) => Layered::Lower(self.lower.forge(message, choice)),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        self.upper.waits_for()
    }

    fn permission(&self) -> Permission {
        self.upper.permission()
    }
}

impl<U: Message, L: Message> Message for Layered<U, L> {
    const KINDS: &'static [Kind] = Joined::<U, L>::KINDS;

    fn kind(&self) -> usize {
        match self {
            Self::Upper(message) => message.kind(),
            Self::Lower(message) => U::KINDS.len() + message.kind(),
        }
    }

    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Upper(message) => message.bytes(),
            Self::Lower(message) => message.bytes(),
        }
    }

    fn stamp(&self) -> Option<u64> {
        match self {
            Self::Upper(message) => message.stamp(),
            Self::Lower(message) => message.stamp(),
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Upper(message) => Self::Upper(message.forged(choice)),
            Self::Lower(message) => Self::Lower(message.forged(choice)),
        }
    }
}

/// Maximum number of kinds in a stack. A stack with more kinds does not compile.
const KINDS_MAX: usize = 64;

/// The kinds of the upper layer followed by those of the lower layer, concatenated at compile time.
struct Joined<U, L>(core::marker::PhantomData<(U, L)>);

impl<U: Message, L: Message> Joined<U, L> {
    const TABLE: [Kind; KINDS_MAX] = {
        // A layer may have no kinds at all. Unused entries are cut off below.
        let mut table = [Kind::view(""); KINDS_MAX];
        let mut next = 0;
        while next < U::KINDS.len() + L::KINDS.len() {
            table[next] = if next < U::KINDS.len() {
                U::KINDS[next]
            } else {
                L::KINDS[next - U::KINDS.len()]
            };
            next += 1;
        }
        table
    };
    const KINDS: &'static [Kind] = Self::TABLE.split_at(U::KINDS.len() + L::KINDS.len()).0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, Time};
    use core::convert::Infallible;
    use std::vec::Vec;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Word(&'static str);

    impl Message for Word {
        const KINDS: &'static [Kind] = &[Kind::mutex("WORD")];
        fn kind(&self) -> usize {
            0
        }
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Beat;

    impl Message for Beat {
        const KINDS: &'static [Kind] = &[Kind::detector("BEAT")];
        fn kind(&self) -> usize {
            0
        }
    }

    /// Suspects process 1 when its timer fires.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Watcher;

    impl Detector for Watcher {
        fn round(&self) -> Span {
            Span(5)
        }
    }

    impl Process for Watcher {
        type Command = Infallible;
        type Message = Beat;
        type Timer = ();
        type Output = Belief;
        type Misuse = Infallible;

        fn on_start(&mut self, out: &mut Effects<Self>) {
            out.send_to_others(Beat);
            out.set_timer((), Span(5));
        }
        fn on_command(
            &mut self,
            command: Infallible,
            _: &mut Effects<Self>,
        ) -> Result<(), Infallible> {
            match command {}
        }
        fn on_message(&mut self, _: ProcessId, _: Beat, _: &mut Effects<Self>) {}
        fn on_timer(&mut self, (): (), out: &mut Effects<Self>) {
            out.output(Belief::Crashed(ProcessId::new(1)));
        }
    }

    /// Outputs each word to its user and sends goodbye to crashed processes.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Talker;

    impl Process for Talker {
        type Command = &'static str;
        type Message = Word;
        type Timer = Infallible;
        type Output = &'static str;
        type Misuse = Infallible;

        fn on_command(
            &mut self,
            word: &'static str,
            out: &mut Effects<Self>,
        ) -> Result<(), Infallible> {
            out.send_to_others(Word(word));
            Ok(())
        }
        fn on_message(&mut self, _: ProcessId, Word(word): Word, out: &mut Effects<Self>) {
            out.output(word);
        }
        fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
            out.send(belief.about(), Word("goodbye"));
        }
    }

    /// A layer that is not a detector. It adds an exclamation mark to the command `hey`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Shouter;

    impl Process for Shouter {
        type Command = &'static str;
        type Message = Word;
        type Timer = Infallible;
        type Output = &'static str;
        type Misuse = Infallible;

        fn on_command(
            &mut self,
            word: &'static str,
            out: &mut Effects<Self>,
        ) -> Result<(), Infallible> {
            out.output(if word == "hey" { "hey!" } else { "what?" });
            Ok(())
        }
        fn on_message(&mut self, _: ProcessId, _: Word, _: &mut Effects<Self>) {}
    }

    impl UpperLayer<Shouter> for Talker {
        type Up = &'static str;

        fn on_lower_output(&mut self, word: &'static str, out: &mut Effects<Self>) {
            out.output(word);
        }
        fn route(output: &'static str) -> Route<&'static str, &'static str> {
            if output.ends_with('!') { Route::Up(output) } else { Route::Down(output) }
        }
    }

    fn effects_of<P: Process>(step: impl FnOnce(&mut Effects<P>)) -> Vec<Effect<P>> {
        let mut out = Effects::new(Time::ZERO);
        step(&mut out);
        out.into_iter().collect()
    }

    #[test]
    fn the_upper_layer_hears_the_detector_below_it() {
        let mut stack = Stack::new(Talker, Watcher);
        let effects = effects_of(|out| stack.on_timer(Layered::Lower(()), out));
        let goodbye =
            Effect::Send { to: ProcessId::new(1), message: Layered::Upper(Word("goodbye")) };
        assert_eq!(effects, [Effect::Believed(Belief::Crashed(ProcessId::new(1))), goodbye]);
    }

    #[test]
    fn each_layer_keeps_its_own_messages_and_timers() {
        let mut stack = Stack::new(Talker, Watcher);
        let effects = effects_of(|out| stack.on_start(out));
        assert!(matches!(&effects[0], Effect::Multicast { message: Layered::Lower(Beat), .. }));
        assert!(matches!(
            &effects[1],
            Effect::SetTimer { timer: Layered::Lower(()), after: Span(5) }
        ));
    }

    #[test]
    fn kinds_of_a_stack_are_those_of_its_layers() {
        type Both = Layered<Word, Layered<Beat, Word>>;
        let names: Vec<_> = Both::KINDS.iter().map(|kind| (kind.layer.name(), kind.name)).collect();
        assert_eq!(names, [("mutex", "WORD"), ("detector", "BEAT"), ("mutex", "WORD")]);
        assert_eq!(Both::Upper(Word("")).kind(), 0);
        assert_eq!(Both::Lower(Layered::Upper(Beat)).kind(), 1);
        assert_eq!(Both::Lower(Layered::Lower(Word(""))).kind(), 2);
    }

    #[test]
    fn an_output_may_go_down_as_a_command_and_come_back() {
        let mut stack = Stack::new(Talker, Shouter);
        let effects =
            effects_of(|out| stack.on_message(ProcessId::new(0), Layered::Upper(Word("hey")), out));
        assert_eq!(effects, [Effect::Output("hey!")]);
    }
}
