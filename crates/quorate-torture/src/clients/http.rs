//! A client of the JSON API. It fails over to another node with the key of its session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quorate_client::Moment;
use serde_json::{Value, json};

use super::json::{HttpResponse, NodePool, PAUSE};
use super::{Acquired, ClientOptions, Deadline, LockGuard, LockSession};

pub(crate) struct HttpSession {
    shared: Arc<HttpSessionInner>,
    requests: u64,
}

struct HttpSessionInner {
    nodes: NodePool,
    key: String,
    ttl: Duration,
    state: Mutex<HttpSessionState>,
}

#[derive(Debug, Default)]
struct HttpSessionState {
    over: bool,
    /// Locks by the number of their request.
    held: BTreeMap<u64, HeldLock>,
}

#[derive(Clone, Debug)]
struct HeldLock {
    name: String,
    token: u64,
    /// When the client learned that it held the lock.
    since: u64,
    until: u64,
    /// Reason of the loss.
    lost: Option<&'static str>,
}

/// Timeout of a call that does not wait for other clients. Two nodes may be silent within one ttl.
pub(super) fn call_timeout(ttl: Duration) -> Duration {
    ttl / 5
}

impl HttpSessionInner {
    fn state(&self) -> MutexGuard<'_, HttpSessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another request may be made.
    fn is_good(&self) -> bool {
        !self.state().over
    }

    fn call_timeout(&self) -> Duration {
        call_timeout(self.ttl)
    }

    /// Keeps the session alive at a third of its ttl, until the session is dropped.
    async fn keep_alive(shared: std::sync::Weak<Self>) {
        let mut informed = None;
        loop {
            let Some(session) = shared.upgrade() else { return };
            if session.state().over {
                return;
            }
            let node = session.nodes.current();
            if informed.is_some_and(|informed| informed != node)
                && !session.repeat_grants(node).await
            {
                session.nodes.fail_over(node);
                drop(session);
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            informed = Some(node);
            // Read the clock only now: repeating the grants may have taken a while, and the lease counts from this call.
            let sent = Moment::now();
            let path = format!("/v1/sessions/{}/keep-alive", session.key);
            match session.nodes.call(node, &path, &json!({}), session.call_timeout()).await {
                Ok(HttpResponse { status: 200, body }) => {
                    session.state().extend(sent.0, Moment::now().0, &body);
                    let next = sent.later(session.ttl / 3);
                    drop(session);
                    tokio::time::sleep(next.from_now()).await;
                }
                Ok(answer) if answer.code() == "no-session" => session.state().end(),
                _ => {
                    session.nodes.fail_over(node);
                    drop(session);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

impl HttpSessionInner {
    /// Informs another node of the held locks that are still valid. Only the client knows that it is in the critical
    /// section: a node with this information need not find the same votes with which the lock was granted. Returns whether
    /// the node has answered.
    async fn repeat_grants(&self, node: usize) -> bool {
        let held: Vec<(u64, HeldLock)> = {
            let (state, now) = (self.state(), Moment::now().0);
            let valid =
                state.held.iter().filter(|(_, hold)| hold.lost.is_none() && now < hold.until);
            valid.map(|(request, hold)| (*request, hold.clone())).collect()
        };
        for (request, hold) in held {
            let wanted = json!({
                "session": self.key, "name": hold.name, "request": request, "token": hold.token,
                "wait_ms": self.call_timeout().as_millis() as u64,
            });
            let sent = Moment::now().0;
            match self.nodes.call(node, "/v1/acquire", &wanted, self.call_timeout()).await {
                Ok(HttpResponse { status: 200, body }) => {
                    let listed = json!({
                        "reliable_ms": body["reliable_ms"],
                        "held": [{ "request": request, "token": body["token"] }],
                    });
                    self.state().extend(sent, Moment::now().0, &listed);
                }
                Ok(answer) if answer.code() == "no-request" => self.state().lose(request),
                Ok(answer) if answer.code() == "no-session" => self.state().end(),
                _ => return false,
            }
        }
        true
    }
}

impl HttpSessionState {
    fn lose(&mut self, request: u64) {
        if let Some(hold) = self.held.get_mut(&request) {
            hold.lost.get_or_insert("no-request");
        }
    }

    /// Applies the answer to a keep-alive. Time counts from when the keep-alive was sent.
    fn extend(&mut self, sent: u64, now: u64, body: &Value) {
        let until = sent + body["reliable_ms"].as_u64().unwrap_or(0) * 1_000;
        let listed = body["held"].as_array().map_or(&[][..], Vec::as_slice);
        for (request, hold) in &mut self.held {
            let of_request = listed.iter().find(|it| it["request"].as_u64() == Some(*request));
            // A token may grow while the lock is held.
            let token = of_request.and_then(|it| it["token"].as_u64());
            let is_listed = token.is_some_and(|token| token >= hold.token);
            // An answer to a call sent before the grant need not list the lock.
            if now >= hold.until {
                hold.lost.get_or_insert("deadline");
            } else if !is_listed && hold.since < sent {
                hold.lost.get_or_insert("not-listed");
            } else if is_listed && hold.lost.is_none() {
                hold.token = token.unwrap_or(hold.token);
                hold.until = hold.until.max(until);
            }
        }
    }

    fn end(&mut self) {
        self.over = true;
        for hold in self.held.values_mut() {
            hold.lost.get_or_insert("no-session");
        }
    }
}

impl LockSession for HttpSession {
    type Guard = HttpGuard;

    async fn open(options: &ClientOptions) -> Option<Self> {
        let nodes = NodePool::new(&options.endpoints, options.first);
        let wanted =
            json!({ "ttl_ms": options.ttl.as_millis() as u64, "who": options.client_name });
        for _ in &options.endpoints {
            let (node, call_timeout) = (nodes.current(), Duration::from_millis(500));
            match nodes.call(node, "/v1/sessions", &wanted, call_timeout).await {
                Ok(HttpResponse { status: 201, body }) => {
                    let ttl = Duration::from_millis(body["ttl_ms"].as_u64()?);
                    let key = body["session"].as_str()?.to_owned();
                    let state = Mutex::default();
                    let shared = Arc::new(HttpSessionInner { nodes, key, ttl, state });
                    tokio::spawn(HttpSessionInner::keep_alive(Arc::downgrade(&shared)));
                    return Some(Self { shared, requests: 0 });
                }
                _ => nodes.fail_over(node),
            }
        }
        None
    }

    fn node(&self) -> usize {
        self.shared.nodes.current()
    }

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<HttpGuard> {
        self.requests += 1;
        let (session, end) = (&self.shared, Moment::now().later(wait));
        let request = self.requests;
        while !end.from_now().is_zero() && session.is_good() {
            // The same number at another node is the same request: it keeps its position in the queue.
            let left = end.from_now();
            let wanted = json!({
                "session": session.key, "name": name, "request": request, "wait_ms": left.as_millis() as u64,
            });
            let (sent, node) = (Moment::now().0, session.nodes.current());
            let call_timeout = left + Duration::from_millis(500);
            match session.nodes.call(node, "/v1/acquire", &wanted, call_timeout).await {
                Ok(HttpResponse { status: 200, body }) => {
                    let token = body["token"].as_u64().unwrap_or(0);
                    let until = sent + body["reliable_ms"].as_u64().unwrap_or(0) * 1_000;
                    let mut state = session.state();
                    let (name, since) = (name.to_owned(), Moment::now().0);
                    let hold = HeldLock {
                        name,
                        token,
                        since,
                        until,
                        lost: state.over.then_some("no-session"),
                    };
                    state.held.insert(request, hold);
                    let session = Arc::clone(session);
                    return Acquired::Granted(HttpGuard { session, request, token });
                }
                // Another node, which was called before, may still pursue the request.
                Ok(answer) if answer.code() == "timed-out" => break,
                Ok(answer) if answer.code() == "no-session" => {
                    session.state().end();
                    return Acquired::Failed;
                }
                _ => {
                    session.nodes.fail_over(node);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        // The call may have been received anyway.
        match release(session, request).await && session.is_good() {
            true => Acquired::TimedOut,
            false => Acquired::Failed,
        }
    }
}

/// Releases a lock, or withdraws a request. Returns whether a node has confirmed it.
async fn release(session: &HttpSessionInner, request: u64) -> bool {
    session.state().held.remove(&request);
    let end = Moment::now().later(session.ttl);
    let body = json!({ "session": session.key, "request": request });
    while !end.from_now().is_zero() && !session.state().over {
        let node = session.nodes.current();
        match session.nodes.call(node, "/v1/release", &body, session.call_timeout()).await {
            Ok(HttpResponse { status: 204, .. }) => return true,
            Ok(answer) if answer.code() == "no-request" => return true,
            Ok(answer) if answer.code() == "no-session" => session.state().end(),
            _ => {
                session.nodes.fail_over(node);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    false
}

pub(crate) struct HttpGuard {
    session: Arc<HttpSessionInner>,
    request: u64,
    token: u64,
}

impl LockGuard for HttpGuard {
    fn token(&self) -> u64 {
        // The token may have grown since the grant.
        self.session.state().held.get(&self.request).map_or(self.token, |hold| hold.token)
    }

    fn deadline(&self) -> Deadline {
        let until = self.session.state().held.get(&self.request).map_or(0, |hold| hold.until);
        Deadline { promised: until, assumed: until }
    }

    fn is_held(&self) -> bool {
        let state = self.session.state();
        let hold = state.held.get(&self.request);
        hold.is_some_and(|hold| hold.lost.is_none() && Moment::now().0 < hold.until)
    }

    fn loss(&self) -> String {
        let state = self.session.state();
        let lost = state.held.get(&self.request).and_then(|hold| hold.lost);
        lost.unwrap_or("deadline").to_owned()
    }

    async fn release(self) -> bool {
        release(&self.session, self.request).await && self.session.is_good()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(until: u64) -> HttpSessionState {
        let hold = HeldLock { name: String::new(), token: 7, since: 100, until, lost: None };
        HttpSessionState { over: false, held: BTreeMap::from([(1, hold)]) }
    }

    #[test]
    fn a_lock_counts_from_the_call_and_ends_if_it_is_not_listed() {
        let listed = json!({ "reliable_ms": 1, "held": [{ "request": 1, "token": 7 }] });
        let mut state = held(500);
        state.extend(200, 300, &listed);
        assert_eq!((state.held[&1].until, state.held[&1].lost), (1_200, None));
        state.extend(250, 1_200, &listed);
        assert_eq!(state.held[&1].lost, Some("deadline"));
        let mut state = held(500);
        state.extend(50, 300, &json!({ "reliable_ms": 1, "held": [] }));
        assert_eq!(state.held[&1].lost, None, "the call was sent before the grant");
        state.extend(200, 300, &json!({ "reliable_ms": 1, "held": [] }));
        assert_eq!(state.held[&1].lost, Some("not-listed"));
    }
}
