//! The task of a direct session. It connects the guards, the driver and the links.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use quorate_algorithms::mutex::leased_quorum::{RequestId, ToVoter};
use quorate_core::{ProcessId, SortedMap};
use quorate_protocol::{Call, Failure, MembersKnown, Name};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep};

use super::addresses::Addresses;
use super::attach::{SessionIdentity, put};
use super::driver::{Driver, Notice, Outbox};
use super::link::{Link, LinkEvent, LinkEventKind, Unwritten};
use super::linking::Linking;
use super::session_lock::Ticket;
use crate::clock::{self, Moment};
use crate::session_state::SessionState;

/// Maximum number of commands handled before the links are flushed.
const BATCH: usize = 256;

/// Maximum number of messages in one call, so that the call fits a frame.
const MAX_MESSAGES: usize = 128;

/// Maximum number of waiting requests announced in one beat, so that the beat fits a frame.
const MAX_ANNOUNCED: usize = 1_000;

/// Maximum time to wait for the voters to read the end of a session.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum interval between reads of the boot clock while a lock is held or requested. Timers of the runtime stop while the
/// machine sleeps.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Result of a successful call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub(crate) token: u64,
    /// The request to the voters. Several calls of one session may share it.
    pub(crate) request: RequestId,
}

/// A command of a guard to its session.
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
    /// Changes the text of a held lock.
    Describe { ticket: Ticket, text: String, reply: oneshot::Sender<Result<(), Failure>> },
    /// Ends the session. Answered once the voters have read that, or after `CLOSE_TIMEOUT`.
    Close(oneshot::Sender<()>),
}

pub(super) struct Task {
    pub(super) driver: Driver,
    pub(super) links: SortedMap<ProcessId, Link>,
    /// Creates the links to new voters.
    pub(super) linking: Linking,
    pub(super) commands: mpsc::UnboundedReceiver<Command>,
    pub(super) state: Arc<SessionState>,
    pub(super) identity: Arc<SessionIdentity>,
    pub(super) candidate: u64,
    pub(super) addresses: Arc<Addresses>,
    pub(super) replies: SortedMap<Ticket, oneshot::Sender<Result<Granted, Failure>>>,
}

/// Reasons for a wake-up of the task.
#[derive(Default)]
struct WakeReasons {
    commands: Vec<Command>,
    events: Vec<LinkEvent>,
    /// All senders of commands have been dropped.
    abandoned: bool,
    is_due: bool,
}

impl Task {
    pub(super) async fn run(mut self) {
        let mut timer = pin!(sleep(Duration::ZERO));
        let mut woken = WakeReasons::default();
        loop {
            poll_fn(|cx| self.poll(cx, timer.as_mut(), &mut woken)).await;
            if std::mem::take(&mut woken.is_due) {
                self.wake();
                self.ask_addresses();
            }
            woken.events.drain(..).for_each(|event| self.on_event(event));
            let mut unwritten = Vec::new();
            for command in woken.commands.drain(..) {
                if let Some(done) = self.on_command(command, &mut unwritten) {
                    return self.close(done).await;
                }
            }
            if woken.abandoned {
                return self.close(oneshot::channel().0).await;
            }
            self.publish();
            self.flush(&unwritten);
            let due = Instant::now() + self.pause();
            // Most due times move with every beat. A timer that fires early costs less than resetting it each time.
            if timer.is_elapsed() || due < timer.deadline() {
                timer.as_mut().reset(due);
            }
        }
    }

    /// Writes to the links, and waits until there is something to do.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timer: Pin<&mut Sleep>,
        woken: &mut WakeReasons,
    ) -> Poll<()> {
        let taken = self.commands.poll_recv_many(cx, &mut woken.commands, BATCH);
        woken.abandoned = matches!(taken, Poll::Ready(0));
        self.links.values_mut().for_each(|link| link.poll(cx, &mut woken.events));
        woken.is_due = timer.poll(cx).is_ready();
        match taken.is_ready() || !woken.events.is_empty() || woken.is_due {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Time until the driver has something to do, at most the clock check interval.
    fn pause(&self) -> Duration {
        let pause = Duration::from_nanos(self.driver.next_wake().since(clock::now()).0);
        if self.driver.is_active() {
            pause.min(CLOCK_CHECK_INTERVAL)
        } else {
            pause.min(CLOCK_CHECK_INTERVAL * 60)
        }
    }

    /// Handles expired locks before anything that has arrived: the process may have been stopped in between.
    fn wake(&mut self) {
        self.driver.wake(clock::now());
    }

    /// Handles a command. Returns the sender to notify if the command ends the session.
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

    fn on_event(&mut self, LinkEvent { voter, kind }: LinkEvent) {
        self.wake();
        let now = clock::now();
        match kind {
            LinkEventKind::Up => self.driver.up(voter, now),
            LinkEventKind::Down => self.driver.down(voter, now),
            LinkEventKind::Leaving => self.driver.leaving(voter, now),
            LinkEventKind::Received(messages) => self.driver.on_messages(voter, messages, now),
            LinkEventKind::Changes(members) => self.adopt(&members),
            LinkEventKind::Refused(request, failure) => self.driver.refused(request, failure, now),
        }
    }

    /// Uses the voters of a newer configuration. Votes of voters that have left do not count any more.
    fn adopt(&mut self, members: &MembersKnown) {
        let Some(electorate) = members.electorate() else { return };
        if electorate.index() <= self.driver.electorate().index() {
            return;
        }
        let voters = electorate.all();
        self.links.retain(|voter, _| voters.contains(*voter));
        for voter in &voters {
            if !self.links.contains_key(&voter) {
                self.links.insert(voter, self.linking.link(voter, None));
            }
        }
        self.driver.adopt(electorate, members.terms(), clock::now());
    }

    /// Notifies guards and calls of what has happened, and updates the deadline.
    fn publish(&mut self) {
        loop {
            let notices = self.driver.notices();
            if notices.is_empty() {
                break;
            }
            notices.into_iter().for_each(|notice| self.on_notice(notice));
        }
        self.state.set_deadline(Moment::from_time(self.driver.deadline()));
    }

    fn on_notice(&mut self, notice: Notice) {
        match notice {
            Notice::Granted { ticket, request, token, until } => {
                self.state.grant(ticket, token, Some(Moment::from_time(until)));
                self.reply(ticket, Ok(Granted { token, request }));
            }
            Notice::Extended { ticket, until } => {
                if !self.state.extend(ticket, Moment::from_time(until)) {
                    self.driver.expire(ticket, clock::now());
                }
            }
            Notice::Position { ticket, position } => self.state.set_position(ticket, position),
            Notice::Failed { ticket, failure } => self.reply(ticket, Err(failure)),
            Notice::Lost { ticket, loss } => self.state.lose(ticket, loss),
            Notice::Redial(voter) => {
                if let Some(link) = self.links.get_mut(&voter) {
                    link.redial();
                }
            }
        }
    }

    fn reply(&mut self, ticket: Ticket, answer: Result<Granted, Failure>) {
        if let Some(reply) = self.replies.remove(&ticket) {
            // If the receiver is dropped, so is the guard, which releases the lock.
            let _ = reply.send(answer);
        }
    }

    /// Queries the nodes for missing addresses: nodes learn each other's client addresses over time.
    fn ask_addresses(&mut self) {
        if self.addresses.are_incomplete() {
            let again = self.identity.attach_again(self.candidate);
            self.links.values_mut().for_each(|link| link.send(&again, &[]));
        }
    }

    /// Hands all messages to the links, which write them with the next poll.
    fn flush(&mut self, unwritten: &[Unwritten]) {
        for (voter, outbox) in self.driver.outboxes() {
            let bytes = encode(outbox, &self.driver);
            if let Some(link) = self.links.get_mut(&voter) {
                link.send(&bytes, unwritten);
            }
        }
    }

    /// Ends the session at the voters, and waits until they have read that.
    async fn close(mut self, done: oneshot::Sender<()>) {
        self.state.end();
        self.driver.end(clock::now());
        self.flush(&[]);
        let mut shutdowns: JoinSet<_> =
            self.links.into_iter().map(|(_, link)| link.shutdown()).collect();
        let all = async { while shutdowns.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, all).await;
        let _ = done.send(());
    }
}

/// Encodes the calls of one outbox. A request that no quorum has answered yet has a call of its own, under its own number,
/// so that a node that refuses it refuses nothing else.
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
            waiting.truncate(MAX_ANNOUNCED);
        }
        let alone = match &message {
            ToVoter::Request { claim, .. } if !driver.is_answered(claim.request) => {
                Some(claim.request.number)
            }
            ToVoter::Beat { waiting, .. } if waiting.len() > MAX_MESSAGES => Some(0),
            _ => None,
        };
        if alone.is_some() || batch.len() >= MAX_MESSAGES {
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
