//! A part of a run, to be stepped through.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::{IntoResponse, Response};
use quorate_sim::trace::Record;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scenario::Said;
use crate::film::{Film, Step};
use crate::refusal::Refusal;
use crate::runs::Shot;
use crate::server::Lab;

/// A film for scripts.
#[derive(Serialize)]
pub(super) struct Reel<'a> {
    processes: usize,
    /// How many steps the whole run has, and the number of the first that is here.
    total: usize,
    first: usize,
    /// How many of them are not here.
    left_out: usize,
    earlier: Earlier<'a>,
    /// Event, time, process, first record, and what the process has become: a place among the texts, or -1.
    steps: Vec<(u64, u64, u32, usize, i64)>,
    /// What happens in them, and at the end what was broken.
    records: Vec<&'a Record>,
    texts: &'a [String],
}

/// What came before and still counts.
#[derive(Serialize)]
struct Earlier<'a> {
    /// What each process was: a place among the texts, or -1.
    states: Vec<i64>,
    records: Vec<&'a Record>,
    /// Messages under way that are not among the records.
    untold: usize,
    sent: &'a BTreeMap<String, u64>,
    lost: u64,
}

fn place(state: Option<usize>) -> i64 {
    state.map_or(-1, |place| place as i64)
}

impl<'a> Reel<'a> {
    pub(super) fn new(shot: &Shot, film: &'a Film) -> Self {
        let (processes, total) = (shot.diagram.processes(), shot.timetable.len());
        let mut records = Vec::new();
        let mut steps = Vec::with_capacity(film.steps().len());
        for Step { event, time, process, state, records: own, .. } in film.steps() {
            steps.push((*event, *time, *process, records.len(), place(*state)));
            records.extend(own);
        }
        records.extend(film.broken());
        let before = (0..processes as u32).map(|process| place(film.before(process)));
        let earlier = Earlier {
            states: before.collect(),
            records: film.earlier().records(),
            untold: film.earlier().untold(),
            sent: film.earlier().sent(),
            lost: film.earlier().lost(),
        };
        let (first, left_out, texts) = (film.first(), total - steps.len(), film.texts());
        Self { processes, total, first, left_out, earlier, steps, records, texts }
    }
}

/// Which part of which run: around a step, the first step of an event, or the last step at a time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    toml: Option<String>,
    scenario: Option<Value>,
    trace: Option<u64>,
    step: Option<usize>,
    event: Option<u64>,
    time: Option<u64>,
}

/// The part, and which step it is.
#[derive(Serialize)]
struct Answer<'a> {
    step: usize,
    film: Reel<'a>,
}

pub(super) async fn part(
    State(lab): State<Arc<Lab>>,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(asked) = asked?;
    let (shot, scenario) = match asked.trace {
        Some(name) => (lab.runs.brought(name)?, None),
        None => {
            let scenario = Said { toml: asked.toml, scenario: asked.scenario }.settle()?;
            (lab.runs.shoot(scenario.clone()).await?, Some(scenario))
        }
    };
    let step = match (asked.step, asked.event, asked.time) {
        (Some(step), None, None) => step,
        (None, Some(event), None) => shot.timetable.of_event(event),
        (None, None, Some(time)) => shot.timetable.at(time),
        _ => return Err(Refusal::bad("expected one of `step`, `event` and `time`")),
    };
    let step = step.min(shot.timetable.len().saturating_sub(1));
    let film = lab.runs.part(shot.clone(), scenario, step).await?;
    Ok(Json(Answer { step, film: Reel::new(&shot, &film) }).into_response())
}
