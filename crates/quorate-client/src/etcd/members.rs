//! The members of an etcd cluster, called one after the other until one answers.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use quorate_protocol::Failure;
use quorate_protocol::etcd::etcdserverpb::AuthenticateRequest;
use quorate_protocol::etcd::etcdserverpb::auth_client::AuthClient;
use tokio::sync::watch;
use tonic::codegen::{Service, http::Uri};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use crate::backend::BackendKind;
use crate::clock::Moment;
use crate::credentials::{Credentials, Dialler, Stream};
use crate::error::Error;

/// Maximum time to connect to a member, and to wait for its answer while there is time to call others.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// A silent member is disconnected after this and `KEEP_ALIVE_TIMEOUT`. etcd closes connections that are pinged more often
/// than every five seconds.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(6);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(3);

/// The members of a cluster, and the login used with them.
pub(crate) struct Members {
    members: Vec<Member>,
    /// Counter that selects the member to call first. Incremented whenever a member is given up.
    current: watch::Sender<usize>,
    login: Option<Login>,
}

struct Member {
    endpoint: String,
    channel: Channel,
}

/// A user of etcd, and the token that etcd has issued for it.
struct Login {
    user: String,
    password: String,
    token: Mutex<Option<String>>,
}

/// A member that is being called.
pub(super) struct MemberConnection {
    pub(super) channel: Channel,
    token: Option<String>,
}

impl MemberConnection {
    /// A request with the login's token attached.
    pub(super) fn request<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        if let Some(token) = self.token.as_ref().and_then(|token| token.parse().ok()) {
            request.metadata_mut().insert("token", token);
        }
        request
    }
}

impl Members {
    pub(crate) fn new(
        kind: BackendKind,
        endpoints: Vec<String>,
        credentials: Credentials,
    ) -> Result<Self, Error> {
        let unusable = |message: &str| Err(Error::Credentials(message.to_owned()));
        match (kind == BackendKind::EtcdTls, credentials.authority.is_some()) {
            (true, false) => {
                return unusable("etcds:// needs the certificate of an authority");
            }
            (false, true) => return unusable("etcd:// is plain text; use etcds:// for TLS"),
            _ => {}
        }
        let login = credentials.token.as_deref().map(Login::new).transpose()?;
        let dialler = Arc::new(Dialler::with_alpn(credentials, &[b"h2"])?);
        let members = endpoints.into_iter().map(|endpoint| Member::new(endpoint, &dialler));
        let members = members.collect::<Result<_, _>>()?;
        Ok(Self { members, current: watch::Sender::new(0), login })
    }

    fn member(&self) -> (usize, &Member) {
        let current = *self.current.borrow();
        (current, &self.members[current % self.members.len()])
    }

    /// Switches to the next member, unless a concurrent call has already done so.
    fn skip_member(&self, current: usize) {
        self.current.send_if_modified(|now| {
            let same = *now == current;
            *now += usize::from(same);
            same
        });
    }

    /// Notifies whenever the clients switch to another member.
    pub(super) fn member_changes(&self) -> watch::Receiver<usize> {
        self.current.subscribe()
    }

    /// Calls one member after the other until one answers. The call must be idempotent.
    pub(super) async fn call_any<T, F>(
        &self,
        timeout: Duration,
        call: impl Fn(MemberConnection) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let until = Moment::now().later(timeout);
        // Leaves time to call every other member.
        let attempt = (timeout / (self.members.len() as u32 + 1)).min(ATTEMPT_TIMEOUT);
        let mut pause = Duration::from_millis(10);
        loop {
            let (current, member) = self.member();
            let attempted = async { call(self.connect(member).await?).await };
            let status = match tokio::time::timeout(attempt, attempted).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(status)) => status,
                Err(_) => Status::unavailable("no answer in time"),
            };
            if !self.should_retry(&status) {
                return Err(refusal(&member.endpoint, &status));
            }
            self.skip_member(current);
            if until.from_now() <= pause {
                return Err(Error::Unreachable(format!(
                    "{}: {}",
                    member.endpoint,
                    root_cause(&status)
                )));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }

    async fn connect(&self, member: &Member) -> Result<MemberConnection, Status> {
        let channel = member.channel.clone();
        let token = match &self.login {
            Some(login) => Some(login.token(channel.clone()).await?),
            None => None,
        };
        Ok(MemberConnection { channel, token })
    }

    /// Whether the call is repeated after this status.
    fn should_retry(&self, status: &Status) -> bool {
        if let Some(login) = &self.login
            && (status.code() == Code::Unauthenticated || is_stale_token(status))
        {
            // Tokens of etcd expire: the next attempt requests a new one.
            return login.discard_token();
        }
        match status.code() {
            Code::FailedPrecondition => status.message().contains("not leader"),
            Code::AlreadyExists
            | Code::InvalidArgument
            | Code::NotFound
            | Code::OutOfRange
            | Code::PermissionDenied
            | Code::ResourceExhausted
            | Code::Unauthenticated
            | Code::Unimplemented => false,
            _ => true,
        }
    }
}

/// Whether permissions have changed since the token was issued.
fn is_stale_token(status: &Status) -> bool {
    status.message().contains("revision of auth store is old")
}

/// Error for a refusal that every member would repeat: retrying is useless.
fn refusal(endpoint: &str, status: &Status) -> Error {
    let message = status.message().to_owned();
    match status.code() {
        Code::NotFound => Failure::NoSession.into(),
        Code::PermissionDenied | Code::Unauthenticated => Failure::NotAllowed(message).into(),
        // etcd's status for a missing user name or a wrong password.
        Code::InvalidArgument if message.contains("user") => Failure::NotAllowed(message).into(),
        Code::ResourceExhausted => Failure::TooMuch(message).into(),
        Code::FailedPrecondition if message.contains("authentication is not enabled") => {
            Error::Unsupported(format!("{endpoint} does not authenticate users: {message}"))
        }
        Code::Unimplemented => Error::Unsupported(format!(
            "{endpoint} does not implement the key-value API of etcd 3; for a quorate node use quorate://{endpoint}"
        )),
        _ => Error::Unsupported(format!("{endpoint}: {message}")),
    }
}

/// The innermost cause of an error.
fn root_cause(status: &Status) -> String {
    let mut source = status.source();
    let mut cause = status.message().to_owned();
    while let Some(error) = source {
        cause = error.to_string();
        source = error.source();
    }
    cause
}

impl Member {
    fn new(endpoint: String, dialler: &Arc<Dialler>) -> Result<Self, Error> {
        let bad = |error| Error::Unreachable(format!("{endpoint}: {error}"));
        let channel = Endpoint::from_shared(format!("http://{endpoint}"))
            .map_err(bad)?
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT);
        let connector = Connector { dialler: Arc::clone(dialler), endpoint: endpoint.clone() };
        Ok(Self { channel: channel.connect_with_connector_lazy(connector), endpoint })
    }
}

impl Login {
    fn new(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Unsupported("etcd authenticates clients by USER:PASSWORD".to_owned());
        let (user, password) = text.split_once(':').ok_or_else(wrong)?;
        let (user, password) = (user.to_owned(), password.to_owned());
        Ok(Self { user, password, token: Mutex::default() })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Discards the token; returns whether there was one.
    fn discard_token(&self) -> bool {
        self.known().take().is_some()
    }

    async fn token(&self, channel: Channel) -> Result<String, Status> {
        if let Some(token) = self.known().clone() {
            return Ok(token);
        }
        let (name, password) = (self.user.clone(), self.password.clone());
        let mut client = AuthClient::new(channel);
        let given = client.authenticate(AuthenticateRequest { name, password }).await?;
        let token = given.into_inner().token;
        *self.known() = Some(token.clone());
        Ok(token)
    }
}

/// Connects to a member with the client's dialler.
#[derive(Clone)]
struct Connector {
    dialler: Arc<Dialler>,
    endpoint: String,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { dialler, endpoint } = self.clone();
        Box::pin(async move {
            let late = |_| io::Error::from(io::ErrorKind::TimedOut);
            let dialled = tokio::time::timeout(ATTEMPT_TIMEOUT, dialler.dial(&endpoint));
            Ok(TokioIo::new(dialled.await.map_err(late)??))
        })
    }
}
