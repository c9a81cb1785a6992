//! Runs any process as an actor: encodes its messages with [`crate::codec`], keeps its timers, gives its user a handle.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use quorate_core::{Belief, Effect, Effects, Process, ProcessId, Recipients, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, mpsc, oneshot};

use super::{Actor, Outbox};
use crate::codec;

/// Capacity of the command queue. A user that submits more waits.
const MAX_COMMANDS: usize = 1024;
/// Number of unread outputs from which nothing new is processed.
const MAX_OUTPUTS: usize = 1024;

/// A command of the user, and the channel for the answer.
pub type CommandRequest<P> = (<P as Process>::Command, oneshot::Sender<Result<(), CommandError>>);

/// Reason why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The process refused the command; its state is unchanged.
    #[error("{0}")]
    Misuse(String),
    /// The process is no longer running.
    #[error("the process has stopped")]
    Stopped,
}

/// One of `n` processes, ready to be driven.
pub struct Hosted<P: Process> {
    process: P,
    me: ProcessId,
    n: usize,
    effects: Effects<P>,
    /// Running timers, ordered by due time, then by the order in which they were set.
    timers: Vec<(Time, P::Timer)>,
    /// Messages to itself, which take no time.
    self_messages: VecDeque<P::Message>,
    commands: mpsc::Receiver<CommandRequest<P>>,
    outputs: Arc<Outputs<P::Output>>,
}

struct Outputs<O> {
    queue: Mutex<OutputQueue<O>>,
    more: Notify,
}

struct OutputQueue<O> {
    outputs: VecDeque<O>,
    closed: bool,
}

/// Handle for the user of a process.
pub struct ProcessHandle<P: Process> {
    commands: mpsc::Sender<CommandRequest<P>>,
    outputs: Arc<Outputs<P::Output>>,
}

/// Creates an actor from a process, and a handle for its user.
pub fn host<P: Process>(process: P, me: ProcessId, n: usize) -> (Hosted<P>, ProcessHandle<P>) {
    let (sender, commands) = mpsc::channel(MAX_COMMANDS);
    let queue = Mutex::new(OutputQueue { outputs: VecDeque::new(), closed: false });
    let outputs = Arc::new(Outputs { queue, more: Notify::new() });
    let (effects, handle) =
        (Effects::default(), ProcessHandle { commands: sender, outputs: Arc::clone(&outputs) });
    let (timers, self_messages) = (Vec::new(), VecDeque::new());
    (Hosted { process, me, n, effects, timers, self_messages, commands, outputs }, handle)
}

impl<P: Process> ProcessHandle<P> {
    /// Submits a command, and waits until the process has handled it.
    pub async fn submit(&self, command: P::Command) -> Result<(), CommandError> {
        let (answer, answered) = oneshot::channel();
        self.commands.send((command, answer)).await.map_err(|_| CommandError::Stopped)?;
        answered.await.unwrap_or(Err(CommandError::Stopped))
    }

    /// Waits for the next output of the process; `None` once the process is no longer running. Supports a single reader.
    pub async fn next(&self) -> Option<P::Output> {
        loop {
            {
                let mut queue = self.outputs.lock();
                match queue.outputs.pop_front() {
                    Some(output) => return Some(output),
                    None if queue.closed => return None,
                    None => {}
                }
            }
            self.outputs.more.notified().await;
        }
    }
}

impl<O> Outputs<O> {
    fn lock(&self) -> MutexGuard<'_, OutputQueue<O>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Process> Drop for Hosted<P> {
    fn drop(&mut self) {
        self.outputs.lock().closed = true;
        self.outputs.more.notify_one();
    }
}

impl<P: Process<Message: Serialize + DeserializeOwned>> Hosted<P> {
    /// The hosted process in its present state.
    pub const fn process(&self) -> &P {
        &self.process
    }

    fn step(&mut self, now: Time, out: &mut Outbox, input: impl FnOnce(&mut P, &mut Effects<P>)) {
        self.effects.set_now(now);
        input(&mut self.process, &mut self.effects);
        self.apply_effects(now, out);
    }

    fn apply_effects(&mut self, now: Time, out: &mut Outbox) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain() {
            match effect {
                Effect::Send { to, message } => self.send([to], message, out),
                Effect::Multicast { to: Recipients::Others, message } => {
                    let others = ProcessId::all(self.n).filter(|&to| to != self.me);
                    self.send(others.collect::<Vec<_>>(), message, out);
                }
                Effect::Multicast { to: Recipients::Set(set), message } => {
                    self.send(&set, message, out);
                }
                Effect::SetTimer { timer, after } => {
                    self.timers.retain(|(_, running)| *running != timer);
                    let due = now + after;
                    let position = self.timers.partition_point(|(other, _)| *other <= due);
                    self.timers.insert(position, (due, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|(_, running)| *running != timer),
                Effect::Output(output) => {
                    self.outputs.lock().outputs.push_back(output);
                    self.outputs.more.notify_one();
                }
                Effect::AwaitRound => {
                    tracing::warn!(
                        "a round-based process is not supported here: its rounds never end"
                    );
                }
                Effect::Believed(belief) => {
                    tracing::debug!(?belief, "belief of the lower-layer failure detector")
                }
                Effect::Ignored(why) => tracing::debug!(why, "ignored"),
            }
        }
        self.effects = effects;
    }

    fn send(
        &mut self,
        to: impl IntoIterator<Item = ProcessId>,
        message: P::Message,
        out: &mut Outbox,
    ) {
        let payload = codec::encode(&message);
        for to in to {
            match to {
                to if to == self.me => self.self_messages.push_back(message.clone()),
                to if to.index() < self.n => out.send(to, payload.clone()),
                to => tracing::debug!(%to, "a message to a process that does not exist"),
            }
        }
    }
}

impl<P: Process<Message: Serialize + DeserializeOwned>> Actor for Hosted<P> {
    fn start(&mut self, now: Time, out: &mut Outbox) {
        self.step(now, out, P::on_start);
    }

    fn on_message(&mut self, now: Time, from: ProcessId, payload: &[u8], out: &mut Outbox) {
        match codec::decode(payload) {
            Ok(message) => {
                self.step(now, out, |process, out| process.on_message(from, message, out))
            }
            Err(why) => tracing::warn!(%from, %why, "undecodable message ignored"),
        }
    }

    fn next_due(&self) -> Option<Time> {
        if self.self_messages.is_empty() {
            self.timers.first().map(|(due, _)| *due)
        } else {
            Some(Time::ZERO)
        }
    }

    fn on_due(&mut self, now: Time, out: &mut Outbox) {
        if let Some(message) = self.self_messages.pop_front() {
            let me = self.me;
            self.step(now, out, |process, out| process.on_message(me, message, out));
        } else if self.timers.first().is_some_and(|(due, _)| *due <= now) {
            let (_, timer) = self.timers.remove(0);
            self.step(now, out, |process, out| process.on_timer(timer, out));
        }
    }

    fn on_belief(&mut self, now: Time, belief: Belief, out: &mut Outbox) {
        self.step(now, out, |process, out| process.on_belief(belief, out));
    }

    fn poll_command(
        &mut self,
        context: &mut Context<'_>,
        now: Time,
        out: &mut Outbox,
    ) -> Poll<bool> {
        let Some((command, answer)) = std::task::ready!(self.commands.poll_recv(context)) else {
            return Poll::Ready(false);
        };
        self.effects.set_now(now);
        let taken = self.process.on_command(command, &mut self.effects);
        match taken {
            Ok(()) => self.apply_effects(now, out),
            Err(_) => self.effects.drain().for_each(drop),
        }
        // The user may have given up waiting for the answer.
        let _ = answer.send(taken.map_err(|why| CommandError::Misuse(why.to_string())));
        Poll::Ready(true)
    }

    fn is_full(&self) -> bool {
        self.outputs.lock().outputs.len() >= MAX_OUTPUTS
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use quorate_core::{ProcessSet, Span};

    use super::*;

    /// Reports every input, and applies the effects that its commands name.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Reporter;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Order {
        Send(u32),
        SendToOthers,
        SendToSet(u32),
        SetTimer(u8, u64),
        CancelTimer(u8),
        Fail,
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
    struct Ping(u8);

    impl quorate_core::Message for Ping {
        const KINDS: &'static [quorate_core::Kind] = &[quorate_core::Kind::mutex("PING")];

        fn kind(&self) -> usize {
            0
        }
    }

    impl Process for Reporter {
        type Command = Order;
        type Message = Ping;
        type Timer = u8;
        type Output = String;
        type Misuse = &'static str;

        fn on_start(&mut self, out: &mut Effects<Self>) {
            out.output("start".to_owned());
        }

        fn on_command(
            &mut self,
            order: Order,
            out: &mut Effects<Self>,
        ) -> Result<(), &'static str> {
            match order {
                Order::Send(to) => out.send(ProcessId::new(to), Ping(1)),
                Order::SendToOthers => out.send_to_others(Ping(2)),
                Order::SendToSet(to) => {
                    out.multicast(ProcessSet::from_iter([ProcessId::new(to)]), Ping(3));
                }
                Order::SetTimer(timer, after) => out.set_timer(timer, Span(after)),
                Order::CancelTimer(timer) => out.cancel_timer(timer),
                Order::Fail => {
                    out.output("an effect of a refused command".to_owned());
                    return Err("refused");
                }
            }
            Ok(())
        }

        fn on_message(&mut self, from: ProcessId, Ping(number): Ping, out: &mut Effects<Self>) {
            out.output(format!("{number} from {from} at {}", out.now().0));
        }

        fn on_timer(&mut self, timer: u8, out: &mut Effects<Self>) {
            out.output(format!("timer {timer} at {}", out.now().0));
        }

        fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
            out.output(format!("{belief:?}"));
        }
    }

    /// Process 1 of three.
    struct Harness {
        hosted: Hosted<Reporter>,
        handle: ProcessHandle<Reporter>,
        out: Outbox,
    }

    impl Harness {
        fn new() -> Self {
            let (hosted, handle) = host(Reporter, ProcessId::new(1), 3);
            Self { hosted, handle, out: Outbox::default() }
        }

        /// Passes a command to the process at a time. Returns the answer.
        fn order(&mut self, order: Order, now: u64) -> Result<(), CommandError> {
            let (answer, mut answered) = oneshot::channel();
            self.handle.commands.try_send((order, answer)).expect("there is room");
            let mut context = Context::from_waker(Waker::noop());
            let polled = self.hosted.poll_command(&mut context, Time(now), &mut self.out);
            assert_eq!(polled, Poll::Ready(true));
            answered.try_recv().expect("the command was handled")
        }

        /// Recipients of the messages since the last call.
        fn sent(&mut self) -> Vec<u32> {
            self.out.sends.drain(..).map(|(to, _)| to.number()).collect()
        }

        fn outputs(&self) -> Vec<String> {
            self.handle.outputs.lock().outputs.drain(..).collect()
        }
    }

    #[test]
    fn inputs_reach_the_process() {
        let mut harness = Harness::new();
        harness.hosted.start(Time(1), &mut harness.out);
        let from = ProcessId::new(2);
        let payload = codec::encode(&Ping(9));
        harness.hosted.on_message(Time(5), from, &payload, &mut harness.out);
        harness.hosted.on_message(Time(6), from, b"nonsense that is long", &mut harness.out);
        harness.hosted.on_belief(Time(7), Belief::Crashed(from), &mut harness.out);
        let expected = ["start", "9 from p2 at 5", "Crashed(ProcessId(2))"];
        assert_eq!(harness.outputs(), expected);
    }

    #[test]
    fn messages_go_to_processes_that_exist_and_at_once_to_itself() {
        let mut harness = Harness::new();
        for (order, recipients) in [
            (Order::Send(0), vec![0]),
            (Order::Send(2), vec![2]),
            (Order::Send(3), vec![]),
            (Order::SendToOthers, vec![0, 2]),
            (Order::SendToSet(2), vec![2]),
        ] {
            assert_eq!(harness.order(order, 1), Ok(()));
            assert_eq!(harness.sent(), recipients);
        }
        assert_eq!(harness.hosted.next_due(), None);
        harness.order(Order::Send(1), 1).expect("it is no misuse");
        assert_eq!((harness.sent(), harness.hosted.next_due()), (vec![], Some(Time::ZERO)));
        harness.hosted.on_due(Time(8), &mut harness.out);
        assert_eq!(harness.outputs(), ["1 from p1 at 8"]);
        assert_eq!(harness.hosted.next_due(), None);
    }

    #[test]
    fn timers_expire_in_the_order_of_their_times_and_can_be_set_again() {
        let mut harness = Harness::new();
        for (timer, after) in [(1, 30), (2, 10), (3, 10), (4, 20), (1, 5), (4, 40)] {
            harness.order(Order::SetTimer(timer, after), 100).expect("it is no misuse");
        }
        harness.order(Order::SetTimer(5, 1), 100).expect("it is no misuse");
        harness.order(Order::CancelTimer(5), 100).expect("it is no misuse");
        assert_eq!(harness.hosted.next_due(), Some(Time(105)));
        harness.hosted.on_due(Time(104), &mut harness.out);
        assert_eq!(harness.outputs(), [""; 0], "nothing is due");
        for now in [105, 110, 110, 200] {
            harness.hosted.on_due(Time(now), &mut harness.out);
        }
        let expected = ["timer 1 at 105", "timer 2 at 110", "timer 3 at 110", "timer 4 at 200"];
        assert_eq!(harness.outputs(), expected);
        assert_eq!(harness.hosted.next_due(), None);
    }

    #[test]
    fn a_refused_command_has_no_effects() {
        let mut harness = Harness::new();
        let refused = Err(CommandError::Misuse("refused".to_owned()));
        assert_eq!(harness.order(Order::Fail, 1), refused);
        harness.order(Order::Send(0), 2).expect("it is no misuse");
        assert_eq!(harness.outputs(), [""; 0]);
    }

    #[test]
    fn a_process_whose_outputs_are_not_read_is_full() {
        let mut harness = Harness::new();
        for _ in 1..MAX_OUTPUTS {
            harness.hosted.start(Time(1), &mut harness.out);
        }
        assert!(!harness.hosted.is_full());
        harness.hosted.start(Time(1), &mut harness.out);
        assert!(harness.hosted.is_full());
    }

    #[tokio::test]
    async fn a_user_learns_that_the_process_has_stopped() {
        let Harness { mut hosted, handle, mut out } = Harness::new();
        hosted.start(Time(1), &mut out);
        drop(hosted);
        assert_eq!(handle.next().await.as_deref(), Some("start"));
        assert_eq!(handle.next().await, None);
        assert_eq!(handle.submit(Order::Fail).await, Err(CommandError::Stopped));
        let (mut hosted, handle) = host(Reporter, ProcessId::new(0), 1);
        drop(handle);
        let mut context = Context::from_waker(Waker::noop());
        let polled = hosted.poll_command(&mut context, Time(1), &mut out);
        assert_eq!(polled, Poll::Ready(false), "no further commands can arrive");
    }
}
