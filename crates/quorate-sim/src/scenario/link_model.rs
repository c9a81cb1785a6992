//! The links of a scenario: their delays, the timing model, and the bounds that follow from both.

use quorate_core::{DelayBounds, Span};

use super::delay::{Arrival, Delay, LinkDelay};
use super::description::Scenario;
use super::timing::Timing;

/// Properties of the links, apart from faults.
#[derive(Clone, Debug)]
pub struct LinkModel {
    /// Delay distribution of all links without an exception.
    pub delay: Delay,
    /// Delay distributions of single links.
    pub link_delay: Vec<LinkDelay>,
    /// Messages that arrive at chosen times.
    pub arrivals: Vec<Arrival>,
    /// The timing model, which may bound or stretch the delays.
    pub timing: Timing,
    /// Whether links keep the order of messages (FIFO).
    pub fifo: bool,
}

impl Scenario {
    /// The model of the links.
    pub fn links(&self) -> LinkModel {
        let (delay, link_delay) = (self.delay.clone(), self.link_delay.clone());
        let (arrivals, timing, fifo) = (self.arrival.clone(), self.timing(), self.fifo);
        LinkModel { delay, link_delay, arrivals, timing, fifo }
    }

    /// The timing model; by default the strongest model that the delays allow.
    pub fn timing(&self) -> Timing {
        self.timing.unwrap_or(if self.delay_bound().is_some() {
            Timing::Synchronous
        } else {
            Timing::Asynchronous
        })
    }

    /// Maximum delay of a message; none if delays are unbounded.
    pub fn delay_bound(&self) -> Option<Span> {
        let own = self.link_delay.iter().map(|own| own.delay.bound());
        own.chain([self.delay.bound()])
            .try_fold(Span::ZERO, |longest, bound| bound.map(|bound| longest.max(bound)))
    }

    /// The mean delay, in which delays of algorithms are reported. In rounds it is the length of a round.
    pub fn delay_unit(&self) -> Span {
        match self.timing() {
            Timing::Rounds(length) => length,
            _ => self.delay.mean(),
        }
    }

    /// Minimum delay of a message.
    pub fn delay_least(&self) -> Span {
        match self.timing() {
            // A message that is sent late in a round arrives at its end with all others.
            Timing::Rounds(_) => Span::ZERO,
            _ => {
                let own = self.link_delay.iter().map(|own| own.delay.least());
                own.fold(self.delay.least(), Span::min)
            }
        }
    }

    /// Delay bounds that a detector may rely on. They are a guess if the timing model has no known bound.
    pub fn delay_bounds(&self) -> DelayBounds {
        // If messages take no time, the pace must come from another value.
        let unit = Some(self.delay_unit())
            .filter(|unit| *unit > Span::ZERO)
            .unwrap_or(Span::from_millis(1));
        let known = match self.timing() {
            Timing::Rounds(length) => Some(length),
            timing => self.delay_bound().filter(|_| timing.is_synchronous()),
        };
        // Messages from all processes may arrive at the same time and queue for handling.
        let queueing = Span(self.handling.0.0.saturating_mul(self.processes as u64));
        let bound = known.unwrap_or(Span(unit.0.saturating_mul(2))) + queueing;
        DelayBounds { delay: unit, bound }
    }

    /// Whether neither messages nor their handling take any time.
    pub fn is_timeless(&self) -> bool {
        self.links().timing.is_timeless(&self.delay) && self.handling.0 == Span::ZERO
    }
}
