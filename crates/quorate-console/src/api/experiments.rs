//! Experiments: the list, the progress of a running one, and its results.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::Stream;
use quorate_draw::Theme;
use quorate_lab::experiment::{EXPERIMENTS, Experiment, ExperimentProgress, Findings, Options};
use serde::Deserialize;
use serde_json::{Value, json};

use super::progress::stream_progress;
use crate::api_error::ApiError;
use crate::jobs::{Job, Jobs};
use crate::lab_state::LabState;

/// Experiments of this server. Only one runs at a time, because it uses all cores.
pub(crate) type ExperimentJobs = Jobs<Cells, Findings>;

type ExperimentJob = Job<Cells, Findings>;

/// Number of finished runs of an experiment, and of all its runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cells {
    done: usize,
    all: usize,
}

impl ExperimentProgress for ExperimentJob {
    fn begin(&self, cells: usize) {
        self.update(|progress| progress.all += cells);
    }

    fn step(&self) {
        self.update(|progress| progress.done += 1);
    }

    fn end(&self) {}

    fn should_continue(&self) -> bool {
        !self.is_cancelled()
    }
}

/// Content security policy of a chart, which only needs its inline style sheet.
const CHART_CSP: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

pub(super) async fn list() -> Json<Value> {
    let experiments = EXPERIMENTS.iter().map(|experiment| {
        let sizes = experiment.sizes.map(|sizes| json!([sizes.least, sizes.usual, sizes.most]));
        json!({
            "name": experiment.name,
            "summary": experiment.summary,
            "seeds": experiment.seeds,
            "sizes": sizes,
            "draws": experiment.draws,
        })
    });
    Json(experiments.collect())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentRequest {
    name: String,
    seeds: Option<u64>,
    up_to: Option<usize>,
}

pub(super) async fn begin(
    State(lab): State<Arc<LabState>>,
    request: Result<Json<ExperimentRequest>, JsonRejection>,
) -> Result<Json<Value>, ApiError> {
    let Json(ExperimentRequest { name, seeds, up_to }) = request?;
    let options = Options { seeds, up_to, ..Options::default() };
    let experiment = Experiment::by_name(&name)?;
    let job = lab.experiments.begin(experiment.name, move |job| {
        experiment.run(&options, job).map_err(|error| error.to_string())
    })?;
    Ok(Json(summary(&job)))
}

pub(super) async fn status(
    State(lab): State<Arc<LabState>>,
    Path(id): Path<usize>,
) -> Result<Json<Value>, ApiError> {
    let job = lab.experiments.get(id)?;
    let mut status = summary(&job);
    if let Some(Ok(findings)) = job.outcome() {
        let blocks = findings.blocks.iter();
        status["blocks"] = blocks
            .map(|block| json!({ "title": block.title, "head": block.head, "rows": block.rows }))
            .collect();
        status["notes"] = json!(findings.notes);
        status["charts"] = findings
            .charts
            .iter()
            .map(|chart| json!({ "name": chart.name, "title": chart.title, "description": chart.description }))
            .collect();
    }
    Ok(Json(status))
}

pub(super) async fn cancel(
    State(lab): State<Arc<LabState>>,
    Path(id): Path<usize>,
) -> Result<Json<Value>, ApiError> {
    let job = lab.experiments.get(id)?;
    job.cancel();
    Ok(Json(summary(&job)))
}

/// Streams the progress of an experiment until it has ended.
pub(super) async fn progress(
    State(lab): State<Arc<LabState>>,
    Path(id): Path<usize>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let job = lab.experiments.get(id)?;
    Ok(stream_progress(job, summary))
}

pub(super) async fn table(
    State(lab): State<Arc<LabState>>,
    Path(id): Path<usize>,
) -> Result<Response, ApiError> {
    let job = lab.experiments.get(id)?;
    let mut csv = Vec::new();
    job.result()?.table.write_csv(&mut csv).map_err(ApiError::bad_request)?;
    let name = format!("attachment; filename=\"{}.csv\"", job.name);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, csv).into_response())
}

/// Theme of a chart: `light`, `dark`, or `auto` for the browser's preference.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChartQuery {
    theme: String,
}

impl Default for ChartQuery {
    fn default() -> Self {
        Self { theme: "auto".to_owned() }
    }
}

pub(super) async fn chart(
    State(lab): State<Arc<LabState>>,
    Path((id, name)): Path<(usize, String)>,
    query: Result<Query<ChartQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let theme: Theme = query?.theme.parse().map_err(ApiError::bad_request)?;
    let job = lab.experiments.get(id)?;
    let name = name.strip_suffix(".svg").unwrap_or(&name);
    let chart = job.result()?.charts.iter().find(|chart| chart.name == name);
    let chart = chart.ok_or_else(|| ApiError::not_found("the experiment has no such chart"))?;
    let headers =
        [(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, CHART_CSP)];
    Ok((headers, chart.svg_with_theme(theme)).into_response())
}

fn summary(job: &ExperimentJob) -> Value {
    let (Cells { done, all }, (state, problem)) = (job.progress(), job.state());
    json!({ "id": job.id, "name": job.name, "state": state, "done": done, "cells": all, "problem": problem })
}
