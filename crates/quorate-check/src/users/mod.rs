//! Users of a small world: the commands they issue, the outputs they receive, and the properties they check.
//!
//! Each family of algorithms has a file here. Properties have the same meaning as in the simulator's monitors, so that a
//! counterexample violates the same property when it is replayed.

mod agreement;
mod allocation;
mod detection;
mod election;
mod multicast;
mod mutex;
mod replication;
mod snapshot;

use std::fmt::Debug;
use std::hash::Hash;

use quorate_core::{Data, ProcessId, Property};

pub use agreement::{AgreementUserState, AgreementUsers};
pub use allocation::{AllocationUserState, AllocationUsers};
pub use detection::DetectionUsers;
pub use election::{ElectionUserState, ElectionUsers};
pub use multicast::{MulticastUserState, MulticastUsers};
pub use mutex::{MutexUserState, MutexUsers};
pub use replication::{ReplicationUserState, ReplicationUsers};
pub use snapshot::{SnapshotUserState, SnapshotUsers};

/// The users of a family of algorithms.
pub trait Users: Send + Sync {
    /// Command that a user may issue.
    type Command: Data;
    /// Output that a user may receive.
    type Output: Data;
    /// State of the user at one process.
    type UserState: Clone + Eq + Hash + Debug + Send + Sync;

    /// Initial state of the user at a process.
    fn initial_user(&self, process: ProcessId) -> Self::UserState;

    /// The command that a user may issue now, and whether it must issue it eventually.
    fn next_command(&self, user: &Self::UserState) -> Option<(Self::Command, bool)>;

    /// Whether the user may make a request, now or later. Commands that a request entails, such as to leave, do not count.
    fn may_request(&self, user: &Self::UserState) -> bool {
        let _ = user;
        true
    }

    /// Called when a user issues a command to its process.
    fn on_command(&self, user: &mut Self::UserState, command: &Self::Command);

    /// Called when a process sends an output to its user.
    fn on_output(&self, user: &mut Self::UserState, output: &Self::Output);

    /// State of a user whose process has crashed. It keeps only what the user made known to others, such as a proposal, so
    /// that crashed users do not differ otherwise.
    fn crashed(&self, user: &Self::UserState) -> Self::UserState;

    /// State of a user whose process has crashed and may recover with its memory; `None` if users of this
    /// family do not support recovery.
    fn suspended(&self, user: &Self::UserState) -> Option<Self::UserState> {
        let _ = user;
        None
    }

    /// Called when the process of a suspended user has recovered, before it sends any output.
    fn resumed(&self, user: &mut Self::UserState) {
        let _ = user;
    }

    /// The property that these users violate together, whatever happens next except a crash. Users are in the order of
    /// their processes; crashed ones are as [`Self::crashed`] left them.
    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a Self::UserState> + Clone,
    ) -> Option<Property>
    where
        Self::UserState: 'a;

    /// The property that these users violate if no action that must happen is possible.
    fn broken_when_quiescent<'a>(
        &self,
        user_states: impl Iterator<Item = &'a Self::UserState> + Clone,
    ) -> Option<Property>
    where
        Self::UserState: 'a,
    {
        let _ = user_states;
        None
    }

    /// The property that these users violate if no message is in flight, no notice is pending and no process has crashed.
    /// Users may have further commands.
    fn broken_when_settled<'a>(
        &self,
        user_states: impl Iterator<Item = &'a Self::UserState> + Clone,
    ) -> Option<Property>
    where
        Self::UserState: 'a,
    {
        let _ = user_states;
        None
    }

    /// Whether a user waits for something that it must eventually get.
    fn is_waiting(&self, user: &Self::UserState) -> bool;

    /// Whether a change of the user may end a violation that involves several users. A violation that cannot end is still
    /// found in a later state.
    fn is_visible(&self, before: &Self::UserState, after: &Self::UserState) -> bool;

    /// Whether a user has got what it wanted, now or earlier.
    fn is_satisfied(&self, user: &Self::UserState) -> bool;

    /// Whether a user is inside the critical section. Its next command is then to leave.
    fn is_inside(&self, user: &Self::UserState) -> bool {
        let _ = user;
        false
    }

    /// The property violated if a user waits forever.
    fn starvation_property(&self) -> Property;

    /// The same user with renamed processes; `None` if users of this family cannot be renamed.
    fn renamed(
        &self,
        user: &Self::UserState,
        name: &dyn Fn(ProcessId) -> ProcessId,
    ) -> Option<Self::UserState> {
        let _ = (user, name);
        None
    }
}
