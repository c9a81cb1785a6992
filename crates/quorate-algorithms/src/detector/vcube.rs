//! VCube diagnosis: every process tests a few others and learns their knowledge of crashes from the answers.
//!
//! - **Source**: Duarte, Bona and Ruoso, "VCube: A Provably Scalable Distributed Diagnosis Algorithm", ScalA 2014.
//! - **Assumes**: synchrony: a test is answered within two bounds, and all processes begin their rounds at the same
//!   time; nothing is lost.
//! - **Guarantees**: completeness and, while the assumptions hold, accuracy. A crash or a recovery is known everywhere
//!   at most log2 n rounds (rounded up) after the round in which it happened, if nothing else changes meanwhile. A
//!   second crash may hit a process that was to pass the news on.
//! - **Costs**: at most n log2 n tests per round, with or without failures, and as many answers. While a recovery
//!   becomes known, both the recovered process and its substitutes test.
//! - **Departs from the paper**: an answer carries only the counters that have ever changed, not a counter for every
//!   process, and those of all processes, not of one cluster. A process has one tester in each of its log2 n clusters, so
//!   that it is tested up to log2 n times in a round and not once. A test fails after a timeout of two bounds, and each
//!   process tests at the beginning of its rounds. A process that learns of its own crash raises its counter in contradiction, and its next answers end the
//!   false suspicion. A process that recovers forgets what it knew of others. Answers may carry a piggybacked set of
//!   processes for a layer above.
//!
//! Assignment of tests: process i tests j of its cluster s exactly if i is the first member of c(j, s) that i believes
//! alive. So j has one tester in each of its clusters, and live processes take over the tests of crashed ones.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::detector::Detector;
use quorate_core::{
    Assumption, Belief, Cost, DelayBounds, Effects, Kind, Layer, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap, Span, VCube,
};

use super::status_counters::{CounterUpdate, StatusCounters};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the detector. `O` is its output type: [`Belief`] alone, or [`DiagnosisEvent`] if the layer above also
/// receives the data that other processes piggyback on their answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VcubeDiagnosis<O = Belief> {
    id: ProcessId,
    vcube: VCube,
    round: Span,
    timeout: Span,
    counters: StatusCounters,
    /// The processes to test. `None` if the list must be computed again because beliefs have changed.
    tests: Option<Vec<ProcessId>>,
    /// Processes tested in this round that have not answered yet. They are few, so a `Vec` is smaller than a bit set.
    unanswered: Vec<ProcessId>,
    /// The piggybacked set of each process, with its version.
    cargo: SortedMap<ProcessId, (u32, ProcessSet)>,
    output: PhantomData<O>,
}

/// Command of the layer above: piggyback this set on answers, in place of the previous one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piggyback(pub ProcessSet);

/// An output type of the diagnosis.
pub trait DiagnosisOutput: From<Belief> + Clone + Eq + Hash + Debug + Send + Sync {
    /// The output for a piggybacked set of process `by`. `None` if the layer above does not need it.
    fn piggybacked(by: ProcessId, cargo: &ProcessSet) -> Option<Self>;
}

impl DiagnosisOutput for Belief {
    fn piggybacked(_: ProcessId, _: &ProcessSet) -> Option<Self> {
        None
    }
}

/// A belief, or a set that a process piggybacks on its answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DiagnosisEvent {
    /// The belief about a process has changed.
    Belief(Belief),
    /// A process piggybacks a new set.
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

/// The messages of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks whether the receiver is alive.
    Test,
    /// Confirms that the sender is alive and carries its knowledge. `None` if nothing has ever changed.
    Answer(Option<Box<News>>),
}

/// All changes since the start that a process knows of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct News {
    changes: Vec<(ProcessId, u32)>,
    cargo: Vec<(ProcessId, u32, ProcessSet)>,
}

/// The timers of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The next round begins.
    Round,
    /// Tested processes that have not answered by now have crashed.
    Timeout,
}

impl<O: DiagnosisOutput> VcubeDiagnosis<O> {
    /// Creates the detector at process `id` of `n`, with the shortest rounds that the delays allow.
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
            cargo: SortedMap::new(),
            output: PhantomData,
        }
    }

    /// The processes that this process has to test.
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

    /// Starts a round if one begins now, else waits for the next one. All processes begin their rounds at the same times.
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
                // The next answers carry the new counter to the others.
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
        // Beliefs from before the crash may be out of date, and would make others suspect a process that has recovered
        // meanwhile.
        for process in self.counters.crashed() {
            out.output(Belief::Alive(process).into());
        }
        self.counters = StatusCounters::default();
        self.tests = None;
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

    /// A lying process invents a crash or a recovery.
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
        summary: "every process tests a few others and learns of crashes from their answers",
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

    /// An upper layer that passes on all events of the diagnosis.
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
        // Crashed processes are tested too. Otherwise a recovery would go unnoticed.
        assert_eq!(tested(&p0), [1, 2, 4]);
        for crashed in [1, 2] {
            p0.counters.toggle(ProcessId::new(crashed));
        }
        // c(3, 2) = (1, 0) and c(5, 3) = (1, 0, ..) have lost their first member; c(6, 3) = (2, 3, 0, 1) still has p3.
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
