//! etcd's API for locks, elections and leases: for clients that speak it already.
//!
//! The words are etcd's, over gRPC and as JSON; what is done is ours. A lease is a session, the key's create revision is
//! the token, and the header of an answer carries it. Of keys and watches there is what recipes for locks and elections
//! call (etcdctl, Go's concurrency package): a view of who has and who wants a name, and nothing that is kept. Where etcd's way is known to harm its users, ours differs:
//! docs/etcd.md has the list.

mod auth;
mod election;
mod gateway;
mod keys;
mod lease;
mod lock;
mod names;
mod status;
mod stray;
mod watch;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::response::Response;
use quorate_etcd::etcdserverpb::ResponseHeader;
use quorate_etcd::etcdserverpb::auth_server::AuthServer;
use quorate_etcd::etcdserverpb::kv_server::KvServer;
use quorate_etcd::etcdserverpb::lease_server::LeaseServer;
use quorate_etcd::etcdserverpb::watch_server::WatchServer;
use quorate_etcd::v3electionpb::election_server::ElectionServer;
use quorate_etcd::v3lockpb::lock_server::LockServer;
use quorate_protocol::{Answer, Failure};
use tokio::sync::watch::{Receiver, Sender, channel};
use tonic::metadata::MetadataMap;
use tonic::{Extensions, Status};

use crate::door::Door;
use crate::lease::Leased;
use crate::rights::{Entry, Rights, Shown};

/// Larger messages are not read.
const MESSAGE_MOST: usize = 64 << 10;

/// What all calls share.
#[derive(Clone, Debug)]
pub(crate) struct Etcd {
    pub(crate) door: Door,
    pub(crate) entry: Arc<Entry>,
    /// Which cluster, as etcd numbers it.
    pub(crate) cluster: u64,
    /// Which node.
    pub(crate) node: usize,
}

/// Ends with the connection that a call came through.
#[derive(Clone, Debug)]
pub(crate) struct Lifeline(Receiver<()>);

impl Lifeline {
    /// One, and what has to be kept until the connection ends.
    pub(crate) fn new() -> (Sender<()>, Self) {
        let (alive, hears) = channel(());
        (alive, Self(hears))
    }

    async fn ended(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// Everything that is answered in etcd's language.
pub(crate) fn router(etcd: Etcd) -> Router {
    let services = tonic::service::Routes::new(
        LockServer::new(etcd.clone()).max_decoding_message_size(MESSAGE_MOST),
    )
    .add_service(ElectionServer::new(etcd.clone()).max_decoding_message_size(MESSAGE_MOST))
    .add_service(LeaseServer::new(etcd.clone()).max_decoding_message_size(MESSAGE_MOST))
    .add_service(KvServer::new(etcd.clone()).max_decoding_message_size(MESSAGE_MOST))
    .add_service(WatchServer::new(etcd.clone()).max_decoding_message_size(MESSAGE_MOST))
    .add_service(AuthServer::new(etcd.clone()).max_decoding_message_size(MESSAGE_MOST));
    // What there is not is said by us, not by the library.
    let services = services.into_axum_router().reset_fallback();
    services.merge(stray::router()).merge(gateway::router(&etcd))
}

/// What a caller shows: the token in its headers, or the certificate of its connection.
pub(crate) fn shown(headers: &HeaderMap, about: &Extensions) -> Shown {
    let mut shown = about.get::<Shown>().cloned().unwrap_or_default();
    let said = |key: &str| headers.get(key).and_then(|said| said.to_str().ok());
    if let Some(token) = said("token").or_else(|| said("authorization")) {
        let token = token.strip_prefix("Bearer ").unwrap_or(token);
        shown.token = Some(token.trim().to_owned());
    }
    shown
}

/// Refuses a caller that is not known, before anything of its call is read.
pub(crate) fn stranger(why: &str, grpc: bool) -> Response {
    refused(status::stranger(why), grpc)
}

/// Refuses a call whose body did not arrive in time.
pub(crate) fn slow(grpc: bool) -> Response {
    refused(Status::deadline_exceeded("the body of the call did not arrive in time"), grpc)
}

fn refused(status: Status, grpc: bool) -> Response {
    if grpc { status.into_http() } else { gateway::refused(&status) }
}

/// Whoever calls, and through which connection.
#[derive(Clone)]
struct Caller {
    rights: Arc<Rights>,
    lifeline: Option<Lifeline>,
    place: String,
}

impl Etcd {
    /// Lets a caller in, and makes one wait that calls too often.
    async fn admit(&self, words: &MetadataMap, about: &Extensions) -> Result<Caller, Status> {
        let shown = shown(words.as_ref(), about);
        let rights = match about.get::<Arc<Rights>>().cloned() {
            Some(strangers) => strangers,
            None => self.entry.known(&shown).map_err(status::stranger)?,
        };
        if let Some(pause) = rights.pause() {
            tokio::time::sleep(pause).await;
        }
        let lifeline = about.get::<Lifeline>().cloned();
        let agent = words.get("user-agent").and_then(|agent| agent.to_str().ok());
        let place = agent.unwrap_or("etcd's API").chars().take(120).collect();
        Ok(Caller { rights, lifeline, place })
    }

    /// A header; the revision is a token where there is one.
    fn header(&self, revision: u64) -> Option<ResponseHeader> {
        Some(ResponseHeader {
            cluster_id: self.cluster,
            member_id: self.node as u64 + 1,
            revision: revision as i64,
            raft_term: 0,
        })
    }

    async fn leased(&self, caller: &Caller, id: i64, what: Leased) -> Result<Answer, Failure> {
        self.door.leased(&caller.rights, id, what).await
    }
}
