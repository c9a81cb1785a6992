//! The discrete-event world: drives the processes of one run, event after event.
//!
//! A run is a function of its specification alone. Events at the same time happen in the order in which they were
//! caused. Planned faults come first.

use quorate_core::{Belief, Drift, Effects, Process, ProcessId, ProcessSet, Span, Time};

use super::effects::{Engine, Round};
use super::event::{Envelope, Item, PendingCommand, ScheduledEvent};
use super::limits::{Ending, Limits};
use super::network::Network;
use super::node::Node;
use super::observer::{Input, Moment, Observer};
use super::oracle::Oracle;
use super::queue::Queue;
use super::running_clock::RunningClock;
use super::slab::Slab;
use super::user::{Agenda, User};
use crate::random::{Random, Stream};
use crate::scenario::plan::{FaultEvent, Memory, Plan};
use crate::scenario::{Clocks, LinkModel, OracleModel, Timing};

/// Specification of a world, apart from its processes and users.
#[derive(Clone, Debug)]
pub struct WorldModel {
    /// Number of processes in the world.
    pub n: usize,
    /// Seed of all random choices.
    pub seed: u64,
    /// The model of the links.
    pub links: LinkModel,
    /// Time that a process needs to handle a message.
    pub handling: Span,
    /// The failure detector of the driver, if the processes do not have their own.
    pub oracle: Option<OracleModel>,
    /// Clocks of the machines.
    pub clocks: Clocks,
    /// Planned faults of the run.
    pub plan: Plan,
    /// Limits at which the run stops.
    pub limits: Limits,
}

/// A world of processes `P` with users `U` and observer `O`.
pub struct World<P: Process, U, O> {
    pub(crate) nodes: Vec<Node<P>>,
    effects: Effects<P>,
    make: Box<dyn Fn(ProcessId) -> P>,
    pub(crate) engine: Engine<P, U, O>,
}

impl<P: Process, U, O> World<P, U, O> {
    /// Bytes that a message takes in the queue, including its contents.
    pub const fn bytes_per_event() -> usize {
        Queue::<Item<P::Message>>::bytes_per_item()
    }
}

impl<P, U, O> World<P, U, O>
where
    P: Process,
    U: User<Command = P::Command, Output = P::Output>,
    O: Observer<P>,
{
    /// Creates a world of processes made by `make`. It is called again for a process that restarts without memory.
    pub fn new(
        model: WorldModel,
        make: impl Fn(ProcessId) -> P + 'static,
        user: U,
        observer: O,
    ) -> Self {
        let n = model.n;
        let network = Network::new(n, &model.links, &model.plan, model.seed);
        let mut nodes: Vec<Node<P>> = ProcessId::all(n).map(|id| Node::new(make(id))).collect();
        for (traitor, strategy) in &model.plan.traitors {
            nodes[traitor.index()].fault_state_mut().traitor = Some(*strategy);
        }
        if model.clocks.start > Time::ZERO {
            let right = RunningClock::new(model.clocks.start, Drift::NONE);
            nodes.iter_mut().for_each(|node| node.set_clock(right));
        }
        for clock in &model.clocks.wrong {
            let running = RunningClock::of(&model.clocks, clock.process);
            nodes[clock.process.index()].set_clock(running);
        }
        let law = &model.links.delay;
        let horizon = law.bound().unwrap_or(Span(law.mean().0.saturating_mul(8))).0;
        let slow = model
            .plan
            .fault_events
            .iter()
            .any(|(_, fault)| matches!(fault, FaultEvent::Handling(_, Some(_))));
        let round = match model.links.timing {
            Timing::Rounds(length) => {
                Some(Round { length, awaited_by: ProcessSet::new(), last_ended: 0 })
            }
            _ => None,
        };
        let mut engine = Engine {
            n,
            now: Time::ZERO,
            event: 0,
            messages: 0,
            deliveries: 0,
            queue: Queue::new(horizon, n.saturating_mul(16)),
            scheduled: Slab::default(),
            network,
            oracle: model.oracle.map(|oracle| Oracle::new(n, &oracle, model.seed)),
            handling_takes_time: slow || model.handling > Span::ZERO,
            handling: model.handling,
            queueing: Span(model.handling.0.saturating_mul(n as u64)),
            traitor_random: Random::new(model.seed, Stream::Traitors),
            round,
            agenda: Agenda::new(),
            limits: model.limits,
            external: None,
            user,
            observer,
        };
        for (time, fault) in model.plan.fault_events {
            engine.enqueue(time, ScheduledEvent::Fault(fault));
        }
        Self { nodes, effects: Effects::default(), make: Box::new(make), engine }
    }

    /// The current virtual time.
    pub fn now(&self) -> Time {
        self.engine.now
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.engine.event
    }

    /// Number of messages delivered so far.
    pub fn deliveries(&self) -> u64 {
        self.engine.deliveries
    }

    /// The current state of a process.
    pub fn process(&self, id: ProcessId) -> &P {
        &self.nodes[id.index()].process
    }

    /// Whether the process is up.
    pub fn is_up(&self, id: ProcessId) -> bool {
        self.nodes[id.index()].up
    }

    /// The observer of the world.
    pub fn observer(&self) -> &O {
        &self.engine.observer
    }

    /// Whether each process is up, by process index.
    pub(crate) fn up(&self) -> Vec<bool> {
        self.nodes.iter().map(|node| node.up).collect()
    }

    /// Number of items in the queue.
    pub fn queued(&self) -> usize {
        self.engine.queue.len()
    }

    /// Returns the final state of the processes, and the observer.
    pub fn into_parts(self) -> (Vec<P>, O) {
        (self.nodes.into_iter().map(|node| node.process).collect(), self.engine.observer)
    }

    /// Runs until no events are left or a limit is reached.
    pub fn run(&mut self) -> Ending {
        self.start();
        loop {
            if let Some(ending) = self.step() {
                return ending;
            }
        }
    }

    /// Starts every process and lets the users begin.
    pub fn start(&mut self) {
        for id in ProcessId::all(self.engine.n) {
            let at = self.engine.moment(id);
            self.engine.observer.input(at, &Input::Start);
            self.invoke(at, P::on_start);
            if self.engine.is_full() {
                return;
            }
        }
        self.engine.user.begin(&mut self.engine.agenda);
        self.schedule(None);
    }

    /// Processes the next event. Returns why the run has ended, if it has.
    #[inline(always)]
    pub fn step(&mut self) -> Option<Ending> {
        let engine = &mut self.engine;
        if engine.is_full() {
            return Some(Ending::Queued);
        }
        if engine.observer.is_closed() {
            return Some(Ending::Unwatched);
        }
        if engine.event >= engine.limits.events {
            return Some(Ending::Events);
        }
        if engine.round.is_some() && self.end_round() {
            return None;
        }
        let engine = &mut self.engine;
        let Some((time, label, item)) = engine.queue.pop() else { return Some(Ending::Quiescent) };
        // The maximum time stands for never: events at that time do not happen.
        if time > engine.limits.until.0 || time == u64::MAX {
            engine.now = engine.limits.until;
            return Some(Ending::Until);
        }
        engine.now = Time(time);
        match item {
            Item::Message(message) => {
                let (from, to) = (ProcessId::new(label.from), ProcessId::new(label.to));
                self.arrive(Envelope { from, to, tag: label.tag, message });
            }
            Item::Scheduled(slot) => {
                let event = engine.scheduled.remove(slot);
                self.run_scheduled(event);
                let now = self.engine.now;
                if self.engine.limits.stop_when_content && self.engine.user.is_content(now) {
                    return Some(Ending::Content);
                }
            }
        }
        None
    }

    #[inline(always)]
    fn arrive(&mut self, envelope: Envelope<P::Message>) {
        let engine = &mut self.engine;
        if engine.handling_takes_time {
            let node = &mut self.nodes[envelope.to.index()];
            if let Some(done) = node.busy_until(engine.now, engine.handling) {
                let wait = done.since(engine.now);
                if wait > engine.queueing && engine.handling > Span::ZERO {
                    engine.observer.overloaded(engine.moment(envelope.to), wait);
                }
                return engine.enqueue(done, ScheduledEvent::Handled(envelope));
            }
        }
        self.handle(envelope);
    }

    /// Handles a message, in the main loop of a run.
    #[inline(always)]
    fn handle(&mut self, envelope: Envelope<P::Message>) {
        let Some(at) = self.deliver_message(envelope) else { return };
        let Self { nodes, effects, engine, .. } = self;
        let node = &mut nodes[at.process.index()];
        let crashed = engine.apply_effects(node, at, effects);
        engine.observer.handled(at, &node.process);
        if crashed {
            self.crash(at);
        }
    }

    /// Handles a message outside the main loop. Not inlined, so that the code is not compiled twice for every type of
    /// processes.
    #[inline(never)]
    pub(crate) fn handle_cold(&mut self, envelope: Envelope<P::Message>) {
        if let Some(at) = self.deliver_message(envelope) {
            self.apply_effects(at);
        }
    }

    /// Delivers a message to its process unless it is dropped. The effects are still to be applied.
    #[inline(always)]
    fn deliver_message(&mut self, envelope: Envelope<P::Message>) -> Option<Moment> {
        let Envelope { from, to, tag, message } = envelope;
        let Self { nodes, effects, engine, .. } = self;
        let node = &mut nodes[to.index()];
        let at = engine.next_moment(to);
        if let Some(why) = engine.drop_reason(node, from, to) {
            engine.observer.lose(at, from, tag, &message, why);
            return None;
        }
        engine.deliveries += 1;
        engine.observer.deliver(at, from, tag, &message);
        effects.set_now(node.local_time(at.time));
        node.process.on_message(from, message, effects);
        Some(at)
    }

    #[inline(never)]
    pub(crate) fn run_scheduled(&mut self, event: ScheduledEvent<P>) {
        match event {
            ScheduledEvent::Handled(envelope) => self.handle_cold(envelope),
            ScheduledEvent::Timer { process, generation, set_in, timer } => {
                if !self.nodes[process.index()].expire(&timer, generation) {
                    return;
                }
                let at = self.engine.next_moment(process);
                self.engine.observer.input(at, &Input::Timer(&timer, set_in));
                self.invoke(at, |process, out| process.on_timer(timer, out));
            }
            ScheduledEvent::Command(pending) => self.command(pending),
            ScheduledEvent::Belief { observer, belief, because_of, epoch } => {
                let oracle = self.engine.oracle.as_mut().expect("only the oracle plans beliefs");
                // A process that is down is not notified. It is notified after its recovery.
                if self.nodes[observer.index()].up
                    && oracle.adopt_if_current(observer, belief, epoch)
                {
                    self.deliver_suspicion(observer, belief, because_of);
                }
            }
            ScheduledEvent::Fault(fault) => self.inject(fault),
        }
    }

    fn command(&mut self, pending: PendingCommand<P::Command>) {
        let PendingCommand { process, command, because_of, incarnation } = pending;
        let Self { nodes, effects, engine, .. } = self;
        let node = &mut nodes[process.index()];
        let wanted = match incarnation {
            None => engine.user.on_due(process, &command, node.up),
            Some(incarnation) => node.up && incarnation == node.incarnation,
        };
        if !wanted {
            return;
        }
        let at = engine.next_moment(process);
        effects.set_now(node.local_time(at.time));
        // A refused command counts as never given: the observer sees a command only after the process has accepted it.
        if let Err(why) = node.process.on_command(command.clone(), effects) {
            effects.drain().for_each(drop);
            return engine.observer.refuse(at, &command, &why);
        }
        engine.observer.input(at, &Input::Command(&command, because_of));
        self.apply_effects(at);
        self.engine.user.accepted(process, &command, &mut self.engine.agenda);
        self.schedule(Some(at.event));
    }

    pub(crate) fn deliver_suspicion(
        &mut self,
        observer: ProcessId,
        belief: Belief,
        because_of: u64,
    ) {
        if self.nodes[observer.index()].up {
            let at = self.engine.next_moment(observer);
            self.engine.observer.input(at, &Input::Belief(belief, because_of));
            self.invoke(at, |process, out| process.on_belief(belief, out));
        }
    }

    /// Runs a handler of a process and applies its effects.
    pub(crate) fn invoke(&mut self, at: Moment, act: impl FnOnce(&mut P, &mut Effects<P>)) {
        let Self { nodes, effects, .. } = self;
        let node = &mut nodes[at.process.index()];
        effects.set_now(node.local_time(at.time));
        act(&mut node.process, effects);
        self.apply_effects(at);
        self.schedule(Some(at.event));
    }

    /// Applies the effects of the process of this event. The process may crash while it sends a multicast.
    #[inline(never)]
    fn apply_effects(&mut self, at: Moment) {
        let Self { nodes, effects, engine, .. } = self;
        let node = &mut nodes[at.process.index()];
        let crashed = engine.apply_effects(node, at, effects);
        engine.observer.handled(at, &node.process);
        if crashed {
            self.crash(at);
        }
    }

    /// Schedules the commands on the agenda: planned ones, or those in response to an event. The latter are only for
    /// the current incarnation of the process.
    fn schedule(&mut self, because_of: Option<u64>) {
        let Self { nodes, engine, .. } = self;
        if engine.agenda.is_empty() {
            return;
        }
        let mut agenda = std::mem::take(&mut engine.agenda);
        for (process, after, command) in agenda.drain(..) {
            let node = &nodes[process.index()];
            let incarnation = because_of.map(|_| node.incarnation);
            let pending = PendingCommand { process, command, because_of, incarnation };
            engine.enqueue(engine.now + node.paced(after), ScheduledEvent::Command(pending));
        }
        engine.agenda = agenda;
    }

    /// Ends the round if everything that belongs to it has happened. Returns whether it did.
    fn end_round(&mut self) -> bool {
        let Some(round) = &mut self.engine.round else { return false };
        if round.awaited_by.is_empty() {
            return false;
        }
        // A round ends after all events at its last moment, which is the first moment of the next round.
        let number =
            self.engine.now.0.div_ceil(round.length.0).max(round.last_ended.saturating_add(1));
        let end = Time(number.saturating_mul(round.length.0));
        if end > self.engine.limits.until
            || end == Time::NEVER
            || self.engine.queue.peek_time().is_some_and(|next| next <= end.0)
        {
            return false;
        }
        self.engine.now = end;
        round.last_ended = number;
        let awaiting = std::mem::take(&mut round.awaited_by);
        for id in &awaiting {
            if self.nodes[id.index()].up {
                let at = self.engine.next_moment(id);
                self.engine.observer.input(at, &Input::RoundEnd(number));
                self.invoke(at, |process, out| process.on_round_end(number, out));
            }
        }
        true
    }

    pub(crate) fn inject(&mut self, fault: FaultEvent) {
        let up = self.nodes[fault.victim().index()].up;
        if matches!((&fault, up), (FaultEvent::Crash(_), false) | (FaultEvent::Recover(..), true)) {
            return;
        }
        let at = self.engine.next_moment(fault.victim());
        // A crash is reported by `crash` itself, because it may also happen within a multicast.
        if let FaultEvent::Crash(_) = fault {
            return self.crash(at);
        }
        self.engine.observer.fault(at, &fault);
        match fault {
            FaultEvent::Crash(_) => {}
            FaultEvent::Recover(_, memory) => self.recover(at, memory),
            FaultEvent::CrashMid(process, _)
            | FaultEvent::OmitSend(process, _)
            | FaultEvent::OmitReceive(process, _)
            | FaultEvent::Handling(process, _)
            | FaultEvent::Pace(process, _)
            | FaultEvent::Clock(process, _) => {
                self.nodes[process.index()].fault_state_mut().apply(&fault, at.time);
            }
            FaultEvent::Link { from, to, cut } => self.engine.network.set_link(from, to, cut),
            FaultEvent::Partition(groups) => self.engine.network.separate(&groups),
            FaultEvent::Heal => self.engine.network.heal(),
            FaultEvent::NextOnLink { from, to, message_fault } => {
                self.engine.network.arm(from, to, message_fault)
            }
            FaultEvent::Suspect { observer, victim, active } => {
                let Some(oracle) = &mut self.engine.oracle else { return };
                if let Some(belief) = oracle.set_false_suspicion(observer, victim, active) {
                    self.deliver_suspicion(observer, belief, at.event);
                }
            }
        }
    }

    fn crash(&mut self, at: Moment) {
        let victim = at.process;
        let node = &mut self.nodes[victim.index()];
        if !node.up {
            return;
        }
        node.crash();
        self.engine.observer.fault(at, &FaultEvent::Crash(victim));
        self.engine.user.crashed(victim);
        self.notify_all(at, Belief::Crashed(victim));
    }

    fn recover(&mut self, at: Moment, memory: Memory) {
        let id = at.process;
        self.nodes[id.index()].up = true;
        self.notify_all(at, Belief::Alive(id));
        self.engine.observer.input(at, &Input::Recovery(memory));
        match memory {
            Memory::Kept => self.invoke(at, P::on_recovery),
            Memory::Lost => {
                self.nodes[id.index()].process = (self.make)(id);
                self.invoke(at, P::on_start);
            }
        }
        self.notify_recovered(at);
        self.engine.user.recovered(id, memory, &mut self.engine.agenda);
        self.schedule(Some(at.event));
    }

    /// Schedules the oracle's notifications for a recovered process: all processes that are down, even if it knew of
    /// them, and suspected processes that are up again.
    fn notify_recovered(&mut self, at: Moment) {
        let up = self.up();
        let Some(oracle) = &mut self.engine.oracle else { return };
        for belief in oracle.pending_for(at.process, &up) {
            self.engine.schedule_belief(at.process, belief, at.event);
        }
    }

    /// Schedules the oracle's notification of every other process, each with its own delay.
    fn notify_all(&mut self, at: Moment, belief: Belief) {
        if let Some(oracle) = &mut self.engine.oracle {
            oracle.advance_epoch(at.process);
            for observer in ProcessId::all(self.engine.n).filter(|&observer| observer != at.process)
            {
                self.engine.schedule_belief(observer, belief, at.event);
            }
        }
    }
}
