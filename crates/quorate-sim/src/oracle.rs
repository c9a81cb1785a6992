//! A perfect failure detector, given by the driver: it knows who is down and tells everyone, each after
//! a delay of its own. Faults can make it err.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::{Belief, ProcessId, Span};

use crate::delay::{Delay, DelaySampler, LinkDelay};
use crate::notation::ProcessSelector;
use crate::random::{Random, Stream};

/// How quick the oracle is.
#[derive(Clone, Debug)]
pub struct OracleModel {
    /// How long after a crash or recovery an observer is told; drawn for each observer and victim.
    pub delay: Delay,
    /// Exceptions for single pairs, observer first.
    pub pairs: Vec<LinkDelay>,
}

/// The oracle of a world.
#[derive(Debug)]
pub(crate) struct Oracle {
    delays: DelaySampler,
    pairs: BTreeMap<(ProcessId, ProcessId), DelaySampler>,
    random: Random,
    /// Who believes whom to have crashed: a set for each observer would take n^2 bits.
    crashed: BTreeSet<(ProcessId, ProcessId)>,
    /// How often each process has gone down or come back; news of an older epoch is stale.
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
            crashed: BTreeSet::new(),
            epochs: vec![0; n],
        }
    }

    /// The process has gone down or come back.
    pub(crate) fn advance_epoch(&mut self, process: ProcessId) {
        self.epochs[process.index()] += 1;
    }

    /// How long the observer will take to hear of the victim's present state, and which state that is.
    pub(crate) fn delay(&mut self, observer: ProcessId, victim: ProcessId) -> (Span, u32) {
        let delays = self.pairs.get_mut(&(observer, victim)).unwrap_or(&mut self.delays);
        (delays.draw(&mut self.random), self.epochs[victim.index()])
    }

    /// What an observer that is back is to hear as news: who is down, whether it knew or not, and who no longer is.
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

    /// Whether the belief is still true and new to the observer, who from now on holds it.
    pub(crate) fn adopt_if_current(
        &mut self,
        observer: ProcessId,
        belief: Belief,
        epoch: u32,
    ) -> bool {
        epoch == self.epochs[belief.about().index()] && self.adopt(observer, belief)
    }

    /// Makes the observer believe wrongly of the victim, or no longer; the change, if it is one.
    pub(crate) fn set_false_suspicion(
        &mut self,
        observer: ProcessId,
        victim: ProcessId,
        active: bool,
    ) -> Option<Belief> {
        // An odd epoch means that the victim is really down: then there is nothing to take back.
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
