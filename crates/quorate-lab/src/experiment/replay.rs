//! Command line that repeats one run of an experiment alone.

use quorate_sim::Scenario;

/// Returns the command. It contains only the parameters that experiments vary.
pub(super) fn command(scenario: &Scenario) -> String {
    let mut command = format!(
        "quorate sim {} -n {} --requesters {} --repeat {} --spread {} --think {} --section {} --delay {} --seed {}",
        scenario.algorithm,
        scenario.processes,
        scenario.requesters,
        scenario.repeat,
        scenario.spread,
        scenario.think,
        scenario.section,
        scenario.delay,
        scenario.seed,
    );
    let mut flag = |name: &str, value: &dyn std::fmt::Display| {
        command.push_str(&format!(" --{name} {value}"));
    };
    scenario.quorums.iter().for_each(|quorums| flag("quorums", quorums));
    scenario.tree.iter().for_each(|tree| flag("tree", tree));
    scenario.faults.crash.iter().for_each(|crash| flag("crash", crash));
    scenario.faults.lose.iter().for_each(|lose| flag("lose", lose));
    scenario.faults.suspect.iter().for_each(|suspect| flag("suspect", suspect));
    if scenario.no_cancel {
        command.push_str(" --no-cancel");
    }
    command
}
