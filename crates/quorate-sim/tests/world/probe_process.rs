//! A process that is simple enough to show how its world treats it.

use quorate_core::{Belief, Effects, Kind, Message, Process, ProcessId, Span, Time};
use quorate_sim::network::Loss;
use quorate_sim::observer::{Departure, Input, Moment, Observer};
use quorate_sim::plan::{FaultEvent, Memory, Plan};
use quorate_sim::{Agenda, Limits, Scenario, User, World, WorldModel, parse};

/// Sends numbers to other processes, sets timers, and counts the messages that it receives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ProbeProcess {
    pub(crate) received: u32,
    /// Number of the round after which it sends no more.
    rounds: u64,
}

/// The commands of the probe process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TestCommand {
    Broadcast(u32),
    SendTo(u32, u32),
    SetTimer(u64),
    AwaitRound,
    AwaitRounds(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NumberMessage(u32);

impl Message for NumberMessage {
    const KINDS: &'static [Kind] = &[Kind::mutex("WORD")];
    fn kind(&self) -> usize {
        0
    }
    fn forged(&self, choice: u64) -> Self {
        Self(1000 + choice as u32)
    }
}

impl Process for ProbeProcess {
    type Command = TestCommand;
    type Message = NumberMessage;
    type Timer = &'static str;
    type Output = String;
    type Misuse = String;

    fn on_command(&mut self, command: TestCommand, out: &mut Effects<Self>) -> Result<(), String> {
        match command {
            TestCommand::Broadcast(number) => out.send_to_others(NumberMessage(number)),
            TestCommand::SendTo(to, number) => out.send(ProcessId::new(to), NumberMessage(number)),
            TestCommand::SetTimer(span) => out.set_timer("wait", Span(span)),
            TestCommand::AwaitRound => out.await_round(),
            TestCommand::AwaitRounds(rounds) => {
                self.rounds = rounds;
                out.await_round();
            }
        }
        Ok(())
    }

    fn on_message(
        &mut self,
        from: ProcessId,
        NumberMessage(number): NumberMessage,
        out: &mut Effects<Self>,
    ) {
        self.received += 1;
        out.output(format!("{number} from {from}, the {}", self.received));
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
            out.send_to_others(NumberMessage(round as u32));
            out.await_round();
        }
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        out.output(format!("back, having heard {}", self.received));
    }
}

/// Users that give commands at fixed times and do nothing else.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedUsers(Vec<(u32, u64, TestCommand)>);

impl User for ScriptedUsers {
    type Command = TestCommand;
    type Output = String;

    fn begin(&mut self, agenda: &mut Agenda<TestCommand>) {
        for (process, after, command) in self.0.drain(..) {
            agenda.push((ProcessId::new(process), Span(after), command));
        }
    }
    fn accepted(&mut self, _: ProcessId, _: &TestCommand, _: &mut Agenda<TestCommand>) {}
    fn on_output(&mut self, _: ProcessId, _: &String, _: &mut Agenda<TestCommand>) {}
    fn crashed(&mut self, _: ProcessId) {}
    fn recovered(&mut self, _: ProcessId, _: Memory, _: &mut Agenda<TestCommand>) {}
    fn is_content(&mut self, _: Time) -> bool {
        false
    }
}

/// A log of events as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<String>,
    /// Messages that arrive after the bound, in the order in which they were sent.
    pub(crate) late: Vec<String>,
}

impl Log {
    fn note(&mut self, at: Moment, text: impl std::fmt::Display) {
        self.lines.push(format!("{} {}: {text}", at.time.0, at.process));
    }
}

impl Observer<ProbeProcess> for Log {
    fn input(&mut self, at: Moment, input: &Input<'_, ProbeProcess>) {
        if let Input::Recovery(Memory::Lost) = input {
            self.note(at, "back without memory");
        }
    }
    fn send(
        &mut self,
        at: Moment,
        _: u64,
        to: ProcessId,
        number: &NumberMessage,
        departure: Departure,
    ) -> u32 {
        if let Departure::Lost(why) = departure {
            self.note(at, format!("{} to {to} lost: {}", number.0, why.name()));
        }
        0
    }
    fn lose(&mut self, at: Moment, from: ProcessId, _: u32, number: &NumberMessage, why: Loss) {
        self.note(at, format!("{} from {from} lost: {}", number.0, why.name()));
    }
    fn late(&mut self, at: Moment, from: ProcessId, by: Span) {
        self.late.push(format!("{} {}: from {from}, after {}", at.time.0, at.process, by.0));
    }
    fn output(&mut self, at: Moment, output: &String) {
        self.note(at, output);
    }
    fn fault(&mut self, at: Moment, fault: &FaultEvent) {
        if let FaultEvent::Crash(_) = fault {
            self.note(at, "crash");
        }
    }
}

/// Runs a world of probe processes: three of them with a delay of 10, unless `toml` sets other values. Its keys are
/// those of a scenario.
pub(crate) fn run(toml: &str, commands: &[(u32, u64, TestCommand)]) -> Vec<String> {
    log(toml, commands).lines
}

/// Runs the same world and returns the whole log.
pub(crate) fn log(toml: &str, commands: &[(u32, u64, TestCommand)]) -> Log {
    let defaults = [("processes", "processes = 3\n"), ("delay", "delay = \"constant:10\"\n")];
    let mut text = String::from("algorithm = \"parrot\"\n");
    for (key, line) in defaults {
        let configured =
            toml.lines().any(|own| own.split('=').next().is_some_and(|own| own.trim() == key));
        if !configured {
            text += line;
        }
    }
    let scenario =
        parse(&format!("{text}{toml}"), "test.toml").unwrap_or_else(|error| panic!("{error}"));
    run_scenario(&scenario, commands)
}

pub(crate) fn run_scenario(scenario: &Scenario, commands: &[(u32, u64, TestCommand)]) -> Log {
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
    let mut world = World::new(
        model,
        |_| ProbeProcess::default(),
        ScriptedUsers(commands.to_vec()),
        Log::default(),
    );
    world.run();
    world.into_parts().1
}
