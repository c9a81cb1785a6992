//! The resource that the lock guards: a register that checks tokens, and a plain counter that does not.
//!
//! A request is a line of words, and so is an answer. Every write and every refusal is logged.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quorate_client::Moment;

use crate::log::Log;

/// The same code as in the client's example.
#[path = "../../quorate-client/examples/guarded_register/guarded.rs"]
mod guarded;

use guarded::{Guarded, Stale};

struct RegisterState {
    guarded: Guarded,
    plain: u64,
    log: Log,
}

/// Serves until it is killed.
pub(crate) fn serve(address: &str, log: &Path) -> io::Result<()> {
    let state = RegisterState { guarded: Guarded::default(), plain: 0, log: Log::open(log)? };
    let state = Arc::new(Mutex::new(state));
    let listener = TcpListener::bind(address)?;
    for stream in listener.incoming() {
        let (stream, state) = (stream?, Arc::clone(&state));
        std::thread::spawn(move || answer_all(stream, &state));
    }
    Ok(())
}

fn answer_all(stream: TcpStream, state: &Mutex<RegisterState>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut write = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = state.lock().unwrap_or_else(PoisonError::into_inner).answer(&words);
        write.write_all(format!("{answer}\n").as_bytes())?;
    }
    Ok(())
}

impl RegisterState {
    fn answer(&mut self, words: &[&str]) -> String {
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
        let now = Moment::now().0;
        match (words.first().copied(), number(1), number(2)) {
            (Some("read"), Some(token), _) => match self.guarded.read(token) {
                Ok(value) => format!("ok {value}"),
                Err(Stale { greatest }) => {
                    self.log.line(format_args!("refused {now} {token} {greatest}"));
                    format!("stale {greatest}")
                }
            },
            (Some("write"), Some(token), Some(value)) => match self.guarded.write(token, value) {
                Ok(()) => {
                    self.log.line(format_args!("wrote {now} {token} {value}"));
                    "ok".to_owned()
                }
                Err(Stale { greatest }) => {
                    self.log.line(format_args!("refused {now} {token} {greatest}"));
                    format!("stale {greatest}")
                }
            },
            (Some("plain-read"), ..) => format!("ok {}", self.plain),
            (Some("plain-write"), Some(value), _) => {
                self.plain = value;
                self.log.line(format_args!("plain {now} {value}"));
                "ok".to_owned()
            }
            _ => "unknown request".to_owned(),
        }
    }
}

/// A connection to the register.
#[derive(Debug)]
pub(crate) struct Register(BufReader<TcpStream>);

/// Answer of the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterReply {
    Value(u64),
    Written,
    Stale,
}

impl Register {
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn ask(&mut self, request: std::fmt::Arguments<'_>) -> io::Result<RegisterReply> {
        self.0.get_mut().write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        match (words.next(), words.next().and_then(|word| word.parse().ok())) {
            (Some("ok"), Some(value)) => Ok(RegisterReply::Value(value)),
            (Some("ok"), None) => Ok(RegisterReply::Written),
            (Some("stale"), _) => Ok(RegisterReply::Stale),
            _ => Err(io::Error::other(format!("unexpected reply of the register: {line:?}"))),
        }
    }
}
