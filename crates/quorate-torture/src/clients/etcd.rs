//! A client of etcd's API, through the JSON gateway. It fails over to another node with the same lease.
//!
//! It counts like etcd's own clients: the TTL of an answer, from when the answer was *received*. Nodes report a shorter TTL
//! than voters keep, which compensates for answers that take up to half a second. Only tokens protect against slower ones.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use quorate_client::Moment;
use serde_json::{Value, json};

use super::json::{HttpResponse, NodePool, PAUSE};
use super::{Acquired, ClientOptions, Deadline, LockGuard, LockSession};

/// TTL of a lease: the minimum.
pub(crate) const TTL: Duration = Duration::from_secs(2);

/// Maximum time that an answer may take for its client to be safe: `ANSWER` in `quorate-service/src/lease.rs`.
pub(crate) const ALLOWANCE: Duration = Duration::from_millis(500);

/// Maximum age of the votes with which a lock is granted: `GRANT` in `quorate-service/src/lease.rs`.
const GRANT_AGE: Duration = Duration::from_millis(250);

/// Time-to-live of a lease at the voters. Clients receive a TTL that is shorter by the allowance and the age of a grant.
pub(super) const VOTER_TTL: Duration = TTL.saturating_add(ALLOWANCE).saturating_add(GRANT_AGE);

/// Timeout of a call that does not wait for other clients. Two nodes may be silent within one TTL.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_millis(400);

pub(crate) struct EtcdSession(Arc<EtcdSessionInner>);

struct EtcdSessionInner {
    nodes: NodePool,
    lease: i64,
    state: Mutex<LeaseState>,
}

#[derive(Clone, Copy, Debug)]
struct LeaseState {
    over: bool,
    until: Deadline,
}

impl LeaseState {
    /// Applies an answer with a TTL. A lease whose deadline has passed does not become valid again.
    fn extend(&mut self, sent: u64, received: u64, seconds: u64) {
        if seconds == 0 || received >= self.until.assumed {
            self.over = true;
            return;
        }
        self.until.extend(Deadline::of_answer(sent, received, seconds));
    }
}

/// Numbers of 64 bits are strings in etcd's JSON, and zero is omitted.
fn number(value: &Value) -> i64 {
    value.as_i64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

impl EtcdSessionInner {
    fn state(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_alive(&self) -> bool {
        let state = *self.state();
        !state.over && Moment::now().0 < state.until.assumed
    }

    /// Keeps the lease alive at a third of its TTL, until the session is dropped.
    async fn keep_alive(shared: std::sync::Weak<Self>) {
        loop {
            let Some(session) = shared.upgrade() else { return };
            if session.state().over {
                return;
            }
            let (sent, node) = (Moment::now(), session.nodes.current());
            let body = json!({ "ID": session.lease.to_string() });
            match session.nodes.call(node, "/v3/lease/keepalive", &body, CALL_TIMEOUT).await {
                Ok(HttpResponse { status: 200, body }) if body["result"].is_object() => {
                    let seconds = number(&body["result"]["TTL"]).max(0) as u64;
                    session.state().extend(sent.0, Moment::now().0, seconds);
                    let next = sent.later(TTL / 3);
                    drop(session);
                    tokio::time::sleep(next.from_now()).await;
                }
                _ => {
                    session.nodes.fail_over(node);
                    drop(session);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Unlocks. Returns whether the first node that was called has confirmed it. An unanswered call may be executed at any
    /// later time, and the key is the same for every request of a lease: then the lease must not be used again.
    async fn unlock(&self, key: &str) -> bool {
        let end = Moment::now().later(TTL / 2);
        let body = json!({ "key": key });
        let mut first = true;
        while !end.from_now().is_zero() {
            let node = self.nodes.current();
            match self.nodes.call(node, "/v3/lock/unlock", &body, CALL_TIMEOUT).await {
                Ok(HttpResponse { status: 200, .. }) => return first,
                _ => {
                    first = false;
                    self.nodes.fail_over(node);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        false
    }
}

impl LockSession for EtcdSession {
    type Guard = EtcdGuard;

    async fn open(options: &ClientOptions) -> Option<Self> {
        let nodes = NodePool::new(&options.endpoints, options.first);
        for _ in &options.endpoints {
            let (sent, node) = (Moment::now().0, nodes.current());
            let wanted = json!({ "TTL": TTL.as_secs().to_string() });
            match nodes.call(node, "/v3/lease/grant", &wanted, CALL_TIMEOUT).await {
                Ok(HttpResponse { status: 200, body }) => {
                    let lease = number(&body["ID"]);
                    let seconds = number(&body["TTL"]).max(0) as u64;
                    let until = Deadline::of_answer(sent, Moment::now().0, seconds);
                    let state = Mutex::new(LeaseState { over: false, until });
                    let shared = Arc::new(EtcdSessionInner { nodes, lease, state });
                    tokio::spawn(EtcdSessionInner::keep_alive(Arc::downgrade(&shared)));
                    return Some(Self(shared));
                }
                _ => nodes.fail_over(node),
            }
        }
        None
    }

    fn node(&self) -> usize {
        self.0.nodes.current()
    }

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<EtcdGuard> {
        let (session, end) = (&self.0, Moment::now().later(wait));
        let body = json!({ "name": BASE64.encode(name), "lease": session.lease.to_string() });
        while !end.from_now().is_zero() && session.is_alive() {
            let node = session.nodes.current();
            match session.nodes.call(node, "/v3/lock/lock", &body, end.from_now()).await {
                Ok(HttpResponse { status: 200, body }) => {
                    let token = number(&body["header"]["revision"]).max(0) as u64;
                    let key = body["key"].as_str().unwrap_or("").to_owned();
                    let session = Arc::clone(session);
                    return Acquired::Granted(EtcdGuard { session, key, token });
                }
                // The lease has expired.
                Ok(HttpResponse { status: 404 | 400, .. }) => return Acquired::Failed,
                Err(_) if end.from_now().is_zero() => {}
                _ => {
                    session.nodes.fail_over(node);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        // The grant may be in flight.
        let key = BASE64.encode(format!("{name}/{:x}", session.lease));
        match session.unlock(&key).await && session.is_alive() {
            true => Acquired::TimedOut,
            false => Acquired::Failed,
        }
    }
}

pub(crate) struct EtcdGuard {
    session: Arc<EtcdSessionInner>,
    /// In base64, as in the answer.
    key: String,
    token: u64,
}

impl LockGuard for EtcdGuard {
    fn token(&self) -> u64 {
        self.token
    }

    fn deadline(&self) -> Deadline {
        self.session.state().until
    }

    fn is_held(&self) -> bool {
        self.session.is_alive()
    }

    fn loss(&self) -> String {
        if self.session.state().over { "lease-over" } else { "deadline" }.to_owned()
    }

    async fn release(self) -> bool {
        self.session.unlock(&self.key).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_answer_is_promised_less_than_its_client_counts() {
        let mut state = LeaseState { over: false, until: Deadline::of_answer(0, 100, 2) };
        assert_eq!(state.until, Deadline { promised: 2_000_100, assumed: 2_000_100 });
        state.extend(1_000_000, 1_900_000, 2);
        assert_eq!(state.until, Deadline { promised: 3_500_000, assumed: 3_900_000 });
        state.extend(3_800_000, 3_900_000, 2);
        assert!(state.over, "its time had passed");
    }
}
