//! The catalogue: the algorithms that this program knows, by name, and how each driver runs them.
//!
//! The catalogue is open. A program starts with [`Catalogue::standard`], adds entries for algorithms of its own, and
//! calls [`Catalogue::install`] before it does anything else. From then on simulator, explorer, campaigns, experiments
//! and the command line find them by name like any other.

use std::sync::OnceLock;

use quorate_algorithms::catalogue::{Visitor, visit_all};
use quorate_algorithms::{Algorithm, Piggybacking, Setup};
use quorate_core::agreement::Agreement;
use quorate_core::allocation::Allocation;
use quorate_core::clock_sync::ClockSync;
use quorate_core::detection::Detection;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::multicast::Multicast;
use quorate_core::mutex::Mutex;
use quorate_core::replication::Replication;
use quorate_core::snapshot::Snapshot;
use quorate_core::{ProcessId, Profile, Span};
use quorate_sim::Outcome;

use crate::error::CannotRun;
use crate::exhaustive::{self, CheckConfig, CheckOutcome, ProgressCallback};
use crate::facts::Facts;
use crate::simulate::{self, Simulation};

/// An algorithm of the catalogue: facts about it, and one function for each driver. The functions are compiled for the
/// type of the algorithm; the code that calls them is not.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    facts: Facts,
    simulate: fn(Simulation<'_, '_, '_, '_>) -> Result<Outcome, CannotRun>,
    explore: fn(&CheckConfig, ProgressCallback<'_>) -> Result<CheckOutcome, CannotRun>,
    /// Duration of a round, for failure detectors.
    round: Option<fn(&Setup) -> Span>,
}

impl Entry {
    /// Entry of a mutual exclusion algorithm.
    pub const fn mutex<A: Algorithm + Mutex + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::mutex::<A>,
            explore: exhaustive::mutex::<A>,
            round: None,
        }
    }

    /// Entry of a mutual exclusion algorithm whose data can ride on the answers of a VCube diagnosis.
    pub const fn piggybacking_mutex<A: Piggybacking + Mutex + 'static>() -> Self {
        Self { simulate: simulate::piggybacking_mutex::<A>, ..Self::mutex::<A>() }
    }

    /// Entry of an election algorithm.
    pub const fn election<A: Algorithm + Election + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::election::<A>,
            explore: exhaustive::election::<A>,
            round: None,
        }
    }

    /// Entry of an agreement algorithm.
    pub const fn agreement<A: Algorithm + Agreement + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::agreement::<A>,
            explore: exhaustive::agreement::<A>,
            round: None,
        }
    }

    /// Entry of a multicast algorithm.
    pub const fn multicast<A: Algorithm + Multicast + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::multicast::<A>,
            explore: exhaustive::multicast::<A>,
            round: None,
        }
    }

    /// Entry of a failure detector.
    pub const fn detector<A: Algorithm + Detector + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::detector::<A>,
            explore: exhaustive::timeless::<A>,
            round: Some(|setup| A::build(setup, ProcessId::new(0)).round()),
        }
    }

    /// Entry of a clock synchronisation algorithm.
    pub const fn clock<A: Algorithm + ClockSync + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::clock::<A>,
            explore: exhaustive::timeless::<A>,
            round: None,
        }
    }

    /// Entry of a resource allocation algorithm.
    pub const fn allocation<A: Algorithm + Allocation + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::allocation::<A>,
            explore: exhaustive::allocation::<A>,
            round: None,
        }
    }

    /// Entry of a snapshot algorithm.
    pub const fn snapshot<A: Algorithm + Snapshot + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::snapshot::<A>,
            explore: exhaustive::snapshot::<A>,
            round: None,
        }
    }

    /// Entry of an algorithm that detects a stable property.
    pub const fn detection<A: Algorithm + Detection + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::detection::<A>,
            explore: exhaustive::detection::<A>,
            round: None,
        }
    }

    /// Entry of an algorithm that replicates a log.
    pub const fn replication<A: Algorithm + Replication + 'static>() -> Self {
        Self {
            facts: Facts::of::<A>(),
            simulate: simulate::replication::<A>,
            explore: exhaustive::replication::<A>,
            round: None,
        }
    }

    /// Declarations of the algorithm about itself.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn simulate(
        &self,
        simulation: Simulation<'_, '_, '_, '_>,
    ) -> Result<Outcome, CannotRun> {
        (self.simulate)(simulation)
    }

    pub(crate) fn explore(
        &self,
        config: &CheckConfig,
        on_progress: ProgressCallback<'_>,
    ) -> Result<CheckOutcome, CannotRun> {
        (self.explore)(config, on_progress)
    }

    pub(crate) fn detector_round(&self, setup: &Setup) -> Option<Span> {
        self.round.map(|round| round(setup))
    }
}

/// Algorithms by name, in the order in which they are listed.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
}

/// Reason why a catalogue cannot be extended or installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// Two algorithms have the same name.
    #[error("the catalogue has an algorithm `{0}` already; choose another name")]
    Duplicate(&'static str),
    /// A catalogue was installed or used before.
    #[error("the catalogue is in use already; install it first of all, and once")]
    InUse,
}

/// Catalogue of this program. The first use fixes it.
static INSTALLED: OnceLock<Catalogue> = OnceLock::new();

/// The catalogue of this program: the installed one, or else [`Catalogue::standard`].
pub fn catalogue() -> &'static Catalogue {
    INSTALLED.get_or_init(Catalogue::standard)
}

impl Catalogue {
    /// The algorithms of `quorate-algorithms`, grouped by family.
    pub fn standard() -> Self {
        let mut standard = Self::default();
        visit_all(&mut standard);
        standard
    }

    /// Adds an algorithm, after the last one of its family. Fails if its name is taken.
    pub fn with(mut self, entry: Entry) -> Result<Self, CatalogueError> {
        let name = entry.facts.profile.name;
        if self.get(name).is_some() {
            return Err(CatalogueError::Duplicate(name));
        }
        let family = entry.facts.profile.layer;
        let last = self.entries.iter().rposition(|other| other.facts.profile.layer == family);
        self.entries.insert(last.map_or(self.entries.len(), |last| last + 1), entry);
        Ok(self)
    }

    /// Makes this the catalogue of the program. Fails if the program has used another one before.
    pub fn install(self) -> Result<(), CatalogueError> {
        INSTALLED.set(self).map_err(|_| CatalogueError::InUse)
    }

    /// The entry of the algorithm with this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.facts.profile.name == name)
    }

    /// All entries, in the order in which they are listed.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The profiles of all algorithms, in the order in which they are listed.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.entries.iter().map(|entry| &entry.facts.profile)
    }
}

/// Collects the entries of the algorithms that it visits.
impl Visitor for Catalogue {
    fn mutex<A: Algorithm + Mutex + 'static>(&mut self) {
        self.entries.push(Entry::mutex::<A>());
    }

    fn piggybacking_mutex<A: Piggybacking + Mutex + 'static>(&mut self) {
        self.entries.push(Entry::piggybacking_mutex::<A>());
    }

    fn election<A: Algorithm + Election + 'static>(&mut self) {
        self.entries.push(Entry::election::<A>());
    }

    fn agreement<A: Algorithm + Agreement + 'static>(&mut self) {
        self.entries.push(Entry::agreement::<A>());
    }

    fn multicast<A: Algorithm + Multicast + 'static>(&mut self) {
        self.entries.push(Entry::multicast::<A>());
    }

    fn detector<A: Algorithm + Detector + 'static>(&mut self) {
        self.entries.push(Entry::detector::<A>());
    }

    fn clock<A: Algorithm + ClockSync + 'static>(&mut self) {
        self.entries.push(Entry::clock::<A>());
    }

    fn allocation<A: Algorithm + Allocation + 'static>(&mut self) {
        self.entries.push(Entry::allocation::<A>());
    }

    fn snapshot<A: Algorithm + Snapshot + 'static>(&mut self) {
        self.entries.push(Entry::snapshot::<A>());
    }

    fn detection<A: Algorithm + Detection + 'static>(&mut self) {
        self.entries.push(Entry::detection::<A>());
    }

    fn replication<A: Algorithm + Replication + 'static>(&mut self) {
        self.entries.push(Entry::replication::<A>());
    }
}
