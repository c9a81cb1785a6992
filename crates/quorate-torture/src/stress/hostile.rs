//! Misbehaving clients.

use std::io::{self, Read};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use quorate_client::{Client, Error, Moment, SessionOptions};
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::{
    Call, CallResponse, ClientMessage, Failure, ServerMessage, SessionKey, handshake,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rng::Rng;

/// Bytes that nodes send to an address that does not belong to a node.
#[derive(Debug)]
pub(super) struct Captured {
    address: String,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Captured {
    /// Listens for connections, without sending anything.
    pub(super) fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = Arc::clone(&bytes);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut buffer = [0; 4096];
                let Ok(length) = stream.and_then(|mut stream| stream.read(&mut buffer)) else {
                    continue;
                };
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = buffer[..length].to_vec();
            }
        });
        Ok(Self { address, bytes })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The first bytes of the last connection.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Number of calls of a client that reads no answers: more than a node queues for one client and the system buffers.
const UNREAD: u64 = 30_000;

/// Time within which a node must disconnect a client that reads nothing, and within which the end of the connection
/// arrives.
const GIVEN_UP: Duration = Duration::from_secs(5);

/// Requests lists, changes and the status repeatedly, and reads no answer. The node must disconnect such a client: the
/// connection has to end.
pub(super) async fn never_read(endpoint: &str) -> Vec<String> {
    match try_never_read(endpoint).await {
        Ok(()) => Vec::new(),
        Err(error) => vec![format!("a client that never reads: {error}")],
    }
}

async fn try_never_read(endpoint: &str) -> io::Result<()> {
    let mut stream = connect(endpoint).await?;
    let mut bytes = BytesMut::new();
    put(&mut bytes, 0, Call::Watch { prefix: String::new() });
    for number in 1..300 {
        let prefix = String::new();
        put(&mut bytes, number, Call::List { prefix, exact: false, after: None, most: u32::MAX });
    }
    (300..UNREAD).for_each(|number| put(&mut bytes, number, Call::Status));
    let written = tokio::time::timeout(GIVEN_UP, stream.write_all(&bytes)).await;
    tokio::time::sleep(GIVEN_UP).await;
    if let Ok(Err(error)) = written {
        return ended(error);
    }
    let (mut buffer, end) = (vec![0; 1 << 16], Moment::now().later(GIVEN_UP));
    loop {
        match tokio::time::timeout(end.from_now(), stream.read(&mut buffer)).await {
            Ok(Ok(0)) => return Ok(()),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return ended(error),
            Err(_) => return Err(io::Error::other("the node has not closed the connection")),
        }
    }
}

/// Accepts an error that only shows that the node has closed the connection.
fn ended(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
        _ => Err(error),
    }
}

fn put(bytes: &mut BytesMut, number: u64, call: Call) {
    frame::put(&ClientMessage { number, sent: 0, call }, bytes);
}

/// Sends noise, half a frame, a frame that is too large, and replayed frames to the addresses for clients.
pub(super) async fn at_clients(clients: &[String], strangers: usize) -> Vec<String> {
    let mut rng = Rng::new(1);
    let mut greeted = handshake::MAGIC.to_vec();
    greeted.extend(handshake::VERSIONS.newest.to_be_bytes());
    greeted.extend(handshake::VERSIONS.oldest.to_be_bytes());
    greeted.extend([0, 0]);
    let mut ask = BytesMut::new();
    put(&mut ask, 1, Call::Status);
    let kinds: [Vec<u8>; 4] = [
        noise(&mut rng, 4_000),
        [&greeted[..], &ask[..ask.len() / 2]].concat(),
        [&greeted[..], &u32::MAX.to_be_bytes(), &noise(&mut rng, 60_000)].concat(),
        [&greeted[..], &noise(&mut rng, 500)].concat(),
    ];
    let mut broken = Vec::new();
    for endpoint in clients {
        broken.extend(send_garbage(endpoint, &kinds, strangers).await);
    }
    broken.extend(replay(clients).await.unwrap_or_else(|error| vec![error.to_string()]));
    broken
}

/// Does the same with the addresses for nodes, which require a certificate. The captured bytes are those of a node.
pub(super) async fn at_peers(peers: &[String], captured: &[u8], strangers: usize) -> Vec<String> {
    if captured.is_empty() {
        return vec!["no bytes of a node were captured".to_owned()];
    }
    let mut rng = Rng::new(2);
    let hello = [&[0x16, 0x03, 0x01, 0xff, 0xff][..], &noise(&mut rng, 60_000)].concat();
    let kinds = [
        noise(&mut rng, 4_000),
        captured[..captured.len() / 2].to_vec(),
        hello,
        captured.to_vec(),
        [captured, &noise(&mut rng, 500)].concat(),
    ];
    let mut broken = Vec::new();
    for endpoint in peers {
        broken.extend(send_garbage(endpoint, &kinds, strangers).await);
    }
    broken
}

/// Opens `strangers` connections for each kind of bytes. Every second connection is closed after its bytes are sent, the
/// others stay until the end. The node may refuse the bytes, but it has to accept the connections.
async fn send_garbage(endpoint: &str, kinds: &[Vec<u8>], strangers: usize) -> Option<String> {
    let (mut open, mut refused) = (Vec::new(), None);
    for bytes in kinds {
        for stranger in 0..strangers {
            let mut stream = match TcpStream::connect(endpoint).await {
                Ok(stream) => stream,
                Err(error) => {
                    refused = refused.or(Some(format!("{endpoint} refuses connections: {error}")));
                    continue;
                }
            };
            let _ = stream.write_all(bytes).await;
            if stranger % 2 == 0 {
                open.push(stream);
            }
        }
    }
    refused
}

fn noise(rng: &mut Rng, length: usize) -> Vec<u8> {
    (0..length).map(|_| rng.in_range(0..256) as u8).collect()
}

/// Takes a lock with hand-made frames, and replays these frames on other connections: the lock must be granted once.
async fn replay(clients: &[String]) -> io::Result<Vec<String>> {
    let mut first = connect(&clients[0]).await?;
    let open = Call::Open {
        ttl_ms: 10_000,
        client_name: "replay".to_owned(),
        client_location: String::new(),
    };
    let CallResponse::Opened { session, .. } = ask(&mut first, 1, open).await? else {
        return Ok(vec!["no session".to_owned()]);
    };
    let name = quorate_client::Name::lock("replayed").map_err(io::Error::other)?;
    let acquire = Call::Acquire {
        session,
        request: 1,
        name,
        mode: quorate_protocol::Mode::Exclusive,
        wait_ms: None,
        why: String::new(),
        inside: None,
    };
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let mut again = connect(&clients[0]).await?;
        for _ in 0..3 {
            match ask(&mut again, 2, acquire.clone()).await? {
                CallResponse::Granted { token, .. } => tokens.push(token),
                other => return Ok(vec![format!("a replayed frame got {other:?}")]),
            }
        }
    }
    let release = Call::Release { session, request: 1 };
    let freed = [
        ask(&mut first, 3, release.clone()).await?,
        ask(&mut first, 4, release).await?,
        // A late copy of the request would be a new request, which ends with its session.
        ask(&mut first, 5, Call::Close(session)).await?,
        ask(&mut first, 6, acquire).await?,
    ];
    let expected = [
        CallResponse::Done,
        CallResponse::Failed(Failure::NoRequest),
        CallResponse::Done,
        CallResponse::Failed(Failure::NoSession),
    ];
    tokens.dedup();
    let mut broken = Vec::new();
    if tokens.len() != 1 {
        broken.push(format!("one replayed request got tokens {tokens:?}"));
    }
    if freed != expected {
        broken.push(format!("replayed frames got {freed:?}"));
    }
    Ok(broken)
}

async fn connect(endpoint: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(endpoint).await?;
    handshake::initiate(&mut stream, handshake::VERSIONS, None).await.map_err(io::Error::other)?;
    Ok(stream)
}

async fn ask(stream: &mut TcpStream, number: u64, call: Call) -> io::Result<CallResponse> {
    let mut bytes = BytesMut::new();
    put(&mut bytes, number, call);
    stream.write_all(&bytes).await?;
    let mut reader = Reader::new(stream, frame::SERVER_FRAME_MAX);
    loop {
        match reader.next::<ServerMessage>().await? {
            Some(ServerMessage::Response(_, answer)) => return Ok(answer),
            Some(_) => {}
            None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    }
}

/// A client holds a lock while another client releases locks of sessions whose keys it guesses.
pub(super) async fn guess(clients: &[String], guesses: usize) -> Vec<String> {
    let attempt = async {
        let session = Client::new([clients[1].as_str()]).session(SessionOptions::default()).await?;
        let guard = session.lock("guarded")?.acquire().await?;
        let mut stranger =
            connect(&clients[1]).await.map_err(|error| Error::Unreachable(error.to_string()))?;
        let (mut rng, mut bytes) = (Rng::new(3), BytesMut::new());
        for number in 0..guesses as u64 {
            let key = SessionKey(u128::from(rng.in_range(0..u64::MAX)) << 64 | u128::from(number));
            put(&mut bytes, number, Call::Release { session: key, request: 0 });
        }
        let all = async {
            stranger.write_all(&bytes).await?;
            let mut reader = Reader::new(&mut stranger, frame::SERVER_FRAME_MAX);
            let mut hits = 0;
            for _ in 0..guesses {
                let message = reader.next::<ServerMessage>().await?;
                hits += usize::from(!matches!(
                    message,
                    Some(ServerMessage::Response(_, CallResponse::Failed(Failure::NoSession)))
                ));
            }
            Ok::<_, io::Error>(hits)
        };
        let hits = all.await.map_err(|error| Error::Unreachable(error.to_string()))?;
        let held = guard.is_held();
        guard.release().await?;
        Ok::<_, Error>((hits, held))
    };
    match attempt.await {
        Ok((0, true)) => Vec::new(),
        Ok((hits, held)) => vec![format!("{hits} guesses were not refused; still held: {held}")],
        Err(error) => vec![error.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_node_that_is_not_there_is_reported() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = listener.local_addr().expect("an address").to_string();
        drop(listener);
        assert_eq!(never_read(&endpoint).await.len(), 1);
        assert!(send_garbage(&endpoint, &[vec![1]], 2).await.is_some());
    }
}
