//! The fault plan: turns faults in their notation into events at fixed times. The seed decides what was left open.

use std::fmt;

use quorate_core::{ProcessId, ProcessSet, Span, Time};
use serde::{Deserialize, Serialize};

use super::fault::Faults;
use super::notation::{Link, ProcessSelector, When, Window};
use super::traitor::Strategy;
use crate::random::{Random, Stream};

/// The faults of a run, with all random choices made.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Fault events in the order of their times.
    pub fault_events: Vec<(Time, FaultEvent)>,
    /// Probability that a message is lost.
    pub loss: f64,
    /// Probability that a message arrives twice.
    pub duplication: f64,
    /// Probability that a message is overtaken.
    pub reordering: f64,
    /// Probability that a link changes the contents of a message.
    pub corruption: f64,
    /// Processes that follow a strategy instead of the algorithm.
    pub traitors: Vec<(ProcessId, Strategy)>,
}

/// A fault, or the end of one, that is injected into a world.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultEvent {
    /// The process crashes and stops.
    Crash(ProcessId),
    /// The process will crash after this number of sends of its next multicast.
    CrashMid(ProcessId, u32),
    /// The process recovers, with or without memory.
    Recover(ProcessId, Memory),
    /// The process omits to send with this probability.
    OmitSend(ProcessId, f64),
    /// The process omits to receive with this probability.
    OmitReceive(ProcessId, f64),
    /// The process takes this long to handle a message; none restores the usual time.
    Handling(ProcessId, Option<Span>),
    /// The process runs faster by this factor.
    Pace(ProcessId, f64),
    /// The clock of the process runs at this rate.
    Clock(ProcessId, f64),
    /// The link is cut or restored.
    Link {
        /// The sender of the link.
        from: ProcessId,
        /// The receiver of the link.
        to: ProcessId,
        /// Whether the link is cut.
        cut: bool,
    },
    /// The network is partitioned into these groups.
    Partition(Vec<ProcessSet>),
    /// The network partition ends.
    Heal,
    /// The observer starts or stops to suspect a live process.
    Suspect {
        /// The process that suspects.
        observer: ProcessId,
        /// The process that is suspected.
        victim: ProcessId,
        /// Whether the suspicion starts or ends.
        active: bool,
    },
    /// The next message on a link has a fault.
    NextOnLink {
        /// The sender of the link.
        from: ProcessId,
        /// The receiver of the link.
        to: ProcessId,
        /// The fault of the message.
        message_fault: MessageFault,
    },
}

impl FaultEvent {
    /// The affected process: the first of several, and process 0 if the fault affects the whole network.
    pub fn victim(&self) -> ProcessId {
        match self {
            Self::Crash(process)
            | Self::CrashMid(process, _)
            | Self::Recover(process, _)
            | Self::OmitSend(process, _)
            | Self::OmitReceive(process, _)
            | Self::Handling(process, _)
            | Self::Pace(process, _)
            | Self::Clock(process, _)
            | Self::Link { from: process, .. }
            | Self::Suspect { observer: process, .. }
            | Self::NextOnLink { from: process, .. } => *process,
            Self::Partition(_) | Self::Heal => ProcessId::new(0),
        }
    }

    /// All affected processes; empty if the fault affects the whole network.
    pub fn victims(&self) -> Vec<ProcessId> {
        match self {
            Self::Partition(_) | Self::Heal => Vec::new(),
            Self::Link { from, to, .. } | Self::NextOnLink { from, to, .. } => vec![*from, *to],
            Self::Suspect { observer, victim, .. } => vec![*observer, *victim],
            one => vec![one.victim()],
        }
    }
}

/// Describes the event in words: `p2 crashes`.
impl fmt::Display for FaultEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash(process) => write!(f, "{process} crashes"),
            Self::CrashMid(process, sends) => {
                write!(f, "{process} is to crash after {sends} sends of its next multicast")
            }
            Self::Recover(process, Memory::Kept) => write!(f, "{process} comes back"),
            Self::Recover(process, Memory::Lost) => {
                write!(f, "{process} comes back without memory")
            }
            Self::OmitSend(process, 0.0) => write!(f, "{process} sends again"),
            Self::OmitSend(process, rate) => write!(f, "{process} omits to send ({rate})"),
            Self::OmitReceive(process, 0.0) => write!(f, "{process} receives again"),
            Self::OmitReceive(process, rate) => write!(f, "{process} omits to receive ({rate})"),
            Self::Handling(process, Some(span)) => {
                write!(f, "{process} takes {span} for each message")
            }
            Self::Handling(process, None) => write!(f, "{process} is as quick as usual again"),
            Self::Pace(process, factor) => write!(f, "{process} runs {factor} times as fast"),
            Self::Clock(process, rate) => {
                write!(f, "the clock of {process} runs {rate} times as fast")
            }
            Self::Link { from, to, cut: true } => write!(f, "the link from {from} to {to} is dead"),
            Self::Link { from, to, cut: false } => {
                write!(f, "the link from {from} to {to} works again")
            }
            Self::Partition(groups) => {
                let groups: Vec<String> = groups.iter().map(ProcessSet::to_string).collect();
                write!(f, "partition into {}", groups.join(" "))
            }
            Self::Heal => f.write_str("the partition heals"),
            Self::Suspect { observer, victim, active: true } => {
                write!(f, "{observer} wrongly suspects {victim}")
            }
            Self::Suspect { observer, victim, active: false } => {
                write!(f, "{observer} no longer suspects {victim}")
            }
            Self::NextOnLink { from, to, message_fault } => {
                let fate = match message_fault {
                    MessageFault::Loss => "lost",
                    MessageFault::Duplication => "duplicated",
                    MessageFault::Reordering => "overtaken",
                    MessageFault::Corruption => "changed",
                };
                write!(f, "the next message from {from} to {to} is to be {fate}")
            }
        }
    }
}

/// Whether a process recovers with its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// The process has its state from before the crash.
    Kept,
    /// The process has lost its state and starts again.
    Lost,
}

/// A fault of a single message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFault {
    /// The message is lost.
    Loss,
    /// The message arrives twice.
    Duplication,
    /// The message is overtaken by a later one.
    Reordering,
    /// The contents of the message are changed.
    Corruption,
}

impl Plan {
    /// Time of the last fault event; zero if there are none.
    pub fn end(&self) -> Time {
        self.fault_events.iter().map(|(time, _)| *time).max().unwrap_or(Time::ZERO)
    }

    /// The processes that follow a strategy instead of the algorithm.
    pub fn traitors(&self) -> ProcessSet {
        self.traitors.iter().map(|(traitor, _)| *traitor).collect()
    }

    /// Draws everything that the faults of n processes leave to the seed. The faults must have been validated.
    pub fn new(faults: &Faults, n: usize, seed: u64) -> Self {
        let mut draw =
            Draw { random: Random::new(seed, Stream::Faults), n, victims: ProcessSet::new() };
        let mut fault_events = Vec::new();
        // Crashes of named processes come first, so that no process drawn later is one of them.
        for crash in faults.crash.iter().filter(|crash| crash.process != ProcessSelector::Any) {
            fault_events.push((draw.time(crash.at), FaultEvent::Crash(draw.victim(crash.process))));
        }
        for crash in &faults.crash_mid {
            fault_events.push((
                draw.time(crash.at),
                FaultEvent::CrashMid(draw.victim(crash.process), crash.sends),
            ));
        }
        for crash in faults.crash.iter().filter(|crash| crash.process == ProcessSelector::Any) {
            fault_events.push((draw.time(crash.at), FaultEvent::Crash(draw.victim(crash.process))));
        }
        for recover in &faults.recover {
            let memory = if recover.memory { Memory::Kept } else { Memory::Lost };
            fault_events.push((
                draw.time(recover.at),
                FaultEvent::Recover(draw.crashed(recover.process), memory),
            ));
        }
        for omission in &faults.omit_send {
            let process = draw.process(omission.process);
            draw.window(omission.window, &mut fault_events, |on| {
                FaultEvent::OmitSend(process, if on { omission.rate.0 } else { 0.0 })
            });
        }
        for omission in &faults.omit_receive {
            let process = draw.process(omission.process);
            draw.window(omission.window, &mut fault_events, |on| {
                FaultEvent::OmitReceive(process, if on { omission.rate.0 } else { 0.0 })
            });
        }
        for slow in &faults.slow {
            let process = draw.process(slow.process);
            draw.window(slow.window, &mut fault_events, |on| {
                FaultEvent::Handling(process, on.then_some(slow.handling))
            });
        }
        for fast in &faults.fast {
            let process = draw.process(fast.process);
            draw.window(fast.window, &mut fault_events, |on| {
                FaultEvent::Pace(process, if on { fast.factor.0 } else { 1.0 })
            });
        }
        for clock in &faults.clock {
            fault_events.push((
                draw.time(clock.at),
                FaultEvent::Clock(draw.process(clock.process), clock.rate.0),
            ));
        }
        for cut in &faults.cut {
            let (a, b) = draw.link(cut.link);
            draw.window(cut.window, &mut fault_events, |cut| FaultEvent::Link {
                from: a,
                to: b,
                cut,
            });
            if cut.both_ways {
                draw.window(cut.window, &mut fault_events, |cut| FaultEvent::Link {
                    from: b,
                    to: a,
                    cut,
                });
            }
        }
        for partition in &faults.partition {
            draw.window(partition.window, &mut fault_events, |on| {
                if on { FaultEvent::Partition(partition.groups.clone()) } else { FaultEvent::Heal }
            });
        }
        for suspect in &faults.suspect {
            let (observer, victim) = draw.link(suspect.pair);
            draw.window(suspect.window, &mut fault_events, |active| FaultEvent::Suspect {
                observer,
                victim,
                active,
            });
        }
        for (list, message_fault) in [
            (&faults.lose, MessageFault::Loss),
            (&faults.duplicate, MessageFault::Duplication),
            (&faults.reorder, MessageFault::Reordering),
            (&faults.corrupt, MessageFault::Corruption),
        ] {
            for fault in list {
                let (from, to) = draw.link(fault.link);
                fault_events.push((
                    draw.time(fault.at),
                    FaultEvent::NextOnLink { from, to, message_fault },
                ));
            }
        }
        let traitors = faults
            .traitor
            .iter()
            .map(|traitor| (draw.process(traitor.process), traitor.strategy))
            .collect();
        fault_events.sort_by_key(|(time, _)| *time);
        Self {
            fault_events,
            loss: faults.loss,
            duplication: faults.duplication,
            reordering: faults.reordering,
            corruption: faults.corruption,
            traitors,
        }
    }
}

/// Makes the choices that are left to the seed.
struct Draw {
    random: Random,
    n: usize,
    victims: ProcessSet,
}

impl Draw {
    fn time(&mut self, when: When) -> Time {
        match when {
            When::At(time) => time,
            When::Between(low, high) => Time(self.random.between(low.0, high.0)),
        }
    }

    fn process(&mut self, selector: ProcessSelector) -> ProcessId {
        match selector {
            ProcessSelector::Process(process) => process,
            ProcessSelector::Any => {
                ProcessId::from_index(self.random.below(self.n as u64) as usize)
            }
        }
    }

    /// Selects the victim of a crash. A drawn victim is one without a planned crash, as long as there is one.
    fn victim(&mut self, selector: ProcessSelector) -> ProcessId {
        let free = &ProcessSet::all(self.n) - &self.victims;
        let victim = match selector {
            ProcessSelector::Any if !free.is_empty() => self.pick(&free),
            _ => self.process(selector),
        };
        self.victims.insert(victim);
        victim
    }

    fn crashed(&mut self, selector: ProcessSelector) -> ProcessId {
        match selector {
            ProcessSelector::Any if !self.victims.is_empty() => self.pick(&self.victims.clone()),
            _ => self.process(selector),
        }
    }

    fn pick(&mut self, set: &ProcessSet) -> ProcessId {
        let place = self.random.below(set.len() as u64) as usize;
        set.iter().nth(place).expect("the place is below the size")
    }

    fn link(&mut self, link: Link) -> (ProcessId, ProcessId) {
        let (mut from, mut to) = (self.process(link.from), self.process(link.to));
        // A link needs two different ends. Draw an end again that was left to the seed.
        while to == from {
            if link.to == ProcessSelector::Any {
                to = self.process(link.to);
            } else {
                from = self.process(link.from);
            }
        }
        (from, to)
    }

    fn window(
        &mut self,
        window: Window,
        fault_events: &mut Vec<(Time, FaultEvent)>,
        fault: impl Fn(bool) -> FaultEvent,
    ) {
        let from = self.time(window.from);
        fault_events.push((from, fault(true)));
        if let Some(until) = window.until {
            fault_events.push((self.time(until).max(from), fault(false)));
        }
    }
}
