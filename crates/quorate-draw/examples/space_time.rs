//! A run of Ricart and Agrawala's algorithm as a space-time diagram.
//!
//! `cargo run -p quorate-draw --example space_time > run.svg`

use std::error::Error;

use quorate_algorithms::mutex::RicartAgrawala;
use quorate_core::{Cost, Layer, Message, Process, Profile, Property};
use quorate_draw::spacetime::{Diagram, DiagramView};
use quorate_sim::trace::{Format, Record, read};
use quorate_sim::{AlgorithmInfo, Conditions, ProcessFactory, parse, run_mutex};

const SCENARIO: &str = "
    algorithm = \"ricart-agrawala\"
    processes = 4
    requesters = \"all\"
    delay = \"uniform:1ms..3ms\"
    seed = 7
";

/// Runs the scenario, and returns its trace.
fn trace() -> Result<Vec<Record>, Box<dyn Error>> {
    let scenario = parse(SCENARIO, "the scenario of this example")?;
    let n = scenario.processes;
    let profile = Profile {
        name: "ricart-agrawala",
        layer: Layer::Mutex,
        summary: "asks all others and enters when all have agreed",
        source: "Ricart and Agrawala, 1981",
        specimen: None,
        assumes: &[],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "2(n - 1) messages per entry",
        never_quiescent: false,
    };
    let cost = Cost::exact("2(n - 1)", 2 * (n as u64 - 1));
    let kinds = <RicartAgrawala as Process>::Message::KINDS;
    let info = AlgorithmInfo { profile, cost, kinds };
    let processes = ProcessFactory::simulated(move |id| RicartAgrawala::new(n, id));
    let mut lines = Vec::new();
    let mut writer = Format::JsonLines.writer(n, &mut lines);
    run_mutex(&scenario, &info, Conditions::default(), processes, Some(&mut *writer))?;
    drop(writer);
    Ok(read(lines.as_slice())?.1)
}

fn picture() -> Result<String, Box<dyn Error>> {
    let diagram = Diagram::new(4, &trace()?).titled("Four processes enter one after the other");
    Ok(diagram.svg(&DiagramView::default()))
}

#[expect(clippy::print_stdout, reason = "the picture is the result")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", picture()?);
    Ok(())
}

#[test]
fn every_message_is_an_arrow() {
    let picture = picture().expect("the scenario is valid");
    assert_eq!(picture.matches("data-message").count(), 4 * 2 * (4 - 1));
}
