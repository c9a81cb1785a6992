//! Any text, as a scenario file.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    let _ = checks::scenario_file(text, |scenario, conditions, trace| {
        quorate_lab::run(scenario, conditions, trace).map_err(|error| error.to_string())
    });
    Corpus::Keep
});
