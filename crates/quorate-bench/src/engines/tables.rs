//! What is printed of a race, and what stands on the page.

use serde_json::{Value, json};

use super::Race;
use crate::grid::Grid;
use crate::say::{number, times};

/// How it was measured.
const CAVEATS: &str = "\
- One thread each. Nobody watches: no monitors, no accounts, no trace, since the others have none.
- Ring: 32 processes, 128 tokens in flight, uniform delays. Ricart-Agrawala: everybody asks once at the start, uniform delays.
  Every program counts its deliveries, and the numbers have to agree.
- madsim runs real futures over a network of its own, an endpoint for each process; SimPy has a timeout with a callback for each
  message, the quickest way it has. quorate has state machines and a timing wheel: it does less for each message, and that is the
  point.
- The model for stateright is the very same file that our checker explores (`crates/quorate-bench/peers/stateright/lamport.rs`).
  stateright keeps a fingerprint of 64 bits for each state, quorate one of 100 and the steps between states, for starvation.
";

impl Race {
    fn grid(&self) -> Grid {
        let mut grid = Grid::new(&["work", "other", "other", "quorate", "quorate is"]);
        for lap in &self.laps {
            let other = format!("{} {} {}", lap.engine.name(), lap.engine.version(), lap.way);
            grid.rows.push(vec![
                lap.work.clone(),
                other.trim_end().to_owned(),
                number(lap.theirs),
                number(lap.ours),
                times(lap.ours / lap.theirs),
            ]);
        }
        grid
    }

    fn troubles(&self) -> Vec<String> {
        self.absent.iter().map(|(engine, absent)| format!("{}: {absent}", engine.name())).collect()
    }

    /// All of it for a terminal.
    pub fn text(&self) -> String {
        let troubles: String = self.troubles().iter().map(|line| format!("{line}\n")).collect();
        let table = if self.laps.is_empty() { String::new() } else { self.grid().text(2) };
        table + &troubles
    }

    /// The part of the page about it.
    pub fn section(&self) -> String {
        let troubles: String = self.troubles().iter().map(|line| format!("\n{line}.\n")).collect();
        format!("## Simulator and checker\n\n{}{troubles}\n{CAVEATS}", self.grid().markdown(2))
    }

    /// The same as JSON.
    pub fn value(&self) -> Value {
        let lap = |lap: &super::Lap| {
            json!({
                "work": lap.work,
                "engine": lap.engine,
                "version": lap.engine.version(),
                "way": lap.way,
                "ours_per_second": lap.ours,
                "theirs_per_second": lap.theirs,
                "times_as_good": lap.ours / lap.theirs,
            })
        };
        let absent = self.absent.iter().map(
            |(engine, absent)| json!({ "engine": engine, "state": absent.state(), "why": absent.why() }),
        );
        json!({
            "laps": self.laps.iter().map(lap).collect::<Vec<_>>(),
            "absent": absent.collect::<Vec<_>>(),
        })
    }
}
