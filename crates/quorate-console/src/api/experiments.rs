//! Experiments: what there is, one under way, what came of it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use quorate_draw::Theme;
use quorate_lab::experiment::{EXPERIMENTS, Options};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::jobs::Job;
use crate::refusal::Refusal;
use crate::server::Lab;

/// How often progress is told.
const EVERY: Duration = Duration::from_millis(200);

/// A chart brings rules for its colours, and nothing else counts in it.
const IN_A_CHART: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

pub(super) async fn list() -> Json<Value> {
    let told = EXPERIMENTS.iter().map(|experiment| {
        let sizes = experiment.sizes.map(|sizes| json!([sizes.least, sizes.usual, sizes.most]));
        json!({
            "name": experiment.name,
            "summary": experiment.summary,
            "seeds": experiment.seeds,
            "sizes": sizes,
            "draws": experiment.draws,
        })
    });
    Json(told.collect())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    name: String,
    seeds: Option<u64>,
    up_to: Option<usize>,
}

pub(super) async fn begin(
    State(lab): State<Arc<Lab>>,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Result<Json<Value>, Refusal> {
    let Json(Asked { name, seeds, up_to }) = asked?;
    let options = Options { seeds, up_to, ..Options::default() };
    Ok(Json(summary(&*lab.jobs.begin(&name, options)?)))
}

pub(super) async fn look(
    State(lab): State<Arc<Lab>>,
    Path(id): Path<usize>,
) -> Result<Json<Value>, Refusal> {
    let job = lab.jobs.get(id)?;
    let mut told = summary(&job);
    if let Some(Ok(findings)) = job.outcome() {
        let blocks = findings.blocks.iter();
        told["blocks"] = blocks
            .map(|block| json!({ "title": block.title, "head": block.head, "rows": block.rows }))
            .collect();
        told["notes"] = json!(findings.notes);
        told["charts"] = findings
            .charts
            .iter()
            .map(|chart| json!({ "name": chart.name, "title": chart.title, "description": chart.description }))
            .collect();
    }
    Ok(Json(told))
}

pub(super) async fn cancel(
    State(lab): State<Arc<Lab>>,
    Path(id): Path<usize>,
) -> Result<Json<Value>, Refusal> {
    let job = lab.jobs.get(id)?;
    job.cancel();
    Ok(Json(summary(&job)))
}

/// Tells how far it is until it is over.
pub(super) async fn progress(
    State(lab): State<Arc<Lab>>,
    Path(id): Path<usize>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let job = lab.jobs.get(id)?;
    let told = stream::unfold(Some(job), |job| async {
        let job = job?;
        let over = job.outcome().is_some();
        if !over {
            tokio::time::sleep(EVERY).await;
        }
        let event = Event::default().data(summary(&job).to_string());
        Some((Ok(event), (!over).then_some(job)))
    });
    Ok(Sse::new(told))
}

pub(super) async fn table(
    State(lab): State<Arc<Lab>>,
    Path(id): Path<usize>,
) -> Result<Response, Refusal> {
    let job = lab.jobs.get(id)?;
    let mut csv = Vec::new();
    job.findings()?.table.write_csv(&mut csv).map_err(Refusal::bad)?;
    let name = format!("attachment; filename=\"{}.csv\"", job.name);
    let told = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((told, csv).into_response())
}

/// On which ground a chart is drawn: `light`, `dark`, or `auto` for what the browser prefers.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Look {
    theme: String,
}

impl Default for Look {
    fn default() -> Self {
        Self { theme: "auto".to_owned() }
    }
}

pub(super) async fn chart(
    State(lab): State<Arc<Lab>>,
    Path((id, name)): Path<(usize, String)>,
    look: Result<Query<Look>, QueryRejection>,
) -> Result<Response, Refusal> {
    let theme: Theme = look?.theme.parse().map_err(Refusal::bad)?;
    let job = lab.jobs.get(id)?;
    let name = name.strip_suffix(".svg").unwrap_or(&name);
    let chart = job.findings()?.charts.iter().find(|chart| chart.name == name);
    let chart = chart.ok_or_else(|| Refusal::unknown("the experiment has no such chart"))?;
    let told =
        [(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, IN_A_CHART)];
    Ok((told, chart.svg_on(theme)).into_response())
}

fn summary(job: &Job) -> Value {
    let (done, cells) = job.progress();
    let (state, problem) = match job.outcome() {
        None => ("running", None),
        Some(Ok(_)) => ("done", None),
        Some(Err(problem)) => ("failed", Some(problem)),
    };
    json!({ "id": job.id, "name": job.name, "state": state, "done": done, "cells": cells, "problem": problem })
}
