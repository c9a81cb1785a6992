//! Arbitrary text, parsed and run as a scenario file.

#![no_main]

#[path = "../mutator.rs"]
mod mutator;

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    let _ = checks::scenario_file(text, |scenario, conditions, trace| {
        quorate_lab::run(scenario, conditions, trace).map_err(|error| error.to_string())
    });
    Corpus::Keep
});

// One mutation in four is the fuzzer's own, which is not specific to scenarios.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let text = std::str::from_utf8(&data[..size]).ok().filter(|_| !seed.is_multiple_of(4));
    let mutated = text.map(|text| mutator::mutate(text, seed / 4));
    match mutated.filter(|mutated| mutated.len() <= max_size) {
        Some(mutated) => {
            data[..mutated.len()].copy_from_slice(mutated.as_bytes());
            mutated.len()
        }
        None => fuzzer_mutate(data, size, max_size),
    }
});
