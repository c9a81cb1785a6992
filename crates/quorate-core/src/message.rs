//! Messages between processes, as far as a driver needs to know them.

use core::fmt::{self, Debug};
use core::hash::Hash;

/// A choice of lie from this value on does not depend on the true value. Colluding Byzantine processes thus send the
/// same lie, whatever they have received, even from each other.
pub const UNCONDITIONAL_LIE: u64 = 1 << 63;

/// A message of an algorithm.
pub trait Message: Clone + Eq + Hash + Debug + Send + Sync {
    /// All kinds of messages, in a fixed order. Messages are counted per kind. Empty if the type does not determine its
    /// kinds; then the counting code needs them from elsewhere (see [`crate::Erased`]).
    const KINDS: &'static [Kind];

    /// Index of this message's kind in [`Self::KINDS`].
    fn kind(&self) -> usize;

    /// Size on the wire in bytes: one for the kind, eight for each number, process or time. `None` if the
    /// size is not defined.
    fn bytes(&self) -> Option<u64> {
        None
    }

    /// The Lamport time of the event that this message announces, if its sender has such a clock.
    fn stamp(&self) -> Option<u64> {
        None
    }

    /// Visits every number of which only differences to other numbers matter, such as a logical clock or a count of all
    /// hops so far; if the algorithm sets timers, its times. A state explorer may lower all of them by the same amount, so
    /// that equivalent states become equal.
    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        let _ = visit;
    }

    /// The same message with every process that it names renamed; see [`crate::Process::renamed`].
    fn renamed(&self, name: &dyn Fn(crate::ProcessId) -> crate::ProcessId) -> Option<Self> {
        let _ = name;
        None
    }

    /// A message of the same kind with false contents, as a Byzantine process would send it. `choice` selects one of
    /// many lies. If there are two possible contents, an odd choice selects the other one. From [`UNCONDITIONAL_LIE`]
    /// on, the lie does not depend on the true contents. A message without contents is returned unchanged.
    #[must_use]
    fn forged(&self, choice: u64) -> Self {
        let _ = choice;
        self.clone()
    }
}

/// The message type of processes that send no messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NoMessage {}

impl Message for NoMessage {
    const KINDS: &'static [Kind] = &[];

    fn kind(&self) -> usize {
        match *self {}
    }
}

/// A kind of message: the paper's name for it, and the layer that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// The layer that sends messages of this kind.
    pub layer: Layer,
    /// The paper's name in capitals, such as `REQUEST`.
    pub name: &'static str,
}

impl Kind {
    /// A kind of message of a mutual exclusion algorithm.
    pub const fn mutex(name: &'static str) -> Self {
        Self { layer: Layer::Mutex, name }
    }

    /// A kind of message by which processes agree on which processes have failed.
    pub const fn view(name: &'static str) -> Self {
        Self { layer: Layer::View, name }
    }

    /// A kind of message of a multicast.
    pub const fn multicast(name: &'static str) -> Self {
        Self { layer: Layer::Multicast, name }
    }

    /// A kind of message of an election.
    pub const fn election(name: &'static str) -> Self {
        Self { layer: Layer::Election, name }
    }

    /// A kind of message of an agreement.
    pub const fn agreement(name: &'static str) -> Self {
        Self { layer: Layer::Agreement, name }
    }

    /// A kind of message by which clocks are synchronised.
    pub const fn clock(name: &'static str) -> Self {
        Self { layer: Layer::Clock, name }
    }

    /// A kind of message of a failure detector.
    pub const fn detector(name: &'static str) -> Self {
        Self { layer: Layer::Detector, name }
    }

    /// A kind of message of a resource allocation algorithm.
    pub const fn allocation(name: &'static str) -> Self {
        Self { layer: Layer::Allocation, name }
    }

    /// A kind of message of a snapshot algorithm, or of the computation whose state it records.
    pub const fn snapshot(name: &'static str) -> Self {
        Self { layer: Layer::Snapshot, name }
    }

    /// A kind of message of an algorithm that detects a stable property, or of the computation that it observes.
    pub const fn detection(name: &'static str) -> Self {
        Self { layer: Layer::Detection, name }
    }

    /// A kind of message of a replicated log.
    pub const fn replication(name: &'static str) -> Self {
        Self { layer: Layer::Replication, name }
    }
}

/// The problem that an algorithm solves, and thereby its layer in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Mutual exclusion between processes.
    Mutex,
    /// Agreement on which processes have failed.
    View,
    /// Election of a leader among the processes.
    Election,
    /// Agreement on a value or on a vector of values.
    Agreement,
    /// Delivery of messages to a group of processes.
    Multicast,
    /// Detection of failed processes.
    Detector,
    /// Synchronisation of physical clocks.
    Clock,
    /// Exclusion that is more general than a mutex: permits, readers and writers, groups, resources.
    Allocation,
    /// Recording of the global state of a computation.
    Snapshot,
    /// Detection of stable properties of a computation.
    Detection,
    /// Replication of a log of commands.
    Replication,
}

impl Layer {
    /// The one-word name under which messages of this layer are counted.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::View => "view",
            Self::Election => "election",
            Self::Agreement => "agreement",
            Self::Multicast => "multicast",
            Self::Detector => "detector",
            Self::Clock => "clock",
            Self::Allocation => "allocation",
            Self::Snapshot => "snapshot",
            Self::Detection => "detection",
            Self::Replication => "replication",
        }
    }

    /// The name of the family of algorithms that solve this problem.
    pub const fn family(self) -> &'static str {
        match self {
            Self::Mutex => "mutual exclusion",
            Self::View => "views",
            Self::Election => "election",
            Self::Agreement => "agreement",
            Self::Multicast => "multicast",
            Self::Detector => "detector",
            Self::Clock => "time",
            Self::Allocation => "resource allocation",
            Self::Snapshot => "snapshots",
            Self::Detection => "stable properties",
            Self::Replication => "replication",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
