//! The workloads of `quorate bench` without building all of quorate. They run only briefly, unless BENCH_MS sets the
//! milliseconds of each workload.

#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::path::Path;
use std::time::Duration;

use quorate_bench::comparison::{self, ComparisonPlan};
use quorate_bench::peers::Peer;
use quorate_bench::{
    BenchConfig, BenchError, Launch, QuorateCluster, Task, Wire, round_trip, work,
};
use quorate_service::{Extras, FirstStart, NodeConfig, launch};
use tokio::runtime::Builder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, file] = arguments.as_slice()
        && word == "node"
    {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(async {
            let (_node, _tls) = launch(
                &NodeConfig::read(Path::new(file))?,
                FirstStart::NewCluster,
                Extras::default(),
            )
            .await?;
            std::future::pending().await
        });
    }
    let bench_ms = std::env::var("BENCH_MS").ok().and_then(|bench_ms| bench_ms.parse().ok());
    let time = Duration::from_millis(bench_ms.unwrap_or(100));
    if let Some(named) = arguments.iter().find_map(|word| word.strip_prefix("--against=")) {
        return against(named, time);
    }
    let raw = round_trip(time)?.median();
    println!("a message and its answer: {raw:.1} us");
    let node = node()?;
    // The runtime starts a second thread while a workload blocks to kill a client.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let task = runtime.spawn(async move {
        for wire in [Wire::Plain, Wire::Tls] {
            let cluster = QuorateCluster::start(&node, 3, wire).await?;
            let all = [
                work::alone(&cluster, time).await?,
                work::apart(&cluster, 16, time).await?,
                work::together(&cluster, 8, time).await?,
                work::queue(&cluster, 200, 10 * time).await?,
            ];
            for done in all {
                let (half, most) = (done.latency.percentile(50.0), done.latency.percentile(99.0));
                println!(
                    "{:<5} {:<8} {:>7.0} locks/s  {half:>6.1} us = {:>4.1} round trips, 99 %: {most:>6.1} us, \
                     {:>5.1} us of processor and {:.1} messages each",
                    format!("{wire:?}").to_lowercase(),
                    done.work,
                    done.rate(),
                    half / raw,
                    done.processor_us,
                    done.messages.unwrap_or(0.0)
                );
            }
        }
        let cluster = QuorateCluster::start(&node, 3, Wire::Plain).await?;
        println!("{:?}", work::many(&cluster, if bench_ms.is_some() { 100_000 } else { 1_000 }).await?);
        Ok::<_, BenchError>(())
    });
    Ok(runtime.block_on(task)??)
}

fn node() -> std::io::Result<Launch> {
    Ok(Launch { program: std::env::current_exe()?, arguments: vec!["node".to_owned()] })
}

/// Runs the whole comparison with the named services.
fn against(named: &str, time: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let peers =
        Peer::ALL.into_iter().filter(|peer| named.split(',').any(|name| name == peer.name()));
    let plan = ComparisonPlan {
        launch: node()?,
        nodes: 3,
        wires: vec![Wire::Tls, Wire::Plain],
        tasks: Task::ALL.to_vec(),
        config: BenchConfig::new(time),
        peers: peers.collect(),
    };
    let raw = round_trip(time)?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let task =
        runtime.spawn(async move { comparison::run(&plan, raw, |next| println!("{next}")).await });
    let comparison = runtime.block_on(task)?;
    println!(
        "{}\n{}\n{}",
        comparison.text(),
        comparison.section(Some("performance.svg")),
        comparison.value()
    );
    std::fs::write(std::env::temp_dir().join("performance.svg"), comparison.chart())?;
    Ok(())
}
