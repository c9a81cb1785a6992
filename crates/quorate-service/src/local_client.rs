//! In-process client, used by the HTTP and etcd front ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quorate_core::Time;
use quorate_protocol::{
    Call, CallResponse, ClientMessage, Failure, HolderChange, Kind, Name, RequestInfo,
    RequestState, ServerMessage,
};
use tokio::sync::{mpsc, oneshot};

use crate::auth::Permissions;
use crate::clock;
use crate::core::CallerId;
use crate::core::history::VotesOfNodes;
use crate::event_loop::{EventLoop, Health, Inbox, Input};
use crate::lease::{LeaseCall, LeaseId};

/// Capacity of the channel of a watch. A watcher that overflows it is disconnected.
const WATCH_BUFFER: usize = 1_024;

/// Client within the process. Each call has its own connection.
#[derive(Clone, Debug)]
pub(crate) struct LocalClient {
    inbox: Inbox,
    /// Number of callers so far.
    callers: Arc<AtomicU64>,
}

impl LocalClient {
    pub(crate) fn new(inbox: Inbox) -> Self {
        Self { inbox, callers: Arc::new(AtomicU64::new(0)) }
    }

    /// Returns a new identifier for the connection of a native client.
    pub(crate) fn next_connection(&self) -> CallerId {
        CallerId::Connection(self.next_number())
    }

    fn next_number(&self) -> u64 {
        self.callers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Makes a call and waits for the response. Validity is counted from now.
    pub(crate) async fn call(
        &self,
        permissions: &Permissions,
        call: Call,
    ) -> Result<CallResponse, Failure> {
        answer(self.start_call(permissions, call, 8).await?).await
    }

    /// Returns the holders and waiters of this name, both of the lock and of the election.
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
                // Cannot happen: a list is answered with a page.
                _ => return Ok(all),
            }
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Returns the leader of the election with this name, if there is one.
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

    /// Watches all names with a prefix.
    pub(crate) async fn watch(
        &self,
        permissions: &Permissions,
        prefix: String,
    ) -> Result<LocalConnection, Failure> {
        self.start_call(permissions, Call::Watch { prefix }, WATCH_BUFFER).await
    }

    /// Makes a call for a lease of the caller, and waits. If the returned future is dropped, the request is withdrawn.
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

    /// Lists the leases of the caller.
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

    /// Opens a connection for one call.
    async fn connect(
        &self,
        permissions: &Permissions,
        input: impl FnOnce(CallerId) -> Input,
        capacity: usize,
    ) -> Result<LocalConnection, Failure> {
        let id = CallerId::FrontEnd(self.next_number());
        let (sender, messages) = mpsc::channel(capacity);
        let connection =
            LocalConnection { id, inbox: self.inbox.clone(), answer_received: false, messages };
        let connected = Input::Connected(id, permissions.owner.clone(), sender);
        self.inbox.submit([connected, input(id)]).map_err(|_| Failure::Leaving)?;
        Ok(connection)
    }

    /// Reads the state of the node.
    pub(crate) fn inspect<R>(
        &self,
        read: impl FnOnce(&EventLoop, Time) -> R,
    ) -> Result<R, Failure> {
        self.inbox.inspect(read).map_err(|_| Failure::Leaving)
    }

    /// Returns the votes of all nodes for a lock.
    pub(crate) async fn votes_for(&self, name: Name) -> Result<VotesOfNodes, Failure> {
        let (reply, answer) = oneshot::channel();
        self.inbox.submit([Input::History(name, reply)]).map_err(|_| Failure::Leaving)?;
        answer.await.map_err(|_| Failure::Leaving)
    }

    /// Returns the readiness and load of the node; `None` if the node has stopped.
    pub(crate) async fn health(&self) -> Option<Health> {
        let (reply, answer) = oneshot::channel();
        self.inbox.submit([Input::Health(reply)]).ok()?;
        answer.await.ok()
    }

    /// Returns the metrics of the node in Prometheus's format; `None` if the node has stopped.
    pub(crate) async fn metrics(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.inbox.submit([Input::Metrics(reply)]).ok()?;
        answer.await.ok()
    }
}

/// Waits for the response to the call of a connection.
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

/// Connection of one call. Dropping it disconnects the client.
#[derive(Debug)]
pub(crate) struct LocalConnection {
    id: CallerId,
    inbox: Inbox,
    /// Whether the response has been received.
    answer_received: bool,
    pub(crate) messages: mpsc::Receiver<ServerMessage>,
}

impl LocalConnection {
    /// Waits until all reachable nodes know the watch, so that no later change is missed. Returns the changes until then.
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
