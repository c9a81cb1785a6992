//! Speed of exploration, compared with stateright on the same models in the same run.
//!
//! `cargo bench -p quorate-check` prints distinct states per second. `--quick` uses smaller worlds, as a smoke test.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

// `quorate bench --against stateright` gives the same two files to stateright.
#[path = "../../../quorate-bench/peers/stateright/in_stateright.rs"]
mod in_stateright;
#[path = "../../../quorate-bench/peers/stateright/lamport.rs"]
mod lamport;
mod plain;

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::ControlFlow;
use std::time::Instant;

use in_stateright::{StaterightModel, WithFingerprints};
use lamport::LamportMutex;
use plain::Plain;
use quorate_algorithms::mutex::RicartAgrawala;
use quorate_check::{
    Bounds, End, Model, MutexUsers, PackedModel, SafetyExploration, World, explore, explore_safety,
};
use quorate_core::ProcessId;
use stateright::Checker;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (clock_most, known) = if quick { (4, None) } else { (6, Some(724_274)) };
    println!("distinct states per second; stateright 0.31 beside quorate, same model, same run\n");
    println!(
        "{:<34}{:>10}{:>14}{:>14}{:>14}{:>8}{:>8}{:>8}",
        "model", "states", "stateright", "quorate", "2 threads", "ratio", "of CPU", "2nd"
    );
    let lamport = || LamportMutex { clock_most };
    let name = format!("LamportMutex, N = 3, clock <= {clock_most}");
    compare(&name, known, || StaterightModel(lamport()), lamport);
    let n = if quick { 3 } else { 4 };
    // stateright gets the processes and messages as they are, or the compact states that we search ourselves.
    compare(&format!("ricart-agrawala, n = {n}"), None, || plain(n), || world(n, false));
    let compact = || WithFingerprints(world(n, false));
    compare("  the same, our states in both", None, compact, || world(n, false));
    let full = run_ours(&world(n, false), 1);
    let reduced = run_ours(&world(n, true), 1);
    println!(
        "\nwith reductions ricart-agrawala, n = {n}, has {} states instead of {}, and takes {:.2} s instead of {:.2} s",
        reduced.states, full.states, reduced.seconds, full.seconds
    );
    println!("memory: {} bytes a state, the queue included", full.bytes / full.states.max(1));
    println!(
        "\n{:<34}{:>10}{:>14}{:>14}{:>8}{:>8}{:>8}",
        "safety only", "states", "quorate", "2 threads", "2nd", "of CPU", "bytes"
    );
    measure_safety(&format!("ricart-agrawala, n = {n}"), || world(n, false));
    measure_safety("  the same, reduced", || world(n, true));
}

/// Prints the speed of a search for safety on one thread and on two. "of CPU" is the CPU time on one thread as a share of that
/// on two: below 1 threads wait for each other's caches and locks.
fn measure_safety(name: &str, world: impl Fn() -> World<'static>) {
    let turn = || [run_safety(&world(), 1), run_safety(&world(), 2)];
    let best = best_of_three(turn);
    assert_eq!(best[0].states, best[1].states, "{name}: the number of threads matters");
    let [one, two] = best.each_ref().map(|turn| turn.states as f64 / turn.seconds);
    println!(
        "{name:<34}{:>10}{one:>14.0}{two:>14.0}{:>8.2}{:>8.2}{:>8.1}",
        best[0].states,
        two / one,
        best[0].processor / best[1].processor,
        best[1].bytes as f64 / best[1].states as f64
    );
}

/// A world in which each process requests entry once.
fn world(n: usize, partial_order_reduction: bool) -> World<'static> {
    let make = move |id| RicartAgrawala::new(n, id);
    let mut world = World::new(n, make, MutexUsers { requests: vec![1; n] });
    world.partial_order_reduction = partial_order_reduction;
    world
}

/// The same model for stateright.
fn plain(n: usize) -> Plain<RicartAgrawala> {
    let processes = ProcessId::all(n).map(|id| RicartAgrawala::new(n, id)).collect();
    Plain { processes, users: MutexUsers { requests: vec![1; n] } }
}

struct Measured {
    states: u64,
    seconds: f64,
    /// CPU time in seconds.
    processor: f64,
    bytes: u64,
}

fn compare<S, M: Model>(
    name: &str,
    known: Option<u64>,
    theirs: impl Fn() -> S,
    ours: impl Fn() -> M,
) where
    S: stateright::Model + Send + Sync + 'static,
    S::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    S::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let best =
        best_of_three(|| [run_stateright(theirs()), run_ours(&ours(), 1), run_ours(&ours(), 2)]);
    let states = best[0].states;
    assert!(best.iter().all(|turn| turn.states == states), "{name}: other states");
    if let Some(known) = known {
        assert_eq!(states, known, "{name}: TLC counts {known}");
    }
    let [theirs, one, two] = best.each_ref().map(|turn| states as f64 / turn.seconds);
    println!(
        "{name:<34}{states:>10}{theirs:>14.0}{one:>14.0}{two:>14.0}{:>8.2}{:>8.2}{:>8.2}",
        one / theirs,
        best[0].processor / best[1].processor,
        two / one
    );
}

/// Alternates between explorers. The best run of each counts, because it was disturbed least.
fn best_of_three<const N: usize>(turn: impl Fn() -> [Measured; N]) -> [Measured; N] {
    let mut best = turn();
    for _ in 0..2 {
        for (best, turn) in best.iter_mut().zip(turn()) {
            best.seconds = best.seconds.min(turn.seconds);
            best.processor = best.processor.min(turn.processor);
        }
    }
    best
}

fn run_ours<M: Model>(model: &M, threads: usize) -> Measured {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let bounds = Bounds { memory: u64::MAX, depth: u32::MAX };
    let explore = || pool.install(|| explore(model, bounds, |_| ControlFlow::Continue(())));
    let (explored, seconds, processor) = timed(explore);
    assert!(matches!(explored.end, End::Exhausted), "{:?}", explored.end);
    let (states, bytes) = (explored.progress.states, explored.bytes_most);
    Measured { states, seconds, processor, bytes }
}

fn run_safety<M: PackedModel>(model: &M, threads: usize) -> Measured {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let bounds = Bounds { memory: u64::MAX, depth: u32::MAX };
    let explore = || pool.install(|| explore_safety(model, bounds, |_| ControlFlow::Continue(())));
    let (SafetyExploration { exploration, .. }, seconds, processor) = timed(explore);
    assert!(matches!(exploration.end, End::Exhausted), "{:?}", exploration.end);
    let (states, bytes) = (exploration.progress.states, exploration.bytes_most);
    Measured { states, seconds, processor, bytes }
}

fn run_stateright<S>(model: S) -> Measured
where
    S: stateright::Model + Send + Sync + 'static,
    S::State: Clone + Debug + Hash + PartialEq + Send + Sync,
    S::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let check = || model.checker().threads(1).spawn_bfs().join();
    let (checked, seconds, processor) = timed(check);
    checked.assert_properties();
    Measured { states: checked.unique_state_count() as u64, seconds, processor, bytes: 0 }
}

/// Result, elapsed seconds, and CPU seconds, which a busy machine disturbs less.
#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (start, processor) = (Instant::now(), processor_seconds());
    let done = work();
    (done, start.elapsed().as_secs_f64(), processor_seconds() - processor)
}

/// CPU seconds of this process so far; NaN where the system does not report them.
fn processor_seconds() -> f64 {
    let ticks = |text: String| {
        let fields = text.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
        let ticks: Result<Vec<u32>, _> = fields.map(str::parse).collect();
        Some(f64::from(ticks.ok()?.iter().sum::<u32>()) / 100.0)
    };
    std::fs::read_to_string("/proc/self/stat").ok().and_then(ticks).unwrap_or(f64::NAN)
}
