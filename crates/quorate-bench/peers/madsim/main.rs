//! Delivery rate of madsim. `delivers ring HOPS SECONDS` or `delivers ricart-agrawala N SECONDS` prints the deliveries of
//! a run, the number of runs, and the seconds they took. Each process is a node with its own endpoint.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use madsim::net::Endpoint;
use madsim::runtime::{NodeHandle, Runtime};

const RING: usize = 32;
const TOKENS: usize = 128;
const SECTION: Duration = Duration::from_micros(1_000);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words[place].parse::<u64>().expect("a number");
    let (size, seconds) = (number(1), number(2) as f64);
    let (mut runs, mut each, start) = (0, 0, Instant::now());
    while runs == 0 || start.elapsed().as_secs_f64() < seconds {
        each = run(&words[0], size, runs);
        runs += 1;
    }
    println!("{each} {runs} {}", start.elapsed().as_secs_f64());
}

/// Executes one run and returns its deliveries.
fn run(work: &str, size: u64, seed: u64) -> u64 {
    let mut config = madsim::Config::default();
    config.net.send_latency = Duration::from_micros(1)..Duration::from_micros(1_001);
    let runtime = Runtime::with_seed_and_config(seed, config);
    let count = Arc::new(AtomicU64::new(0));
    let n = if work == "ring" { RING } else { size as usize };
    let nodes: Vec<NodeHandle> =
        (0..n).map(|id| runtime.create_node().ip(address(id).ip()).build()).collect();
    let counted = Arc::clone(&count);
    let ring = work == "ring";
    runtime.block_on(async move {
        // All endpoints are bound before the first message is sent.
        let mut endpoints = Vec::new();
        for (id, node) in nodes.iter().enumerate() {
            endpoints.push(node.spawn(Endpoint::bind(address(id))).await.unwrap().unwrap());
        }
        let mut tasks = Vec::new();
        for (id, (node, endpoint)) in nodes.iter().zip(endpoints).enumerate() {
            let count = Arc::clone(&counted);
            tasks.push(match ring {
                true => node.spawn(pass_on(endpoint, id, size, count)),
                false => node.spawn(ricart_agrawala(endpoint, id, n, count)),
            });
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    count.load(Ordering::Relaxed)
}

fn address(id: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, (id / 250) as u8, (id % 250 + 1) as u8], 1))
}

/// Process of the ring: forwards every token to the next process until its hops are used up.
async fn pass_on(endpoint: Endpoint, id: usize, hops: u64, count: Arc<AtomicU64>) {
    let next = address((id + 1) % RING);
    for _ in 0..TOKENS / RING {
        endpoint.send_to_raw(next, 0, Box::new(hops)).await.unwrap();
    }
    // Hops are a multiple of the ring's length, so that each process receives the same number of tokens.
    for _ in 0..hops * (TOKENS / RING) as u64 {
        let (payload, _) = endpoint.recv_from_raw(0).await.unwrap();
        count.fetch_add(1, Ordering::Relaxed);
        let left = *payload.downcast::<u64>().unwrap() - 1;
        if left > 0 {
            endpoint.send_to_raw(next, 0, Box::new(left)).await.unwrap();
        }
    }
}

#[derive(Clone, Copy)]
enum Message {
    Request { clock: u64, id: usize },
    Reply,
}

/// Process of Ricart and Agrawala that requests immediately.
async fn ricart_agrawala(endpoint: Endpoint, id: usize, n: usize, count: Arc<AtomicU64>) {
    let own = (1, id);
    let send = async |to: usize, message: Message| {
        endpoint.send_to_raw(address(to), 0, Box::new(message)).await.unwrap();
    };
    for other in (0..n).filter(|other| *other != id) {
        send(other, Message::Request { clock: own.0, id }).await;
    }
    let (mut replies, mut deferred, mut over) = (0, Vec::new(), n == 1);
    for _ in 0..2 * (n - 1) {
        let (payload, _) = endpoint.recv_from_raw(0).await.unwrap();
        count.fetch_add(1, Ordering::Relaxed);
        match *payload.downcast::<Message>().unwrap() {
            Message::Request { clock, id: other } if over || (clock, other) < own => {
                send(other, Message::Reply).await;
            }
            Message::Request { id: other, .. } => deferred.push(other),
            Message::Reply => replies += 1,
        }
        if replies == n - 1 && !over {
            madsim::time::sleep(SECTION).await;
            over = true;
            for other in deferred.drain(..) {
                send(other, Message::Reply).await;
            }
        }
    }
}
