//! Quorum systems: the analysis of `quorate quorum`, for the page on which a click fails a process.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use quorate_check::quorums::{QuorumReport, analyse as analysed};
use quorate_core::quorum::AnySystem;
use quorate_core::{ProcessId, ProcessSet};
use quorate_draw::Theme;
use quorate_draw::topology::Topology;
use quorate_sim::notation::SetText;
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::lab_state::LabState;
use crate::language::Language;

/// Maximum number of processes; more could not be clicked individually.
const PROCESSES_MOST: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuorumRequest {
    system: String,
    n: usize,
    #[serde(default)]
    failed: String,
    #[serde(default)]
    process: u32,
    #[serde(default)]
    language: Language,
}

/// Output of `quorate quorum --json` and a picture of the shown quorum.
#[derive(Debug, Serialize)]
pub(super) struct QuorumResponse {
    #[serde(flatten)]
    report: QuorumReport,
    picture: String,
}

pub(super) async fn analyse(
    State(lab): State<Arc<LabState>>,
    request: Result<Query<QuorumRequest>, QueryRejection>,
) -> Result<Json<QuorumResponse>, ApiError> {
    let Query(request) = request?;
    let (system, failed) = parse_request(&request)?;
    let shown = ProcessId::new(request.process);
    let vocabulary = request.language.vocabulary();
    let work = move |_: &_| QuorumResponse {
        picture: Topology::quorum(&system, &failed, shown)
            .with_vocabulary(vocabulary)
            .svg(Theme::Auto),
        report: analysed(&system, &failed, shown, 0),
    };
    Ok(Json(lab.runs.run_blocking(work).await?))
}

fn parse_request(request: &QuorumRequest) -> Result<(AnySystem, ProcessSet), ApiError> {
    let n = request.n;
    if !(1..=PROCESSES_MOST).contains(&n) {
        return Err(ApiError::bad_request(format!("n: expected 1 to {PROCESSES_MOST}, found {n}")));
    }
    let system = AnySystem::by_name(&request.system, n);
    let system = system.ok_or_else(|| ApiError::bad_request("there is no such quorum system"))?;
    let failed = match request.failed.as_str() {
        "" => ProcessSet::new(),
        text => text.parse::<SetText>().map_err(ApiError::bad_request)?.0,
    };
    let last = failed.last().map(ProcessId::number).unwrap_or(0).max(request.process);
    if last as usize >= n {
        return Err(ApiError::bad_request(format!("there is no process {last}")));
    }
    Ok((system, failed))
}
