//! A way to ask the node from within the process: for whoever speaks another language than the client's protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quorate_protocol::{Answer, Ask, Call, Failure, Say};
use tokio::sync::{mpsc, oneshot};

use crate::clock;
use crate::keeper::Client;
use crate::node::{Inbox, Input, Looks};
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
    pub(crate) fn next_client(&self) -> Client {
        Client(self.clients.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Asks, and waits for the answer. What a session relies on is counted from now on.
    pub(crate) async fn ask(&self, rights: &Rights, call: Call) -> Result<Answer, Failure> {
        let mut hearing = self.begin(rights, call, 8).await?;
        loop {
            match hearing.says.recv().await {
                Some(Say::Answer(_, Answer::Failed(failure))) => return Err(failure),
                Some(Say::Answer(_, answer)) => return Ok(answer),
                Some(_) => {}
                None => return Err(Failure::Leaving),
            }
        }
    }

    /// Hears of all changes of names that begin so.
    pub(crate) async fn watch(&self, rights: &Rights, prefix: String) -> Result<Hearing, Failure> {
        self.begin(rights, Call::Watch { prefix }, WATCHING).await
    }

    async fn begin(&self, rights: &Rights, call: Call, room: usize) -> Result<Hearing, Failure> {
        if let Some(why) = rights.objection(&call) {
            return Err(Failure::NotAllowed(why));
        }
        let (client, (say, says)) = (self.next_client(), mpsc::channel(room));
        let ask = Ask { number: 1, sent: clock::now().0 / 1_000, call };
        for input in [Input::Come(client, say), Input::Ask(client, ask)] {
            self.inbox.send(input).await.map_err(|_| Failure::Leaving)?;
        }
        Ok(Hearing { client, inbox: self.inbox.clone(), says })
    }

    /// What the node looks like from inside.
    pub(crate) async fn look(&self) -> Option<Looks> {
        let (ask, answer) = oneshot::channel();
        self.inbox.send(Input::Look(ask)).await.ok()?;
        answer.await.ok()
    }

    /// What the node counts, for Prometheus.
    pub(crate) async fn measures(&self) -> Option<String> {
        let (ask, answer) = oneshot::channel();
        self.inbox.send(Input::Measure(ask)).await.ok()?;
        answer.await.ok()
    }
}

/// What the node says to one client, which is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Hearing {
    client: Client,
    inbox: Inbox,
    pub(crate) says: mpsc::Receiver<Say>,
}

impl Drop for Hearing {
    fn drop(&mut self) {
        // The loop of the node may be busy; whoever is dropped cannot wait.
        if let Err(mpsc::error::TrySendError::Full(gone)) =
            self.inbox.try_send(Input::Gone(self.client))
        {
            let inbox = self.inbox.clone();
            tokio::spawn(async move { inbox.send(gone).await });
        }
    }
}
