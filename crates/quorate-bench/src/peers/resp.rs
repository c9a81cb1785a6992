//! The part of the Redis protocol that locks need: a request is an array of strings, and replies arrive in the order of
//! the requests.
//!
//! A connection is used by one client, which waits for each reply. No other task is involved, so that the measurement
//! does not include client work that a lock does not need.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::error::BenchError;
use crate::loopback;

/// Maximum length of a string in a reply.
const TEXT_MOST: i64 = 1 << 20;

/// Reply to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RespReply {
    /// The value does not exist, or the command was not performed.
    Nil,
    Text(String),
    Number(i64),
}

pub(super) struct RespConnection {
    stream: BufReader<TcpStream>,
    line: String,
}

impl RespConnection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = loopback::dial(address).await.map_err(BenchError::new)?;
        Ok(Self { stream: BufReader::new(stream), line: String::new() })
    }

    /// Sends a command and waits for the reply.
    pub(super) async fn command(&mut self, arguments: &[&str]) -> Result<RespReply, BenchError> {
        self.send(arguments).await?;
        self.reply().await
    }

    /// Sends a command. The reply must be read before the next command.
    pub(super) async fn send(&mut self, arguments: &[&str]) -> Result<(), BenchError> {
        let mut text = format!("*{}\r\n", arguments.len());
        for argument in arguments {
            text += &format!("${}\r\n{argument}\r\n", argument.len());
        }
        self.stream.write_all(text.as_bytes()).await.map_err(BenchError::new)
    }

    /// Reads the reply to the last command.
    pub(super) async fn reply(&mut self) -> Result<RespReply, BenchError> {
        self.line.clear();
        let read = self.stream.read_line(&mut self.line).await.map_err(BenchError::new)?;
        if read == 0 {
            return Err(BenchError::new("Redis has closed the connection"));
        }
        let (kind, rest) = (self.line.chars().next(), self.line.get(1..).unwrap_or("").trim_end());
        let number = || rest.parse().map_err(|_| BenchError(format!("`{rest}` is not a number")));
        match kind {
            Some('+') => Ok(RespReply::Text(rest.to_owned())),
            Some('-') => Err(BenchError(format!("Redis says: {rest}"))),
            Some(':') => Ok(RespReply::Number(number()?)),
            Some('_') => Ok(RespReply::Nil),
            Some('$') => match number()? {
                -1 => Ok(RespReply::Nil),
                length @ 0..=TEXT_MOST => self.text(length as usize).await,
                length => Err(BenchError(format!("an invalid string length: {length}"))),
            },
            _ => Err(BenchError(format!("`{}` is not a reply of Redis", self.line.trim_end()))),
        }
    }

    /// Reads a string and the line end after it.
    async fn text(&mut self, length: usize) -> Result<RespReply, BenchError> {
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes).await.map_err(BenchError::new)?;
        bytes.truncate(length);
        Ok(RespReply::Text(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Parses these bytes as replies.
    async fn replies(bytes: &'static str, count: usize) -> Vec<Result<RespReply, String>> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(bytes.as_bytes()).await.unwrap();
        });
        let mut connection = RespConnection::open(address).await.unwrap();
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(connection.reply().await.map_err(|error| error.0));
        }
        server.await.unwrap();
        all
    }

    #[tokio::test]
    async fn answers_are_read_one_by_one() {
        let all = replies("+OK\r\n$-1\r\n:7\r\n$3\r\na\r\n\r\n-ERR no\r\n", 5).await;
        assert_eq!(all[0], Ok(RespReply::Text("OK".to_owned())));
        assert_eq!(all[1], Ok(RespReply::Nil));
        assert_eq!(all[2], Ok(RespReply::Number(7)));
        assert_eq!(all[3], Ok(RespReply::Text("a\r\n".to_owned())));
        assert_eq!(all[4], Err("Redis says: ERR no".to_owned()));
    }

    #[tokio::test]
    async fn nonsense_is_trouble_and_no_panic() {
        for (bytes, text) in [
            ("", "Redis has closed the connection"),
            ("\r\n", "`` is not a reply of Redis"),
            ("$99999999999\r\n", "an invalid string length: 99999999999"),
            (":x\r\n", "`x` is not a number"),
        ] {
            assert_eq!(replies(bytes, 1).await, [Err(text.to_owned())]);
        }
    }
}
