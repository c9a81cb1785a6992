//! The same scenario and seed produce the same bytes, in every version.

mod support;

use std::fs;

use support::quorate;
use tempfile::TempDir;

/// Runs with as many random decisions as possible.
const RUNS: [&str; 6] = [
    "ricart-agrawala -n 5 --requesters all --seed 7",
    "ricart-agrawala -n 8 --requesters all --repeat 3 --delay exponential:1ms --loss 0.01 \
     --duplication 0.1 --reordering 0.1 --seed 1981",
    "central -n 8 --requesters all --repeat 3 --spread 9ms --delay uniform:1ms..5ms --crash ?@0~30ms \
     --crash ?@0~30ms --recover ?@40ms:amnesia --detection exponential:3ms --seed 15",
    "central -n 6 --requesters all --detector heartbeat --crash ?@0~9ms --traitor ?:random --slow \
     ?@1ms~3ms..20ms:1ms --until 100ms --seed 3",
    "vcube-diagnosis -n 9 --delay exponential:1ms --crash ?@0~30ms --recover ?@40ms:amnesia --loss 0.01 --seed 5",
    "vcube-multicast -n 9 --requesters all --repeat 2 --delay uniform:1ms..5ms --crash-mid ?@0~9ms:1 \
     --crash ?@0~9ms --detector vcube --seed 8",
];

/// Bytes of the trace of a run.
fn trace(flags: &str, format: &str) -> Vec<u8> {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let arguments = format!("sim {flags} --trace trace --trace-format {format}");
    let run = quorate(folder.path(), &arguments);
    assert!(matches!(run.code, Some(0 | 1)), "{run}");
    fs::read(folder.path().join("trace")).expect("there is a trace")
}

/// FNV-1a with 64 bits: short enough to be implemented here, and the same on every machine.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn the_digest_is_the_published_function() {
    assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(digest(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn the_same_run_leaves_the_same_trace_in_every_format() {
    for flags in RUNS {
        for format in ["jsonl", "shiviz", "perfetto"] {
            let first = trace(flags, format);
            assert!(!first.is_empty(), "an empty trace proves nothing");
            assert!(first == trace(flags, format), "{format} of {flags} differs from run to run");
        }
    }
}

#[test]
fn the_same_run_is_told_of_in_the_same_words() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    for flags in RUNS {
        for arguments in [format!("sim {flags}"), format!("sim {flags} --json")] {
            let first = quorate(folder.path(), &arguments);
            assert_eq!(first.stdout, quorate(folder.path(), &arguments).stdout);
        }
    }
}

#[test]
fn watching_does_not_change_what_is_watched() {
    // Neither the trace format nor an additional monitor uses the random numbers of the run.
    let folder = TempDir::new().expect("a temporary directory can be made");
    for flags in RUNS {
        let plain = quorate(folder.path(), &format!("sim {flags} --json")).stdout;
        let traced = quorate(folder.path(), &format!("sim {flags} --json --trace t.json")).stdout;
        assert_eq!(plain, traced, "{flags}");
        let property = match flags.split(' ').next() {
            Some("vcube-diagnosis") => "accuracy",
            Some("vcube-multicast") => "agreement",
            _ => "ME3",
        };
        let watched = format!("{flags} --watch {property}");
        // The findings of the additional monitor are at the end of the trace.
        let events = |flags: &str| {
            let text = String::from_utf8(trace(flags, "jsonl")).expect("text");
            let told = |line: &&str| !line.contains(r#""type":"violation""#);
            text.lines().filter(told).map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(events(flags) == events(&watched), "{flags}");
    }
}

#[test]
fn another_seed_makes_another_run() {
    let flags = "ricart-agrawala -n 5 --requesters all --delay uniform:1ms..9ms";
    let one = trace(&format!("{flags} --seed 1"), "jsonl");
    assert!(one != trace(&format!("{flags} --seed 2"), "jsonl"));
}

/// A changed digest means a changed run or a changed format. A commit that changes it explains which, and why.
#[test]
fn runs_are_what_they_were() {
    let digests: Vec<String> =
        RUNS[..3].iter().map(|flags| format!("{:016x}", digest(&trace(flags, "jsonl")))).collect();
    assert_eq!(digests, ["3e01a14446b843fd", "884ba0f5a0aa805f", "25ade2f29813ad14"]);
}
