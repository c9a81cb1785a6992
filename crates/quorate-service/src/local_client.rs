//! A way to ask the node from within the process: for whoever speaks another language than the client's protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quorate_protocol::{
    Call, CallResponse, ClientMessage, Failure, HolderChange, Kind, RequestInfo, RequestState,
    ServerMessage,
};
use tokio::sync::{mpsc, oneshot};

use crate::auth::Permissions;
use crate::clock;
use crate::core::ConnectionId;
use crate::event_loop::{Health, Inbox, Input};
use crate::lease::{LeaseCall, LeaseId};

/// So much may wait for one that watches before it counts as one that does not read.
const WATCH_BUFFER: usize = 1_024;

/// Asks the node, as a client of its own for each call.
#[derive(Clone, Debug)]
pub(crate) struct LocalClient {
    inbox: Inbox,
    connections: Arc<AtomicU64>,
}

impl LocalClient {
    pub(crate) fn new(inbox: Inbox) -> Self {
        Self { inbox, connections: Arc::new(AtomicU64::new(0)) }
    }

    /// A number for a client.
    pub(crate) fn next_connection(&self) -> ConnectionId {
        ConnectionId(self.connections.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Asks, and waits for the answer. What a session relies on is counted from now on.
    pub(crate) async fn call(
        &self,
        permissions: &Permissions,
        call: Call,
    ) -> Result<CallResponse, Failure> {
        answer(self.start_call(permissions, call, 8).await?).await
    }

    /// Who has and who wants this name, be it a lock's or an election's.
    pub(crate) async fn requests_for(
        &self,
        permissions: &Permissions,
        name: &str,
    ) -> Result<Vec<RequestInfo>, Failure> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let (prefix, exact) = (name.to_owned(), true);
            let call = Call::List { prefix, exact, after, most: u32::MAX };
            match self.call(permissions, call).await? {
                CallResponse::Page(page) => {
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
        permissions: &Permissions,
        name: &str,
    ) -> Result<Option<RequestInfo>, Failure> {
        let leads = |info: &RequestInfo| {
            info.name.kind() == Kind::Election && matches!(info.state, RequestState::Holding { .. })
        };
        Ok(self.requests_for(permissions, name).await?.into_iter().find(leads))
    }

    /// Hears of all changes of names that begin so.
    pub(crate) async fn watch(
        &self,
        permissions: &Permissions,
        prefix: String,
    ) -> Result<LocalConnection, Failure> {
        self.start_call(permissions, Call::Watch { prefix }, WATCH_BUFFER).await
    }

    /// Asks for something of a lease of the caller's, and waits. What is not waited for any longer is taken back.
    pub(crate) async fn lease_call(
        &self,
        permissions: &Permissions,
        id: i64,
        call: LeaseCall,
    ) -> Result<CallResponse, Failure> {
        if let LeaseCall::Acquire { name, .. } | LeaseCall::Enqueue { name, .. } = &call {
            permissions.may_acquire(name).map_err(Failure::NotAllowed)?;
        }
        let lease = LeaseId { owner: permissions.name.clone(), id };
        answer(
            self.connect(permissions, |connection| Input::LeaseCall(connection, lease, call), 8)
                .await?,
        )
        .await
    }

    /// The leases that the caller has.
    pub(crate) async fn leases(&self, permissions: &Permissions) -> Result<CallResponse, Failure> {
        let owner = permissions.name.clone();
        answer(self.connect(permissions, |id| Input::ListLeases(id, owner), 8).await?).await
    }

    async fn start_call(
        &self,
        permissions: &Permissions,
        call: Call,
        capacity: usize,
    ) -> Result<LocalConnection, Failure> {
        if let Some(why) = permissions.denial(&call) {
            return Err(Failure::NotAllowed(why));
        }
        let message = ClientMessage { number: 1, sent: clock::now().0 / 1_000, call };
        self.connect(permissions, |id| Input::Call(id, message), capacity).await
    }

    /// A client of its own for one question.
    async fn connect(
        &self,
        permissions: &Permissions,
        input: impl FnOnce(ConnectionId) -> Input,
        capacity: usize,
    ) -> Result<LocalConnection, Failure> {
        let id = ConnectionId(self.next_connection().0 | ConnectionId::LOCAL);
        let (sender, messages) = mpsc::channel(capacity);
        let connection =
            LocalConnection { id, inbox: self.inbox.clone(), answer_received: false, messages };
        let connected = Input::Connected(id, permissions.owner.clone(), sender);
        self.inbox.submit([connected, input(id)]).map_err(|_| Failure::Leaving)?;
        Ok(connection)
    }

    /// What the node looks like from inside.
    pub(crate) async fn health(&self) -> Option<Health> {
        let (reply, answer) = oneshot::channel();
        self.inbox.submit([Input::Health(reply)]).ok()?;
        answer.await.ok()
    }

    /// What the node counts, for Prometheus.
    pub(crate) async fn metrics(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.inbox.submit([Input::Metrics(reply)]).ok()?;
        answer.await.ok()
    }
}

/// Waits for the answer to the one question that was asked.
async fn answer(mut connection: LocalConnection) -> Result<CallResponse, Failure> {
    loop {
        match connection.messages.recv().await {
            Some(ServerMessage::Response(_, answer)) => {
                connection.answer_received = true;
                return match answer {
                    CallResponse::Failed(failure) => Err(failure),
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
pub(crate) struct LocalConnection {
    id: ConnectionId,
    inbox: Inbox,
    /// Whether the answer has come.
    answer_received: bool,
    pub(crate) messages: mpsc::Receiver<ServerMessage>,
}

impl LocalConnection {
    /// Waits until all nodes know what is watched, and nothing is missed any more; what has changed by then.
    pub(crate) async fn wait_until_watching(&mut self) -> Result<Vec<HolderChange>, Failure> {
        let mut changes = Vec::new();
        loop {
            match self.messages.recv().await {
                Some(ServerMessage::Response(_, CallResponse::Failed(failure))) => {
                    return Err(failure);
                }
                Some(ServerMessage::Response(..)) => return Ok(changes),
                Some(ServerMessage::Changed(change)) => changes.push(change),
                Some(_) => {}
                None => return Err(Failure::Leaving),
            }
        }
    }
}

impl Drop for LocalConnection {
    fn drop(&mut self) {
        let _ = self.inbox.submit([Input::Disconnected(self.id, self.answer_received)]);
    }
}
