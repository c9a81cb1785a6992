//! Short runs of each installed service. With QUORATE_PEERS=required, etcd and Redis must be installed.

#![expect(clippy::print_stderr, reason = "what was not run is said")]

use std::time::Duration;

use quorate_bench::peers::{self, Absent, Peer, PeerRun};
use quorate_bench::{BenchConfig, Storage, Task};

const TASKS: [Task; 5] = [Task::Alone, Task::Apart, Task::Together, Task::Queue, Task::Killed];

/// Runs a service briefly; returns `None` if it is not installed.
async fn run_peer(peer: Peer) -> Option<PeerRun> {
    let required = std::env::var("QUORATE_PEERS").is_ok_and(|value| value == "required");
    let config = BenchConfig {
        apart: 3,
        together: 3,
        queue: 12,
        kills: 1,
        warm_up: Duration::ZERO,
        ..BenchConfig::new(Duration::from_millis(200))
    };
    match peers::run(peer, Storage::Memory, &TASKS, &config, |_| {}).await.outcome {
        Ok(run) => Some(run),
        Err(Absent::Missing(what)) if required && peer != Peer::Zookeeper => {
            panic!("{} is required: {what}", peer.name())
        }
        Err(Absent::Missing(what)) => {
            eprintln!("{} was not run: {what}", peer.name());
            None
        }
        Err(Absent::Failed(why)) => panic!("{} did not start: {why}", peer.name()),
    }
}

/// Every task succeeds, and the lock changes hands in each task that requires it.
async fn works(peer: Peer) {
    let Some(run) = run_peer(peer).await else { return };
    assert!(run.version.contains(char::is_numeric), "{}", run.version);
    assert_eq!(run.results.iter().map(|(task, _)| *task).collect::<Vec<_>>(), TASKS);
    for (task, result) in run.results {
        let done = result.unwrap_or_else(|error| panic!("{}: {error}", task.name()));
        match task {
            Task::Queue => assert_eq!((done.cycles, done.hand_offs), (12, 12)),
            Task::Killed => {
                // The last contact of the holder was at most a third of a second, and a little, before it was killed.
                assert_eq!(done.latency.count(), 1);
                assert!(done.latency.longest() > 500_000.0, "{} us", done.latency.longest());
            }
            Task::Together => assert!(done.hand_offs > 0 && done.hand_offs <= done.cycles),
            _ => assert!(done.cycles > 0 && done.latency.count() == done.cycles),
        }
        assert!(done.processor_us > 0.0, "{}: servers use the processor", task.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn etcd_gives_locks() {
    works(Peer::Etcd).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn zookeeper_gives_locks() {
    works(Peer::Zookeeper).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn redis_gives_locks() {
    works(Peer::Redis).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn redlock_gives_locks() {
    works(Peer::Redlock).await;
}
