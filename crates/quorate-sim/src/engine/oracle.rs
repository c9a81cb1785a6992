//! A perfect failure detector provided by the driver. It knows which processes are down and notifies each observer
//! after an individual delay. Faults can make it wrong.

use quorate_core::{Belief, ProcessId, SortedMap, SortedSet, Span};

use crate::random::{Random, Stream};
use crate::scenario::notation::ProcessSelector;
use crate::scenario::{DelaySampler, OracleModel};

/// The oracle of a world.
#[derive(Debug)]
pub(crate) struct Oracle {
    delays: DelaySampler,
    pairs: SortedMap<(ProcessId, ProcessId), DelaySampler>,
    random: Random,
    /// Pairs of an observer and a process that it suspects. A set for each observer would take n^2 bits.
    crashed: SortedSet<(ProcessId, ProcessId)>,
    /// Number of crashes and recoveries of each process. Notifications of an earlier epoch are stale.
    epochs: Vec<u32>,
}

impl Oracle {
    pub(crate) fn new(n: usize, model: &OracleModel, seed: u64) -> Self {
        let process = |selector| match selector {
            ProcessSelector::Process(process) => process,
            ProcessSelector::Any => unreachable!("a pair with its own delay is named"),
        };
        let pairs = model
            .pairs
            .iter()
            .map(|own| {
                (
                    (process(own.link.from), process(own.link.to)),
                    DelaySampler::new(own.delay.clone()),
                )
            })
            .collect();
        Self {
            delays: DelaySampler::new(model.delay.clone()),
            pairs,
            random: Random::new(seed, Stream::Detection),
            crashed: SortedSet::new(),
            epochs: vec![0; n],
        }
    }

    /// The process has crashed or recovered.
    pub(crate) fn advance_epoch(&mut self, process: ProcessId) {
        self.epochs[process.index()] += 1;
    }

    /// Draws the delay until the observer learns the present state of the victim. Returns it with the victim's epoch.
    pub(crate) fn delay(&mut self, observer: ProcessId, victim: ProcessId) -> (Span, u32) {
        let delays = self.pairs.get_mut(&(observer, victim)).unwrap_or(&mut self.delays);
        (delays.draw(&mut self.random), self.epochs[victim.index()])
    }

    /// Beliefs to be delivered to an observer that has recovered: all processes that are down, even if it knew of them,
    /// and suspected processes that are up again.
    pub(crate) fn pending_for(&mut self, observer: ProcessId, up: &[bool]) -> Vec<Belief> {
        let mut pending = Vec::new();
        for (victim, up) in ProcessId::all(up.len()).zip(up) {
            if !up {
                self.crashed.remove(&(observer, victim));
                pending.push(Belief::Crashed(victim));
            } else if self.crashed.contains(&(observer, victim)) {
                pending.push(Belief::Alive(victim));
            }
        }
        pending
    }

    /// Adopts a belief for the observer unless the epoch is stale. Returns whether the belief is new to the observer.
    pub(crate) fn adopt_if_current(
        &mut self,
        observer: ProcessId,
        belief: Belief,
        epoch: u32,
    ) -> bool {
        epoch == self.epochs[belief.about().index()] && self.adopt(observer, belief)
    }

    /// Starts or ends a false suspicion. Returns the changed belief, if there is one.
    pub(crate) fn set_false_suspicion(
        &mut self,
        observer: ProcessId,
        victim: ProcessId,
        active: bool,
    ) -> Option<Belief> {
        // An odd epoch means that the victim is really down. Then there is nothing to withdraw.
        let really_down = self.epochs[victim.index()] % 2 == 1;
        let belief = match active {
            true => Belief::Crashed(victim),
            false if really_down => return None,
            false => Belief::Alive(victim),
        };
        self.adopt(observer, belief).then_some(belief)
    }

    fn adopt(&mut self, observer: ProcessId, belief: Belief) -> bool {
        match belief {
            Belief::Crashed(victim) => self.crashed.insert((observer, victim)),
            Belief::Alive(victim) => self.crashed.remove(&(observer, victim)),
        }
    }
}
