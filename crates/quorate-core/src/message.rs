//! What processes say to each other, as far as a driver must know it.

use core::fmt::{self, Debug};
use core::hash::Hash;

/// A message of an algorithm.
pub trait Message: Clone + Eq + Hash + Debug {
    /// The kinds of message there are, in a fixed order; what is counted is counted per kind.
    const KINDS: &'static [Kind];

    /// The place of this message's kind in [`Self::KINDS`].
    fn kind(&self) -> usize;

    /// The same kind of message with other contents, as a liar would send it. `choice` picks one of
    /// many lies. A message without contents has nothing to lie about.
    #[must_use]
    fn forged(&self, choice: u64) -> Self {
        let _ = choice;
        self.clone()
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
    /// Multicast.
    Multicast,
    /// Failure detection.
    Detector,
}

impl Layer {
    /// The one-word name under which its messages are counted.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::View => "view",
            Self::Multicast => "multicast",
            Self::Detector => "detector",
        }
    }

    /// The family of algorithms that solve it, in words.
    pub const fn family(self) -> &'static str {
        match self {
            Self::Mutex => "mutual exclusion",
            Self::View => "views",
            Self::Multicast => "multicast",
            Self::Detector => "detector",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
