//! Contents of a trace in drawable form: messages with both ends, activities, markers, partitions.

use std::collections::{BTreeMap, BTreeSet};

use quorate_sim::Mark;
use quorate_sim::monitor::Evidence;
use quorate_sim::plan::Memory;
use quorate_sim::trace::{Annotation, LogicalClocks, Record, RecordKind, TraceEnvelope};

use super::lane_items::{Activity, ActivityKind, EventMarker, MarkerKind};
use super::plot::Plot;
use super::stamps::{StampMark, is_stamped};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) layer: String,
    /// Number of messages of this kind in the whole run.
    pub(super) count: usize,
}

/// Step of a process: the time and the number of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracePoint {
    pub(super) time: u64,
    pub(super) event: u64,
    pub(super) process: u32,
}

impl TracePoint {
    /// Position in the order of the trace. All processes start in event 0, one after the other.
    pub(super) fn order(&self) -> (u64, u32) {
        (self.event, self.process)
    }
}

impl From<&Evidence> for TracePoint {
    fn from(evidence: &Evidence) -> Self {
        Self { time: evidence.time, event: evidence.event, process: evidence.process }
    }
}

/// Outcome of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DeliveryStatus {
    Arrives(TracePoint),
    /// The message was lost on the link or discarded at its receiver.
    Lost {
        at: TracePoint,
        /// Whether the message reached its receiver.
        at_receiver: bool,
        /// Reason, as an index into [`Timeline::reasons`].
        why: u32,
    },
    /// The trace ends before the message arrives.
    InFlight,
}

/// One copy of a sent message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TracedMessage {
    pub(super) message: u64,
    pub(super) kind: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) sent: TracePoint,
    pub(super) delivery: DeliveryStatus,
    /// Whether this is the second copy of a message.
    pub(super) is_duplicate: bool,
    pub(super) body: Box<str>,
}

impl TracedMessage {
    /// Step in which the message reached its receiver, if the trace shows it.
    fn end_point(&self) -> Option<TracePoint> {
        match self.delivery {
            DeliveryStatus::Arrives(at) | DeliveryStatus::Lost { at, at_receiver: true, .. } => {
                Some(at)
            }
            DeliveryStatus::Lost { .. } | DeliveryStatus::InFlight => None,
        }
    }

    /// Time at which the message reached its receiver, if the trace shows it.
    pub(super) fn end(&self) -> Option<u64> {
        self.end_point().map(|at| at.time)
    }

    /// Column in which the message reached its receiver, if the trace shows it.
    pub(super) fn end_column(&self, plot: &Plot) -> Option<f64> {
        self.end_point().map(|at| plot.x(at))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartitionInterval {
    pub(super) from: u64,
    pub(super) to: Option<u64>,
    pub(super) groups: Vec<Vec<u32>>,
}

/// Fault that has no marker of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FaultMark {
    pub(super) time: u64,
    pub(super) process: u32,
    pub(super) description: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ViolationMark {
    pub(super) property: String,
    pub(super) time: u64,
    pub(super) detail: String,
    pub(super) events: Vec<Evidence>,
}

/// Drawable contents of a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) processes: usize,
    pub(super) end: u64,
    pub(super) kinds: Vec<Kind>,
    /// In the order of sending.
    pub(super) messages: Vec<TracedMessage>,
    /// Activities of each process, in chronological order.
    pub(super) activities: Vec<Vec<Activity>>,
    /// Markers in the order of the trace.
    pub(super) markers: Vec<EventMarker>,
    pub(super) partitions: Vec<PartitionInterval>,
    /// End time and number of each round.
    pub(super) rounds: BTreeMap<(u64, u64), ()>,
    pub(super) other_faults: Vec<FaultMark>,
    pub(super) violations: Vec<ViolationMark>,
    /// Number of messages that arrive without a record of being sent.
    pub(super) unsent: usize,
    /// Distinct reasons why messages were lost.
    pub(super) reasons: Vec<String>,
    /// Steps in the order of the trace; none if their order is not that of their event numbers.
    pub(super) steps: Vec<TracePoint>,
    /// The stamps of events, in the order of the trace. Large runs have none.
    pub(super) stamps: Vec<StampMark>,
    /// Median delay of delivered messages.
    pub(super) median_delay: u64,
}

impl Timeline {
    /// Approximate memory use in bytes.
    pub(super) fn bytes(&self) -> usize {
        let activities: usize = self.activities.iter().map(Vec::len).sum();
        self.messages.len() * size_of::<TracedMessage>()
            + self.markers.len() * size_of::<EventMarker>()
            + activities * size_of::<Activity>()
            + self.steps.len() * size_of::<TracePoint>()
    }
}

/// Builds a [`Timeline`] record by record.
#[derive(Clone, Debug)]
pub(super) struct TimelineBuilder {
    pub(super) timeline: Timeline,
    clocks: LogicalClocks,
    /// Maximum number of messages kept with their bodies.
    bodies: usize,
    /// Messages in flight: message number, and index of the copy in `timeline.messages`.
    in_flight: BTreeSet<(u64, usize)>,
    kinds: BTreeMap<(String, String), u32>,
    reasons: BTreeMap<String, u32>,
    /// Current activity of each process and its start.
    current: Vec<Option<(ActivityKind, TracePoint)>>,
    /// Activity of each process at the time it crashed.
    before_crash: Vec<Option<ActivityKind>>,
}

impl TimelineBuilder {
    pub(super) fn new(processes: usize, bodies: usize) -> Self {
        Self {
            timeline: Timeline {
                processes,
                activities: vec![Vec::new(); processes],
                ..Timeline::default()
            },
            clocks: LogicalClocks::new(processes),
            bodies,
            in_flight: BTreeSet::new(),
            kinds: BTreeMap::new(),
            reasons: BTreeMap::new(),
            current: vec![None; processes],
            before_crash: vec![None; processes],
        }
    }

    /// Number of messages and markers so far.
    pub(super) fn items(&self) -> usize {
        self.timeline.messages.len() + self.timeline.markers.len()
    }

    pub(super) fn observe(&mut self, record: &Record) {
        let process = record.process as usize;
        if process >= self.timeline.processes {
            return;
        }
        let at = TracePoint { time: record.time, event: record.event, process: record.process };
        let is_step = !matches!(record.kind, RecordKind::Violation { .. });
        if is_step && self.timeline.steps.last() != Some(&at) {
            self.timeline.steps.push(at);
        }
        self.timeline.end = self.timeline.end.max(record.time);
        if record.kind.is_event()
            && is_stamped(self.timeline.processes, self.timeline.stamps.len())
            && let Some(stamp) = self.clocks.stamp(record)
        {
            let text = stamp.text(self.timeline.processes);
            self.timeline.stamps.push(StampMark { at, text });
        }
        match &record.kind {
            RecordKind::Send(envelope) => self.send(at, envelope, false),
            RecordKind::Duplicate(envelope) => self.send(at, envelope, true),
            RecordKind::Deliver(envelope) => self.arrive(envelope, DeliveryStatus::Arrives(at)),
            RecordKind::Lose { envelope, why } => {
                let at_receiver = self.was_sent_earlier(envelope, at);
                let why = self.reason_index(why);
                self.arrive(envelope, DeliveryStatus::Lost { at, at_receiver, why });
            }
            RecordKind::Command { annotation, .. } | RecordKind::Output { annotation, .. } => {
                self.apply_annotation(record, at, annotation);
            }
            RecordKind::Belief { about, crashed } => {
                let kind = if *crashed { MarkerKind::Suspects } else { MarkerKind::Trusts };
                self.add_marker(at, kind, format!("p{about}"));
            }
            RecordKind::Crash => {
                self.before_crash[process] = self.current[process].map(|(kind, _)| kind);
                self.set_activity(process, at, Some(ActivityKind::Down));
                self.add_marker(at, MarkerKind::Crashes, String::new());
            }
            RecordKind::Recover { memory } => {
                let before = self.before_crash[process].take().filter(|_| *memory);
                self.set_activity(process, at, before);
                let detail = if *memory { "" } else { "no memory" };
                self.add_marker(at, MarkerKind::Recovers, detail.to_owned());
            }
            RecordKind::RoundEnd { round } => {
                self.timeline.rounds.insert((at.time, *round), ());
            }
            RecordKind::Partition { groups } => {
                self.heal(at);
                self.timeline.partitions.push(PartitionInterval {
                    from: at.time,
                    to: None,
                    groups: groups.clone(),
                });
            }
            RecordKind::Heal => self.heal(at),
            RecordKind::Fault { fault, .. } => {
                let (time, process) = (at.time, record.process);
                self.timeline.other_faults.push(FaultMark {
                    time,
                    process,
                    description: fault.clone(),
                });
            }
            RecordKind::Violation { property, moment, detail, events } => {
                self.timeline.violations.push(ViolationMark {
                    property: property.clone().into_owned(),
                    time: *moment,
                    detail: detail.clone(),
                    events: events.clone(),
                })
            }
            RecordKind::Refuse { command, .. } => {
                self.add_marker(at, MarkerKind::Refuses, command.clone());
            }
            RecordKind::Timer { timer } => {
                self.add_marker(at, MarkerKind::Timer, timer.clone());
            }
            RecordKind::Start | RecordKind::Ignore { .. } => {}
        }
    }

    fn apply_annotation(&mut self, record: &Record, at: TracePoint, annotation: &Annotation) {
        let Some(mark) = annotation.mark else { return };
        let process = record.process as usize;
        let activity = match mark {
            Mark::Requested => Some(Some(ActivityKind::Waits)),
            Mark::Entered => Some(Some(ActivityKind::Inside)),
            Mark::TakesPart => Some(Some(ActivityKind::TakesPart)),
            Mark::Leads => Some(Some(ActivityKind::Leads)),
            Mark::Proposed => Some(Some(ActivityKind::Undecided)),
            Mark::Left | Mark::Follows | Mark::Decided | Mark::Set | Mark::Failed => Some(None),
            Mark::Crashed => Some(Some(ActivityKind::Down)),
            Mark::Recovered(Memory::Kept | Memory::Lost) => Some(None),
            Mark::Sent | Mark::Delivered | Mark::Blocked | Mark::Suspected | Mark::Trusted => None,
            Mark::Works => Some(Some(ActivityKind::Works)),
            Mark::Rests => Some(None),
            Mark::Recorded | Mark::Completed | Mark::Announced => None,
            Mark::Submitted | Mark::Applied | Mark::Truncated => None,
        };
        if let Some(activity) = activity {
            self.set_activity(process, at, activity);
        }
        let marker = match mark {
            Mark::Sent => MarkerKind::Multicasts,
            Mark::Delivered => MarkerKind::Delivers,
            Mark::Leads => MarkerKind::Wins,
            Mark::Follows => MarkerKind::Follows,
            Mark::Proposed => MarkerKind::Proposes,
            Mark::Decided => MarkerKind::Decides,
            Mark::Blocked => MarkerKind::Blocked,
            Mark::Suspected => MarkerKind::Suspects,
            Mark::Trusted => MarkerKind::Trusts,
            Mark::Set => MarkerKind::SetsClock,
            Mark::Failed => MarkerKind::CannotSetClock,
            Mark::Recorded => MarkerKind::Records,
            Mark::Announced => MarkerKind::Announces,
            Mark::Submitted => MarkerKind::Submits,
            Mark::Applied => MarkerKind::Applies,
            Mark::Truncated => MarkerKind::Truncates,
            Mark::Left if !annotation.text.is_empty() => MarkerKind::GivesUp,
            _ => return,
        };
        self.add_marker(at, marker, annotation.text.clone());
    }

    fn add_marker(&mut self, at: TracePoint, kind: MarkerKind, detail: String) {
        let marker = EventMarker { at, kind, detail };
        // A detector's change may be recorded twice: for its user and for the layer above.
        if self.timeline.markers.last() != Some(&marker) {
            self.timeline.markers.push(marker);
        }
    }

    /// Ends the current activity of a process and starts the next.
    fn set_activity(&mut self, process: usize, at: TracePoint, next: Option<ActivityKind>) {
        let before = self.current[process].take();
        if let Some((kind, since)) = before {
            self.timeline.activities[process].push(Activity { kind, from: since, to: Some(at) });
        }
        self.current[process] = next.map(|kind| (kind, at));
    }

    fn heal(&mut self, at: TracePoint) {
        for partition in
            self.timeline.partitions.iter_mut().filter(|partition| partition.to.is_none())
        {
            partition.to = Some(at.time);
        }
    }

    fn send(&mut self, sent: TracePoint, envelope: &TraceEnvelope, is_duplicate: bool) {
        let known = (envelope.kind.clone().into_owned(), envelope.layer.clone().into_owned());
        let kinds = &mut self.timeline.kinds;
        let kind = *self.kinds.entry(known).or_insert_with_key(|(name, layer)| {
            kinds.push(Kind { name: name.clone(), layer: layer.clone(), count: 0 });
            (kinds.len() - 1) as u32
        });
        kinds[kind as usize].count += 1;
        let TraceEnvelope { message, from, to, .. } = *envelope;
        let index = self.timeline.messages.len();
        self.in_flight.insert((message, index));
        let body = if index < self.bodies { envelope.body.as_str().into() } else { Box::default() };
        let delivery = DeliveryStatus::InFlight;
        self.timeline.messages.push(TracedMessage {
            message,
            kind,
            from,
            to,
            sent,
            delivery,
            is_duplicate,
            body,
        });
    }

    /// Whether the message was sent in an earlier event than `at`.
    fn was_sent_earlier(&self, envelope: &TraceEnvelope, at: TracePoint) -> bool {
        let first = self.first_in_flight(envelope.message);
        first.is_some_and(|index| self.timeline.messages[index].sent.event != at.event)
    }

    /// Index of the first copy of a message that is still in flight.
    fn first_in_flight(&self, message: u64) -> Option<usize> {
        self.in_flight.range((message, 0)..=(message, usize::MAX)).next().map(|(_, index)| *index)
    }

    fn reason_index(&mut self, why: &str) -> u32 {
        if let Some(known) = self.reasons.get(why) {
            return *known;
        }
        let index = self.timeline.reasons.len() as u32;
        self.timeline.reasons.push(why.to_owned());
        self.reasons.insert(why.to_owned(), index);
        index
    }

    fn arrive(&mut self, envelope: &TraceEnvelope, delivery: DeliveryStatus) {
        let Some(index) = self.first_in_flight(envelope.message) else {
            self.timeline.unsent += 1;
            return;
        };
        self.in_flight.remove(&(envelope.message, index));
        self.timeline.messages[index].delivery = delivery;
    }

    pub(super) fn finish(mut self) -> Timeline {
        for (process, current) in self.current.iter().enumerate() {
            if let Some((kind, since)) = *current {
                self.timeline.activities[process].push(Activity { kind, from: since, to: None });
            }
        }
        let arrived = |message: &TracedMessage| match message.delivery {
            DeliveryStatus::Arrives(at) if message.from != message.to => {
                Some(at.time.saturating_sub(message.sent.time))
            }
            _ => None,
        };
        let mut delays: Vec<u64> = self.timeline.messages.iter().filter_map(arrived).collect();
        delays.sort_unstable();
        // The processes of a network number their events themselves.
        if !self.timeline.steps.is_sorted_by_key(TracePoint::order) {
            self.timeline.steps.clear();
        }
        self.timeline.median_delay = delays.get(delays.len() / 2).copied().unwrap_or(0);
        self.timeline
    }
}
