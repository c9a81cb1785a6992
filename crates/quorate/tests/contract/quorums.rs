//! JSON report of `quorum`.

use std::path::Path;

use serde_json::Value;

use crate::support::Run;
use crate::{number, numbers};

const FIXED: [&str; 4] = ["tree", "grid-fixed", "majority", "plane"];
const PER_VIEW: [&str; 5] = ["vcube", "grid", "majority-live", "wall", "grid-rebuilt"];

fn systems() -> impl Iterator<Item = &'static str> {
    PER_VIEW.into_iter().chain(FIXED)
}

fn report(arguments: &str) -> (Value, Run) {
    crate::report(Path::new("."), &format!("quorum {arguments}"))
}

/// Members of a process's quorum, if it has one.
#[track_caller]
fn members(report: &Value, process: usize) -> Option<Vec<u64>> {
    let own = &report["quorums"][process];
    assert_eq!(number(&own["process"]), process as u64);
    (!own["members"].is_null()).then(|| numbers(&own["members"]))
}

#[test]
fn reports_have_the_promised_fields_with_the_promised_types() {
    for system in systems() {
        for flags in ["-n 1", "-n 7", "-n 8 --failed 5,2", "-n 40 --failed 3 --seed 9"] {
            let (report, run) = report(&format!("{system} {flags}"));
            assert_eq!(run.code, Some(0), "{run}");
            assert!(run.stderr.is_empty(), "{run}");
            assert_eq!(report["system"], system, "{run}");
            let n = number(&report["processes"]);
            let failed = numbers(&report["failed"]);
            assert!(failed.is_sorted(), "{run}");
            assert_eq!(report["quorums"].as_array().map(Vec::len), Some(n as usize), "{run}");
            for process in 0..n {
                match members(&report, process as usize) {
                    Some(members) => {
                        assert!(members.is_sorted() && members.iter().all(|p| *p < n), "{run}");
                        assert!(!failed.contains(&process), "{run}");
                        assert!(members.iter().all(|p| !failed.contains(p)), "{run}");
                    }
                    None => assert!(failed.contains(&process), "{run}"),
                }
            }
            for figure in ["size", "degree"] {
                assert!(number(&report[figure]["min"]) <= number(&report[figure]["max"]), "{run}");
            }
            let answers =
                ["minimal", "meets_within_view", "meets_across_views", "monotone", "exhaustive"];
            for answer in answers {
                assert!(report[answer].is_boolean(), "{answer}\n{run}");
            }
            assert_eq!(report["exhaustive"], n <= 16, "{run}");
        }
    }
}

#[test]
fn sizes_degrees_and_load_are_those_of_the_quorums() {
    for system in systems() {
        let (report, run) = report(&format!("{system} -n 11 --failed 4"));
        let quorums: Vec<Vec<u64>> = (0..11).filter_map(|p| members(&report, p)).collect();
        let sizes = || quorums.iter().map(|members| members.len() as u64);
        assert_eq!(sizes().min(), Some(number(&report["size"]["min"])), "{run}");
        assert_eq!(sizes().max(), Some(number(&report["size"]["max"])), "{run}");
        let degrees: Vec<u64> = (0..11)
            .filter(|process| *process != 4)
            .map(|p| quorums.iter().filter(|members| members.contains(&p)).count() as u64)
            .collect();
        assert_eq!(degrees.iter().min(), Some(&number(&report["degree"]["min"])), "{run}");
        let most = number(&report["degree"]["max"]);
        assert_eq!(degrees.iter().max(), Some(&most), "{run}");
        assert_eq!(report["load"].as_f64(), Some(most as f64 / quorums.len() as f64), "{run}");
    }
}

#[test]
fn fixed_coteries_meet_across_views_and_the_others_do_not() {
    for system in systems() {
        let across = FIXED.contains(&system);
        let (report, run) = report(&format!("{system} -n 8"));
        assert_eq!(report["meets_within_view"], true, "{run}");
        assert_eq!(report["meets_across_views"], across, "{run}");
        let apart = &report["apart_across_views"];
        assert_eq!(apart.is_null(), across, "{run}");
        if !across {
            let (first, second) = (&apart["first"], &apart["second"]);
            let first_members = numbers(&first["members"]);
            let second_members = numbers(&second["members"]);
            assert!(first_members.iter().all(|p| !second_members.contains(p)), "{run}");
        }
    }
}

#[test]
fn a_system_that_is_not_monotone_has_a_counterexample() {
    for system in systems() {
        for flags in ["-n 9", "-n 30 --seed 5"] {
            let (report, run) = report(&format!("{system} {flags}"));
            assert_eq!(report["monotone"], system != "grid-rebuilt", "{run}");
            assert_eq!(report["not_monotone"].is_null(), system != "grid-rebuilt", "{run}");
        }
    }
    for n in [9, 30] {
        let (found, run) = report(&format!("grid-rebuilt -n {n}"));
        let step = &found["not_monotone"];
        let process = number(&step["process"]) as usize;
        let (quorum, after) = (numbers(&step["quorum"]), numbers(&step["after"]));
        let further = number(&step["further"]);
        assert_eq!(numbers(&step["failed"]), [0; 0], "{run}");
        assert_eq!(members(&found, process), Some(quorum.clone()), "{run}");
        let (later, _) = report(&format!("grid-rebuilt -n {n} --failed {further}"));
        assert_eq!(members(&later, process), Some(after.clone()), "{run}");
        assert!(!quorum.contains(&further), "{run}");
        assert!(after.iter().any(|member| !quorum.contains(member)), "{run}");
    }
}

#[test]
fn failures_of_2_and_5_are_replaced_as_in_figure_4_2() {
    let (before, _) = report("vcube -n 8");
    assert_eq!(members(&before, 0), Some(vec![0, 1, 2, 4, 5]));
    let (after, _) = report("vcube -n 8 --failed 2,5");
    assert_eq!(members(&after, 0), Some(vec![0, 1, 3, 4, 6]));
}

/// Figure 3.1 numbers the processes from 1.
#[test]
fn the_tree_of_seven_is_that_of_figure_3_1() {
    let root = |failed: &str| members(&report(&format!("tree -n 7{failed}")).0, 0);
    assert_eq!(root(""), Some(vec![0, 1, 3]));
    assert_eq!(root(" --failed 3"), Some(vec![0, 1, 4]));
    assert_eq!(root(" --failed 3,4"), Some(vec![0, 2, 5]));
    assert_eq!(root(" --failed 3,4,5"), Some(vec![0, 2, 6]));
    assert_eq!(root(" --failed 1,2"), Some(vec![0, 3, 4]));
    assert_eq!(root(" --failed 1,2,3"), Some(vec![0, 5, 6]));
    assert_eq!(root(" --failed 1,2,4,6"), None);
}

#[test]
fn a_process_without_a_quorum_is_an_answer() {
    for arguments in ["majority -n 4 --failed 1,2", "vcube -n 3 --failed 0,1,2"] {
        let (report, run) = report(arguments);
        assert_eq!(run.code, Some(0), "{run}");
        assert!((0..number(&report["processes"])).all(|p| members(&report, p as usize).is_none()));
        let text = crate::quorate(Path::new("."), &format!("quorum {arguments}"));
        assert_eq!(text.code, Some(0), "{text}");
        assert!(text.stdout.contains("no process has a quorum under this view"), "{text}");
    }
    let (report, run) = report("majority -n 4 --failed 1,2");
    assert_eq!(numbers(&report["without_quorum"]), [0, 3], "{run}");
}

#[test]
fn very_many_processes_are_sampled() {
    for system in ["vcube", "grid", "wall"].into_iter().chain(FIXED) {
        let (report, run) = report(&format!("{system} -n 2000 --process 777"));
        let shown: String = run.stdout.chars().take(200).collect();
        let listed = report["quorums"].as_array().expect("a list");
        assert!(listed.len() < 100 && listed.iter().any(|own| own["process"] == 777), "{shown}");
        assert_eq!(number(&report["quorums_left_out"]), 2_000 - listed.len() as u64, "{shown}");
        assert_eq!(report["exhaustive"], false, "{shown}");
        assert!(number(&report["size"]["max"]) > 0, "{shown}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let text = |seed: u32| report(&format!("vcube -n 50 --seed {seed}")).1.stdout;
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
}
