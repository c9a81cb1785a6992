//! Whose votes are enough, over fixed coteries and over views.

use quorate_core::quorum::{AnyCoterie, AnyPerView, AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, VCube};

use super::Views;

/// Whose votes are enough. A fixed coterie needs no acknowledgements, and has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) enum Basis {
    /// Any two quorums meet, whatever anybody believes.
    Fixed(AnyCoterie),
    /// Quorums of one view meet, and views are agreed on by acknowledgements.
    Agreed { system: AnyPerView, views: Views },
}

impl Basis {
    /// Over this system, before anybody has crashed.
    pub(in crate::mutex) fn new(system: &AnySystem) -> Self {
        match system {
            AnySystem::Fixed(coterie) => Self::Fixed(coterie.clone()),
            AnySystem::PerView(system) => {
                Self::Agreed { system: system.clone(), views: Views::new(system.processes()) }
            }
        }
    }

    /// How many processes there are.
    pub(in crate::mutex) fn processes(&self) -> usize {
        match self {
            Self::Fixed(coterie) => coterie.processes(),
            Self::Agreed { system, .. } => system.processes(),
        }
    }

    /// The quorum to ask for votes, if there is one.
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

    /// How many votes a quorum must have: over views, more than half of those outside the settled crashes.
    pub(in crate::mutex) fn votes_needed(&self) -> usize {
        match self {
            Self::Fixed(_) => 0,
            Self::Agreed { system, views } => (system.processes() - views.settled().len()) / 2 + 1,
        }
    }
}

/// The system's quorum and as many more live processes, in the order of the VCube, as it takes.
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
