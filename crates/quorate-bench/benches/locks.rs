//! The same measurements as `quorate bench` makes of quorate itself, without building all of quorate.

#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::path::Path;
use std::time::Duration;

use quorate_bench::{Cluster, Launch, Trouble, Wire, round_trip, work};
use quorate_service::{NodeConfig, launch};
use tokio::runtime::Builder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, file] = arguments.as_slice()
        && word == "node"
    {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(async {
            let (_node, _tls) = launch(&NodeConfig::read(Path::new(file))?, true).await?;
            std::future::pending().await
        });
    }
    let time = Duration::from_millis(
        std::env::var("BENCH_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(200),
    );
    let raw = round_trip(time)?;
    println!(
        "raw round trip: {:.1} us, 99 %: {:.1} us",
        raw.percentile(50.0),
        raw.percentile(99.0)
    );
    let node = Launch { program: std::env::current_exe()?, arguments: vec!["node".to_owned()] };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for wire in [Wire::Plain, Wire::Tls] {
            let cluster = Cluster::start(&node, 3, wire).await?;
            let all = [
                work::alone(&cluster, time).await?,
                work::apart(&cluster, 16, time).await?,
                work::together(&cluster, 8, time).await?,
                work::queue(&cluster, 1000).await?,
            ];
            for done in all {
                println!(
                    "{wire:?} {:<9} {:>7.0} cycles/s {:>7.0} hand-offs/s  p50 {:>6.1} us ({:.1} round trips)  p99 {:>7.1} us  cpu {:.1} us",
                    done.work, done.rate(), done.hand_off_rate(), done.latency.percentile(50.0),
                    done.latency.percentile(50.0) / raw.percentile(50.0), done.latency.percentile(99.0), done.processor_us
                );
            }
        }
        let cluster = Cluster::start(&node, 3, Wire::Plain).await?;
        println!("{:?}", work::many(&cluster, 100_000).await?);
        drop(cluster);
        let cluster = Cluster::start(&node, 8, Wire::Tls).await?;
        println!("idle {:.2} %", 100.0 * work::nothing(&cluster, Duration::from_secs(10)).await);
        Ok::<_, Trouble>(())
    })?;
    Ok(())
}
