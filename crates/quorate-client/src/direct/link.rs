//! The connection of a direct session to one voter: dialled anew for as long as the session lives.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use quorate_algorithms::mutex::leased_quorum::ToCandidate;
use quorate_core::ProcessId;
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::{Answer, Ask, Attached, Call, Failure, Name, Say, SessionKey, greeting};
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::addresses::Addresses;
use crate::clock::Moment;
use crate::credentials::{Dialler, Stream};

/// Number of attach calls; requests have the numbers of their own.
const ATTACH: u64 = u64::MAX;

/// Time within which a node has to be connected and has to answer the attach call.
const CONNECT: Duration = Duration::from_secs(5);

/// Time within which a node has to take what is written to it.
const WRITE: Duration = Duration::from_secs(2);

/// Pause before the first attempt to dial anew; it doubles with every failure.
const PAUSE_LEAST: Duration = Duration::from_millis(20);

/// Capacity of the queue to one voter. A message that finds it full is dropped: the candidate repeats it.
const QUEUE: usize = 1_024;

/// The session as it presents itself to every node.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) key: SessionKey,
    pub(super) who: String,
    pub(super) place: String,
}

impl Identity {
    fn attach(&self, candidate: Option<u64>) -> Call {
        let (who, place) = (self.who.clone(), self.place.clone());
        Call::Attach { session: self.key, who, place, candidate }
    }

    /// An attach call to a node that knows the session already, to hear what it has learned since.
    pub(super) fn attach_again(&self, candidate: u64) -> Bytes {
        let mut bytes = BytesMut::new();
        put(ATTACH, self.attach(Some(candidate)), &mut bytes);
        bytes.freeze()
    }
}

/// Appends a call.
pub(super) fn put(number: u64, call: Call, bytes: &mut BytesMut) {
    frame::put(&Ask { number, sent: Moment::now().0, call }, bytes);
}

/// Why a node cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error(transparent)]
    Unfit(#[from] greeting::Unfit),
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error("another node answered than was expected")]
    OtherNode,
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Unfit(error.into())
    }
}

/// A connection that is bound to the session.
pub(super) struct Connection {
    reader: Reader<ReadHalf<Box<dyn Stream>>>,
    writer: WriteHalf<Box<dyn Stream>>,
    pub(super) attached: Attached,
}

/// Connects to a node and binds the connection to the session.
pub(super) async fn attach(
    dialler: &Dialler,
    endpoint: &str,
    identity: &Identity,
    candidate: Option<u64>,
) -> Result<Connection, Unusable> {
    let connect = async {
        let mut stream = dialler.dial(endpoint).await?;
        greeting::greet(&mut stream, dialler.token.as_deref()).await?;
        let (read, mut writer) = tokio::io::split(stream);
        let mut bytes = BytesMut::new();
        put(ATTACH, identity.attach(candidate), &mut bytes);
        writer.write_all(&bytes).await?;
        writer.flush().await?;
        let mut reader = Reader::new(read, frame::SAY_MOST);
        loop {
            match reader.next::<Say>().await? {
                Some(Say::Answer(ATTACH, Answer::Attached(attached))) => {
                    return Ok(Connection { reader, writer, attached: *attached });
                }
                Some(Say::Answer(ATTACH, Answer::Failed(failure))) => return Err(failure.into()),
                Some(_) => {}
                None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            }
        }
    };
    let late = || Err(io::Error::from(io::ErrorKind::TimedOut).into());
    tokio::time::timeout(CONNECT, connect).await.unwrap_or_else(|_| late())
}

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

/// What goes to a voter.
pub(super) enum Outgoing {
    Bytes(Bytes, Vec<Unwritten>),
    /// The last bytes. The connection is closed only once the node has read them and has closed it too: a connection that is
    /// reset would take them along.
    Farewell(Bytes, Unwritten),
    /// The connection is given up.
    Redial,
}

/// The session's end of a link. The link ends when it is dropped.
pub(super) struct Link {
    outgoing: mpsc::Sender<Outgoing>,
    task: JoinHandle<()>,
}

impl Link {
    /// Sends, unless the voter does not read.
    pub(super) fn send(&self, outgoing: Outgoing) {
        let _ = self.outgoing.try_send(outgoing);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Everything that a link needs.
pub(super) struct Dial {
    pub(super) voter: ProcessId,
    pub(super) candidate: u64,
    pub(super) identity: Arc<Identity>,
    pub(super) dialler: Dialler,
    pub(super) addresses: Arc<Addresses>,
    pub(super) events: mpsc::Sender<LinkEvent>,
    /// Longest pause between two attempts.
    pub(super) pause_most: Duration,
}

impl Dial {
    /// Starts a link, with a connection if there is one already.
    pub(super) fn start(self, connection: Option<Connection>) -> Link {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        Link { outgoing, task: tokio::spawn(self.run(connection, queue)) }
    }

    async fn run(self, mut first: Option<Connection>, mut queue: mpsc::Receiver<Outgoing>) {
        let (mut pause, mut attempt) = (PAUSE_LEAST, 0);
        loop {
            let connected = match first.take() {
                Some(connection) => Ok(connection),
                None => self.connect(attempt).await,
            };
            attempt += 1;
            if let Ok(connection) = connected {
                (pause, attempt) = (PAUSE_LEAST, attempt - 1);
                // Left over from the connection before.
                while queue.try_recv().is_ok() {}
                self.tell(What::Up).await;
                let talked = self.talk(connection, &mut queue).await;
                self.tell(What::Down).await;
                if talked.is_ok() {
                    return;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(self.pause_most.max(PAUSE_LEAST));
        }
    }

    async fn tell(&self, what: What) {
        let _ = self.events.send(LinkEvent { voter: self.voter, what }).await;
    }

    async fn connect(&self, attempt: usize) -> Result<Connection, Unusable> {
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

    /// Talks until the connection breaks; `Ok` if the session has ended.
    async fn talk(
        &self,
        connection: Connection,
        queue: &mut mpsc::Receiver<Outgoing>,
    ) -> io::Result<()> {
        let Connection { mut reader, mut writer, .. } = connection;
        loop {
            tokio::select! {
                say = reader.next::<Say>() => {
                    let ended = || io::Error::from(io::ErrorKind::UnexpectedEof);
                    self.hear(say?.ok_or_else(ended)?, &mut reader).await?;
                }
                outgoing = queue.recv() => {
                    let Some(outgoing) = outgoing else { return Ok(()) };
                    if let Some(_unwritten) = write(outgoing, queue, &mut writer).await? {
                        writer.shutdown().await?;
                        while reader.next::<Say>().await?.is_some() {}
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Tells the session everything that has arrived, in as few events as possible.
    async fn hear(
        &self,
        first: Say,
        reader: &mut Reader<ReadHalf<Box<dyn Stream>>>,
    ) -> io::Result<()> {
        let (mut messages, mut next) = (Vec::new(), Some(first));
        while let Some(say) = next {
            match say {
                Say::FromVoter(more) => messages.extend(more),
                Say::Leaving => self.tell(What::Leaving).await,
                Say::Answer(ATTACH, Answer::Attached(told)) => self.addresses.learn(&told),
                Say::Answer(number, Answer::Failed(failure)) if number != ATTACH => {
                    self.tell(What::Refused(number, failure)).await;
                }
                _ => {}
            }
            next = reader.take::<Say>()?;
        }
        if !messages.is_empty() {
            self.tell(What::Heard(messages)).await;
        }
        Ok(())
    }
}

/// Writes everything that is there, at once; tells who waits if that was the last.
async fn write(
    first: Outgoing,
    queue: &mut mpsc::Receiver<Outgoing>,
    writer: &mut WriteHalf<Box<dyn Stream>>,
) -> io::Result<Option<Unwritten>> {
    let (mut bytes, mut unwritten, mut next) = (BytesMut::new(), Vec::new(), Some(first));
    let mut last = None;
    while let Some(outgoing) = next {
        match outgoing {
            Outgoing::Bytes(more, until) => {
                bytes.extend_from_slice(&more);
                unwritten.extend(until);
            }
            Outgoing::Farewell(more, until) => {
                bytes.extend_from_slice(&more);
                last = Some(until);
            }
            Outgoing::Redial => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it says nothing"));
            }
        }
        next = queue.try_recv().ok();
    }
    let written = async {
        writer.write_all(&bytes).await?;
        writer.flush().await
    };
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    tokio::time::timeout(WRITE, written).await.map_err(late)??;
    Ok(last)
}
