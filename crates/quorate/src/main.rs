//! The `quorate` binary.

use std::process::ExitCode;

/// A fast allocator, because campaigns create and drop thousands of small worlds per second.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    quorate::main()
}
