//! A process that does little enough to see what its world does to it.

use quorate_core::{Belief, Effects, Kind, Message, Process, ProcessId, Span, Time};
use quorate_sim::network::Loss;
use quorate_sim::observer::{Departure, Input, Moment, Observer};
use quorate_sim::plan::{Deed, Memory, Plan};
use quorate_sim::{Agenda, Limits, Scenario, User, World, WorldModel, parse};

/// Says numbers to others, sets timers, counts what it hears.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Parrot {
    pub(crate) heard: u32,
    /// How many more rounds it speaks in.
    rounds: u64,
}

/// What its user may ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    Say(u32),
    Tell(u32, u32),
    Wait(u64),
    Round,
    Rounds(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Word(u32);

impl Message for Word {
    const KINDS: &'static [Kind] = &[Kind::mutex("WORD")];
    fn kind(&self) -> usize {
        0
    }
    fn forged(&self, choice: u64) -> Self {
        Self(1000 + choice as u32)
    }
}

impl Process for Parrot {
    type Command = Ask;
    type Message = Word;
    type Timer = &'static str;
    type Output = String;
    type Misuse = String;

    fn on_command(&mut self, ask: Ask, out: &mut Effects<Self>) -> Result<(), String> {
        match ask {
            Ask::Say(word) => out.send_to_others(Word(word)),
            Ask::Tell(to, word) => out.send(ProcessId::new(to), Word(word)),
            Ask::Wait(span) => out.set_timer("wait", Span(span)),
            Ask::Round => out.await_round(),
            Ask::Rounds(rounds) => {
                self.rounds = rounds;
                out.await_round();
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, Word(word): Word, out: &mut Effects<Self>) {
        self.heard += 1;
        out.output(format!("{word} from {from}, the {}", self.heard));
    }

    fn on_timer(&mut self, timer: &'static str, out: &mut Effects<Self>) {
        let now = out.now();
        out.output(format!("{timer} over, my clock shows {}", now.0));
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        out.output(format!("{belief:?}"));
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        out.output(format!("round {round} over"));
        if round < self.rounds {
            out.send_to_others(Word(round as u32));
            out.await_round();
        }
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        out.output(format!("back, having heard {}", self.heard));
    }
}

/// Users who ask at fixed times and nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Asks(Vec<(u32, u64, Ask)>);

impl User for Asks {
    type Command = Ask;
    type Output = String;

    fn begin(&mut self, agenda: &mut Agenda<Ask>) {
        for (process, after, ask) in self.0.drain(..) {
            agenda.push((ProcessId::new(process), Span(after), ask));
        }
    }
    fn accepted(&mut self, _: ProcessId, _: &Ask, _: &mut Agenda<Ask>) {}
    fn hear(&mut self, _: ProcessId, _: &String, _: &mut Agenda<Ask>) {}
    fn crashed(&mut self, _: ProcessId) {}
    fn recovered(&mut self, _: ProcessId, _: Memory, _: &mut Agenda<Ask>) {}
    fn is_content(&mut self, _: Time) -> bool {
        false
    }
}

/// What happened, as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Vec<String>);

impl Log {
    fn note(&mut self, at: Moment, what: impl std::fmt::Display) {
        self.0.push(format!("{} {}: {what}", at.time.0, at.process));
    }
}

impl Observer<Parrot> for Log {
    fn input(&mut self, at: Moment, input: &Input<'_, Parrot>) {
        if let Input::Recovery(Memory::Lost) = input {
            self.note(at, "back without memory");
        }
    }
    fn send(
        &mut self,
        at: Moment,
        _: u64,
        to: ProcessId,
        word: &Word,
        departure: Departure,
    ) -> u32 {
        if let Departure::Lost(why) = departure {
            self.note(at, format!("{} to {to} lost: {}", word.0, why.name()));
        }
        0
    }
    fn lose(&mut self, at: Moment, from: ProcessId, _: u32, word: &Word, why: Loss) {
        self.note(at, format!("{} from {from} lost: {}", word.0, why.name()));
    }
    fn output(&mut self, at: Moment, output: &String) {
        self.note(at, output);
    }
    fn deed(&mut self, at: Moment, deed: &Deed) {
        if let Deed::Crash(_) = deed {
            self.note(at, "crash");
        }
    }
}

/// A world of parrots: three of them, a delay of 10, unless `toml` says otherwise. Keys as in a scenario.
pub(crate) fn run(toml: &str, asks: &[(u32, u64, Ask)]) -> Vec<String> {
    let defaults = [("processes", "processes = 3\n"), ("delay", "delay = \"constant:10\"\n")];
    let mut text = String::from("algorithm = \"parrot\"\n");
    for (key, line) in defaults {
        let said =
            toml.lines().any(|own| own.split('=').next().is_some_and(|own| own.trim() == key));
        if !said {
            text += line;
        }
    }
    let scenario =
        parse(&format!("{text}{toml}"), "test.toml").unwrap_or_else(|error| panic!("{error}"));
    run_scenario(&scenario, asks)
}

pub(crate) fn run_scenario(scenario: &Scenario, asks: &[(u32, u64, Ask)]) -> Vec<String> {
    let model = WorldModel {
        n: scenario.processes,
        seed: scenario.seed,
        links: scenario.links(),
        handling: scenario.handling.0,
        oracle: scenario.oracle(),
        clocks: scenario.local_clocks(),
        plan: Plan::new(&scenario.faults, scenario.processes, scenario.seed),
        limits: Limits { until: scenario.until(false), ..Limits::default() },
    };
    let mut world = World::new(model, |_| Parrot::default(), Asks(asks.to_vec()), Log::default());
    world.run();
    world.into_parts().1.0
}
