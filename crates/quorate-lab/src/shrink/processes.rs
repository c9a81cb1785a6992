//! Fewer processes: one is removed with everything that names it, and the processes above it move down.

use quorate_core::{ProcessId, ProcessSet, SpanningTree};
use quorate_sim::notation::{Link, ProcessSelector, SetText};
use quorate_sim::scenario::{ClaimOf, GivenClaim, Requesters};
use quorate_sim::script::Step;
use quorate_sim::{LinkDelay, Scenario};

/// Removes half of the processes, then each one alone, the last first.
pub(super) fn fewer(scenario: &Scenario) -> Vec<Scenario> {
    let n = scenario.processes;
    let half = n / 2;
    let mut all = Vec::new();
    if half > 1 {
        all.extend(without_all(scenario, half..n));
        all.extend(without_all(scenario, 0..n - half));
    }
    all.extend((0..n).rev().filter_map(|gone| without(scenario, gone)));
    all
}

fn without_all(scenario: &Scenario, gone: std::ops::Range<usize>) -> Option<Scenario> {
    gone.rev().try_fold(scenario.clone(), |scenario, gone| without(&scenario, gone))
}

/// The scenario without one process; `None` if the algorithm depends on that process.
fn without(scenario: &Scenario, gone: usize) -> Option<Scenario> {
    let renumbering = Renumbering(gone);
    let mut smaller = scenario.clone();
    smaller.processes = scenario.processes.checked_sub(1).filter(|left| *left > 0)?;
    smaller.server = match scenario.server {
        // The default server is the first process.
        0 => 0,
        server => renumbering.process(ProcessId::new(server))?.number(),
    };
    if let Requesters::First(count) = scenario.requesters {
        smaller.requesters = Requesters::First(if gone < count { count - 1 } else { count });
    }
    smaller.request.retain_mut(|request| renumbering.keep(&mut request.process));
    smaller.section_of.retain_mut(|own| renumbering.keep_process(&mut own.process));
    smaller.claim_of.retain_mut(|own| renumber_claims(own, &renumbering));
    smaller.link_delay.retain_mut(|own: &mut LinkDelay| renumbering.keep_link(&mut own.link));
    smaller.detection_pair.retain_mut(|own| renumbering.keep_link(&mut own.link));
    smaller.identify.retain_mut(|identify| renumbering.keep(&mut identify.process));
    smaller.script.retain_mut(|own| {
        let renamed = |step: &Step| step.renamed(|process| renumbering.process(process));
        own.steps = own.steps.iter().filter_map(renamed).collect();
        renumbering.keep_process(&mut own.process) && !own.steps.is_empty()
    });
    smaller.local_clock.retain_mut(|clock| renumbering.keep_process(&mut clock.process));
    for set in [&mut smaller.to, &mut smaller.servers].into_iter().flatten() {
        set.0 = renumbering.set(&set.0);
    }
    smaller.to = smaller.to.filter(|to| !to.0.is_empty());
    smaller.servers = smaller.servers.filter(|servers| !servers.0.is_empty());
    let servers = smaller.servers.as_ref().map_or(1, |servers| servers.0.len());
    smaller.replies = scenario.replies.min(servers as u32);
    if let Some(tree) = &mut smaller.tree
        && let SpanningTree::Edges(edges) = &mut tree.0
    {
        // The remaining edges may not form a tree. Then the scenario is refused.
        edges.retain_mut(|(a, b)| renumbering.keep_process(a) && renumbering.keep_process(b));
    }
    for list in [&mut smaller.ids, &mut smaller.values, &mut smaller.clocks] {
        if gone < list.len() {
            list.remove(gone);
        }
    }
    if gone < smaller.quorum_sets.len() {
        smaller.quorum_sets.remove(gone);
        smaller.quorum_sets.iter_mut().for_each(|set| *set = SetText(renumbering.set(&set.0)));
    }
    smaller.quorum_of.retain_mut(|quorum| {
        quorum.failed = renumbering.set(&quorum.failed);
        quorum.members = renumbering.set(&quorum.members);
        renumbering.keep_process(&mut quorum.process)
    });
    smaller.tolerates = scenario.tolerates.map(|tolerates| tolerates.min(smaller.processes - 1));
    renumber_faults(&mut smaller, &renumbering);
    Some(smaller)
}

/// Renumbers the claims of a process; false if it is the removed one. A claim for nothing but resources of the
/// removed process is dropped.
fn renumber_claims(own: &mut ClaimOf, renumbering: &Renumbering) -> bool {
    for claim in &mut own.claims {
        if let GivenClaim::With(others) = claim {
            *others = renumbering.set(others);
        }
    }
    let names_another =
        |claim: &GivenClaim| !matches!(claim, GivenClaim::With(others) if others.is_empty());
    own.claims.retain(names_another);
    !own.claims.is_empty() && renumbering.keep_process(&mut own.process)
}

/// Drops the faults of the removed process and renumbers the others.
fn renumber_faults(smaller: &mut Scenario, renumbering: &Renumbering) {
    let faults = &mut smaller.faults;
    faults.crash.retain_mut(|fault| renumbering.keep(&mut fault.process));
    faults.crash_mid.retain_mut(|fault| renumbering.keep(&mut fault.process));
    faults.recover.retain_mut(|fault| renumbering.keep(&mut fault.process));
    faults.slow.retain_mut(|fault| renumbering.keep(&mut fault.process));
    faults.fast.retain_mut(|fault| renumbering.keep(&mut fault.process));
    faults.clock.retain_mut(|fault| renumbering.keep(&mut fault.process));
    faults.traitor.retain_mut(|fault| renumbering.keep(&mut fault.process));
    faults.cut.retain_mut(|fault| renumbering.keep_link(&mut fault.link));
    faults.suspect.retain_mut(|fault| renumbering.keep_link(&mut fault.pair));
    for list in [&mut faults.omit_send, &mut faults.omit_receive] {
        list.retain_mut(|fault| renumbering.keep(&mut fault.process));
    }
    for list in [&mut faults.lose, &mut faults.duplicate, &mut faults.reorder, &mut faults.corrupt]
    {
        list.retain_mut(|fault| renumbering.keep_link(&mut fault.link));
    }
    faults.partition.retain_mut(|fault| {
        fault.groups.iter_mut().for_each(|group| *group = renumbering.set(group));
        fault.groups.retain(|group| !group.is_empty());
        !fault.groups.is_empty()
    });
}

/// Every process above the removed one moves down by one.
struct Renumbering(usize);

impl Renumbering {
    fn process(&self, process: ProcessId) -> Option<ProcessId> {
        let index = process.index();
        match index.cmp(&self.0) {
            std::cmp::Ordering::Less => Some(process),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(ProcessId::from_index(index - 1)),
        }
    }

    fn keep_process(&self, process: &mut ProcessId) -> bool {
        self.process(*process).map(|renumbered| *process = renumbered).is_some()
    }

    fn keep(&self, selector: &mut ProcessSelector) -> bool {
        match selector {
            ProcessSelector::Any => true,
            ProcessSelector::Process(process) => self.keep_process(process),
        }
    }

    fn keep_link(&self, link: &mut Link) -> bool {
        self.keep(&mut link.from) && self.keep(&mut link.to)
    }

    fn set(&self, set: &ProcessSet) -> ProcessSet {
        set.iter().filter_map(|process| self.process(process)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_above_moves_down_with_everything_said_of_it() {
        let text = r#"
            algorithm = "central"
            processes = 4
            server = 3
            request = ["0@1ms", "1@2ms", "3@3ms"]
            link-delay = ["0-3=constant:5ms", "1-2=constant:7ms"]
            [faults]
            crash = ["2@1ms", "1@4ms"]
            partition = ["0,1|2,3@1ms..2ms"]
        "#;
        let scenario = quorate_sim::parse(text, "text").expect("it makes sense");
        let smaller = without(&scenario, 1).expect("it is not the server");
        let text = r#"
            algorithm = "central"
            processes = 3
            server = 2
            request = ["0@1ms", "2@3ms"]
            link-delay = ["0-2=constant:5ms"]
            [faults]
            crash = ["1@1ms"]
            partition = ["0|1,2@1ms..2ms"]
        "#;
        assert_eq!(smaller, quorate_sim::parse(text, "text").expect("it makes sense"));
        assert_eq!(without(&scenario, 3), None);
    }
}
