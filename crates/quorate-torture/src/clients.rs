//! The kinds of clients that take locks in a run, behind one interface.

mod etcd;
pub(crate) mod etcdctl;
mod go;
mod http;
pub(crate) mod json;
pub(crate) mod kinds;
mod native;
mod tap;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use etcd::{ALLOWANCE, EtcdSession, TTL as ETCD_TTL};
pub(crate) use etcdctl::EtcdctlSession;
pub(crate) use go::GoSession;
pub(crate) use http::HttpSession;
pub(crate) use kinds::Kinds;
pub(crate) use native::NativeSession;

/// How a client speaks to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Kind {
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

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Direct, Self::Relayed, Self::Http, Self::Etcd, Self::Etcdctl, Self::Go];

    /// The lock that the long holder of this kind has for itself.
    pub(crate) fn long_lock(self) -> String {
        format!("long-{self}")
    }

    /// Whether the client is not ours: a proxy reads its keep-alives, and it stays at a node that is silent.
    pub(crate) fn is_proxied(self) -> bool {
        matches!(self, Self::Etcdctl | Self::Go)
    }

    /// Time-to-live of a session at the voters, if a client of this kind asks for `ttl`. Leases of etcd's API have whole
    /// seconds, two at least, and voters keep them for half a second more.
    pub(crate) fn kept_for(self, ttl: Duration) -> Duration {
        match self {
            Self::Etcd | Self::Etcdctl | Self::Go => etcd::TTL + etcd::ALLOWANCE,
            _ => ttl,
        }
    }
}

impl fmt::Display for Kind {
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

/// How a session is to be opened.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) kind: Kind,
    /// Client addresses of all nodes.
    pub(crate) endpoints: Vec<String>,
    /// The node that is tried first.
    pub(crate) first: usize,
    pub(crate) who: String,
    pub(crate) ttl: Duration,
    /// The program that uses etcd's Go package.
    pub(crate) locker: PathBuf,
}

/// Result of asking for a lock.
#[derive(Debug)]
pub(crate) enum Acquired<G> {
    Granted(G),
    /// Others had the lock for as long as the client was willing to wait.
    TimedOut,
    /// The session is of no use any longer.
    Failed,
}

/// Times until which a client relies on a lock if it hears nothing more, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// The time that the service promises.
    pub(crate) promised: u64,
    /// The time that the client goes by. It is later only for clients of etcd's API: those whose answer took longer than the
    /// allowance, since they count from receipt, and Go's, which look once per second. Then only tokens protect.
    pub(crate) acted: u64,
}

/// A session of any kind.
pub(crate) trait LockSession: Sized {
    type Guard: LockGuard;

    /// Opens a session at the first node that answers.
    async fn open(options: &Options) -> Option<Self>;

    /// How the votes are collected, for the log.
    fn route(&self) -> &'static str;

    /// The node that relays the session, as far as the client knows.
    fn node(&self) -> usize;

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<Self::Guard>;

    /// What else is for the log since this was last asked: lines about keep-alives of clients that are not ours.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A lock that a client of any kind holds.
pub(crate) trait LockGuard {
    fn token(&self) -> u64;

    fn deadline(&self) -> Deadline;

    /// Whether the client may rely on the lock now. Once it may not, it never may again.
    fn is_held(&self) -> bool;

    /// Why the lock is lost, for the log, in one word.
    fn loss(&self) -> String;

    /// Releases the lock. Returns whether the session is good for more.
    async fn release(self) -> bool;
}
