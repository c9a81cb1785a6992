//! Quorum systems chosen at run time, by name.

use super::{
    Coterie, FixedGrid, Given, GivenMonotone, GivenPerView, Grid, LiveMajority, Majority, Monotone,
    PerView, Plane, QuorumSystem, RebuiltGrid, Tree, VCubeHalves, Wall,
};
use crate::{ProcessId, ProcessSet};

/// Defines an enum of quorum systems that is a quorum system itself, with the names by which they can be selected.
macro_rules! one_of {
    (
        $(#[$doc:meta])*
        $any:ident: $($marker:ident)+ {
            $($(#[$named_doc:meta])* $name:literal $named:ident),*;
            $($(#[$other_doc:meta])* $other:ident($other_system:ty)),*
        }
        $count:literal
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $any {
            $($(#[$named_doc])* $named($named),)*
            $($(#[$other_doc])* $other($other_system),)*
        }

        impl $any {
            /// The names of the systems of exactly this kind.
            pub const NAMES: [&'static str; $count] = [$($name),*];

            /// Creates the system of exactly this kind with this name over n processes.
            pub fn by_name(name: &str, n: usize) -> Option<Self> {
                match name {
                    $($name => Some(Self::$named($named::new(n))),)*
                    _ => None,
                }
            }
        }

        impl QuorumSystem for $any {
            fn name(&self) -> &'static str {
                match self {
                    $(Self::$named(system) => system.name(),)*
                    $(Self::$other(system) => system.name(),)*
                }
            }

            fn processes(&self) -> usize {
                match self {
                    $(Self::$named(system) => system.processes(),)*
                    $(Self::$other(system) => system.processes(),)*
                }
            }

            fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
                match self {
                    $(Self::$named(system) => system.quorum(process, failed),)*
                    $(Self::$other(system) => system.quorum(process, failed),)*
                }
            }
        }

        $(impl $marker for $any {})+
    };
}

one_of! {
    /// Any of the fixed coteries.
    AnyCoterie: Coterie {
        /// More than half of the processes.
        "majority" Majority,
        /// A row and a column of a grid.
        "grid-fixed" FixedGrid,
        /// A line of a projective plane.
        "plane" Plane,
        /// A path from the root to a leaf.
        "tree" Tree;
        /// Quorums that are listed explicitly.
        Given(Given)
    }
    4
}

one_of! {
    /// Any of the monotone systems.
    AnyMonotone: PerView Monotone {
        /// The process itself and half of each cluster.
        "vcube" VCubeHalves,
        /// A row and a column of a grid, with substitutes.
        "grid" Grid,
        /// More than half of the live processes.
        "majority-live" LiveMajority,
        /// A row of a wall and one process of each row below it, with substitutes.
        "wall" Wall;
        /// Explicitly listed sets per view that were found to be monotone.
        Given(GivenMonotone)
    }
    4
}

one_of! {
    /// Any of the systems whose quorums intersect only within a view.
    AnyPerView: PerView {
        /// A row and a column of a grid of the live processes.
        "grid-rebuilt" RebuiltGrid;
        /// A system that is also monotone.
        Monotone(AnyMonotone),
        /// Explicitly listed sets per view.
        Given(GivenPerView)
    }
    1
}

/// Any quorum system. The variant shows of which kind it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AnySystem {
    /// Its quorums intersect across all views.
    Fixed(AnyCoterie),
    /// Its quorums intersect only within a view.
    PerView(AnyPerView),
}

impl AnySystem {
    /// Creates the system with this name over n processes.
    pub fn by_name(name: &str, n: usize) -> Option<Self> {
        let fixed = AnyCoterie::by_name(name, n).map(Self::Fixed);
        let monotone = || AnyMonotone::by_name(name, n).map(Self::monotone);
        fixed.or_else(monotone).or_else(|| AnyPerView::by_name(name, n).map(Self::PerView))
    }

    /// The system, given as a monotone one.
    pub const fn monotone(system: AnyMonotone) -> Self {
        Self::PerView(AnyPerView::Monotone(system))
    }

    /// The names of the systems that can be selected.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::names_per_view().chain(AnyCoterie::NAMES)
    }

    /// The names of the systems that can be selected and whose quorums intersect only within a view.
    pub fn names_per_view() -> impl Iterator<Item = &'static str> {
        AnyMonotone::NAMES.into_iter().chain(AnyPerView::NAMES)
    }

    /// The coterie, if the system is one.
    pub const fn fixed(&self) -> Option<&AnyCoterie> {
        match self {
            Self::Fixed(coterie) => Some(coterie),
            Self::PerView(_) => None,
        }
    }
}

impl QuorumSystem for AnySystem {
    fn name(&self) -> &'static str {
        match self {
            Self::Fixed(system) => system.name(),
            Self::PerView(system) => system.name(),
        }
    }

    fn processes(&self) -> usize {
        match self {
            Self::Fixed(system) => system.processes(),
            Self::PerView(system) => system.processes(),
        }
    }

    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        match self {
            Self::Fixed(system) => system.quorum(process, failed),
            Self::PerView(system) => system.quorum(process, failed),
        }
    }
}
