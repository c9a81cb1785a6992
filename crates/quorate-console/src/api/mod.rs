//! JSON API of the page.

mod catalogue;
mod checks;
mod diagram;
mod experiments;
mod lessons;
mod progress;
mod quorum;
mod recording;
mod run;
mod scenario;
mod topology;
mod trace_file;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::StatusCode;
use axum::routing::{get, post};

use crate::api_error::ApiError;
use crate::lab_state::LabState;

pub(crate) use checks::CheckJobs;
pub(crate) use experiments::ExperimentJobs;

/// Maximum size of a request body. A scenario has at most a mebibyte in TOML; JSON may take more.
const BODY_MOST: usize = 2 << 20;

/// Maximum size of an uploaded trace.
const TRACE_MOST: usize = 32 << 20;

pub(crate) fn router(lab: Arc<LabState>) -> Router {
    Router::new()
        .route("/algorithms", get(catalogue::algorithms))
        .route("/lessons", get(lessons::list))
        .route("/lessons/shared", post(lessons::shared))
        .route("/lessons/{name}/answers", get(lessons::answers))
        .route("/scenarios", get(lessons::list_scenarios))
        .route("/scenario", post(scenario::validate))
        .route("/run", post(run::run))
        .route("/trace", post(run::upload_trace).layer(DefaultBodyLimit::max(TRACE_MOST)))
        .route("/film", post(recording::segment))
        .route("/trace-file", post(trace_file::download))
        .route("/diagram", post(diagram::draw_window))
        .route("/topology", post(topology::draw))
        .route("/quorum", get(quorum::analyse))
        .route("/experiments", get(experiments::list).post(experiments::begin))
        .route("/experiments/{id}", get(experiments::status).delete(experiments::cancel))
        .route("/experiments/{id}/progress", get(experiments::progress))
        .route("/experiments/{id}/table.csv", get(experiments::table))
        .route("/experiments/{id}/charts/{name}", get(experiments::chart))
        .route("/checks", post(checks::begin))
        .route("/checks/{id}", get(checks::status).delete(checks::cancel))
        .route("/checks/{id}/progress", get(checks::progress))
        .fallback(unknown_path)
        .layer(DefaultBodyLimit::max(BODY_MOST))
        .with_state(lab)
}

async fn unknown_path() -> ApiError {
    ApiError::not_found("the lab has no such path")
}

/// Rejections of malformed request bodies.
impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::too_large(format!(
                "the request is larger than the limit of {BODY_MOST} bytes"
            )),
            status => Self::new(status, rejection.body_text()),
        }
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad_request(rejection.body_text())
    }
}
