//! Locks and elections of an etcd cluster: translates calls of quorate's protocol for etcd.

mod keys;
mod lease;
mod members;
mod queries;
mod request;
mod store;

use std::sync::Arc;
use std::time::Duration;

use quorate_core::SortedMap;
use quorate_protocol::{Call, CallResponse, Failure, Kind, SessionKey};
use tokio::sync::mpsc;

use crate::error::Error;
use crate::job::Job;
use lease::Lease;
pub(crate) use members::Members;
use request::{Reply, Request, RequestCommand};

/// Timeout of calls for which the caller chooses none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Executes the jobs of a client at these members until the client is dropped.
pub(crate) async fn run(members: Members, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let (sessions, requests) = (SortedMap::new(), SortedMap::new());
    let mut event_loop = EtcdEventLoop { members: Arc::new(members), sessions, requests };
    while let Some(job) = jobs.recv().await {
        match job {
            Job::Call { call, timeout, reply } => event_loop.on_call(call, timeout, reply),
            Job::Subscribe(key, state) => {
                event_loop.sessions.insert(key, Arc::new(Lease::new(key, state)));
            }
            Job::Unsubscribe(key) => {
                event_loop.sessions.remove(&key);
                event_loop.requests.retain(|(session, _), _| *session != key);
            }
            // The call that follows is refused.
            Job::Watch(..) => {}
        }
    }
}

struct EtcdEventLoop {
    members: Arc<Members>,
    sessions: SortedMap<SessionKey, Arc<Lease>>,
    /// Each request is a task that receives commands.
    requests: SortedMap<(SessionKey, u64), mpsc::UnboundedSender<RequestCommand>>,
}

impl EtcdEventLoop {
    fn on_call(&mut self, call: Call, timeout: Option<Duration>, reply: Reply) {
        let session = call.session();
        match call {
            Call::Acquire { session, request, name, wait_ms, why, .. } => {
                let Some(lease) = self.sessions.get(&session) else {
                    return drop(reply.send(Err(Failure::NoSession.into())));
                };
                let (members, lease) = (Arc::clone(&self.members), Arc::clone(lease));
                let wait = wait_ms.map(Duration::from_millis);
                // etcd's locks have no field for the text: a key with a value is an election.
                let value = if name.kind() == Kind::Election { why } else { String::new() };
                let (commands, taken) = mpsc::unbounded_channel();
                self.requests.retain(|_, commands| !commands.is_closed());
                self.requests.insert((session, request), commands);
                let hold = lease.hold(name.text());
                let pending = Request { members, lease, hold, number: request, name, wait, value };
                tokio::spawn(pending.run(reply, taken));
            }
            Call::Release { session, request } => {
                self.send_command(session, request, RequestCommand::Release(reply));
            }
            Call::Proclaim { session, request, value } => {
                self.send_command(session, request, RequestCommand::Proclaim(value, reply));
            }
            call => {
                let lease = session.and_then(|key| self.sessions.get(&key)).cloned();
                let members = Arc::clone(&self.members);
                let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
                tokio::spawn(async move {
                    let _ = reply.send(answer(&members, lease, call, timeout).await);
                });
            }
        }
    }

    fn send_command(&mut self, session: SessionKey, request: u64, command: RequestCommand) {
        let refused = match self.requests.get(&(session, request)) {
            Some(commands) => commands.send(command).err().map(|rejected| rejected.0),
            None => Some(command),
        };
        if let Some(RequestCommand::Release(reply) | RequestCommand::Proclaim(_, reply)) = refused {
            let _ = reply.send(Err(Failure::NoRequest.into()));
        }
    }
}

async fn answer(
    members: &Members,
    lease: Option<Arc<Lease>>,
    call: Call,
    timeout: Duration,
) -> Result<CallResponse, Error> {
    match call {
        Call::Open { ttl_ms, .. } => {
            let session = lease::grant(members, ttl_ms, timeout).await?;
            Ok(CallResponse::Opened { session, ttl_ms })
        }
        Call::KeepAlive(_) => {
            let lease = lease.ok_or(Failure::NoSession)?;
            // etcd's answer lists no locks: a lock is lost when its lease or its key is.
            let validity = lease.keep_alive(members, timeout).await?;
            Ok(CallResponse::Alive { validity, held: Vec::new(), waiting: Vec::new() })
        }
        Call::Close(key) => {
            lease::revoke(members, key, timeout).await?;
            Ok(CallResponse::Done)
        }
        Call::List { prefix, most, .. } => queries::list(members, &prefix, most, timeout).await,
        Call::CheckToken { name, token } => {
            queries::check_token(members, &name, token, timeout).await
        }
        Call::ForceRelease { name, .. } => queries::force_release(members, &name, timeout).await,
        Call::Status => Err(queries::unsupported(
            "the status of etcd is not available here: use `etcdctl endpoint status --cluster` or `etcdctl member list`",
        )),
        Call::Watch { .. } => Err(queries::unsupported(
            "watching etcd is not supported: list again, or use `etcdctl watch --prefix NAME/`",
        )),
        _ => Err(queries::unsupported("this call is not supported with etcd")),
    }
}
