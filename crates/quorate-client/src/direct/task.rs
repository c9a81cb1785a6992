//! The task of a direct session: between the guards, the driver and the links.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use quorate_algorithms::mutex::leased_quorum::{RequestId, ToVoter};
use quorate_core::ProcessId;
use quorate_protocol::{Call, Failure, Name};
use tokio::sync::{mpsc, oneshot};

use super::addresses::Addresses;
use super::driver::{Driver, Notice, Outbox, Ticket};
use super::link::{Identity, Link, LinkEvent, Outgoing, Unwritten, What, put};
use crate::clock::{self, Moment};
use crate::session::SessionState;

/// Maximum number of inputs that are handled before the links are written to.
const BATCH: usize = 256;

/// Maximum number of messages in one call, so that it fits a frame.
const MESSAGES_MOST: usize = 128;

/// Maximum number of waiting requests that one beat announces, so that it fits a frame.
const ANNOUNCED_MOST: usize = 1_000;

/// Time within which the voters have to read the end of a session.
const FAREWELL: Duration = Duration::from_millis(500);

/// While something is held, the boot clock is read at least this often: timers stand still while the machine sleeps.
const LOOK: Duration = Duration::from_secs(1);

/// A call that has come to an end well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub(crate) token: u64,
    /// The request to the voters, which several calls of one session may share.
    pub(crate) request: RequestId,
}

/// What guards ask of their session.
pub(crate) enum Command {
    Acquire {
        ticket: Ticket,
        name: Name,
        /// Whether the call fails if the lock is not free.
        only_if_free: bool,
        why: String,
        reply: oneshot::Sender<Result<Granted, Failure>>,
    },
    /// `unwritten` is dropped once the voters have been written to.
    Release { ticket: Ticket, unwritten: Option<Unwritten> },
    /// Changes the text of a lock that is held.
    Describe { ticket: Ticket, text: String, reply: oneshot::Sender<Result<(), Failure>> },
    /// Ends the session. Answered once the voters have read that, or have had time enough.
    Close(oneshot::Sender<()>),
}

pub(super) struct Task {
    pub(super) driver: Driver,
    pub(super) links: Vec<Link>,
    pub(super) events: mpsc::Receiver<LinkEvent>,
    pub(super) commands: mpsc::UnboundedReceiver<Command>,
    pub(super) state: Arc<SessionState>,
    pub(super) identity: Arc<Identity>,
    pub(super) candidate: u64,
    pub(super) addresses: Arc<Addresses>,
    pub(super) replies: BTreeMap<Ticket, oneshot::Sender<Result<Granted, Failure>>>,
}

impl Task {
    pub(super) async fn run(mut self) {
        self.flush(&[]);
        loop {
            let mut unwritten = Vec::new();
            let pause = self.pause();
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(command) => if let Some(done) = self.on_command(command, &mut unwritten) {
                        return self.close(done).await;
                    },
                    None => return self.close(oneshot::channel().0).await,
                },
                event = self.events.recv() => event.into_iter().for_each(|it| self.on_event(it)),
                () = tokio::time::sleep(pause) => {
                    self.wake();
                    self.ask_addresses();
                }
            }
            for _ in 0..BATCH {
                match (self.commands.try_recv(), self.events.try_recv()) {
                    (Err(_), Err(_)) => break,
                    (command, event) => {
                        event.into_iter().for_each(|event| self.on_event(event));
                        if let Some(done) =
                            command.ok().and_then(|it| self.on_command(it, &mut unwritten))
                        {
                            return self.close(done).await;
                        }
                    }
                }
            }
            self.publish();
            self.flush(&unwritten);
        }
    }

    /// Time until the driver has something to do.
    fn pause(&self) -> Duration {
        let pause = Duration::from_nanos(self.driver.next_wake().since(clock::now()).0);
        if self.driver.is_active() { pause.min(LOOK) } else { pause.min(LOOK * 60) }
    }

    /// What has ended comes before whatever has arrived: the process may have been stopped in between.
    fn wake(&mut self) {
        self.driver.wake(clock::now());
    }

    /// Handles a command; tells who waits if it was the last one.
    fn on_command(
        &mut self,
        command: Command,
        unwritten: &mut Vec<Unwritten>,
    ) -> Option<oneshot::Sender<()>> {
        self.wake();
        let now = clock::now();
        match command {
            Command::Acquire { ticket, name, only_if_free, why, reply } => {
                self.replies.insert(ticket, reply);
                self.driver.acquire(ticket, name, only_if_free, why, now);
            }
            Command::Release { ticket, unwritten: until } => {
                self.replies.remove(&ticket);
                self.driver.release(ticket, now);
                unwritten.extend(until);
            }
            Command::Describe { ticket, text, reply } => {
                let _ = reply.send(self.driver.describe(ticket, text));
            }
            Command::Close(done) => return Some(done),
        }
        None
    }

    fn on_event(&mut self, LinkEvent { voter, what }: LinkEvent) {
        self.wake();
        let now = clock::now();
        match what {
            What::Up => self.driver.up(voter, now),
            What::Down => self.driver.down(voter, now),
            What::Leaving => self.driver.leaving(voter, now),
            What::Heard(messages) => self.driver.hear(voter, messages, now),
            What::Refused(request, failure) => self.driver.refused(request, failure, now),
        }
    }

    /// Tells guards and calls what has happened.
    fn publish(&mut self) {
        loop {
            let notices = self.driver.notices();
            if notices.is_empty() {
                break;
            }
            notices.into_iter().for_each(|notice| self.tell(notice));
        }
        self.state.set_deadline(Moment::of(self.driver.deadline()));
    }

    fn tell(&mut self, notice: Notice) {
        match notice {
            Notice::Granted { ticket, request, token, until } => {
                self.state.grant(ticket, token, Some(Moment::of(until)));
                self.reply(ticket, Ok(Granted { token, request }));
            }
            Notice::Extended { ticket, until } => {
                if !self.state.extend(ticket, Moment::of(until)) {
                    self.driver.expire(ticket, clock::now());
                }
            }
            Notice::Position { ticket, place } => self.state.place(ticket, place),
            Notice::Failed { ticket, failure } => self.reply(ticket, Err(failure)),
            Notice::Lost { ticket, loss } => self.state.lose(ticket, loss),
            Notice::Redial(voter) => self.link(voter).send(Outgoing::Redial),
        }
    }

    fn reply(&mut self, ticket: Ticket, answer: Result<Granted, Failure>) {
        if let Some(reply) = self.replies.remove(&ticket) {
            // Without a receiver the guard was dropped, which releases the lock.
            let _ = reply.send(answer);
        }
    }

    fn link(&self, voter: ProcessId) -> &Link {
        &self.links[voter.index()]
    }

    /// Nodes learn each other's client addresses with time.
    fn ask_addresses(&self) {
        if self.addresses.are_incomplete() {
            let again = self.identity.attach_again(self.candidate);
            self.links
                .iter()
                .for_each(|link| link.send(Outgoing::Bytes(again.clone(), Vec::new())));
        }
    }

    /// Hands everything to the links, in one write for each voter.
    fn flush(&mut self, unwritten: &[Unwritten]) {
        for (voter, outbox) in self.driver.outboxes() {
            let bytes = encode(outbox, &self.driver).freeze();
            self.link(voter).send(Outgoing::Bytes(bytes, unwritten.to_vec()));
        }
    }

    /// Ends the session at the voters, and waits until they have read that.
    async fn close(mut self, done: oneshot::Sender<()>) {
        self.state.end();
        // Links write instead of waiting to be heard.
        self.events.close();
        self.driver.end(clock::now());
        let (unwritten, mut written) = mpsc::channel(1);
        for (voter, outbox) in self.driver.outboxes() {
            let bytes = encode(outbox, &self.driver).freeze();
            self.link(voter).send(Outgoing::Farewell(bytes, unwritten.clone()));
        }
        drop(unwritten);
        let _ = tokio::time::timeout(FAREWELL, written.recv()).await;
        let _ = done.send(());
    }
}

/// The calls of one outbox. A request that no quorum has answered has a call of its own, under its own number, so that a node
/// that objects to it refuses nothing else.
fn encode(outbox: Outbox, driver: &Driver) -> BytesMut {
    let mut bytes = BytesMut::new();
    let mut batch = Vec::new();
    let send = |batch: &mut Vec<ToVoter<Name>>, bytes: &mut BytesMut| {
        if !batch.is_empty() {
            put(0, Call::ToVoter(std::mem::take(batch)), bytes);
        }
    };
    for mut message in outbox.messages {
        if let ToVoter::Beat { waiting, .. } = &mut message {
            waiting.truncate(ANNOUNCED_MOST);
        }
        let alone = match &message {
            ToVoter::Request { claim, .. } if !driver.is_answered(claim.request) => {
                Some(claim.request.number)
            }
            ToVoter::Beat { waiting, .. } if waiting.len() > MESSAGES_MOST => Some(0),
            _ => None,
        };
        if alone.is_some() || batch.len() >= MESSAGES_MOST {
            send(&mut batch, &mut bytes);
        }
        match alone {
            Some(number) => put(number, Call::ToVoter(vec![message]), &mut bytes),
            None => batch.push(message),
        }
    }
    send(&mut batch, &mut bytes);
    for (request, why) in outbox.texts {
        put(0, Call::Describe { request, why }, &mut bytes);
    }
    bytes
}
