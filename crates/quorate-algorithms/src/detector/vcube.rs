//! VCube diagnosis: everyone tests a few others and learns from them what they know.
//!
//! - **Source**: Duarte, Bona and Ruoso, "VCube: A Provably Scalable Distributed Diagnosis Algorithm", ScalA 2014.
//! - **Assumes**: synchrony: a test is answered within two bounds, and rounds begin together; nothing is lost.
//! - **Guarantees**: completeness and, while the assumptions hold, accuracy. A crash or a recovery is known
//!   everywhere at most log2 n rounds (rounded up) after the one in which it happened, if nothing else changes
//!   meanwhile: a second crash may strike who was to pass the news on.
//! - **Costs**: at most n log2 n tests a round, failures or not, and as many answers. While a recovery is becoming
//!   known, those who stood in for the one that is back test beside it.
//! - **Departs from the paper**: an answer carries only what ever changed, not a counter for everyone. A process that
//!   hears of its own crash says that it is alive, which ends a false suspicion without waiting for the next test.
//!   Answers may carry a set of processes for a layer above.
//!
//! Whom to test: process i tests j of its cluster s exactly if i is the first of c(j, s) that i believes alive. So j
//! has one tester in each of its clusters, and who survives takes over for who does not.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::detector::Detector;
use quorate_core::{
    Assumption, Belief, Cost, DelayBounds, Effects, Kind, Layer, Process, ProcessId, ProcessSet,
    Profile, Property, Span, VCube,
};

use super::status_counters::{CounterUpdate, StatusCounters};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the detector. `O` is what it puts out: beliefs alone, or [`DiagnosisEvent`] if the layer above also
/// wants to hear what others let ride on their answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VcubeDiagnosis<O = Belief> {
    id: ProcessId,
    vcube: VCube,
    round: Span,
    timeout: Span,
    counters: StatusCounters,
    /// Whom to test; none if that has to be found out again, because others are believed to have crashed.
    tests: Option<Vec<ProcessId>>,
    /// Tested in this round, without an answer so far: few, so that a set of bits would be larger.
    unanswered: Vec<ProcessId>,
    /// What each process lets ride, and which version of it.
    cargo: BTreeMap<ProcessId, (u32, ProcessSet)>,
    output: PhantomData<O>,
}

/// What the layer above may ask: let this set ride on answers, in place of an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piggyback(pub ProcessSet);

/// What a diagnosis puts out.
pub trait DiagnosisOutput: From<Belief> + Clone + Eq + Hash + Debug + Send + Sync {
    /// A process lets this ride; none if nobody is interested.
    fn piggybacked(by: ProcessId, cargo: &ProcessSet) -> Option<Self>;
}

impl DiagnosisOutput for Belief {
    fn piggybacked(_: ProcessId, _: &ProcessSet) -> Option<Self> {
        None
    }
}

/// A belief, or what a process lets ride on its answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DiagnosisEvent {
    /// The detector has changed its mind.
    Belief(Belief),
    /// A process carries something new.
    Piggybacked(ProcessId, ProcessSet),
}

impl From<Belief> for DiagnosisEvent {
    fn from(belief: Belief) -> Self {
        Self::Belief(belief)
    }
}

impl DiagnosisOutput for DiagnosisEvent {
    fn piggybacked(by: ProcessId, cargo: &ProcessSet) -> Option<Self> {
        Some(Self::Piggybacked(by, cargo.clone()))
    }
}

/// What testers and tested say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Are you there?
    Test,
    /// I am, and this is what I know; nothing, if nothing ever happened.
    Answer(Option<Box<News>>),
}

/// All that a process knows to have changed since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct News {
    changes: Vec<(ProcessId, u32)>,
    cargo: Vec<(ProcessId, u32, ProcessSet)>,
}

/// When to act.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The next round begins.
    Round,
    /// Whoever has not answered has crashed.
    Timeout,
}

impl<O: DiagnosisOutput> VcubeDiagnosis<O> {
    /// The detector at process `id` of n, with rounds as short as messages allow.
    pub fn with_delay_bounds(n: usize, id: ProcessId, delay_bounds: DelayBounds) -> Self {
        let timeout = delay_bounds.bound + delay_bounds.bound + Span(1);
        let round = Span(delay_bounds.delay.0.saturating_mul(4)).max(timeout + Span(1));
        Self {
            id,
            vcube: VCube::new(n),
            round,
            timeout,
            counters: StatusCounters::default(),
            tests: None,
            unanswered: Vec::new(),
            cargo: BTreeMap::new(),
            output: PhantomData,
        }
    }

    /// Those whom it is this process's turn to test.
    fn to_test(&self) -> Vec<ProcessId> {
        let mine = |s, &j: &ProcessId| {
            self.vcube.first_live(j, s, self.counters.crashed()) == Some(self.id)
        };
        let clusters = self.vcube.clusters();
        clusters.flat_map(|s| self.vcube.cluster(self.id, s).filter(move |j| mine(s, j))).collect()
    }

    fn begin_round(&mut self, out: &mut Effects<Self>) {
        let tests = self.tests.take().unwrap_or_else(|| self.to_test());
        self.unanswered.clone_from(&tests);
        out.multicast(tests.iter().copied().collect(), Message::Test);
        self.tests = Some(tests);
        out.set_timer(Timer::Timeout, self.timeout);
        out.set_timer(Timer::Round, self.round);
    }

    /// Rounds begin together: one who comes in the middle waits for the next.
    fn join_next_round(&mut self, out: &mut Effects<Self>) {
        match out.now().0 % self.round.0 {
            0 => self.begin_round(out),
            late => out.set_timer(Timer::Round, Span(self.round.0 - late)),
        }
    }

    fn judge(&mut self, out: &mut Effects<Self>) {
        for silent in core::mem::take(&mut self.unanswered) {
            if !self.counters.crashed().contains(silent) {
                let belief = self.counters.toggle(silent);
                self.report_belief(belief, out);
            }
        }
    }

    fn news(&self) -> Option<Box<News>> {
        let changes = self.counters.all();
        let cargo = self.cargo.iter();
        let cargo: Vec<_> =
            cargo.map(|(by, (version, cargo))| (*by, *version, cargo.clone())).collect();
        let nothing = changes.is_empty() && cargo.is_empty();
        (!nothing).then(|| Box::new(News { changes, cargo }))
    }

    fn learn(&mut self, news: News, out: &mut Effects<Self>) {
        for (about, counter) in news.changes {
            match self.counters.update(self.vcube.processes(), self.id, about, counter) {
                CounterUpdate::Impossible => out.ignored("impossible news"),
                CounterUpdate::New(belief) => self.report_belief(belief, out),
                // The next answers tell them.
                CounterUpdate::Old | CounterUpdate::Contradicted => {}
            }
        }
        for (by, version, cargo) in news.cargo {
            if by.index() >= self.vcube.processes() {
                out.ignored("impossible news");
            } else if by != self.id && self.cargo.get(&by).is_none_or(|(known, _)| version > *known)
            {
                O::piggybacked(by, &cargo).into_iter().for_each(|finding| out.output(finding));
                self.cargo.insert(by, (version, cargo));
            }
        }
    }

    fn report_belief(&mut self, belief: Option<Belief>, out: &mut Effects<Self>) {
        if let Some(belief) = belief {
            self.tests = None;
            out.output(belief.into());
        }
    }
}

impl Detector for VcubeDiagnosis<Belief> {
    fn round(&self) -> Span {
        self.round
    }
}

impl<O: DiagnosisOutput> Process for VcubeDiagnosis<O> {
    type Command = Piggyback;
    type Message = Message;
    type Timer = Timer;
    type Output = O;
    type Misuse = Infallible;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.join_next_round(out);
    }

    fn on_command(
        &mut self,
        Piggyback(cargo): Piggyback,
        _: &mut Effects<Self>,
    ) -> Result<(), Infallible> {
        let own = self.cargo.entry(self.id).or_default();
        *own = (own.0.saturating_add(1), cargo);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Test => out.send(from, Message::Answer(self.news())),
            Message::Answer(news) => {
                self.unanswered.retain(|tested| *tested != from);
                news.into_iter().for_each(|news| self.learn(*news, out));
                if self.counters.crashed().contains(from) {
                    let belief = self.counters.toggle(from);
                    self.report_belief(belief, out);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match timer {
            Timer::Round => self.begin_round(out),
            Timer::Timeout => self.judge(out),
        }
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.unanswered.clear();
        self.join_next_round(out);
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::detector("TEST"), Kind::detector("ANSWER")];

    fn kind(&self) -> usize {
        match self {
            Self::Test => 0,
            Self::Answer(_) => 1,
        }
    }

    /// A liar makes up a crash or a recovery.
    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Test => Self::Test,
            Self::Answer(_) => {
                let about = ProcessId::new((choice % 16) as u32);
                let changes = Vec::from([(about, (choice / 16 % 8) as u32)]);
                Self::Answer(Some(Box::new(News { changes, cargo: Vec::new() })))
            }
        }
    }
}

impl Algorithm for VcubeDiagnosis {
    const PROFILE: Profile = Profile {
        name: "vcube-diagnosis",
        layer: Layer::Detector,
        summary: "everyone tests a few others and learns from them what they know",
        source: "Duarte, Bona, Ruoso, ScalA 2014",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::Synchrony, Assumption::Honesty],
        guarantees: &[Property::Completeness, Property::Accuracy],
        cost: "at most n log2 n tests a round, and as many answers",
        never_quiescent: true,
    };

    const SHAPE: Shape = Shape::VCube;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::with_delay_bounds(setup.n, id, setup.delay_bounds)
    }

    fn cost(setup: &Setup) -> Cost {
        let rounds = u64::from(VCube::new(setup.n).dimension());
        Cost::between("n log2 n", 0, setup.n as u64 * rounds).with_detection(rounds)
    }
}

impl Sound for VcubeDiagnosis {}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::{Effect, Route, Stack, Time, UpperLayer};

    type PiggybackingDiagnosis = VcubeDiagnosis<DiagnosisEvent>;

    /// A layer above that hears what others carry.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct UpperStub;

    impl Process for UpperStub {
        type Command = Infallible;
        type Message = Message;
        type Timer = Infallible;
        type Output = DiagnosisEvent;
        type Misuse = Infallible;

        fn on_command(
            &mut self,
            command: Infallible,
            _: &mut Effects<Self>,
        ) -> Result<(), Infallible> {
            match command {}
        }
        fn on_message(&mut self, _: ProcessId, _: Message, _: &mut Effects<Self>) {}
    }

    impl UpperLayer<PiggybackingDiagnosis> for UpperStub {
        type Up = DiagnosisEvent;

        fn on_lower_output(&mut self, found: DiagnosisEvent, out: &mut Effects<Self>) {
            out.output(found);
        }
        fn route(found: DiagnosisEvent) -> Route<DiagnosisEvent, Piggyback> {
            Route::Up(found)
        }
    }

    fn with_delay_bounds<O: DiagnosisOutput>(n: usize, id: u32) -> VcubeDiagnosis<O> {
        let delay_bounds = DelayBounds { delay: Span(10), bound: Span(10) };
        VcubeDiagnosis::with_delay_bounds(n, ProcessId::new(id), delay_bounds)
    }

    fn tested(process: &VcubeDiagnosis) -> Vec<u32> {
        let mut tested: Vec<u32> = process.to_test().into_iter().map(ProcessId::number).collect();
        tested.sort_unstable();
        tested
    }

    #[test]
    fn who_survives_tests_in_place_of_who_does_not() {
        let mut p0 = with_delay_bounds(8, 0);
        assert_eq!(tested(&p0), [1, 2, 4]);
        p0.counters.toggle(ProcessId::new(4));
        // The crashed are tested too, or nobody would see them come back.
        assert_eq!(tested(&p0), [1, 2, 4]);
        for crashed in [1, 2] {
            p0.counters.toggle(ProcessId::new(crashed));
        }
        // c(3, 2) = (1, 0) and c(5, 3) = (1, 0, ..) have lost their first; c(6, 3) = (2, 3, 0, 1) still has p3.
        assert_eq!(tested(&p0), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn one_who_hears_of_its_own_crash_contradicts() {
        let mut p0: VcubeDiagnosis = with_delay_bounds(4, 0);
        let mut out = Effects::new(Time::ZERO);
        let news = News { changes: Vec::from([(ProcessId::new(0), 3)]), cargo: Vec::new() };
        p0.on_message(ProcessId::new(1), Message::Answer(Some(Box::new(news))), &mut out);
        assert_eq!(p0.counters.of(p0.id), 4);
        assert!(out.as_slice().is_empty(), "nobody suspects itself: {out:?}");
    }

    #[test]
    fn piggybacked_data_is_heard_once_and_passed_on() {
        let mut p1: PiggybackingDiagnosis = with_delay_bounds(4, 1);
        let cargo = ProcessSet::from_iter([3].map(ProcessId::new));
        let mut out = Effects::new(Time::ZERO);
        p1.on_command(Piggyback(cargo.clone()), &mut out).unwrap();
        p1.on_message(ProcessId::new(0), Message::Test, &mut out);
        let Some(Effect::Send { message, .. }) = out.into_iter().next() else {
            panic!("no answer")
        };
        let mut p0 = Stack::<_, PiggybackingDiagnosis>::new(UpperStub, with_delay_bounds(4, 0));
        for expected in [1, 0] {
            let mut out = Effects::new(Time::ZERO);
            let answer = quorate_core::Layered::Lower(message.clone());
            p0.on_message(ProcessId::new(1), answer, &mut out);
            let heard =
                Effect::Output(DiagnosisEvent::Piggybacked(ProcessId::new(1), cargo.clone()));
            assert_eq!(out.into_iter().filter(|effect| *effect == heard).count(), expected);
        }
        assert!(p0.lower().news().is_some_and(|news| news.cargo.len() == 1), "it is passed on");
    }
}
