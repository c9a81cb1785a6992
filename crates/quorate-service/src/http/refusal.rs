//! Reasons why a request failed: a status, a code for programs and a sentence for people.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use quorate_protocol::{BadName, Failure};
use serde::Serialize;

/// Error response.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(crate) struct Refusal {
    #[serde(skip)]
    status: StatusCode,
    #[serde(skip)]
    after: Option<Duration>,
    /// Error code for programs: busy, timed-out, no-session, no-request, not-allowed, too-much, too-slow, free, no-quorum,
    /// leaving, bad, unknown, confused.
    code: &'static str,
    /// Error message for people.
    error: String,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, error: impl ToString) -> Self {
        let error = error.to_string().chars().filter(|c| !c.is_control()).take(600).collect();
        Self { status, after: None, code, error }
    }

    /// Refuses a malformed request.
    pub(crate) fn bad(error: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad", error)
    }

    pub(crate) fn unknown(error: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown", error)
    }

    pub(crate) fn unauthenticated(why: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "not-allowed", why)
    }

    /// Refuses a call of a client that exceeds its rate limit.
    pub(crate) fn rate_limited(delay: Duration) -> Self {
        let error = "the client exceeds its limit of calls per second";
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "too-much", error);
        Self { after: Some(delay), ..refusal }
    }

    /// Refuses a request whose body did not arrive in time.
    pub(crate) fn body_timeout(limit: Duration) -> Self {
        let error = format!("the request body must arrive within {} s", limit.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, "too-slow", error)
    }

    /// Reports a response of an unexpected kind, which cannot happen.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "confused",
            "internal error: unexpected kind of response",
        )
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, after) = (self.status, self.after);
        let mut response = (status, Json(self)).into_response();
        if let Some(after) = after {
            let seconds = HeaderValue::from(after.as_secs() + 1);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let (status, code) = match &failure {
            Failure::Busy => (StatusCode::CONFLICT, "busy"),
            Failure::TimedOut => (StatusCode::CONFLICT, "timed-out"),
            Failure::NoSession | Failure::Ended => (StatusCode::NOT_FOUND, "no-session"),
            Failure::NoRequest => (StatusCode::NOT_FOUND, "no-request"),
            Failure::NotAllowed(_) => (StatusCode::FORBIDDEN, "not-allowed"),
            Failure::TooMuch(_) => (StatusCode::TOO_MANY_REQUESTS, "too-much"),
            Failure::Free => (StatusCode::NOT_FOUND, "free"),
            Failure::NoQuorum => (StatusCode::SERVICE_UNAVAILABLE, "no-quorum"),
            Failure::NotNow(_) => (StatusCode::CONFLICT, "not-now"),
            Failure::Leaving => (StatusCode::SERVICE_UNAVAILABLE, "leaving"),
        };
        Self::new(status, code, failure)
    }
}

impl From<BadName> for Refusal {
    fn from(bad: BadName) -> Self {
        Self::bad(bad)
    }
}

impl From<JsonRejection> for Refusal {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(rejection.status(), "bad", rejection.body_text())
    }
}

impl From<QueryRejection> for Refusal {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad(rejection.body_text())
    }
}

impl From<PathRejection> for Refusal {
    fn from(rejection: PathRejection) -> Self {
        Self::bad(rejection.body_text())
    }
}
