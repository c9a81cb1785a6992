//! An algorithm of your own in the simulator: mutual exclusion by a token that circulates around a ring.
//!
//! `cargo run -p quorate-sim --example own_algorithm`

use std::convert::Infallible;
use std::error::Error;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message, Process, ProcessId, Profile, Property,
};
use quorate_sim::report::{Report, Verdict};
use quorate_sim::{AlgorithmInfo, Conditions, ProcessFactory, parse, run_mutex};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Token;

impl Message for Token {
    const KINDS: &'static [Kind] = &[Kind::mutex("TOKEN")];

    fn kind(&self) -> usize {
        0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting,
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ring {
    has_first_token: bool,
    next: ProcessId,
    phase: Phase,
}

impl Ring {
    fn new(n: usize, id: ProcessId) -> Self {
        let next = ProcessId::from_index((id.index() + 1) % n);
        Self { has_first_token: id.index() == 0, next, phase: Phase::Outside }
    }
}

impl Process for Ring {
    type Command = Command;
    type Message = Token;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        if self.has_first_token {
            out.send(self.next, Token);
        }
    }

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => self.phase = Phase::Waiting,
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                out.send(self.next, Token);
            }
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, Token: Token, out: &mut Effects<Self>) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Inside;
            out.output(Output::Entered);
        } else {
            out.send(self.next, Token);
        }
    }
}

/// Assumptions and guarantees of the algorithm. The simulator judges a run by them.
const PROFILE: Profile = Profile {
    name: "ring",
    layer: Layer::Mutex,
    summary: "a token circulates around a ring",
    source: "this example",
    specimen: None,
    assumes: &[Assumption::NoLoss, Assumption::NoDuplication, Assumption::NoCrash],
    guarantees: &[Property::ME1, Property::ME2],
    cost: "1 to n messages per entry while all processes wait",
    never_quiescent: true,
};

/// Runs the ring in a world that is described as a scenario file describes it.
fn simulate(scenario: &str) -> Result<Report, Box<dyn Error>> {
    let scenario = parse(scenario, "the scenario of this example")?;
    let n = scenario.processes;
    let cost = Cost::between("1..n", 1, n as u64);
    let info = AlgorithmInfo { profile: PROFILE, cost, kinds: Token::KINDS };
    let processes = ProcessFactory::simulated(move |id| Ring::new(n, id));
    Ok(run_mutex(&scenario, &info, Conditions::default(), processes, None)?.report)
}

#[expect(clippy::print_stdout, reason = "an example shows what happens")]
fn main() -> Result<(), Box<dyn Error>> {
    let undisturbed = "
        algorithm = \"ring\"
        processes = 5
        requesters = \"all\"
        delay = \"uniform:1ms..3ms\"
        seed = 7
    ";
    let lossy = format!("{undisturbed}\n[faults]\nlose = [\"1-2@0ms\"]\n");
    let report = simulate(undisturbed)?;
    println!("undisturbed: {:?}, {} entries: {:?}", report.verdict, report.entries, report.order);
    assert_eq!((report.verdict, report.entries), (Verdict::Holds, 5));

    let report = simulate(&lossy)?;
    println!("without the token: {:?}", report.verdict);
    for broken in report.assumptions.iter().filter(|assumption| !assumption.met) {
        println!("\"{}\" does not hold", broken.sentence);
    }
    assert_eq!((report.verdict, report.entries), (Verdict::Violated, 1));
    Ok(())
}

#[test]
fn the_example_runs() {
    main().expect("both scenarios are valid");
}
