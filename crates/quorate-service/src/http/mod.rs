//! The service over HTTP, in JSON, for clients without a native client library.
//!
//! A session is opened, kept alive and closed; a lock is acquired and released for a session. The client
//! may rely on its locks for as long as the answer states, counted from when the *request* was sent. The
//! API is described at `/openapi.json`.

mod admission;
mod events;
mod locks;
mod members;
mod model;
#[cfg(feature = "openapi")]
mod openapi;
mod records;
mod refusal;
mod sessions;
mod status;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRequestParts, Request};
use axum::handler::Handler;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::Response;
use axum::{Router, middleware};
use futures_util::future::BoxFuture;
use quorate_protocol::http::{HostGuard, add_security_headers, check_host_and_origin};

use crate::auth::{Authenticator, Permissions, PresentedCredentials};
use crate::connections::Connection;
use crate::local_client::LocalClient;
use admission::Admission;
#[cfg(feature = "openapi")]
pub use openapi::openapi;
use refusal::Refusal;

/// Maximum size of a request body, in bytes.
const BODY_MOST: usize = 64 << 10;

/// State that all requests share.
#[derive(Clone, Debug)]
pub(crate) struct HttpState {
    pub(crate) local_client: LocalClient,
    pub(crate) authenticator: Arc<Authenticator>,
}

/// Description of the API, which a test compares with the annotations of the handlers.
const OPENAPI: &str = include_str!("openapi.json");

/// A handler of any type. The HTTP library is compiled for this one, and not for each handler.
#[derive(Clone)]
struct AnyHandler(fn(Request, HttpState) -> BoxFuture<'static, Response>);

impl Handler<(), HttpState> for AnyHandler {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: HttpState) -> Self::Future {
        (self.0)(request, state)
    }
}

/// Declares each route once, for the server and for the comparison with the annotation of its handler.
macro_rules! routes {
    ($($method:ident $path:literal => $module:ident::$handler:ident,)*) => {
        fn routes() -> Router<HttpState> {
            Router::new()$(.route($path, axum::routing::$method(AnyHandler(|request, state| {
                Box::pin(Handler::<_, HttpState>::call($module::$handler, request, state))
            }))))*
        }

        #[cfg(feature = "openapi")]
        fn annotated_routes() -> Vec<openapi::AnnotatedRoute> {
            vec![$({
                let annotation = utoipa_axum::routes!($module::$handler);
                let item = annotation.1.paths.get($path);
                openapi::AnnotatedRoute {
                    route: concat!(stringify!($method), " ", $path),
                    matches: item.is_some_and(|item| item.$method.is_some()),
                    annotation,
                }
            },)*]
        }
    };
}

routes! {
    post "/v1/sessions" => sessions::open,
    get "/v1/sessions" => records::sessions,
    get "/v1/sessions/{session}" => sessions::show,
    delete "/v1/sessions/{session}" => sessions::close,
    post "/v1/sessions/{session}/keep-alive" => sessions::keep_alive,
    post "/v1/acquire" => locks::acquire,
    post "/v1/release" => locks::release,
    post "/v1/proclaim" => locks::proclaim,
    get "/v1/locks" => locks::list,
    get "/v1/leader" => locks::leader,
    post "/v1/check-token" => locks::check_token,
    post "/v1/force-release" => locks::force_release,
    get "/v1/watch" => events::watch,
    get "/v1/members" => members::show,
    post "/v1/members" => members::change,
    get "/v1/status" => status::status,
    get "/v1/node" => records::node,
    get "/v1/history" => records::history,
    get "/v1/hand-overs" => records::hand_overs,
    get "/livez" => status::live,
    get "/readyz" => status::ready,
    get "/metrics" => status::metrics,
}

/// Returns the routes of the API, with etcd's API and the given pages.
pub(crate) fn router(
    state: HttpState,
    address: SocketAddr,
    names: Vec<String>,
    etcd: Router,
    pages: Option<Router>,
) -> Router {
    let (open, authenticator) = (state.authenticator.is_open(), Arc::clone(&state.authenticator));
    let description = async || ([(header::CONTENT_TYPE, "application/json")], OPENAPI);
    let api = routes()
        .route("/openapi.json", axum::routing::get(description))
        .layer(DefaultBodyLimit::max(BODY_MOST))
        .with_state(state)
        .merge(etcd);
    let all = match pages {
        Some(pages) => api.merge(pages),
        None => {
            api.fallback(async || Refusal::unknown("no such path; /openapi.json describes the API"))
        }
    };
    let admission = Admission { authenticator };
    let guard = HostGuard::new(address, names);
    let guard = Arc::new(if open { guard } else { guard.allowing_any_host() });
    all.layer(middleware::from_fn_with_state(admission, admission::check))
        .layer(middleware::from_fn_with_state(guard, check_host_and_origin))
        .layer(middleware::map_response(add_security_headers))
}

/// Permissions of the caller of a request.
pub(crate) struct Caller(pub(crate) Arc<Permissions>);

impl FromRequestParts<HttpState> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let mut credentials =
            parts.extensions.get::<PresentedCredentials>().cloned().unwrap_or_default();
        let authorization = parts
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|authorization| authorization.to_str().ok());
        if let Some(token) =
            authorization.and_then(|authorization| authorization.strip_prefix("Bearer "))
        {
            credentials.token = Some(token.trim().to_owned());
        }
        // A connection without authentication carries the permissions, including the state of their rate limit.
        let anonymous = parts.extensions.get::<Arc<Permissions>>().cloned();
        let permissions = match anonymous {
            Some(permissions) => permissions,
            None => {
                let permissions = state
                    .authenticator
                    .authenticate(&credentials)
                    .map_err(Refusal::unauthenticated)?;
                let connection = parts.extensions.get::<Arc<Connection>>();
                connection.into_iter().for_each(|connection| connection.admit());
                permissions
            }
        };
        match permissions.throttle_delay() {
            Some(pause) => Err(Refusal::rate_limited(pause)),
            None => Ok(Self(permissions)),
        }
    }
}
