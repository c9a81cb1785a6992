//! The client listener: one port for the native protocol and for HTTP, with or without TLS.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bytes::BytesMut;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use quorate_net::{Stream, Tls};
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::{CallResponse, ClientMessage, Failure, ServerMessage, handshake};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use crate::auth::{Authenticator, Permissions, PresentedCredentials};
use crate::connections::{ADMISSION_TIMEOUT, Connection, ConnectionLimit, Connections};
use crate::core::CallerId;
use crate::etcd::ConnectionLifetime;
use crate::event_loop::{Inbox, Input};
use crate::files::open_files;
use crate::local_client::LocalClient;

/// Maximum number of connections that are being refused with a reason at the same time. Others are
/// dropped without a reason.
const REFUSALS: usize = 64;

/// Open files that are not for connections of clients: peers, listeners, the state file, logs.
const OTHER_FILES: u64 = 256;

/// Outbox capacity in messages. A client that overflows it is disconnected.
const OUTBOX_CAPACITY: usize = 4_096;

/// Maximum number of concurrent calls on one HTTP/2 connection.
const HTTP2_STREAMS_MAX: u32 = 4_096;

/// Timeout for each step of a client's handshake, including that of TLS.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for reading the last messages of a client that no longer reads.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// First byte of every TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;

/// State that all connections share.
pub(crate) struct ClientListener {
    pub(crate) local_client: LocalClient,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) tls: Option<Arc<Tls>>,
    /// Whether clients may use plain text. On loopback it cannot be intercepted.
    pub(crate) allow_plaintext: bool,
    pub(crate) router: Router,
    pub(crate) connections: Arc<Connections>,
}

/// Computes the connection limits from the configuration and the open-file limit. One address may have at most
/// half of all connections.
pub(crate) fn connection_limits(most: usize, per_address: usize) -> Arc<Connections> {
    let files = open_files();
    let files = files - OTHER_FILES.min(files / 4);
    let most = most.min(usize::try_from(files).unwrap_or(usize::MAX)).max(2);
    Connections::new(most, per_address.min(most / 2).max(1), ADMISSION_TIMEOUT)
}

/// Accepts connections of clients.
pub(crate) async fn accept(listener: TcpListener, client_listener: Arc<ClientListener>) {
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let _ = stream.set_nodelay(true);
                match client_listener.connections.try_open(address.ip().to_canonical()) {
                    Ok(connection) => {
                        let client_listener = Arc::clone(&client_listener);
                        tokio::spawn(async move {
                            tokio::select! {
                                () = client_listener.open(stream, &connection) => {}
                                () = connection.closed() => {}
                            }
                        });
                    }
                    Err(full) => {
                        tracing::debug!(%address, %full, "connection refused");
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
            // For example, too many files are open. Other connections may close.
            Err(error) => {
                tracing::warn!(%error, "cannot accept a client connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Tells a client why its connection is refused, in the protocol that the client speaks.
async fn refuse(mut stream: TcpStream, full: ConnectionLimit) {
    let mut first = [0; 4];
    let peeked = tokio::time::timeout(Duration::from_secs(1), stream.read_exact(&mut first)).await;
    if !matches!(peeked, Ok(Ok(_))) || first[0] == TLS_HANDSHAKE {
        return;
    }
    let why = full.to_string();
    if first == handshake::MAGIC {
        let _ = handshake::respond(&mut stream, handshake::VERSIONS, &why).await;
    } else {
        let body = format!("{{\"code\":\"too-much\",\"error\":\"{why}\"}}\n");
        let head = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-type: application/json";
        let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let _ = stream.write_all(text.as_bytes()).await;
    }
}

impl ClientListener {
    async fn open(&self, mut stream: TcpStream, connection: &Arc<Connection>) {
        let mut first = [0];
        let peeked = tokio::time::timeout(HANDSHAKE_TIMEOUT, stream.peek(&mut first)).await;
        if !matches!(peeked, Ok(Ok(1))) {
            return;
        }
        match &self.tls {
            Some(tls) if first[0] == TLS_HANDSHAKE => {
                let accepted =
                    tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept_client(stream)).await;
                match accepted {
                    Ok(Ok((stream, certificate))) => {
                        self.listen(
                            Box::new(stream),
                            PresentedCredentials { token: None, certificate },
                            connection,
                        )
                        .await;
                    }
                    Ok(Err(error)) => tracing::debug!(%error, "TLS handshake with a client failed"),
                    Err(_) => {}
                }
            }
            _ if self.allow_plaintext => {
                self.listen(Box::new(stream), PresentedCredentials::default(), connection).await
            }
            _ => {
                // HTTP clients can parse this response, and people can read it.
                let why =
                    "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\nthis port requires TLS\n";
                let _ = stream.write_all(why.as_bytes()).await;
            }
        }
    }

    /// Detects the protocol of a client. The stream is boxed, so that HTTP is compiled once and not for each kind of stream.
    async fn listen(
        &self,
        mut stream: Box<dyn Stream>,
        mut credentials: PresentedCredentials,
        connection: &Arc<Connection>,
    ) {
        let mut magic = [0; 4];
        let read = tokio::time::timeout(HANDSHAKE_TIMEOUT, stream.read_exact(&mut magic)).await;
        if !matches!(read, Ok(Ok(_))) {
            return;
        }
        if magic != handshake::MAGIC {
            return self.serve_http(magic, stream, credentials, connection).await;
        }
        let received = tokio::time::timeout(
            HANDSHAKE_TIMEOUT,
            handshake::receive(&mut stream, handshake::VERSIONS),
        )
        .await;
        let Ok(Ok((_, token))) = received else { return };
        credentials.token = Some(token);
        match self.authenticator.admit(&credentials, connection.address) {
            Ok(permissions) => {
                connection.admit();
                if handshake::respond(&mut stream, handshake::VERSIONS, "").await.is_ok() {
                    self.serve(stream, &permissions).await;
                }
            }
            Err(why) => {
                tracing::info!(why, "client rejected");
                let _ = handshake::respond(&mut stream, handshake::VERSIONS, why).await;
            }
        }
    }

    async fn serve_http(
        &self,
        first: [u8; 4],
        stream: Box<dyn Stream>,
        credentials: PresentedCredentials,
        connection: &Arc<Connection>,
    ) {
        let (read, write) = tokio::io::split(stream);
        let io = TokioIo::new(tokio::io::join(std::io::Cursor::new(first).chain(read), write));
        let router = self.router.clone().layer(axum::Extension(credentials));
        let mut router = router.layer(axum::Extension(Arc::clone(connection)));
        // If no authentication is required, the connection itself carries the permissions.
        if let Ok(permissions) = self.authenticator.admit_anonymous(connection.address) {
            router = router.layer(axum::Extension(permissions));
        }
        // State that is bound to the connection is notified when the connection ends. Only persistent
        // connections have such state.
        let (_alive, lifetime) = ConnectionLifetime::new();
        let router = router.layer(axum::Extension(lifetime));
        let mut server = auto::Builder::new(TokioExecutor::new());
        server.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(10));
        server
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(HTTP2_STREAMS_MAX)
            .max_header_list_size(16 << 10)
            .keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(20));
        let served = server.serve_connection(io, TowerToHyperService::new(router)).await;
        if let Err(error) = served {
            tracing::debug!(%error, "HTTP connection failed");
        }
    }

    /// Serves the native protocol.
    async fn serve(&self, stream: Box<dyn Stream>, permissions: &Permissions) {
        let (client, inbox) = (self.local_client.next_connection(), self.local_client.inbox());
        let (outbox, outgoing) = mpsc::channel(OUTBOX_CAPACITY);
        if inbox
            .submit([Input::Connected(client, permissions.owner.clone(), outbox.clone())])
            .is_err()
        {
            return;
        }
        let (read, write) = tokio::io::split(stream);
        let reader = Reader::new(read, frame::CLIENT_FRAME_MAX);
        let reading = read_calls(reader, client, permissions, inbox, outbox.downgrade());
        drop(outbox);
        tokio::pin!(reading);
        tokio::select! {
            // With `biased`, the response to a call is written in the same poll.
            biased;
            () = &mut reading => {}
            cut = write_messages(write, outgoing) => if cut {
                // A client that no longer reads may have sent messages before, for example a release.
                let _ = tokio::time::timeout(DRAIN_TIMEOUT, reading).await;
            }
        }
        let _ = inbox.submit([Input::Disconnected(client, true)]);
    }
}

/// Handles all calls of a client, in batches, until it disconnects.
async fn read_calls(
    mut reader: Reader<impl AsyncRead + Unpin>,
    client: CallerId,
    permissions: &Permissions,
    inbox: &Inbox,
    outbox: mpsc::WeakSender<ServerMessage>,
) {
    let mut inputs = Vec::new();
    loop {
        let next = match reader.take::<ClientMessage>() {
            Ok(None) => {
                if inbox.submit(inputs.drain(..)).is_err() {
                    return;
                }
                reader.next().await
            }
            next => next,
        };
        let message = match next {
            Ok(Some(message)) => message,
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "malformed message from a client");
                let _ = inbox.submit(inputs);
                return;
            }
        };
        if let Some(pause) = permissions.throttle_delay() {
            if inbox.submit(inputs.drain(..)).is_err() {
                return;
            }
            tokio::time::sleep(pause).await;
        }
        if let Some(why) = permissions.denial(&message.call) {
            let failed = CallResponse::Failed(Failure::NotAllowed(why));
            let Some(outbox) = outbox.upgrade() else { return };
            if outbox.send(ServerMessage::Response(message.number, failed)).await.is_err() {
                return;
            }
        } else {
            inputs.push(Input::Call(client, message));
        }
    }
}

/// Writes messages in batches until the channel is closed; returns whether the client stopped reading before.
async fn write_messages(
    mut write: impl AsyncWrite + Unpin,
    mut outgoing: mpsc::Receiver<ServerMessage>,
) -> bool {
    let (mut batch, mut bytes) = (Vec::new(), BytesMut::new());
    while outgoing.recv_many(&mut batch, 256).await > 0 {
        batch.drain(..).for_each(|message| frame::put(&message, &mut bytes));
        if write.write_all(&bytes).await.is_err() || write.flush().await.is_err() {
            return true;
        }
        bytes.clear();
    }
    false
}
