//! What processes say to each other, as far as a driver must know it.

use core::fmt::{self, Debug};
use core::hash::Hash;

/// A choice of a lie from here on does not depend on the truth: conspirators who tell the same lie tell it whatever
/// they have heard, from each other as well.
pub const UNCONDITIONAL_LIE: u64 = 1 << 63;

/// A message of an algorithm.
pub trait Message: Clone + Eq + Hash + Debug + Send + Sync {
    /// The kinds of message there are, in a fixed order; what is counted is counted per kind. None where the type does
    /// not say which messages there are: then whoever counts has to be told (see [`crate::Erased`]).
    const KINDS: &'static [Kind];

    /// The place of this message's kind in [`Self::KINDS`].
    fn kind(&self) -> usize;

    /// How many bytes it takes on a wire: one for its kind, eight for a number, a process or a time. None where
    /// nobody has counted.
    fn bytes(&self) -> Option<u64> {
        None
    }

    /// The Lamport time of the event that this message announces, where its sender has such a clock.
    fn stamp(&self) -> Option<u64> {
        None
    }

    /// Shows every number of which only the differences to others matter, such as a count of all hops so far: whoever
    /// explores states may lower all of them together, so that states come again.
    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        let _ = visit;
    }

    /// The same with every process that it names called by another name; see [`crate::Process::renamed`].
    fn renamed(&self, name: &dyn Fn(crate::ProcessId) -> crate::ProcessId) -> Option<Self> {
        let _ = name;
        None
    }

    /// The same kind of message with other contents, as a liar would send it. `choice` picks one of
    /// many lies; where there are two things to say, an odd one is the other, and one from [`UNCONDITIONAL_LIE`] on is said
    /// whatever the truth. A message without contents has nothing to
    /// lie about.
    #[must_use]
    fn forged(&self, choice: u64) -> Self {
        let _ = choice;
        self.clone()
    }
}

/// The message of those who have nothing to say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NoMessage {}

impl Message for NoMessage {
    const KINDS: &'static [Kind] = &[];

    fn kind(&self) -> usize {
        match *self {}
    }
}

/// A kind of message: the paper's name for it, and the layer that speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Which layer's traffic it is.
    pub layer: Layer,
    /// The paper's name, in capitals: `REQUEST`.
    pub name: &'static str,
}

impl Kind {
    /// A kind of a mutual exclusion algorithm.
    pub const fn mutex(name: &'static str) -> Self {
        Self { layer: Layer::Mutex, name }
    }

    /// A kind by which processes agree on who has failed.
    pub const fn view(name: &'static str) -> Self {
        Self { layer: Layer::View, name }
    }

    /// A kind of a multicast.
    pub const fn multicast(name: &'static str) -> Self {
        Self { layer: Layer::Multicast, name }
    }

    /// A kind of an election.
    pub const fn election(name: &'static str) -> Self {
        Self { layer: Layer::Election, name }
    }

    /// A kind of an agreement.
    pub const fn agreement(name: &'static str) -> Self {
        Self { layer: Layer::Agreement, name }
    }

    /// A kind by which clocks are set.
    pub const fn clock(name: &'static str) -> Self {
        Self { layer: Layer::Clock, name }
    }

    /// A kind of a failure detector.
    pub const fn detector(name: &'static str) -> Self {
        Self { layer: Layer::Detector, name }
    }
}

/// The problem that an algorithm solves, and so the layer it forms in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Mutual exclusion.
    Mutex,
    /// Agreement on who has failed.
    View,
    /// Election of a leader.
    Election,
    /// Agreement on a value.
    Agreement,
    /// Multicast.
    Multicast,
    /// Failure detection.
    Detector,
    /// Synchronisation of clocks.
    Clock,
}

impl Layer {
    /// The one-word name under which its messages are counted.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::View => "view",
            Self::Election => "election",
            Self::Agreement => "agreement",
            Self::Multicast => "multicast",
            Self::Detector => "detector",
            Self::Clock => "clock",
        }
    }

    /// The family of algorithms that solve it, in words.
    pub const fn family(self) -> &'static str {
        match self {
            Self::Mutex => "mutual exclusion",
            Self::View => "views",
            Self::Election => "election",
            Self::Agreement => "agreement",
            Self::Multicast => "multicast",
            Self::Detector => "detector",
            Self::Clock => "time",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
