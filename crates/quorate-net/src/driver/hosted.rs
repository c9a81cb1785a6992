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
