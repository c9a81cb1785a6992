//! Locks and elections that a cluster of etcd gives: what quorate's clients say, said to etcd.

mod keys;
mod lease;
mod look;
mod members;
mod request;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::{Answer, Call, Failure, Kind, SessionKey};
use tokio::sync::mpsc;

use crate::client::Job;
use crate::error::Error;
use lease::Lease;
pub(crate) use members::Members;
use request::{Order, Reply, Request};

/// How long members may take to be reached where nobody says.
const REACH: Duration = Duration::from_secs(5);

/// Does the jobs of a client, at these members, until it is dropped.
pub(crate) async fn run(members: Members, mut jobs: mpsc::UnboundedReceiver<Job>) {
    let (sessions, requests) = (BTreeMap::new(), BTreeMap::new());
    let mut desk = Desk { members: Arc::new(members), sessions, requests };
    while let Some(job) = jobs.recv().await {
        match job {
            Job::Call { call, patience, reply } => desk.take(call, patience, reply),
            Job::Listen(key, state) => {
                desk.sessions.insert(key, Arc::new(Lease::new(key, state)));
            }
            Job::Forget(key) => {
                desk.sessions.remove(&key);
                desk.requests.retain(|(session, _), _| *session != key);
            }
            // The call that follows is refused.
            Job::Watch(..) => {}
        }
    }
}

struct Desk {
    members: Arc<Members>,
    sessions: BTreeMap<SessionKey, Arc<Lease>>,
    /// Each request is a task that takes orders.
    requests: BTreeMap<(SessionKey, u64), mpsc::UnboundedSender<Order>>,
}

impl Desk {
    fn take(&mut self, call: Call, patience: Option<Duration>, reply: Reply) {
        let session = call.session();
        match call {
            Call::Acquire { session, request, name, wait_ms, why, .. } => {
                let Some(lease) = self.sessions.get(&session) else {
                    return drop(reply.send(Err(Failure::NoSession.into())));
                };
                let (members, lease) = (Arc::clone(&self.members), Arc::clone(lease));
                let wait = wait_ms.map(Duration::from_millis);
                // What a lock is for has no place in etcd: a key with a value is an election.
                let value = if name.kind() == Kind::Election { why } else { String::new() };
                let (orders, taken) = mpsc::unbounded_channel();
                self.requests.retain(|_, orders| !orders.is_closed());
                self.requests.insert((session, request), orders);
                let hold = lease.hold(name.text());
                let asked = Request { members, lease, hold, number: request, name, wait, value };
                tokio::spawn(asked.run(reply, taken));
            }
            Call::Release { session, request } => {
                self.order(session, request, Order::Release(reply));
            }
            Call::Proclaim { session, request, value } => {
                self.order(session, request, Order::Proclaim(value, reply));
            }
            call => {
                let lease = session.and_then(|key| self.sessions.get(&key)).cloned();
                let members = Arc::clone(&self.members);
                let patience = patience.unwrap_or(REACH);
                tokio::spawn(async move {
                    let _ = reply.send(answer(&members, lease, call, patience).await);
                });
            }
        }
    }

    fn order(&mut self, session: SessionKey, request: u64, order: Order) {
        let refused = match self.requests.get(&(session, request)) {
            Some(orders) => orders.send(order).err().map(|unheard| unheard.0),
            None => Some(order),
        };
        if let Some(Order::Release(reply) | Order::Proclaim(_, reply)) = refused {
            let _ = reply.send(Err(Failure::NoRequest.into()));
        }
    }
}

async fn answer(
    members: &Members,
    lease: Option<Arc<Lease>>,
    call: Call,
    patience: Duration,
) -> Result<Answer, Error> {
    match call {
        Call::Open { ttl_ms, .. } => {
            let session = lease::grant(members, ttl_ms, patience).await?;
            Ok(Answer::Opened { session, ttl_ms })
        }
        Call::KeepAlive(_) => {
            let lease = lease.ok_or(Failure::NoSession)?;
            // etcd's answer lists nothing: a lock is lost there when its lease or its key is.
            let reliance = lease.keep_alive(members, patience).await?;
            Ok(Answer::Alive { reliance, held: Vec::new(), waiting: Vec::new() })
        }
        Call::Close(key) => {
            lease::revoke(members, key, patience).await?;
            Ok(Answer::Done)
        }
        Call::List { prefix, most, .. } => look::list(members, &prefix, most, patience).await,
        Call::CheckToken { name, token } => {
            look::check_token(members, &name, token, patience).await
        }
        Call::Expel { name, .. } => look::expel(members, &name, patience).await,
        Call::Status => Err(look::unsupported(
            "etcd tells how it is in its own way: `etcdctl endpoint status --cluster`, `etcdctl member list`",
        )),
        Call::Watch { .. } => Err(look::unsupported(
            "changes in etcd are not watched from here: list again, or `etcdctl watch --prefix NAME/`",
        )),
        _ => Err(look::unsupported("etcd cannot tell this")),
    }
}
