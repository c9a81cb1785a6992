//! Election: what a user asks and hears, whatever the algorithm.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::{Process, ProcessId, ProcessSet};

/// What the user of an election asks of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Begin an election: the coordinator seems to have failed, or there is none yet.
    Elect,
    /// From the next election on, stand with this identifier: a load or a battery that has changed. An election that
    /// is under way keeps the old one.
    Identify(u64),
}

/// With what a process stands for election: the greatest wins. Equal values are told apart by the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Identifier {
    /// The value; compared first.
    pub value: u64,
    /// Whose it is; decides between equal values.
    pub process: ProcessId,
}

impl Identifier {
    /// The same process with another value, as a liar would tell it. `choice` picks one of a few.
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

/// What an election tells its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// It takes part in an election, and until that is over knows no leader.
    Undecided,
    /// The election is over for this process, and this is the leader.
    Elected(Identifier),
}

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// It takes part in an election already.
    #[error("this process takes part in an election already")]
    UnderWay,
    /// The others know its identifier beforehand.
    #[error("the others know this process by its identifier, which cannot change")]
    Known,
}

/// A process that elects.
pub trait Election: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Election for P {}

/// With what each of n processes stands at the start. A copy takes no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    own: Arc<[u64]>,
    ranking: Arc<[Identifier]>,
}

impl Candidates {
    /// These values, from process 0 on; the process's number where none is given.
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

    /// The identifier of a process.
    pub fn of(&self, process: ProcessId) -> Identifier {
        Identifier { value: self.own[process.index()], process }
    }

    /// All of them, the greatest first.
    pub fn ranking(&self) -> Arc<[Identifier]> {
        Arc::clone(&self.ranking)
    }

    /// The processes with greater identifiers than this one's.
    pub fn above(&self, process: ProcessId) -> ProcessSet {
        let before = self.ranking.iter().take_while(|other| other.process != process);
        before.map(|other| other.process).collect()
    }
}
