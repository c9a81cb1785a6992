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

#[test]
fn a_search_that_ends_early_expects_the_rest() {
    let directory = tempfile::tempdir().expect("a directory");
    let world = "check lamport -n 3 --safety-only --reduce no";
    let (whole, _) = report(directory.path(), world);
    assert!(whole.get("expected").is_none(), "nothing is left");
    let states = number(&whole["states"]);
    let (part, run) = report(directory.path(), &format!("{world} --depth 17"));
    let expected = &part["expected"];
    let [least, most] = ["states_least", "states_most"].map(|field| number(&expected[field]));
    assert!(number(&part["states"]) <= least && least <= states && states <= most, "{run}");
    assert_eq!(expected["depth"], whole["depth"], "{run}");
    let text = quorate(directory.path(), &format!("{world} --depth 17"));
    assert!(text.stdout.contains("no violation to depth 17 of about 24 in"), "{text}");
    // A search that is continued knows the depths that were explored before.
    quorate(directory.path(), &format!("{world} --memory 1MB --checkpoint search"));
    let (resumed, run) =
        report(directory.path(), &format!("{world} --depth 17 --memory 1GB --resume search"));
    assert_eq!(resumed["expected"], part["expected"], "{run}");
}

#[test]
fn reductions_are_chosen_by_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let world = "check lamport -n 2 --requests 2 --reduce";
    let mut states = Vec::new();
    for names in ["no", "order", "clocks", "values", "clocks,values", "order,clocks,values", "all"]
    {
        let (found, run) = report(directory.path(), &format!("{world} {names}"));
        assert_eq!(found["verdict"], "holds", "{run}");
        states.push(number(&found["states"]));
    }
    assert!(states.iter().all(|some| *some <= states[0]) && states[4] < states[2], "{states:?}");
    assert_eq!(states[5], states[6], "{states:?}");
    let refused = quorate(directory.path(), &format!("{world} clock"));
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("there is no reduction `clock`"), "{refused}");
    let (valid, run) = report(directory.path(), &format!("{world} all --validate"));
    assert_eq!(
        (number(&valid["validated"]["states"]), &valid["validated"]["all"]),
        (states[0], &true.into()),
        "{run}"
    );
}
