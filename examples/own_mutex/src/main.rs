//! quorate's command line with one more algorithm. Try `cargo run -- sim own-mutex -n 5 --requesters all`.

use std::process::ExitCode;

use own_mutex::OwnMutex;
use quorate::{Catalogue, Entry};

fn main() -> ExitCode {
    quorate::main_with(Catalogue::standard().with(Entry::mutex::<OwnMutex>()))
}
