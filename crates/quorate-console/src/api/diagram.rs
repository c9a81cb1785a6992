//! The space-time diagram of a window of a run.

use std::fmt::Write;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use quorate_sim::trace::What;
use serde::Deserialize;
use serde_json::Value;

use super::scenario::Said;
use crate::refusal::Refusal;
use crate::runs::Shot;
use crate::server::Lab;

/// A window of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    toml: Option<String>,
    scenario: Option<Value>,
    from: u64,
    to: u64,
    width: u32,
    #[serde(default)]
    dark: bool,
}

pub(super) async fn window(
    State(lab): State<Arc<Lab>>,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(asked) = asked?;
    let scenario = Said { toml: asked.toml, scenario: asked.scenario }.settle()?;
    let processes = scenario.processes;
    let shot = lab.runs.shoot(scenario).await?;
    let svg = lab.runs.work(move |_| draw(&shot, processes, asked.from, asked.to, asked.width)).await?;
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

/// A stand-in.
fn draw(shot: &Shot, processes: usize, from: u64, to: u64, width: u32) -> String {
    let span = (to - from).max(1) as f64;
    let x = |time: u64| 60.0 + (time.saturating_sub(from)) as f64 / span * (f64::from(width) - 80.0);
    let y = |process: u32| 30.0 + 48.0 * f64::from(process);
    let height = 60 + 48 * processes;
    let mut svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">");
    for process in 0..processes as u32 {
        let _ = write!(svg, "<line x1=\"60\" x2=\"{width}\" y1=\"{0}\" y2=\"{0}\" stroke=\"#888\" data-process=\"{process}\"/><text x=\"8\" y=\"{0}\">p{process}</text>", y(process));
    }
    let mut sent = std::collections::BTreeMap::new();
    for record in shot.film.records() {
        match &record.what {
            What::Send(letter) => { sent.insert(letter.message, record.time); }
            What::Deliver(letter) => {
                let Some(at) = sent.get(&letter.message) else { continue };
                if record.time < from || *at > to { continue; }
                let _ = write!(svg, "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#36c\" data-message=\"{}\" data-event=\"{}\"/>", x(*at), y(letter.from), x(record.time), y(letter.to), letter.message, record.event);
            }
            _ => {}
        }
    }
    svg.push_str("</svg>");
    svg
}
