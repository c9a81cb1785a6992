//! Simulation of an algorithm, one function for each family. All of this is compiled for every algorithm.

use quorate_algorithms::detector::{
    AdaptiveHeartbeat, AnyDetector, Heartbeat, HeartbeatRing, VcubeDiagnosis,
};
use quorate_algorithms::{Algorithm, Piggybacking, Sendable, Setup};
use quorate_core::agreement::Agreement;
use quorate_core::clock_sync::ClockSync;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::{Either, Erased, ErasedMessage, Message, Process, ProcessId, Profile, Stack};
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::trace::TraceSink;
use quorate_sim::{
    AlgorithmInfo, ClockRoles, Conditions, Driver, MemoryFootprint, Outcome, ProcessFactory,
    Scenario, Wire, run_agreement, run_clock, run_detector, run_election, run_multicast, run_mutex,
};

use crate::error::CannotRun;
use crate::facts::Facts;
use crate::setup::{setup, with_defaults};

/// Constructor of the failure detector that every process runs itself, if it runs one.
fn detector_builder(choice: DetectorChoice) -> Option<fn(&Setup, ProcessId) -> AnyDetector> {
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

/// Factory of processes made by `make`, whose messages can be sent over a wire.
fn factory<'d, P: Process<Message: Sendable> + 'static>(
    make: impl Fn(ProcessId) -> P + 'static,
    driver: Option<&'d mut dyn Driver>,
) -> ProcessFactory<'d, P> {
    let wire = Wire { encode: to_bytes, decode: |bytes| postcard::from_bytes(bytes).ok() };
    ProcessFactory::simulated(make).driven(wire, driver)
}

/// The same with type-erased processes. All processes of a family are driven by the same code, and the encoding
/// of messages does not change.
fn erased_factory<'d, P: Process<Message: Sendable> + 'static>(
    make: impl Fn(ProcessId) -> P + 'static,
    driver: Option<&'d mut dyn Driver>,
) -> ProcessFactory<'d, ErasedProcess<P>> {
    let wire = Wire {
        encode: |message: &ErasedMessage| {
            message.downcast_ref::<P::Message>().map_or_else(Vec::new, to_bytes)
        },
        decode: |bytes| postcard::from_bytes::<P::Message>(bytes).ok().map(ErasedMessage::new),
    };
    ProcessFactory::simulated(move |id| Erased::new(make(id)))
        .with_footprint(MemoryFootprint::of::<P>())
        .driven(wire, driver)
}

type ErasedProcess<P> =
    Erased<<P as Process>::Command, <P as Process>::Output, <P as Process>::Misuse>;

/// An algorithm above its own failure detector, of any kind.
type OverDetector<A> = Stack<A, AnyDetector>;

fn to_bytes<M: Sendable>(message: &M) -> Vec<u8> {
    postcard::to_stdvec(message).expect("messages are plain data")
}

/// Description of an algorithm, with or without a detector below it.
fn algorithm_info<A: Algorithm, P: Process>(profile: Profile, setup: &Setup) -> AlgorithmInfo {
    AlgorithmInfo { profile, cost: A::cost(setup), kinds: P::Message::KINDS }
}

/// Simulates a mutual exclusion algorithm.
pub(crate) fn mutex<A: Algorithm + Mutex + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    let Simulation { scenario, conditions, trace, driver } = simulation;
    let setup = setup(scenario, &Facts::of::<A>())?;
    let profile = A::profile(&setup);
    Ok(match detector_builder(scenario.detector) {
        None => {
            let info = algorithm_info::<A, A>(profile, &setup);
            let factory = factory(move |id| A::build(&setup, id), driver);
            run_mutex(scenario, &info, conditions, factory, trace)
        }
        Some(below) => {
            let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
            let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
            run_mutex(scenario, &info, conditions, erased_factory(make, driver), trace)
        }
    }?)
}

/// Simulates a mutual exclusion algorithm whose data can ride on the answers of a VCube diagnosis.
pub(crate) fn piggybacking_mutex<A: Piggybacking + Mutex + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    if simulation.scenario.detector != DetectorChoice::Vcube {
        return mutex::<A>(simulation);
    }
    let Simulation { scenario, conditions, trace, driver } = simulation;
    let setup = setup(scenario, &Facts::of::<A>())?;
    let info = algorithm_info::<A, A::WithDiagnosis>(A::profile(&setup), &setup);
    let factory = erased_factory(move |id| A::build_piggybacking(&setup, id), driver);
    Ok(run_mutex(scenario, &info, conditions, factory, trace)?)
}

/// Simulates an election among all processes.
pub(crate) fn election<A: Algorithm + Election + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    let Simulation { scenario, conditions, trace, driver } = simulation;
    let setup = setup(scenario, &Facts::of::<A>())?;
    let profile = A::PROFILE;
    Ok(match detector_builder(scenario.detector) {
        None => {
            let info = algorithm_info::<A, A>(profile, &setup);
            let factory = factory(move |id| A::build(&setup, id), driver);
            run_election(scenario, &info, A::BYTES_PER_OTHER, conditions, factory, trace)
        }
        Some(below) => {
            let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
            let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
            run_election(
                scenario,
                &info,
                A::BYTES_PER_OTHER,
                conditions,
                erased_factory(make, driver),
                trace,
            )
        }
    }?)
}

/// Simulates an agreement on the proposals of a scenario.
pub(crate) fn agreement<A: Algorithm + Agreement + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    let Simulation { scenario, conditions, trace, driver } = simulation;
    let setup = setup(scenario, &Facts::of::<A>())?;
    let scenario = &with_defaults(scenario, &Facts::of::<A>());
    let profile = A::profile(&setup);
    Ok(match detector_builder(scenario.detector) {
        None => {
            let info = algorithm_info::<A, A>(profile, &setup);
            let factory = factory(move |id| A::build(&setup, id), driver);
            run_agreement(scenario, &info, A::AGREEMENT_KIND, conditions, factory, trace)
        }
        Some(below) => {
            let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
            let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
            run_agreement(
                scenario,
                &info,
                A::AGREEMENT_KIND,
                conditions,
                erased_factory(make, driver),
                trace,
            )
        }
    }?)
}

/// Simulates a multicast within a group.
pub(crate) fn multicast<A: Algorithm + Multicast + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    let Simulation { scenario, conditions, trace, driver } = simulation;
    let setup = setup(scenario, &Facts::of::<A>())?;
    let scenario = &with_defaults(scenario, &Facts::of::<A>());
    let profile = A::PROFILE;
    Ok(match detector_builder(scenario.detector) {
        None => {
            let info = algorithm_info::<A, A>(profile, &setup);
            let factory = factory(move |id| A::build(&setup, id), driver);
            run_multicast(scenario, &info, conditions, factory, trace)
        }
        Some(below) => {
            let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
            let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
            run_multicast(scenario, &info, conditions, erased_factory(make, driver), trace)
        }
    }?)
}

/// Simulates the synchronisation of drifting clocks.
pub(crate) fn clock<A: Algorithm + ClockSync + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    let Simulation { scenario, conditions, trace, driver } = simulation;
    let setup = setup(scenario, &Facts::of::<A>())?;
    let roles = if A::ASKS_SERVERS { ClockRoles::Servers } else { ClockRoles::Master };
    let profile = A::profile(&setup);
    Ok(match detector_builder(scenario.detector) {
        None => {
            let info = algorithm_info::<A, A>(profile, &setup);
            let factory = factory(move |id| A::build(&setup, id), driver);
            run_clock(scenario, &info, roles, conditions, factory, trace)
        }
        Some(below) => {
            let info = algorithm_info::<A, OverDetector<A>>(profile, &setup);
            let make = move |id| Stack::new(A::build(&setup, id), below(&setup, id));
            run_clock(scenario, &info, roles, conditions, erased_factory(make, driver), trace)
        }
    }?)
}

/// Simulates a failure detector.
pub(crate) fn detector<A: Algorithm + Detector + 'static>(
    simulation: Simulation<'_, '_, '_, '_>,
) -> Simulated {
    let Simulation { scenario, conditions, trace, driver } = simulation;
    let setup = setup(scenario, &Facts::of::<A>())?;
    let info = algorithm_info::<A, A>(A::PROFILE, &setup);
    let factory = factory(move |id| A::build(&setup, id), driver);
    Ok(run_detector(scenario, &info, conditions, factory, trace)?)
}
