//! The connection to a node of quorate. After a break, pending calls are sent again: every call is idempotent.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use quorate_core::SortedMap;
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::{
    Call, CallResponse, ClientMessage, Failure, HolderChange, Mode, Name, ServerMessage,
    SessionKey, handshake,
};
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};

use crate::clock::Moment;
use crate::credentials::{Dialler, Stream};
use crate::error::Error;
use crate::job::Job;
use crate::lock_status::Loss;
use crate::session_state::SessionState;
use crate::staggered::first_that_answers;

struct Pending {
    call: Call,
    /// Deadline for a node to answer; `None` waits forever.
    until: Option<Moment>,
    reply: oneshot::Sender<Result<CallResponse, Error>>,
    /// Whether a node without a quorum has refused the call before.
    refused: bool,
}

impl Pending {
    /// Whether another node should be asked although this one has answered. A node that its clients reach and its peers do
    /// not has no quorum, while another node may have one. If that one has none either, the caller has to know.
    fn asks_another(&mut self, failure: &Failure) -> bool {
        let confirms = matches!(self.call, Call::KeepAlive(_) | Call::Acquire { .. });
        let refused = confirms && matches!(failure, Failure::NoQuorum);
        matches!(failure, Failure::Leaving)
            || (refused && !std::mem::replace(&mut self.refused, true))
    }
}

/// Maximum time for a node to read what is written to it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time after which a node counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Executes the jobs of a client at one of these nodes.
pub(crate) struct Worker {
    endpoints: Vec<String>,
    dialler: Dialler,
    current: usize,
    pending: SortedMap<u64, Pending>,
    sessions: SortedMap<SessionKey, Arc<SessionState>>,
    watchers: Vec<(String, mpsc::UnboundedSender<HolderChange>)>,
    last_number: u64,
    /// Reason why there is no connection.
    last_error: String,
    /// Whether the reason is that a node does not admit this client.
    not_admitted: bool,
    /// Held locks by session and request. After a reconnect they are repeated to the new node.
    granted: SortedMap<(SessionKey, u64), Grant>,
    /// Acquire calls that repeat a held lock to a node, by call number.
    repeated: SortedMap<u64, (SessionKey, u64)>,
    /// Client addresses of the other nodes.
    other_nodes: Vec<String>,
    /// Number of the status call that queries these addresses.
    member_query: u64,
    /// Whether to continue at another node: this one stops, or has no quorum.
    switches: bool,
}

/// A held lock of a relayed session.
struct Grant {
    name: Name,
    why: String,
    token: u64,
}

impl Worker {
    pub(crate) fn new(endpoints: Vec<String>, dialler: Dialler) -> Self {
        Self {
            endpoints,
            dialler,
            current: 0,
            pending: SortedMap::new(),
            sessions: SortedMap::new(),
            watchers: Vec::new(),
            last_number: 0,
            last_error: String::new(),
            not_admitted: false,
            granted: SortedMap::new(),
            repeated: SortedMap::new(),
            other_nodes: Vec::new(),
            member_query: 0,
            switches: false,
        }
    }

    pub(crate) async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut pause = Duration::from_millis(10);
        loop {
            self.watchers.retain(|(_, watcher)| !watcher.is_closed());
            if self.pending.is_empty() && self.sessions.is_empty() && self.watchers.is_empty() {
                let Some(job) = jobs.recv().await else { return };
                self.on_job(job, &mut BytesMut::new());
                continue;
            }
            match self.connect().await {
                Ok(stream) => {
                    pause = Duration::from_millis(10);
                    match self.run_connection(stream, &mut jobs).await {
                        Ok(()) => return,
                        Err(error) => {
                            (self.last_error, self.not_admitted) = (error.to_string(), false);
                        }
                    }
                }
                Err((endpoint, error)) => {
                    self.last_error = format!("{endpoint}: {error}");
                    self.not_admitted =
                        matches!(error, handshake::ClientHandshakeError::Refused(_));
                    let incompatible = matches!(
                        error,
                        handshake::ClientHandshakeError::NotQuorate
                            | handshake::ClientHandshakeError::Version { .. }
                            | handshake::ClientHandshakeError::Refused(_)
                    );
                    if incompatible && self.endpoints.len() == 1 {
                        for (_, pending) in std::mem::take(&mut self.pending) {
                            let _ = pending.reply.send(Err(self.no_connection()));
                        }
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_millis(500));
                }
            }
            self.expire_pending();
            while let Ok(job) = jobs.try_recv() {
                self.on_job(job, &mut BytesMut::new());
            }
        }
    }

    /// Switches to the next node because this one stops or has no quorum. The addresses that it advertised are used, too:
    /// the nodes that the user has named may have been replaced.
    fn switch_node(&mut self) {
        let other_nodes = self.other_nodes.iter().filter(|other| !self.endpoints.contains(other));
        self.endpoints.extend(other_nodes.cloned().collect::<Vec<_>>());
        self.current += 1;
    }

    /// Repeats the held locks that are still valid to a new node, so that it takes them over.
    fn repeat_grants(&mut self, sent: u64, bytes: &mut BytesMut) {
        self.repeated.clear();
        let sessions = &self.sessions;
        self.granted.retain(|(key, request), _| {
            sessions.get(key).is_some_and(|state| state.is_valid(*request))
        });
        for ((session, request), grant) in &self.granted {
            self.last_number += 1;
            self.repeated.insert(self.last_number, (*session, *request));
            let call = Call::Acquire {
                session: *session,
                request: *request,
                name: grant.name.clone(),
                mode: Mode::Exclusive,
                wait_ms: None,
                why: grant.why.clone(),
                inside: Some(grant.token),
            };
            frame::put(&ClientMessage { number: self.last_number, sent, call }, bytes);
        }
    }

    /// Connects to the current node, or to another one if that one does not answer soon.
    async fn connect(
        &mut self,
    ) -> Result<Box<dyn Stream>, (String, handshake::ClientHandshakeError)> {
        let n = self.endpoints.len();
        let first = self.current.checked_rem(n).unwrap_or(0);
        let endpoints = (0..n).map(|next| self.endpoints[(first + next) % n].clone());
        let reached = first_that_answers(endpoints, |endpoint| {
            let dialler = self.dialler.clone();
            async move {
                let connect = async {
                    let mut stream = dialler.dial(&endpoint).await?;
                    handshake::initiate(&mut stream, handshake::VERSIONS, dialler.token.as_deref())
                        .await?;
                    Ok(stream)
                };
                let late = || std::io::Error::from(std::io::ErrorKind::TimedOut);
                let connected = tokio::time::timeout(CONNECT_TIMEOUT, connect).await;
                connected.unwrap_or_else(|_| Err(late().into()))
            }
        });
        match reached.await {
            Ok((next, stream)) => {
                self.current = first + next;
                Ok(stream)
            }
            Err(failures) => {
                let nowhere = || std::io::Error::other("no endpoint is given");
                let last = failures.into_iter().next_back();
                Err(last.unwrap_or_else(|| (String::new(), nowhere().into())))
            }
        }
    }

    /// Whether a call that this node could not serve is to be sent to another one.
    fn asks_another(&mut self, number: u64, failure: &Failure) -> bool {
        let pending = self.pending.get_mut(&number).filter(|_| self.endpoints.len() > 1);
        pending.is_some_and(|pending| pending.asks_another(failure))
    }

    /// Whether the node has failed to answer a call in time.
    fn is_overdue(&self) -> bool {
        let now = Moment::now();
        self.pending.values().any(|pending| pending.until.is_some_and(|until| until <= now))
    }

    /// Fails the calls whose timeout has passed.
    fn expire_pending(&mut self) {
        let now = Moment::now();
        let late = |_: &u64, pending: &mut Pending| pending.until.is_some_and(|until| until <= now);
        for (_, pending) in self.pending.extract(late) {
            let _ = pending.reply.send(Err(self.no_connection()));
        }
        // The callers of these have given up.
        self.pending.retain(|_, pending| !pending.reply.is_closed());
    }

    /// Error of a call that no node has answered.
    fn no_connection(&self) -> Error {
        let why = self.last_error.clone();
        if self.not_admitted { Error::NotAdmitted(why) } else { Error::Unreachable(why) }
    }

    /// Serves one connection. Returns an error when the connection breaks, `Ok` when the client is dropped.
    async fn run_connection(
        &mut self,
        stream: Box<dyn Stream>,
        jobs: &mut mpsc::UnboundedReceiver<Job>,
    ) -> std::io::Result<()> {
        let (read, mut write) = tokio::io::split(stream);
        let mut reader = Reader::new(read, frame::SERVER_FRAME_MAX);
        let mut bytes = BytesMut::new();
        let sent = Moment::now().0;
        self.repeat_grants(sent, &mut bytes);
        // The node may not have received the pending calls before the connection broke.
        for (number, pending) in &self.pending {
            let message = ClientMessage { number: *number, sent, call: pending.call.clone() };
            frame::put(&message, &mut bytes);
        }
        for (prefix, _) in &self.watchers {
            self.last_number += 1;
            let call = Call::Watch { prefix: prefix.clone() };
            frame::put(&ClientMessage { number: self.last_number, sent, call }, &mut bytes);
        }
        self.last_number += 1;
        self.member_query = self.last_number;
        frame::put(
            &ClientMessage { number: self.last_number, sent, call: Call::Status },
            &mut bytes,
        );
        let mut overdue_check = tokio::time::interval(Duration::from_millis(100));
        loop {
            if std::mem::take(&mut self.switches) {
                self.switch_node();
                return Err(std::io::Error::other("the node is shutting down or has no quorum"));
            }
            if !bytes.is_empty() {
                let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
                let written = async {
                    write.write_all(&bytes).await?;
                    write.flush().await
                };
                tokio::time::timeout(WRITE_TIMEOUT, written).await.map_err(late)??;
                bytes.clear();
            }
            tokio::select! {
                message = reader.next::<ServerMessage>() => match message? {
                    Some(message) => self.on_message(message),
                    None => return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
                },
                job = jobs.recv() => match job {
                    Some(job) => self.on_job(job, &mut bytes),
                    None => return Ok(()),
                },
                // A stopped or partitioned node does not close its connections: it only stops answering.
                _ = overdue_check.tick() => if self.is_overdue() {
                    self.current += 1;
                    return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "the node does not answer"));
                },
            }
            while let Some(message) = reader.take::<ServerMessage>()? {
                self.on_message(message);
            }
            while let Ok(job) = jobs.try_recv() {
                self.on_job(job, &mut bytes);
            }
        }
    }

    fn on_job(&mut self, job: Job, bytes: &mut BytesMut) {
        match job {
            Job::Call { call, timeout, reply } => {
                self.last_number += 1;
                let number = self.last_number;
                let sent = Moment::now();
                if let Call::Release { session, request } = &call {
                    self.granted.remove(&(*session, *request));
                }
                let until = timeout.map(|timeout| Moment(sent.0 + timeout.as_micros() as u64));
                frame::put(&ClientMessage { number, sent: sent.0, call: call.clone() }, bytes);
                self.pending.insert(number, Pending { call, until, reply, refused: false });
            }
            Job::Subscribe(key, state) => drop(self.sessions.insert(key, state)),
            Job::Unsubscribe(key) => {
                self.sessions.remove(&key);
                self.granted.retain(|(of, _), _| *of != key);
            }
            Job::Watch(prefix, changes) => self.watchers.push((prefix, changes)),
        }
    }

    fn on_message(&mut self, message: ServerMessage) {
        match message {
            ServerMessage::Response(number, CallResponse::Status(status))
                if number == self.member_query =>
            {
                self.other_nodes = status.members.into_iter().filter_map(|it| it.clients).collect();
            }
            ServerMessage::Response(number, answer) if self.repeated.contains_key(&number) => {
                let Some((session, request)) = self.repeated.remove(&number) else { return };
                let Some(state) = self.sessions.get(&session) else { return };
                match answer {
                    CallResponse::Granted { validity, .. } => {
                        let until = Moment(validity.since.saturating_add(validity.micros));
                        state.extend(request, until);
                    }
                    CallResponse::Failed(Failure::NoSession) => state.end(),
                    CallResponse::Failed(Failure::NoRequest) => state.lose(request, Loss::NoQuorum),
                    // The next answer to a keep-alive lists the held locks.
                    _ => {}
                }
            }
            ServerMessage::Response(number, CallResponse::Failed(failure))
                if self.asks_another(number, &failure) =>
            {
                // The call is sent again to another node.
                self.switches = true;
            }
            ServerMessage::Response(number, answer) => {
                if let Some(pending) = self.pending.remove(&number) {
                    // The validity is stored before the waiting caller resumes.
                    let key = match &pending.call {
                        Call::KeepAlive(key) => Some(key),
                        Call::Acquire { session, .. } => Some(session),
                        _ => None,
                    };
                    if let Some(state) = key.and_then(|key| self.sessions.get(key)) {
                        match &answer {
                            CallResponse::Alive { validity, held, .. } => {
                                state.apply_keep_alive(held, *validity);
                            }
                            CallResponse::Granted { token, validity } => {
                                // The answer covers this lock only, not the rest of the session.
                                let until = validity.since.saturating_add(validity.micros);
                                if let Call::Acquire { session, request, name, why, .. } =
                                    &pending.call
                                {
                                    state.grant(*request, *token, Some(Moment(until)));
                                    let (name, why) = (name.clone(), why.clone());
                                    let grant = Grant { name, why, token: *token };
                                    self.granted.insert((*session, *request), grant);
                                }
                            }
                            CallResponse::Failed(Failure::NoSession) => state.end(),
                            _ => {}
                        }
                    }
                    let _ = pending.reply.send(Ok(answer));
                }
            }
            ServerMessage::Lost { session, request, revoked } => {
                if let Some(state) = self.sessions.get(&session) {
                    let loss = if revoked { Loss::Expelled } else { Loss::NoQuorum };
                    state.lose(request, loss);
                }
            }
            ServerMessage::Position { session, request, position } => {
                if let Some(state) = self.sessions.get(&session) {
                    state.set_position(request, position);
                }
            }
            ServerMessage::Changed(change) => {
                self.watchers.retain(|(prefix, watcher)| {
                    let wants = change.name.text().starts_with(prefix.as_str());
                    !watcher.is_closed() && (!wants || watcher.send(change.clone()).is_ok())
                });
            }
            ServerMessage::Leaving => self.switches = true,
            // Only direct clients receive these.
            ServerMessage::Changes(members) => {
                self.other_nodes =
                    members.clients.into_iter().map(|(_, address)| address).collect();
            }
            ServerMessage::FromVoter(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker with one pending call, and the receiver of its answer.
    fn worker(
        endpoints: usize,
        call: Call,
    ) -> (Worker, oneshot::Receiver<Result<CallResponse, Error>>) {
        let endpoints = (0..endpoints).map(|node| format!("localhost:{node}")).collect();
        let mut worker = Worker::new(endpoints, Dialler::plain());
        let (reply, answer) = oneshot::channel();
        worker.on_job(Job::Call { call, timeout: None, reply }, &mut BytesMut::new());
        (worker, answer)
    }

    fn fail(worker: &mut Worker, failure: Failure) {
        let number = worker.last_number;
        worker.on_message(ServerMessage::Response(number, CallResponse::Failed(failure)));
    }

    #[test]
    fn a_keep_alive_that_a_node_without_a_quorum_refuses_is_sent_to_one_other_node() {
        let (mut worker, mut answer) = worker(2, Call::KeepAlive(SessionKey(7)));
        fail(&mut worker, Failure::NoQuorum);
        assert!(std::mem::take(&mut worker.switches) && answer.try_recv().is_err());
        fail(&mut worker, Failure::NoQuorum);
        let answer = answer.try_recv().expect("answered").expect("by a node");
        assert!(matches!(answer, CallResponse::Failed(Failure::NoQuorum)) && !worker.switches);
    }

    #[test]
    fn other_failures_and_a_single_endpoint_are_answers() {
        let (mut only, mut answer) = worker(1, Call::KeepAlive(SessionKey(7)));
        fail(&mut only, Failure::NoQuorum);
        assert!(!only.switches && answer.try_recv().is_ok());
        let (mut other, mut answer) = worker(2, Call::KeepAlive(SessionKey(7)));
        fail(&mut other, Failure::NoSession);
        assert!(!other.switches && answer.try_recv().is_ok());
        let (mut leaving, mut answer) = worker(2, Call::Status);
        fail(&mut leaving, Failure::Leaving);
        assert!(leaving.switches && answer.try_recv().is_err());
    }
}
