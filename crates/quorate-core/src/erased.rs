//! Type erasure for processes: drivers do not depend on the concrete type of a process.
//!
//! A driver is compiled for each type of process that it drives, which takes long if there are many types. Type erasure
//! turns all processes with the same commands and outputs into one type, so that a driver is compiled once for them. In
//! return every message and timer is a heap pointer.
//!
//! A type-erased process can also be the upper layer of a [`Stack`](crate::Stack). The kinds of message of a stack are
//! those of the upper layer and then those of the lower one, so the lower layer has to know how many are above it:
//! [`BelowErased`].

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::fmt::{self, Debug, Display};
use core::hash::{Hash, Hasher};

use crate::{Belief, Effect, Effects, Kind, Message, Permission, Process, ProcessId, ProcessSet};

/// A type-erased process with commands `C`, outputs `O` and errors `E`.
pub struct Erased<C: Data, O: Data, E: Reason>(Box<dyn DynProcess<C, O, E>>);

/// A type-erased message. It knows its kind, but its type does not know [`Message::KINDS`]. Code that counts messages
/// by kind needs the kinds from elsewhere.
///
/// A message usually has one receiver, so it is not shared: counting references would take longer than a rare copy.
pub struct ErasedMessage(Box<dyn DynMessage>);

/// A type-erased timer of a process.
#[derive(Clone)]
pub struct ErasedTimer(Arc<dyn DynData>);

impl<C: Data, O: Data, E: Reason> Erased<C, O, E> {
    /// Erases the type of a process.
    pub fn new(process: impl Process<Command = C, Output = O, Misuse = E> + 'static) -> Self {
        Self(Box::new(process))
    }
}

impl ErasedMessage {
    /// Erases the type of a message.
    #[inline]
    pub fn new(message: impl Message + 'static) -> Self {
        Self(Box::new(message))
    }

    /// Returns the message if it is of type `M`.
    pub fn downcast_ref<M: 'static>(&self) -> Option<&M> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    fn downcast_mut<M: 'static>(&mut self) -> Option<&mut M> {
        let any: &mut dyn Any = &mut *self.0;
        any.downcast_mut()
    }
}

/// Bounds on every part of a process: state, commands and outputs.
pub trait Data: Clone + Eq + Hash + Debug + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Debug + Send + Sync + 'static> Data for T {}

/// Bounds on the error with which a process refuses a command.
pub trait Reason: Debug + Display + 'static {}

impl<T: Debug + Display + 'static> Reason for T {}

/// Object-safe counterpart of [`Data`].
trait DynData: Any + Debug + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<T: Data> DynData for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

trait DynMessage: DynData {
    fn clone_message(&self) -> ErasedMessage;
    fn kind(&self) -> usize;
    fn bytes(&self) -> Option<u64>;
    fn stamp(&self) -> Option<u64>;
    fn forged(&self, choice: u64) -> ErasedMessage;
    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64));
    fn renamed(&self, name: Renaming<'_>) -> Option<ErasedMessage>;
}

/// The new name of each process.
type Renaming<'a> = &'a dyn Fn(ProcessId) -> ProcessId;

impl<M: Message + 'static> DynMessage for M {
    fn clone_message(&self) -> ErasedMessage {
        ErasedMessage::new(self.clone())
    }

    fn kind(&self) -> usize {
        Message::kind(self)
    }

    fn bytes(&self) -> Option<u64> {
        Message::bytes(self)
    }

    fn stamp(&self) -> Option<u64> {
        Message::stamp(self)
    }

    fn forged(&self, choice: u64) -> ErasedMessage {
        ErasedMessage::new(Message::forged(self, choice))
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        Message::visit_shift_invariant(self, visit);
    }

    fn renamed(&self, name: Renaming<'_>) -> Option<ErasedMessage> {
        Message::renamed(self, name).map(ErasedMessage::new)
    }
}

type Out<'a, C, O, E> = &'a mut Effects<Erased<C, O, E>>;

/// An input of a process. One method handles all inputs, because each separate method would have to convert the effects.
enum Input<C> {
    Start,
    Command(C),
    Message(ProcessId, ErasedMessage),
    Timer(ErasedTimer),
    Belief(Belief),
    RoundEnd(u64),
    Recovery,
}

trait DynProcess<C: Data, O: Data, E: Reason>: DynData {
    fn clone_box(&self) -> Box<dyn DynProcess<C, O, E>>;
    fn handle(&mut self, input: Input<C>, out: Out<'_, C, O, E>) -> Result<(), E>;
    fn forge(&self, message: &ErasedMessage, choice: u64) -> ErasedMessage;
    fn waits_for(&self) -> ProcessSet;
    fn permission(&self) -> Permission;
    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64));
    fn forget_dead_values(&mut self);
    fn forget_dead_values_of(&self, from: ProcessId, message: &mut ErasedMessage);
    fn greatest_compared(&self) -> Option<u64>;
    fn renamed(&self, name: Renaming<'_>) -> Option<Box<dyn DynProcess<C, O, E>>>;
}

impl<P, C, O, E> DynProcess<C, O, E> for P
where
    P: Process<Command = C, Output = O, Misuse = E> + 'static,
    C: Data,
    O: Data,
    E: Reason,
{
    fn clone_box(&self) -> Box<dyn DynProcess<C, O, E>> {
        Box::new(self.clone())
    }

    fn handle(&mut self, input: Input<C>, out: Out<'_, C, O, E>) -> Result<(), E> {
        let mut effects = out.take_spare::<P>();
        match input {
            Input::Start => self.on_start(&mut effects),
            Input::Command(command) => self.on_command(command, &mut effects)?,
            Input::Message(from, message) => {
                let any: Box<dyn Any> = message.0;
                match any.downcast::<P::Message>() {
                    Ok(message) => self.on_message(from, *message, &mut effects),
                    Err(_) => effects.ignored("a message of another algorithm"),
                }
            }
            Input::Timer(timer) => {
                let any: Arc<dyn Any + Send + Sync> = timer.0;
                if let Ok(timer) = any.downcast::<P::Timer>() {
                    self.on_timer(Arc::unwrap_or_clone(timer), &mut effects);
                }
            }
            Input::Belief(belief) => self.on_belief(belief, &mut effects),
            Input::RoundEnd(round) => self.on_round_end(round, &mut effects),
            Input::Recovery => self.on_recovery(&mut effects),
        }
        effects.for_each(|effect| {
            let erased = effect.embed(ErasedMessage::new, |timer| ErasedTimer(Arc::new(timer)));
            out.push_inlined(erased.unwrap_or_else(Effect::Output));
        });
        out.keep_spare(effects);
        Ok(())
    }

    fn forge(&self, message: &ErasedMessage, choice: u64) -> ErasedMessage {
        match message.downcast_ref() {
            Some(message) => ErasedMessage::new(Process::forge(self, message, choice)),
            None => message.clone(),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        Process::waits_for(self)
    }

    fn permission(&self) -> Permission {
        Process::permission(self)
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        Process::visit_shift_invariant(self, visit);
    }

    fn forget_dead_values(&mut self) {
        Process::forget_dead_values(self);
    }

    fn forget_dead_values_of(&self, from: ProcessId, message: &mut ErasedMessage) {
        if let Some(message) = message.downcast_mut() {
            Process::forget_dead_values_of(self, from, message);
        }
    }

    fn greatest_compared(&self) -> Option<u64> {
        Process::greatest_compared(self)
    }

    fn renamed(&self, name: Renaming<'_>) -> Option<Box<dyn DynProcess<C, O, E>>> {
        Some(Box::new(Process::renamed(self, name)?))
    }
}

impl<C: Data, O: Data, E: Reason> Erased<C, O, E> {
    /// Handles an input that the process cannot refuse.
    fn handle(&mut self, input: Input<C>, out: &mut Effects<Self>) {
        if self.0.handle(input, out).is_err() {
            out.ignored("refused");
        }
    }
}

impl<C: Data, O: Data, E: Reason> Process for Erased<C, O, E> {
    type Command = C;
    type Message = ErasedMessage;
    type Timer = ErasedTimer;
    type Output = O;
    type Misuse = E;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.handle(Input::Start, out);
    }

    fn on_command(&mut self, command: C, out: &mut Effects<Self>) -> Result<(), E> {
        self.0.handle(Input::Command(command), out)
    }

    #[inline]
    fn on_message(&mut self, from: ProcessId, message: ErasedMessage, out: &mut Effects<Self>) {
        self.handle(Input::Message(from, message), out);
    }

    fn on_timer(&mut self, timer: ErasedTimer, out: &mut Effects<Self>) {
        self.handle(Input::Timer(timer), out);
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.handle(Input::Belief(belief), out);
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.handle(Input::RoundEnd(round), out);
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.handle(Input::Recovery, out);
    }

    fn forge(&self, message: &ErasedMessage, choice: u64) -> ErasedMessage {
        self.0.forge(message, choice)
    }

    fn waits_for(&self) -> ProcessSet {
        self.0.waits_for()
    }

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        self.0.visit_shift_invariant(visit);
    }

    fn forget_dead_values(&mut self) {
        self.0.forget_dead_values();
    }

    fn forget_dead_values_of(&self, from: ProcessId, message: &mut ErasedMessage) {
        self.0.forget_dead_values_of(from, message);
    }

    fn greatest_compared(&self) -> Option<u64> {
        self.0.greatest_compared()
    }

    fn renamed(&self, name: Renaming<'_>) -> Option<Self> {
        self.0.renamed(name).map(Self)
    }
}

impl Message for ErasedMessage {
    /// Empty, because the kinds differ from message to message.
    const KINDS: &'static [Kind] = &[];

    #[inline]
    fn kind(&self) -> usize {
        self.0.kind()
    }

    #[inline]
    fn bytes(&self) -> Option<u64> {
        self.0.bytes()
    }

    #[inline]
    fn stamp(&self) -> Option<u64> {
        self.0.stamp()
    }

    fn forged(&self, choice: u64) -> Self {
        self.0.forged(choice)
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        self.0.visit_shift_invariant(visit);
    }

    fn renamed(&self, name: Renaming<'_>) -> Option<Self> {
        self.0.renamed(name)
    }
}

impl Clone for ErasedMessage {
    #[inline]
    fn clone(&self) -> Self {
        self.0.clone_message()
    }
}

impl<C: Data, O: Data, E: Reason> Clone for Erased<C, O, E> {
    fn clone(&self) -> Self {
        Self(self.0.clone_box())
    }
}

/// Compares, hashes and formats a type-erased value like the value inside.
macro_rules! delegate_to_inner {
    ($($erased:ty $(, $parameter:ident: $bound:ident)*;)*) => {$(
        impl<$($parameter: $bound),*> PartialEq for $erased {
            fn eq(&self, other: &Self) -> bool {
                let other: &dyn Any = &*other.0;
                self.0.equals(other)
            }
        }

        impl<$($parameter: $bound),*> Eq for $erased {}

        impl<$($parameter: $bound),*> Hash for $erased {
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                self.0.hash_into(hasher);
            }
        }

        impl<$($parameter: $bound),*> Debug for $erased {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

delegate_to_inner! {
    Erased<C, O, E>, C: Data, O: Data, E: Reason;
    ErasedMessage;
    ErasedTimer;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, Time};
    use std::convert::Infallible;
    use std::format;
    use std::vec::Vec;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Number(u64);

    impl Message for Number {
        const KINDS: &'static [Kind] = &[Kind::mutex("EVEN"), Kind::mutex("ODD")];
        fn kind(&self) -> usize {
            (self.0 % 2) as usize
        }
    }

    /// Adds up the numbers that it receives, and outputs the sum when its timer fires.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Adder(u64);

    impl Process for Adder {
        type Command = u64;
        type Message = Number;
        type Timer = &'static str;
        type Output = u64;
        type Misuse = Infallible;

        fn on_command(&mut self, number: u64, out: &mut Effects<Self>) -> Result<(), Infallible> {
            out.send_to_others(Number(number));
            out.set_timer("wait", Span(5));
            Ok(())
        }
        fn on_message(&mut self, _: ProcessId, Number(number): Number, _: &mut Effects<Self>) {
            self.0 += number;
        }
        fn on_timer(&mut self, _: &'static str, out: &mut Effects<Self>) {
            out.output(self.0);
        }
    }

    type ErasedAdder = Erased<u64, u64, Infallible>;

    fn effects_of(handle: impl FnOnce(&mut Effects<ErasedAdder>)) -> Vec<Effect<ErasedAdder>> {
        let mut out = Effects::new(Time::ZERO);
        handle(&mut out);
        out.into_iter().collect()
    }

    #[test]
    fn an_erased_process_behaves_like_the_original() {
        let mut erased = ErasedAdder::new(Adder(0));
        let effects = effects_of(|out| erased.on_command(3, out).unwrap());
        let [Effect::Multicast { message, .. }, Effect::SetTimer { timer, after: Span(5) }] =
            effects.as_slice()
        else {
            panic!("{effects:?}")
        };
        assert_eq!((Message::kind(message), message.downcast_ref()), (1, Some(&Number(3))));
        assert!(
            effects_of(|out| erased.on_message(ProcessId::new(1), message.clone(), out)).is_empty()
        );
        assert_eq!(effects_of(|out| erased.on_timer(timer.clone(), out)), [Effect::Output(3)]);
    }

    #[test]
    fn erased_values_are_shown_and_compared_like_the_originals() {
        assert_eq!(format!("{:?}", ErasedAdder::new(Adder(7))), "Adder(7)");
        assert_eq!(format!("{:?}", ErasedMessage::new(Number(7))), "Number(7)");
        assert_eq!(ErasedAdder::new(Adder(7)), ErasedAdder::new(Adder(7)).clone());
        assert_ne!(ErasedAdder::new(Adder(7)), ErasedAdder::new(Adder(8)));
        assert_ne!(ErasedMessage::new(Number(7)), ErasedMessage::new(Number(8)));
    }

    #[test]
    fn a_message_of_another_process_is_ignored() {
        let other = ErasedMessage::new(crate::Layered::<Number, Number>::Upper(Number(1)));
        let mut erased = ErasedAdder::new(Adder(0));
        let effects = effects_of(|out| erased.on_message(ProcessId::new(1), other, out));
        assert_eq!(effects, [Effect::Ignored("a message of another algorithm")]);
        assert_eq!(erased, ErasedAdder::new(Adder(0)));
    }
}
