//! Heavy load and misbehaving clients, while a bystander takes and releases a lock of its own.

mod bystander;
mod crowd;
mod hostile;
mod report;

use std::cell::RefCell;
use std::io;
use std::path::Path;

use crate::clients::ClientKinds;
use crate::fleet::{Fleet, FleetConfig};
use crate::hosts::Hosts;
use crate::wait::{self, pause};
use crate::{keep, keep_unless_interrupted};
use bystander::Bystander;
use hostile::Captured;

/// Size of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StressLoad {
    pub(crate) waiters: usize,
    pub(crate) locks: usize,
    pub(crate) strangers: usize,
}

/// Result of one phase.
#[derive(Clone, Debug)]
pub(crate) struct StressPhase {
    pub(crate) name: &'static str,
    /// Duration of the phase.
    pub(crate) millis: u64,
    /// Durations of the bystander's turns, in microseconds, in ascending order.
    pub(crate) turns: Vec<u64>,
    /// Maximum resident memory of a node, in bytes.
    pub(crate) memory: u64,
    /// Violations found in the phase.
    pub(crate) broken: Vec<String>,
}

/// A phase: its name, and its work, which returns violations.
type PhaseStep<'a> = (&'static str, &'a mut dyn FnMut(&Fleet) -> Vec<String>);

/// Limit of a node's resident memory: a fixed part, which includes answers that clients leave unread, and a part for each
/// held lock, for its name, its ballot and its share of the session.
const MEMORY_MOST: u64 = 192 << 20;
const MEMORY_OF_A_LOCK: u64 = 4 << 10;

/// Runs all phases and prints a report. Returns whether there are no violations.
pub(crate) fn run(load: StressLoad, json: bool) -> io::Result<bool> {
    let folder = tempfile::Builder::new().prefix("quorate-torture-").tempdir()?;
    let phases = match phases(load, folder.path(), |line| eprintln!("{line}")) {
        Ok(phases) => phases,
        Err(error) => {
            keep_unless_interrupted(folder, &error);
            return Err(error);
        }
    };
    let sound = phases.iter().all(|phase| phase.broken.is_empty());
    print!("{}", if json { report::json(load, &phases) } else { report::text(load, &phases) });
    if !sound {
        keep(folder);
    }
    Ok(sound)
}

fn phases(
    load: StressLoad,
    folder: &Path,
    mut progress: impl FnMut(&str),
) -> io::Result<Vec<StressPhase>> {
    // One address of the cluster is ours: the other nodes send to it what an attacker could capture.
    let captured = Captured::listen()?;
    let absent = Some(captured.address().to_owned());
    let (kinds, holders) = (ClientKinds::default(), false);
    // The default terms of a node.
    let (nodes, workers, ttl_most_ms, answer_ms) = (3, 0, 60_000, 250);
    let from = None;
    let config =
        FleetConfig { nodes, workers, kinds, holders, ttl_most_ms, answer_ms, absent, from };
    let mut fleet = Fleet::start(Hosts::Loopback, folder, &config)?;
    let begun = quorate_client::Moment::now().0;
    while !fleet.absent().is_empty() {
        if quorate_client::Moment::now().0 > begun + 20_000_000 {
            return Err(io::Error::other(format!(
                "the cluster did not start: {}",
                fleet.exits().join("; ")
            )));
        }
        wait::check()?;
        pause(50);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let clients = fleet.clients().to_vec();
    let bystander = Bystander::start(&clients[0]);
    // Wait until the nodes have noticed that one of them is absent.
    pause(2_500);
    let most = MEMORY_MOST + load.locks as u64 * MEMORY_OF_A_LOCK;
    let mut phases = Vec::new();
    let crowd = RefCell::new(Vec::new());
    let steps: [PhaseStep<'_>; 8] = [
        ("nobody else", &mut |_| {
            pause(1_500);
            Vec::new()
        }),
        ("many wait for one lock", &mut |_| {
            unless_interrupted(&runtime, crowd::wait_for_one(&clients, load.waiters))
        }),
        ("many locks are taken", &mut |_| {
            let (guards, broken) =
                unless_interrupted(&runtime, crowd::take_many(&clients, load.locks));
            *crowd.borrow_mut() = guards;
            broken
        }),
        ("a client asks for lists and never reads", &mut |_| {
            unless_interrupted(&runtime, hostile::never_read(&clients[0]))
        }),
        ("garbage to the addresses for clients", &mut |_| {
            unless_interrupted(&runtime, hostile::at_clients(&clients, load.strangers))
        }),
        ("garbage to the addresses for nodes", &mut |fleet| {
            let peers = &fleet.peers()[..fleet.node_count()];
            unless_interrupted(
                &runtime,
                hostile::at_peers(peers, &captured.bytes(), load.strangers),
            )
        }),
        ("a client that guesses keys of sessions", &mut |_| {
            unless_interrupted(&runtime, hostile::guess(&clients, 10 * load.strangers))
        }),
        ("many locks are freed", &mut |_| {
            unless_interrupted(&runtime, crowd::free_all(&clients, crowd.take()))
        }),
    ];
    for (name, step) in steps {
        wait::check()?;
        let memory = crate::memory::MemorySampler::start(fleet.node_ids());
        let from = quorate_client::Moment::now().0;
        bystander.next_phase();
        let mut broken = step(&fleet);
        let millis = (quorate_client::Moment::now().0 - from) / 1_000;
        let memory = memory.finish();
        let (turns, failures) = bystander.next_phase();
        broken.extend(failures);
        broken.extend(fleet.exits());
        if memory > most {
            broken.push(format!(
                "a node had {} MB resident; at most {} are allowed",
                memory >> 20,
                most >> 20
            ));
        }
        progress(&format!("{name}: {millis} ms"));
        phases.push(StressPhase { name, millis, turns, memory, broken });
    }
    wait::check()?;
    Ok(phases)
}

/// Runs a part of the run. Returns the default if the run is interrupted.
fn unless_interrupted<T: Default>(
    runtime: &tokio::runtime::Runtime,
    work: impl Future<Output = T>,
) -> T {
    runtime.block_on(async {
        tokio::select! {
            done = work => done,
            () = wait::interrupted() => T::default(),
        }
    })
}
