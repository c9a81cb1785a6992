//! Memory use of a world, measured by a counting allocator.

#![expect(clippy::print_stdout, reason = "what was measured is worth reading")]

use std::alloc::System;

use quorate_algorithms::mutex::RicartAgrawala;
use quorate_core::{Message, Process, ProcessId, Span};
use quorate_sim::accounting::Accounting;
use quorate_sim::monitor::Me2;
use quorate_sim::network::LinkModel;
use quorate_sim::plan::Plan;
use quorate_sim::{
    Delay, Ending, History, Limits, MutexMonitors, MutexUsers, MutexWatch, OracleModel, Timing,
    World, WorldModel,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

type Ricart = World<RicartAgrawala, MutexUsers, MutexWatch<'static>>;

fn world(n: usize, requesters: usize, repeat: u32) -> Ricart {
    let delay = Delay::Uniform(Span(1), Span(1000));
    let model = WorldModel {
        n,
        seed: 1,
        links: LinkModel {
            delay: delay.clone(),
            link_delay: Vec::new(),
            arrivals: Vec::new(),
            timing: Timing::Synchronous,
            fifo: true,
        },
        handling: Span::ZERO,
        oracle: Some(OracleModel { delay, pairs: Vec::new() }),
        clocks: quorate_sim::Clocks::default(),
        plan: Plan::default(),
        limits: Limits::default(),
    };
    let first = ProcessId::all(requesters).map(|process| (process, Span::ZERO)).collect();
    let users = MutexUsers::new(n, first, repeat, Span(1000), Span::ZERO);
    let accounting =
        Accounting::new(n, quorate_core::Layer::Mutex, <RicartAgrawala as Process>::Message::KINDS);
    let monitors = MutexMonitors::new(Me2::new(n, None), None);
    let mut watch = MutexWatch::new(accounting, monitors, None);
    watch.history = History::new(0);
    World::new(model, move |id| RicartAgrawala::new(n, id), users, watch)
}

/// A single test, because the allocator counts for the whole program and nothing else may run at the same time.
#[test]
fn idle_processes_are_small_and_deliveries_allocate_nothing() {
    let region = Region::new(COUNTING);
    let mut idle = world(100_000, 0, 1);
    assert_eq!(idle.run(), Ending::Quiescent);
    let used = region.change();
    let megabytes = (used.bytes_allocated - used.bytes_deallocated) / 1_000_000;
    println!("100,000 idle processes take {megabytes} MB");
    assert!(megabytes < 200, "{megabytes} MB");
    drop(idle);

    let allocations = |repeat| {
        let mut busy = world(32, 32, repeat);
        let region = Region::new(COUNTING);
        busy.run();
        let change = region.change();
        (change.allocations + change.reallocations, busy.deliveries())
    };
    let ((few, short), (more, long)) = (allocations(20), allocations(200));
    let (extra, deliveries) = (more.saturating_sub(few), long - short);
    println!("{extra} more allocations for {deliveries} more deliveries");
    assert_eq!(deliveries, 180 * 32 * 2 * 31);
    // Buffers may still grow occasionally when many items fall into one slot. Nothing grows with each message.
    assert!(
        extra < deliveries as usize / 1000,
        "{extra} more allocations for {deliveries} more deliveries"
    );
}
