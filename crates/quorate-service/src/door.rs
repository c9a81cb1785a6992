//! A way to ask the node from within the process: for whoever speaks another language than the client's protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quorate_protocol::{About, Answer, Ask, Call, Change, Failure, Kind, Say, Standing};
use tokio::sync::{mpsc, oneshot};

use crate::clock;
use crate::core::ConnectionId;
use crate::event_loop::{Inbox, Input, Looks};
use crate::lease::{LeaseId, Leased};
use crate::rights::Rights;

/// So much may wait for one that watches before it counts as one that does not read.
const WATCHING: usize = 1_024;

/// Asks the node, as a client of its own for each call.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    inbox: Inbox,
    clients: Arc<AtomicU64>,
}

impl Door {
    pub(crate) fn new(inbox: Inbox) -> Self {
        Self { inbox, clients: Arc::new(AtomicU64::new(0)) }
    }

    /// A number for a client.
    pub(crate) fn next_client(&self) -> ConnectionId {
        ConnectionId(self.clients.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Asks, and waits for the answer. What a session relies on is counted from now on.
    pub(crate) async fn ask(&self, rights: &Rights, call: Call) -> Result<Answer, Failure> {
        answer(self.begin(rights, call, 8).await?).await
    }

    /// Who has and who wants this name, be it a lock's or an election's.
    pub(crate) async fn requests_of(
        &self,
        rights: &Rights,
        name: &str,
    ) -> Result<Vec<About>, Failure> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let (prefix, exact) = (name.to_owned(), true);
            let call = Call::List { prefix, exact, after, most: u32::MAX };
            match self.ask(rights, call).await? {
                Answer::Page(page) => {
                    all.extend(page.requests);
                    after = page.next;
                }
                // An answer of another kind: it cannot be.
                _ => return Ok(all),
            }
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Who leads where there is an election of this name.
    pub(crate) async fn leader_of(
        &self,
        rights: &Rights,
        name: &str,
    ) -> Result<Option<About>, Failure> {
        let leads = |about: &About| {
            about.name.kind() == Kind::Election
                && matches!(about.standing, Standing::Holding { .. })
        };
        Ok(self.requests_of(rights, name).await?.into_iter().find(leads))
    }

    /// Hears of all changes of names that begin so.
    pub(crate) async fn watch(&self, rights: &Rights, prefix: String) -> Result<Hearing, Failure> {
        self.begin(rights, Call::Watch { prefix }, WATCHING).await
    }

    /// Asks for something of a lease of the caller's, and waits. What is not waited for any longer is taken back.
    pub(crate) async fn leased(
        &self,
        rights: &Rights,
        id: i64,
        what: Leased,
    ) -> Result<Answer, Failure> {
        if let Leased::Acquire { name, .. } | Leased::Enqueue { name, .. } = &what {
            rights.may_acquire(name).map_err(Failure::NotAllowed)?;
        }
        let lease = LeaseId { owner: rights.name.clone(), id };
        answer(self.come(rights, |client| Input::Leased(client, lease, what), 8).await?).await
    }

    /// The leases that the caller has.
    pub(crate) async fn leases(&self, rights: &Rights) -> Result<Answer, Failure> {
        let owner = rights.name.clone();
        answer(self.come(rights, |client| Input::Leases(client, owner), 8).await?).await
    }

    async fn begin(&self, rights: &Rights, call: Call, room: usize) -> Result<Hearing, Failure> {
        if let Some(why) = rights.objection(&call) {
            return Err(Failure::NotAllowed(why));
        }
        let ask = Ask { number: 1, sent: clock::now().0 / 1_000, call };
        self.come(rights, |client| Input::Ask(client, ask), room).await
    }

    /// A client of its own for one question.
    async fn come(
        &self,
        rights: &Rights,
        question: impl FnOnce(ConnectionId) -> Input,
        room: usize,
    ) -> Result<Hearing, Failure> {
        let client = ConnectionId(self.next_client().0 | ConnectionId::LOCAL);
        let (say, says) = mpsc::channel(room);
        let hearing = Hearing { client, inbox: self.inbox.clone(), heard: false, says };
        let comes = Input::Come(client, rights.owner.clone(), say);
        self.inbox.give([comes, question(client)]).map_err(|_| Failure::Leaving)?;
        Ok(hearing)
    }

    /// What the node looks like from inside.
    pub(crate) async fn look(&self) -> Option<Looks> {
        let (ask, answer) = oneshot::channel();
        self.inbox.give([Input::Look(ask)]).ok()?;
        answer.await.ok()
    }

    /// What the node counts, for Prometheus.
    pub(crate) async fn measures(&self) -> Option<String> {
        let (ask, answer) = oneshot::channel();
        self.inbox.give([Input::Measure(ask)]).ok()?;
        answer.await.ok()
    }
}

/// Waits for the answer to the one question that was asked.
async fn answer(mut hearing: Hearing) -> Result<Answer, Failure> {
    loop {
        match hearing.says.recv().await {
            Some(Say::Answer(_, answer)) => {
                hearing.heard = true;
                return match answer {
                    Answer::Failed(failure) => Err(failure),
                    answer => Ok(answer),
                };
            }
            Some(_) => {}
            None => return Err(Failure::Leaving),
        }
    }
}

/// What the node says to one client, which is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Hearing {
    client: ConnectionId,
    inbox: Inbox,
    /// Whether the answer has come.
    heard: bool,
    pub(crate) says: mpsc::Receiver<Say>,
}

impl Hearing {
    /// Waits until all nodes know what is watched, and nothing is missed any more; what has changed by then.
    pub(crate) async fn until_all_know(&mut self) -> Result<Vec<Change>, Failure> {
        let mut changes = Vec::new();
        loop {
            match self.says.recv().await {
                Some(Say::Answer(_, Answer::Failed(failure))) => return Err(failure),
                Some(Say::Answer(..)) => return Ok(changes),
                Some(Say::Changed(change)) => changes.push(change),
                Some(_) => {}
                None => return Err(Failure::Leaving),
            }
        }
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let _ = self.inbox.give([Input::Gone(self.client, self.heard)]);
    }
}
