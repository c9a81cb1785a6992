//! `quorate bench`: how fast locks are on this machine.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use quorate_bench::{Cluster, Latency, Launch, Measured, Trouble, Wire, round_trip, work};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::Done;
use crate::arguments::{Bench, BenchWire, Work};
use crate::failure::Failure;

/// How many clients each has.
const APART: usize = 16;
const TOGETHER: usize = 8;
const QUEUE: usize = 1_000;
/// How many locks are many, how often somebody is killed, and how many nodes are idle.
const MANY: usize = 100_000;
const KILLS: u32 = 3;
const IDLE: usize = 8;

/// All work, in the order in which it is done.
const ALL: [Work; 7] =
    [Work::Alone, Work::Apart, Work::Together, Work::Queue, Work::Killed, Work::Many, Work::Idle];

pub(crate) fn bench(flags: &Bench) -> Done {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let arguments = ["node", "--new-cluster", "--config"].map(str::to_owned).to_vec();
    let launch = Launch { program, arguments };
    let time = Duration::from_secs(flags.seconds);
    let raw = round_trip(time / 3).map_err(Failure::new)?;
    let mut printer = Printer { raw: raw.percentile(50.0), json: flags.json, results: Vec::new() };
    printer.begin(&raw)?;
    // One thread for the clients, so that they wake each other cheaply; another while somebody is killed.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    let wires = match flags.wire {
        None => vec![Wire::Tls, Wire::Plain],
        Some(BenchWire::Tls) => vec![Wire::Tls],
        Some(BenchWire::Plain) => vec![Wire::Plain],
    };
    for wire in wires {
        for chosen in ALL {
            if !flags.work.is_empty() && !flags.work.contains(&chosen) {
                continue;
            }
            let (launch, nodes) = (launch.clone(), flags.nodes as usize);
            let task = runtime.spawn(async move { done(&launch, nodes, wire, chosen, time).await });
            let done = runtime.block_on(task).map_err(Failure::new)?.map_err(Failure::new)?;
            printer.result(wire, chosen, &done)?;
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
    chosen: Work,
    time: Duration,
) -> Result<Came, Trouble> {
    let nodes = if chosen == Work::Idle { IDLE } else { nodes };
    let cluster = Cluster::start(launch, nodes, wire).await?;
    let measured = match chosen {
        Work::Alone => work::alone(&cluster, time).await?,
        Work::Apart => work::apart(&cluster, APART, time).await?,
        Work::Together => work::together(&cluster, TOGETHER, time).await?,
        Work::Queue => work::queue(&cluster, QUEUE).await?,
        Work::Killed => work::killed(&cluster, KILLS).await?,
        Work::Many => return work::many(&cluster, MANY).await.map(Came::Many),
        Work::Idle => {
            return Ok(Came::Idle(
                work::nothing(&cluster, time.max(Duration::from_secs(10))).await,
            ));
        }
    };
    Ok(Came::Measured(Box::new(measured)))
}

const fn word(wire: Wire) -> &'static str {
    match wire {
        Wire::Tls => "tls",
        Wire::Plain => "plain",
    }
}

/// Prints each result as it comes, or all of them as JSON in the end.
struct Printer {
    /// What a message and its answer take, in microseconds.
    raw: f64,
    json: bool,
    results: Vec<Value>,
}

impl Printer {
    fn begin(&self, raw: &Latency) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        let (half, most) = (raw.percentile(50.0), raw.percentile(99.0));
        writeln!(out, "a message and its answer on loopback: {half:.1} us, 99 %: {most:.1} us")?;
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

    fn result(&mut self, wire: Wire, chosen: Work, came: &Came) -> io::Result<()> {
        let work = format!("{chosen:?}").to_lowercase();
        let (line, value) = match came {
            Came::Measured(measured) => (self.line(measured), self.value(measured)),
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
            value["wire"] = json!(word(wire));
            self.results.push(value);
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        writeln!(out, "{:<5}  {work:<8}  {line}", word(wire))?;
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
            half / self.raw,
            measured.processor_us
        )
    }

    fn value(&self, measured: &Measured) -> Value {
        json!({
            "seconds": measured.seconds,
            "cycles": measured.cycles,
            "cycles_per_second": measured.rate(),
            "hand_offs": measured.hand_offs,
            "hand_offs_per_second": measured.hand_off_rate(),
            "latency": measured.latency,
            "round_trips": measured.latency.percentile(50.0) / self.raw,
            "processor_us": measured.processor_us,
            "messages": measured.messages,
        })
    }

    fn end(&self, nodes: u32) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        let all = json!({ "nodes": nodes, "round_trip_us": self.raw, "results": self.results });
        serde_json::to_writer(&mut out, &all)?;
        writeln!(out)
    }
}
