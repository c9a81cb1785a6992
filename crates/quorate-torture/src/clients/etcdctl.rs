//! `etcdctl lock NAME COMMAND` in its own process. The command is this program again. It connects to its worker, sends the
//! token, and ends when the worker closes the connection. Then etcdctl unlocks.
//!
//! etcdctl 3.4 does not inform its command that the lock is lost. So the lock counts as lost when the lease expires,
//! according to the TTLs that etcdctl received, which the [`LeaseProxy`] reads.

use std::io::{self, Read, Write};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use quorate_client::Moment;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use super::etcd::TTL;
use super::proxy::LeaseProxy;
use super::{Acquired, ClientOptions, Deadline, LockGuard, LockSession};

/// Maximum time for etcdctl to exit after SIGINT.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Options for starting etcdctl. There is no session: each lock has a lease of its own.
pub(crate) struct EtcdctlSession {
    options: ClientOptions,
    /// The proxy of the latest lock.
    proxy: Option<Arc<LeaseProxy>>,
}

impl EtcdctlSession {
    /// Starts etcdctl, which ends with this process.
    fn start(&self, proxy: &LeaseProxy, name: &str, address: &str) -> io::Result<Child> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "etcdctl", "--endpoints", &proxy.endpoints()]);
        command.args(["lock", "--ttl", &TTL.as_secs().to_string(), name, "--"]);
        command.arg(std::env::current_exe()?).args(["inside", address]);
        command.env("ETCDCTL_API", "3").stdin(Stdio::null()).stdout(Stdio::null());
        command.kill_on_drop(true).spawn()
    }

    async fn try_acquire(
        &mut self,
        name: &str,
        wait: Duration,
    ) -> io::Result<Acquired<EtcdctlGuard>> {
        let proxy = Arc::new(LeaseProxy::start(&self.options.endpoints, self.options.first).await?);
        self.proxy = Some(Arc::clone(&proxy));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut child = self.start(&proxy, name, &listener.local_addr()?.to_string())?;
        let mut entered = std::pin::pin!(await_grant(&listener));
        tokio::select! {
            entered = tokio::time::timeout(wait, &mut entered) => {
                if let Ok(entered) = entered {
                    let (command, token) = entered?;
                    return Ok(Acquired::Granted(EtcdctlGuard { proxy, child, command, token }));
                }
            }
            _ = child.wait() => return Ok(Acquired::Failed),
        }
        // etcdctl leaves the queue, unless it has just acquired the lock: then the command ends, since its connection is
        // closed.
        if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id as i32)) {
            let _ = kill_process(pid, Signal::INT);
        }
        let ended = async {
            tokio::select! {
                entered = &mut entered => drop(entered),
                _ = child.wait() => return,
            }
            let _ = child.wait().await;
        };
        let _ = tokio::time::timeout(EXIT_TIMEOUT, ended).await;
        Ok(Acquired::TimedOut)
    }
}

/// Waits for the command to connect. Returns its connection and the token that it sends.
async fn await_grant(listener: &TcpListener) -> io::Result<(TcpStream, u64)> {
    let mut stream = BufReader::new(listener.accept().await?.0);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let token = line.trim().parse().map_err(io::Error::other)?;
    Ok((stream.into_inner(), token))
}

/// The command that etcdctl runs: sends the token to the address of the worker, and stays until the connection is closed.
pub(crate) fn run_lock_command(address: &str) -> io::Result<()> {
    let token = std::env::var("ETCD_LOCK_REV").map_err(io::Error::other)?;
    let mut stream = std::net::TcpStream::connect(address)?;
    writeln!(stream, "{token}")?;
    let _ = stream.read(&mut [0]);
    Ok(())
}

impl LockSession for EtcdctlSession {
    type Guard = EtcdctlGuard;

    async fn open(options: &ClientOptions) -> Option<Self> {
        Some(Self { options: options.clone(), proxy: None })
    }

    fn node(&self) -> usize {
        self.proxy.as_ref().map_or(self.options.first, |proxy| proxy.observed().node)
    }

    fn notes(&self) -> Vec<String> {
        self.proxy.as_ref().map_or(Vec::new(), |proxy| std::mem::take(&mut proxy.observed().notes))
    }

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<EtcdctlGuard> {
        self.try_acquire(name, wait).await.unwrap_or(Acquired::Failed)
    }
}

pub(crate) struct EtcdctlGuard {
    proxy: Arc<LeaseProxy>,
    child: Child,
    command: TcpStream,
    token: u64,
}

impl LockGuard for EtcdctlGuard {
    fn token(&self) -> u64 {
        self.token
    }

    fn deadline(&self) -> Deadline {
        self.proxy.observed().until
    }

    fn is_held(&self) -> bool {
        let mut observed = self.proxy.observed();
        observed.over |= Moment::now().0 >= observed.until.assumed;
        !observed.over
    }

    fn loss(&self) -> String {
        "lease-over".to_owned()
    }

    async fn release(mut self) -> bool {
        drop(self.command);
        self.child.wait().await.is_ok_and(|status| status.success())
    }
}
