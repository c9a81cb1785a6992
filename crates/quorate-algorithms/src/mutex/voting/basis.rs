//! Sufficient sets of votes, over fixed coteries and over views.

use quorate_core::quorum::{AnyCoterie, AnyMonotone, AnyPerView, AnySystem, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, VCube};

use super::{Gathering, Views};

/// Determines which votes are sufficient. A fixed coterie needs no acknowledgements and has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) enum Basis {
    /// Any two quorums intersect, whatever their owners believe about crashes.
    Fixed(AnyCoterie),
    /// Processes agree on crashes, and take their quorums according to what is settled.
    Agreed { quorums: AgreedQuorums, agreement: Agreement },
    /// The rule of the algorithm is not safe over the system. No process has a quorum.
    Refused { processes: usize },
}

/// The quorums of a system whose quorums intersect only within a view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) enum AgreedQuorums {
    /// The quorum that the system assigns if exactly the settled crashes have happened.
    Settled(AnyMonotone),
    /// The quorum that the system assigns for the processes believed alive, extended to more than half of the processes
    /// outside the settled crashes.
    Majority(AnyPerView),
}

/// The way in which processes agree on crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) enum Agreement {
    /// Every process sends its acknowledgements to all others, or the layer below transports them.
    ToAll(Views),
    /// Acknowledgements are gathered along a tree.
    Gathered(Gathering),
}

/// The rule by which an algorithm takes quorums over views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewRule {
    /// Quorums of the settled crashes, in monotone systems.
    Settled,
    /// Majorities of the processes outside the settled crashes, in any view-dependent system.
    Majority,
}

impl Basis {
    /// Creates the basis over this system, before any crash.
    pub(in crate::mutex) fn new(system: &AnySystem, rule: ViewRule, agreement: Agreement) -> Self {
        let quorums = match (system, rule) {
            (AnySystem::Fixed(coterie), _) => return Self::Fixed(coterie.clone()),
            (AnySystem::PerView(AnyPerView::Monotone(system)), ViewRule::Settled) => {
                AgreedQuorums::Settled(system.clone())
            }
            (AnySystem::PerView(system), ViewRule::Settled) => {
                return Self::Refused { processes: system.processes() };
            }
            (AnySystem::PerView(system), ViewRule::Majority) => {
                AgreedQuorums::Majority(system.clone())
            }
        };
        Self::Agreed { quorums, agreement }
    }

    /// Number of processes in the system.
    pub(in crate::mutex) fn processes(&self) -> usize {
        match self {
            Self::Fixed(coterie) => coterie.processes(),
            Self::Agreed { quorums: AgreedQuorums::Settled(system), .. } => system.processes(),
            Self::Agreed { quorums: AgreedQuorums::Majority(system), .. } => system.processes(),
            Self::Refused { processes } => *processes,
        }
    }

    /// The quorum that is complete with the votes of all its members, if there is one. Over settled crashes it may contain
    /// processes that are believed to have crashed: it cannot be complete then.
    pub(in crate::mutex) fn quorum(
        &self,
        id: ProcessId,
        crashed: &ProcessSet,
    ) -> Option<ProcessSet> {
        match self {
            Self::Fixed(coterie) => coterie.quorum(id, crashed),
            Self::Agreed { quorums: AgreedQuorums::Settled(system), agreement } => {
                system.quorum(id, agreement.settled())
            }
            Self::Agreed { quorums: AgreedQuorums::Majority(system), .. } => {
                Some(topped_up(system, id, crashed, self.votes_needed()))
            }
            Self::Refused { .. } => None,
        }
    }

    /// Minimum size of a quorum, where the quorum that is asked may be too small.
    pub(in crate::mutex) fn votes_needed(&self) -> usize {
        match self {
            Self::Agreed { quorums: AgreedQuorums::Majority(system), agreement } => {
                (system.processes() - agreement.settled().len()) / 2 + 1
            }
            _ => 0,
        }
    }
}

impl Agreement {
    /// The crashes that all remaining processes have acknowledged.
    pub(in crate::mutex) const fn settled(&self) -> &ProcessSet {
        match self {
            Self::ToAll(views) => views.settled(),
            Self::Gathered(gathering) => gathering.settled(),
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
