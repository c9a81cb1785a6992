//! Agreement on crashes along the spanning trees of the VCube.
//!
//! - **Source**: our own; the trees are those of Rodrigues, Arantes and Duarte, "An Autonomic Implementation of Reliable
//!   Broadcast Based on Dynamic Spanning Trees", EDCC 2014.
//! - **Assumes**: a perfect detector, crashed processes never recover, links that do not lose messages.
//! - **Guarantees**: a set F of crashed processes becomes settled at a process only after every process outside F has
//!   acknowledged exactly F. Once crashes stop and every process acknowledges them, all of them become settled everywhere.
//! - **Costs**: a round takes at most 3(n - 1) messages and about 3 log2 n message delays after the last acknowledgement.
//!   A crash starts at most one round, at the live process with the least identifier. Crashes that this process learns of
//!   together need one round, and at most log2 n messages for each of the others.
//!
//! A round is for one set F. Its root is the least process outside F. The root sends GATHER(F) down the tree of the
//! processes outside F. A process that has acknowledged F and has heard from all its children sends GATHERED(F) to its
//! parent. When the root has heard from all its children, F is settled, and it sends SETTLED(F) down the tree.
//!
//! If a further process crashes, the round of F may never end, because the crashed process was to take part in it. The
//! least live process starts a round of the greater set as soon as it has acknowledged the crash. A process takes no
//! further part in a round that lacks a crash which it has acknowledged, or which it knows from another round. So the
//! last round, with all crashes, is delayed by no other.

use quorate_core::{ProcessId, ProcessSet, VCube};

/// One process of the agreement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct Gathering {
    id: ProcessId,
    vcube: VCube,
    acknowledged: ProcessSet,
    settled: ProcessSet,
    /// The round in which this process has not done its part yet.
    round: Option<Round>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Round {
    crashed: ProcessSet,
    /// `None` at the root.
    parent: Option<ProcessId>,
    /// The children that have not sent GATHERED yet.
    missing: ProcessSet,
}

/// A step of a round for the set of crashed processes that it carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RoundMessage {
    /// The sender asks whether the recipient and all processes below it have acknowledged these crashes.
    Gather(ProcessSet),
    /// The sender and all processes below it have acknowledged these crashes.
    Gathered(ProcessSet),
    /// All processes outside this set have acknowledged these crashes.
    Settled(ProcessSet),
}

impl Gathering {
    /// Creates process `id` of n processes, none of which has crashed.
    pub(in crate::mutex) fn new(n: usize, id: ProcessId) -> Self {
        let (acknowledged, settled) = (ProcessSet::new(), ProcessSet::new());
        Self { id, vcube: VCube::new(n), acknowledged, settled, round: None }
    }

    /// The crashes that all remaining processes have acknowledged.
    pub(in crate::mutex) const fn settled(&self) -> &ProcessSet {
        &self.settled
    }

    /// The crashes that this process has acknowledged.
    pub(in crate::mutex) const fn acknowledged(&self) -> &ProcessSet {
        &self.acknowledged
    }

    /// Acknowledges these crashes, which include all that were acknowledged before. Returns `true` if more crashes are
    /// settled now.
    pub(in crate::mutex) fn acknowledge(
        &mut self,
        crashed: &ProcessSet,
        mut send: impl FnMut(ProcessSet, RoundMessage),
    ) -> bool {
        if *crashed == self.acknowledged {
            return false;
        }
        self.acknowledged.clone_from(crashed);
        if crashed.next_absent(ProcessId::new(0)) == self.id {
            self.begin(crashed.clone(), None, &mut send);
        }
        let lacks_a_crash = |round: &mut Round| !crashed.is_subset(&round.crashed);
        self.round.take_if(lacks_a_crash);
        self.finish_part(&mut send)
    }

    /// Handles a message. Returns `true` if more crashes are settled now.
    pub(in crate::mutex) fn on_message(
        &mut self,
        from: ProcessId,
        message: RoundMessage,
        mut send: impl FnMut(ProcessSet, RoundMessage),
    ) -> bool {
        match message {
            RoundMessage::Gather(crashed) => {
                let known = self.round.as_ref().map_or(&self.acknowledged, |round| &round.crashed);
                if !known.is_subset(&crashed) || !self.is_possible(from, &crashed) {
                    return false;
                }
                self.begin(crashed, Some(from), &mut send);
                self.finish_part(&mut send)
            }
            RoundMessage::Gathered(crashed) => {
                let Some(round) = self.round.as_mut().filter(|round| round.crashed == crashed)
                else {
                    return false;
                };
                round.missing.remove(from);
                self.finish_part(&mut send)
            }
            RoundMessage::Settled(crashed) => {
                self.is_possible(from, &crashed) && self.settle(crashed, Some(from), &mut send)
            }
        }
    }

    /// Returns `true` if an honest process can have sent this set: it contains neither the sender nor this process, and
    /// no process that does not exist.
    fn is_possible(&self, from: ProcessId, crashed: &ProcessSet) -> bool {
        let exist = crashed.last().is_none_or(|last| last.index() < self.vcube.processes());
        exist && from != self.id && !crashed.contains(self.id) && !crashed.contains(from)
    }

    fn begin(
        &mut self,
        crashed: ProcessSet,
        parent: Option<ProcessId>,
        send: &mut impl FnMut(ProcessSet, RoundMessage),
    ) {
        let missing = self.children(parent, &crashed);
        if !missing.is_empty() {
            send(missing.clone(), RoundMessage::Gather(crashed.clone()));
        }
        self.round = Some(Round { crashed, parent, missing });
    }

    /// Reports to the parent, or settles at the root, if this process and all processes below it have acknowledged.
    fn finish_part(&mut self, send: &mut impl FnMut(ProcessSet, RoundMessage)) -> bool {
        let acknowledged = &self.acknowledged;
        let is_done =
            |round: &mut Round| round.missing.is_empty() && round.crashed == *acknowledged;
        match self.round.take_if(is_done) {
            Some(Round { crashed, parent: Some(parent), .. }) => {
                send(ProcessSet::from_iter([parent]), RoundMessage::Gathered(crashed));
                false
            }
            Some(Round { crashed, parent: None, .. }) => self.settle(crashed, None, send),
            None => false,
        }
    }

    fn settle(
        &mut self,
        crashed: ProcessSet,
        parent: Option<ProcessId>,
        send: &mut impl FnMut(ProcessSet, RoundMessage),
    ) -> bool {
        let more = !crashed.is_subset(&self.settled);
        self.settled.union_with(&crashed);
        let children = self.children(parent, &crashed);
        if !children.is_empty() {
            send(children, RoundMessage::Settled(crashed));
        }
        more
    }

    /// The children in the tree of the processes outside the set: the first live process of each smaller cluster.
    fn children(&self, parent: Option<ProcessId>, crashed: &ProcessSet) -> ProcessSet {
        let from_parent = |parent| self.vcube.cluster_of(self.id, parent) - 1;
        let clusters = parent.map_or(self.vcube.dimension(), from_parent);
        (1..=clusters).filter_map(|s| self.vcube.first_live(self.id, s, crashed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::vec;

    fn set(members: &[u32]) -> ProcessSet {
        members.iter().copied().map(ProcessId::new).collect()
    }

    /// Processes that exchange messages. A crashed process receives nothing, and messages of a process that the
    /// recipient has acknowledged as crashed are dropped, as in the mutex.
    struct Group {
        processes: Vec<Gathering>,
        links: Vec<VecDeque<RoundMessage>>,
        crashed: ProcessSet,
        sent: usize,
    }

    impl Group {
        fn new(n: usize) -> Self {
            Self {
                processes: ProcessId::all(n).map(|id| Gathering::new(n, id)).collect(),
                links: vec![VecDeque::new(); n * n],
                crashed: ProcessSet::new(),
                sent: 0,
            }
        }

        fn n(&self) -> usize {
            self.processes.len()
        }

        fn step(
            &mut self,
            id: ProcessId,
            step: impl FnOnce(&mut Gathering, &mut dyn FnMut(ProcessSet, RoundMessage)) -> bool,
        ) {
            let (n, links, sent) = (self.n(), &mut self.links, &mut self.sent);
            let before = self.processes[id.index()].settled().clone();
            let more = step(&mut self.processes[id.index()], &mut |to, message| {
                assert!(!to.is_empty() && !to.contains(id));
                for to in &to {
                    links[id.index() * n + to.index()].push_back(message.clone());
                    *sent += 1;
                }
            });
            let settled = self.processes[id.index()].settled();
            assert_eq!(more, *settled != before);
            // Settled crashes have been acknowledged by all others.
            for other in ProcessId::all(n).filter(|other| !settled.contains(*other)) {
                assert!(settled.is_subset(&self.processes[other.index()].acknowledged));
            }
        }

        fn acknowledge(&mut self, id: ProcessId, crashed: &ProcessSet) {
            self.step(id, |process, send| process.acknowledge(crashed, send));
        }

        /// Delivers the first message of this link, if there is one. Returns `true` if there was.
        fn deliver(&mut self, link: usize) -> bool {
            let (from, to) = (link / self.n(), link % self.n());
            let Some(message) = self.links[link].pop_front() else { return false };
            let (from, to) = (ProcessId::from_index(from), ProcessId::from_index(to));
            let dropped =
                self.crashed.contains(to) || self.processes[to.index()].acknowledged.contains(from);
            if !dropped {
                self.step(to, |process, send| process.on_message(from, message, send));
            }
            true
        }

        fn deliver_all(&mut self) {
            while (0..self.links.len()).any(|link| self.deliver(link)) {}
        }

        fn live(&self) -> impl Iterator<Item = ProcessId> + use<> {
            let crashed = self.crashed.clone();
            ProcessId::all(self.n()).filter(move |id| !crashed.contains(*id))
        }
    }

    #[test]
    fn a_crash_costs_at_most_three_messages_per_process() {
        for n in 2..40 {
            for victim in ProcessId::all(n) {
                let mut group = Group::new(n);
                group.crashed.insert(victim);
                let crashed = group.crashed.clone();
                group.live().for_each(|id| group.acknowledge(id, &crashed));
                group.deliver_all();
                assert!(group.live().all(|id| *group.processes[id.index()].settled() == crashed));
                assert_eq!(group.sent, 3 * (n - 2), "n = {n}, {victim}");
            }
        }
    }

    #[test]
    fn crashes_that_come_together_take_one_round() {
        let n = 64;
        let mut group = Group::new(n);
        group.crashed = set(&[0, 1, 5, 9, 20, 21, 22, 40, 63]);
        let mut known = ProcessSet::new();
        for victim in &group.crashed.clone() {
            known.insert(victim);
            group.live().for_each(|id| group.acknowledge(id, &known));
        }
        group.deliver_all();
        assert!(group.live().all(|id| *group.processes[id.index()].settled() == known));
        let (live, log) = (n - known.len(), 6);
        assert!(group.sent <= 3 * (live - 1) + log * (known.len() - 1), "{}", group.sent);
    }

    #[test]
    fn a_process_inside_delays_the_round_until_it_acknowledges() {
        let mut group = Group::new(8);
        group.crashed = set(&[3]);
        let crashed = group.crashed.clone();
        let late = ProcessId::new(6);
        group.live().filter(|id| *id != late).for_each(|id| group.acknowledge(id, &crashed));
        group.deliver_all();
        assert!(group.live().all(|id| group.processes[id.index()].settled().is_empty()));
        group.acknowledge(late, &crashed);
        group.deliver_all();
        assert!(group.live().all(|id| *group.processes[id.index()].settled() == crashed));
    }

    #[test]
    fn a_round_that_lacks_an_acknowledged_crash_costs_nothing() {
        let (root, mut process) = (ProcessId::new(0), Gathering::new(8, ProcessId::new(4)));
        let mut sent = 0;
        let mut send = |to: ProcessSet, _| sent += to.len();
        process.on_message(root, RoundMessage::Gather(set(&[3])), &mut send);
        process.acknowledge(&set(&[3, 7]), &mut send);
        process.on_message(root, RoundMessage::Gather(set(&[1, 3])), &mut send);
        assert_eq!(sent, 2, "GATHER to 5 and 6 in the first round");
    }

    #[test]
    fn impossible_sets_are_ignored() {
        let mut process = Gathering::new(4, ProcessId::new(1));
        let mut nothing = |_, _| panic!("it answers");
        for crashed in [&[1, 3][..], &[0, 3], &[3, 4]] {
            for message in [RoundMessage::Gather, RoundMessage::Settled] {
                let from = ProcessId::new(0);
                assert!(!process.on_message(from, message(set(crashed)), &mut nothing));
            }
        }
        assert_eq!(process, Gathering::new(4, ProcessId::new(1)));
    }

    proptest! {
        /// Crashes, acknowledgements and deliveries in any order: nothing is settled too early (see `step`), everything
        /// is settled in the end, and each crash costs at most 3(n - 1) messages.
        #[test]
        fn all_crashes_are_settled_in_the_end(
            n in 2usize..12,
            steps in prop::collection::vec((0u8..8, any::<u32>()), 0..400),
        ) {
            let mut group = Group::new(n);
            let mut detected = vec![ProcessSet::new(); n];
            for (kind, choice) in steps {
                let id = ProcessId::from_index(choice as usize % n);
                match kind {
                    0 if group.crashed.len() + 1 < n => {
                        group.crashed.insert(id);
                    }
                    1 | 2 if !group.crashed.contains(id) => {
                        let news = &group.crashed - &detected[id.index()];
                        let news: Vec<ProcessId> = news.iter().collect();
                        if !news.is_empty() {
                            detected[id.index()].insert(news[choice as usize / n % news.len()]);
                            group.acknowledge(id, &detected[id.index()]);
                        }
                    }
                    _ => {
                        group.deliver(choice as usize % (n * n));
                    }
                }
            }
            let crashed = group.crashed.clone();
            for id in group.live() {
                for victim in &crashed {
                    detected[id.index()].insert(victim);
                    group.acknowledge(id, &detected[id.index()]);
                }
            }
            group.deliver_all();
            for id in group.live() {
                prop_assert_eq!(group.processes[id.index()].settled(), &crashed);
            }
            prop_assert!(group.sent <= 3 * (n - 1) * crashed.len(), "{} messages", group.sent);
        }
    }
}
