//! The decoders accept or refuse any bytes: the seeds of the fuzzer, and each seed truncated and modified at every
//! position.

#[expect(unreachable_pub, reason = "a module here, a library for the fuzz targets")]
mod checks;

use std::fs;
use std::path::Path;

fn seeds() -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut paths: Vec<_> =
        fs::read_dir(directory).expect("there").map(|entry| entry.expect("there").path()).collect();
    paths.sort();
    assert!(paths.len() >= 8);
    paths.iter().map(|path| fs::read(path).expect("readable")).collect()
}

#[test]
fn the_seeds_are_read_or_refused() {
    seeds().iter().for_each(|seed| checks::bytes(seed));
}

#[test]
fn so_are_all_their_beginnings_and_all_their_neighbours() {
    for seed in seeds() {
        for end in 0..seed.len() {
            checks::bytes(&seed[..end]);
            for change in [1, 0x80, 0xff] {
                let mut changed = seed.clone();
                changed[end] ^= change;
                checks::bytes(&changed);
            }
        }
    }
}
