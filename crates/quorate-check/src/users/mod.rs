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

pub use agreement::{AgreementPlace, AgreementUsers};
pub use election::{ElectionPlace, ElectionUsers};
pub use multicast::{MulticastPlace, MulticastUsers};
pub use mutex::{MutexPlace, MutexUsers};

/// The users of a family of algorithms.
pub trait Users: Send + Sync {
    /// What they may ask.
    type Command;
    /// What they may hear.
    type Output;
    /// The user at one process.
    type Place: Clone + Eq + Hash + Debug + Send + Sync;

    /// The user at a process, to begin with.
    fn place(&self, process: ProcessId) -> Self::Place;

    /// What a user may ask now, and whether it will.
    fn wish(&self, place: &Self::Place) -> Option<(Self::Command, bool)>;

    /// A process has taken what its user asked.
    fn asked(&self, place: &mut Self::Place, command: &Self::Command);

    /// A process has told its user something.
    fn told(&self, place: &mut Self::Place, output: &Self::Output);

    /// What is still to be known of a user whose process has crashed: what it told the world, such as a proposal, and
    /// nothing that tells the dead apart otherwise.
    fn crashed(&self, place: &Self::Place) -> Self::Place;

    /// The user of a process that has crashed and may come back with its memory; none where users of this family are not
    /// there for that.
    fn suspended(&self, place: &Self::Place) -> Option<Self::Place> {
        let _ = place;
        None
    }

    /// The process of a suspended user is back, and has not told it anything yet.
    fn resumed(&self, place: &mut Self::Place) {
        let _ = place;
    }

    /// What is wrong with these users together, whatever happens next unless somebody crashes. They come in the order
    /// of their processes, the dead among them as [`Self::crashed`] left them.
    fn broken<'a>(&self, places: impl Iterator<Item = &'a Self::Place> + Clone) -> Option<Property>
    where
        Self::Place: 'a;

    /// What is wrong with these users where nothing that must happen is left to happen.
    fn broken_at_rest<'a>(
        &self,
        places: impl Iterator<Item = &'a Self::Place> + Clone,
    ) -> Option<Property>
    where
        Self::Place: 'a,
    {
        let _ = places;
        None
    }

    /// Whether a user waits for what it must not wait for in vain.
    fn waits(&self, place: &Self::Place) -> bool;

    /// Whether a change of the user may mend or undo what is wrong with several users together.
    fn shows(&self, before: &Self::Place, after: &Self::Place) -> bool;

    /// Whether a user has, or had, what it wanted.
    fn is_pleased(&self, place: &Self::Place) -> bool;

    /// Whether a user is inside: it has entered, and what it asks next is to leave.
    fn is_inside(&self, place: &Self::Place) -> bool {
        let _ = place;
        false
    }

    /// The property that is broken if a user waits for ever.
    fn patience(&self) -> Property;

    /// The same user with every process that it names called by another name; none if that would not be the same.
    fn renamed(
        &self,
        place: &Self::Place,
        name: &dyn Fn(ProcessId) -> ProcessId,
    ) -> Option<Self::Place> {
        let _ = (place, name);
        None
    }
}
