//! Quorum systems: what `quorate quorum` says, for the page that fails processes by clicking.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use quorate_core::quorum::AnySystem;
use quorate_core::{ProcessId, ProcessSet};
use quorate_draw::Theme;
use quorate_draw::topology::Topology;
use quorate_lab::quorums::{QuorumReport, analyse as analysed};
use quorate_sim::notation::SetText;
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::server::Lab;
use crate::words::Language;

/// With more processes nothing could be clicked.
const PROCESSES_MOST: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    system: String,
    n: usize,
    #[serde(default)]
    failed: String,
    #[serde(default)]
    process: u32,
    #[serde(default)]
    language: Language,
}

/// What `quorate quorum --json` prints, and a picture of the quorum that is shown.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    #[serde(flatten)]
    report: QuorumReport,
    picture: String,
}

pub(super) async fn analyse(
    State(lab): State<Arc<Lab>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Answer>, Refusal> {
    let Query(asked) = asked?;
    let (system, failed) = settle(&asked)?;
    let shown = ProcessId::new(asked.process);
    let words = asked.language.words();
    let work = move |_: &_| Answer {
        picture: Topology::quorum(&system, &failed, shown).in_words(words).svg(Theme::Auto),
        report: analysed(&system, &failed, shown, 0),
    };
    Ok(Json(lab.runs.work(work).await?))
}

fn settle(asked: &Asked) -> Result<(AnySystem, ProcessSet), Refusal> {
    let n = asked.n;
    if !(1..=PROCESSES_MOST).contains(&n) {
        return Err(Refusal::bad(format!("n: expected 1 to {PROCESSES_MOST}, found {n}")));
    }
    let system = AnySystem::by_name(&asked.system, n);
    let system = system.ok_or_else(|| Refusal::bad("there is no such quorum system"))?;
    let failed = match asked.failed.as_str() {
        "" => ProcessSet::new(),
        text => text.parse::<SetText>().map_err(Refusal::bad)?.0,
    };
    let last = failed.last().map(ProcessId::number).unwrap_or(0).max(asked.process);
    if last as usize >= n {
        return Err(Refusal::bad(format!("there is no process {last}")));
    }
    Ok((system, failed))
}
