//! The link of a direct session to one voter: a connection that is dialled anew for as long as the session lives.
//!
//! Links have no tasks of their own. The task of the session polls them, so that a lock costs it one wake-up for all voters,
//! and what it sends is written without another.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use quorate_algorithms::mutex::leased_quorum::ToCandidate;
use quorate_core::ProcessId;
use quorate_protocol::{Answer, Failure, Name, Say};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Sleep;

use super::addresses::Addresses;
use super::attach::{ATTACH, Connection, Identity, Unusable, attach};
use crate::credentials::Dialler;

/// Time within which a node has to take what is written to it.
const WRITE: Duration = Duration::from_secs(2);

/// Pause before the first attempt to dial anew; it doubles with every failure.
const PAUSE_LEAST: Duration = Duration::from_millis(20);

/// Maximum number of bytes that wait for a voter. A message beyond that is dropped: the candidate repeats it.
const UNSENT_MOST: usize = 1 << 20;

/// What a link tells its session.
pub(super) struct LinkEvent {
    pub(super) voter: ProcessId,
    pub(super) what: What,
}

pub(super) enum What {
    Up,
    Down,
    /// The node stops.
    Leaving,
    /// The voter's messages.
    Heard(Vec<ToCandidate<Name>>),
    /// The node has refused the call of this number.
    Refused(u64, Failure),
}

/// Held by everything that is not written yet: the receiver ends once all of it is.
pub(super) type Unwritten = mpsc::Sender<()>;

/// Everything that a link needs to dial.
pub(super) struct Dial {
    pub(super) voter: ProcessId,
    pub(super) candidate: u64,
    pub(super) identity: Arc<Identity>,
    pub(super) dialler: Dialler,
    pub(super) addresses: Arc<Addresses>,
    /// Longest pause between two attempts.
    pub(super) pause_most: Duration,
}

/// A link to one voter.
pub(super) struct Link {
    dial: Arc<Dial>,
    state: State,
    /// Number of attempts, which take turns between the addresses.
    attempt: usize,
    pause: Duration,
}

type Dialling = Pin<Box<dyn Future<Output = Result<Connection, Unusable>> + Send>>;

enum State {
    Dialling(Dialling),
    /// There is a connection of which the session has not heard yet.
    Connected(Box<Connection>),
    Up(Box<Talk>),
    /// The connection has ended, of which the session has not heard yet.
    Broken,
}

/// A connection in use.
struct Talk {
    connection: Connection,
    unsent: BytesMut,
    unflushed: bool,
    unwritten: Vec<Unwritten>,
    /// When the node has to have taken what waits.
    late: Option<Pin<Box<Sleep>>>,
}

impl Dial {
    async fn connect(
        self: Arc<Self>,
        attempt: usize,
        pause: Duration,
    ) -> Result<Connection, Unusable> {
        tokio::time::sleep(pause).await;
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "its address is unknown");
        let address = self.addresses.of(self.voter, attempt).ok_or_else(unknown)?;
        let candidate = Some(self.candidate);
        let connection = attach(&self.dialler, &address, &self.identity, candidate).await?;
        self.addresses.learn(&connection.attached);
        // Votes are counted by voter: a proxy that chooses a node by itself cannot be used.
        if connection.attached.node as usize != self.voter.index() {
            return Err(Unusable::OtherNode);
        }
        Ok(connection)
    }
}

impl Link {
    /// A link, with a connection if there is one already.
    pub(super) fn new(dial: Dial, connection: Option<Connection>) -> Self {
        let dial = Arc::new(dial);
        let state = match connection {
            Some(connection) => State::Connected(Box::new(connection)),
            None => State::Dialling(Box::pin(Arc::clone(&dial).connect(0, Duration::ZERO))),
        };
        Self { dial, state, attempt: 0, pause: PAUSE_LEAST }
    }

    /// Sends with the next poll, unless there is no connection or the voter does not read.
    pub(super) fn send(&mut self, bytes: &[u8], unwritten: &[Unwritten]) {
        let State::Up(talk) = &mut self.state else { return };
        if talk.unsent.len() + bytes.len() <= UNSENT_MOST {
            talk.unsent.extend_from_slice(bytes);
            talk.unwritten.extend_from_slice(unwritten);
        }
    }

    /// Gives up the connection, which is dialled anew.
    pub(super) fn redial(&mut self) {
        if matches!(self.state, State::Up(_) | State::Connected(_)) {
            self.state = State::Broken;
        }
    }

    /// Writes what was sent, and collects what has happened.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, out: &mut Vec<LinkEvent>) {
        let voter = self.dial.voter;
        let mut tell = |what| out.push(LinkEvent { voter, what });
        loop {
            match &mut self.state {
                State::Dialling(dialling) => match dialling.as_mut().poll(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Ok(connection)) => {
                        self.pause = PAUSE_LEAST;
                        self.state = State::Connected(Box::new(connection));
                    }
                    Poll::Ready(Err(_)) => {
                        self.attempt += 1;
                        self.dial_anew();
                    }
                },
                State::Connected(_) => {
                    tell(What::Up);
                    self.state = match std::mem::replace(&mut self.state, State::Broken) {
                        State::Connected(connection) => State::Up(Box::new(Talk::new(*connection))),
                        other => other,
                    };
                }
                State::Up(talk) => match talk.poll(cx, &self.dial.addresses, &mut tell) {
                    Poll::Pending => return,
                    Poll::Ready(_) => self.state = State::Broken,
                },
                State::Broken => {
                    tell(What::Down);
                    self.dial_anew();
                }
            }
        }
    }

    fn dial_anew(&mut self) {
        let dialling = Arc::clone(&self.dial).connect(self.attempt, self.pause);
        self.state = State::Dialling(Box::pin(dialling));
        self.pause = (self.pause * 2).min(self.dial.pause_most.max(PAUSE_LEAST));
    }

    /// Writes what was sent last, and ends once the node has read it and has closed the connection too: a connection that
    /// is reset would take it along.
    pub(super) async fn farewell(self) -> io::Result<()> {
        let State::Up(talk) = self.state else { return Ok(()) };
        let Talk { mut connection, unsent, .. } = *talk;
        let stream = connection.reader.stream();
        stream.write_all(&unsent).await?;
        stream.flush().await?;
        stream.shutdown().await?;
        while connection.reader.next::<Say>().await?.is_some() {}
        Ok(())
    }
}

impl Talk {
    fn new(connection: Connection) -> Self {
        let (unsent, unwritten) = (BytesMut::new(), Vec::new());
        Self { connection, unsent, unflushed: false, unwritten, late: None }
    }

    /// Ready once the connection is of no use any more.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        addresses: &Addresses,
        tell: &mut impl FnMut(What),
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(Err(error)) = self.poll_write(cx) {
            return Poll::Ready(Err(error));
        }
        loop {
            match ready!(self.connection.reader.poll_next::<Say>(cx))? {
                Some(say) => self.hear(say, addresses, tell)?,
                None => return Poll::Ready(Ok(())),
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unsent.is_empty() && !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        if let Poll::Ready(written) = self.poll_flush(cx) {
            self.late = None;
            self.unwritten.clear();
            return Poll::Ready(written);
        }
        let late = self.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE)));
        late.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut stream = Pin::new(self.connection.reader.stream());
        while !self.unsent.is_empty() {
            let written = ready!(stream.as_mut().poll_write(cx, &self.unsent))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unsent.advance(written);
            self.unflushed = true;
        }
        ready!(stream.poll_flush(cx))?;
        self.unflushed = false;
        Poll::Ready(Ok(()))
    }

    /// Tells everything that has arrived, in as few events as possible.
    fn hear(
        &mut self,
        first: Say,
        addresses: &Addresses,
        tell: &mut impl FnMut(What),
    ) -> io::Result<()> {
        let (mut messages, mut next) = (Vec::new(), Some(first));
        while let Some(say) = next {
            match say {
                Say::FromVoter(more) => messages.extend(more),
                Say::Leaving => tell(What::Leaving),
                Say::Answer(ATTACH, Answer::Attached(told)) => addresses.learn(&told),
                Say::Answer(number, Answer::Failed(failure)) if number != ATTACH => {
                    tell(What::Refused(number, failure));
                }
                _ => {}
            }
            next = self.connection.reader.take::<Say>()?;
        }
        if !messages.is_empty() {
            tell(What::Heard(messages));
        }
        Ok(())
    }
}
