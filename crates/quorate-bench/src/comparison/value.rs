//! Results as JSON.

use serde_json::{Value, json};

use super::{Figure, ServiceComparison};
use crate::cluster::Wire;
use crate::error::BenchError;
use crate::measure::Measurement;
use crate::peers::Absent;
use crate::task::Task;

impl Wire {
    /// Name of the transport on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Plain => "plain",
        }
    }
}

impl Measurement {
    /// Returns the measurement as JSON, together with its ratio to a raw round trip in microseconds.
    pub fn value(&self, round_trip_us: f64) -> Value {
        json!({
            "work": self.work,
            "seconds": self.seconds,
            "cycles": self.cycles,
            "cycles_per_second": self.rate(),
            "hand_offs": self.hand_offs,
            "hand_offs_per_second": self.hand_off_rate(),
            "latency": self.latency,
            "round_trips": self.latency.percentile(50.0) / round_trip_us,
            "processor_us": self.processor_us,
            "kernel_us": self.kernel_us,
            "client_us": self.client_us,
            "messages": self.messages,
        })
    }
}

impl ServiceComparison {
    /// Returns the whole comparison as JSON.
    pub fn value(&self) -> Value {
        let own = |(wire, results): &(Wire, Vec<_>)| {
            let all = results.iter().map(|result| self.result(result));
            let mut all: Vec<Value> = all.collect();
            all.iter_mut().for_each(|value| value["wire"] = json!(wire.name()));
            all
        };
        let results: Vec<Value> = self.ours.iter().flat_map(own).collect();
        let peers: Vec<Value> = self.others().collect();
        json!({
            "nodes": self.nodes,
            "round_trip_us": self.raw(),
            "round_trip_one_core_us": self.round_trip.one_core.percentile(50.0),
            "machine": self.machine,
            "results": results,
            "peers": peers,
            "goals": self.goals(),
        })
    }

    fn result(&self, (task, result): &(Task, Result<Measurement, BenchError>)) -> Value {
        match result {
            Ok(measured) => measured.value(self.raw()),
            Err(error) => json!({ "work": task.name(), "trouble": error.to_string() }),
        }
    }

    fn others(&self) -> impl Iterator<Item = Value> {
        let rows = self.rows();
        let ours = rows.iter().position(|row| row.peer.is_none());
        let all: Vec<Value> = rows
            .iter()
            .filter(|row| row.peer.is_some())
            .map(|row| {
                let ratio = |figure: Figure| figure.ratio(&rows[ours?], row);
                json!({
                    "service": row.service,
                    "setting": row.setting,
                    "version": row.version,
                    "state": row.absent.map_or("measured", Absent::state),
                    "why": row.absent.map(Absent::why),
                    "results": row.results.iter().map(|result| self.result(result)).collect::<Vec<_>>(),
                    "times_as_good": {
                        "alone_p50": ratio(Figure::AloneHalf),
                        "alone_p99": ratio(Figure::AloneMost),
                        "apart": ratio(Figure::Apart),
                        "hand_offs": ratio(Figure::HandOffs),
                        "waiters": ratio(Figure::Queue),
                        "killed": ratio(Figure::Killed),
                    },
                })
            })
            .collect();
        all.into_iter()
    }
}
