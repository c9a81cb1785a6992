//! Mesh and driver in a simulated network. Time, delays and partitions are a function of a seed: the same seed gives the
//! same trace. Nothing here waits for real time.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quorate_algorithms::mutex::RicartAgrawala;
use quorate_core::ProcessId;
use quorate_core::mutex::{Command, Output};
use quorate_net::driver::{DriveOptions, Hosted, drive, host};
use quorate_net::{
    BoxFuture, ClusterId, Config, Connection, Event, Events, Incarnation, Listener, Mesh, Network,
    Security,
};
use turmoil::net::{TcpListener, TcpStream};

const NODES: usize = 3;
const PORT: u16 = 7000;

/// A network of turmoil in place of TCP.
struct Simulated;

struct SimulatedListener(TcpListener);

impl Network for Simulated {
    fn listen<'a>(&'a self, at: &'a str) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            Ok(Box::new(SimulatedListener(TcpListener::bind(at).await?)) as Box<dyn Listener>)
        })
    }

    fn connect<'a>(&'a self, to: &'a str) -> BoxFuture<'a, io::Result<Connection>> {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await?;
            let address = stream.peer_addr()?;
            Ok((Box::new(stream) as Box<dyn quorate_net::Stream>, address))
        })
    }

    /// All nodes run in this process.
    fn is_host_local(&self, _: IpAddr) -> bool {
        true
    }
}

impl Listener for SimulatedListener {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>> {
        Box::pin(async move {
            let (stream, address) = self.0.accept().await?;
            Ok((Box::new(stream) as Box<dyn quorate_net::Stream>, address))
        })
    }

    fn address(&self) -> io::Result<std::net::SocketAddr> {
        self.0.local_addr()
    }
}

/// Log of events with the simulated time.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    fn record(&self, process: ProcessId, event: impl Display) {
        let time = turmoil::sim_elapsed().unwrap_or_default().as_micros();
        self.0.lock().expect("nobody panics").push(format!("{time} {process} {event}"));
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("nobody panics").clone()
    }
}

fn name(node: ProcessId) -> String {
    format!("node{}", node.number())
}

async fn mesh(me: ProcessId, incarnation: u64) -> io::Result<(Mesh, Events)> {
    let peers = ProcessId::all(NODES).map(|peer| (peer, format!("{}:{PORT}", name(peer))));
    let mut config = Config::new(ClusterId(1), me, peers, Security::Plain);
    config.incarnation = Incarnation(incarnation);
    config.seed = u64::from(me.number());
    config.limits.silence = Duration::from_millis(400);
    config.limits.ping = Duration::from_millis(100);
    config.limits.redial_max = Duration::from_millis(200);
    let listener = Simulated.listen(&format!("0.0.0.0:{PORT}")).await?;
    Mesh::start(config, Simulated, listener).map_err(io::Error::other)
}

fn network(seed: u64) -> turmoil::Sim<'static> {
    turmoil::Builder::new()
        .rng_seed(seed)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(20))
        .simulation_duration(Duration::from_secs(120))
        .build()
}

/// Runs the simulation until `done`, injecting each fault at its step (of a millisecond).
fn run(
    mut sim: turmoil::Sim<'static>,
    mut faults: BTreeMap<u32, fn(&mut turmoil::Sim<'static>)>,
    done: impl Fn() -> bool,
) {
    for step in 0..100_000 {
        if let Some(inject) = faults.remove(&step) {
            inject(&mut sim);
        }
        sim.step().expect("no node fails");
        if done() {
            return;
        }
    }
    panic!("it takes too long");
}

/// All nodes send numbers to each other while links break. Returns a trace of the arrivals.
fn numbers(seed: u64, count: u32) -> Vec<String> {
    let (trace, mut sim) = (Trace::default(), network(seed));
    for me in ProcessId::all(NODES) {
        let trace = trace.clone();
        sim.host(name(me), move || {
            let trace = trace.clone();
            async move {
                let (mesh, mut events) = mesh(me, 1).await?;
                let sender = mesh.clone();
                tokio::spawn(async move {
                    for number in 0..count {
                        for peer in ProcessId::all(NODES).filter(|&peer| peer != me) {
                            sender.send(peer, number.to_be_bytes().to_vec()).await.expect("sent");
                        }
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                });
                while let Some(event) = events.next().await {
                    match event {
                        Event::Message { from, payload } => {
                            let number: [u8; 4] = payload[..].try_into().expect("a number");
                            trace.record(me, format_args!("{from} {}", u32::from_be_bytes(number)));
                        }
                        Event::Up { peer, .. } => trace.record(me, format_args!("up {peer}")),
                        Event::Down { peer, why } => {
                            trace.record(me, format_args!("down {peer}: {why}"));
                        }
                    }
                }
                Ok(())
            }
        });
    }
    let mut faults: BTreeMap<u32, fn(&mut turmoil::Sim<'static>)> = BTreeMap::new();
    faults.insert(300, |sim| sim.partition("node0", "node1"));
    faults.insert(1_500, |sim| sim.repair("node0", "node1"));
    faults.insert(1_700, |sim| sim.partition_oneway("node2", "node0"));
    faults.insert(2_600, |sim| sim.repair_oneway("node2", "node0"));
    let all = NODES * (NODES - 1) * count as usize;
    let arrived = |line: &String| !line.contains("up") && !line.contains("down");
    let watched = trace.clone();
    run(sim, faults, move || watched.lines().iter().filter(|line| arrived(line)).count() >= all);
    trace.lines()
}

#[test]
fn partitions_lose_and_repeat_nothing() {
    let trace = numbers(7, 250);
    for me in ProcessId::all(NODES) {
        for peer in ProcessId::all(NODES).filter(|&peer| peer != me) {
            let pair = format!(" {me} {peer} ");
            let got: Vec<u32> = trace
                .iter()
                .filter_map(|line| {
                    line.split_once(&pair).and_then(|(_, number)| number.parse().ok())
                })
                .collect();
            assert!(got.iter().copied().eq(0..250), "{me} from {peer}: {got:?}");
        }
    }
    let broke =
        trace.iter().filter(|line| line.contains("the peer was silent for too long")).count();
    assert!(broke >= 2, "the partitions were noticed: {trace:#?}");
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    assert_eq!(numbers(3, 100), numbers(3, 100));
    assert_ne!(numbers(3, 100), numbers(4, 100));
}

/// Ricart-Agrawala over the mesh: every node enters `times` times while links break.
fn entries(seed: u64, times: u32) -> Vec<String> {
    let (trace, mut sim) = (Trace::default(), network(seed));
    for me in ProcessId::all(NODES) {
        let trace = trace.clone();
        sim.host(name(me), move || {
            let trace = trace.clone();
            async move {
                let (mesh, mut events) = mesh(me, 1).await?;
                let (mut hosted, handle): (Hosted<RicartAgrawala>, _) =
                    host(RicartAgrawala::new(NODES, me), me, NODES);
                tokio::spawn(async move {
                    for _ in 0..times {
                        handle.submit(Command::Acquire).await.expect("it is outside");
                        assert_eq!(handle.next().await, Some(Output::Entered));
                        trace.record(me, "enters");
                        tokio::time::sleep(Duration::from_millis(7)).await;
                        trace.record(me, "leaves");
                        handle.submit(Command::Release).await.expect("it is inside");
                    }
                    std::future::pending::<()>().await;
                    drop(handle);
                });
                let options = DriveOptions { suspect_after: None, ..DriveOptions::default() };
                let ended = drive(&mesh, &mut events, &mut hosted, &options).await;
                Err(format!("it ended: {ended:?}").into())
            }
        });
    }
    let mut faults: BTreeMap<u32, fn(&mut turmoil::Sim<'static>)> = BTreeMap::new();
    faults.insert(200, |sim| sim.partition("node0", "node2"));
    faults.insert(900, |sim| sim.repair("node0", "node2"));
    let watched = trace.clone();
    run(sim, faults, move || watched.lines().len() >= 2 * NODES * times as usize);
    trace.lines()
}

#[test]
fn a_mutex_over_the_mesh_lets_one_in_at_a_time_and_everybody_in_the_end() {
    let trace = entries(5, 20);
    for pair in trace.chunks(2) {
        let [enters, leaves] = pair else { panic!("{pair:?}") };
        let process = |line: &str| line.split(' ').nth(1).expect("a process").to_owned();
        assert!(enters.ends_with("enters") && leaves.ends_with("leaves"), "{pair:?}");
        assert_eq!(process(enters), process(leaves));
    }
    assert_eq!(trace, entries(5, 20), "the same seed, the same trace");
}

/// A node that crashes and restarts is announced to the other nodes as a new incarnation.
#[test]
fn a_crash_in_the_simulation_is_a_new_life() {
    let (trace, mut sim) = (Trace::default(), network(11));
    for me in ProcessId::all(NODES) {
        let (trace, incarnations) = (trace.clone(), Arc::new(Mutex::new(0)));
        sim.host(name(me), move || {
            let trace = trace.clone();
            let incarnation = {
                let mut incarnations = incarnations.lock().expect("nobody panics");
                *incarnations += 1;
                *incarnations
            };
            async move {
                let (_mesh, mut events) = mesh(me, incarnation).await?;
                while let Some(event) = events.next().await {
                    if let Event::Up { peer, incarnation, fresh, .. } = event {
                        trace.record(me, format_args!("{peer} {incarnation} {fresh}"));
                    }
                }
                Ok(())
            }
        });
    }
    let mut faults: BTreeMap<u32, fn(&mut turmoil::Sim<'static>)> = BTreeMap::new();
    faults.insert(500, |sim| sim.crash("node1"));
    faults.insert(900, |sim| sim.bounce("node1"));
    let watched = trace.clone();
    let seen = move |process: u32| {
        watched.lines().iter().any(|line| line.ends_with(&format!(" p{process} p1 2 true")))
    };
    run(sim, faults, move || seen(0) && seen(2));
}
