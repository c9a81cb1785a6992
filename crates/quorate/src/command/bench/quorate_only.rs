//! Benchmark of quorate alone. Each result is printed as soon as it is measured.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use quorate_bench::{
    BenchConfig, BenchError, Launch, Measurement, QuorateCluster, RoundTrip, Task, Wire, perform,
    round_trip, work,
};
use serde_json::{Value, json};

use super::{launch, run_to_completion};
use crate::CommandResult;
use crate::arguments::BenchFlags;
use crate::command_error::CommandError;

/// Number of locks of [`Task::Many`].
const LOCK_COUNT: usize = 100_000;
/// Number of nodes of [`Task::Idle`].
const IDLE_NODES: usize = 8;

pub(super) fn bench(flags: &BenchFlags) -> CommandResult {
    let launch = launch()?;
    let config = BenchConfig::new(Duration::from_secs(flags.seconds));
    let raw = round_trip(config.time / 3).map_err(CommandError::new)?;
    let mut printer = Printer { raw, json: flags.json, results: Vec::new() };
    printer.begin()?;
    for wire in flags.wires() {
        for task in flags.tasks() {
            let (launch, nodes) = (launch.clone(), flags.nodes as usize);
            let output = async move { run_task(&launch, nodes, wire, task, &config).await };
            let output = run_to_completion(output)?.map_err(CommandError::new)?;
            printer.result(wire, task, &output)?;
        }
    }
    printer.end(flags.nodes)?;
    Ok(ExitCode::SUCCESS)
}

/// Result of one task.
enum TaskOutput {
    Measurement(Box<Measurement>),
    Many(work::Idle),
    Idle(f64),
}

async fn run_task(
    launch: &Launch,
    nodes: usize,
    wire: Wire,
    task: Task,
    config: &BenchConfig,
) -> Result<TaskOutput, BenchError> {
    let nodes = if task == Task::Idle { IDLE_NODES } else { nodes };
    let cluster = QuorateCluster::start(launch, nodes, wire).await?;
    match task {
        Task::Many => work::many(&cluster, LOCK_COUNT).await.map(TaskOutput::Many),
        Task::Idle => {
            let time = config.time.max(Duration::from_secs(10));
            Ok(TaskOutput::Idle(work::idle_share(&cluster, time).await))
        }
        task => perform(&cluster, task, config)
            .await
            .map(|done| TaskOutput::Measurement(Box::new(done))),
    }
}

/// Prints each result as soon as it is measured, or all of them as JSON at the end.
struct Printer {
    /// Time of a message and its answer without a lock service.
    raw: RoundTrip,
    json: bool,
    results: Vec<Value>,
}

impl Printer {
    fn begin(&self) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        writeln!(out, "{}", self.raw)?;
        writeln!(
            out,
            "\n{:<5}  {:<8}  {:>9}  {:>11}  {:>11}  {:>11}  {:>11}  {:>9}  {:>8}",
            "wire",
            "work",
            "locks/s",
            "hand-offs/s",
            "50 %",
            "99 %",
            "round trips",
            "CPU",
            "messages"
        )?;
        out.flush()
    }

    fn result(&mut self, wire: Wire, task: Task, output: &TaskOutput) -> io::Result<()> {
        let work = task.name();
        let (line, value) = match output {
            TaskOutput::Measurement(measured) => {
                (self.line(measured), measured.value(self.raw.median()))
            }
            TaskOutput::Many(idle) => (
                format!(
                    "{} locks in {:.1} s; all nodes together use {:.0} bytes for each",
                    idle.locks, idle.seconds, idle.bytes
                ),
                json!({ "locks": idle.locks, "seconds": idle.seconds, "bytes_per_lock": idle.bytes }),
            ),
            TaskOutput::Idle(share) => (
                format!("{IDLE_NODES} nodes use {:.2} % of a core", 100.0 * share),
                json!({ "nodes": IDLE_NODES, "share_of_a_core": share }),
            ),
        };
        if self.json {
            let mut value = value;
            value["work"] = json!(work);
            value["wire"] = json!(wire.name());
            self.results.push(value);
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        writeln!(out, "{:<5}  {work:<8}  {line}", wire.name())?;
        out.flush()
    }

    fn line(&self, measured: &Measurement) -> String {
        let (half, most) = (measured.latency.percentile(50.0), measured.latency.percentile(99.0));
        let handed = match measured.hand_offs {
            0 => String::new(),
            _ => format!("{:.0}", measured.hand_off_rate()),
        };
        let messages = measured.messages.map_or(String::new(), |sent| format!("{sent:.1}"));
        format!(
            "{:>9.0}  {handed:>11}  {half:>8.1} us  {most:>8.1} us  {:>11.1}  {:>6.1} us  {messages:>8}",
            measured.rate(),
            half / self.raw.median(),
            measured.processor_us
        )
    }

    fn end(&self, nodes: u32) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        let all = json!({
            "nodes": nodes,
            "round_trip_us": self.raw.median(),
            "round_trip_one_core_us": self.raw.one_core.percentile(50.0),
            "results": self.results,
        });
        serde_json::to_writer(&mut out, &all)?;
        writeln!(out)
    }
}
