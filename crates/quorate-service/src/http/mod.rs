//! The service over HTTP, in JSON: for whoever has no client of ours.
//!
//! A session is opened, kept alive and closed; a lock is taken and freed for a session. What a session has may be relied on
//! for as long as the answer says, counted from when the *request* was sent. The description of it all is at
//! `/openapi.json`.

mod events;
mod gate;
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
use quorate_web::Guard;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::connections::Connection;
use crate::door::Door;
use crate::rights::{Entry, Rights, Shown};
use gate::Gate;
use refusal::Refusal;

/// Larger requests are not read.
const BODY_MOST: usize = 64 << 10;

/// What all requests share.
#[derive(Clone, Debug)]
pub(crate) struct House {
    pub(crate) door: Door,
    pub(crate) entry: Arc<Entry>,
    /// How much a clock gains or loses at most, in millionths.
    pub(crate) drift_ppm: u32,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "quorate",
        description = "Locks and elections of a cluster. A token is greater than all before of its name: tell it to whatever the lock guards."
    ),
    security(("token" = []), ()),
    modifiers(&Token)
)]
struct Description;

/// Clients show a token where the node wants one.
struct Token;

impl utoipa::Modify for Token {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let parts = description.components.get_or_insert_default();
        parts.add_security_scheme("token", scheme);
    }
}

fn described() -> OpenApiRouter<House> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(sessions::open))
        .routes(routes!(sessions::look, sessions::close))
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

/// The description of the API.
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().split_for_parts().1
}

/// Everything that is answered at this address, and pages beside it.
pub(crate) fn router(
    house: House,
    address: SocketAddr,
    names: Vec<String>,
    etcd: Router,
    pages: Option<Router>,
) -> Router {
    let (open, entry) = (house.entry.is_open(), Arc::clone(&house.entry));
    let (api, description) = described().split_for_parts();
    let api = api
        .route("/openapi.json", axum::routing::get(|| async { Json(description) }))
        .layer(DefaultBodyLimit::max(BODY_MOST))
        .with_state(house)
        .merge(etcd);
    let all = match pages {
        Some(pages) => api.merge(pages),
        None => api.fallback(async || Refusal::unknown("see /openapi.json for what there is")),
    };
    let gate = Gate { entry };
    let guard = Guard::new(address, names);
    let guard = Arc::new(if open { guard } else { guard.by_any_name() });
    all.layer(middleware::from_fn_with_state(gate, gate::pass))
        .layer(middleware::from_fn_with_state(guard, quorate_web::check))
        .layer(middleware::map_response(quorate_web::seal))
}

/// The rights of whoever asks.
pub(crate) struct Caller(pub(crate) Arc<Rights>);

impl FromRequestParts<House> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, house: &House) -> Result<Self, Refusal> {
        let mut shown = parts.extensions.get::<Shown>().cloned().unwrap_or_default();
        let said = parts.headers.get(header::AUTHORIZATION).and_then(|said| said.to_str().ok());
        if let Some(token) = said.and_then(|said| said.strip_prefix("Bearer ")) {
            shown.token = Some(token.trim().to_owned());
        }
        // A connection brings the rights that strangers have, and what they have left of them.
        let strangers = parts.extensions.get::<Arc<Rights>>().cloned();
        let rights = match strangers {
            Some(rights) => rights,
            None => {
                let rights = house.entry.known(&shown).map_err(Refusal::stranger)?;
                let connection = parts.extensions.get::<Arc<Connection>>();
                connection.into_iter().for_each(|connection| connection.admit());
                rights
            }
        };
        match rights.pause() {
            Some(pause) => Err(Refusal::hasty(pause)),
            None => Ok(Self(rights)),
        }
    }
}
