//! Measures how fast the simulator delivers messages, compared with two bare loops in the same run.
//!
//! `cargo bench -p quorate-sim` prints deliveries per second on one thread for Ricart-Agrawala, with all processes
//! requesting at the same time and uniform delays of 1 to 1,000 ticks. `--quick` does a little of everything, to check
//! that it works. `--large` adds n = 4,096.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod bare_loops;

use bare_loops::Workload;
use quorate_algorithms::mutex::RicartAgrawala;
use quorate_core::{Message, Process, ProcessId, Span};
use quorate_sim::accounting::Accounting;
use quorate_sim::monitor::{Me2, Me3};
use quorate_sim::network::LinkModel;
use quorate_sim::observer::Observer;
use quorate_sim::plan::Plan;
use quorate_sim::{
    Delay, History, Limits, MutexMonitors, MutexUsers, MutexWatch, Timing, World, WorldModel,
};

const SECTION: u64 = 1000;
const SEED: u64 = 7;

type Messages = <RicartAgrawala as Process>::Message;

fn main() {
    let has_flag = |flag: &str| std::env::args().any(|argument| argument == flag);
    let quick = has_flag("--quick");
    let seconds = if quick { 0.02 } else { 2.0 };
    println!("Ricart-Agrawala, everyone asks once, million deliveries per second on one thread");
    println!(
        "(a queued message takes {} bytes)\n",
        World::<RicartAgrawala, MutexUsers, ()>::bytes_per_event()
    );
    let names = Rates::NAMES.map(|name| format!("{name:>12}")).join("");
    println!("{:>6}{names}   off/wheel  on/wheel", "n");
    let sizes: &[usize] = if quick { &[64, 256] } else { &[64, 256, 1024] };
    for &n in sizes {
        Rates::measure(n, seconds).print(n);
    }
    if has_flag("--large") {
        Rates::measure(4096, seconds).print(4096);
    }
    println!(
        "\nheap, wheel: bare loops; off: no monitors; on: ME1, ME2 and accounting; ME3: with vector clocks as"
    );
    println!(
        "well; fifo: as on, links keep order; ms: as on, delays of 0.5 to 1.5 ms at a nanosecond's grain"
    );
}

struct Rates([f64; 7]);

impl Rates {
    const NAMES: [&str; 7] = ["heap", "wheel", "off", "on", "ME3", "fifo", "ms"];

    fn measure(n: usize, seconds: f64) -> Self {
        let ticks = |n| Workload { n, low: 1, high: 1000, section: SECTION, seed: SEED };
        let (even, fine) = ((1, 1000), (500_000, 1_500_000));
        let mut runs: [Box<dyn Fn() -> u64>; 7] = [
            Box::new(move || bare_loops::heap(ticks(n)).deliveries),
            Box::new(move || bare_loops::wheel(ticks(n)).deliveries),
            Box::new(move || deliver(n, even, false, ())),
            Box::new(move || deliver(n, even, false, watch(n, false))),
            Box::new(move || deliver(n, even, false, watch(n, true))),
            Box::new(move || deliver(n, even, true, watch(n, false))),
            Box::new(move || deliver(n, fine, false, watch(n, false))),
        ];
        // Measure in turns, so that a busy machine affects all runs
        // alike. The best turn counts, because it was disturbed least.
        let mut best = [0f64; 7];
        for _ in 0..3 {
            for (place, (rate, run)) in best.iter_mut().zip(&mut runs).enumerate() {
                // A vector clock for each of this many requests would not fit into memory.
                let too_large = n > 1024 && Self::NAMES[place] == "ME3";
                if !too_large {
                    *rate = rate.max(per_second(run, n, seconds / 3.0));
                }
            }
        }
        Self(best)
    }

    fn print(&self, n: usize) {
        let rates: String = self.0.iter().map(|rate| format!("{:>12.2}", rate / 1e6)).collect();
        let [heap, wheel, off, on, ..] = self.0;
        let better = heap.max(wheel);
        println!("{n:>6}{rates}   {:>8.0}%  {:>7.0}%", 100.0 * off / better, 100.0 * on / better);
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn per_second(run: &mut dyn Fn() -> u64, n: usize, seconds: f64) -> f64 {
    let expected = 2 * n as u64 * (n as u64 - 1);
    let start = std::time::Instant::now();
    let mut deliveries = 0;
    while deliveries == 0 || start.elapsed().as_secs_f64() < seconds {
        let delivered = run();
        assert_eq!(delivered, expected, "every loop must do the same work");
        deliveries += delivered;
    }
    deliveries as f64 / start.elapsed().as_secs_f64()
}

fn watch(n: usize, order: bool) -> MutexWatch<'static> {
    let accounting = Accounting::new(n, quorate_core::Layer::Mutex, Messages::KINDS);
    let me3 = order.then(|| Me3::new(n));
    let monitors = MutexMonitors::new(Me2::new(n, None), me3);
    let mut watch = MutexWatch::new(accounting, monitors, None);
    watch.history = History::new(0);
    watch
}

fn deliver<O: Observer<RicartAgrawala>>(
    n: usize,
    (low, high): (u64, u64),
    fifo: bool,
    observer: O,
) -> u64 {
    let delay = Delay::Uniform(Span(low), Span(high));
    let model = WorldModel {
        n,
        seed: SEED,
        links: LinkModel {
            delay,
            link_delay: Vec::new(),
            arrivals: Vec::new(),
            timing: Timing::Synchronous,
            fifo,
        },
        handling: Span::ZERO,
        oracle: None,
        clocks: quorate_sim::Clocks::default(),
        plan: Plan::default(),
        limits: Limits::default(),
    };
    let first = ProcessId::all(n).map(|process| (process, Span::ZERO)).collect();
    let users = MutexUsers::new(n, first, 1, Span(SECTION), Span::ZERO);
    let mut world = World::new(model, move |id| RicartAgrawala::new(n, id), users, observer);
    world.run();
    world.deliveries()
}
