//! etcd's Go package `clientv3/concurrency`, in a process of its own: `go/locker.go`.
//!
//! The client relies on its lock until `Session.Done()` is closed. The package closes it when it is told that the lease is
//! over, and looks once per second whether the TTL of the last answer has passed.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, mpsc};

use super::etcd::TTL;
use super::tap::Tap;
use super::{Acquired, Deadline, LockGuard, LockSession, Options};

/// Time for an answer of the locker to a call that does not wait for other clients.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// How much longer than the TTL the package may believe: it looks once per second.
const SLACK_US: u64 = 1_000_000;

pub(crate) struct GoSession(Arc<Shared>);

struct Shared {
    tap: Tap,
    /// `Session.Done()` is closed, or the process has ended.
    done: Arc<AtomicBool>,
    pipes: Mutex<Pipes>,
    /// Ends with this.
    _child: Child,
}

struct Pipes {
    asks: ChildStdin,
    answers: mpsc::UnboundedReceiver<String>,
}

impl Shared {
    fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// Tells the locker what to do. Its answer, if there is one in time.
    async fn ask(&self, line: &str, patience: Duration) -> Option<String> {
        let mut pipes = self.pipes.lock().await;
        pipes.asks.write_all(format!("{line}\n").as_bytes()).await.ok()?;
        tokio::time::timeout(patience, pipes.answers.recv()).await.ok()?
    }
}

/// Reads what the locker says until it ends.
async fn read(output: ChildStdout, done: Arc<AtomicBool>, answers: mpsc::UnboundedSender<String>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match line.as_str() {
            "done" => done.store(true, Ordering::SeqCst),
            _ => drop(answers.send(line)),
        }
    }
    done.store(true, Ordering::SeqCst);
}

impl LockSession for GoSession {
    type Guard = GoGuard;

    async fn open(options: &Options) -> Option<Self> {
        let tap = Tap::start(&options.endpoints, options.first).await.ok()?;
        let mut command = Command::new(&options.locker);
        command.args([&tap.endpoints(), &TTL.as_secs().to_string()]).kill_on_drop(true);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (asks, output) = (child.stdin.take()?, child.stdout.take()?);
        let (say, answers) = mpsc::unbounded_channel();
        let done = Arc::new(AtomicBool::new(false));
        tokio::spawn(read(output, Arc::clone(&done), say));
        let mut pipes = Pipes { asks, answers };
        let said = tokio::time::timeout(PATIENCE, pipes.answers.recv()).await;
        let shared = Shared { tap, done, pipes: Mutex::new(pipes), _child: child };
        (said.ok()?? == "session").then(|| Self(Arc::new(shared)))
    }

    fn node(&self) -> usize {
        self.0.tap.heard().node
    }

    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.0.tap.heard().notes)
    }

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<GoGuard> {
        let ask = format!("lock {name} {}", wait.as_millis());
        let Some(said) = self.0.ask(&ask, wait + PATIENCE).await else { return Acquired::Failed };
        let token = said.strip_prefix("granted ").and_then(|token| token.parse().ok());
        match (token, said.as_str()) {
            (Some(token), _) => Acquired::Granted(GoGuard { session: Arc::clone(&self.0), token }),
            (None, "timeout") if !self.0.is_done() => Acquired::TimedOut,
            _ => Acquired::Failed,
        }
    }
}

pub(crate) struct GoGuard {
    session: Arc<Shared>,
    token: u64,
}

impl LockGuard for GoGuard {
    fn token(&self) -> u64 {
        self.token
    }

    fn deadline(&self) -> Deadline {
        let Deadline { promised, acted } = self.session.tap.heard().until;
        Deadline { promised, acted: acted + SLACK_US }
    }

    fn is_held(&self) -> bool {
        !self.session.is_done()
    }

    fn loss(&self) -> String {
        if self.session.tap.heard().over { "lease-over" } else { "done" }.to_owned()
    }

    async fn release(self) -> bool {
        // A key that may be deleted later must not be used again: the next lock needs another lease.
        let said = self.session.ask("unlock", PATIENCE).await;
        said.is_some_and(|said| said == "unlocked") && !self.session.is_done()
    }
}
