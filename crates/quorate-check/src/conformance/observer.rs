//! Follows a run of the simulator in a model.

use quorate_core::abstraction::{AbstractState, Abstraction, Element, MessageInFlight, Rows};
use quorate_core::mutex::Mutex;
use quorate_core::{Belief, Process, ProcessId};
use quorate_sim::network::Loss;
use quorate_sim::observer::{Departure, Input, Moment, Observer};
use quorate_sim::plan::FaultEvent;
use quorate_sim::{
    AlgorithmInfo, Clocks, Conditions, RunError, RunningClock, Scenario, observe_mutex,
};

use super::checker::{NumberedRow, Statistics};
use super::divergence::Divergence;
use super::follower::{ElementFunctions, FollowedInput, Follower};
use super::model::Model;
use super::ownership::Owner;

/// A message in flight.
struct Sent {
    /// Rows as long as it is in flight.
    rows: Vec<NumberedRow>,
    /// Rows from when it has been handled.
    handled: Vec<NumberedRow>,
}

/// Observer of a run that checks every step of it against a model.
pub struct Conformance<'m, A: Abstraction> {
    abstraction: A,
    follower: Follower<'m>,
    /// Messages in flight. The tag of a message is its place.
    messages: Vec<Sent>,
    /// The current input in words, then its messages and the message that it is.
    input: String,
    sent: Vec<NumberedRow>,
    consumed: Vec<NumberedRow>,
    /// Rows of messages that were lost as soon as they were sent.
    lost: Vec<NumberedRow>,
    /// The last state of each process that was handled.
    states: Vec<Option<A::Process>>,
    /// The clock of each process.
    clocks: Vec<RunningClock>,
    divergence: Option<(Moment, Box<Divergence>)>,
}

impl<'m, A: Abstraction> Conformance<'m, A> {
    /// Creates an observer of n processes with true clocks.
    pub fn new(model: &'m Model, abstraction: A, n: usize) -> Self {
        Self::with_clocks(model, abstraction, n, &Clocks::default())
    }

    /// Creates an observer of n processes with these clocks.
    pub fn with_clocks(model: &'m Model, abstraction: A, n: usize, clocks: &Clocks) -> Self {
        let mut follower = Follower::new(model, A::ORDERS, A::ACTORS);
        {
            let checker = &mut follower.checker;
            let functions = ElementFunctions::new(&abstraction);
            let guide = functions.guide();
            let id = Element::process(ProcessId::new(0));
            // A model may have other sorts instead, such as clients and servers.
            if checker.has_sort(id.sort) {
                ProcessId::all(n).for_each(|id| {
                    checker.intern(&Element::process(id), &guide);
                });
            }
        }
        Self {
            abstraction,
            follower,
            messages: Vec::new(),
            input: String::new(),
            sent: Vec::new(),
            consumed: Vec::new(),
            lost: Vec::new(),
            states: vec![None; n],
            clocks: ProcessId::all(n).map(|id| RunningClock::of(clocks, id)).collect(),
            divergence: None,
        }
    }

    /// The first step that the model does not allow, with its moment.
    pub fn divergence(&self) -> Option<&(Moment, Box<Divergence>)> {
        self.divergence.as_ref()
    }

    /// Counts of inputs and actions so far.
    pub fn statistics(&self) -> &Statistics {
        self.follower.statistics()
    }

    /// Follows a step of a process that is in this state now.
    fn step(&mut self, at: Moment, process: &A::Process, is_up: bool) {
        if self.divergence.is_some() {
            return;
        }
        let Self { abstraction, follower, input, sent, consumed, .. } = self;
        abstraction.observe(process, is_up);
        let state = abstraction.state(process, is_up);
        let text = || format!("event {} at {}: process {}: {input}", at.event, at.time, at.process);
        let actor = Owner::process(at.process);
        let result = follower.step(actor, &state, (sent, consumed), abstraction, text);
        self.divergence = result.err().map(|divergence| (at, divergence));
        self.sent.clear();
        self.consumed.clear();
        self.follower.checker.release(&std::mem::take(&mut self.lost));
    }

    /// Follows what has happened because of time alone, before the present event.
    fn pass_time(&mut self, at: Moment) {
        if self.divergence.is_some() {
            return;
        }
        let Self { abstraction, follower, clocks, .. } = self;
        let mut rows = Rows::default();
        abstraction.time_passes(&|id| clocks[id.index()].show(at.time), &mut rows);
        if rows.0.is_empty() {
            return;
        }
        let state = AbstractState::default();
        let input = FollowedInput { owner: None, state: &state, sent: &rows };
        let text = || format!("event {} at {}: time has passed", at.event, at.time);
        let result = follower.follow(&input, abstraction, text);
        self.divergence = result.err().map(|divergence| (at, divergence));
    }

    fn arrived(&mut self, tag: u32, is_handled: bool) {
        let Some(message) = self.messages.get(tag as usize) else { return };
        self.follower.checker.release(&message.rows);
        self.follower.checker.allow(&message.handled);
        if is_handled {
            self.consumed.clone_from(&message.rows);
            self.follower.checker.demand(&message.handled);
            self.sent.extend(&message.handled);
        }
    }
}

/// Result of a run that was followed in a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConformanceReport {
    /// Number of inputs, and of the actions of the model that they were.
    pub statistics: Statistics,
    /// The first step that the model does not allow.
    pub divergence: Option<Divergence>,
}

/// Runs a scenario of a mutual exclusion algorithm, and follows it in the model of the abstraction. The scenario must have
/// been validated.
pub fn follow_mutex<A: Abstraction<Process: Mutex + 'static>>(
    scenario: &Scenario,
    info: &AlgorithmInfo,
    conditions: Conditions,
    make: impl Fn(ProcessId) -> A::Process + 'static,
    model: &Model,
    abstraction: A,
) -> Result<ConformanceReport, RunError> {
    let clocks = scenario.local_clocks();
    let observer = Conformance::with_clocks(model, abstraction, scenario.processes, &clocks);
    let observer = observe_mutex(scenario, info, conditions, make, observer)?;
    let divergence = observer.divergence().map(|(_, divergence)| (**divergence).clone());
    Ok(ConformanceReport { statistics: observer.statistics().clone(), divergence })
}

impl<A: Abstraction> Observer<A::Process> for Conformance<'_, A> {
    fn input(&mut self, at: Moment, input: &Input<'_, A::Process>) {
        self.pass_time(at);
        self.input = match input {
            Input::Start => "starts".to_owned(),
            Input::Command(command, _) => format!("command {command:?}"),
            Input::Timer(timer, _) => format!("timer {timer:?}"),
            Input::Belief(Belief::Crashed(other), _) => format!("learns that {other} has crashed"),
            Input::Belief(Belief::Alive(other), _) => format!("learns that {other} is alive"),
            Input::RoundEnd(round) => format!("round {round} ends"),
            Input::Recovery(_) => "recovers".to_owned(),
        };
    }

    fn send(
        &mut self,
        at: Moment,
        _: u64,
        to: ProcessId,
        message: &<A::Process as Process>::Message,
        departure: Departure,
    ) -> u32 {
        let sent = MessageInFlight { event: at.event, from: at.process, to, message };
        let (mut rows, mut handled) = (Rows::default(), Rows::default());
        self.abstraction.in_flight(&sent, &mut rows);
        self.abstraction.handled(&sent, &mut handled);
        let functions = ElementFunctions::new(&self.abstraction);
        let guide = functions.guide();
        let rows = self.follower.checker.number(&rows, &guide);
        let handled = self.follower.checker.number(&handled, &guide);
        // The model has the message even if it is lost at once.
        self.follower.checker.demand(&rows);
        self.sent.extend(&rows);
        if let Departure::Lost(_) = departure {
            self.lost.extend(rows);
            return u32::MAX;
        }
        self.follower.checker.forbid(&handled);
        self.messages.push(Sent { rows, handled });
        (self.messages.len() - 1) as u32
    }

    fn deliver(
        &mut self,
        at: Moment,
        from: ProcessId,
        tag: u32,
        message: &<A::Process as Process>::Message,
    ) {
        self.pass_time(at);
        self.input = format!("message {message:?} of {from}");
        self.arrived(tag, true);
    }

    fn lose(
        &mut self,
        _: Moment,
        _: ProcessId,
        tag: u32,
        _: &<A::Process as Process>::Message,
        _: Loss,
    ) {
        self.arrived(tag, false);
    }

    fn handled(&mut self, at: Moment, process: &A::Process) {
        self.step(at, process, true);
        self.states[at.process.index()] = Some(process.clone());
    }

    fn is_closed(&self) -> bool {
        self.divergence.is_some()
    }

    fn fault(&mut self, at: Moment, fault: &FaultEvent) {
        self.pass_time(at);
        match *fault {
            FaultEvent::Crash(victim) => {
                if let Some(process) = self.states[victim.index()].take() {
                    self.input = "crashes".to_owned();
                    self.step(at, &process, false);
                    self.states[victim.index()] = Some(process);
                }
            }
            FaultEvent::Clock(process, rate) => {
                self.clocks[process.index()].set_rate(rate, at.time);
            }
            _ => {}
        }
    }
}
