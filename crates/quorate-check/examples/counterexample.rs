//! An algorithm that looks right, and the shortest run in which it fails.
//!
//! Each process asks all others and enters when all have agreed. A process that is inside agrees when it leaves. Two
//! processes that ask at the same time agree to each other's requests, so both enter. Ricart and Agrawala's algorithm
//! adds timestamps for this reason.
//!
//! `cargo run -p quorate-check --example counterexample`

use std::convert::Infallible;
use std::error::Error;
use std::mem;
use std::ops::ControlFlow;

use quorate_check::{Bounds, End, MutexUsers, World, explore, scenario_of};
use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{Cost, Effects, Kind, Layer, Message, ProcessSet, Profile};
use quorate_core::{Process, ProcessId, Property};
use quorate_sim::report::Verdict;
use quorate_sim::{AlgorithmInfo, Conditions, ProcessFactory, Scenario, run_mutex};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NaiveMessage {
    Request,
    Reply,
}

impl Message for NaiveMessage {
    const KINDS: &'static [Kind] = &[Kind::mutex("REQUEST"), Kind::mutex("REPLY")];

    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Reply => 1,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting { missing: ProcessSet },
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Naive {
    others: ProcessSet,
    phase: Phase,
    deferred: ProcessSet,
}

impl Naive {
    fn new(n: usize, id: ProcessId) -> Self {
        let others = ProcessSet::others(n, id);
        Self { others, phase: Phase::Outside, deferred: ProcessSet::new() }
    }
}

impl Process for Naive {
    type Command = Command;
    type Message = NaiveMessage;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => {
                self.phase = Phase::Waiting { missing: self.others.clone() };
                out.send_to_others(NaiveMessage::Request);
            }
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                out.multicast(mem::take(&mut self.deferred), NaiveMessage::Reply);
            }
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: NaiveMessage, out: &mut Effects<Self>) {
        match (message, &mut self.phase) {
            (NaiveMessage::Request, Phase::Inside) => drop(self.deferred.insert(from)),
            (NaiveMessage::Request, _) => out.send(from, NaiveMessage::Reply),
            (NaiveMessage::Reply, Phase::Waiting { missing }) => {
                missing.remove(from);
                if missing.is_empty() {
                    self.phase = Phase::Inside;
                    out.output(Output::Entered);
                }
            }
            (NaiveMessage::Reply, _) => out.ignored("a reply to no request"),
        }
    }
}

/// Guarantees that the algorithm claims. The simulator judges the replay by them.
const PROFILE: Profile = Profile {
    name: "naive",
    layer: Layer::Mutex,
    summary: "asks all others and enters when all have agreed",
    source: "this example",
    specimen: None,
    assumes: &[],
    guarantees: &[Property::ME1, Property::ME2],
    cost: "2(n - 1) messages per entry",
    never_quiescent: false,
};

#[expect(clippy::print_stdout, reason = "an example shows what happens")]
fn main() -> Result<(), Box<dyn Error>> {
    let n = 2;
    let users = MutexUsers { requests: vec![1; n] };
    // Reductions save time, and the path to a violation may be longer with them.
    let world = World::new(n, |id| Naive::new(n, id), users).without_reductions();
    let bounds = Bounds { memory: 1 << 30, depth: u32::MAX };
    let exploration = explore(&world, bounds, |_| ControlFlow::Continue(()));
    let End::Broken(found) = exploration.end else {
        return Err("the explorer finds the violation".into());
    };
    println!("{} is violated after {} steps:", found.property, found.steps.len());
    for step in &found.steps {
        println!("  {step}");
    }
    assert_eq!(found.property, Property::ME1);

    // The same steps as a scenario, in which the simulator finds the same violation.
    let mut scenario = Scenario::new(PROFILE.name, n);
    scenario_of(&world, &found.steps, &mut scenario);
    let cost = Cost::exact("2(n - 1)", 2 * (n as u64 - 1));
    let info = AlgorithmInfo { profile: PROFILE, cost, kinds: NaiveMessage::KINDS };
    let processes = ProcessFactory::simulated(move |id| Naive::new(n, id));
    let replay = run_mutex(&scenario, &info, Conditions::default(), processes, None)?;
    for property in replay.report.properties.iter().filter(|property| property.time.is_some()) {
        println!("{}: {}", property.id, property.detail);
    }
    assert_eq!(replay.report.verdict, Verdict::Violated);
    Ok(())
}

#[test]
fn the_example_runs() {
    main().expect("the counterexample can be replayed");
}
