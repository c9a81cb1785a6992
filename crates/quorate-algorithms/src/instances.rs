//! Numbered copies of a process are a process: one agreement after the other, say, each with its own messages.
//!
//! A copy comes into being when somebody first speaks of its number. All hear of crashes, the later ones of the earlier
//! crashes too.

use alloc::collections::BTreeMap;

use quorate_core::{Belief, Effects, Kind, Message, Process, ProcessId, ProcessSet};

/// As many copies of a process as are spoken of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instances<P> {
    /// A copy that nobody has spoken of: it has only heard its detector.
    blank: P,
    begun: BTreeMap<u64, P>,
}

/// Something of the copy with this number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Numbered<T> {
    /// Which copy.
    pub instance: u64,
    /// What.
    pub what: T,
}

impl<P: Process> Instances<P> {
    /// Copies of this process.
    pub const fn new(blank: P) -> Self {
        Self { blank, begun: BTreeMap::new() }
    }

    fn tell<A>(
        &mut self,
        instance: u64,
        out: &mut Effects<Self>,
        tell: impl FnOnce(&mut P, &mut Effects<P>) -> A,
    ) -> A {
        let mut wanted = Effects::new(out.now());
        let copy = self.begun.entry(instance).or_insert_with(|| {
            let mut copy = self.blank.clone();
            copy.on_start(&mut wanted);
            copy
        });
        let answer = tell(copy, &mut wanted);
        for effect in wanted {
            let of_part = effect.of_part(
                |message| Numbered { instance, what: message },
                |timer| Numbered { instance, what: timer },
            );
            match of_part {
                Ok(effect) => out.push(effect),
                Err(output) => out.output(Numbered { instance, what: output }),
            }
        }
        answer
    }

    fn tell_all(&mut self, out: &mut Effects<Self>, mut tell: impl FnMut(&mut P, &mut Effects<P>)) {
        // A copy that nobody has spoken of has nothing to say about it.
        tell(&mut self.blank, &mut Effects::new(out.now()));
        let begun: alloc::vec::Vec<u64> = self.begun.keys().copied().collect();
        for instance in begun {
            self.tell(instance, out, &mut tell);
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
        self.tell(instance, out, |copy, out| copy.on_command(what, out))
    }

    fn on_message(
        &mut self,
        from: ProcessId,
        Numbered { instance, what }: Self::Message,
        out: &mut Effects<Self>,
    ) {
        self.tell(instance, out, |copy, out| copy.on_message(from, what, out));
    }

    fn on_timer(&mut self, Numbered { instance, what }: Self::Timer, out: &mut Effects<Self>) {
        self.tell(instance, out, |copy, out| copy.on_timer(what, out));
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.tell_all(out, |copy, out| copy.on_belief(belief, out));
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.tell_all(out, |copy, out| copy.on_round_end(round, out));
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.tell_all(out, P::on_recovery);
    }

    fn waits_for(&self) -> ProcessSet {
        let mut awaited = ProcessSet::new();
        self.begun.values().for_each(|copy| awaited.union_with(&copy.waits_for()));
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
