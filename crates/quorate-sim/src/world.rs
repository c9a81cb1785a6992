//! The discrete-event world: drives the processes of one run, event after event.
//!
//! A run is a function of its specification alone. Events at the same time happen in the order in which
//! they were caused; what befalls the world by plan comes first.

use quorate_core::{Belief, Drift, Effects, Process, ProcessId, ProcessSet, Span, Time};

use crate::engine::{Asked, Engine, Errand, Item, Parcel, Round};
use crate::local_clock::Clocks;
use crate::network::{LinkModel, Network};
use crate::node::Node;
use crate::observer::{Input, Moment, Observer};
use crate::oracle::{Oracle, OracleModel};
use crate::plan::{Deed, Memory, Plan};
use crate::queue::Queue;
use crate::random::{Random, Stream};
use crate::slab::Slab;
use crate::timing::Timing;
use crate::user::{Agenda, User};

/// All that makes a world, apart from its processes and users.
#[derive(Clone, Debug)]
pub struct WorldModel {
    /// How many processes there are.
    pub n: usize,
    /// The seed of all chance.
    pub seed: u64,
    /// How the links are.
    pub links: LinkModel,
    /// How long a process takes to handle a message.
    pub handling: Span,
    /// The failure detector of the driver, if the processes do not bring their own.
    pub oracle: Option<OracleModel>,
    /// What the clocks of the machines show.
    pub clocks: Clocks,
    /// What goes wrong.
    pub plan: Plan,
    /// When to stop.
    pub limits: Limits,
}

/// When to stop a run that does not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nothing later than this happens.
    pub until: Time,
    /// No more events than this.
    pub events: u64,
    /// No more items waiting in the queue than this.
    pub queued: usize,
    /// Stop once the users are content, though the processes may never be quiet.
    pub stop_when_content: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { until: Time::NEVER, events: u64::MAX, queued: usize::MAX, stop_when_content: false }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is left to happen.
    Quiescent,
    /// The users have all they wanted.
    Content,
    /// The time was up.
    Until,
    /// The number of events was up.
    Events,
    /// Too much was waiting in the queue.
    Queued,
    /// Whoever watched has gone.
    Unwatched,
}

/// A world of processes `P` with users `U`, watched by `O`.
pub struct World<P: Process, U, O> {
    pub(crate) nodes: Vec<Node<P>>,
    effects: Effects<P>,
    make: Box<dyn Fn(ProcessId) -> P>,
    pub(crate) engine: Engine<P, U, O>,
}

impl<P: Process, U, O> World<P, U, O> {
    /// The bytes that a message takes in the queue, its contents included.
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
    /// A world of processes made by `make`, which is called again for one that restarts without memory.
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
            nodes[traitor.index()].quirks_mut().traitor = Some(*strategy);
        }
        if model.clocks.start > Time::ZERO {
            nodes.iter_mut().for_each(|node| node.set_clock(model.clocks.start, Drift::NONE));
        }
        for clock in &model.clocks.wrong {
            let shown = model.clocks.start + clock.offset;
            nodes[clock.who.index()].set_clock(shown, clock.drift);
        }
        let law = &model.links.delay;
        let horizon = law.bound().unwrap_or(Span(law.mean().0.saturating_mul(8))).0;
        let slow =
            model.plan.deeds.iter().any(|(_, deed)| matches!(deed, Deed::Handling(_, Some(_))));
        let round = match model.links.timing {
            Timing::Rounds(length) => {
                Some(Round { length, awaited_by: ProcessSet::new(), over: 0 })
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
            errands: Slab::default(),
            network,
            oracle: model.oracle.map(|oracle| Oracle::new(n, &oracle, model.seed)),
            handling_takes_time: slow || model.handling > Span::ZERO,
            handling: model.handling,
            treason: Random::new(model.seed, Stream::Traitors),
            round,
            agenda: Agenda::new(),
            limits: model.limits,
            outside: None,
            user,
            observer,
        };
        for (time, deed) in model.plan.deeds {
            engine.enqueue(time, Errand::Deed(deed));
        }
        Self { nodes, effects: Effects::default(), make: Box::new(make), engine }
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.engine.now
    }

    /// How many events there have been.
    pub fn events(&self) -> u64 {
        self.engine.event
    }

    /// How many messages have been delivered.
    pub fn deliveries(&self) -> u64 {
        self.engine.deliveries
    }

    /// The process as it is now.
    pub fn process(&self, id: ProcessId) -> &P {
        &self.nodes[id.index()].process
    }

    /// Whether the process is up.
    pub fn is_up(&self, id: ProcessId) -> bool {
        self.nodes[id.index()].up
    }

    /// Who is watching.
    pub fn observer(&self) -> &O {
        &self.engine.observer
    }

    /// Whether each process is up.
    pub(crate) fn up(&self) -> Vec<bool> {
        self.nodes.iter().map(|node| node.up).collect()
    }

    /// How much waits in the queue.
    pub fn queued(&self) -> usize {
        self.engine.queue.len()
    }

    /// The processes as they are at the end, and who was watching.
    pub fn into_parts(self) -> (Vec<P>, O) {
        (self.nodes.into_iter().map(|node| node.process).collect(), self.engine.observer)
    }

    /// Runs until nothing is left to happen or a limit is reached.
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
            self.tell(at, P::on_start);
            if self.engine.is_full() {
                return;
            }
        }
        self.engine.user.begin(&mut self.engine.agenda);
        self.schedule(None);
    }

    /// Lets the next event happen; tells how the run ended if there is none.
    #[inline(always)]
    pub fn step(&mut self) -> Option<Ending> {
        let engine = &mut self.engine;
        if engine.is_full() {
            return Some(Ending::Queued);
        }
        if engine.observer.has_gone() {
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
        // The end of time is never reached: what is to happen then does not.
        if time > engine.limits.until.0 || time == u64::MAX {
            engine.now = engine.limits.until;
            return Some(Ending::Until);
        }
        engine.now = Time(time);
        match item {
            Item::Message(message) => {
                let (from, to) = (ProcessId::new(label.from), ProcessId::new(label.to));
                self.arrive(Parcel { from, to, tag: label.tag, message });
            }
            Item::Errand(place) => {
                let errand = engine.errands.remove(place);
                self.run_errand(errand);
                let now = self.engine.now;
                if self.engine.limits.stop_when_content && self.engine.user.is_content(now) {
                    return Some(Ending::Content);
                }
            }
        }
        None
    }

    #[inline(always)]
    fn arrive(&mut self, parcel: Parcel<P::Message>) {
        let engine = &mut self.engine;
        if engine.handling_takes_time {
            let node = &mut self.nodes[parcel.to.index()];
            if let Some(done) = node.busy_until(engine.now, engine.handling) {
                return engine.enqueue(done, Errand::Handled(parcel));
            }
        }
        self.handle(parcel);
    }

    /// A message is handled, in the loop of a run.
    #[inline(always)]
    fn handle(&mut self, parcel: Parcel<P::Message>) {
        let Some(at) = self.take_in(parcel) else { return };
        let Self { nodes, effects, engine, .. } = self;
        let node = &mut nodes[at.process.index()];
        let crashed = engine.carry_out(node, at, effects);
        engine.observer.handled(at, &node.process);
        if crashed {
            self.crash(at);
        }
    }

    /// A message is handled, elsewhere: not to have the loop compiled again for every algorithm.
    #[inline(never)]
    pub(crate) fn handle_apart(&mut self, parcel: Parcel<P::Message>) {
        if let Some(at) = self.take_in(parcel) {
            self.carry_out(at);
        }
    }

    /// A process is given a message, if nothing is in the way; what it wants is still to be done.
    #[inline(always)]
    fn take_in(&mut self, parcel: Parcel<P::Message>) -> Option<Moment> {
        let Parcel { from, to, tag, message } = parcel;
        let Self { nodes, effects, engine, .. } = self;
        let node = &mut nodes[to.index()];
        let at = engine.next_moment(to);
        if let Some(why) = engine.hindrance(node, from, to) {
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
    pub(crate) fn run_errand(&mut self, errand: Errand<P>) {
        match errand {
            Errand::Handled(parcel) => self.handle_apart(parcel),
            Errand::Timer { process, generation, set_in, timer } => {
                if !self.nodes[process.index()].expire(&timer, generation) {
                    return;
                }
                let at = self.engine.next_moment(process);
                self.engine.observer.input(at, &Input::Timer(&timer, set_in));
                self.tell(at, |process, out| process.on_timer(timer, out));
            }
            Errand::Command(asked) => self.command(asked),
            Errand::Belief { observer, belief, because_of, epoch } => {
                let oracle = self.engine.oracle.as_mut().expect("only the oracle plans beliefs");
                // Who is down hears nothing, and is told when it is back.
                if self.nodes[observer.index()].up && oracle.is_news(observer, belief, epoch) {
                    self.believe(observer, belief, because_of);
                }
            }
            Errand::Deed(deed) => self.befall(deed),
        }
    }

    fn command(&mut self, asked: Asked<P::Command>) {
        let Asked { process, command, because_of, incarnation } = asked;
        let Self { nodes, effects, engine, .. } = self;
        let node = &mut nodes[process.index()];
        let wanted = match incarnation {
            None => engine.user.falls_due(process, &command, node.up),
            Some(incarnation) => node.up && incarnation == node.incarnation,
        };
        if !wanted {
            return;
        }
        let at = engine.next_moment(process);
        effects.set_now(node.local_time(at.time));
        // What is refused has not been asked: nobody sees the command before the process has taken it.
        if let Err(why) = node.process.on_command(command.clone(), effects) {
            effects.drain().for_each(drop);
            return engine.observer.refuse(at, &command, &why);
        }
        engine.observer.input(at, &Input::Command(&command, because_of));
        self.carry_out(at);
        self.engine.user.accepted(process, &command, &mut self.engine.agenda);
        self.schedule(Some(at.event));
    }

    pub(crate) fn believe(&mut self, observer: ProcessId, belief: Belief, because_of: u64) {
        if self.nodes[observer.index()].up {
            let at = self.engine.next_moment(observer);
            self.engine.observer.input(at, &Input::Belief(belief, because_of));
            self.tell(at, |process, out| process.on_belief(belief, out));
        }
    }

    /// Lets a process act and carries out what it wants.
    pub(crate) fn tell(&mut self, at: Moment, act: impl FnOnce(&mut P, &mut Effects<P>)) {
        let Self { nodes, effects, .. } = self;
        let node = &mut nodes[at.process.index()];
        effects.set_now(node.local_time(at.time));
        act(&mut node.process, effects);
        self.carry_out(at);
        self.schedule(Some(at.event));
    }

    /// Does what the process of this event wants; it may crash on the way.
    #[inline(never)]
    fn carry_out(&mut self, at: Moment) {
        let Self { nodes, effects, engine, .. } = self;
        let node = &mut nodes[at.process.index()];
        let crashed = engine.carry_out(node, at, effects);
        engine.observer.handled(at, &node.process);
        if crashed {
            self.crash(at);
        }
    }

    /// Puts what the users want into the queue: what they plan, or what they want in answer to an event and only
    /// as long as the process lives.
    fn schedule(&mut self, because_of: Option<u64>) {
        let Self { nodes, engine, .. } = self;
        if engine.agenda.is_empty() {
            return;
        }
        let mut agenda = std::mem::take(&mut engine.agenda);
        for (process, after, command) in agenda.drain(..) {
            let node = &nodes[process.index()];
            let incarnation = because_of.map(|_| node.incarnation);
            let asked = Asked { process, command, because_of, incarnation };
            engine.enqueue(engine.now + node.paced(after), Errand::Command(asked));
        }
        engine.agenda = agenda;
    }

    /// Ends the round if all that belongs to it has happened; tells whether it did.
    fn end_round(&mut self) -> bool {
        let Some(round) = &mut self.engine.round else { return false };
        if round.awaited_by.is_empty() {
            return false;
        }
        // A round ends after everything that happens at its last moment, which is the first of the next.
        let number = self.engine.now.0.div_ceil(round.length.0).max(round.over.saturating_add(1));
        let end = Time(number.saturating_mul(round.length.0));
        if end > self.engine.limits.until
            || end == Time::NEVER
            || self.engine.queue.peek_time().is_some_and(|next| next <= end.0)
        {
            return false;
        }
        self.engine.now = end;
        round.over = number;
        let told = std::mem::take(&mut round.awaited_by);
        for id in &told {
            if self.nodes[id.index()].up {
                let at = self.engine.next_moment(id);
                self.engine.observer.input(at, &Input::RoundEnd(number));
                self.tell(at, |process, out| process.on_round_end(number, out));
            }
        }
        true
    }

    pub(crate) fn befall(&mut self, deed: Deed) {
        let up = self.nodes[deed.victim().index()].up;
        if matches!((&deed, up), (Deed::Crash(_), false) | (Deed::Recover(..), true)) {
            return;
        }
        let at = self.engine.next_moment(deed.victim());
        // A crash reports itself: it may also come from within a multicast.
        if let Deed::Crash(_) = deed {
            return self.crash(at);
        }
        self.engine.observer.deed(at, &deed);
        match deed {
            Deed::Crash(_) => {}
            Deed::Recover(_, memory) => self.recover(at, memory),
            Deed::CrashMid(process, _)
            | Deed::OmitSend(process, _)
            | Deed::OmitReceive(process, _)
            | Deed::Handling(process, _)
            | Deed::Pace(process, _)
            | Deed::Clock(process, _) => {
                self.nodes[process.index()].quirks_mut().take_on(&deed, at.time);
            }
            Deed::Link { from, to, cut } => self.engine.network.set_link(from, to, cut),
            Deed::Partition(groups) => self.engine.network.separate(&groups),
            Deed::Heal => self.engine.network.heal(),
            Deed::NextOnLink { from, to, mishap } => self.engine.network.arm(from, to, mishap),
            Deed::Suspect { observer, victim, wrongly } => {
                let Some(oracle) = &mut self.engine.oracle else { return };
                if let Some(belief) = oracle.mislead(observer, victim, wrongly) {
                    self.believe(observer, belief, at.event);
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
        self.engine.observer.deed(at, &Deed::Crash(victim));
        self.engine.user.crashed(victim);
        self.announce(at, Belief::Crashed(victim));
    }

    fn recover(&mut self, at: Moment, memory: Memory) {
        let id = at.process;
        self.nodes[id.index()].up = true;
        self.announce(at, Belief::Alive(id));
        self.engine.observer.input(at, &Input::Recovery(memory));
        match memory {
            Memory::Kept => self.tell(at, P::on_recovery),
            Memory::Lost => {
                self.nodes[id.index()].process = (self.make)(id);
                self.tell(at, P::on_start);
            }
        }
        self.bring_up_to_date(at);
        self.engine.user.recovered(id, memory, &mut self.engine.agenda);
        self.schedule(Some(at.event));
    }

    /// The oracle will tell a process that is back who is down, whether it knew or not, and who no longer is.
    fn bring_up_to_date(&mut self, at: Moment) {
        let up = self.up();
        let Some(oracle) = &mut self.engine.oracle else { return };
        for belief in oracle.owes(at.process, &up) {
            self.engine.plan_belief(at.process, belief, at.event);
        }
    }

    /// The oracle will tell everyone, each in its own time.
    fn announce(&mut self, at: Moment, belief: Belief) {
        if let Some(oracle) = &mut self.engine.oracle {
            oracle.turn(at.process);
            for observer in ProcessId::all(self.engine.n).filter(|&observer| observer != at.process)
            {
                self.engine.plan_belief(observer, belief, at.event);
            }
        }
    }
}
