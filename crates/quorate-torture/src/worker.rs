//! A worker: a client that takes the lock, increments the register that it guards, releases the lock, and logs the periods
//! in which it relied on the lock.
//!
//! Each log line contains a time of the boot clock, which all processes of the machine share and which measures leases. The
//! clock is read before the state that is logged. A process that is paused in between therefore claims too little, not too
//! much.

use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_client::Moment;

use crate::clients::{Acquired, ClientKind, ClientOptions, LockGuard, LockSession, SessionWork};
use crate::hold_log::{HoldLog, POLL_INTERVAL};
use crate::log::Log;
use crate::register::{Register, RegisterReply};
use crate::rng::Rng;

/// The lock that all workers compete for.
pub(crate) const LOCK: &str = "torture";

/// Time-to-live of a worker's session.
pub(crate) const TTL: Duration = Duration::from_millis(1_000);

pub(crate) struct LockWorker {
    pub(crate) kind: ClientKind,
    pub(crate) number: usize,
    pub(crate) endpoints: Vec<String>,
    pub(crate) register: String,
    pub(crate) log: Log,
    pub(crate) locker: PathBuf,
    pub(crate) rng: Rng,
}

impl LockWorker {
    pub(crate) fn new(
        kind: ClientKind,
        number: usize,
        endpoints: &str,
        register: &str,
        log: &Path,
        locker: PathBuf,
    ) -> std::io::Result<Self> {
        let endpoints = endpoints.split(',').map(str::to_owned).collect();
        let rng = Rng::new(u64::from(std::process::id()));
        let (register, log) = (register.to_owned(), Log::open(log)?);
        Ok(Self { kind, number, endpoints, register, log, locker, rng })
    }

    /// Runs until it is killed.
    pub(crate) async fn run(self) {
        self.kind.run(self).await;
    }

    /// Takes the lock once. Returns whether the session can be used again.
    async fn turn<S: LockSession>(&mut self, session: &mut S) -> bool {
        for note in session.notes() {
            self.log.line(format_args!("{note}"));
        }
        self.log.line(format_args!("want {}", Moment::now().0));
        match session.acquire(LOCK, Duration::from_secs(4)).await {
            Acquired::Granted(guard) => {
                let mut hold_log = HoldLog::begin(&mut self.log, &guard, session.node());
                self.critical_section(&guard, &mut hold_log).await;
                let held = hold_log.confirm(&mut self.log, &guard);
                if held {
                    self.log.line(format_args!("freeing {}", Moment::now().0));
                }
                let freed = tokio::time::timeout(2 * TTL, guard.release()).await;
                held && freed.unwrap_or(false)
            }
            Acquired::TimedOut => {
                self.log.line(format_args!("waited {}", Moment::now().0));
                true
            }
            Acquired::Failed => {
                self.log.line(format_args!("failed {}", Moment::now().0));
                false
            }
            Acquired::Overdue => {
                self.log.line(format_args!("overdue {}", Moment::now().0));
                false
            }
        }
    }

    /// Increments both counters: the guarded one, which checks the token, and the plain one, which does not.
    async fn critical_section(&mut self, guard: &impl LockGuard, hold_log: &mut HoldLog) {
        let token = guard.token();
        let Ok(mut register) = Register::connect(&self.register) else { return };
        let Ok(read) = register.ask(format_args!("read {token}")) else { return };
        let Ok(RegisterReply::Value(plain)) = register.ask(format_args!("plain-read")) else {
            return;
        };
        self.work(guard, hold_log).await;
        hold_log.confirm(&mut self.log, guard);
        // The token may have grown.
        let token = guard.token();
        if let RegisterReply::Value(value) = read {
            match register.ask(format_args!("write {token} {}", value + 1)) {
                Ok(RegisterReply::Written) => {
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

    /// Works for a short time, sometimes long enough for a fault to happen meanwhile. Logs each new deadline of the lock.
    async fn work(&mut self, guard: &impl LockGuard, hold_log: &mut HoldLog) {
        let millis = match self.rng.index(12) {
            0 => self.rng.in_range(200..600),
            _ => self.rng.in_range(1..15),
        };
        let end = Moment::now().later(Duration::from_millis(millis));
        while !end.from_now().is_zero() {
            tokio::time::sleep(end.from_now().min(POLL_INTERVAL)).await;
            hold_log.check(&mut self.log, guard);
        }
    }
}

impl SessionWork for LockWorker {
    /// Opens one session after the other, each at another node.
    async fn run_with<S: LockSession>(mut self) {
        let (kind, client_name) = (self.kind, format!("worker {}", self.number));
        for attempt in self.number.. {
            let (first, endpoints) = (attempt % self.endpoints.len(), self.endpoints.clone());
            let (client_name, locker) = (client_name.clone(), self.locker.clone());
            let options = ClientOptions { kind, endpoints, first, client_name, ttl: TTL, locker };
            if let Some(mut session) = S::open(&options).await {
                let now = Moment::now().0;
                self.log.line(format_args!("session {now} {} {}", session.node(), session.route()));
                while self.turn(&mut session).await {}
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
