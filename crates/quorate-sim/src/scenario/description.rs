//! The scenario: all keys of a small TOML file, or a set of flags, and the requests and limits that follow from them.

use std::fmt;
use std::str::FromStr;

use quorate_core::multicast::Group;
use quorate_core::{Assumption, ProcessId, Profile, Property, Span, Time, VCube};
use serde::{Deserialize, Serialize};

use super::claims::{ClaimOf, ConflictsText};
use super::delay::{Arrival, Delay, LinkDelay};
use super::expect::Expect;
use super::fault::{Faults, ProcessAt};
use super::local_clock::LocalClock;
use super::notation::{
    DriftText, Identify, NotationError, ProcessSelector, QuorumOf, SectionOf, SetText, SpanText,
    TreeText, When, serde_as_text,
};
use super::script::Script;
use super::timing::Timing;
use crate::random::{Random, Stream};

/// The complete description of a run. The fields, written with dashes, are the keys of a scenario file and mostly the
/// flags of the command line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Number of processes in the run.
    pub processes: usize,
    /// Seed of all random choices.
    #[serde(default)]
    pub seed: u64,
    /// Processes that request entry, multicast, begin an election or set their clock at the start. Not used in an
    /// agreement, where every process that has to propose does so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requesters: Requesters,
    /// Requests at explicit times, in place of `requesters`: `1@5ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request: Vec<ProcessAt>,
    /// Number of times that each requester enters, multicasts, begins an election or sets its clock.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeat: u32,
    /// Receivers of multicasts: `0,1,4`; default: every process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SetText>,
    /// The times of the first requests are drawn from zero to this.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spread: SpanText,
    /// Time that a process stays in the critical section.
    #[serde(default = "millisecond")]
    pub section: SpanText,
    /// Stays of single processes, in place of `section`: `0=3ms,1ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub section_of: Vec<SectionOf>,
    /// Pause of a user before it requests again. If it is zero, multicasts of one sender are one message delay apart,
    /// and clock requests of one process a hundred message delays.
    #[serde(default, skip_serializing_if = "is_default")]
    pub think: SpanText,
    /// Delay distribution of messages.
    #[serde(default = "constant_millisecond")]
    pub delay: Delay,
    /// Delay distributions of single links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_delay: Vec<LinkDelay>,
    /// Arrivals of single messages, by their numbers in the trace: `17@3ms`. All other delays stay the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrival: Vec<Arrival>,
    /// The timing model; default: synchronous if all delays are bounded, otherwise asynchronous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// Whether links keep the order of messages (FIFO).
    #[serde(default = "yes")]
    pub fifo: bool,
    /// Time that a process needs to handle a message.
    #[serde(default, skip_serializing_if = "is_default")]
    pub handling: SpanText,
    /// The failure detector that reports crashes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub detector: DetectorChoice,
    /// Delay of the oracle's notification of a crash; default: the mean message delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection: Option<Delay>,
    /// Delays of the oracle for single pairs, observer first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detection_pair: Vec<LinkDelay>,
    /// The server or the commander, if the algorithm has one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub server: u32,
    /// The spanning tree that messages follow, if the algorithm uses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeText>,
    /// Name of the quorum system, if the algorithm votes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorums: Option<String>,
    /// Explicit quorums, one for each process, in place of a quorum system: `0,1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quorum_sets: Vec<SetText>,
    /// Explicit quorums of single processes in a given view, in place of a quorum system: `3/1=0,2,3,5`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quorum_of: Vec<QuorumOf>,
    /// Whether votes are kept until the exit, in algorithms that could return them earlier.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_cancel: bool,
    /// Whether a leaving process passes the permission directly to
    /// the next one, in algorithms where the server could do so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hand_over: bool,
    /// Identifiers for an election, starting with process 0; default: the process numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u64>,
    /// Changes of identifiers at a time: `2:40@5ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identify: Vec<Identify>,
    /// Time that a process waits for each higher-ranked process
    /// before it becomes a candidate, if the algorithm supports it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rank_delay: SpanText,
    /// Initial values of the logical clocks, starting with process 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<u64>,
    /// Clocks of single machines: `1:+250ms`, `2:-1s:+50ppm`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local_clock: Vec<LocalClock>,
    /// Maximum initial offset of all clocks that `local_clock` does
    /// not list, drawn from the seed. Clocks of time servers are true.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock_offset: SpanText,
    /// Maximum drift of all clocks that `local_clock` does not list, drawn from the seed. Clocks of time servers are true.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock_drift: DriftText,
    /// The time servers, if the algorithm asks several: `0,1`; default: only `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<SetText>,
    /// Number of servers whose answers are awaited. A single answer is trusted; several are compared.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub replies: u32,
    /// Number of times that servers are asked before the best answer is used.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub probes: u32,
    /// Maximum distance of clocks that are averaged, if the algorithm averages; default: one second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlier: Option<SpanText>,
    /// Proposed values of an agreement, starting with process 0; default: n down to 1, or attack, or commit. For snapshots, the
    /// initial balances; default: 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<u64>,
    /// Number of faults that an agreement is to tolerate; default: that of the algorithm.
    #[serde(rename = "bears", default, skip_serializing_if = "Option::is_none")]
    pub tolerates: Option<usize>,
    /// Number of permits of a resource allocation; default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Processes that share resources: `ring` or `complete`; default: `ring`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<ConflictsText>,
    /// Claims of single processes, in place of those drawn from the seed: `0=read,write`, `1=group:2`, `2=with:1+3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claim_of: Vec<ClaimOf>,
    /// Steps of users, in algorithms that observe a computation: `0: send 1 20; record`. `request` has the times of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<Script>,
    /// Time at which the run stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<SpanText>,
    /// Maximum time that a process may wait (bounded ME2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<SpanText>,
    /// Properties to check even if the algorithm does not promise them, or the world is large.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<String>,
    /// Faults of the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub faults: Faults,
    /// Expected results of the run.
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

/// The processes with a request at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requesters {
    /// Only process 0 makes a request.
    #[default]
    One,
    /// All processes of the world.
    All,
    /// The processes with the lowest numbers, as many as given.
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

/// The failure detector that reports crashes to processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DetectorChoice {
    /// The oracle of the driver, which is wrong only if a fault makes it so.
    #[default]
    Oracle,
    /// Heartbeats: a layer below the algorithm, with its own messages.
    Heartbeat,
    /// Heartbeats around a ring, also as a layer below.
    HeartbeatRing,
    /// Heartbeats with adaptive timeouts, also as a layer below.
    AdaptiveHeartbeat,
    /// Tests over the VCube, also as a layer below.
    Vcube,
    /// No failure detector: crashes are never reported.
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
    /// The default run of an algorithm: n processes, of which process 0 makes a request.
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
            arrival: Vec::new(),
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
            capacity: None,
            conflicts: None,
            claim_of: Vec::new(),
            script: Vec::new(),
            until: None,
            patience: None,
            watch: Vec::new(),
            faults: Faults::default(),
            expect: None,
        }
    }

    /// Whether the scenario asks to check a property even if it is not promised.
    pub fn watches(&self, property: Property) -> bool {
        self.watch.iter().any(|id| id == property.id())
    }

    /// Number of messages in flight at the same time if all requesters send `messages` messages simultaneously; zero if
    /// requests are spread over time.
    pub fn burst(&self, messages: u64) -> u64 {
        let at_once = self.request.is_empty() && self.spread.0 == Span::ZERO;
        let requesters = if at_once { self.first_requests().len() as u64 } else { 0 };
        requesters.saturating_mul(messages)
    }

    /// Whether the detector sends messages forever, so that the run has to be stopped.
    pub fn detector_never_quiescent(&self) -> bool {
        !matches!(self.detector, DetectorChoice::Oracle | DetectorChoice::None)
    }

    /// Whether there are false suspicions and the algorithm tolerates them. It then retries until they end.
    pub fn has_false_suspicions(&self, profile: &Profile) -> bool {
        profile.assumes.contains(&Assumption::EventualDetector) && !self.faults.suspect.is_empty()
    }

    /// Whether the run may have to be stopped: processes or detectors never become quiescent, or suspicions may never end.
    pub fn may_never_end(&self, profile: &Profile) -> bool {
        profile.never_quiescent
            || self.detector_never_quiescent()
            || self.has_false_suspicions(profile)
    }

    /// Latest end of the run. If processes never become quiescent,
    /// the default is ten times the patience for each repetition.
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

    /// Maximum time that a process may wait. If the run never becomes quiescent, the default is a thousand mean delays of
    /// the slowest link, plus ten times the time that all processes need to enter one after the other, plus the time until
    /// the last crash or recovery, and ten times the mean time to detect it for each crash.
    pub fn patience(&self, never_quiescent: bool) -> Option<Span> {
        if let Some(patience) = self.patience {
            return Some(patience.0);
        }
        let slowest =
            self.link_delay.iter().map(|own| own.delay.mean()).fold(self.delay_unit(), Span::max);
        // Messages from all processes may arrive at the same time and queue for handling.
        let queueing = self.handling.0.0.saturating_mul(self.processes as u64);
        let delay = slowest.0.max(1).saturating_add(queueing);
        let turn = delay.saturating_add(self.section.0.0);
        let turns = turn.saturating_mul(10).saturating_mul(self.processes as u64);
        let faults = &self.faults;
        let moments = faults.crash.iter().map(|crash| crash.at);
        let moments = moments.chain(faults.crash_mid.iter().map(|crash| crash.at));
        let moments = moments.chain(faults.recover.iter().map(|recover| recover.at));
        let last_fault = moments.map(|at| at.latest().0).max().unwrap_or(0);
        let crashes = (faults.crash.len() + faults.crash_mid.len()) as u64;
        let detection = self.detection.as_ref().map_or(0, |detection| detection.mean().0);
        let detections = detection.saturating_mul(10).saturating_mul(crashes);
        let usual = delay.saturating_mul(1_000).saturating_add(turns);
        let usual = usual.saturating_add(last_fault).saturating_add(detections);
        never_quiescent.then_some(Span(usual))
    }

    /// Time that is long enough for a detector below to notice a crash, and for the algorithm to recover from it.
    pub fn quiet(&self) -> Span {
        let levels = u64::from(VCube::new(self.processes).dimension());
        Span(self.delay_bounds().bound.0.saturating_mul(20 * (levels + 2)))
    }

    /// The receivers of multicasts.
    pub fn group(&self) -> Group {
        self.to.as_ref().map_or(Group::All, |to| Group::Only(to.0.clone()))
    }

    /// The first requests with their times.
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

    /// Times of the first steps of each process. Steps that have no time follow after the last time that is given.
    pub fn step_times(&self) -> Vec<Vec<Span>> {
        let mut times = vec![Vec::new(); self.processes];
        let mut last = None;
        for (process, time) in self.first_requests() {
            times[process.index()].push(time);
            last = last.max(Some(time));
        }
        let Some(last) = last.filter(|_| !self.request.is_empty()) else {
            let mut random = Random::new(self.seed, Stream::Users);
            let mut first = || Span(random.between(0, self.spread.0.0));
            return times.iter().map(|_| vec![first()]).collect();
        };
        for own in &mut times {
            own.sort_unstable();
            own.push(last + self.delay_unit());
        }
        times
    }

    /// The changes of identifiers: process, time and new identifier.
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
