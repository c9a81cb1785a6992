//! The same API in JSON, at the paths of etcd's gateway, for clients without gRPC.

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, RequestExt, Router};
use futures_util::stream::{self, Stream, StreamExt};
use quorate_protocol::etcd::etcdserverpb::LeaseKeepAliveRequest;
use quorate_protocol::etcd::etcdserverpb::auth_server::Auth;
use quorate_protocol::etcd::etcdserverpb::lease_server::Lease;
use quorate_protocol::etcd::v3electionpb::election_server::Election;
use quorate_protocol::etcd::v3lockpb::lock_server::Lock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::{ConnectionLifetime, Etcd, MESSAGE_MOST};

/// Route of a call with one answer.
macro_rules! once {
    ($etcd:ident . $method:ident) => {{
        let etcd = $etcd.clone();
        post(move |JsonRequest(request): JsonRequest<_>| async move {
            json_response(etcd.$method(request).await)
        })
    }};
}

pub(super) fn router(etcd: &Etcd) -> Router {
    Router::new()
        .route("/v3/lock/lock", once!(etcd.lock))
        .route("/v3/lock/unlock", once!(etcd.unlock))
        .route("/v3/election/campaign", once!(etcd.campaign))
        .route("/v3/election/proclaim", once!(etcd.proclaim))
        .route("/v3/election/leader", once!(etcd.leader))
        .route("/v3/election/resign", once!(etcd.resign))
        .route("/v3/lease/grant", once!(etcd.lease_grant))
        .route("/v3/lease/revoke", once!(etcd.lease_revoke))
        .route("/v3/kv/lease/revoke", once!(etcd.lease_revoke))
        .route("/v3/lease/timetolive", once!(etcd.lease_time_to_live))
        .route("/v3/kv/lease/timetolive", once!(etcd.lease_time_to_live))
        .route("/v3/lease/leases", once!(etcd.lease_leases))
        .route("/v3/kv/lease/leases", once!(etcd.lease_leases))
        .route("/v3/auth/authenticate", once!(etcd.authenticate))
        .route("/v3/election/observe", {
            let etcd = etcd.clone();
            post(move |JsonRequest(request): JsonRequest<_>| async move {
                match etcd.observe(request).await {
                    Ok(answer) => lines(answer.into_inner()),
                    Err(status) => refused(&status),
                }
            })
        })
        .route("/v3/lease/keepalive", {
            let etcd = etcd.clone();
            post(move |JsonRequest(request): JsonRequest<LeaseKeepAliveRequest>| async move {
                let caller = etcd.admit(request.metadata(), request.extensions()).await;
                match caller {
                    Ok(caller) => {
                        let answer = etcd.kept_alive(&caller, request.into_inner().id).await;
                        lines(stream::iter([answer]))
                    }
                    Err(status) => refused(&status),
                }
            })
        })
        // Clients choose their paths by this version. The paths here are those of 3.4 and later.
        .route(
            "/version",
            get(async || Json(json!({ "etcdserver": ETCD_VERSION, "etcdcluster": ETCD_VERSION }))),
        )
        .layer(DefaultBodyLimit::max(MESSAGE_MOST))
}

/// The etcd version whose paths are served.
const ETCD_VERSION: &str = "3.4.0";

/// A call from JSON. Its connection serves a single request, so no state is bound to it.
struct JsonRequest<T>(tonic::Request<T>);

impl<T: DeserializeOwned + 'static, S: Send + Sync> FromRequest<S> for JsonRequest<T> {
    type Rejection = Response;

    async fn from_request(request: axum::extract::Request, _state: &S) -> Result<Self, Response> {
        let metadata = MetadataMap::from_headers(request.headers().clone());
        let mut extensions = request.extensions().clone();
        extensions.remove::<ConnectionLifetime>();
        let bad = |why: String| refused(&Status::invalid_argument(why));
        // curl users often omit the content type, and etcd does not check it.
        let read = request.extract::<axum::body::Bytes, _>().await;
        let bytes = read.map_err(|error| bad(error.to_string()))?;
        let text = if bytes.is_empty() { &b"{}"[..] } else { &bytes };
        let message = serde_json::from_slice(text).map_err(|error| bad(error.to_string()))?;
        Ok(Self(tonic::Request::from_parts(metadata, extensions, message)))
    }
}

fn json_response<T: Serialize>(answer: Result<tonic::Response<T>, Status>) -> Response {
    match answer {
        Ok(answer) => Json(answer.into_inner()).into_response(),
        Err(status) => refused(&status),
    }
}

pub(super) fn refused(status: &Status) -> Response {
    (http_status(status.code()), Json(error(status))).into_response()
}

fn error(status: &Status) -> serde_json::Value {
    let (text, code) = (status.message(), status.code() as i32);
    json!({ "error": text, "message": text, "code": code })
}

/// Streams answers as they arrive, one per line.
fn lines<T, S>(answers: S) -> Response
where
    T: Serialize,
    S: Stream<Item = Result<T, Status>> + Send + 'static,
{
    let lines = answers.map(|answer| {
        let line = match answer {
            Ok(result) => json!({ "result": result }),
            Err(status) => json!({ "error": error(&status) }),
        };
        Ok::<_, std::convert::Infallible>(format!("{line}\n"))
    });
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, Body::from_stream(lines)).into_response()
}

/// Maps a gRPC code to an HTTP status, as gRPC gateways do.
fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
            StatusCode::BAD_REQUEST
        }
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
