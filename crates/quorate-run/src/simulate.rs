//! Simulation of an algorithm. Algorithms are driven without their types, in worlds that quorate-sim has compiled, one for
//! each family. With the feature `fast` a world is compiled here for each algorithm as well.

use std::marker::PhantomData;

use quorate_algorithms::detector::{AdaptiveHeartbeat, Heartbeat, HeartbeatRing, VcubeDiagnosis};
use quorate_algorithms::{Algorithm, Piggybacking, Setup};
#[cfg(feature = "fast")]
use quorate_core::Process;
use quorate_core::agreement::{self, Agreement};
use quorate_core::allocation::{self, Allocation};
use quorate_core::clock_sync::{self, ClockSync};
use quorate_core::detection::{self, Detection};
use quorate_core::detector::Detector;
use quorate_core::election::{self, Election};
use quorate_core::multicast::{self, Multicast};
use quorate_core::mutex::{self, Mutex};
use quorate_core::replication::{self, Replication};
use quorate_core::snapshot::{self, Snapshot};
use quorate_core::{Belief, Data, Either, Erased, Kind, ProcessId, Reason, Span};
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::trace::TraceSink;
use quorate_sim::{
    self as sim, AlgorithmInfo, ClockRoles, Conditions, Driver, Outcome, ProcessFactory, RunError,
    Scenario,
};

#[cfg(feature = "fast")]
use crate::erasure::typed_wire;
use crate::erasure::{DetectorBuilder, ErasedAlgorithm, ErasedProcess};
use crate::error::CannotRun;
use crate::facts::Facts;
use crate::setup::{setup, with_defaults};

/// Constructor of the failure detector that every process runs itself, if it runs one.
fn detector_builder(choice: DetectorChoice) -> Option<DetectorBuilder> {
    match choice {
        DetectorChoice::Oracle | DetectorChoice::None => None,
        DetectorChoice::Heartbeat => {
            Some(|setup, id| Either::First(Either::First(Heartbeat::build(setup, id))))
        }
        DetectorChoice::Vcube => {
            Some(|setup, id| Either::First(Either::Second(VcubeDiagnosis::build(setup, id))))
        }
        DetectorChoice::HeartbeatRing => {
            Some(|setup, id| Either::Second(Either::First(HeartbeatRing::build(setup, id))))
        }
        DetectorChoice::AdaptiveHeartbeat => {
            Some(|setup, id| Either::Second(Either::Second(AdaptiveHeartbeat::build(setup, id))))
        }
    }
}

/// A validated scenario, and the means with which it is run.
pub(crate) struct Simulation<'a, 't, 's, 'd> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) conditions: Conditions,
    pub(crate) trace: Option<&'t mut (dyn TraceSink + 's)>,
    /// Drives the processes if they run elsewhere.
    pub(crate) driver: Option<&'d mut dyn Driver>,
}

/// Result of a simulation.
type Simulated = Result<Outcome, CannotRun>;

/// A family of algorithms: what its processes have in common, and how they are run.
trait Family {
    type Command: Data;
    type Output: Data;
    type Misuse: Reason;

    /// Runs processes without their types, in the world that quorate-sim has compiled for them.
    fn run_erased(
        run: Run<'_, '_, '_>,
        factory: ProcessFactory<'_, Erased<Self::Command, Self::Output, Self::Misuse>>,
    ) -> Result<Outcome, RunError>;

    /// Runs processes of one type, in a world that is compiled for them.
    #[cfg(feature = "fast")]
    fn run<P>(run: Run<'_, '_, '_>, factory: ProcessFactory<'_, P>) -> Result<Outcome, RunError>
    where
        P: Process<Command = Self::Command, Output = Self::Output, Misuse = Self::Misuse> + 'static;
}

/// Any algorithm of a family.
type AlgorithmOf<F> =
    ErasedAlgorithm<<F as Family>::Command, <F as Family>::Output, <F as Family>::Misuse>;

/// A run that is about to start, apart from its processes.
struct Run<'a, 't, 's> {
    scenario: &'a Scenario,
    info: AlgorithmInfo,
    facts: &'a Facts,
    bytes_per_other: u64,
    /// Duration of a round, for failure detectors.
    round: Span,
    conditions: Conditions,
    trace: Option<&'t mut (dyn TraceSink + 's)>,
}

/// Defines families: their types, their functions of quorate-sim, and the argument that only this family has.
macro_rules! families {
    ($($Family:ident: $Command:ty, $Output:ty, $Misuse:ty, $typed:path, $erased:path
        $(, |$run:ident| $argument:expr)?;)*) => {$(
        struct $Family;

        impl Family for $Family {
            type Command = $Command;
            type Output = $Output;
            type Misuse = $Misuse;

            fn run_erased(
                mut run: Run<'_, '_, '_>,
                factory: ProcessFactory<'_, Erased<$Command, $Output, $Misuse>>,
            ) -> Result<Outcome, RunError> {
                let trace = run.trace.take();
                $erased(run.scenario, &run.info, $({ let $run = &run; $argument },)? run.conditions, factory, trace)
            }

            #[cfg(feature = "fast")]
            fn run<P>(mut run: Run<'_, '_, '_>, factory: ProcessFactory<'_, P>) -> Result<Outcome, RunError>
            where
                P: Process<Command = $Command, Output = $Output, Misuse = $Misuse> + 'static,
            {
                let trace = run.trace.take();
                $typed(run.scenario, &run.info, $({ let $run = &run; $argument },)? run.conditions, factory, trace)
            }
        }
    )*};
}

families! {
    MutexFamily: mutex::Command, mutex::Output, mutex::Misuse, sim::run_mutex, sim::run_erased_mutex;
    ElectionFamily: election::Command, election::Output, election::Misuse, sim::run_election, sim::run_erased_election,
        |run| run.bytes_per_other;
    AgreementFamily: agreement::Command, agreement::Output, agreement::Misuse, sim::run_agreement, sim::run_erased_agreement,
        |run| run.facts.agreement_kind;
    MulticastFamily: multicast::Command, multicast::Output, multicast::Misuse, sim::run_multicast, sim::run_erased_multicast;
    ClockFamily: clock_sync::Command, clock_sync::Output, clock_sync::Misuse, sim::run_clock, sim::run_erased_clock,
        |run| if run.facts.asks_servers { ClockRoles::Servers } else { ClockRoles::Master };
    AllocationFamily: allocation::Command, allocation::Output, allocation::Misuse, sim::run_allocation,
        sim::run_erased_allocation, |run| run.facts.claim_kind;
    SnapshotFamily: snapshot::Command, snapshot::Output, snapshot::Misuse, sim::run_snapshot, sim::run_erased_snapshot;
    DetectionFamily: detection::Command, detection::Output, detection::Misuse, sim::run_detection, sim::run_erased_detection,
        |run| run.facts.stable_property;
    ReplicationFamily: replication::Command, replication::Output, replication::Misuse, sim::run_replication,
        sim::run_erased_replication;
}

/// Failure detectors. Their commands and errors are for layers above them. So their worlds are compiled here.
struct DetectorFamily<C, E>(PhantomData<(C, E)>);

impl<C: Data, E: Reason> Family for DetectorFamily<C, E> {
    type Command = C;
    type Output = Belief;
    type Misuse = E;

    fn run_erased(
        run: Run<'_, '_, '_>,
        factory: ProcessFactory<'_, Erased<C, Belief, E>>,
    ) -> Result<Outcome, RunError> {
        sim::run_detector(run.scenario, &run.info, run.round, run.conditions, factory, run.trace)
    }

    #[cfg(feature = "fast")]
    fn run<P>(run: Run<'_, '_, '_>, factory: ProcessFactory<'_, P>) -> Result<Outcome, RunError>
    where
        P: Process<Command = C, Output = Belief, Misuse = E> + 'static,
    {
        sim::run_detector(run.scenario, &run.info, run.round, run.conditions, factory, run.trace)
    }
}

/// Builds a run of an algorithm whose messages are of these kinds, and starts it.
fn start<F: Family>(
    simulation: Simulation<'_, '_, '_, '_>,
    algorithm: &AlgorithmOf<F>,
    kinds: &'static [Kind],
    run_with: impl FnOnce(Run<'_, '_, '_>, Setup, Option<&mut dyn Driver>) -> Result<Outcome, RunError>,
) -> Simulated {
    let Simulation { scenario, conditions, trace, driver } = simulation;
    let facts = &algorithm.facts;
    let setup = setup(scenario, facts)?;
    let run = Run {
        scenario: &with_defaults(scenario, facts),
        info: AlgorithmInfo {
            profile: (facts.profile_of)(&setup),
            cost: (facts.cost)(&setup),
            kinds,
        },
        facts,
        bytes_per_other: algorithm.bytes_per_other,
        round: algorithm.round.map_or(Span::ZERO, |round| round(&setup)),
        conditions,
        trace,
    };
    Ok(run_with(run, setup, driver)?)
}

/// Simulates an algorithm, over its own failure detectors if the scenario says so. This is compiled for every algorithm.
fn simulate<F: Family, A>(simulation: Simulation<'_, '_, '_, '_>) -> Simulated
where
    A: Algorithm<Command = F::Command, Output = F::Output, Misuse = F::Misuse> + 'static,
{
    let algorithm = const { &ErasedAlgorithm::of::<A>() };
    match detector_builder(simulation.scenario.detector) {
        None => simulate_alone::<F, A>(simulation, algorithm),
        Some(below) => simulate_over::<F>(simulation, algorithm, below),
    }
}

/// Simulates an algorithm in the world of its family, or in one that is compiled for it.
#[cfg_attr(
    not(feature = "fast"),
    expect(clippy::extra_unused_type_parameters, reason = "only a fast world knows the algorithm")
)]
fn simulate_alone<F: Family, A>(
    simulation: Simulation<'_, '_, '_, '_>,
    algorithm: &AlgorithmOf<F>,
) -> Simulated
where
    A: Algorithm<Command = F::Command, Output = F::Output, Misuse = F::Misuse> + 'static,
{
    #[cfg(feature = "fast")]
    return start::<F>(simulation, algorithm, algorithm.alone.kinds, |run, setup, driver| {
        let make = move |id| A::build(&setup, id);
        F::run(run, ProcessFactory::<A>::simulated(make).driven(typed_wire(), driver))
    });
    #[cfg(not(feature = "fast"))]
    simulate_erased::<F>(simulation, algorithm, &algorithm.alone)
}

/// Simulates processes of an algorithm in the world of its family.
fn simulate_erased<F: Family>(
    simulation: Simulation<'_, '_, '_, '_>,
    algorithm: &AlgorithmOf<F>,
    process: &ErasedProcess<F::Command, F::Output, F::Misuse>,
) -> Simulated {
    start::<F>(simulation, algorithm, process.kinds, |run, setup, driver| {
        F::run_erased(run, process.factory(setup, driver))
    })
}

/// Simulates an algorithm over these failure detectors, in the world of its family.
fn simulate_over<F: Family>(
    simulation: Simulation<'_, '_, '_, '_>,
    algorithm: &AlgorithmOf<F>,
    below: DetectorBuilder,
) -> Simulated {
    start::<F>(simulation, algorithm, algorithm.kinds_over_detector(), |run, setup, driver| {
        F::run_erased(run, algorithm.factory_over(below, setup, driver))
    })
}

/// Simulates a mutual exclusion algorithm.
pub(crate) fn mutex<A: Algorithm + Mutex + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<MutexFamily, A>(simulation)
}

/// Simulates a mutual exclusion algorithm whose data can ride on the answers of a VCube diagnosis.
pub(crate) fn piggybacking_mutex<A: Piggybacking + Mutex + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    if simulation.scenario.detector != DetectorChoice::Vcube {
        return mutex::<A>(simulation);
    }
    let process = ErasedProcess::of::<A::WithDiagnosis>(|setup, id| {
        Erased::new(A::build_piggybacking(setup, id))
    });
    simulate_erased::<MutexFamily>(simulation, const { &ErasedAlgorithm::of::<A>() }, &process)
}

/// Simulates an election among all processes.
pub(crate) fn election<A: Algorithm + Election + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<ElectionFamily, A>(simulation)
}

/// Simulates an agreement on the proposals of a scenario.
pub(crate) fn agreement<A: Algorithm + Agreement + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<AgreementFamily, A>(simulation)
}

/// Simulates a multicast within a group.
pub(crate) fn multicast<A: Algorithm + Multicast + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<MulticastFamily, A>(simulation)
}

/// Simulates the synchronisation of drifting clocks.
pub(crate) fn clock<A: Algorithm + ClockSync + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<ClockFamily, A>(simulation)
}

/// Simulates the allocation of resources to the claims of a scenario.
pub(crate) fn allocation<A: Algorithm + Allocation + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<AllocationFamily, A>(simulation)
}

/// Simulates snapshots of a computation.
pub(crate) fn snapshot<A: Algorithm + Snapshot + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<SnapshotFamily, A>(simulation)
}

/// Simulates the detection of a stable property.
pub(crate) fn detection<A: Algorithm + Detection + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<DetectionFamily, A>(simulation)
}

/// Simulates the replication of a log of commands.
pub(crate) fn replication<A: Algorithm + Replication + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    simulate::<ReplicationFamily, A>(simulation)
}

/// Simulates a failure detector.
pub(crate) fn detector<A: Algorithm + Detector + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    let algorithm = const {
        &ErasedAlgorithm::of::<A>().with_round(|setup| A::build(setup, ProcessId::new(0)).round())
    };
    simulate_alone::<DetectorFamily<A::Command, A::Misuse>, A>(simulation, algorithm)
}
