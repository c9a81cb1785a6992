//! Snapshots: the commands and outputs that all algorithms share that record the global state of a computation.
//!
//! The computation whose state is recorded is a bank: every process has an account, and money is transferred by messages. Money is
//! neither made nor lost, so balances and transfers in flight always add up to the same total. Accounts may be overdrawn, so that
//! users need not wait for money.

use alloc::vec::Vec;
use core::fmt;

use crate::{Process, ProcessId};

/// The balance of every account at the start, unless the configuration sets another one.
pub const INITIAL_BALANCE: u64 = 100;

/// The name of a snapshot: the process that began it, and its number among the snapshots of that process, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SnapshotId {
    /// The process that began the snapshot.
    pub initiator: ProcessId,
    /// The number of earlier snapshots that this process began.
    pub number: u64,
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "snapshot {} of {}", self.number, self.initiator)
    }
}

/// A transfer as the message that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Transfer {
    /// The number of earlier transfers of the same sender, to any process.
    pub id: u64,
    /// The money that the sender has lost and the receiver gains.
    pub amount: u64,
}

/// A command of the user to a process whose state can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Transfer money to the account of another process.
    Transfer {
        /// The process that gains the money.
        to: ProcessId,
        /// The amount of money to transfer.
        amount: u64,
    },
    /// Begin a snapshot of all processes.
    Record,
}

/// An output of a snapshot algorithm to its user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// A transfer has arrived.
    Received {
        /// The sender of the transfer.
        from: ProcessId,
        /// The transfer that arrived.
        transfer: Transfer,
    },
    /// The process has recorded its own state.
    Recorded {
        /// The snapshot to which the state belongs.
        snapshot: SnapshotId,
        /// The balance of its account.
        balance: i64,
    },
    /// The process has recorded the state of an incoming channel.
    RecordedChannel {
        /// The snapshot to which the state belongs.
        snapshot: SnapshotId,
        /// The process at the sending end of the channel.
        from: ProcessId,
        /// The transfers that are in flight on the channel in this global state.
        transfers: Vec<Transfer>,
    },
    /// The process has recorded its own state and all incoming channels.
    Completed {
        /// The snapshot whose local part is complete.
        snapshot: SnapshotId,
    },
}

/// A command that is invalid. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// A transfer to the own account, or to a process that does not exist.
    #[error("{0} is not another process to which money can be transferred")]
    NoSuchAccount(ProcessId),
}

/// A process that runs a snapshot algorithm.
pub trait Snapshot: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Snapshot for P {}
