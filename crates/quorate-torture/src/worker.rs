//! A client: takes the lock, increments what it guards, frees the lock, and writes down what it relied on and when.
//!
//! Each line has the time by the clock that all processes of the machine share and that leases are counted by. The time
//! is read before what it is the time of, so that a process that is paused in between claims too little, not too much.

use std::path::Path;
use std::time::Duration;

use quorate_client::{Client, Error, Failure, Guard, Moment, Session, SessionOptions};

use crate::log::Log;
use crate::lots::Lots;
use crate::register::{Answer, Register};

/// The lock that everybody wants.
pub(crate) const LOCK: &str = "torture";

/// How long a session lives without a word.
pub(crate) const TTL: Duration = Duration::from_millis(1_000);

pub(crate) struct Worker {
    pub(crate) number: usize,
    pub(crate) endpoints: Vec<String>,
    pub(crate) register: String,
    pub(crate) log: Log,
    pub(crate) lots: Lots,
}

impl Worker {
    pub(crate) fn new(
        number: usize,
        endpoints: &str,
        register: &str,
        log: &Path,
    ) -> std::io::Result<Self> {
        let endpoints = endpoints.split(',').map(str::to_owned).collect();
        let lots = Lots::new(u64::from(std::process::id()));
        Ok(Self { number, endpoints, register: register.to_owned(), log: Log::open(log)?, lots })
    }

    /// Until it is killed: with one node after the other, whenever something goes wrong.
    pub(crate) async fn run(mut self) {
        for attempt in self.number.. {
            let node = attempt % self.endpoints.len();
            let client = Client::new([self.endpoints[node].as_str()]);
            let who = format!("worker {}", self.number);
            let reach = Duration::from_millis(500);
            let options = SessionOptions { ttl: TTL, who, reach, ..SessionOptions::default() };
            // A node that says nothing at all is as good as none.
            let session = tokio::time::timeout(2 * reach, client.session(options)).await;
            if let Ok(Ok(session)) = session {
                self.log.line(format_args!("session {} {node}", Moment::now().0));
                while self.turn(&session).await {}
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Takes the lock once. Says whether the session is still good for something.
    async fn turn(&mut self, session: &Session) -> bool {
        let wait = Duration::from_secs(4);
        self.log.line(format_args!("want {}", Moment::now().0));
        let Ok(request) = session.lock(LOCK) else { return false };
        let granted = tokio::time::timeout(wait + TTL, request.wait(wait).acquire()).await;
        match granted {
            Ok(Ok(guard)) => {
                let now = Moment::now().0;
                let (token, until) = (guard.token(), guard.deadline().0);
                self.log.line(format_args!("granted {now} {token} {until}"));
                self.inside(&guard).await;
                let held = self.look(&guard);
                if held {
                    self.log.line(format_args!("freeing {}", Moment::now().0));
                }
                let freed = tokio::time::timeout(TTL, guard.release()).await;
                held && matches!(freed, Ok(Ok(())))
            }
            Ok(Err(Error::Failed(Failure::TimedOut))) => {
                self.log.line(format_args!("waited {}", Moment::now().0));
                true
            }
            _ => {
                self.log.line(format_args!("failed {}", Moment::now().0));
                false
            }
        }
    }

    /// Increments both counters: the one that is shown the token, and the one that is not and that believes whoever has
    /// once had the lock.
    async fn inside(&mut self, guard: &Guard) {
        let token = guard.token();
        let Ok(mut register) = Register::connect(&self.register) else { return };
        let Ok(read) = register.ask(format_args!("read {token}")) else { return };
        let Ok(Answer::Value(plain)) = register.ask(format_args!("plain-read")) else { return };
        self.work().await;
        self.look(guard);
        if let Answer::Value(value) = read {
            match register.ask(format_args!("write {token} {}", value + 1)) {
                Ok(Answer::Written) => {
                    self.log.line(format_args!("wrote {} {token} {}", Moment::now().0, value + 1))
                }
                Ok(_) => self.log.line(format_args!("refused {} {token}", Moment::now().0)),
                Err(_) => {}
            }
        }
        if register.ask(format_args!("plain-write {}", plain + 1)).is_ok() {
            self.log.line(format_args!("plain {} {}", Moment::now().0, plain + 1));
        }
    }

    /// Mostly short, sometimes long enough for something to happen meanwhile.
    async fn work(&mut self) {
        let millis = match self.lots.index(12) {
            0 => self.lots.among(200..600),
            _ => self.lots.among(1..15),
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    /// Looks whether the lock is still held, and writes it down.
    fn look(&mut self, guard: &Guard) -> bool {
        let (now, until) = (Moment::now().0, guard.deadline().0);
        let held = guard.is_held();
        match held {
            true => self.log.line(format_args!("held {now} {until}")),
            false => self.log.line(format_args!("lost {now}")),
        }
        held
    }
}
