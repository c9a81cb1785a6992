//! Searches for safety alone: their facts in JSON and in text, and a search in two parts.

use super::{number, quorate, report};

#[test]
fn a_search_for_safety_reports_its_scope() {
    let directory = tempfile::tempdir().expect("a directory");
    let world = "check ricart-agrawala -n 3 --requests 2";
    let (full, run) = report(directory.path(), world);
    assert!(full.get("safety_only").is_none(), "{run}");
    let (safety, run) = report(directory.path(), &format!("{world} --safety-only"));
    for field in ["verdict", "states", "steps", "depth", "properties"] {
        assert_eq!(safety[field], full[field], "{run}");
    }
    let facts = &safety["safety_only"];
    let states = number(&safety["states"]) as f64;
    let bound = states * (states - 1.0) / 2_f64.powi(70);
    let probability = facts["omission_probability"].as_f64().expect("a number");
    assert!((probability / bound - 1.0).abs() < 1e-9, "{run}");
    assert!(facts["bytes_per_state"].as_f64().is_some(), "{run}");
    assert_eq!(facts["every_run_ends"], true, "{run}");
    let text = quorate(directory.path(), &format!("{world} --safety-only"));
    assert!(text.stdout.contains("scope:   safety and deadlocks; every run ends"), "{text}");
    // A token that circulates forever.
    let endless = quorate(directory.path(), "check token-ring -n 3 --safety-only");
    assert!(endless.stdout.contains("starvation was not checked"), "{endless}");
    assert!(endless.stdout.contains("- ME2  no deadlock; only safety was checked"), "{endless}");
    assert_eq!(endless.code, Some(0), "{endless}");
}

#[test]
fn a_search_continues_after_its_memory_limit() {
    let directory = tempfile::tempdir().expect("a directory");
    let world = "check lamport -n 3 --reduce no --safety-only";
    let (whole, _) = report(directory.path(), world);
    let first = quorate(directory.path(), &format!("{world} --memory 5MB --checkpoint search"));
    assert!(first.stdout.contains("the search is incomplete (memory)"), "{first}");
    assert!(first.stdout.contains("go on:   the same command with --resume search"), "{first}");
    let (second, run) = report(directory.path(), &format!("{world} --memory 1GB --resume search"));
    for field in ["verdict", "states", "steps", "depth", "properties"] {
        assert_eq!(second[field], whole[field], "{run}");
    }
    for (arguments, why) in [
        ("check central --safety-only --resume search", "other flags"),
        ("check central --safety-only --resume missing", "cannot be used"),
        ("check central --resume search", "--safety-only"),
        ("check central --spill .", "--safety-only"),
    ] {
        let refused = quorate(directory.path(), arguments);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(why), "{refused}");
    }
}
