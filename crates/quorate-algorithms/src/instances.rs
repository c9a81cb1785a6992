//! Numbered instances of a process, combined into one process. Example: a sequence of agreements, each
//! with its own messages.
//!
//! An instance starts when the first command, message or timer with its number arrives. All instances receive beliefs
//! about crashes. An instance that starts later also knows the crashes that were reported before.

use quorate_core::{Belief, Effects, Kind, Message, Process, ProcessId, ProcessSet, SortedMap};

/// Any number of instances of a process, started on demand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instances<P> {
    /// The initial state of the next instance. It has received nothing but beliefs, round ends and recoveries.
    template: P,
    started: SortedMap<u64, P>,
}

/// A command, message, timer or output of one instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Numbered<T> {
    /// The number of the instance.
    pub instance: u64,
    /// The command, message, timer or output itself.
    pub what: T,
}

impl<P: Process> Instances<P> {
    /// Creates instances as clones of `template`.
    pub const fn new(template: P) -> Self {
        Self { template, started: SortedMap::new() }
    }

    fn with_instance<A>(
        &mut self,
        instance: u64,
        out: &mut Effects<Self>,
        step: impl FnOnce(&mut P, &mut Effects<P>) -> A,
    ) -> A {
        let mut effects = Effects::new(out.now());
        let copy = self.started.entry(instance).or_insert_with(|| {
            let mut copy = self.template.clone();
            copy.on_start(&mut effects);
            copy
        });
        let result = step(copy, &mut effects);
        for effect in effects {
            let embedded = effect.embed(
                |message| Numbered { instance, what: message },
                |timer| Numbered { instance, what: timer },
            );
            match embedded {
                Ok(effect) => out.push(effect),
                Err(output) => out.output(Numbered { instance, what: output }),
            }
        }
        result
    }

    fn with_all(&mut self, out: &mut Effects<Self>, mut step: impl FnMut(&mut P, &mut Effects<P>)) {
        // The effects of the template are discarded: no instance has this state yet.
        step(&mut self.template, &mut Effects::new(out.now()));
        let started: alloc::vec::Vec<u64> = self.started.keys().copied().collect();
        for instance in started {
            self.with_instance(instance, out, &mut step);
        }
    }
}

impl<P: Process> Process for Instances<P> {
    type Command = Numbered<P::Command>;
    type Message = Numbered<P::Message>;
    type Timer = Numbered<P::Timer>;
    type Output = Numbered<P::Output>;
    type Misuse = P::Misuse;

    fn on_command(
        &mut self,
        Numbered { instance, what }: Self::Command,
        out: &mut Effects<Self>,
    ) -> Result<(), P::Misuse> {
        self.with_instance(instance, out, |copy, out| copy.on_command(what, out))
    }

    fn on_message(
        &mut self,
        from: ProcessId,
        Numbered { instance, what }: Self::Message,
        out: &mut Effects<Self>,
    ) {
        self.with_instance(instance, out, |copy, out| copy.on_message(from, what, out));
    }

    fn on_timer(&mut self, Numbered { instance, what }: Self::Timer, out: &mut Effects<Self>) {
        self.with_instance(instance, out, |copy, out| copy.on_timer(what, out));
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.with_all(out, |copy, out| copy.on_belief(belief, out));
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.with_all(out, |copy, out| copy.on_round_end(round, out));
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.with_all(out, P::on_recovery);
    }

    fn waits_for(&self) -> ProcessSet {
        let mut awaited = ProcessSet::new();
        self.started.values().for_each(|copy| awaited.union_with(&copy.waits_for()));
        awaited
    }
}

impl<M: Message> Message for Numbered<M> {
    const KINDS: &'static [Kind] = M::KINDS;

    fn kind(&self) -> usize {
        self.what.kind()
    }

    fn bytes(&self) -> Option<u64> {
        self.what.bytes().map(|bytes| bytes + 8)
    }

    fn stamp(&self) -> Option<u64> {
        self.what.stamp()
    }

    fn forged(&self, choice: u64) -> Self {
        Self { instance: self.instance, what: self.what.forged(choice) }
    }
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;
    use std::vec::Vec;

    use super::*;

    /// Reports the inputs that concern all instances.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Reporter;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Ping;

    impl Message for Ping {
        const KINDS: &'static [Kind] = &[Kind::mutex("PING")];

        fn kind(&self) -> usize {
            0
        }

        fn bytes(&self) -> Option<u64> {
            Some(3)
        }

        fn stamp(&self) -> Option<u64> {
            Some(7)
        }
    }

    impl Process for Reporter {
        type Command = ();
        type Message = Ping;
        type Timer = Infallible;
        type Output = u64;
        type Misuse = &'static str;

        fn on_command(&mut self, (): (), _: &mut Effects<Self>) -> Result<(), &'static str> {
            Ok(())
        }

        fn on_message(&mut self, _: ProcessId, _: Ping, _: &mut Effects<Self>) {}

        fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
            out.output(round);
        }

        fn on_recovery(&mut self, out: &mut Effects<Self>) {
            out.output(0);
        }
    }

    #[test]
    fn rounds_and_recoveries_concern_all_instances() {
        let (mut instances, mut out) = (Instances::new(Reporter), Effects::default());
        for instance in [4, 2] {
            let command = Numbered { instance, what: () };
            instances.on_command(command, &mut out).expect("it is never misused");
        }
        instances.on_round_end(5, &mut out);
        instances.on_recovery(&mut out);
        let outputs = out.drain().map(|effect| match effect {
            quorate_core::Effect::Output(Numbered { instance, what }) => (instance, what),
            other => panic!("only outputs are expected: {other:?}"),
        });
        assert_eq!(outputs.collect::<Vec<_>>(), [(2, 5), (4, 5), (2, 0), (4, 0)]);
    }

    #[test]
    fn a_numbered_message_has_the_stamp_of_its_content_and_eight_bytes_more() {
        let message = Numbered { instance: 9, what: Ping };
        assert_eq!((message.bytes(), message.stamp()), (Some(11), Some(7)));
    }
}
