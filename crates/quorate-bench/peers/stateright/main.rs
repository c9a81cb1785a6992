//! Exploration rate of stateright on Lamport's mutex, on one thread. Prints states and seconds, breadth-first and
//! depth-first.

extern crate self as quorate_check;
extern crate self as quorate_core;

mod in_stateright;
mod lamport;
mod stand_in;

use std::time::Instant;

use in_stateright::StaterightModel;
use lamport::LamportMutex;
use stateright::{Checker, Model as _};
pub use stand_in::{Fingerprint, FingerprintHasher, Model, Property, Successor};

fn main() {
    let clock_most = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(6);
    let model = || StaterightModel(LamportMutex { clock_most });
    let start = Instant::now();
    let checked = model().checker().threads(1).spawn_bfs().join();
    checked.assert_properties();
    let (states, seconds) = (checked.unique_state_count(), start.elapsed().as_secs_f64());
    let start = Instant::now();
    let checked = model().checker().threads(1).spawn_dfs().join();
    checked.assert_properties();
    assert_eq!(checked.unique_state_count(), states);
    println!("{states} {seconds} {}", start.elapsed().as_secs_f64());
}
