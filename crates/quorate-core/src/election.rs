//! Election: the commands and outputs that all election algorithms share.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::{Process, ProcessId, ProcessSet};

/// A command of the user to a process that takes part in elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Begin an election, because the coordinator seems to have failed or no coordinator exists yet.
    Elect,
    /// Use this identifier from the next election on, for instance because a load or a battery level has changed. An
    /// election that is under way keeps the old identifier.
    Identify(u64),
}

/// The rank of a process in an election. The greatest identifier wins. The process id breaks ties between equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Identifier {
    /// The value, which is compared first.
    pub value: u64,
    /// The owner of the identifier, which breaks ties between equal values.
    pub process: ProcessId,
}

impl Identifier {
    /// The identifier with a wrong value, as a Byzantine process would send it. `choice` selects one of eight values.
    #[must_use]
    pub fn forged(self, choice: u64) -> Self {
        Self { value: self.value ^ (1 + choice % 8), ..self }
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.value, self.process)
    }
}

/// An output of an election algorithm to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The process takes part in an election and knows no leader until the election ends.
    Undecided,
    /// The election has ended for this process with this leader.
    Elected(Identifier),
}

/// A command that is invalid in the present state. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// The process already takes part in an election.
    #[error("this process takes part in an election already")]
    UnderWay,
    /// The other processes know the identifier in advance, so it cannot change.
    #[error("the others know this process by its identifier, which cannot change")]
    Known,
}

/// A process that runs an election algorithm.
pub trait Election: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Election for P {}

/// The initial identifiers of n processes. Cloning is cheap because the lists are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    own: Arc<[u64]>,
    ranking: Arc<[Identifier]>,
}

impl Candidates {
    /// Creates identifiers with the given values, starting at process 0. A process without a given value uses its number.
    pub fn new(n: usize, values: &[u64]) -> Self {
        let value = |process: ProcessId| {
            values.get(process.index()).copied().unwrap_or(process.number().into())
        };
        let own: Arc<[u64]> = ProcessId::all(n).map(value).collect();
        let mut ranking: Vec<Identifier> = ProcessId::all(n)
            .map(|process| Identifier { value: value(process), process })
            .collect();
        ranking.sort_unstable_by(|one, other| other.cmp(one));
        Self { own, ranking: ranking.into() }
    }

    /// The identifier of the given process.
    pub fn of(&self, process: ProcessId) -> Identifier {
        Identifier { value: self.own[process.index()], process }
    }

    /// All identifiers in descending order.
    pub fn ranking(&self) -> Arc<[Identifier]> {
        Arc::clone(&self.ranking)
    }

    /// The processes with a greater identifier than the given process.
    pub fn above(&self, process: ProcessId) -> ProcessSet {
        let before = self.ranking.iter().take_while(|other| other.process != process);
        before.map(|other| other.process).collect()
    }
}
