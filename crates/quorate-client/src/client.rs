//! A client: asks, and leaves the talking to whoever knows how the backend wants it.

use std::sync::Arc;
use std::time::Duration;

use quorate_protocol::{
    Call, CallResponse, HolderChange, Name, NodeStatus, RequestInfo, SessionKey, TokenStatus,
};
use tokio::sync::{mpsc, oneshot};

use crate::backend::{Backend, BackendKind};
use crate::connection;
use crate::credentials::{Credentials, Dialler};
use crate::direct::Cluster;
use crate::error::Error;
use crate::session::{Session, SessionOptions, SessionState};
use crate::spans::Spans;

/// A client of a cluster. Clones share one connection, for everything but direct sessions.
#[derive(Clone)]
pub struct Client {
    jobs: mpsc::UnboundedSender<Job>,
    kind: BackendKind,
    /// For sessions that reach the voters themselves.
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) spans: Spans,
}

/// Requests, and what is not known about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The requests, in the order of names.
    pub requests: Vec<RequestInfo>,
    /// Nodes that did not answer: requests through them are missing.
    pub silent: std::collections::BTreeSet<u32>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("system", &self.kind).finish_non_exhaustive()
    }
}

/// What a client wants done. Whatever the backend is, it is asked in the words of quorate's protocol and answers in
/// them: sessions and guards do not know which one it is.
pub(crate) enum Job {
    Call {
        call: Call,
        timeout: Option<Duration>,
        reply: oneshot::Sender<Result<CallResponse, Error>>,
    },
    /// What is said of this session goes there.
    Subscribe(SessionKey, Arc<SessionState>),
    Unsubscribe(SessionKey),
    /// Changes of names with this prefix go there.
    Watch(String, mpsc::UnboundedSender<HolderChange>),
}

/// How long a call waits for a node to be reached, where it does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

impl Client {
    /// Of the cluster with these nodes, tried one after the other. Nothing is connected before something is asked. Needs a
    /// runtime of tokio around it.
    pub fn new<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> Self {
        let endpoints = endpoints.into_iter().map(Into::into).collect();
        Self::for_quorate(endpoints, Dialler::plain())
    }

    /// The same, showing something and speaking TLS.
    pub fn with_credentials<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
        credentials: Credentials,
    ) -> Result<Self, Error> {
        let endpoints = endpoints.into_iter().map(Into::into).collect();
        Ok(Self::for_quorate(endpoints, Dialler::new(credentials)?))
    }

    /// Of whatever gives the locks, as [`Backend`] has it: `quorate://HOST:PORT`, or `etcd://HOST:PORT` with the feature
    /// `etcd`. Nothing is connected before something is asked.
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

    /// Who gives the locks.
    pub fn backend_kind(&self) -> BackendKind {
        self.kind
    }

    /// Tells of each request and each lock that was held, as a line of OTLP in JSON, from now on: for OpenTelemetry. The
    /// nodes tell their parts of the same traces.
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

    /// A session, which keeps itself alive until it is dropped.
    pub async fn session(&self, options: SessionOptions) -> Result<Session, Error> {
        Session::open(self.clone(), options).await
    }

    /// Who has and who wants what, of names that begin so: the holder first, then the queue in its order. etcd knows
    /// leases only: `client_name` is `lease` and its number, `client_location` is empty, `node` and `for_ms` are zero.
    pub async fn list(&self, prefix: &str, most: u32) -> Result<Vec<RequestInfo>, Error> {
        Ok(self.listing(prefix, most).await?.requests)
    }

    /// The same as [`list`](Self::list), with the nodes that did not answer, whose requests are missing. All pages are
    /// fetched, up to `most` requests.
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

    /// Whether nobody can have had a greater token. etcd knows while somebody has it; else it is [`Failure::Free`](crate::Failure::Free).
    pub async fn check_token(&self, name: Name, token: u64) -> Result<TokenStatus, Error> {
        match self.call(Call::CheckToken { name, token }, Some(DEFAULT_TIMEOUT)).await? {
            CallResponse::Token(status) => Ok(status),
            _ => Err(Error::UnexpectedAnswer),
        }
    }

    /// Takes a lock away from whoever has it. The reason is written down. Not with etcd.
    pub async fn force_release(&self, name: Name, reason: &str) -> Result<(), Error> {
        match self
            .call(Call::ForceRelease { name, reason: reason.to_owned() }, Some(DEFAULT_TIMEOUT))
            .await?
        {
            CallResponse::Done => Ok(()),
            _ => Err(Error::UnexpectedAnswer),
        }
    }

    /// How the node and its cluster are. Not with etcd.
    pub async fn status(&self) -> Result<NodeStatus, Error> {
        match self.call(Call::Status, Some(DEFAULT_TIMEOUT)).await? {
            CallResponse::Status(status) => Ok(*status),
            _ => Err(Error::UnexpectedAnswer),
        }
    }

    /// All changes from now on of names that begin so; after a break, through another node. Not with etcd.
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
