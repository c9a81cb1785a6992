//! Report of a stress run, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{StressLoad, StressPhase};

/// Formats the report as text.
pub(super) fn text(load: StressLoad, phases: &[StressPhase]) -> String {
    let mut text = format!(
        "{} waiters, {} locks, {} strangers of each kind; 3 nodes\n\n{:<42} {:>8} {:>7} {:>8} {:>8} {:>8} {:>8}\n",
        load.waiters,
        load.locks,
        load.strangers,
        "a bystander's turns during",
        "took ms",
        "turns",
        "p50 ms",
        "p99 ms",
        "max ms",
        "node MB"
    );
    for phase in phases {
        let _ = writeln!(
            text,
            "{:<42} {:>8} {:>7} {:>8.1} {:>8.1} {:>8.1} {:>8}",
            phase.name,
            phase.millis,
            phase.turns.len(),
            phase.percentile_ms(50),
            phase.percentile_ms(99),
            phase.percentile_ms(100),
            phase.memory >> 20
        );
    }
    let broken: Vec<String> = phases
        .iter()
        .flat_map(|phase| {
            phase.broken.iter().take(5).map(|what| format!("BROKEN {}: {what}\n", phase.name))
        })
        .collect();
    text.push('\n');
    text += &match broken.is_empty() {
        true => "nothing was lost, all nodes are alive, memory is bounded\n".to_owned(),
        false => broken.concat(),
    };
    text
}

/// Formats the report as JSON.
pub(super) fn json(load: StressLoad, phases: &[StressPhase]) -> String {
    let phase = |phase: &StressPhase| -> Value {
        json!({
            "name": phase.name, "took_ms": phase.millis, "turns": phase.turns.len(),
            "p50_ms": phase.percentile_ms(50), "p99_ms": phase.percentile_ms(99), "max_ms": phase.percentile_ms(100),
            "memory_bytes": phase.memory, "broken": phase.broken,
        })
    };
    let phases: Vec<Value> = phases.iter().map(phase).collect();
    let all = json!({
        "waiters": load.waiters, "locks": load.locks, "strangers": load.strangers, "phases": phases,
    });
    format!("{all:#}\n")
}

impl StressPhase {
    /// Percentile of the turns, in milliseconds. The turns are in ascending order.
    fn percentile_ms(&self, percent: usize) -> f64 {
        let index = (self.turns.len() * percent / 100).min(self.turns.len().saturating_sub(1));
        self.turns.get(index).map_or(0.0, |micros| *micros as f64 / 1e3)
    }
}
