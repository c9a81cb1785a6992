//! A proxy between the nodes and a client of etcd's API that is not ours. It observes the client's calls for its lease and
//! their answers, with the node and the times. It changes nothing: a silent node stays silent, a closed connection is
//! closed.
//!
//! It parses only the data frames of HTTP/2. A message whose only field is a number in field 1 concerns a lease
//! (`LeaseGrant`, `LeaseKeepAlive`, `LeaseRevoke`). The answer to each has the TTL in field 3. etcd's clients send no other
//! message of this form.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quorate_client::Moment;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::Deadline;

/// Upper bound on the size of frames of clients and nodes.
const FRAME_MOST: usize = 1 << 20;

/// Length of the HTTP/2 connection preface of a client.
const PREFACE: usize = 24;

/// A proxy for one client. It ends when this is dropped.
pub(super) struct LeaseProxy {
    addresses: Vec<String>,
    observed: Arc<Mutex<LeaseObservation>>,
    _listeners: JoinSet<()>,
}

/// The observed state of a client's lease.
#[derive(Debug, Default)]
pub(super) struct LeaseObservation {
    /// The client has received an answer that the lease has expired.
    pub(super) over: bool,
    /// Deadline according to the answers so far; zero before the first one.
    pub(super) until: Deadline,
    /// The node that was called last.
    pub(super) node: usize,
    /// Log lines: `asked SENT NODE` and `told RECEIVED SENT NODE TTL`.
    pub(super) notes: Vec<String>,
    /// Send times of unanswered calls, for each connection and stream. Answers arrive in the order of the calls.
    pending_calls: BTreeMap<(u64, u32), VecDeque<u64>>,
    connections: u64,
}

impl LeaseObservation {
    fn record_call(&mut self, stream: (u64, u32), node: usize, message: &[u8]) {
        if is_about_a_lease(message) {
            let sent = Moment::now().0;
            self.node = node;
            self.pending_calls.entry(stream).or_default().push_back(sent);
            self.notes.push(format!("asked {sent} {node}"));
        }
    }

    fn record_reply(&mut self, stream: (u64, u32), node: usize, message: &[u8]) {
        let Some(sent) = self.pending_calls.get_mut(&stream).and_then(VecDeque::pop_front) else {
            return;
        };
        let (received, seconds) = (Moment::now().0, ttl(message));
        self.notes.push(format!("told {received} {sent} {node} {seconds}"));
        if seconds == 0 {
            self.over = true;
            return;
        }
        self.until.extend(Deadline::of_answer(sent, received, seconds));
    }
}

impl LeaseProxy {
    /// Starts a proxy for each node. The endpoint of node `first` comes first.
    pub(super) async fn start(endpoints: &[String], first: usize) -> io::Result<Self> {
        let observed =
            Arc::new(Mutex::new(LeaseObservation { node: first, ..LeaseObservation::default() }));
        let (mut listeners, mut addresses) = (JoinSet::new(), Vec::new());
        for (node, endpoint) in endpoints.iter().enumerate() {
            let listener = bind(endpoint).await?;
            addresses.push(listener.local_addr()?.to_string());
            listeners.spawn(listen(listener, endpoint.clone(), node, Arc::clone(&observed)));
        }
        addresses.rotate_left(first % endpoints.len());
        Ok(Self { addresses, observed, _listeners: listeners })
    }

    /// The endpoints that the client uses in place of the nodes.
    pub(super) fn endpoints(&self) -> String {
        self.addresses.join(",")
    }

    pub(super) fn observed(&self) -> MutexGuard<'_, LeaseObservation> {
        lock(&self.observed)
    }
}

fn lock(observed: &Mutex<LeaseObservation>) -> MutexGuard<'_, LeaseObservation> {
    observed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens on loopback with the port of a node: nodes refuse calls whose `host` names another port.
async fn bind(endpoint: &str) -> io::Result<TcpListener> {
    let port = endpoint.rsplit_once(':').map_or("", |(_, port)| port);
    let process = std::process::id();
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for index in 1..255 {
        let address = format!("127.{}.{}.{index}:{port}", 200 + process % 50, process / 50 % 256);
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

async fn listen(
    listener: TcpListener,
    endpoint: String,
    node: usize,
    observed: Arc<Mutex<LeaseObservation>>,
) {
    // Connections end with their listener.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (endpoint, observed) = (endpoint.clone(), Arc::clone(&observed));
        connections.spawn(async move {
            let _ = forward(stream, &endpoint, node, &observed).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Forwards bytes in both directions until either side closes.
async fn forward(
    mut client: TcpStream,
    endpoint: &str,
    node: usize,
    observed: &Mutex<LeaseObservation>,
) -> io::Result<()> {
    let mut server = TcpStream::connect(endpoint).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let connection = {
        let mut observed = lock(observed);
        observed.connections += 1;
        observed.connections
    };
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let (mut frames, mut bytes) = (Frames::after(PREFACE), vec![0; 1 << 16]);
        loop {
            let count = from_client.read(&mut bytes).await?;
            // Recorded before it is forwarded: no node receives it earlier.
            frames.read(&bytes[..count], |stream, message| {
                lock(observed).record_call((connection, stream), node, message);
            });
            to_server.write_all(&bytes[..count]).await?;
            if count == 0 {
                return io::Result::Ok(());
            }
        }
    };
    let down = async {
        let (mut frames, mut bytes) = (Frames::after(0), vec![0; 1 << 16]);
        loop {
            let count = from_server.read(&mut bytes).await?;
            frames.read(&bytes[..count], |stream, message| {
                lock(observed).record_reply((connection, stream), node, message);
            });
            to_client.write_all(&bytes[..count]).await?;
            if count == 0 {
                return io::Result::Ok(());
            }
        }
    };
    tokio::select! {
        ended = up => ended,
        ended = down => ended,
    }
}

/// Parser for the frames of one direction of an HTTP/2 connection.
struct Frames {
    skip: usize,
    buffer: Vec<u8>,
    /// A frame was not understood: nothing is parsed any longer.
    lost: bool,
}

impl Frames {
    fn after(skip: usize) -> Self {
        Self { skip, buffer: Vec::new(), lost: false }
    }

    /// Parses bytes, and passes each complete gRPC message with its stream to `each`.
    fn read(&mut self, mut bytes: &[u8], mut each: impl FnMut(u32, &[u8])) {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        bytes = &bytes[skipped..];
        if self.lost {
            return;
        }
        self.buffer.extend_from_slice(bytes);
        let mut rest = self.buffer.as_slice();
        while let Some((head, after)) = rest.split_at_checked(9) {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            if length > FRAME_MOST {
                self.lost = true;
                break;
            }
            let Some((payload, after)) = after.split_at_checked(length) else { break };
            // A data frame without padding.
            if (head[3], head[4] & 8) == (0, 0) {
                let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
                messages(payload, |message| each(stream, message));
            }
            rest = after;
        }
        let done = self.buffer.len() - rest.len();
        self.buffer.drain(..done);
    }
}

/// Messages in the data of a frame. Messages about leases are small enough to be in one frame.
fn messages(mut data: &[u8], mut each: impl FnMut(&[u8])) {
    while let Some((head, after)) = data.split_at_checked(5) {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let Some((message, after)) = after.split_at_checked(length) else { return };
        each(message);
        data = after;
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The next field of a message: its number, and its value if that is a varint.
fn field(bytes: &mut &[u8]) -> Option<(u64, Option<u64>)> {
    let key = varint(bytes)?;
    let skip = match key & 7 {
        0 => return Some((key >> 3, Some(varint(bytes)?))),
        1 => 8,
        2 => usize::try_from(varint(bytes)?).ok()?,
        5 => 4,
        _ => return None,
    };
    *bytes = bytes.get(skip..)?;
    Some((key >> 3, None))
}

fn is_about_a_lease(mut message: &[u8]) -> bool {
    matches!(field(&mut message), Some((1, Some(_)))) && message.is_empty()
}

/// The TTL of an answer; zero if there is none.
fn ttl(mut message: &[u8]) -> u64 {
    while let Some(field) = field(&mut message) {
        if let (3, Some(seconds)) = field {
            // Negative if there is no such lease.
            return u64::try_from(seconds as i64).unwrap_or(0);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u8, message: &[u8]) -> Vec<u8> {
        let length = message.len() as u8;
        let head = [0, 0, length + 5, kind, 0, 0, 0, 0, stream, 0, 0, 0, 0, length];
        [&head[..], message].concat()
    }

    #[test]
    fn messages_are_found_wherever_the_bytes_are_cut() {
        let ask = [0x08, 0xb5, 0x02];
        let bytes = [vec![0; PREFACE], frame(4, 0, &[9]), frame(0, 3, &ask), frame(0, 5, &[])];
        let bytes = bytes.concat();
        for cut in 0..bytes.len() {
            let (mut frames, mut found) = (Frames::after(PREFACE), Vec::new());
            for part in [&bytes[..cut], &bytes[cut..]] {
                frames.read(part, |stream, message| found.push((stream, message.to_vec())));
            }
            assert_eq!(found, [(3, ask.to_vec()), (5, Vec::new())], "cut at {cut}");
        }
    }

    #[test]
    fn asks_and_answers_for_a_lease_are_told_from_others() {
        assert!(is_about_a_lease(&[0x08, 0xb5, 0x02]));
        // A range request for a key, and a number followed by another field.
        assert!(!is_about_a_lease(&[0x0a, 1, b'k']) && !is_about_a_lease(&[0x08, 1, 0x10, 1]));
        assert!(!is_about_a_lease(&[]) && !is_about_a_lease(&[0x08, 0xb5]));
        assert_eq!(ttl(&[0x0a, 2, 0x08, 1, 0x10, 0xb5, 0x02, 0x18, 2]), 2);
        assert_eq!((ttl(&[0x10, 1]), ttl(&[0x0a, 9])), (0, 0));
    }

    #[test]
    fn what_a_client_is_told_extends_its_lease_until_it_is_over() {
        let (ask, answer) = ([0x08, 0xb5, 0x02], [0x10, 0xb5, 0x02, 0x18, 2]);
        let mut observed = LeaseObservation::default();
        observed.record_reply((1, 1), 2, &answer);
        assert_eq!(observed.until, Deadline::default(), "nobody asked");
        observed.record_call((1, 1), 2, &ask);
        observed.record_call((1, 3), 0, &[0x0a, 1, b'k']);
        assert_eq!((observed.node, observed.notes.len()), (2, 1));
        observed.record_reply((1, 1), 2, &answer);
        assert!(observed.until.promised >= Moment::now().0 + 1_000_000 && !observed.over);
        observed.record_call((1, 1), 2, &ask);
        observed.record_reply((1, 1), 2, &[0x10, 0xb5, 0x02]);
        assert!(observed.over);
    }
}
