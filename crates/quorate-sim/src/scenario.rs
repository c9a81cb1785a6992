//! Scenarios: everything that makes a run, as a small TOML file or a set of flags.

use std::fmt;
use std::str::FromStr;

use quorate_core::multicast::Group;
use quorate_core::{
    Assumption, DelayBounds, ProcessId, ProcessSet, Profile, Property, Span, Time, VCube,
};
use serde::{Deserialize, Serialize};

use crate::delay::{Delay, LinkDelay};
use crate::expect::Expect;
use crate::fault::{Faults, ProcessAt};
use crate::local_clock::{Clocks, LocalClock};
use crate::network::LinkModel;
use crate::notation::{
    DriftText, Identify, NotationError, ProcessSelector, QuorumOf, SectionOf, SetText, SpanText,
    TreeText, When, serde_as_text,
};
use crate::oracle::OracleModel;
use crate::random::{Random, Stream};
use crate::timing::Timing;

/// More processes than this are not meant: the bound keeps hostile files from filling the memory.
pub const PROCESSES_MOST: usize = 1 << 24;

/// Everything that makes a run. The fields are the keys of a file and, with dashes, the flags of the
/// command line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// The algorithm's name.
    pub algorithm: String,
    /// How many processes there are.
    pub processes: usize,
    /// The seed of all chance.
    #[serde(default)]
    pub seed: u64,
    /// Who asks to enter, multicasts, begins an election or sets its clock at the start; in an agreement whoever has to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requesters: Requesters,
    /// Requests at times of their own, in place of `requesters`: `1@5ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request: Vec<ProcessAt>,
    /// How often each requester enters, multicasts or begins an election.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeat: u32,
    /// For whom messages are, where the algorithm multicasts: `0,1,4`; everybody if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SetText>,
    /// The first requests come at times drawn from zero to this.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spread: SpanText,
    /// How long a process stays inside.
    #[serde(default = "millisecond")]
    pub section: SpanText,
    /// How long single processes stay inside, in place of `section`: `0=3ms,1ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub section_of: Vec<SectionOf>,
    /// How long a user thinks between leaving and asking again, or between multicasts (a message delay if zero).
    #[serde(default, skip_serializing_if = "is_default")]
    pub think: SpanText,
    /// The law of message delays.
    #[serde(default = "constant_millisecond")]
    pub delay: Delay,
    /// Laws of single links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_delay: Vec<LinkDelay>,
    /// The timing model; what the delays allow if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// Whether links keep the order of messages.
    #[serde(default = "yes")]
    pub fifo: bool,
    /// How long a process takes to handle a message.
    #[serde(default, skip_serializing_if = "is_default")]
    pub handling: SpanText,
    /// Where news of crashes comes from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub detector: DetectorChoice,
    /// How long the oracle takes to tell an observer of a crash; a mean link delay if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<Delay>,
    /// The same for single pairs, observer first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detection_pair: Vec<LinkDelay>,
    /// The process that serves the others or commands, where the algorithm has one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub server: u32,
    /// The tree to talk along, where the algorithm does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeText>,
    /// The quorum system, where the algorithm votes: one of the names that it can work over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorums: Option<String>,
    /// Quorums written down, one for each process, in place of a system: `0,1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quorum_sets: Vec<SetText>,
    /// Single quorums written down, for one view each, in place of a system: `3/1=0,2,3,5`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quorum_of: Vec<QuorumOf>,
    /// Whether votes are kept until leaving, where the algorithm could give them back earlier.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_cancel: bool,
    /// Whether the permission goes straight from the leaving to the next, where a server could pass it on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hand_over: bool,
    /// The identifiers with which processes stand for election, from process 0 on; their numbers if not said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u64>,
    /// Other identifiers from a time on: `2:40@5ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identify: Vec<Identify>,
    /// How long a process waits for each one above it before it stands, where the algorithm can.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rank_delay: SpanText,
    /// What the logical clocks show at the start, from process 0 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<u64>,
    /// The clocks of single machines: `1:+250ms`, `2:-1s:+50ppm`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local_clock: Vec<LocalClock>,
    /// Every other clock is off at the start, by up to this, as the seed has it. Servers of the time are right.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock_offset: SpanText,
    /// Every other clock gains or loses up to this, as the seed has it. Servers of the time are right.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock_drift: DriftText,
    /// Those who serve the time, where the algorithm asks several; `server` alone if not said: `0,1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<SetText>,
    /// How many servers' answers are waited for: the first one is believed, several are compared.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub replies: u32,
    /// How often servers are asked before the best answer is taken.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub probes: u32,
    /// Clocks further apart than this are not averaged, where the algorithm averages; a second if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlier: Option<SpanText>,
    /// What is proposed in an agreement, from process 0 on; where nothing is said, n to 1, to attack or to commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<u64>,
    /// How many faults an agreement is to bear; what the algorithm does usually if not said.
    #[serde(rename = "bears", default, skip_serializing_if = "Option::is_none")]
    pub tolerates: Option<usize>,
    /// Nothing later than this happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<SpanText>,
    /// Nobody may wait longer than this (ME2 by a bound).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<SpanText>,
    /// Properties to watch though the algorithm does not promise them, or the world is large.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<String>,
    /// What goes wrong.
    #[serde(default, skip_serializing_if = "is_default")]
    pub faults: Faults,
    /// What should come of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u32 {
    1
}

fn is_one(value: &u32) -> bool {
    *value == 1
}

fn yes() -> bool {
    true
}

fn millisecond() -> SpanText {
    SpanText(Span::from_millis(1))
}

fn constant_millisecond() -> Delay {
    Delay::Constant(Span::from_millis(1))
}

/// Who asks to enter at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requesters {
    /// Process 0.
    #[default]
    One,
    /// Every process.
    All,
    /// The first so many.
    First(usize),
}

impl FromStr for Requesters {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        match text {
            "one" => Ok(Self::One),
            "all" => Ok(Self::All),
            _ => text
                .parse()
                .map(Self::First)
                .map_err(|_| NotationError::new("one, all or a number of processes", text)),
        }
    }
}

impl fmt::Display for Requesters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One => f.write_str("one"),
            Self::All => f.write_str("all"),
            Self::First(count) => count.fmt(f),
        }
    }
}

/// Where news of crashes comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DetectorChoice {
    /// The driver, which is never wrong unless told to be.
    #[default]
    Oracle,
    /// Heartbeats: a layer of the processes' own, with messages of its own.
    Heartbeat,
    /// Heartbeats round a ring, likewise.
    HeartbeatRing,
    /// Heartbeats with timeouts that adapt, likewise.
    AdaptiveHeartbeat,
    /// Tests over the VCube, likewise.
    Vcube,
    /// Nowhere.
    None,
}

impl DetectorChoice {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Oracle, "oracle"),
        (Self::Heartbeat, "heartbeat"),
        (Self::HeartbeatRing, "heartbeat-ring"),
        (Self::AdaptiveHeartbeat, "adaptive-heartbeat"),
        (Self::Vcube, "vcube"),
        (Self::None, "none"),
    ];
}

impl FromStr for DetectorChoice {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let found = Self::ALL.into_iter().find(|(_, name)| *name == text);
        found.map(|(choice, _)| choice).ok_or_else(|| {
            let expected =
                "a detector: oracle, heartbeat, heartbeat-ring, adaptive-heartbeat, vcube or none";
            NotationError::new(expected, text)
        })
    }
}

impl fmt::Display for DetectorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.into_iter().find(|(choice, _)| choice == self).map_or("", |it| it.1);
        f.write_str(name)
    }
}

serde_as_text!(Requesters, DetectorChoice);

impl Scenario {
    /// The default run of an algorithm: n processes, the first of which asks to enter.
    pub fn new(algorithm: &str, processes: usize) -> Self {
        Self {
            algorithm: algorithm.to_owned(),
            processes,
            seed: 0,
            requesters: Requesters::default(),
            request: Vec::new(),
            repeat: one(),
            to: None,
            spread: SpanText::default(),
            section: millisecond(),
            section_of: Vec::new(),
            think: SpanText::default(),
            delay: constant_millisecond(),
            link_delay: Vec::new(),
            timing: None,
            fifo: yes(),
            handling: SpanText::default(),
            detector: DetectorChoice::default(),
            detection: None,
            detection_pair: Vec::new(),
            server: 0,
            tree: None,
            quorums: None,
            quorum_sets: Vec::new(),
            quorum_of: Vec::new(),
            no_cancel: false,
            hand_over: false,
            ids: Vec::new(),
            identify: Vec::new(),
            rank_delay: SpanText::default(),
            clocks: Vec::new(),
            local_clock: Vec::new(),
            clock_offset: SpanText::default(),
            clock_drift: DriftText::default(),
            servers: None,
            replies: one(),
            probes: one(),
            outlier: None,
            values: Vec::new(),
            tolerates: None,
            until: None,
            patience: None,
            watch: Vec::new(),
            faults: Faults::default(),
            expect: None,
        }
    }

    /// The timing model: what the delays allow, if it was not said.
    pub fn timing(&self) -> Timing {
        self.timing.unwrap_or(if self.delay_bound().is_some() {
            Timing::Synchronous
        } else {
            Timing::Asynchronous
        })
    }

    /// The longest a message may take, if there is such a thing.
    pub fn delay_bound(&self) -> Option<Span> {
        let own = self.link_delay.iter().map(|own| own.delay.bound());
        own.chain([self.delay.bound()])
            .try_fold(Span::ZERO, |longest, bound| bound.map(|bound| longest.max(bound)))
    }

    /// The mean delay: the unit in which algorithms' delays are reported.
    pub fn delay_unit(&self) -> Span {
        match self.timing() {
            Timing::Rounds(length) => length,
            _ => self.delay.mean(),
        }
    }

    /// The shortest that a message may take.
    pub fn delay_least(&self) -> Span {
        match self.timing() {
            // What is sent late in a round arrives with the rest.
            Timing::Rounds(_) => Span::ZERO,
            _ => {
                let own = self.link_delay.iter().map(|own| own.delay.least());
                own.fold(self.delay.least(), Span::min)
            }
        }
    }

    /// The clocks of the machines, where none of them serves the time.
    pub fn local_clocks(&self) -> Clocks {
        Clocks::new(self, &ProcessSet::new())
    }

    /// Those who serve the time.
    pub fn time_servers(&self) -> ProcessSet {
        match &self.servers {
            Some(servers) => servers.0.clone(),
            None => ProcessSet::from_iter([ProcessId::new(self.server)]),
        }
    }

    /// How the links are.
    pub fn links(&self) -> LinkModel {
        let (delay, link_delay) = (self.delay.clone(), self.link_delay.clone());
        LinkModel { delay, link_delay, timing: self.timing(), fifo: self.fifo }
    }

    /// The driver's detector, if it is to have one.
    pub fn oracle(&self) -> Option<OracleModel> {
        (self.detector == DetectorChoice::Oracle).then(|| OracleModel {
            delay: self.detection.clone().unwrap_or(Delay::Constant(self.delay_unit())),
            pairs: self.detection_pair.clone(),
        })
    }

    /// What a detector may know about time, as far as the timing model lets one know.
    pub fn delay_bounds(&self) -> DelayBounds {
        // Where messages take no time, something else has to set the pace.
        let unit = Some(self.delay_unit())
            .filter(|unit| *unit > Span::ZERO)
            .unwrap_or(Span::from_millis(1));
        let known = match self.timing() {
            Timing::Rounds(length) => Some(length),
            timing => self.delay_bound().filter(|_| timing.is_synchronous()),
        };
        // What arrives together queues to be handled: word from everybody.
        let queueing = Span(self.handling.0.0.saturating_mul(self.processes as u64));
        let bound = known.unwrap_or(Span(unit.0.saturating_mul(2))) + queueing;
        DelayBounds { delay: unit, bound }
    }

    /// Whether a property is to be watched though it is not promised.
    pub fn watches(&self, property: Property) -> bool {
        self.watch.iter().any(|id| id == property.id())
    }

    /// How many messages are soon under way together if all ask at once and each asks with so many.
    pub fn burst(&self, messages: u64) -> u64 {
        let at_once = self.request.is_empty() && self.spread.0 == Span::ZERO;
        let requesters = if at_once { self.first_requests().len() as u64 } else { 0 };
        requesters.saturating_mul(messages)
    }

    /// Whether the detector's messages never cease, so that the run has to be stopped.
    pub fn detector_never_quiescent(&self) -> bool {
        !matches!(self.detector, DetectorChoice::Oracle | DetectorChoice::None)
    }

    /// Whether an algorithm that bears wrong suspicions goes on trying until they stop.
    pub fn has_false_suspicions(&self, profile: &Profile) -> bool {
        profile.assumes.contains(&Assumption::EventualDetector) && !self.faults.suspect.is_empty()
    }

    /// Whether the run may have to be stopped: processes or detectors never fall silent, or suspicions never stop.
    pub fn may_never_end(&self, profile: &Profile) -> bool {
        profile.never_quiescent
            || self.detector_never_quiescent()
            || self.has_false_suspicions(profile)
    }

    /// Whether neither messages nor their handling take any time.
    pub fn is_timeless(&self) -> bool {
        self.links().timing.is_timeless(&self.delay) && self.handling.0 == Span::ZERO
    }

    /// When the run stops at the latest; where processes never fall silent, after ten times what anybody may wait.
    pub fn until(&self, never_quiescent: bool) -> Time {
        let patience = never_quiescent.then(|| self.patience(true)).flatten();
        match (self.until, patience) {
            (Some(until), _) => Time(until.0.0),
            (None, Some(patience)) => {
                Time(patience.0.saturating_mul(10).saturating_mul(u64::from(self.repeat)))
            }
            (None, None) => Time::NEVER,
        }
    }

    /// How long anybody may wait. Where the end of the run tells nothing: a thousand mean delays, and ten times
    /// what it takes everybody to enter after the other.
    pub fn patience(&self, never_quiescent: bool) -> Option<Span> {
        let turn = (self.delay_unit() + self.section.0).0;
        let turns = turn.saturating_mul(10).saturating_mul(self.processes as u64);
        let usual = self.delay_unit().0.max(1).saturating_mul(1_000).saturating_add(turns);
        self.patience.map(|patience| patience.0).or_else(|| never_quiescent.then_some(Span(usual)))
    }

    /// Long enough for a detector below to notice a crash, and for what it disturbed to be mended.
    pub fn quiet(&self) -> Span {
        let levels = u64::from(VCube::new(self.processes).dimension());
        Span(self.delay_bounds().bound.0.saturating_mul(20 * (levels + 2)))
    }

    /// For whom messages are.
    pub fn group(&self) -> Group {
        self.to.as_ref().map_or(Group::All, |to| Group::Only(to.0.clone()))
    }

    /// The first requests, and when.
    pub fn first_requests(&self) -> Vec<(ProcessId, Span)> {
        let mut random = Random::new(self.seed, Stream::Users);
        let mut draw = |low: u64, high: u64| Span(random.between(low, high));
        if self.request.is_empty() {
            let count = match self.requesters {
                Requesters::One => 1,
                Requesters::All => self.processes,
                Requesters::First(count) => count,
            };
            return ProcessId::all(count)
                .map(|process| (process, draw(0, self.spread.0.0)))
                .collect();
        }
        let request = |request: &ProcessAt| {
            let process = match request.process {
                ProcessSelector::Process(process) => process,
                ProcessSelector::Any => {
                    ProcessId::from_index(draw(0, self.processes as u64 - 1).0 as usize)
                }
            };
            let after = match request.at {
                When::At(time) => Span(time.0),
                When::Between(low, high) => draw(low.0, high.0),
            };
            (process, after)
        };
        self.request.iter().map(request).collect()
    }

    /// Who gets another identifier, when and which.
    pub fn identifications(&self) -> Vec<(ProcessId, Span, u64)> {
        let mut random = Random::new(self.seed, Stream::Identifiers);
        let mut draw = |low: u64, high: u64| random.between(low, high);
        let settle = |identify: &Identify| {
            let process = match identify.process {
                ProcessSelector::Process(process) => process,
                ProcessSelector::Any => {
                    ProcessId::from_index(draw(0, self.processes as u64 - 1) as usize)
                }
            };
            let after = match identify.at {
                When::At(time) => Span(time.0),
                When::Between(low, high) => Span(draw(low.0, high.0)),
            };
            (process, after, identify.value)
        };
        self.identify.iter().map(settle).collect()
    }
}
