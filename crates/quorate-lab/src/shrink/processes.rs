//! Fewer processes: one goes with everything that names it, and those above it move down.

use quorate_core::{ProcessId, ProcessSet, SpanningTree};
use quorate_sim::notation::{Link, SetText, Who};
use quorate_sim::scenario::Requesters;
use quorate_sim::{LinkDelay, Scenario};

/// Half of them gone, then each alone, the last first.
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

/// The scenario without one process; none where the algorithm turns on it.
fn without(scenario: &Scenario, gone: usize) -> Option<Scenario> {
    let moved = Moved(gone);
    let mut smaller = scenario.clone();
    smaller.processes = scenario.processes.checked_sub(1).filter(|left| *left > 0)?;
    smaller.server = match scenario.server {
        // The usual server is whoever comes first.
        0 => 0,
        server => moved.process(ProcessId::new(server))?.number(),
    };
    if let Requesters::First(count) = scenario.requesters {
        smaller.requesters = Requesters::First(if gone < count { count - 1 } else { count });
    }
    smaller.request.retain_mut(|request| moved.keep(&mut request.who));
    smaller.section_of.retain_mut(|own| moved.keep_process(&mut own.process));
    smaller.link_delay.retain_mut(|own: &mut LinkDelay| moved.keep_link(&mut own.link));
    smaller.detection_pair.retain_mut(|own| moved.keep_link(&mut own.link));
    smaller.identify.retain_mut(|identify| moved.keep(&mut identify.who));
    smaller.local_clock.retain_mut(|clock| moved.keep_process(&mut clock.who));
    for set in [&mut smaller.to, &mut smaller.servers].into_iter().flatten() {
        set.0 = moved.set(&set.0);
    }
    smaller.to = smaller.to.filter(|to| !to.0.is_empty());
    smaller.servers = smaller.servers.filter(|servers| !servers.0.is_empty());
    let servers = smaller.servers.as_ref().map_or(1, |servers| servers.0.len());
    smaller.replies = scenario.replies.min(servers as u32);
    if let Some(tree) = &mut smaller.tree
        && let SpanningTree::Edges(edges) = &mut tree.0
    {
        // What is left may be no tree, and is refused then.
        edges.retain_mut(|(a, b)| moved.keep_process(a) && moved.keep_process(b));
    }
    for list in [&mut smaller.ids, &mut smaller.values, &mut smaller.clocks] {
        if gone < list.len() {
            list.remove(gone);
        }
    }
    if gone < smaller.quorum_sets.len() {
        smaller.quorum_sets.remove(gone);
        smaller.quorum_sets.iter_mut().for_each(|set| *set = SetText(moved.set(&set.0)));
    }
    smaller.quorum_of.retain_mut(|quorum| {
        quorum.failed = moved.set(&quorum.failed);
        quorum.members = moved.set(&quorum.members);
        moved.keep_process(&mut quorum.process)
    });
    smaller.bears = scenario.bears.map(|bears| bears.min(smaller.processes - 1));
    spare(&mut smaller, &moved);
    Some(smaller)
}

/// Faults without what befell the one that is gone.
fn spare(smaller: &mut Scenario, moved: &Moved) {
    let faults = &mut smaller.faults;
    faults.crash.retain_mut(|fault| moved.keep(&mut fault.who));
    faults.crash_mid.retain_mut(|fault| moved.keep(&mut fault.who));
    faults.recover.retain_mut(|fault| moved.keep(&mut fault.who));
    faults.slow.retain_mut(|fault| moved.keep(&mut fault.who));
    faults.fast.retain_mut(|fault| moved.keep(&mut fault.who));
    faults.clock.retain_mut(|fault| moved.keep(&mut fault.who));
    faults.traitor.retain_mut(|fault| moved.keep(&mut fault.who));
    faults.cut.retain_mut(|fault| moved.keep_link(&mut fault.link));
    faults.suspect.retain_mut(|fault| moved.keep_link(&mut fault.pair));
    for list in [&mut faults.omit_send, &mut faults.omit_receive] {
        list.retain_mut(|fault| moved.keep(&mut fault.who));
    }
    for list in [&mut faults.lose, &mut faults.duplicate, &mut faults.reorder] {
        list.retain_mut(|fault| moved.keep_link(&mut fault.link));
    }
    faults.partition.retain_mut(|fault| {
        fault.groups.iter_mut().for_each(|group| *group = moved.set(group));
        fault.groups.retain(|group| !group.is_empty());
        !fault.groups.is_empty()
    });
}

/// Everybody above the one that is gone has moved down by one.
struct Moved(usize);

impl Moved {
    fn process(&self, process: ProcessId) -> Option<ProcessId> {
        let index = process.index();
        match index.cmp(&self.0) {
            std::cmp::Ordering::Less => Some(process),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(ProcessId::from_index(index - 1)),
        }
    }

    fn keep_process(&self, process: &mut ProcessId) -> bool {
        self.process(*process).map(|moved| *process = moved).is_some()
    }

    fn keep(&self, who: &mut Who) -> bool {
        match who {
            Who::Any => true,
            Who::Process(process) => self.keep_process(process),
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
