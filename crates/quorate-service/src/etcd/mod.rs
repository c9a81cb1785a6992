//! etcd's API for locks, elections and leases, for clients that already use it.
//!
//! The messages are etcd's, over gRPC and as JSON; the implementation is ours. A lease is a session. The key's create
//! revision is the token, and the header of an answer carries it. Of keys and watches there is only the subset that recipes
//! for locks and elections call (etcdctl, Go's concurrency package): a view of the holders and waiters of a name, without a
//! store. Where etcd's behaviour is known to harm its users, ours differs: docs/etcd.md has the list.

mod auth;
mod election;
mod gateway;
mod keys;
mod lease;
mod lock;
mod methods;
mod names;
mod status;
mod unsupported;
mod watch;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::response::Response;
use quorate_protocol::etcd::etcdserverpb::ResponseHeader;
use quorate_protocol::{CallResponse, Failure};
use tokio::sync::watch::{Receiver, Sender, channel};
use tonic::metadata::MetadataMap;
use tonic::{Extensions, Status};

use crate::auth::{Authenticator, Permissions, PresentedCredentials};
use crate::lease::LeaseCall;
use crate::local_client::LocalClient;

/// Maximum size of a message, in bytes. Larger messages are refused.
const MESSAGE_MOST: usize = 64 << 10;

/// State that all calls share.
#[derive(Clone, Debug)]
pub(crate) struct Etcd {
    pub(crate) local_client: LocalClient,
    pub(crate) authenticator: Arc<Authenticator>,
    /// Identifier of the cluster in etcd's headers.
    pub(crate) cluster: u64,
    /// Number of this node.
    pub(crate) node: usize,
}

/// Lifetime of the connection of a call.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLifetime(Receiver<()>);

impl ConnectionLifetime {
    /// Creates a lifetime, and the sender that has to be kept until the connection ends.
    pub(crate) fn new() -> (Sender<()>, Self) {
        let (alive, receiver) = channel(());
        (alive, Self(receiver))
    }

    async fn ended(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// Returns the routes of etcd's API.
pub(crate) fn router(etcd: Etcd) -> Router {
    methods::router(&etcd).merge(gateway::router(&etcd)).merge(unsupported::router())
}

/// Returns the credentials of a caller: the token in its headers, or the certificate of its connection.
pub(crate) fn credentials(headers: &HeaderMap, extensions: &Extensions) -> PresentedCredentials {
    let mut credentials = extensions.get::<PresentedCredentials>().cloned().unwrap_or_default();
    let value = |key: &str| headers.get(key).and_then(|value| value.to_str().ok());
    if let Some(token) = value("token").or_else(|| value("authorization")) {
        let token = token.strip_prefix("Bearer ").unwrap_or(token);
        credentials.token = Some(token.trim().to_owned());
    }
    credentials
}

/// Refuses a caller that is not authenticated, before the body of its call is read.
pub(crate) fn unauthenticated(why: &str, grpc: bool) -> Response {
    refused(status::unauthenticated(why), grpc)
}

/// Refuses a call whose body did not arrive in time.
pub(crate) fn body_timeout(grpc: bool) -> Response {
    refused(Status::deadline_exceeded("the body of the call did not arrive in time"), grpc)
}

fn refused(status: Status, grpc: bool) -> Response {
    if grpc { status.into_http() } else { gateway::refused(&status) }
}

/// The caller, with its permissions and its connection.
#[derive(Clone)]
struct Caller {
    permissions: Arc<Permissions>,
    lifetime: Option<ConnectionLifetime>,
    client_location: String,
}

impl Etcd {
    /// Authenticates a caller, and delays it if it exceeds its rate limit.
    async fn admit(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
    ) -> Result<Caller, Status> {
        let credentials = credentials(metadata.as_ref(), extensions);
        let permissions = match extensions.get::<Arc<Permissions>>().cloned() {
            Some(anonymous) => anonymous,
            None => {
                self.authenticator.authenticate(&credentials).map_err(status::unauthenticated)?
            }
        };
        if let Some(pause) = permissions.throttle_delay() {
            tokio::time::sleep(pause).await;
        }
        let lifetime = extensions.get::<ConnectionLifetime>().cloned();
        let agent = metadata.get("user-agent").and_then(|agent| agent.to_str().ok());
        let client_location = agent.unwrap_or("etcd's API").chars().take(120).collect();
        Ok(Caller { permissions, lifetime, client_location })
    }

    /// Returns a header. The revision is the token, if there is one.
    fn header(&self, revision: u64) -> Option<ResponseHeader> {
        Some(ResponseHeader {
            cluster_id: self.cluster,
            member_id: self.node as u64 + 1,
            revision: revision as i64,
            raft_term: 0,
        })
    }

    async fn lease_call(
        &self,
        caller: &Caller,
        id: i64,
        call: LeaseCall,
    ) -> Result<CallResponse, Failure> {
        self.local_client.lease_call(&caller.permissions, id, call).await
    }
}
