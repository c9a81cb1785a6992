//! Runs of the quorum mutex that are followed in its proved models: how often each action of a model was taken.

use quorate_algorithms::Algorithm;
use quorate_algorithms::mutex::Quorum;
use quorate_lab::{conformance, has_model};
use quorate_sim::{Conditions, Scenario};

use crate::storms;

#[test]
fn every_step_of_a_run_is_one_of_the_model() {
    let mut lines = Vec::new();
    for (number, (name, scenario)) in storms::scenarios(Quorum::PROFILE).enumerate() {
        let quorums = Some(Quorum::QUORUMS[number % Quorum::QUORUMS.len()].to_owned());
        let scenario = Scenario { quorums, ..scenario };
        let quorums = scenario.quorums.as_deref().unwrap_or_default();
        if name.contains("broken") || !has_model(&scenario).expect("a scenario that can be run") {
            continue;
        }
        let report = conformance(&scenario, Conditions::default());
        let report = report.expect("a scenario that can be run");
        assert_eq!(report.divergence.map(|it| it.to_string()), None, "{name} over {quorums}");
        lines.push(format!("{name} over {quorums}: {:?}", report.statistics));
    }
    insta::assert_snapshot!(lines.join("\n"));
}
