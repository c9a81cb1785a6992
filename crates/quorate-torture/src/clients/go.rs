//! etcd's Go package `clientv3/concurrency`, in its own process: `go/locker.go`.
//!
//! The client relies on its lock until `Session.Done()` is closed. The package closes it when it learns that the lease has
//! expired, and checks once per second whether the TTL of the last answer has passed.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, mpsc};

use super::etcd::TTL;
use super::proxy::LeaseProxy;
use super::{Acquired, ClientOptions, Deadline, LockGuard, LockSession};

/// Timeout of a call to the locker that does not wait for other clients.
const REPLY_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Time beyond the TTL for which the package may consider the lease valid: it checks once per second.
const SLACK_US: u64 = 1_000_000;

pub(crate) struct GoSession(Arc<GoSessionInner>);

struct GoSessionInner {
    proxy: LeaseProxy,
    /// `Session.Done()` is closed, or the process has ended.
    done: Arc<AtomicBool>,
    pipes: Mutex<Pipes>,
    /// Killed when this is dropped.
    _child: Child,
}

struct Pipes {
    stdin: ChildStdin,
    replies: mpsc::UnboundedReceiver<String>,
}

impl GoSessionInner {
    fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// Sends a command to the locker. Returns its answer, if it arrives in time.
    async fn request(&self, line: &str, timeout: Duration) -> Option<String> {
        let mut pipes = self.pipes.lock().await;
        pipes.stdin.write_all(format!("{line}\n").as_bytes()).await.ok()?;
        tokio::time::timeout(timeout, pipes.replies.recv()).await.ok()?
    }
}

/// Reads the output of the locker until it ends.
async fn read_output(
    output: ChildStdout,
    done: Arc<AtomicBool>,
    replies: mpsc::UnboundedSender<String>,
) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match line.as_str() {
            "done" => done.store(true, Ordering::SeqCst),
            _ => drop(replies.send(line)),
        }
    }
    done.store(true, Ordering::SeqCst);
}

impl LockSession for GoSession {
    type Guard = GoGuard;

    async fn open(options: &ClientOptions) -> Option<Self> {
        let proxy = LeaseProxy::start(&options.endpoints, options.first).await.ok()?;
        let mut command = Command::new(&options.locker);
        command.args([&proxy.endpoints(), &TTL.as_secs().to_string()]).kill_on_drop(true);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (stdin, output) = (child.stdin.take()?, child.stdout.take()?);
        let (reply_sender, replies) = mpsc::unbounded_channel();
        let done = Arc::new(AtomicBool::new(false));
        tokio::spawn(read_output(output, Arc::clone(&done), reply_sender));
        let mut pipes = Pipes { stdin, replies };
        let reply = tokio::time::timeout(REPLY_TIMEOUT, pipes.replies.recv()).await;
        let shared = GoSessionInner { proxy, done, pipes: Mutex::new(pipes), _child: child };
        (reply.ok()?? == "session").then(|| Self(Arc::new(shared)))
    }

    fn node(&self) -> usize {
        self.0.proxy.observed().node
    }

    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.0.proxy.observed().notes)
    }

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<GoGuard> {
        let request = format!("lock {name} {}", wait.as_millis());
        let Some(reply) = self.0.request(&request, wait + REPLY_TIMEOUT).await else {
            return Acquired::Failed;
        };
        let token = reply.strip_prefix("granted ").and_then(|token| token.parse().ok());
        match (token, reply.as_str()) {
            (Some(token), _) => Acquired::Granted(GoGuard { session: Arc::clone(&self.0), token }),
            (None, "timeout") if !self.0.is_done() => Acquired::TimedOut,
            _ => Acquired::Failed,
        }
    }
}

pub(crate) struct GoGuard {
    session: Arc<GoSessionInner>,
    token: u64,
}

impl LockGuard for GoGuard {
    fn token(&self) -> u64 {
        self.token
    }

    fn deadline(&self) -> Deadline {
        let Deadline { promised, assumed } = self.session.proxy.observed().until;
        Deadline { promised, assumed: assumed + SLACK_US }
    }

    fn is_held(&self) -> bool {
        !self.session.is_done()
    }

    fn loss(&self) -> String {
        if self.session.proxy.observed().over { "lease-over" } else { "done" }.to_owned()
    }

    async fn release(self) -> bool {
        // A key that may be deleted later must not be reused: the next lock needs another lease.
        let reply = self.session.request("unlock", REPLY_TIMEOUT).await;
        reply.is_some_and(|reply| reply == "unlocked") && !self.session.is_done()
    }
}
