//! A long holder: a client that takes a lock of its own, holds it for the whole run, and logs whether it is ever lost.
//!
//! No other client requests its lock, and no fault targets its process or host. So it may lose the lock only if too many
//! nodes fail at the same time. `losses.rs` judges that.

use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_client::Moment;

use crate::clients::{Acquired, ClientKind, ClientOptions, LockSession, SessionWork};
use crate::hold_log::{HoldLog, POLL_INTERVAL};
use crate::log::Log;

/// Time-to-live of a long holder's session. Most faults last longer.
pub(crate) const TTL: Duration = Duration::from_millis(2_000);

/// Delay of a poll from which the process counts as not running: the machine was busy.
const STALL_US: u64 = 250_000;

pub(crate) struct LongHolder {
    kind: ClientKind,
    endpoints: Vec<String>,
    log: Log,
    locker: PathBuf,
}

impl LongHolder {
    pub(crate) fn new(
        kind: ClientKind,
        endpoints: &str,
        log: &Path,
        locker: PathBuf,
    ) -> std::io::Result<Self> {
        let endpoints = endpoints.split(',').map(str::to_owned).collect();
        Ok(Self { kind, endpoints, log: Log::open(log)?, locker })
    }

    /// Runs until it is killed.
    pub(crate) async fn run(self) {
        self.kind.run(self).await;
    }

    /// Holds the lock until it is lost. Logs at least every tenth of a second that it is held.
    async fn hold<S: LockSession>(&mut self, session: &S, guard: S::Guard) {
        let (mut last, mut node) = (Moment::now().0, session.node());
        let mut hold_log = HoldLog::begin(&mut self.log, &guard, node);
        for turn in 1.. {
            tokio::time::sleep(POLL_INTERVAL).await;
            let now = Moment::now().0;
            if now - last > STALL_US {
                self.log.line(format_args!("stalled {last} {now}"));
            }
            last = now;
            for note in session.notes() {
                self.log.line(format_args!("{note}"));
            }
            let held = match turn % 5 {
                0 => hold_log.confirm(&mut self.log, &guard),
                _ => hold_log.check(&mut self.log, &guard),
            };
            if !held {
                return;
            }
            if std::mem::replace(&mut node, session.node()) != session.node() {
                self.log.line(format_args!("node {now} {}", session.node()));
            }
        }
    }
}

impl SessionWork for LongHolder {
    async fn run_with<S: LockSession>(mut self) {
        for first in 0.. {
            let (kind, client_name) = (self.kind, format!("long holder, {}", self.kind));
            let (endpoints, locker) = (self.endpoints.clone(), self.locker.clone());
            let first = first % endpoints.len();
            let options = ClientOptions { kind, endpoints, first, client_name, ttl: TTL, locker };
            if let Some(mut session) = S::open(&options).await {
                let now = Moment::now().0;
                self.log.line(format_args!("session {now} {} {}", session.node(), session.route()));
                self.log.line(format_args!("want {now}"));
                match session.acquire(&kind.long_lock(), Duration::from_secs(5)).await {
                    Acquired::Granted(guard) => self.hold(&session, guard).await,
                    Acquired::Overdue => {
                        self.log.line(format_args!("overdue {}", Moment::now().0));
                    }
                    Acquired::TimedOut | Acquired::Failed => {}
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
