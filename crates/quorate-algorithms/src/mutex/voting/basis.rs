//! Sufficient sets of votes, over fixed coteries and over views.

use quorate_core::quorum::{AnyCoterie, AnyPerView, AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, VCube};

use super::Views;

/// Determines which votes are sufficient. A fixed coterie needs no acknowledgements and has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) enum Basis {
    /// Any two quorums intersect, whatever their owners believe about crashes.
    Fixed(AnyCoterie),
    /// Quorums of one view intersect, and processes agree on views by acknowledgements.
    Agreed { system: AnyPerView, views: Views },
}

impl Basis {
    /// Creates the basis over this system, before any crash.
    pub(in crate::mutex) fn new(system: &AnySystem) -> Self {
        match system {
            AnySystem::Fixed(coterie) => Self::Fixed(coterie.clone()),
            AnySystem::PerView(system) => {
                Self::Agreed { system: system.clone(), views: Views::new(system.processes()) }
            }
        }
    }

    /// Number of processes in the system.
    pub(in crate::mutex) fn processes(&self) -> usize {
        match self {
            Self::Fixed(coterie) => coterie.processes(),
            Self::Agreed { system, .. } => system.processes(),
        }
    }

    /// The quorum to ask for votes, if any.
    pub(in crate::mutex) fn quorum(
        &self,
        id: ProcessId,
        crashed: &ProcessSet,
    ) -> Option<ProcessSet> {
        match self {
            Self::Fixed(coterie) => coterie.quorum(id, crashed),
            Self::Agreed { system, .. } => {
                Some(topped_up(system, id, crashed, self.votes_needed()))
            }
        }
    }

    /// Minimum size of a quorum: over views, more than half of the processes outside the settled crashes.
    pub(in crate::mutex) fn votes_needed(&self) -> usize {
        match self {
            Self::Fixed(_) => 0,
            Self::Agreed { system, views } => (system.processes() - views.settled().len()) / 2 + 1,
        }
    }
}

/// The system's quorum, extended to `needed` processes by further live ones in the order of the VCube.
fn topped_up(
    system: &AnyPerView,
    id: ProcessId,
    crashed: &ProcessSet,
    needed: usize,
) -> ProcessSet {
    let mut quorum = system.quorum(id, crashed).unwrap_or_default();
    if quorum.len() >= needed {
        return quorum;
    }
    let vcube = VCube::new(system.processes());
    let others = vcube.clusters().flat_map(|s| vcube.cluster(id, s));
    for other in core::iter::once(id).chain(others).filter(|other| !crashed.contains(*other)) {
        if quorum.len() >= needed {
            break;
        }
        quorum.insert(other);
    }
    quorum
}
