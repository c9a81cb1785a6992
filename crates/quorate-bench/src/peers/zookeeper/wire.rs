//! The part of the ZooKeeper protocol that locks need: length-prefixed frames, integers of four and eight bytes, and
//! length-prefixed strings and lists.
//!
//! A connection is used by one client, which reads the replies itself. No other task reads, so that the measurement does
//! not include client work that a lock does not need. Only the pings of the session are sent by another task.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::error::BenchError;
use crate::loopback;

/// Maximum length of a frame. A list of thousands of names is far shorter.
const FRAME_MOST: usize = 16 << 20;

/// Operation codes of the protocol.
const CREATE: i32 = 1;
const DELETE: i32 = 2;
const GET_DATA: i32 = 4;
const GET_CHILDREN: i32 = 8;
const PING: i32 = 11;

/// Transaction numbers of frames that answer no request: an event, and the reply to a ping.
const EVENT_XID: i32 = -1;
const PING_XID: i32 = -2;

/// Error codes that are part of the recipe.
pub(super) const NO_NODE: i32 = -101;
pub(super) const NODE_EXISTS: i32 = -110;

/// Kind of node to create.
#[derive(Clone, Copy, Debug)]
pub(super) enum CreateMode {
    Persistent = 0,
    /// The node is deleted with its session, and its name ends in an increasing number.
    EphemeralSequential = 3,
}

/// Reason why a request failed.
#[derive(Debug)]
pub(super) enum RequestError {
    /// ZooKeeper replied with this error code.
    Code(i32),
    Lost(BenchError),
}

impl From<RequestError> for BenchError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Code(number) => Self(format!("ZooKeeper says: error {number}")),
            RequestError::Lost(error) => error,
        }
    }
}

fn lost(why: impl ToString) -> RequestError {
    RequestError::Lost(BenchError::new(why))
}

/// Session with its own connection.
pub(super) struct ZookeeperSession {
    reader: BufReader<OwnedReadHalf>,
    writer: Arc<Mutex<OwnedWriteHalf>>,
    pinger: JoinHandle<()>,
    /// Number of the last request.
    number: i32,
    /// Number of events received since the last watch was set.
    events: usize,
}

impl ZookeeperSession {
    /// Opens a new session that expires after `ttl` without contact.
    pub(super) async fn open(address: SocketAddr, ttl: Duration) -> Result<Self, BenchError> {
        let (reader, mut writer) =
            loopback::dial(address).await.map_err(BenchError::new)?.into_split();
        let mut reader = BufReader::new(reader);
        let mut connect_request = FrameWriter::default();
        connect_request
            .number(0)
            .long(0)
            .number(ttl.as_millis() as i32)
            .long(0)
            .bytes(&[0; 16])
            .flag(false);
        writer.write_all(&connect_request.frame()).await.map_err(BenchError::new)?;
        let connect_response = frame(&mut reader).await?;
        let mut connect_response = FrameReader(&connect_response);
        let (_, granted) = (connect_response.number()?, connect_response.number()?);
        if granted <= 0 {
            return Err(BenchError::new("ZooKeeper has opened no session"));
        }
        let writer = Arc::new(Mutex::new(writer));
        let pinger = tokio::spawn(send_pings(
            Arc::clone(&writer),
            Duration::from_millis(granted as u64) / 3,
        ));
        Ok(Self { reader, writer, pinger, number: 0, events: 0 })
    }

    /// Creates a node and returns its name, which has a number appended if the node is sequential.
    pub(super) async fn create(
        &mut self,
        path: &str,
        mode: CreateMode,
    ) -> Result<String, RequestError> {
        const ALL_RIGHTS: i32 = 31;
        let mut body = FrameWriter::default();
        body.text(path).bytes(&[]);
        body.number(1).number(ALL_RIGHTS).text("world").text("anyone").number(mode as i32);
        let answer = self.ask(CREATE, body).await?;
        Ok(FrameReader(&answer).text()?)
    }

    pub(super) async fn delete(&mut self, path: &str) -> Result<(), RequestError> {
        const ANY_VERSION: i32 = -1;
        let mut body = FrameWriter::default();
        body.text(path).number(ANY_VERSION);
        self.ask(DELETE, body).await?;
        Ok(())
    }

    /// Names of the children of a node.
    pub(super) async fn children(&mut self, path: &str) -> Result<Vec<String>, RequestError> {
        let mut body = FrameWriter::default();
        body.text(path).flag(false);
        let answer = self.ask(GET_CHILDREN, body).await?;
        let mut answer = FrameReader(&answer);
        let count = answer.number()?;
        let names: Result<Vec<String>, BenchError> = (0..count).map(|_| answer.text()).collect();
        Ok(names?)
    }

    /// Watches a node for deletion or change. Fails if the node does not exist.
    pub(super) async fn watch(&mut self, path: &str) -> Result<(), RequestError> {
        let mut body = FrameWriter::default();
        body.text(path).flag(true);
        self.events = 0;
        self.ask(GET_DATA, body).await?;
        Ok(())
    }

    /// Waits for the event of the watch.
    pub(super) async fn event(&mut self) -> Result<(), RequestError> {
        while self.events == 0 {
            let (number, _) = self.next().await?;
            if number != EVENT_XID && number != PING_XID {
                return Err(lost(format!(
                    "ZooKeeper answered a request that was not sent: {number}"
                )));
            }
        }
        Ok(())
    }

    async fn ask(&mut self, kind: i32, body: FrameWriter) -> Result<Vec<u8>, RequestError> {
        self.number += 1;
        let mut question = FrameWriter::default();
        question.number(self.number).number(kind);
        question.0.extend(body.0);
        let frame = question.frame();
        self.writer.lock().await.write_all(&frame).await.map_err(lost)?;
        loop {
            let (number, answer) = self.next().await?;
            if number == self.number {
                let mut heading = FrameReader(&answer);
                heading.long()?;
                return match heading.number()? {
                    0 => Ok(heading.0.to_vec()),
                    error => Err(RequestError::Code(error)),
                };
            }
        }
    }

    /// Reads the next frame. Returns the number of its request and the rest. Events are counted.
    async fn next(&mut self) -> Result<(i32, Vec<u8>), RequestError> {
        let bytes = frame(&mut self.reader).await?;
        let mut reader = FrameReader(&bytes);
        let number = reader.number()?;
        self.events += usize::from(number == EVENT_XID);
        Ok((number, reader.0.to_vec()))
    }
}

impl Drop for ZookeeperSession {
    fn drop(&mut self) {
        self.pinger.abort();
    }
}

impl From<BenchError> for RequestError {
    fn from(error: BenchError) -> Self {
        Self::Lost(error)
    }
}

async fn send_pings(writer: Arc<Mutex<OwnedWriteHalf>>, pause: Duration) {
    let mut body = FrameWriter::default();
    body.number(PING_XID).number(PING);
    let ping = body.frame();
    loop {
        tokio::time::sleep(pause).await;
        if writer.lock().await.write_all(&ping).await.is_err() {
            return;
        }
    }
}

async fn frame(reader: &mut BufReader<OwnedReadHalf>) -> Result<Vec<u8>, BenchError> {
    let length = reader.read_i32().await.map_err(BenchError::new)?;
    let length = usize::try_from(length).ok().filter(|length| *length <= FRAME_MOST);
    let length = length.ok_or_else(|| BenchError::new("a frame with an invalid length"))?;
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).await.map_err(BenchError::new)?;
    Ok(bytes)
}

/// Encoder of a frame.
#[derive(Default)]
struct FrameWriter(Vec<u8>);

impl FrameWriter {
    fn number(&mut self, number: i32) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn long(&mut self, number: i64) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    fn flag(&mut self, flag: bool) -> &mut Self {
        self.0.push(u8::from(flag));
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as i32).0.extend(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    fn frame(&self) -> Vec<u8> {
        let mut frame = (self.0.len() as i32).to_be_bytes().to_vec();
        frame.extend(&self.0);
        frame
    }
}

/// Rest of a frame that is being decoded.
struct FrameReader<'b>(&'b [u8]);

impl FrameReader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], BenchError> {
        let short = || BenchError::new("ZooKeeper's answer is too short");
        let (first, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<i32, BenchError> {
        self.take().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Result<i64, BenchError> {
        self.take().map(i64::from_be_bytes)
    }

    fn text(&mut self) -> Result<String, BenchError> {
        let length = usize::try_from(self.number()?).unwrap_or(0);
        let text = self.0.split_at_checked(length);
        let (text, rest) =
            text.ok_or_else(|| BenchError::new("ZooKeeper's answer is too short"))?;
        self.0 = rest;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_can_be_read() {
        let mut body = FrameWriter::default();
        body.number(-7).long(1 << 40).text("lock-0000000001");
        let mut reader = FrameReader(&body.0);
        assert_eq!(reader.number().unwrap(), -7);
        assert_eq!(reader.long().unwrap(), 1 << 40);
        assert_eq!(reader.text().unwrap(), "lock-0000000001");
        assert!(reader.number().is_err(), "nothing is left");
    }

    #[test]
    fn a_text_that_is_cut_off_is_trouble_and_no_panic() {
        let mut body = FrameWriter::default();
        body.number(100).flag(true);
        assert!(FrameReader(&body.0).text().is_err());
    }
}
