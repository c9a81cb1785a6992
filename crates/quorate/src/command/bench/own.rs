//! quorate alone: each result as it comes.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use quorate_bench::{
    Cluster, Effort, Launch, Measured, RoundTrip, Task, Trouble, Wire, perform, round_trip, work,
};
use serde_json::{Value, json};

use super::{launch, to_the_end};
use crate::Done;
use crate::arguments::Bench;
use crate::failure::Failure;

/// How many locks are many, and how many nodes are idle.
const MANY: usize = 100_000;
const IDLE: usize = 8;

pub(super) fn bench(flags: &Bench) -> Done {
    let launch = launch()?;
    let effort = Effort::new(Duration::from_secs(flags.seconds));
    let raw = round_trip(effort.time / 3).map_err(Failure::new)?;
    let mut printer = Printer { raw, json: flags.json, results: Vec::new() };
    printer.begin()?;
    for wire in flags.wires() {
        for task in flags.tasks() {
            let (launch, nodes) = (launch.clone(), flags.nodes as usize);
            let done = async move { done(&launch, nodes, wire, task, &effort).await };
            let done = to_the_end(done)?.map_err(Failure::new)?;
            printer.result(wire, task, &done)?;
        }
    }
    printer.end(flags.nodes)?;
    Ok(ExitCode::SUCCESS)
}

/// What came of a piece of work.
enum Came {
    Measured(Box<Measured>),
    Many(work::Idle),
    Idle(f64),
}

async fn done(
    launch: &Launch,
    nodes: usize,
    wire: Wire,
    task: Task,
    effort: &Effort,
) -> Result<Came, Trouble> {
    let nodes = if task == Task::Idle { IDLE } else { nodes };
    let cluster = Cluster::start(launch, nodes, wire).await?;
    match task {
        Task::Many => work::many(&cluster, MANY).await.map(Came::Many),
        Task::Idle => {
            let time = effort.time.max(Duration::from_secs(10));
            Ok(Came::Idle(work::nothing(&cluster, time).await))
        }
        task => perform(&cluster, task, effort).await.map(|done| Came::Measured(Box::new(done))),
    }
}

/// Prints each result as it comes, or all of them as JSON in the end.
struct Printer {
    /// What a message and its answer take.
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
            "processor",
            "messages"
        )?;
        out.flush()
    }

    fn result(&mut self, wire: Wire, task: Task, came: &Came) -> io::Result<()> {
        let work = task.name();
        let (line, value) = match came {
            Came::Measured(measured) => (self.line(measured), measured.value(self.raw.median())),
            Came::Many(idle) => (
                format!(
                    "{} locks in {:.1} s; the nodes together remember {:.0} bytes for each",
                    idle.locks, idle.seconds, idle.bytes
                ),
                json!({ "locks": idle.locks, "seconds": idle.seconds, "bytes_per_lock": idle.bytes }),
            ),
            Came::Idle(share) => (
                format!("{IDLE} nodes use {:.2} % of a core", 100.0 * share),
                json!({ "nodes": IDLE, "share_of_a_core": share }),
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

    fn line(&self, measured: &Measured) -> String {
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
            "round_trip_one_core_us": self.raw.beside.percentile(50.0),
            "results": self.results,
        });
        serde_json::to_writer(&mut out, &all)?;
        writeln!(out)
    }
}
