//! The service over HTTP, in JSON, for clients without a native client library.
//!
//! A session is opened, kept alive and closed; a lock is acquired and released for a session. The client
//! may rely on its locks for as long as the answer states, counted from when the *request* was sent. The
//! API is described at `/openapi.json`.

mod admission;
mod events;
mod locks;
mod model;
mod refusal;
mod sessions;
mod status;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRequestParts};
use axum::http::header;
use axum::http::request::Parts;
use axum::{Json, Router, middleware};
use quorate_web::HostGuard;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Authenticator, Permissions, PresentedCredentials};
use crate::connections::Connection;
use crate::local_client::LocalClient;
use admission::Admission;
use refusal::Refusal;

/// Maximum size of a request body, in bytes.
const BODY_MOST: usize = 64 << 10;

/// State that all requests share.
#[derive(Clone, Debug)]
pub(crate) struct HttpState {
    pub(crate) local_client: LocalClient,
    pub(crate) authenticator: Arc<Authenticator>,
    /// Maximum rate by which a clock gains or loses, in parts per million.
    pub(crate) drift_ppm: u32,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "quorate",
        description = "Locks and elections of a cluster. A token is greater than every earlier token of its name: pass it to the resource that the lock guards."
    ),
    security(("token" = []), ()),
    modifiers(&Token)
)]
struct Description;

/// Adds the security scheme of bearer tokens to the description.
struct Token;

impl utoipa::Modify for Token {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let parts = description.components.get_or_insert_default();
        parts.add_security_scheme("token", scheme);
    }
}

fn described() -> OpenApiRouter<HttpState> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(sessions::open))
        .routes(routes!(sessions::show, sessions::close))
        .routes(routes!(sessions::keep_alive))
        .routes(routes!(locks::acquire))
        .routes(routes!(locks::release))
        .routes(routes!(locks::proclaim))
        .routes(routes!(locks::list))
        .routes(routes!(locks::leader))
        .routes(routes!(locks::check_token))
        .routes(routes!(locks::force_release))
        .routes(routes!(events::watch))
        .routes(routes!(status::status))
        .routes(routes!(status::live))
        .routes(routes!(status::ready))
        .routes(routes!(status::metrics))
}

/// Returns the OpenAPI description of the API.
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().split_for_parts().1
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
    let (api, description) = described().split_for_parts();
    let api = api
        .route("/openapi.json", axum::routing::get(|| async { Json(description) }))
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
        .layer(middleware::from_fn_with_state(guard, quorate_web::check_host_and_origin))
        .layer(middleware::map_response(quorate_web::add_security_headers))
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
