//! Runs of processes without their types ([`Erased`]), one for each family.
//!
//! The world of a family is compiled here, with the optimisation of this crate. A crate that runs many algorithms through these
//! functions compiles no world of its own. Failure detectors are not among them, because their commands are those of layers
//! above, and differ.

use quorate_core::agreement::{self, AgreementKind};
use quorate_core::allocation::{self, ClaimKind};
use quorate_core::detection::{self, StableProperty};
use quorate_core::{Erased, clock_sync, election, multicast, mutex, replication, snapshot};

use crate::observe::trace::TraceSink;
use crate::run::algorithm_info::AlgorithmInfo;
use crate::run::error::RunError;
use crate::run::execute::{Conditions, Outcome, ProcessFactory};
use crate::run::family::agreement::run_agreement;
use crate::run::family::allocation::run_allocation;
use crate::run::family::clock::{ClockRoles, run_clock};
use crate::run::family::detection::run_detection;
use crate::run::family::election::run_election;
use crate::run::family::multicast::run_multicast;
use crate::run::family::mutex::run_mutex;
use crate::run::family::replication::run_replication;
use crate::run::family::snapshot::run_snapshot;
use crate::scenario::Scenario;

/// Defines for each `run_*` function the same for processes without their types.
macro_rules! erased {
    ($($erased:ident: $typed:ident, $Command:ty, $Output:ty, $Misuse:ty $(, $extra:ident: $Extra:ty)?;)*) => {$(
        #[doc = concat!("The same as [`", stringify!($typed), "`] for processes without their types.")]
        // If it were inlined, the caller would compile the world.
        #[inline(never)]
        pub fn $erased(
            scenario: &Scenario,
            info: &AlgorithmInfo,
            $($extra: $Extra,)?
            conditions: Conditions,
            factory: ProcessFactory<'_, Erased<$Command, $Output, $Misuse>>,
            trace: Option<&mut (dyn TraceSink + '_)>,
        ) -> Result<Outcome, RunError> {
            $typed(scenario, info, $($extra,)? conditions, factory, trace)
        }
    )*};
}

erased! {
    run_erased_agreement: run_agreement, agreement::Command, agreement::Output, agreement::Misuse, kind: AgreementKind;
    run_erased_allocation: run_allocation, allocation::Command, allocation::Output, allocation::Misuse, kind: ClaimKind;
    run_erased_clock: run_clock, clock_sync::Command, clock_sync::Output, clock_sync::Misuse, roles: ClockRoles;
    run_erased_detection: run_detection, detection::Command, detection::Output, detection::Misuse, property: StableProperty;
    run_erased_election: run_election, election::Command, election::Output, election::Misuse, bytes_per_other: u64;
    run_erased_multicast: run_multicast, multicast::Command, multicast::Output, multicast::Misuse;
    run_erased_mutex: run_mutex, mutex::Command, mutex::Output, mutex::Misuse;
    run_erased_replication: run_replication, replication::Command, replication::Output, replication::Misuse;
    run_erased_snapshot: run_snapshot, snapshot::Command, snapshot::Output, snapshot::Misuse;
}
