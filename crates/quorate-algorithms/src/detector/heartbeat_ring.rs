//! Heartbeats on a ring: every process monitors its predecessor and reports crashes and recoveries to all others.
//!
//! - **Source**: Larrea, Arévalo and Fernández, "Efficient Algorithms to Implement Unreliable Failure
//!   Detectors in Partially Synchronous Systems", DISC 1999, for the ring; Duarte, Bona and Ruoso, ScalA
//!   2014, for the dissemination of news.
//! - **Assumes**: synchrony: a heartbeat, a probe and its answer each arrive within the bound; nothing is lost.
//! - **Guarantees**: completeness and, while the assumptions hold, accuracy. A crash is known everywhere one period and
//!   five bounds later. If several neighbours crash, each of them adds two bounds.
//! - **Costs**: n messages per period. A crash costs n - 1 messages of news, two probes and an answer.
//! - **Departs from the paper**: news goes to all processes at the same time instead of round the ring, with as many
//!   messages and one delay. Silence is taken for a crash only after a probe has gone unanswered: a process that has
//!   restarted without memory expects heartbeats from a process that believes it to be down. A process that recovers
//!   forgets what it knew of others. The paper's timeouts adapt; these are fixed.
//!
//! ```text
//!    listening --(silence for a timeout)--> probing --(silence for two bounds)--> it has crashed: the next is probed
//!        ^-------(any message from it)---------'
//! ```
//!
//! Every message carries all that its sender knows of crashes and recoveries. So if a process crashes before it has
//! sent its news to all others, the process that detects this crash spreads the news.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::detector::Detector;
use quorate_core::{
    Assumption, Belief, Cost, DelayBounds, Effects, Kind, Layer, Process, ProcessId, Profile,
    Property, Span,
};

use super::status_counters::{CounterUpdate, StatusCounters};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeartbeatRing {
    id: ProcessId,
    n: usize,
    period: Span,
    /// The timeouts: maximum silence of the monitored process before it is probed, and maximum time to answer a probe.
    timeouts: (Span, Span),
    counters: StatusCounters,
    /// The nearest predecessor that is believed to be up, and whether it is being probed.
    watched: Option<(ProcessId, Phase)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Listening,
    Probing,
}

/// The messages of the detector. Each carries all that its sender knows of crashes and recoveries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The heartbeat, sent to the successor.
    Alive(News),
    /// Asks a silent process or a new predecessor whether it is alive.
    Probe(News),
    /// The answer to a probe.
    Present(News),
    /// A status has changed. Sent to all others.
    Changed(News),
}

/// The counters of all processes that have ever changed.
type News = Vec<(ProcessId, u32)>;

/// The timers of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The next heartbeat is due.
    Beat,
    /// The monitored process has been silent for too long.
    Silence,
}

impl HeartbeatRing {
    /// Creates the detector at process `id` of `n`, with the shortest timeouts that the delays allow.
    pub fn with_delay_bounds(n: usize, id: ProcessId, delay_bounds: DelayBounds) -> Self {
        let period = Span(delay_bounds.delay.0.saturating_mul(4)).max(Span(1));
        let timeouts = (
            period + delay_bounds.bound + Span(1),
            delay_bounds.bound + delay_bounds.bound + Span(1),
        );
        Self { id, n, period, timeouts, counters: StatusCounters::default(), watched: None }
    }

    fn news(&self) -> News {
        self.counters.all()
    }

    fn beat(&self, out: &mut Effects<Self>) {
        let after = (1..self.n).map(|ahead| (self.id.index() + ahead) % self.n);
        if let Some(next) = self.first_live(after) {
            out.send(next, Message::Alive(self.news()));
        }
        out.set_timer(Timer::Beat, self.period);
    }

    fn predecessor(&self) -> Option<ProcessId> {
        self.first_live((1..self.n).map(|back| (self.id.index() + self.n - back) % self.n))
    }

    fn first_live(&self, mut places: impl Iterator<Item = usize>) -> Option<ProcessId> {
        let live = |place: &usize| !self.counters.crashed().contains(ProcessId::from_index(*place));
        places.find(live).map(ProcessId::from_index)
    }

    fn listen(&mut self, to: ProcessId, out: &mut Effects<Self>) {
        self.watched = Some((to, Phase::Listening));
        out.set_timer(Timer::Silence, self.timeouts.0);
    }

    fn probe(&mut self, target: ProcessId, out: &mut Effects<Self>) {
        self.watched = Some((target, Phase::Probing));
        out.send(target, Message::Probe(self.news()));
        out.set_timer(Timer::Silence, self.timeouts.1);
    }

    /// Monitors the current predecessor. A new predecessor is probed, because it may not know yet to which process it
    /// has to send its heartbeats.
    fn watch(&mut self, out: &mut Effects<Self>) {
        match self.predecessor() {
            same if same == self.watched.map(|(watched, _)| watched) => {}
            Some(other) => self.probe(other, out),
            None => {
                self.watched = None;
                out.cancel_timer(Timer::Silence);
            }
        }
    }

    /// Records a crash or recovery that this process has observed itself, and reports it to all others.
    fn toggle(&mut self, process: ProcessId, out: &mut Effects<Self>) {
        self.counters.toggle(process).into_iter().for_each(|belief| out.output(belief));
        out.send_to_others(Message::Changed(self.news()));
    }

    fn learn(&mut self, news: News, out: &mut Effects<Self>) {
        let mut contradicts = false;
        for (about, counter) in news {
            match self.counters.update(self.n, self.id, about, counter) {
                CounterUpdate::Impossible => out.ignored("impossible news"),
                CounterUpdate::New(belief) => {
                    belief.into_iter().for_each(|belief| out.output(belief))
                }
                CounterUpdate::Contradicted => contradicts = true,
                CounterUpdate::Old => {}
            }
        }
        if contradicts {
            out.send_to_others(Message::Changed(self.news()));
        }
    }
}

impl Detector for HeartbeatRing {
    fn round(&self) -> Span {
        self.period
    }
}

impl Process for HeartbeatRing {
    type Command = Infallible;
    type Message = Message;
    type Timer = Timer;
    type Output = Belief;
    type Misuse = Infallible;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.beat(out);
        if let Some(before) = self.predecessor() {
            self.listen(before, out);
        }
    }

    fn on_command(&mut self, command: Infallible, _: &mut Effects<Self>) -> Result<(), Infallible> {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let probed = matches!(message, Message::Probe(_));
        let (Message::Alive(news)
        | Message::Probe(news)
        | Message::Present(news)
        | Message::Changed(news)) = message;
        self.learn(news, out);
        if self.counters.crashed().contains(from) {
            self.toggle(from, out);
        }
        if probed {
            out.send(from, Message::Present(self.news()));
        }
        if self.watched.is_some_and(|(watched, _)| watched == from) {
            self.listen(from, out);
        }
        self.watch(out);
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match (timer, self.watched) {
            (Timer::Beat, _) => self.beat(out),
            (Timer::Silence, Some((watched, Phase::Listening))) => self.probe(watched, out),
            (Timer::Silence, Some((watched, Phase::Probing))) => {
                self.toggle(watched, out);
                self.watch(out);
            }
            (Timer::Silence, None) => {}
        }
    }

    /// The other processes believe this process to be down. The probe informs its predecessor that it is up again.
    /// Its beliefs from before the crash may be out of date, and would make others suspect a process that has recovered
    /// meanwhile.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.counters.crashed().iter().for_each(|process| out.output(Belief::Alive(process)));
        self.counters = StatusCounters::default();
        self.beat(out);
        self.watched = None;
        self.watch(out);
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::detector("ALIVE"),
        Kind::detector("PROBE"),
        Kind::detector("PRESENT"),
        Kind::detector("CHANGED"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Alive(_) => 0,
            Self::Probe(_) => 1,
            Self::Present(_) => 2,
            Self::Changed(_) => 3,
        }
    }

    fn bytes(&self) -> Option<u64> {
        let (Self::Alive(news) | Self::Probe(news) | Self::Present(news) | Self::Changed(news)) =
            self;
        Some(1 + 16 * news.len() as u64)
    }

    /// A lying process invents a crash or a recovery.
    fn forged(&self, choice: u64) -> Self {
        let about = ProcessId::new((choice % 16) as u32);
        let news = Vec::from([(about, (choice / 16 % 8) as u32)]);
        match self {
            Self::Alive(_) => Self::Alive(news),
            Self::Probe(_) => Self::Probe(news),
            Self::Present(_) => Self::Present(news),
            Self::Changed(_) => Self::Changed(news),
        }
    }
}

impl Algorithm for HeartbeatRing {
    const PROFILE: Profile = Profile {
        name: "heartbeat-ring",
        layer: Layer::Detector,
        summary: "every process monitors its predecessor in a ring and reports crashes to all others",
        source: "Larrea, Arévalo, Fernández, DISC 1999",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::Synchrony, Assumption::Honesty],
        guarantees: &[Property::Completeness, Property::Accuracy],
        cost: "n messages a round; n + 2 for each crash",
        never_quiescent: true,
    };

    const SHAPE: Shape = Shape::Ring;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::with_delay_bounds(setup.n, id, setup.delay_bounds)
    }

    fn cost(setup: &Setup) -> Cost {
        let ring = Self::build(setup, ProcessId::new(0));
        // The last heartbeat arrives, a timeout passes in silence, a probe goes unanswered, the news arrives.
        let bound = setup.delay_bounds.bound;
        let noticed = bound + ring.timeouts.0 + ring.timeouts.1 + bound;
        let rounds = noticed.0.div_ceil(ring.period.0);
        Cost::between("n", 0, setup.n as u64).with_detection(rounds)
    }
}

impl Sound for HeartbeatRing {}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::{Effect, Time};

    #[test]
    fn the_next_one_back_is_probed_when_the_watched_one_has_crashed() {
        let delay_bounds = DelayBounds { delay: Span(10), bound: Span(10) };
        let mut p0 = HeartbeatRing::with_delay_bounds(4, ProcessId::new(0), delay_bounds);
        let [p2, p3] = [2, 3].map(ProcessId::new);
        let mut out = Effects::new(Time::ZERO);
        p0.on_start(&mut out);
        p0.on_timer(Timer::Silence, &mut out);
        assert_eq!(p0.watched, Some((p3, Phase::Probing)));
        p0.on_timer(Timer::Silence, &mut out);
        assert!(out.as_slice().contains(&Effect::Output(Belief::Crashed(p3))), "{out:?}");
        assert_eq!(p0.watched, Some((p2, Phase::Probing)));
        p0.on_message(p2, Message::Present(News::new()), &mut out);
        assert_eq!(p0.watched, Some((p2, Phase::Listening)));
        // A message from the suspected process withdraws the suspicion.
        p0.on_message(p3, Message::Alive(News::new()), &mut out);
        assert!(out.as_slice().contains(&Effect::Output(Belief::Alive(p3))), "{out:?}");
        assert_eq!(p0.watched, Some((p3, Phase::Probing)));
    }
}
