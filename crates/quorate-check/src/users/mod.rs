//! Users of a small world: what they may ask, what they hear, and what they make of it.
//!
//! A family has a file here. What is wrong is judged with the meaning that the simulator's monitors give it, so that
//! a counterexample breaks the same property when it is replayed.

mod agreement;
mod election;
mod multicast;
mod mutex;

use std::fmt::Debug;
use std::hash::Hash;

use quorate_core::{ProcessId, Property};

pub use agreement::{AgreementUserState, AgreementUsers};
pub use election::{ElectionUserState, ElectionUsers};
pub use multicast::{MulticastUserState, MulticastUsers};
pub use mutex::{MutexUserState, MutexUsers};

/// The users of a family of algorithms.
pub trait Users: Send + Sync {
    /// What they may ask.
    type Command;
    /// What they may hear.
    type Output;
    /// The user at one process.
    type UserState: Clone + Eq + Hash + Debug + Send + Sync;

    /// The user at a process, to begin with.
    fn initial_user(&self, process: ProcessId) -> Self::UserState;

    /// What a user may ask now, and whether it will.
    fn next_command(&self, user: &Self::UserState) -> Option<(Self::Command, bool)>;

    /// A process has taken what its user asked.
    fn on_command(&self, user: &mut Self::UserState, command: &Self::Command);

    /// A process has told its user something.
    fn on_output(&self, user: &mut Self::UserState, output: &Self::Output);

    /// What is still to be known of a user whose process has crashed: what it told the world, such as a proposal, and
    /// nothing that tells the dead apart otherwise.
    fn crashed(&self, user: &Self::UserState) -> Self::UserState;

    /// The user of a process that has crashed and may come back with its memory; none where users of this family are not
    /// there for that.
    fn suspended(&self, user: &Self::UserState) -> Option<Self::UserState> {
        let _ = user;
        None
    }

    /// The process of a suspended user is back, and has not told it anything yet.
    fn resumed(&self, user: &mut Self::UserState) {
        let _ = user;
    }

    /// What is wrong with these users together, whatever happens next unless somebody crashes. They come in the order
    /// of their processes, the dead among them as [`Self::crashed`] left them.
    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a Self::UserState> + Clone,
    ) -> Option<Property>
    where
        Self::UserState: 'a;

    /// What is wrong with these users where nothing that must happen is left to happen.
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

    /// Whether a user waits for what it must not wait for in vain.
    fn is_waiting(&self, user: &Self::UserState) -> bool;

    /// Whether a change of the user may mend or undo what is wrong with several users together.
    fn is_visible(&self, before: &Self::UserState, after: &Self::UserState) -> bool;

    /// Whether a user has, or had, what it wanted.
    fn is_satisfied(&self, user: &Self::UserState) -> bool;

    /// Whether a user is inside: it has entered, and what it asks next is to leave.
    fn is_inside(&self, user: &Self::UserState) -> bool {
        let _ = user;
        false
    }

    /// The property that is broken if a user waits for ever.
    fn starvation_property(&self) -> Property;

    /// The same user with every process that it names called by another name; none if that would not be the same.
    fn renamed(
        &self,
        user: &Self::UserState,
        name: &dyn Fn(ProcessId) -> ProcessId,
    ) -> Option<Self::UserState> {
        let _ = (user, name);
        None
    }
}
