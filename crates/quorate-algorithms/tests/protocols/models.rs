//! Runs that are followed in proved models: how often each action of a model was taken, and what a divergence says.

use std::fmt::Write as _;
use std::io::Write as _;

use quorate_algorithms::Algorithm;
use quorate_algorithms::mutex::{LeasedQuorum, Quorum};
use quorate_check::conformance::Statistics;
use quorate_core::Profile;
use quorate_lab::{conformance, has_model};
use quorate_sim::Conditions;

use crate::fnv::Fnv;
use crate::storms;

/// Rows of an algorithm, and then how often each action was taken. A run with `!` diverges from the model, which may happen
/// only outside the assumptions; a run with `-` has no model.
fn follow(profile: Profile, quorums: &[&str]) -> String {
    let mut total = Statistics::default();
    let rows = storms::rows(profile, |storm| {
        let scenario = storm.over(quorums);
        if !has_model(&scenario).expect("a scenario that can be run") {
            return "-".to_owned();
        }
        let report = conformance(&scenario, Conditions::default());
        let report = report.expect("a scenario that can be run");
        let name = format!("{} {} {}", profile.name, storm.kind, storm.seed);
        let divergence = report.divergence.map(|divergence| divergence.to_string());
        assert!(storm.kind == "broken" || divergence.is_none(), "{name}: {divergence:?}");
        total.add(&report.statistics);
        let mut digest = Fnv::new();
        write!(digest, "{:?} {divergence:?}", report.statistics)
            .expect("a digest takes everything");
        digest.short() + if divergence.is_some() { "!" } else { "" }
    });
    let mut text = rows.join("\n");
    let _ = write!(text, "\n{}: {total:?}", profile.name);
    text
}

#[test]
fn every_step_of_a_run_is_one_of_the_model() {
    let rows = [
        follow(Quorum::PROFILE, Quorum::QUORUMS),
        follow(LeasedQuorum::PROFILE, LeasedQuorum::QUORUMS),
    ];
    insta::assert_snapshot!(rows.join("\n"));
}
