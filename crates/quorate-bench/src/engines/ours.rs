//! Our simulator and model checker, on one thread and without monitors, because the others have none.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use quorate_algorithms::mutex::RicartAgrawala;
use quorate_check::{Bounds, End, explore};
use quorate_core::{ProcessId, Span};
use quorate_sim::network::LinkModel;
use quorate_sim::plan::Plan;
use quorate_sim::{Clocks, Delay, Limits, MutexUsers, Timing, World, WorldModel};

use super::EngineWorkload;
use super::lamport::LamportMutex;
use super::ring::{self, NoUser, Ring};

/// Mean number of deliveries or states per second over repeated runs, as the programs of the others print it.
pub(super) fn rate(work: EngineWorkload, time: Duration) -> f64 {
    let (start, mut amounts) = (Instant::now(), 0);
    let (mut seconds, least) = (0.0, time.as_secs_f64());
    while amounts == 0 || start.elapsed().as_secs_f64() < least {
        let (amount, took) = run(work);
        assert_eq!(amount, work.amount(), "{}: different amount of work", work.title());
        amounts += amount;
        seconds += took;
    }
    amounts as f64 / seconds
}

/// Executes one run. Returns its deliveries or states, and its duration in seconds.
fn run(work: EngineWorkload) -> (u64, f64) {
    let start = Instant::now();
    let amount = match work {
        EngineWorkload::Ring { hops } => {
            let make = move |id| Ring::new(id, hops);
            let mut world = World::new(model(ring::PROCESSES), make, NoUser, ());
            world.run();
            world.deliveries()
        }
        EngineWorkload::RicartAgrawala(n) => {
            let first = ProcessId::all(n).map(|process| (process, Span::ZERO)).collect();
            let users = MutexUsers::new(n, first, 1, Span(1_000), Span::ZERO);
            let make = move |id| RicartAgrawala::new(n, id);
            let mut world = World::new(model(n), make, users, ());
            world.run();
            world.deliveries()
        }
        EngineWorkload::Lamport { .. } => states(work),
    };
    (amount, start.elapsed().as_secs_f64())
}

/// Number of states, counted by full exploration.
pub(super) fn states(work: EngineWorkload) -> u64 {
    let EngineWorkload::Lamport { clock_most } = work else { return 0 };
    let model = LamportMutex { clock_most };
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    let bounds = Bounds { memory: u64::MAX, depth: u32::MAX };
    let explored = pool.install(|| explore(&model, bounds, |_| ControlFlow::Continue(())));
    assert!(matches!(explored.end, End::Exhausted), "no limit stops the exploration");
    explored.progress.states
}

/// Lossless links with uniform delays from 1 to 1,000 ticks.
fn model(n: usize) -> WorldModel {
    let delay = Delay::Uniform(Span(1), Span(1_000));
    WorldModel {
        n,
        seed: 7,
        links: LinkModel {
            delay,
            link_delay: Vec::new(),
            arrivals: Vec::new(),
            timing: Timing::Synchronous,
            fifo: false,
        },
        handling: Span::ZERO,
        oracle: None,
        clocks: Clocks::default(),
        plan: Plan::default(),
        limits: Limits::default(),
    }
}
