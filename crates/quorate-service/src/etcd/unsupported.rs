//! Answers for unsupported services, which name an alternative.

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};

/// Code of gRPC's status `UNIMPLEMENTED`.
const UNIMPLEMENTED: &str = "12";

/// Services of which some methods are supported.
const SERVICES: [&str; 6] = [
    "v3lockpb.Lock",
    "v3electionpb.Election",
    "etcdserverpb.Lease",
    "etcdserverpb.KV",
    "etcdserverpb.Watch",
    "etcdserverpb.Auth",
];

/// Returns routes for all other methods and services of etcd.
pub(super) fn router() -> Router {
    let methods = SERVICES.iter().fold(Router::new(), |router, service| {
        router.route(&format!("/{service}/{{method}}"), post(async || grpc_unimplemented(KV)))
    });
    methods
        .route("/etcdserverpb.Cluster/{method}", post(async || grpc_unimplemented(CLUSTER)))
        .route("/etcdserverpb.Maintenance/{method}", post(async || grpc_unimplemented(CLUSTER)))
        .route("/v3/{*path}", any(async |Path(path): Path<String>| json_unimplemented(&path)))
}

/// Alternatives to the key-value service.
pub(super) const KV: &str = "quorate stores only the keys of locks and elections (NAME/LEASE): call v3lockpb.Lock, v3electionpb.Election and etcdserverpb.Lease, or use `quorate lock` and `quorate elect`";
const CLUSTER: &str = "quorate does not implement this service of etcd: use /v1/status, or `quorate status` and `quorate members`";

fn grpc_unimplemented(instead: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/grpc"),
        ("grpc-status", UNIMPLEMENTED),
        ("grpc-message", instead),
    ];
    (StatusCode::OK, headers).into_response()
}

fn json_unimplemented(path: &str) -> Response {
    let instead =
        if path.starts_with("cluster") || path.starts_with("maintenance") { CLUSTER } else { KV };
    let body = serde_json::json!({ "error": instead, "message": instead, "code": 12 });
    (StatusCode::NOT_IMPLEMENTED, axum::Json(body)).into_response()
}
