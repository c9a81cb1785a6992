//! Error responses: a status, and one sentence that suggests a remedy.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use quorate_lab::experiment::ExperimentError;
use quorate_run::CannotRun;
use quorate_sim::{FileError, Invalid, RunError};
use serde_json::json;

/// Reason why a request failed.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
    /// Key of the scenario that caused the error, if known.
    key: Option<String>,
}

/// Maximum length of a message, because it may quote input.
const MESSAGE_CHARS_MOST: usize = 600;

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl ToString) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let message = message.to_string().chars().take(MESSAGE_CHARS_MOST).map(plain).collect();
        Self { status, message, key: None }
    }

    /// The request is malformed or inconsistent.
    pub(crate) fn bad_request(message: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_found(message: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn too_large(message: impl ToString) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// The value of a key is wrong, if a key is known.
    pub(crate) fn of_key(key: Option<String>, message: impl ToString) -> Self {
        Self { key, ..Self::bad_request(message) }
    }

    fn with_key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.message, "key": self.key }))).into_response()
    }
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self::bad_request(format!("{}: {}", invalid.key, invalid.problem)).with_key(invalid.key)
    }
}

impl From<FileError> for ApiError {
    fn from(error: FileError) -> Self {
        Self::of_key(error.key.clone(), error)
    }
}

impl From<ExperimentError> for ApiError {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::CannotRun(error) => error.into(),
            error => Self::bad_request(&error),
        }
    }
}

impl From<CannotRun> for ApiError {
    fn from(error: CannotRun) -> Self {
        match &error {
            CannotRun::UnknownAlgorithm { .. } => Self::bad_request(&error).with_key("algorithm"),
            CannotRun::UnknownQuorums { .. } => Self::bad_request(&error).with_key("quorums"),
            CannotRun::OtherFamily { key, .. } => Self::bad_request(&error).with_key(key),
            CannotRun::Run(
                RunError::TooManyProcesses { .. }
                | RunError::TooManyMessages { .. }
                | RunError::TooCostly { .. },
            ) => Self::too_large(&error),
            _ => Self::bad_request(&error),
        }
    }
}
