//! The connection to a node of quorate: asked again after a break, since every call may be made twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::{Answer, Ask, Call, Change, Failure, Mode, Name, Say, SessionKey, greeting};
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};

use crate::client::Job;
use crate::clock::Moment;
use crate::credentials::{Dialler, Stream};
use crate::error::Error;
use crate::guard::Loss;
use crate::reach::first_that_answers;
use crate::session::SessionState;

struct Pending {
    call: Call,
    /// When nobody waits any longer for a node to be reached.
    until: Option<Moment>,
    reply: oneshot::Sender<Result<Answer, Error>>,
}

/// How long a node may take to read what it is asked.
const WRITE: Duration = Duration::from_secs(5);

/// Time after which a node is taken for one that cannot be reached.
const CONNECT: Duration = Duration::from_secs(2);

/// Does the jobs of a client, at these nodes.
pub(crate) struct Worker {
    endpoints: Vec<String>,
    dialler: Dialler,
    current: usize,
    pending: BTreeMap<u64, Pending>,
    sessions: BTreeMap<SessionKey, Arc<SessionState>>,
    watchers: Vec<(String, mpsc::UnboundedSender<Change>)>,
    numbers: u64,
    /// Why there is no connection.
    trouble: String,
    /// Locks that are held, by session and request: another node is told of them.
    granted: BTreeMap<(SessionKey, u64), Grant>,
    /// Acquire calls that tell a node of a lock that is held, by their number.
    repeated: BTreeMap<u64, (SessionKey, u64)>,
    /// Client addresses of the other nodes.
    others: Vec<String>,
    /// Number of the call that asks for them.
    asks_others: u64,
    /// The node stops.
    leaving: bool,
}

/// A lock that is held.
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
            pending: BTreeMap::new(),
            sessions: BTreeMap::new(),
            watchers: Vec::new(),
            numbers: 0,
            trouble: String::new(),
            granted: BTreeMap::new(),
            repeated: BTreeMap::new(),
            others: Vec::new(),
            asks_others: 0,
            leaving: false,
        }
    }

    pub(crate) async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut pause = Duration::from_millis(10);
        loop {
            self.watchers.retain(|(_, watcher)| !watcher.is_closed());
            if self.pending.is_empty() && self.sessions.is_empty() && self.watchers.is_empty() {
                let Some(job) = jobs.recv().await else { return };
                self.take(job, &mut BytesMut::new());
                continue;
            }
            match self.connect().await {
                Ok(stream) => {
                    pause = Duration::from_millis(10);
                    match self.talk(stream, &mut jobs).await {
                        Ok(()) => return,
                        Err(error) => self.trouble = error.to_string(),
                    }
                }
                Err((endpoint, error)) => {
                    self.trouble = format!("{endpoint}: {error}");
                    let unfit = matches!(
                        error,
                        greeting::Unfit::Stranger
                            | greeting::Unfit::Version { .. }
                            | greeting::Unfit::Refused(_)
                    );
                    if unfit && self.endpoints.len() == 1 {
                        for (_, pending) in std::mem::take(&mut self.pending) {
                            let _ =
                                pending.reply.send(Err(Error::Unreachable(self.trouble.clone())));
                        }
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_millis(500));
                }
            }
            self.give_up();
            while let Ok(job) = jobs.try_recv() {
                self.take(job, &mut BytesMut::new());
            }
        }
    }

    /// The node stops: the next one is tried, or one that it has told of where no other is known.
    fn go_on(&mut self) {
        if self.endpoints.len() == 1 {
            let others = self.others.iter().filter(|other| !self.endpoints.contains(other));
            self.endpoints.extend(others.cloned().collect::<Vec<_>>());
        }
        self.current += 1;
    }

    /// Tells a node of the locks that are held and still valid, so that it goes on with them.
    fn repeat_grants(&mut self, sent: u64, bytes: &mut BytesMut) {
        self.repeated.clear();
        let sessions = &self.sessions;
        self.granted.retain(|(key, request), _| {
            sessions.get(key).is_some_and(|state| state.is_valid(*request))
        });
        for ((session, request), grant) in &self.granted {
            self.numbers += 1;
            self.repeated.insert(self.numbers, (*session, *request));
            let call = Call::Acquire {
                session: *session,
                request: *request,
                name: grant.name.clone(),
                mode: Mode::Exclusive,
                wait_ms: None,
                why: grant.why.clone(),
                inside: Some(grant.token),
            };
            frame::put(&Ask { number: self.numbers, sent, call }, bytes);
        }
    }

    /// Connects to the present node, or to another one if that one does not answer soon.
    async fn connect(&mut self) -> Result<Box<dyn Stream>, (String, greeting::Unfit)> {
        let n = self.endpoints.len();
        let first = self.current.checked_rem(n).unwrap_or(0);
        let endpoints = (0..n).map(|next| self.endpoints[(first + next) % n].clone());
        let reached = first_that_answers(endpoints, |endpoint| {
            let dialler = self.dialler.clone();
            async move {
                let connect = async {
                    let mut stream = dialler.dial(&endpoint).await?;
                    greeting::greet(&mut stream, dialler.token.as_deref()).await?;
                    Ok(stream)
                };
                let late = || std::io::Error::from(std::io::ErrorKind::TimedOut);
                let connected = tokio::time::timeout(CONNECT, connect).await;
                connected.unwrap_or_else(|_| Err(late().into()))
            }
        });
        match reached.await {
            Ok((next, stream)) => {
                self.current = first + next;
                Ok(stream)
            }
            Err(failures) => {
                let nowhere = || std::io::Error::other("there is no endpoint");
                let last = failures.into_iter().next_back();
                Err(last.unwrap_or_else(|| (String::new(), nowhere().into())))
            }
        }
    }

    /// Whether the node should have answered something by now.
    fn is_overdue(&self) -> bool {
        let now = Moment::now();
        self.pending.values().any(|pending| pending.until.is_some_and(|until| until <= now))
    }

    /// Fails what has waited long enough for a node.
    fn give_up(&mut self) {
        let now = Moment::now();
        let late = |_: &u64, pending: &mut Pending| pending.until.is_some_and(|until| until <= now);
        for (_, pending) in self.pending.extract_if(.., late).collect::<Vec<_>>() {
            let _ = pending.reply.send(Err(Error::Unreachable(self.trouble.clone())));
        }
        // Nobody waits for it any more.
        self.pending.retain(|_, pending| !pending.reply.is_closed());
    }

    /// Talks until the connection breaks; done when the client is dropped.
    async fn talk(
        &mut self,
        stream: Box<dyn Stream>,
        jobs: &mut mpsc::UnboundedReceiver<Job>,
    ) -> std::io::Result<()> {
        let (read, mut write) = tokio::io::split(stream);
        let mut reader = Reader::new(read, frame::SAY_MOST);
        let mut bytes = BytesMut::new();
        let sent = Moment::now().0;
        self.repeat_grants(sent, &mut bytes);
        // What was asked before may not have been heard.
        for (number, pending) in &self.pending {
            let ask = Ask { number: *number, sent, call: pending.call.clone() };
            frame::put(&ask, &mut bytes);
        }
        for (prefix, _) in &self.watchers {
            self.numbers += 1;
            let call = Call::Watch { prefix: prefix.clone() };
            frame::put(&Ask { number: self.numbers, sent, call }, &mut bytes);
        }
        self.numbers += 1;
        self.asks_others = self.numbers;
        frame::put(&Ask { number: self.numbers, sent, call: Call::Status }, &mut bytes);
        let mut look = tokio::time::interval(Duration::from_millis(100));
        loop {
            if std::mem::take(&mut self.leaving) {
                self.go_on();
                return Err(std::io::Error::other("the node leaves"));
            }
            if !bytes.is_empty() {
                let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
                let written = async {
                    write.write_all(&bytes).await?;
                    write.flush().await
                };
                tokio::time::timeout(WRITE, written).await.map_err(late)??;
                bytes.clear();
            }
            tokio::select! {
                say = reader.next::<Say>() => match say? {
                    Some(say) => self.hear(say),
                    None => return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
                },
                job = jobs.recv() => match job {
                    Some(job) => self.take(job, &mut bytes),
                    None => return Ok(()),
                },
                // A node that is stopped or cut off closes no connection: it only says nothing.
                _ = look.tick() => if self.is_overdue() {
                    self.current += 1;
                    return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "it says nothing"));
                },
            }
            while let Some(say) = reader.take::<Say>()? {
                self.hear(say);
            }
            while let Ok(job) = jobs.try_recv() {
                self.take(job, &mut bytes);
            }
        }
    }

    fn take(&mut self, job: Job, bytes: &mut BytesMut) {
        match job {
            Job::Call { call, patience, reply } => {
                self.numbers += 1;
                let number = self.numbers;
                let sent = Moment::now();
                if let Call::Release { session, request } = &call {
                    self.granted.remove(&(*session, *request));
                }
                let until = patience.map(|patience| Moment(sent.0 + patience.as_micros() as u64));
                frame::put(&Ask { number, sent: sent.0, call: call.clone() }, bytes);
                self.pending.insert(number, Pending { call, until, reply });
            }
            Job::Listen(key, state) => drop(self.sessions.insert(key, state)),
            Job::Forget(key) => {
                self.sessions.remove(&key);
                self.granted.retain(|(of, _), _| *of != key);
            }
            Job::Watch(prefix, changes) => self.watchers.push((prefix, changes)),
        }
    }

    fn hear(&mut self, say: Say) {
        match say {
            Say::Answer(number, Answer::Status(status)) if number == self.asks_others => {
                self.others = status.members.into_iter().filter_map(|it| it.clients).collect();
            }
            Say::Answer(number, answer) if self.repeated.contains_key(&number) => {
                let Some((session, request)) = self.repeated.remove(&number) else { return };
                let Some(state) = self.sessions.get(&session) else { return };
                match answer {
                    Answer::Granted { reliance, .. } => {
                        let until = Moment(reliance.since.saturating_add(reliance.micros));
                        state.extend(request, until);
                    }
                    Answer::Failed(Failure::NoSession) => state.end(),
                    Answer::Failed(Failure::NoRequest) => state.lose(request, Loss::NoQuorum),
                    // What it holds is known by the next answer to a keep-alive.
                    _ => {}
                }
            }
            Say::Answer(number, Answer::Failed(Failure::Leaving))
                if self.endpoints.len() > 1 && self.pending.contains_key(&number) =>
            {
                // It is asked again at another node.
                self.leaving = true;
            }
            Say::Answer(number, answer) => {
                if let Some(pending) = self.pending.remove(&number) {
                    // What is relied on is known before whoever waits goes on.
                    let key = match &pending.call {
                        Call::KeepAlive(key) => Some(key),
                        Call::Acquire { session, .. } => Some(session),
                        _ => None,
                    };
                    if let Some(state) = key.and_then(|key| self.sessions.get(key)) {
                        match &answer {
                            Answer::Alive { reliance, held, .. } => {
                                state.keep(held, *reliance);
                            }
                            Answer::Granted { token, reliance } => {
                                // Nothing is said of what else the session has.
                                let until = reliance.since.saturating_add(reliance.micros);
                                if let Call::Acquire { session, request, name, why, .. } =
                                    &pending.call
                                {
                                    state.grant(*request, *token, Some(Moment(until)));
                                    let (name, why) = (name.clone(), why.clone());
                                    let grant = Grant { name, why, token: *token };
                                    self.granted.insert((*session, *request), grant);
                                }
                            }
                            Answer::Failed(Failure::NoSession) => state.end(),
                            _ => {}
                        }
                    }
                    let _ = pending.reply.send(Ok(answer));
                }
            }
            Say::Lost { session, request, expelled } => {
                if let Some(state) = self.sessions.get(&session) {
                    let loss = if expelled { Loss::Expelled } else { Loss::NoQuorum };
                    state.lose(request, loss);
                }
            }
            Say::Position { session, request, position } => {
                if let Some(state) = self.sessions.get(&session) {
                    state.place(request, position);
                }
            }
            Say::Changed(change) => {
                self.watchers.retain(|(prefix, watcher)| {
                    let wants = change.name.text().starts_with(prefix.as_str());
                    !watcher.is_closed() && (!wants || watcher.send(change.clone()).is_ok())
                });
            }
            Say::Leaving => self.leaving = true,
            // Only direct clients are told.
            Say::FromVoter(_) => {}
        }
    }
}
