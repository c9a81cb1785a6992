//! The observer of a run: keeps the message counts, the fault log
//! and the trace, and feeds the monitors of the algorithm's family.

use std::fmt::{Debug, Display};

use quorate_core::{
    Belief, Kind, Layer, Message, Process, ProcessId, ProcessSet, SortedMap, Span, Time,
};

use super::monitors::Monitors;
use crate::engine::Slab;
use crate::engine::network::Loss;
use crate::engine::observer::{Departure, Input, Moment, Observer};
use crate::observe::accounting::Accounting;
use crate::observe::monitor::{Announced, ClockCondition, Violation};
use crate::observe::trace::{
    Annotation, Cancelled, Record, RecordKind, TraceEnvelope, TraceSink, TracedState,
};
use crate::observe::{FaultLog, History, Mark, Overload, describe_traitor};
use crate::scenario::plan::{FaultEvent, Memory};

/// Maximum number of marks that are kept for drawing.
const HISTORY_MOST: usize = 20_000;

/// Observes a run with the monitors of a family.
pub struct Watch<'t, M> {
    /// Message counts of the run.
    pub accounting: Accounting,
    /// Faults that happened during the run.
    pub fault_log: FaultLog,
    /// The last time at which an observer learned that a process is alive.
    trusted_since: SortedMap<(ProcessId, ProcessId), Time>,
    /// The monitors of the family.
    pub monitors: M,
    /// Events that users can observe.
    pub history: History,
    /// The monitor of the clock condition, if it is checked.
    pub(crate) clock_condition: Option<ClockCondition>,
    pub(crate) tracer: Option<Tracer<'t>>,
    metadata: Slab<MessageMetadata>,
    /// Whether messages carry metadata for monitors or the trace.
    carries_metadata: bool,
}

/// Metadata that travels with a message for monitors and the trace.
#[derive(Clone, Copy, Debug)]
struct MessageMetadata {
    mark: u32,
    id: u64,
    sent_in: u64,
    announced: Option<Announced>,
}

impl<'t, M: Monitors> Watch<'t, M> {
    /// Creates an observer with these monitors, and with this trace if there is one.
    pub fn new(accounting: Accounting, monitors: M, trace: Option<&'t mut dyn TraceSink>) -> Self {
        Self {
            carries_metadata: monitors.marks_messages() || trace.is_some(),
            accounting,
            fault_log: FaultLog::default(),
            trusted_since: SortedMap::new(),
            monitors,
            history: History::new(HISTORY_MOST),
            clock_condition: None,
            tracer: trace.map(|sink| {
                let last = Moment { event: 0, time: Time::ZERO, process: ProcessId::new(0) };
                Tracer { sink, failed: None, last }
            }),
            metadata: Slab::default(),
        }
    }

    /// Also checks the clock condition.
    pub(crate) fn watch_clocks(&mut self, condition: ClockCondition) {
        self.clock_condition = Some(condition);
        self.carries_metadata = true;
    }

    fn trace(&mut self, at: Moment, cause: Option<u64>, kind: impl FnOnce() -> RecordKind) {
        if let Some(tracer) = &mut self.tracer
            && tracer.wants(at)
        {
            tracer.record(at, cause, kind());
        }
    }

    fn started(&mut self, at: Moment) {
        self.trace(at, None, || RecordKind::Start);
        let mut traitors = self.fault_log.traitors.iter();
        let traitor = traitors.find(|(traitor, _)| *traitor == at.process);
        if let Some(fault) = traitor.map(describe_traitor) {
            let processes = vec![at.process.number()];
            self.trace(at, None, || RecordKind::Fault { fault, processes });
        }
    }

    fn command_accepted(&mut self, at: Moment, command: &M::Command, because_of: Option<u64>) {
        let mark = self.monitors.command_mark(command);
        if let Some(tracer) = &mut self.tracer {
            let annotation = Annotation { mark, text: self.monitors.command_text(command) };
            let kind = RecordKind::Command { command: format!("{command:?}"), annotation };
            tracer.record(at, because_of, kind);
        }
        mark.into_iter().for_each(|mark| self.history.observe(at, mark));
        // A request counts from the time of the command. The outputs of a process that answers immediately follow it.
        self.monitors.on_command(at, command);
    }

    fn refused(&mut self, at: Moment, command: &M::Command, why: &dyn Display) {
        self.trace(at, None, || RecordKind::Refuse {
            command: format!("{command:?}"),
            why: why.to_string(),
        });
    }

    fn output_produced(&mut self, at: Moment, output: &M::Output) {
        let mark = self.monitors.output_mark(at, output);
        if let Some(tracer) = &mut self.tracer {
            let annotation = Annotation { mark, text: self.monitors.output_text(output) };
            tracer.record(
                at,
                None,
                RecordKind::Output { output: format!("{output:?}"), annotation },
            );
        }
        mark.into_iter().for_each(|mark| self.history.observe(at, mark));
        self.monitors.on_output(at, output);
    }

    fn expired(&mut self, at: Moment, timer: &dyn Debug, set_in: u64) {
        self.trace(at, Some(set_in), || RecordKind::Timer { timer: format!("{timer:?}") });
    }

    fn round_over(&mut self, at: Moment, round: u64) {
        self.trace(at, None, || RecordKind::RoundEnd { round });
    }

    fn ignored(&mut self, at: Moment, why: &'static str) {
        self.trace(at, None, || RecordKind::Ignore { why: why.into() });
    }

    fn recovered(&mut self, at: Moment, memory: Memory) {
        self.trace(at, None, || RecordKind::Recover { memory: memory == Memory::Kept });
        self.history.observe(at, Mark::Recovered(memory));
        self.monitors.recovered(at, memory);
        if let Some(condition) = self.clock_condition.as_mut()
            && memory == Memory::Lost
        {
            condition.forgot(at.process);
        }
    }

    fn belief(&mut self, at: Moment, belief: Belief, because_of: Option<u64>) {
        let crashed = matches!(belief, Belief::Crashed(_));
        let about = belief.about();
        self.trace(at, because_of, || RecordKind::Belief { about: about.number(), crashed });
        let pair = (at.process, about);
        if !crashed {
            self.trusted_since.insert(pair, at.time);
        } else if self.fault_log.down_since(about).is_none() {
            // A report of a crash may arrive after the process has recovered. It is late then, not wrong.
            let trusted = self.trusted_since.get(&pair).copied().unwrap_or(Time::ZERO);
            if !self.fault_log.crashed_since(about, trusted) {
                self.fault_log.wrong_belief.get_or_insert((at.time, at.process, about));
            }
        }
    }

    fn fault_injected(&mut self, at: Moment, fault: &FaultEvent) {
        self.fault_log.fault_events.push((at.time, fault.clone()));
        let numbers = |group: &ProcessSet| group.iter().map(ProcessId::number).collect();
        match fault {
            FaultEvent::Crash(_) => {
                self.trace(at, None, || RecordKind::Crash);
                self.history.observe(at, Mark::Crashed);
                self.monitors.crashed(at);
            }
            // The recovery of the process is traced as its input.
            FaultEvent::Recover(..) => {}
            FaultEvent::Partition(groups) => self.trace(at, None, || RecordKind::Partition {
                groups: groups.iter().map(numbers).collect(),
            }),
            FaultEvent::Heal => self.trace(at, None, || RecordKind::Heal),
            fault => self.trace(at, None, || RecordKind::Fault {
                fault: fault.to_string(),
                processes: fault.victims().into_iter().map(ProcessId::number).collect(),
            }),
        }
    }

    /// Announces an event with this time, if there is one. Returns the latest event that the process knows of.
    fn announce(&mut self, at: Moment, time: Option<u64>) -> Option<Announced> {
        let condition = self.clock_condition.as_mut()?;
        time.into_iter().for_each(|time| condition.announced(at, time));
        condition.known_to(at.process)
    }

    /// Stores metadata for a message that is sent. Returns its tag.
    fn record_send(&mut self, at: Moment, view: MessageView<'_>, departure: Departure) -> u32 {
        let kind = self.accounting.kind(view.kind);
        let envelope = || view.envelope(kind);
        match departure {
            Departure::Sent | Departure::Changed => {
                self.trace(at, None, || RecordKind::Send(envelope()));
            }
            Departure::Duplicated => self.trace(at, None, || RecordKind::Duplicate(envelope())),
            Departure::Lost(why) => {
                self.trace(at, None, || RecordKind::Send(envelope()));
                self.trace(at, None, || RecordKind::Lose {
                    envelope: envelope(),
                    why: why.name().into(),
                });
                return 0;
            }
        }
        let mark = self.monitors.mark(at);
        // A detector below takes no part in the algorithm's clocks, so its messages carry no event.
        let below = kind.layer == Layer::Detector;
        let announced = if below { None } else { self.announce(at, view.stamp) };
        self.metadata.insert(MessageMetadata { mark, id: view.id, sent_in: at.event, announced })
    }

    /// Processes the metadata of a message that is delivered or lost.
    fn record_arrival(
        &mut self,
        at: Moment,
        tag: u32,
        mut view: MessageView<'_>,
        lost: Option<Loss>,
    ) {
        let MessageMetadata { mark, id, sent_in, announced } = self.metadata.remove(tag);
        if let Some(condition) = self.clock_condition.as_mut().filter(|_| lost.is_none()) {
            condition.received(at.process, announced);
        }
        match lost {
            None => self.monitors.arrived(at, mark),
            Some(_) => self.monitors.lost(mark),
        }
        view.id = id;
        let kind = self.accounting.kind(view.kind);
        self.trace(at, Some(sent_in), || match lost {
            None => RecordKind::Deliver(view.envelope(kind)),
            Some(why) => RecordKind::Lose { envelope: view.envelope(kind), why: why.name().into() },
        });
    }
}

/// A message independent of its type, so that the code for observing is compiled once for a family.
struct MessageView<'m> {
    /// Number of the message.
    id: u64,
    from: ProcessId,
    to: ProcessId,
    kind: usize,
    stamp: Option<u64>,
    body: &'m dyn Debug,
}

impl<'m> MessageView<'m> {
    fn new(
        id: u64,
        (from, to): (ProcessId, ProcessId),
        kind: usize,
        message: &'m impl Message,
    ) -> Self {
        Self { id, from, to, kind, stamp: message.stamp(), body: message }
    }

    fn envelope(&self, kind: Kind) -> TraceEnvelope {
        TraceEnvelope {
            message: self.id,
            from: self.from.number(),
            to: self.to.number(),
            kind: kind.name.into(),
            layer: kind.layer.name().into(),
            body: format!("{:?}", self.body),
        }
    }
}

/// Contains only code that depends on the type of the processes, because it is compiled for each algorithm.
impl<P, M> Observer<P> for Watch<'_, M>
where
    P: Process,
    M: Monitors<Command = P::Command, Output = P::Output>,
{
    fn input(&mut self, at: Moment, input: &Input<'_, P>) {
        match input {
            Input::Start => self.started(at),
            Input::Command(command, because_of) => self.command_accepted(at, command, *because_of),
            Input::Timer(timer, set_in) => self.expired(at, timer, *set_in),
            Input::Belief(belief, because_of) => self.belief(at, *belief, Some(*because_of)),
            Input::RoundEnd(round) => self.round_over(at, *round),
            Input::Recovery(memory) => self.recovered(at, *memory),
        }
    }

    #[inline]
    fn send(
        &mut self,
        at: Moment,
        id: u64,
        to: ProcessId,
        message: &P::Message,
        departure: Departure,
    ) -> u32 {
        let kind = message.kind();
        self.accounting.sent(at.process, to, kind, message.bytes(), departure);
        self.monitors.sent(at, kind, departure);
        if !self.carries_metadata {
            return 0;
        }
        self.record_send(at, MessageView::new(id, (at.process, to), kind, message), departure)
    }

    fn multicast(&mut self, at: Moment, message: &P::Message, to_others: u64, to_self: bool) {
        self.accounting.multicast(at.process, message.kind(), message.bytes(), to_others, to_self);
    }

    #[inline]
    fn deliver(&mut self, at: Moment, from: ProcessId, tag: u32, message: &P::Message) {
        // A message whose type is erased does not answer at once, so it is asked once.
        let kind = message.kind();
        self.accounting.received(from, at.process, kind);
        if self.carries_metadata {
            let view = MessageView::new(0, (from, at.process), kind, message);
            self.record_arrival(at, tag, view, None);
        }
    }

    fn lose(&mut self, at: Moment, from: ProcessId, tag: u32, message: &P::Message, why: Loss) {
        self.accounting.lost(why);
        if self.carries_metadata {
            let view = MessageView::new(0, (from, at.process), message.kind(), message);
            self.record_arrival(at, tag, view, Some(why));
        }
    }

    fn output(&mut self, at: Moment, output: &P::Output) {
        self.output_produced(at, output);
    }

    fn refuse(&mut self, at: Moment, command: &P::Command, why: &P::Misuse) {
        self.refused(at, command, why);
    }

    fn belief_changed(&mut self, at: Moment, belief: Belief) {
        self.belief(at, belief, None);
    }

    fn late(&mut self, at: Moment, from: ProcessId, by: Span) {
        self.fault_log.late.get_or_insert((at.time, from, at.process, by));
    }

    fn overloaded(&mut self, at: Moment, wait: Span) {
        self.fault_log.overloaded(Overload { time: at.time, process: at.process, wait });
    }

    fn ignore(&mut self, at: Moment, why: &'static str) {
        self.ignored(at, why);
    }

    #[inline]
    fn handled(&mut self, at: Moment, process: &P) {
        if let Some(tracer) = &mut self.tracer {
            tracer.state(at, process);
        }
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.tracer.as_ref().is_some_and(|tracer| tracer.failed.is_some())
    }

    fn fault(&mut self, at: Moment, fault: &FaultEvent) {
        self.fault_injected(at, fault);
    }
}

/// Reason why a trace ends before its run.
pub(crate) enum TraceFailure {
    Write(std::io::Error),
    Cancelled(Cancelled),
}

/// A trace that is being written. After the first failure nothing more is written.
pub(crate) struct Tracer<'t> {
    sink: &'t mut dyn TraceSink,
    failed: Option<TraceFailure>,
    /// The moment of the last record.
    last: Moment,
}

impl Tracer<'_> {
    /// Returns the reason why nothing more was written, if there was one.
    pub(crate) fn take_error(&mut self) -> Option<TraceFailure> {
        self.failed.take()
    }

    /// Records a violation, after all other records.
    pub(crate) fn violation(&mut self, violation: &Violation) {
        let process = violation.events.last().map_or(0, |event| event.process);
        // A property may be violated later than the last event, if a process has waited for too long.
        let time = self.last.time.max(violation.time);
        let at = Moment { process: ProcessId::new(process), time, ..self.last };
        let (property, moment) = (violation.property.id().into(), violation.time.0);
        let (detail, events) = (violation.detail.clone(), violation.events.clone());
        self.record(at, None, RecordKind::Violation { property, moment, detail, events });
    }

    /// Whether a record of this event is wanted.
    fn wants(&mut self, at: Moment) -> bool {
        self.last = at;
        if self.failed.is_some() {
            return false;
        }
        match self.sink.wants(at.event, at.process.number()) {
            Ok(wanted) => wanted,
            Err(cancelled) => {
                self.failed = Some(TraceFailure::Cancelled(cancelled));
                false
            }
        }
    }

    fn record(&mut self, at: Moment, cause: Option<u64>, kind: RecordKind) {
        self.last = at;
        if self.failed.is_none() {
            let (event, time, process) = (at.event, at.time.0, at.process.number());
            let written = self.sink.record(&Record { event, time, process, kind, cause });
            self.failed = written.err().map(TraceFailure::Write);
        }
    }

    fn state(&mut self, at: Moment, state: &dyn TracedState) {
        if self.failed.is_none() {
            let written = self.sink.state(at.event, at.process.number(), state);
            self.failed = written.err().map(TraceFailure::Write);
        }
    }
}
