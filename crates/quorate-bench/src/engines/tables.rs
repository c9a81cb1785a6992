//! Table and page section of an engine comparison.

use serde_json::{Value, json};

use super::EngineComparison;
use crate::format::{number, times};
use crate::text_table::TextTable;

/// Conditions of the measurement.
const CAVEATS: &str = "\
- One thread each. No monitors, no accounting and no trace are active, since the other programs have none.
- Ring: 32 processes, 128 tokens in flight, uniform delays. Ricart-Agrawala: each process requests once at the start, uniform
  delays. Every program counts its deliveries, and the counts have to agree.
- madsim runs real futures over its own simulated network, with an endpoint for each process. SimPy has a timeout with a callback
  for each message, which is its fastest method. quorate has state machines and a timing wheel: it does less work for each
  message, by design.
- The model for stateright is the same file that our checker explores (`crates/quorate-bench/peers/stateright/lamport.rs`).
  stateright keeps a fingerprint of 64 bits for each state; quorate keeps one of 100 bits, and the steps between states to check
  for starvation.
";

impl EngineComparison {
    fn table(&self) -> TextTable {
        let mut table =
            TextTable::new(&["work", "other system", "other system", "quorate", "ratio"]);
        for result in &self.results {
            let other =
                format!("{} {} {}", result.engine.name(), result.engine.version(), result.mode);
            table.rows.push(vec![
                result.work.clone(),
                other.trim_end().to_owned(),
                number(result.theirs),
                number(result.ours),
                times(result.ours / result.theirs),
            ]);
        }
        table
    }

    fn problems(&self) -> Vec<String> {
        self.absent.iter().map(|(engine, absent)| format!("{}: {absent}", engine.name())).collect()
    }

    /// Renders the results for a terminal.
    pub fn text(&self) -> String {
        let problems: String = self.problems().iter().map(|line| format!("{line}\n")).collect();
        let table = if self.results.is_empty() { String::new() } else { self.table().text(2) };
        table + &problems
    }

    /// Renders the section of the performance page.
    pub fn section(&self) -> String {
        let problems: String = self.problems().iter().map(|line| format!("\n{line}.\n")).collect();
        format!("## Simulator and checker\n\n{}{problems}\n{CAVEATS}", self.table().markdown(2))
    }

    /// Returns the results as JSON.
    pub fn value(&self) -> Value {
        let result = |result: &super::EngineResult| {
            json!({
                "work": result.work,
                "engine": result.engine,
                "version": result.engine.version(),
                "way": result.mode,
                "ours_per_second": result.ours,
                "theirs_per_second": result.theirs,
                "times_as_good": result.ours / result.theirs,
            })
        };
        let absent = self.absent.iter().map(
            |(engine, absent)| json!({ "engine": engine, "state": absent.state(), "why": absent.why() }),
        );
        json!({
            "laps": self.results.iter().map(result).collect::<Vec<_>>(),
            "absent": absent.collect::<Vec<_>>(),
        })
    }
}
