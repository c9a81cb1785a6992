//! Frames: a length of four bytes, followed by one message of that many bytes.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Maximum size of a frame from a client, in bytes.
pub const CLIENT_FRAME_MAX: usize = 64 << 10;

/// Maximum size of a frame from a node, in bytes. It is larger than a client's because lists may be long.
pub const SERVER_FRAME_MAX: usize = 16 << 20;

/// Appends a message as one frame to `out`.
pub fn put<M: Serialize>(message: &M, out: &mut BytesMut) {
    let start = out.len();
    out.put_u32(0);
    let written = postcard::to_io(message, (&mut *out).writer());
    written.map(drop).expect("messages are plain data, and writing to memory cannot fail");
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Reads messages from a stream.
#[derive(Debug)]
pub struct Reader<S> {
    stream: S,
    buffer: BytesMut,
    most: usize,
}

impl<S: AsyncRead + Unpin> Reader<S> {
    /// Creates a reader. A frame longer than `most` bytes fails with [`io::ErrorKind::InvalidData`].
    pub fn new(stream: S, most: usize) -> Self {
        Self { stream, buffer: BytesMut::with_capacity(4096), most }
    }

    /// Reads the next message; `None` at the end of the stream.
    pub async fn next<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the next message, for a caller that polls several readers.
    pub fn poll_next<M: DeserializeOwned>(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<M>>> {
        loop {
            if let Some(message) = self.take()? {
                return Poll::Ready(Ok(Some(message)));
            }
            // The future of `read_buf` keeps no state between polls, so it can be created anew for each poll.
            let read = pin!(self.stream.read_buf(&mut self.buffer));
            if ready!(read.poll(cx))? == 0 {
                return Poll::Ready(match self.buffer.is_empty() {
                    true => Ok(None),
                    false => Err(garbled("the stream ended within a message")),
                });
            }
        }
    }

    /// Returns the stream, for writing to it.
    pub const fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Takes the next message from the buffer; `None` if it has not arrived completely.
    pub fn take<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        if self.buffer.len() < 4 {
            return Ok(None);
        }
        let length =
            u32::from_be_bytes([self.buffer[0], self.buffer[1], self.buffer[2], self.buffer[3]]);
        let length = length as usize;
        if length > self.most {
            return Err(garbled(&format!(
                "a message of {length} bytes; at most {} are allowed",
                self.most
            )));
        }
        if self.buffer.len() < 4 + length {
            self.buffer.reserve(4 + length - self.buffer.len());
            return Ok(None);
        }
        let message = match postcard::take_from_bytes(&self.buffer[4..4 + length]) {
            Ok((message, [])) => message,
            Ok(_) => return Err(garbled("trailing bytes after a message")),
            Err(error) => return Err(garbled(&error.to_string())),
        };
        self.buffer.advance(4 + length);
        Ok(Some(message))
    }
}

fn garbled(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed data: {what}"))
}
