//! Replicated logs: the commands and outputs that all replication algorithms share.

use crate::Process;
use crate::agreement::Value;

/// A command of the user to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// A client hands this command to the replica. The replicas are to apply it once, at the same index everywhere.
    /// Different commands have different values.
    Submit(Value),
}

/// An entry of a replicated log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// The term in which a leader created the entry.
    pub term: u64,
    /// The command of a client. `None` is a no-op, which changes nothing when it is applied.
    pub command: Option<Value>,
}

/// An output of a replica to its user. The outputs tell everything that happens to its log. Indices start with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The replica has become the leader of a term. A term is called ballot or view in some algorithms.
    Leads {
        /// The term that it leads.
        term: u64,
    },
    /// The replica has entered a later term, or has stopped to lead its own. It leads nothing now.
    Follows {
        /// The term in which it follows.
        term: u64,
    },
    /// The replica has added an entry to the end of its log.
    Appended {
        /// The index of the new entry.
        index: u64,
        /// The entry that was added.
        entry: Entry,
    },
    /// The replica has deleted the entries of its log from this index on.
    Truncated {
        /// The first index that was deleted.
        from: u64,
    },
    /// The replica has applied a command to its state machine. It applies in the order of indices.
    Applied {
        /// The index of the command in the log.
        index: u64,
        /// The command. `None` if a no-op or a repeated command is at this index.
        command: Option<Value>,
    },
}

/// The value of a client's command, which no other command has: the `number`-th one, counted from 0, that is handed to
/// the replica with this index.
pub const fn command_value(n: usize, index: usize, number: u64) -> Value {
    Value(number * n as u64 + index as u64 + 1)
}

/// A command that is invalid in the present state. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// The same command was handed to this replica before.
    #[error("this command was submitted before")]
    AlreadySubmitted,
}

/// A replica that runs a replication algorithm.
pub trait Replication: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Replication for P {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_commands_differ() {
        let mut values: std::vec::Vec<Value> = (0..3)
            .flat_map(|index| (0..4).map(move |number| command_value(3, index, number)))
            .collect();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 12);
    }
}
