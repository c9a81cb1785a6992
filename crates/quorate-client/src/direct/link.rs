//! The link of a direct session to one voter: a connection that is redialled as long as the session lives.
//!
//! Links have no tasks of their own. The task of the session polls them. A lock therefore costs one wake-up for all voters,
//! and no further wake-up for writing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use quorate_algorithms::mutex::leased_quorum::ToCandidate;
use quorate_core::ProcessId;
use quorate_protocol::{CallResponse, Failure, MembersKnown, Name, ServerMessage};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Sleep;

use super::addresses::Addresses;
use super::attach::{ATTACH, AttachError, Connection, SessionIdentity, attach};
use crate::credentials::Dialler;

/// Maximum time for a node to accept the bytes written to it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Pause before the first redial. It doubles with every failure.
const MIN_PAUSE: Duration = Duration::from_millis(20);

/// Maximum number of bytes buffered for a voter. A message beyond this limit is dropped: the candidate repeats it.
const MAX_UNSENT: usize = 1 << 20;

/// An event of a link, for its session.
pub(super) struct LinkEvent {
    pub(super) voter: ProcessId,
    pub(super) kind: LinkEventKind,
}

pub(super) enum LinkEventKind {
    Up,
    Down,
    /// The node has announced that it stops.
    Leaving,
    /// Messages of the voter have arrived.
    Received(Vec<ToCandidate<Name>>),
    /// The node has told the members of the cluster, which may have changed.
    Changes(Box<MembersKnown>),
    /// The node has refused the call with this number.
    Refused(u64, Failure),
}

/// Held by all bytes that are not written yet. The receiver ends once all holders are dropped.
pub(super) type Unwritten = mpsc::Sender<()>;

/// Everything that a link needs to dial its voter.
pub(super) struct DialParameters {
    pub(super) voter: ProcessId,
    pub(super) candidate: u64,
    pub(super) identity: Arc<SessionIdentity>,
    pub(super) dialler: Dialler,
    pub(super) addresses: Arc<Addresses>,
    /// Maximum pause between two attempts.
    pub(super) max_pause: Duration,
}

/// A link to one voter.
pub(super) struct Link {
    dial: Arc<DialParameters>,
    state: State,
    /// Number of failed attempts. Attempts rotate through the known addresses.
    attempt: usize,
    pause: Duration,
}

type Dialling = Pin<Box<dyn Future<Output = Result<Connection, AttachError>> + Send>>;

enum State {
    Dialling(Dialling),
    /// A new connection, not yet reported to the session.
    Connected(Box<Connection>),
    Up(Box<ActiveConnection>),
    /// The connection has ended; not yet reported to the session.
    Broken,
}

/// An established connection and its write buffer.
struct ActiveConnection {
    connection: Connection,
    unsent: BytesMut,
    unflushed: bool,
    unwritten: Vec<Unwritten>,
    /// When the node must have accepted the buffered bytes.
    write_deadline: Option<Pin<Box<Sleep>>>,
}

impl DialParameters {
    async fn connect(
        self: Arc<Self>,
        attempt: usize,
        pause: Duration,
    ) -> Result<Connection, AttachError> {
        tokio::time::sleep(pause).await;
        let unknown =
            || io::Error::new(io::ErrorKind::NotFound, "the address of the node is unknown");
        let address = self.addresses.address_of(self.voter, attempt).ok_or_else(unknown)?;
        let candidate = Some(self.candidate);
        let connection = attach(&self.dialler, &address, &self.identity, candidate).await?;
        self.addresses.learn(&connection.attached.members);
        // Votes are counted per voter: a load balancer that chooses the node cannot be used.
        if connection.attached.node as usize != self.voter.index() {
            return Err(AttachError::OtherNode);
        }
        Ok(connection)
    }
}

impl Link {
    /// Creates a link, with an existing connection if there is one.
    pub(super) fn new(dial: DialParameters, connection: Option<Connection>) -> Self {
        let dial = Arc::new(dial);
        let state = match connection {
            Some(connection) => State::Connected(Box::new(connection)),
            None => State::Dialling(Box::pin(Arc::clone(&dial).connect(0, Duration::ZERO))),
        };
        Self { dial, state, attempt: 0, pause: MIN_PAUSE }
    }

    /// Queues bytes for the next poll. Drops them if there is no connection or the buffer is full.
    pub(super) fn send(&mut self, bytes: &[u8], unwritten: &[Unwritten]) {
        let State::Up(active) = &mut self.state else { return };
        if active.unsent.len() + bytes.len() <= MAX_UNSENT {
            active.unsent.extend_from_slice(bytes);
            active.unwritten.extend_from_slice(unwritten);
        }
    }

    /// Discards the connection, so that it is dialled again.
    pub(super) fn redial(&mut self) {
        if matches!(self.state, State::Up(_) | State::Connected(_)) {
            self.state = State::Broken;
        }
    }

    /// Writes queued bytes, and collects events.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, out: &mut Vec<LinkEvent>) {
        let voter = self.dial.voter;
        let mut emit = |kind| out.push(LinkEvent { voter, kind });
        loop {
            match &mut self.state {
                State::Dialling(dialling) => match dialling.as_mut().poll(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Ok(connection)) => {
                        self.pause = MIN_PAUSE;
                        self.state = State::Connected(Box::new(connection));
                    }
                    Poll::Ready(Err(_)) => {
                        self.attempt += 1;
                        self.dial_anew();
                    }
                },
                State::Connected(_) => {
                    emit(LinkEventKind::Up);
                    self.state = match std::mem::replace(&mut self.state, State::Broken) {
                        State::Connected(connection) => {
                            State::Up(Box::new(ActiveConnection::new(*connection)))
                        }
                        other => other,
                    };
                }
                State::Up(active) => match active.poll(cx, &self.dial.addresses, &mut emit) {
                    Poll::Pending => return,
                    Poll::Ready(_) => self.state = State::Broken,
                },
                State::Broken => {
                    emit(LinkEventKind::Down);
                    self.dial_anew();
                }
            }
        }
    }

    fn dial_anew(&mut self) {
        let dialling = Arc::clone(&self.dial).connect(self.attempt, self.pause);
        self.state = State::Dialling(Box::pin(dialling));
        self.pause = (self.pause * 2).min(self.dial.max_pause.max(MIN_PAUSE));
    }

    /// Writes the queued bytes, and ends once the node has read them and has closed the connection too. Closing earlier
    /// could reset the connection, and a reset discards unread bytes.
    pub(super) async fn shutdown(self) -> io::Result<()> {
        let State::Up(active) = self.state else { return Ok(()) };
        let ActiveConnection { mut connection, unsent, .. } = *active;
        let stream = connection.reader.stream();
        stream.write_all(&unsent).await?;
        stream.flush().await?;
        stream.shutdown().await?;
        while connection.reader.next::<ServerMessage>().await?.is_some() {}
        Ok(())
    }
}

impl ActiveConnection {
    fn new(connection: Connection) -> Self {
        let (unsent, unwritten) = (BytesMut::new(), Vec::new());
        Self { connection, unsent, unflushed: false, unwritten, write_deadline: None }
    }

    /// Ready once the connection has ended.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        addresses: &Addresses,
        emit: &mut impl FnMut(LinkEventKind),
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(Err(error)) = self.poll_write(cx) {
            return Poll::Ready(Err(error));
        }
        loop {
            match ready!(self.connection.reader.poll_next::<ServerMessage>(cx))? {
                Some(message) => self.on_messages(message, addresses, emit)?,
                None => return Poll::Ready(Ok(())),
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unsent.is_empty() && !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        if let Poll::Ready(written) = self.poll_flush(cx) {
            self.write_deadline = None;
            self.unwritten.clear();
            return Poll::Ready(written);
        }
        let write_deadline =
            self.write_deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_TIMEOUT)));
        write_deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
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

    /// Emits events for everything that has arrived. Messages of the voter are combined into one event.
    fn on_messages(
        &mut self,
        first: ServerMessage,
        addresses: &Addresses,
        emit: &mut impl FnMut(LinkEventKind),
    ) -> io::Result<()> {
        let (mut messages, mut next) = (Vec::new(), Some(first));
        while let Some(message) = next {
            match message {
                ServerMessage::FromVoter(more) => messages.extend(more),
                ServerMessage::Leaving => emit(LinkEventKind::Leaving),
                ServerMessage::Response(ATTACH, CallResponse::Attached(attached)) => {
                    addresses.learn(&attached.members);
                    emit(LinkEventKind::Changes(Box::new(attached.members)));
                }
                ServerMessage::Changes(members) => {
                    addresses.learn(&members);
                    emit(LinkEventKind::Changes(members));
                }
                ServerMessage::Response(number, CallResponse::Failed(failure))
                    if number != ATTACH =>
                {
                    emit(LinkEventKind::Refused(number, failure));
                }
                _ => {}
            }
            next = self.connection.reader.take::<ServerMessage>()?;
        }
        if !messages.is_empty() {
            emit(LinkEventKind::Received(messages));
        }
        Ok(())
    }
}
