//! The same API in JSON, at the paths of etcd's gateway, for clients without gRPC.

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, RequestExt, Router};
use futures_util::stream::{self, Stream, StreamExt};
use quorate_protocol::etcd::etcdserverpb::LeaseKeepAliveRequest;
use serde::Serialize;
use serde_json::json;
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Status};

use super::methods::{self, Encoding, UnaryCall};
use super::{ConnectionLifetime, Etcd, MESSAGE_MOST};

pub(super) fn router(etcd: &Etcd) -> Router {
    let with_one_answer =
        methods::in_json().into_iter().fold(Router::new(), |router, (path, method)| {
            let call = UnaryCall { etcd: etcd.clone(), method };
            router.route(path, post(answer_once).with_state(call))
        });
    with_one_answer
        .route("/v3/election/observe", post(observe).with_state(etcd.clone()))
        .route("/v3/lease/keepalive", post(keep_alive).with_state(etcd.clone()))
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
struct JsonRequest(Request<Bytes>);

impl<S: Send + Sync> FromRequest<S> for JsonRequest {
    type Rejection = Response;

    async fn from_request(request: axum::extract::Request, _state: &S) -> Result<Self, Response> {
        let metadata = MetadataMap::from_headers(request.headers().clone());
        let mut extensions = request.extensions().clone();
        extensions.remove::<ConnectionLifetime>();
        // curl users often omit the content type, and etcd does not check it.
        let read = request.extract::<Bytes, _>().await;
        let bytes = read.map_err(|error| refused(&Status::invalid_argument(error.to_string())))?;
        Ok(Self(Request::from_parts(metadata, extensions, bytes)))
    }
}

async fn answer_once(State(call): State<UnaryCall>, JsonRequest(request): JsonRequest) -> Response {
    match (call.method)(call.etcd, request, Encoding::Json).await {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(status) => refused(&status),
    }
}

async fn observe(State(etcd): State<Etcd>, JsonRequest(request): JsonRequest) -> Response {
    let request = match Encoding::Json.decode(request) {
        Ok(request) => request,
        Err(status) => return refused(&status),
    };
    match etcd.observe(request).await {
        Ok(answer) => lines(answer.into_inner()),
        Err(status) => refused(&status),
    }
}

async fn keep_alive(State(etcd): State<Etcd>, JsonRequest(request): JsonRequest) -> Response {
    let request: Request<LeaseKeepAliveRequest> = match Encoding::Json.decode(request) {
        Ok(request) => request,
        Err(status) => return refused(&status),
    };
    match etcd.admit(request.metadata(), request.extensions()).await {
        Ok(caller) => {
            let answer = etcd.kept_alive(&caller, request.into_inner().id).await;
            lines(stream::iter([answer]))
        }
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
