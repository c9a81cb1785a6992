//! How fast states are explored, beside stateright on the same models in the same run.
//!
//! `cargo bench -p quorate-check` prints distinct states per second. `--quick` takes smaller worlds, to see that it works.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod in_stateright;
mod lamport;

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use in_stateright::InStateright;
use lamport::LamportMutex;
use quorate_algorithms::mutex::RicartAgrawala;
use quorate_check::{Bounds, Budget, End, Model, MutexUsers, World, explore};
use quorate_core::ProcessId;
use stateright::{Checker, Model as _};

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (clock_most, known) = if quick { (4, None) } else { (6, Some(724_274)) };
    println!("distinct states per second; stateright 0.31 beside quorate, same model, same run\n");
    println!(
        "{:<34}{:>10}{:>14}{:>14}{:>14}{:>8}{:>8}",
        "model", "states", "stateright x1", "quorate x1", "quorate x2", "x1", "x2/x1"
    );
    compare(&format!("LamportMutex, N = 3, clock <= {clock_most}"), known, || LamportMutex {
        clock_most,
    });
    let n = if quick { 3 } else { 4 };
    compare(&format!("ricart-agrawala, n = {n}"), None, || world(n, false));
    let full = run_ours(&world(n, false), 1);
    let reduced = run_ours(&world(n, true), 1);
    println!(
        "\nwith reductions ricart-agrawala, n = {n}, has {} states instead of {}, and takes {:.2} s instead of {:.2} s",
        reduced.states, full.states, reduced.seconds, full.seconds
    );
    println!("memory: {} bytes a state, the queue included", full.bytes / full.states.max(1));
}

type RicartAgrawalaWorld = World<RicartAgrawala, MutexUsers, fn(ProcessId) -> RicartAgrawala>;

/// Everybody asks once.
fn world(n: usize, reduce: bool) -> RicartAgrawalaWorld {
    let make: [fn(ProcessId) -> RicartAgrawala; 2] =
        [|id| RicartAgrawala::new(3, id), |id| RicartAgrawala::new(4, id)];
    World {
        n,
        make: make[n - 3],
        users: MutexUsers { requests: vec![1; n] },
        budget: Budget::default(),
        fifo: true,
        reduce,
        restless: false,
        immune: 0,
        strayed: AtomicBool::new(false),
        process: std::marker::PhantomData,
    }
}

struct Measured {
    states: u64,
    seconds: f64,
    bytes: u64,
}

fn compare<M: Model + Send + Sync + 'static>(name: &str, known: Option<u64>, model: impl Fn() -> M)
where
    M::State: 'static,
    M::Action: 'static,
{
    // Turn and turn about, and the best turn counts: the least disturbed.
    let mut best = [f64::INFINITY; 3];
    let mut states = [0; 3];
    for _ in 0..3 {
        let turns = [run_stateright(model()), run_ours(&model(), 1), run_ours(&model(), 2)];
        for (place, turn) in turns.iter().enumerate() {
            best[place] = best[place].min(turn.seconds);
            states[place] = turn.states;
        }
    }
    assert!(states.iter().all(|count| *count == states[0]), "{name}: {states:?}");
    if let Some(known) = known {
        assert_eq!(states[0], known, "{name}: TLC counts {known}");
    }
    let [theirs, one, two] = best.map(|seconds| states[0] as f64 / seconds);
    println!(
        "{name:<34}{:>10}{theirs:>14.0}{one:>14.0}{two:>14.0}{:>8.2}{:>8.2}",
        states[0],
        one / theirs,
        two / one
    );
}

fn run_ours<M: Model>(model: &M, threads: usize) -> Measured {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let bounds = Bounds { memory: u64::MAX, depth: u32::MAX };
    let (explored, seconds) =
        timed(|| pool.install(|| explore(model, bounds, |_| ControlFlow::Continue(()))));
    assert!(matches!(explored.end, End::Exhausted), "{:?}", explored.end);
    Measured { states: explored.progress.states, seconds, bytes: explored.bytes_most }
}

fn run_stateright<M: Model + Send + Sync + 'static>(model: M) -> Measured
where
    M::State: 'static,
    M::Action: 'static,
{
    let (checked, seconds) = timed(|| InStateright(model).checker().threads(1).spawn_bfs().join());
    checked.assert_properties();
    Measured { states: checked.unique_state_count() as u64, seconds, bytes: 0 }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed().as_secs_f64())
}
