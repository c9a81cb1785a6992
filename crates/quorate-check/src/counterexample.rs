//! Converts a counterexample to a scenario that the simulator runs to the same end.
//!
//! Each step takes one millisecond. A message that is sent in step i and arrives in step j takes j - i milliseconds, and so
//! does a crash notice. A process that enters in step i and leaves in step j stays inside for as long. An election starts,
//! a value is proposed and a message is multicast in the step in which the user issues the command. Everything that has not
//! happened when the property is violated happens much later.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::{ProcessId, Span, Time};
use quorate_sim::fault::{CrashMid, LinkAt, ProcessAt, Recover, Suspect};
use quorate_sim::notation::{Link, ProcessSelector, SectionOf, When, Window};
use quorate_sim::{Delay, LinkDelay, Scenario};

use crate::world::{ActionKind, State};
use crate::{Action, World};

/// Number of steps after the last one at which everything else happens.
const LATER: u64 = 1_000;

/// Step in which a message was sent, and step in which it arrived.
type Times = (u64, Option<u64>);

/// Facts collected step by step, to be written to a scenario.
#[derive(Default)]
struct ScenarioBuilder {
    /// Send and arrival step of each message of a link.
    links: BTreeMap<(u8, u8), Vec<Times>>,
    /// Indices of the messages in flight on each link, in order.
    under_way: BTreeMap<(u8, u8), Vec<usize>>,
    /// Lost messages. They take no delay from the list of their link.
    lost: BTreeSet<(u8, u8, usize)>,
    inside_since: BTreeMap<u8, u64>,
    durations: BTreeMap<u8, Vec<u64>>,
    crashed: BTreeMap<u8, u64>,
    notified: BTreeMap<(u8, u8), u64>,
    suspected: BTreeMap<(u8, u8), u64>,
}

/// Writes the steps of a counterexample into a scenario of the same world.
pub fn scenario_of(world: &World<'_>, steps: &[Action], scenario: &mut Scenario) {
    if steps.iter().any(|step| matches!(step.kind, ActionKind::RoundEnd(_))) {
        return in_rounds(world, steps, scenario);
    }
    let mut builder = ScenarioBuilder::default();
    let mut state = world.initial_state();
    builder.record_sends(&state, 0);
    for (step, action) in (1..).zip(steps) {
        let process = builder.record_step(action, step, scenario);
        let next = world.after(&state, *action);
        builder.record_sends(&next, step);
        if let Some(process) = process {
            let inside = |state: &State| world.is_inside(state, process);
            match (inside(&state), inside(&next)) {
                (false, true) => drop(builder.inside_since.insert(process, step)),
                (true, false) => builder.record_exit(process, step),
                _ => {}
            }
        }
        state = next;
    }
    let end = steps.len() as u64 + LATER;
    builder.late_requests(world, end, scenario);
    builder.write(end, scenario);
}

/// Conversion of a world with rounds. The order of events within a round does not matter, so only requests, crashes and
/// recoveries are written, each with its round. A round takes one millisecond.
fn in_rounds(world: &World<'_>, steps: &[Action], scenario: &mut Scenario) {
    let mut state = world.initial_state();
    for action in steps {
        let begin = (state.round() - 1) * MILLISECOND;
        let (process, time) = match action.kind {
            ActionKind::RoundEnd(process) | ActionKind::Expire { process, .. } => (process, begin),
            ActionKind::Tick => continue,
            ActionKind::Command(process) => {
                let at = When::At(Time(begin));
                scenario.request.push(ProcessAt { process: process_selector(process), at });
                (process, begin)
            }
            ActionKind::Recover(process) => {
                let at = When::At(Time(begin + MILLISECOND / 2));
                scenario.faults.recover.push(Recover {
                    process: process_selector(process),
                    at,
                    memory: true,
                });
                (process, begin)
            }
            ActionKind::Crash(victim) => {
                let at = When::At(Time(begin + MILLISECOND / 2));
                scenario.faults.crash.push(ProcessAt { process: process_selector(victim), at });
                (victim, begin)
            }
            // The order of deliveries within a round cannot be observed, so any time in the round will do.
            ActionKind::Deliver { to, .. } => (to, begin + MILLISECOND / 2),
            ActionKind::NotifyCrash { observer, .. }
            | ActionKind::Suspect { observer, .. }
            | ActionKind::Trust { observer, .. } => (observer, begin),
            ActionKind::Lose { to, .. } => (to, begin),
        };
        if let Some(sends) = action.crash_after {
            let at = When::At(Time(time));
            scenario.faults.crash_mid.push(CrashMid {
                process: process_selector(process),
                at,
                sends: sends.into(),
            });
        }
        state = world.after(&state, *action);
    }
}

impl ScenarioBuilder {
    /// Records what a step does to messages and faults. Returns the process that acts in it.
    fn record_step(&mut self, action: &Action, step: u64, scenario: &mut Scenario) -> Option<u8> {
        let at = When::At(Time(step * MILLISECOND));
        let process = match action.kind {
            ActionKind::Deliver { from, to, index } => {
                let message = self.take(from, to, index);
                self.links.entry((from, to)).or_default()[message].1 = Some(step);
                to
            }
            ActionKind::Command(process) => {
                if !self.inside_since.contains_key(&process) {
                    scenario.request.push(ProcessAt { process: process_selector(process), at });
                }
                process
            }
            ActionKind::NotifyCrash { observer, victim } => {
                self.notified.insert((observer, victim), step);
                observer
            }
            ActionKind::Suspect { observer, victim } => {
                self.suspected.insert((observer, victim), step);
                observer
            }
            ActionKind::Trust { observer, victim } => {
                let since = self.suspected.remove(&(observer, victim)).unwrap_or(0);
                scenario.faults.suspect.push(suspicion(observer, victim, since, Some(step)));
                observer
            }
            ActionKind::RoundEnd(process) | ActionKind::Expire { process, .. } => process,
            ActionKind::Tick => return None,
            ActionKind::Recover(process) => {
                scenario.faults.recover.push(Recover {
                    process: process_selector(process),
                    at,
                    memory: true,
                });
                process
            }
            ActionKind::Crash(victim) => {
                scenario.faults.crash.push(ProcessAt { process: process_selector(victim), at });
                self.crash(victim, step);
                return None;
            }
            ActionKind::Lose { from, to, index } => {
                let message = self.take(from, to, index);
                let sent = self.links.entry((from, to)).or_default()[message].0;
                self.lost.insert((from, to, message));
                let at = When::At(Time(sent * MILLISECOND));
                scenario.faults.lose.push(LinkAt { link: link(from, to), at });
                return None;
            }
        };
        if let Some(sends) = action.crash_after {
            scenario.faults.crash_mid.push(CrashMid {
                process: process_selector(process),
                at,
                sends: sends.into(),
            });
            self.crash(process, step);
        }
        Some(process)
    }

    /// Lets each process that had to issue a request and did not do so issue it late. A scenario without requests would
    /// start with one by default, so then process 0 issues one late. Steps of a script that are left come late too.
    fn late_requests(&self, world: &World<'_>, end: u64, scenario: &mut Scenario) {
        let at = When::At(Time(end * MILLISECOND));
        for process in 0..world.n as u8 {
            if !scenario.script.is_empty() {
                scenario.request.push(ProcessAt { process: process_selector(process), at });
                continue;
            }
            let bound = world.must_request(process);
            if bound
                && !scenario
                    .request
                    .iter()
                    .any(|request| request.process == process_selector(process))
            {
                scenario.request.push(ProcessAt { process: process_selector(process), at });
            }
        }
        if scenario.request.is_empty() {
            scenario.request.push(ProcessAt { process: process_selector(0), at });
        }
    }

    fn take(&mut self, from: u8, to: u8, index: u8) -> usize {
        self.under_way.entry((from, to)).or_default().remove(index.into())
    }

    fn crash(&mut self, victim: u8, step: u64) {
        self.crashed.insert(victim, step);
        self.inside_since.remove(&victim);
        self.under_way.retain(|(_, to), _| *to != victim);
    }

    fn record_exit(&mut self, process: u8, step: u64) {
        if let Some(since) = self.inside_since.remove(&process) {
            self.durations.entry(process).or_default().push(step - since);
        }
    }

    /// Records the messages sent in a step: those that were not in flight before.
    fn record_sends(&mut self, state: &State, step: u64) {
        let mut counts: BTreeMap<(u8, u8), usize> = BTreeMap::new();
        state.links().for_each(|link| *counts.entry(link).or_default() += 1);
        for (link, count) in counts {
            let (all, under_way) =
                (self.links.entry(link).or_default(), self.under_way.entry(link).or_default());
            while under_way.len() < count {
                under_way.push(all.len());
                all.push((step, None));
            }
        }
    }

    fn write(self, end: u64, scenario: &mut Scenario) {
        for ((from, to), messages) in self.links {
            let delay = |(sent, arrived): (u64, Option<u64>)| {
                Span((arrived.unwrap_or(end) - sent) * MILLISECOND)
            };
            let arrives = |index: &usize| !self.lost.contains(&(from, to, *index));
            let messages = messages.into_iter().enumerate();
            let messages = messages.filter(|(index, _)| arrives(index));
            let delays: Vec<Span> = messages.map(|(_, times)| delay(times)).collect();
            if delays.is_empty() {
                continue;
            }
            let delay = Delay::List(delays);
            scenario.link_delay.push(LinkDelay { link: link(from, to), delay });
        }
        let durations = |(process, durations): (u8, Vec<u64>)| SectionOf {
            process: ProcessId::new(process.into()),
            durations: durations.into_iter().map(|duration| Span(duration * MILLISECOND)).collect(),
        };
        scenario.section_of = self.durations.into_iter().map(durations).collect();
        let still_inside = self.inside_since.keys().map(|process| SectionOf {
            process: ProcessId::new((*process).into()),
            durations: vec![Span(end * MILLISECOND)],
        });
        let mut still_inside: Vec<SectionOf> = still_inside.collect();
        for own in &mut scenario.section_of {
            if let Some(at) = still_inside.iter().position(|still| still.process == own.process) {
                own.durations.extend(still_inside.swap_remove(at).durations);
            }
        }
        scenario.section_of.extend(still_inside);
        for observer in 0..scenario.processes as u8 {
            for (victim, crashed) in self.crashed.iter().filter(|(victim, _)| **victim != observer)
            {
                let notified = self.notified.get(&(observer, *victim)).copied().unwrap_or(end);
                let delay = Delay::Constant(Span(notified.saturating_sub(*crashed) * MILLISECOND));
                let link = link(observer, *victim);
                scenario.detection_pair.push(LinkDelay { link, delay });
            }
        }
        let standing = self.suspected.into_iter();
        let standing = standing.map(|((o, v), since)| suspicion(o, v, since, None));
        scenario.faults.suspect.extend(standing);
    }
}

const MILLISECOND: u64 = 1_000_000;

fn process_selector(process: u8) -> ProcessSelector {
    ProcessSelector::Process(ProcessId::new(process.into()))
}

fn link(from: u8, to: u8) -> Link {
    Link { from: process_selector(from), to: process_selector(to) }
}

fn suspicion(observer: u8, victim: u8, since: u64, until: Option<u64>) -> Suspect {
    let at = |step: u64| When::At(Time(step * MILLISECOND));
    let window = Window { from: at(since), until: until.map(at) };
    Suspect { pair: link(observer, victim), window }
}
