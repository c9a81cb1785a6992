//! Why a request is not granted: a status, and one sentence with a way out.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use quorate_run::CannotRun;
use quorate_sim::{FileError, Invalid, RunError};
use serde_json::json;

/// Why a request is not granted.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
    /// The key of the scenario that is to blame, if one is.
    key: Option<String>,
}

/// Longer messages quote too much.
const MOST: usize = 600;

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl ToString) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let message = message.to_string().chars().take(MOST).map(plain).collect();
        Self { status, message, key: None }
    }

    /// What was asked for makes no sense.
    pub(crate) fn bad(message: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn unknown(message: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn too_large(message: impl ToString) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    fn of_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.message, "key": self.key }))).into_response()
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::bad(format!("{}: {}", invalid.key, invalid.problem)).of_key(invalid.key)
    }
}

impl From<FileError> for Refusal {
    fn from(error: FileError) -> Self {
        Self::bad(error)
    }
}

impl From<CannotRun> for Refusal {
    fn from(error: CannotRun) -> Self {
        match &error {
            CannotRun::UnknownAlgorithm { .. } => Self::bad(&error).of_key("algorithm"),
            CannotRun::UnknownQuorums { .. } => Self::bad(&error).of_key("quorums"),
            CannotRun::OtherFamily { key, .. } => Self::bad(&error).of_key(key),
            CannotRun::Run(
                RunError::TooManyProcesses { .. }
                | RunError::TooManyMessages { .. }
                | RunError::TooCostly { .. },
            ) => Self::too_large(&error),
            _ => Self::bad(&error),
        }
    }
}
