//! A process whose messages are sent through a multicast below it, instead of over links of their own.
//!
//! A message to one process is a multicast to a group of one. A message to the process itself does not leave it: it is
//! delivered as soon as the current step ends, after earlier ones. The multicast therefore never delivers to its own
//! sender. Otherwise the answers to such a delivery could overtake messages that were sent before them.

use alloc::collections::VecDeque;

use quorate_core::multicast::{Body, Command, Group, Output};
use quorate_core::{
    Belief, Effect, Effects, NoMessage, Permission, Process, ProcessId, ProcessSet, Route,
    UpperLayer,
};

use crate::multicast::{TreeBody, VcubeMulticast};

/// A process over a multicast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OverMulticast<P> {
    id: ProcessId,
    n: usize,
    process: P,
    /// Number of messages that were handed to the multicast.
    sent: u64,
}

/// An output for the user, or a message for the multicast below.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OverMulticastOutput<O, M: Body> {
    /// An output of the process to its user.
    ToUser(O),
    /// A message of the process to a group of other processes.
    Send(Command<M>),
}

impl<P: Process<Message: Body>> OverMulticast<P> {
    /// Lets process `id` of `n` send its messages through the multicast below.
    pub const fn new(n: usize, id: ProcessId, process: P) -> Self {
        Self { id, n, process, sent: 0 }
    }

    /// Performs a step of the process, and then delivers its messages to itself, in order.
    fn step<R>(
        &mut self,
        out: &mut Effects<Self>,
        step: impl FnOnce(&mut P, &mut Effects<P>) -> R,
    ) -> R {
        let mut to_self = VecDeque::new();
        let mut effects = Effects::new(out.now());
        let result = step(&mut self.process, &mut effects);
        self.pass_on(effects, &mut to_self, out);
        while let Some(message) = to_self.pop_front() {
            let mut effects = Effects::new(out.now());
            self.process.on_message(self.id, message, &mut effects);
            self.pass_on(effects, &mut to_self, out);
        }
        result
    }

    fn pass_on(
        &mut self,
        effects: Effects<P>,
        to_self: &mut VecDeque<P::Message>,
        out: &mut Effects<Self>,
    ) {
        for effect in effects {
            match effect {
                Effect::Send { to, message } => {
                    to_self.extend(self.send(ProcessSet::from_iter([to]), message, out));
                }
                Effect::Multicast { to, message } => {
                    let to = to.among(self.n, self.id).collect();
                    to_self.extend(self.send(to, message, out));
                }
                Effect::SetTimer { timer, after } => out.set_timer(timer, after),
                Effect::CancelTimer(timer) => out.cancel_timer(timer),
                Effect::AwaitRound => out.await_round(),
                Effect::Output(output) => out.output(OverMulticastOutput::ToUser(output)),
                Effect::Believed(belief) => out.push(Effect::Believed(belief)),
                Effect::Ignored(why) => out.ignored(why),
            }
        }
    }

    /// Multicasts the message to the others in the group. Returns it if this process is in the group as well.
    fn send(
        &mut self,
        mut group: ProcessSet,
        message: P::Message,
        out: &mut Effects<Self>,
    ) -> Option<P::Message> {
        let to_self = group.remove(self.id).then(|| message.clone());
        if !group.is_empty() {
            let (id, to) = (self.sent, Group::Only(group));
            self.sent += 1;
            let command = Command::Multicast { id, to, body: message };
            out.output(OverMulticastOutput::Send(command));
        }
        to_self
    }
}

impl<P: Process<Message: Body>> Process for OverMulticast<P> {
    type Command = P::Command;
    type Message = NoMessage;
    type Timer = P::Timer;
    type Output = OverMulticastOutput<P::Output, P::Message>;
    type Misuse = P::Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.step(out, P::on_start);
    }

    fn on_command(
        &mut self,
        command: P::Command,
        out: &mut Effects<Self>,
    ) -> Result<(), P::Misuse> {
        self.step(out, |process, out| process.on_command(command, out))
    }

    fn on_message(&mut self, _: ProcessId, message: NoMessage, _: &mut Effects<Self>) {
        match message {}
    }

    fn on_timer(&mut self, timer: P::Timer, out: &mut Effects<Self>) {
        self.step(out, |process, out| process.on_timer(timer, out));
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.step(out, |process, out| process.on_belief(belief, out));
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.step(out, |process, out| process.on_round_end(round, out));
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.step(out, P::on_recovery);
    }

    fn waits_for(&self) -> ProcessSet {
        self.process.waits_for()
    }

    fn permission(&self) -> Permission {
        self.process.permission()
    }
}

impl<P> UpperLayer<VcubeMulticast<P::Message>> for OverMulticast<P>
where
    P: Process<Message: TreeBody>,
{
    type Up = P::Output;

    fn on_lower_output(
        &mut self,
        Output::Delivered { origin, body, .. }: Output<P::Message>,
        out: &mut Effects<Self>,
    ) {
        self.step(out, |process, out| process.on_message(origin, body, out));
    }

    fn route(output: Self::Output) -> Route<P::Output, Command<P::Message>> {
        match output {
            OverMulticastOutput::ToUser(output) => Route::Up(output),
            OverMulticastOutput::Send(command) => Route::Down(command),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::convert::Infallible;
    use quorate_core::multicast::Content;
    use quorate_core::{Kind, Message, Time};

    const SELF: ProcessId = ProcessId::new(0);
    const OTHER: ProcessId = ProcessId::new(1);

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Word(&'static str);

    impl Body for Word {}

    impl Message for Word {
        const KINDS: &'static [Kind] = &[Kind::mutex("WORD")];
        fn kind(&self) -> usize {
            0
        }
    }

    impl TreeBody for Word {
        const KINDS: &'static [Kind] = <Self as Message>::KINDS;
        fn kind(&self) -> usize {
            0
        }
    }

    /// Outputs what it receives, and answers each question to all others. Sends itself a word at each other input.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Talker;

    impl Process for Talker {
        type Command = &'static [(&'static [u32], &'static str)];
        type Message = Word;
        type Timer = &'static str;
        type Output = (ProcessId, &'static str);
        type Misuse = Infallible;

        fn on_command(
            &mut self,
            words: Self::Command,
            out: &mut Effects<Self>,
        ) -> Result<(), Infallible> {
            for (to, word) in words {
                let group: ProcessSet = to.iter().copied().map(ProcessId::new).collect();
                match **to {
                    [one] => out.send(ProcessId::new(one), Word(word)),
                    _ => out.multicast(group, Word(word)),
                }
            }
            Ok(())
        }

        fn on_start(&mut self, out: &mut Effects<Self>) {
            out.send(SELF, Word("start"));
        }

        fn on_timer(&mut self, timer: &'static str, out: &mut Effects<Self>) {
            out.send(SELF, Word(timer));
        }

        fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
            out.send(SELF, Word("belief"));
            out.send(belief.about(), Word("goodbye"));
        }

        fn on_round_end(&mut self, _: u64, out: &mut Effects<Self>) {
            out.send(SELF, Word("round"));
        }

        fn on_recovery(&mut self, out: &mut Effects<Self>) {
            out.send(SELF, Word("recovery"));
        }

        fn waits_for(&self) -> ProcessSet {
            ProcessSet::from_iter([OTHER])
        }

        fn on_message(&mut self, from: ProcessId, Word(word): Word, out: &mut Effects<Self>) {
            out.output((from, word));
            if word == "question" {
                out.send_to_others(Word("answer"));
            }
        }
    }

    type Talking = OverMulticast<Talker>;

    fn outputs(step: impl FnOnce(&mut Effects<Talking>)) -> Vec<<Talking as Process>::Output> {
        let mut out = Effects::new(Time::ZERO);
        step(&mut out);
        let output = |effect| match effect {
            Effect::Output(output) => output,
            other => panic!("{other:?} is not an output"),
        };
        out.into_iter().map(output).collect()
    }

    fn sent(
        id: u64,
        to: &[u32],
        word: &'static str,
    ) -> OverMulticastOutput<(ProcessId, &'static str), Word> {
        let to = Group::Only(to.iter().copied().map(ProcessId::new).collect());
        OverMulticastOutput::Send(Command::Multicast { id, to, body: Word(word) })
    }

    #[test]
    fn answers_to_itself_do_not_overtake_earlier_messages() {
        let mut talker = OverMulticast::new(3, SELF, Talker);
        let words: <Talker as Process>::Command =
            &[(&[0, 1], "question"), (&[0], "second"), (&[1], "third")];
        let to_user = |word| OverMulticastOutput::ToUser((SELF, word));
        assert_eq!(
            outputs(|out| talker.on_command(words, out).unwrap()),
            [
                sent(0, &[1], "question"),
                sent(1, &[1], "third"),
                to_user("question"),
                sent(2, &[1, 2], "answer"),
                to_user("second"),
            ]
        );
        let words: <Talker as Process>::Command = &[(&[2], "last")];
        let last = outputs(|out| talker.on_command(words, out).unwrap());
        assert_eq!(last, [sent(3, &[2], "last")]);
    }

    #[test]
    fn a_delivered_message_is_one_of_its_origin() {
        let mut talker = OverMulticast::new(2, SELF, Talker);
        let delivered = Output::Delivered { origin: OTHER, id: 7, body: Word("question") };
        let lower = |talker: &mut Talking, out: &mut Effects<Talking>| {
            UpperLayer::<VcubeMulticast<Word>>::on_lower_output(talker, delivered, out);
        };
        assert_eq!(
            outputs(|out| lower(&mut talker, out)),
            [OverMulticastOutput::ToUser((OTHER, "question")), sent(0, &[1], "answer")]
        );
    }

    #[test]
    fn every_input_reaches_the_process() {
        let mut talker = OverMulticast::new(2, SELF, Talker);
        let to_user = |word| OverMulticastOutput::ToUser((SELF, word));
        assert_eq!(outputs(|out| talker.on_start(out)), [to_user("start")]);
        assert_eq!(outputs(|out| talker.on_timer("timer", out)), [to_user("timer")]);
        assert_eq!(outputs(|out| talker.on_round_end(1, out)), [to_user("round")]);
        assert_eq!(outputs(|out| talker.on_recovery(out)), [to_user("recovery")]);
        let learned = outputs(|out| talker.on_belief(Belief::Crashed(OTHER), out));
        assert_eq!(learned, [sent(0, &[1], "goodbye"), to_user("belief")]);
        assert_eq!(talker.waits_for(), ProcessSet::from_iter([OTHER]));
    }

    #[test]
    fn a_tree_without_a_layer_above_keeps_its_own_kinds() {
        type Kinds<B> = <VcubeMulticast<B> as Process>::Message;
        let names = |kinds: &[Kind]| kinds.iter().map(|kind| kind.name).collect::<Vec<_>>();
        assert_eq!(names(Kinds::<Content>::KINDS), ["TREE", "ACK"]);
        assert_eq!(names(Kinds::<Word>::KINDS), ["WORD", "ACK"]);
    }
}
