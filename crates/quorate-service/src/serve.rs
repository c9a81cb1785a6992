//! The door for clients: one port for the clients' protocol and for HTTP, with TLS and without.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bytes::BytesMut;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use quorate_net::{Stream, Tls};
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::{Answer, Ask, Failure, Say, greeting};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use crate::connections::{Connection, Connections, Full, STRANGER};
use crate::core::ConnectionId;
use crate::door::Door;
use crate::etcd::Lifeline;
use crate::event_loop::{Inbox, Input};
use crate::files::open_files;
use crate::rights::{Entry, Rights, Shown};

/// Number of connections that are told why they are not taken, at the same time.
const REFUSALS: usize = 64;

/// Open files that are not for connections of clients: peers, listeners, the state file, logs.
const OTHER_FILES: u64 = 256;

/// So much may wait for one client before it counts as one that does not read.
const OUTBOX: usize = 4_096;

/// So many calls of one connection of HTTP/2 may wait.
const STREAMS: u32 = 4_096;

/// How long a client has for its first words, those of TLS included.
const GREETING: Duration = Duration::from_secs(5);

/// Time within which the last words of a client that has stopped listening are read.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How every connection of TLS begins.
const TLS_HANDSHAKE: u8 = 0x16;

/// What all connections share.
pub(crate) struct Doorman {
    pub(crate) door: Door,
    pub(crate) entry: Arc<Entry>,
    pub(crate) tls: Option<Arc<Tls>>,
    /// Whether clients may speak in plain text: nobody listens in on loopback.
    pub(crate) plain: bool,
    pub(crate) pages: Router,
    pub(crate) connections: Arc<Connections>,
}

/// Room for connections: as many as wanted and as open files allow. One address has at most half of it.
pub(crate) fn room_for(most: usize, per_address: usize) -> Arc<Connections> {
    let files = open_files();
    let files = files - OTHER_FILES.min(files / 4);
    let most = most.min(usize::try_from(files).unwrap_or(usize::MAX)).max(2);
    Connections::new(most, per_address.min(most / 2).max(1), STRANGER)
}

/// Lets clients in.
pub(crate) async fn accept(listener: TcpListener, doorman: Arc<Doorman>) {
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let _ = stream.set_nodelay(true);
                match doorman.connections.enter(address.ip().to_canonical()) {
                    Ok(connection) => {
                        let doorman = Arc::clone(&doorman);
                        tokio::spawn(async move {
                            tokio::select! {
                                () = doorman.open(stream, &connection) => {}
                                () = connection.over() => {}
                            }
                        });
                    }
                    Err(full) => {
                        tracing::debug!(%address, %full, "a connection is not taken");
                        let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() else {
                            continue;
                        };
                        tokio::spawn(async move {
                            refuse(stream, full).await;
                            drop(permit);
                        });
                    }
                }
            }
            // Too many files, say: others may close some.
            Err(error) => {
                tracing::warn!(%error, "a client could not be let in");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Says why a connection is not taken, in the language that the client speaks.
async fn refuse(mut stream: TcpStream, full: Full) {
    let mut first = [0; 4];
    let begins = tokio::time::timeout(Duration::from_secs(1), stream.read_exact(&mut first)).await;
    if !matches!(begins, Ok(Ok(_))) || first[0] == TLS_HANDSHAKE {
        return;
    }
    let why = full.to_string();
    if first == greeting::MAGIC {
        let _ = greeting::answer(&mut stream, &why).await;
    } else {
        let body = format!("{{\"code\":\"too-much\",\"error\":\"{why}\"}}\n");
        let head = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-type: application/json";
        let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let _ = stream.write_all(text.as_bytes()).await;
    }
}

impl Doorman {
    async fn open(&self, mut stream: TcpStream, connection: &Arc<Connection>) {
        let mut first = [0];
        let begins = tokio::time::timeout(GREETING, stream.peek(&mut first)).await;
        if !matches!(begins, Ok(Ok(1))) {
            return;
        }
        match &self.tls {
            Some(tls) if first[0] == TLS_HANDSHAKE => {
                let spoken = tokio::time::timeout(GREETING, tls.accept_client(stream)).await;
                match spoken {
                    Ok(Ok((stream, certificate))) => {
                        self.listen(stream, Shown { token: None, certificate }, connection).await;
                    }
                    Ok(Err(error)) => tracing::debug!(%error, "a client cannot speak TLS with us"),
                    Err(_) => {}
                }
            }
            _ if self.plain => self.listen(stream, Shown::default(), connection).await,
            _ => {
                // Whoever speaks HTTP understands this, and whoever reads it too.
                let why = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\nspeak TLS here\n";
                let _ = stream.write_all(why.as_bytes()).await;
            }
        }
    }

    /// Finds out which language a client speaks.
    async fn listen(
        &self,
        mut stream: impl Stream + 'static,
        mut shown: Shown,
        connection: &Arc<Connection>,
    ) {
        let mut magic = [0; 4];
        let read = tokio::time::timeout(GREETING, stream.read_exact(&mut magic)).await;
        if !matches!(read, Ok(Ok(_))) {
            return;
        }
        if magic != greeting::MAGIC {
            return self.serve_http(magic, stream, shown, connection).await;
        }
        let heard = tokio::time::timeout(GREETING, greeting::hear(&mut stream)).await;
        let Ok(Ok(token)) = heard else { return };
        shown.token = Some(token);
        match self.entry.admit(&shown, connection.address) {
            Ok(rights) => {
                connection.admit();
                if greeting::answer(&mut stream, "").await.is_ok() {
                    self.serve(stream, &rights).await;
                }
            }
            Err(why) => {
                tracing::info!(why, "a client is not let in");
                let _ = greeting::answer(&mut stream, why).await;
            }
        }
    }

    async fn serve_http(
        &self,
        first: [u8; 4],
        stream: impl Stream + 'static,
        shown: Shown,
        connection: &Arc<Connection>,
    ) {
        let (read, write) = tokio::io::split(stream);
        let io = TokioIo::new(tokio::io::join(std::io::Cursor::new(first).chain(read), write));
        let pages = self.pages.clone().layer(axum::Extension(shown));
        let mut pages = pages.layer(axum::Extension(Arc::clone(connection)));
        // Who has to show nothing has its rights by the connection.
        if let Ok(rights) = self.entry.admit_strangers(connection.address) {
            pages = pages.layer(axum::Extension(rights));
        }
        // What lives as long as the connection knows when it ends. It hangs on connections that are kept.
        let (_alive, lifeline) = Lifeline::new();
        let pages = pages.layer(axum::Extension(lifeline));
        let mut server = auto::Builder::new(TokioExecutor::new());
        server.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(10));
        server
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(16 << 10)
            .keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(20));
        let served = server.serve_connection(io, TowerToHyperService::new(pages)).await;
        if let Err(error) = served {
            tracing::debug!(%error, "a connection broke");
        }
    }

    /// Speaks the clients' protocol.
    async fn serve(&self, stream: impl Stream, rights: &Rights) {
        let (client, inbox) = (self.door.next_client(), self.door.inbox());
        let (says, to_say) = mpsc::channel(OUTBOX);
        if inbox.give([Input::Come(client, rights.owner.clone(), says.clone())]).is_err() {
            return;
        }
        let (read, write) = tokio::io::split(stream);
        let reader = Reader::new(read, frame::ASK_MOST);
        let asks = hear_all(reader, client, rights, inbox, says.downgrade());
        drop(says);
        tokio::pin!(asks);
        tokio::select! {
            // An answer that comes of what was asked is written with the same poll.
            biased;
            () = &mut asks => {}
            cut = say_all(write, to_say) => if cut {
                // A client that has stopped listening may have said something before, for example that it has stopped.
                let _ = tokio::time::timeout(LAST_WORDS, asks).await;
            }
        }
        let _ = inbox.give([Input::Gone(client, true)]);
    }
}

/// Handles everything that a client asks, as much at once as has arrived, until it is gone.
async fn hear_all(
    mut reader: Reader<impl AsyncRead + Unpin>,
    client: ConnectionId,
    rights: &Rights,
    inbox: &Inbox,
    says: mpsc::WeakSender<Say>,
) {
    let mut inputs = Vec::new();
    loop {
        let next = match reader.take::<Ask>() {
            Ok(None) => {
                if inbox.give(inputs.drain(..)).is_err() {
                    return;
                }
                reader.next().await
            }
            next => next,
        };
        let ask = match next {
            Ok(Some(ask)) => ask,
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "a client is not understood");
                let _ = inbox.give(inputs);
                return;
            }
        };
        if let Some(pause) = rights.pause() {
            if inbox.give(inputs.drain(..)).is_err() {
                return;
            }
            tokio::time::sleep(pause).await;
        }
        if let Some(why) = rights.objection(&ask.call) {
            let failed = Answer::Failed(Failure::NotAllowed(why));
            let Some(says) = says.upgrade() else { return };
            if says.send(Say::Answer(ask.number, failed)).await.is_err() {
                return;
            }
        } else {
            inputs.push(Input::Ask(client, ask));
        }
    }
}

/// Writes what is to be said, as much at once as there is, until there is no more; tells whether the client has stopped
/// listening before.
async fn say_all(mut write: impl AsyncWrite + Unpin, mut to_say: mpsc::Receiver<Say>) -> bool {
    let (mut batch, mut bytes) = (Vec::new(), BytesMut::new());
    while to_say.recv_many(&mut batch, 256).await > 0 {
        batch.drain(..).for_each(|say| frame::put(&say, &mut bytes));
        if write.write_all(&bytes).await.is_err() || write.flush().await.is_err() {
            return true;
        }
        bytes.clear();
    }
    false
}
