//! Communication topology of a scenario, for drawing.

use quorate_algorithms::Shape;
use quorate_core::allocation::ConflictGraph;
use quorate_core::quorum::{AnyMonotone, AnySystem, VCubeHalves};
use quorate_core::{ProcessId, ProcessSet};
use quorate_draw::Phrase;
use quorate_draw::topology::Topology;
use quorate_run::{CannotRun, shape};
use quorate_sim::Scenario;
use quorate_sim::plan::{FaultEvent, Plan};

/// The topology over which the scenario's algorithm runs, with the processes that are down at the end. Quorums and clusters
/// are drawn for the first live process.
pub fn topology(scenario: &Scenario) -> Result<Topology, CannotRun> {
    let (shape, setup) = shape(scenario)?;
    let n = scenario.processes;
    let mut failed = ProcessSet::new();
    for (_, event) in Plan::new(&scenario.faults, n, scenario.seed).fault_events {
        match event {
            FaultEvent::Crash(process) | FaultEvent::CrashMid(process, _) => {
                failed.insert(process);
            }
            FaultEvent::Recover(process, _) => {
                failed.remove(process);
            }
            _ => {}
        }
    }
    let of = ProcessId::all(n).find(|process| !failed.contains(*process));
    let of = of.unwrap_or(ProcessId::new(0));
    let shown = if shape == Shape::Server { setup.server } else { of };
    let parameters = vec![
        ("name", scenario.algorithm.clone()),
        ("all", n.to_string()),
        ("who", shown.to_string()),
    ];
    let drawn = match shape {
        Shape::Everybody => Topology::complete(n).titled_phrase(Phrase::Complete, parameters),
        Shape::Ring => Topology::ring(n).titled_phrase(Phrase::Ring, parameters),
        Shape::Server => Topology::star(n, setup.server).titled_phrase(Phrase::Server, parameters),
        Shape::Tree => Topology::tree(n, &setup.tree).titled_phrase(Phrase::Tree, parameters),
        Shape::VCube => {
            let cube = AnySystem::monotone(AnyMonotone::VCubeHalves(VCubeHalves::new(n)));
            Topology::quorum(&cube, &failed, of)
                .without_quorum()
                .titled_phrase(Phrase::VCube, parameters)
        }
        Shape::Quorums => Topology::quorum(&setup.quorums, &failed, of),
        Shape::Conflicts if setup.conflicts == ConflictGraph::Complete => {
            Topology::complete(n).titled_phrase(Phrase::Complete, parameters)
        }
        Shape::Conflicts => Topology::ring(n).titled_phrase(Phrase::Ring, parameters),
    };
    Ok(drawn.with_failed(&failed))
}
