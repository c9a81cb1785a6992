//! The client: posts calls to the worker of its backend.

use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::{
    Call, CallResponse, HolderChange, MemberChange, MembersStatus, Name, NodeStatus, RequestInfo,
    TokenStatus,
};
use tokio::sync::{mpsc, oneshot};

use crate::backend::{Backend, BackendKind};
use crate::connection;
use crate::credentials::{Credentials, Dialler};
use crate::direct::Cluster;
use crate::error::Error;
use crate::job::Job;
use crate::spans::Spans;

/// A client of a cluster. Clones share one connection. Each direct session has its own connections.
#[derive(Clone)]
pub struct Client {
    jobs: mpsc::UnboundedSender<Job>,
    kind: BackendKind,
    /// Endpoints for direct sessions; `None` if the backend does not support these.
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) spans: Spans,
}

/// Requests of a cluster, and the nodes whose requests are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The requests, ordered by name.
    pub requests: Vec<RequestInfo>,
    /// Nodes that did not answer. Requests through these nodes are missing.
    pub silent: std::collections::BTreeSet<u32>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("system", &self.kind).finish_non_exhaustive()
    }
}

/// Timeout of calls for which the caller chooses none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for a node to connect to new members and to choose a change, and a margin.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(15);

impl Client {
    /// Creates a client of the cluster with these nodes, which are tried in order. The client connects with its first call.
    /// Must be called within a tokio runtime.
    pub fn new<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> Self {
        let endpoints = endpoints.into_iter().map(Into::into).collect();
        Self::for_quorate(endpoints, Dialler::plain())
    }

    /// Creates a client that authenticates itself with `credentials`, over TLS if they contain an authority.
    pub fn with_credentials<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
        credentials: Credentials,
    ) -> Result<Self, Error> {
        let endpoints = endpoints.into_iter().map(Into::into).collect();
        Ok(Self::for_quorate(endpoints, Dialler::new(credentials)?))
    }

    /// Creates a client of the given [`Backend`]: `quorate://HOST:PORT`, or `etcd://HOST:PORT` with the feature `etcd`. The
    /// client connects with its first call.
    ///
    /// ```no_run
    /// # fn example() -> Result<(), quorate_client::Error> {
    /// use quorate_client::{Client, Credentials};
    ///
    /// let client = Client::with_backend("etcd://127.0.0.1:2379".parse()?, Credentials::default())?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_backend(backend: Backend, credentials: Credentials) -> Result<Self, Error> {
        let Backend { kind, endpoints } = backend;
        match kind {
            BackendKind::Quorate => Self::with_credentials(endpoints, credentials),
            #[cfg(feature = "etcd")]
            BackendKind::Etcd | BackendKind::EtcdTls => {
                let members = crate::etcd::Members::new(kind, endpoints, credentials)?;
                let (jobs, job_receiver) = mpsc::unbounded_channel();
                tokio::spawn(crate::etcd::run(members, job_receiver));
                Ok(Self { jobs, kind, cluster: None, spans: Spans::default() })
            }
            #[cfg(not(feature = "etcd"))]
            BackendKind::Etcd | BackendKind::EtcdTls => Err(Error::Unsupported(
                "this program was built without the feature `etcd` of quorate-client".to_owned(),
            )),
        }
    }

    fn for_quorate(endpoints: Vec<String>, dialler: Dialler) -> Self {
        let (jobs, job_receiver) = mpsc::unbounded_channel();
        let worker = connection::Worker::new(endpoints.clone(), dialler.clone());
        tokio::spawn(worker.run(job_receiver));
        let cluster = Some(Arc::new(Cluster { endpoints, dialler }));
        Self { jobs, kind: BackendKind::Quorate, cluster, spans: Spans::default() }
    }

    /// The kind of backend that grants the locks.
    pub fn backend_kind(&self) -> BackendKind {
        self.kind
    }

    /// Exports spans for OpenTelemetry from now on. The sink receives one line of OTLP JSON for each request and for each
    /// lock that was held. The nodes export their spans of the same traces.
    pub fn export_spans(&self, sink: impl Fn(&str) + Send + Sync + 'static) {
        self.spans.set_sink(Box::new(sink));
    }

    pub(crate) fn post(&self, job: Job) -> Result<(), Error> {
        self.jobs.send(job).map_err(|_| Error::Closed)
    }

    pub(crate) async fn call(
        &self,
        call: Call,
        timeout: Option<Duration>,
    ) -> Result<CallResponse, Error> {
        let (reply, answer) = oneshot::channel();
        self.post(Job::Call { call, timeout, reply })?;
        match answer.await {
            Ok(Ok(CallResponse::Failed(failure))) => Err(failure.into()),
            Ok(answer) => answer,
            Err(_) => Err(Error::Closed),
        }
    }

    /// Lists at most `most` requests for names that begin with `prefix`: for each name the holder first, then the queue in
    /// order. etcd knows leases only: `client_name` is `lease` and its number, `client_location` is empty, `node` and
    /// `for_ms` are zero.
    pub async fn list(&self, prefix: &str, most: u32) -> Result<Vec<RequestInfo>, Error> {
        Ok(self.listing(prefix, most).await?.requests)
    }

    /// Like [`list`](Self::list), and returns the nodes that did not answer, whose requests are missing. Fetches all pages,
    /// up to `most` requests.
    pub async fn listing(&self, prefix: &str, most: u32) -> Result<Listing, Error> {
        let mut listing = Listing::default();
        let mut after = None;
        loop {
            let left = most.saturating_sub(listing.requests.len() as u32);
            if left == 0 {
                return Ok(listing);
            }
            let (prefix, exact) = (prefix.to_owned(), false);
            let call = Call::List { prefix, exact, after, most: left };
            let CallResponse::Page(page) = self.call(call, Some(DEFAULT_TIMEOUT)).await? else {
                return Err(Error::UnexpectedAnswer);
            };
            listing.requests.extend(page.requests);
            listing.silent.extend(page.silent);
            after = page.next;
            if after.is_none() {
                return Ok(listing);
            }
        }
    }

    /// Checks whether a token is current: whether no holder can have had a greater one. etcd knows that only while the lock
    /// is held. Otherwise the call fails with [`Failure::Free`](crate::Failure::Free).
    pub async fn check_token(&self, name: Name, token: u64) -> Result<TokenStatus, Error> {
        match self.call(Call::CheckToken { name, token }, Some(DEFAULT_TIMEOUT)).await? {
            CallResponse::Token(status) => Ok(status),
            _ => Err(Error::UnexpectedAnswer),
        }
    }

    /// Revokes a lock from its holder. The reason is logged. Not supported by etcd.
    pub async fn force_release(&self, name: Name, reason: &str) -> Result<(), Error> {
        match self
            .call(Call::ForceRelease { name, reason: reason.to_owned() }, Some(DEFAULT_TIMEOUT))
            .await?
        {
            CallResponse::Done => Ok(()),
            _ => Err(Error::UnexpectedAnswer),
        }
    }

    /// Status of the connected node and its cluster. Not supported by etcd.
    pub async fn status(&self) -> Result<NodeStatus, Error> {
        match self.call(Call::Status, Some(DEFAULT_TIMEOUT)).await? {
            CallResponse::Status(status) => Ok(*status),
            _ => Err(Error::UnexpectedAnswer),
        }
    }

    /// Members of the cluster, as the connected node knows them. Not supported by etcd.
    pub async fn members(&self) -> Result<MembersStatus, Error> {
        match self.call(Call::Members, Some(DEFAULT_TIMEOUT)).await? {
            CallResponse::Members(status) => Ok(*status),
            _ => Err(Error::UnexpectedAnswer),
        }
    }

    /// Changes the members of the cluster. Returns once the change is chosen, before it is complete. Not supported by etcd.
    pub async fn change_members(&self, change: MemberChange) -> Result<MembersStatus, Error> {
        match self.call(Call::ChangeMembers(change), Some(CHANGE_TIMEOUT)).await? {
            CallResponse::Members(status) => Ok(*status),
            _ => Err(Error::UnexpectedAnswer),
        }
    }

    /// Watches all changes from now on of names that begin with `prefix`. If the connection breaks, the watch continues
    /// through another node. Not supported by etcd.
    pub async fn watch(
        &self,
        prefix: &str,
    ) -> Result<mpsc::UnboundedReceiver<HolderChange>, Error> {
        let (changes, receiver) = mpsc::unbounded_channel();
        self.post(Job::Watch(prefix.to_owned(), changes))?;
        match self.call(Call::Watch { prefix: prefix.to_owned() }, Some(DEFAULT_TIMEOUT)).await? {
            CallResponse::Done => Ok(receiver),
            _ => Err(Error::UnexpectedAnswer),
        }
    }
}
