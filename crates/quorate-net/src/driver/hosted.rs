//! Any process as an actor: its messages are encoded with [`crate::codec`], its timers kept, its user given a handle.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use quorate_core::{Belief, Effect, Effects, Process, ProcessId, Recipients, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, mpsc, oneshot};

use super::{Actor, Outbox};
use crate::codec;

/// So many commands may wait; a user that asks more waits.
const COMMANDS_MOST: usize = 1024;
/// When so many outputs wait to be read, nothing new is taken.
const OUTPUTS_MOST: usize = 1024;

/// What a user asks, and where the answer goes.
pub type Ask<P> = (<P as Process>::Command, oneshot::Sender<Result<(), Refused>>);

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The process does not allow it; nothing has changed.
    #[error("{0}")]
    Misuse(String),
    /// The process does not run any longer.
    #[error("the process does not run any longer")]
    Gone,
}

/// A process among `n`, to be driven.
pub struct Hosted<P: Process> {
    process: P,
    me: ProcessId,
    n: usize,
    effects: Effects<P>,
    /// Timers that run, the earliest first, of equal ones the one set first.
    timers: Vec<(Time, P::Timer)>,
    /// Messages to itself take no time.
    own: VecDeque<P::Message>,
    commands: mpsc::Receiver<Ask<P>>,
    outputs: Arc<Outputs<P::Output>>,
}

struct Outputs<O> {
    waiting: Mutex<Waiting<O>>,
    more: Notify,
}

struct Waiting<O> {
    outputs: VecDeque<O>,
    over: bool,
}

/// What the user of a process holds.
pub struct User<P: Process> {
    commands: mpsc::Sender<Ask<P>>,
    outputs: Arc<Outputs<P::Output>>,
}

/// Makes a process ready to be driven, and a handle for its user.
pub fn host<P: Process>(process: P, me: ProcessId, n: usize) -> (Hosted<P>, User<P>) {
    let (sender, commands) = mpsc::channel(COMMANDS_MOST);
    let waiting = Mutex::new(Waiting { outputs: VecDeque::new(), over: false });
    let outputs = Arc::new(Outputs { waiting, more: Notify::new() });
    let (effects, user) =
        (Effects::default(), User { commands: sender, outputs: Arc::clone(&outputs) });
    let (timers, own) = (Vec::new(), VecDeque::new());
    (Hosted { process, me, n, effects, timers, own, commands, outputs }, user)
}

impl<P: Process> User<P> {
    /// Asks something, and waits until the process has taken it.
    pub async fn ask(&self, command: P::Command) -> Result<(), Refused> {
        let (answer, answered) = oneshot::channel();
        self.commands.send((command, answer)).await.map_err(|_| Refused::Gone)?;
        answered.await.unwrap_or(Err(Refused::Gone))
    }

    /// What the process says next; none once it does not run any longer. For one reader.
    pub async fn next(&self) -> Option<P::Output> {
        loop {
            {
                let mut waiting = self.outputs.lock();
                match waiting.outputs.pop_front() {
                    Some(output) => return Some(output),
                    None if waiting.over => return None,
                    None => {}
                }
            }
            self.outputs.more.notified().await;
        }
    }
}

impl<O> Outputs<O> {
    fn lock(&self) -> MutexGuard<'_, Waiting<O>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Process> Drop for Hosted<P> {
    fn drop(&mut self) {
        self.outputs.lock().over = true;
        self.outputs.more.notify_one();
    }
}

impl<P: Process<Message: Serialize + DeserializeOwned>> Hosted<P> {
    /// The process as it is.
    pub const fn process(&self) -> &P {
        &self.process
    }

    fn tell(&mut self, now: Time, out: &mut Outbox, tell: impl FnOnce(&mut P, &mut Effects<P>)) {
        self.effects.set_now(now);
        tell(&mut self.process, &mut self.effects);
        self.carry_out(now, out);
    }

    fn carry_out(&mut self, now: Time, out: &mut Outbox) {
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
                    let place = self.timers.partition_point(|(other, _)| *other <= due);
                    self.timers.insert(place, (due, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|(_, running)| *running != timer),
                Effect::Output(output) => {
                    self.outputs.lock().outputs.push_back(output);
                    self.outputs.more.notify_one();
                }
                Effect::AwaitRound => {
                    tracing::warn!("a process that works in rounds has nobody here to end them");
                }
                Effect::Believed(belief) => tracing::debug!(?belief, "the detector below"),
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
                to if to == self.me => self.own.push_back(message.clone()),
                to if to.index() < self.n => out.send(to, payload.clone()),
                to => tracing::debug!(%to, "a message to a process that does not exist"),
            }
        }
    }
}

impl<P: Process<Message: Serialize + DeserializeOwned>> Actor for Hosted<P> {
    fn start(&mut self, now: Time, out: &mut Outbox) {
        self.tell(now, out, P::on_start);
    }

    fn on_message(&mut self, now: Time, from: ProcessId, payload: &[u8], out: &mut Outbox) {
        match codec::decode(payload) {
            Ok(message) => {
                self.tell(now, out, |process, out| process.on_message(from, message, out))
            }
            Err(why) => tracing::warn!(%from, %why, "a message is ignored"),
        }
    }

    fn next_due(&self) -> Option<Time> {
        if self.own.is_empty() {
            self.timers.first().map(|(due, _)| *due)
        } else {
            Some(Time::ZERO)
        }
    }

    fn on_due(&mut self, now: Time, out: &mut Outbox) {
        if let Some(message) = self.own.pop_front() {
            let me = self.me;
            self.tell(now, out, |process, out| process.on_message(me, message, out));
        } else if self.timers.first().is_some_and(|(due, _)| *due <= now) {
            let (_, timer) = self.timers.remove(0);
            self.tell(now, out, |process, out| process.on_timer(timer, out));
        }
    }

    fn on_belief(&mut self, now: Time, belief: Belief, out: &mut Outbox) {
        self.tell(now, out, |process, out| process.on_belief(belief, out));
    }

    fn poll_user(&mut self, context: &mut Context<'_>, now: Time, out: &mut Outbox) -> Poll<bool> {
        let Some((command, answer)) = std::task::ready!(self.commands.poll_recv(context)) else {
            return Poll::Ready(false);
        };
        self.effects.set_now(now);
        let taken = self.process.on_command(command, &mut self.effects);
        match taken {
            Ok(()) => self.carry_out(now, out),
            Err(_) => self.effects.drain().for_each(drop),
        }
        // Who does not wait for the answer does not get it.
        let _ = answer.send(taken.map_err(|why| Refused::Misuse(why.to_string())));
        Poll::Ready(true)
    }

    fn is_full(&self) -> bool {
        self.outputs.lock().outputs.len() >= OUTPUTS_MOST
    }
}
