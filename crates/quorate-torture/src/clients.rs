//! The kinds of clients that take locks in a run, behind one interface.

mod etcd;
pub(crate) mod etcdctl;
mod go;
mod http;
pub(crate) mod json;
pub(crate) mod kinds;
mod native;
mod proxy;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use etcd::EtcdSession;
pub(crate) use etcd::{ALLOWANCE, TTL as ETCD_TTL};
use etcdctl::EtcdctlSession;
use go::GoSession;
use http::HttpSession;
use json::PAUSE;
pub(crate) use kinds::ClientKinds;
use native::NativeSession;

/// Interface that a client uses to access the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum ClientKind {
    /// The Rust client, connected to all voters.
    Direct,
    /// The Rust client, relayed by one node.
    Relayed,
    /// The JSON API.
    Http,
    /// etcd's API, through its JSON gateway.
    Etcd,
    /// `etcdctl lock`.
    Etcdctl,
    /// etcd's Go package `clientv3/concurrency`.
    Go,
}

impl ClientKind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Direct, Self::Relayed, Self::Http, Self::Etcd, Self::Etcdctl, Self::Go];

    /// The lock that belongs to the long holder of this kind.
    pub(crate) fn long_lock(self) -> String {
        format!("long-{self}")
    }

    /// Runs some work with sessions of this kind.
    pub(crate) async fn run(self, work: impl SessionWork) {
        match self {
            Self::Direct | Self::Relayed => work.run_with::<NativeSession>().await,
            Self::Http => work.run_with::<HttpSession>().await,
            Self::Etcd => work.run_with::<EtcdSession>().await,
            Self::Etcdctl => work.run_with::<EtcdctlSession>().await,
            Self::Go => work.run_with::<GoSession>().await,
        }
    }

    /// Whether the client is not ours: a proxy observes its keep-alives, and it stays connected to a silent node.
    pub(crate) fn is_proxied(self) -> bool {
        matches!(self, Self::Etcdctl | Self::Go)
    }

    /// Whether a client of this kind uses exactly the deadline that the service promises.
    pub(crate) fn is_exact(self) -> bool {
        matches!(self, Self::Direct | Self::Relayed | Self::Http)
    }

    /// Timing of the renewals of a client of this kind that requests `ttl`. Leases of etcd's API have their own ttl.
    pub(crate) fn renewal(self, ttl: Duration) -> RenewalTiming {
        let none = Duration::ZERO;
        match self {
            // Beats go to all voters at the same time, so that a silent one costs nothing.
            Self::Direct => RenewalTiming {
                voter_ttl: ttl,
                client_ttl: ttl,
                interval: ttl / 3,
                retry: ttl / 3,
                per_silent_node: none,
            },
            // The client checks every tenth of a second whether its node should have answered.
            Self::Relayed => {
                let retry = ttl / 4 + Duration::from_millis(100);
                RenewalTiming {
                    voter_ttl: ttl,
                    client_ttl: ttl,
                    interval: ttl / 4,
                    retry,
                    per_silent_node: retry,
                }
            }
            Self::Http => {
                let retry = http::call_timeout(ttl) + PAUSE;
                RenewalTiming {
                    voter_ttl: ttl,
                    client_ttl: ttl,
                    interval: ttl / 3,
                    retry,
                    per_silent_node: retry,
                }
            }
            Self::Etcd => RenewalTiming::of_lease(etcd::TTL / 3, etcd::CALL_TIMEOUT + PAUSE),
            // The package checks every half second whether a keep-alive is due, and redials after half a second.
            Self::Etcdctl | Self::Go => {
                let half = Duration::from_millis(500);
                RenewalTiming::of_lease(etcd::TTL / 3 + half, half)
            }
        }
    }
}

/// Timing of lease renewals. It determines for how long a client can do without a majority of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenewalTiming {
    /// Time-to-live at the voters.
    pub(crate) voter_ttl: Duration,
    /// Time for which the client relies on its lock after an answered keep-alive.
    client_ttl: Duration,
    /// Maximum time from one keep-alive to the next while they are answered.
    interval: Duration,
    /// Maximum time from one attempt to the next while they are not answered.
    retry: Duration,
    /// Cost of each silent node that the client calls before another one.
    per_silent_node: Duration,
}

/// Answer timeout that the nodes are configured with.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_millis(100);

impl RenewalTiming {
    fn of_lease(interval: Duration, retry: Duration) -> Self {
        Self {
            voter_ttl: etcd::VOTER_TTL,
            client_ttl: etcd::TTL,
            interval,
            retry,
            per_silent_node: retry,
        }
    }

    /// Minimum time without a majority that can cost the client its lock. The last keep-alive before was sent up to one
    /// interval earlier. The next answered one begins up to one retry later, or more if the client calls `silent` nodes
    /// first. The result is at least a quarter of the ttl: a short loss of the majority excuses nothing.
    pub(crate) fn reserve(&self, silent: usize) -> Duration {
        let used =
            self.interval + self.retry + self.per_silent_node * silent as u32 + ANSWER_TIMEOUT;
        self.client_ttl.saturating_sub(used).max(self.voter_ttl / 4)
    }
}

impl fmt::Display for ClientKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Direct => "direct",
            Self::Relayed => "relayed",
            Self::Http => "http",
            Self::Etcd => "etcd",
            Self::Etcdctl => "etcdctl",
            Self::Go => "go",
        })
    }
}

/// Options for opening a session.
#[derive(Clone, Debug)]
pub(crate) struct ClientOptions {
    pub(crate) kind: ClientKind,
    /// Client addresses of all nodes.
    pub(crate) endpoints: Vec<String>,
    /// The node that is tried first.
    pub(crate) first: usize,
    pub(crate) client_name: String,
    pub(crate) ttl: Duration,
    /// Path of the program that uses etcd's Go package.
    pub(crate) locker: PathBuf,
}

/// Result of a request for a lock.
#[derive(Debug)]
pub(crate) enum Acquired<G> {
    Granted(G),
    /// Other clients held the lock until the timeout.
    TimedOut,
    /// The session cannot be used any longer.
    Failed,
    /// The client did not give up although its timeout had passed. This is a fault of the client. The session is discarded.
    Overdue,
}

/// Deadlines of a lock without further keep-alives, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// The deadline that the service promises.
    pub(crate) promised: u64,
    /// The deadline that the client assumes. It is later only for clients of etcd's API: for those whose answer took longer
    /// than the allowance, since they count from receipt, and for Go's, which checks once per second. Then only tokens
    /// protect.
    pub(crate) assumed: u64,
}

impl Deadline {
    /// The deadline after an answer of etcd's API with a TTL. The client counts from receipt. The service promises that
    /// only if the answer took at most the allowance.
    fn of_answer(sent: u64, received: u64, seconds: u64) -> Self {
        let micros = seconds * 1_000_000;
        let allowed = sent + ALLOWANCE.as_micros() as u64;
        Self { promised: received.min(allowed) + micros, assumed: received + micros }
    }

    /// Applies another deadline. A delayed answer does not shorten the known one.
    fn extend(&mut self, other: Self) {
        self.promised = self.promised.max(other.promised);
        self.assumed = self.assumed.max(other.assumed);
    }
}

/// Work that is done with sessions of any kind.
pub(crate) trait SessionWork {
    async fn run_with<S: LockSession>(self);
}

/// A session of any kind.
pub(crate) trait LockSession: Sized {
    type Guard: LockGuard;

    /// Opens a session at the first node that answers.
    async fn open(options: &ClientOptions) -> Option<Self>;

    /// How the votes are collected, for the log.
    fn route(&self) -> &'static str {
        "relayed"
    }

    /// The node that relays the session, as far as the client knows.
    fn node(&self) -> usize;

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<Self::Guard>;

    /// Log lines since the last call about keep-alives of clients that are not ours.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A lock that a client of any kind holds.
pub(crate) trait LockGuard {
    fn token(&self) -> u64;

    fn deadline(&self) -> Deadline;

    /// Whether the client may rely on the lock now. Once this is false it stays false.
    fn is_held(&self) -> bool;

    /// Reason of the loss, for the log, in one word.
    fn loss(&self) -> String;

    /// Releases the lock. Returns whether the session can be used again.
    async fn release(self) -> bool;
}
