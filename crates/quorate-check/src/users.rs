//! Users of a small world: what they may ask, what they hear, and what they make of it.

use std::fmt::Debug;
use std::hash::Hash;

use quorate_core::mutex::{Command, Mutex, Output};
use quorate_core::{Process, ProcessId, Property};

/// The users of a family of algorithms.
pub trait Users<P: Process>: Sync {
    /// The user at one process.
    type Place: Clone + Eq + Hash + Debug + Send + Sync;

    /// The user at a process, to begin with.
    fn place(&self, process: ProcessId) -> Self::Place;

    /// What a user may ask now, and whether it will.
    fn wish(&self, place: &Self::Place) -> Option<(P::Command, bool)>;

    /// A process has taken what its user asked.
    fn asked(&self, place: &mut Self::Place, command: &P::Command);

    /// A process has told its user something.
    fn told(&self, place: &mut Self::Place, output: &P::Output);

    /// What is to be remembered of the user of a process that has crashed.
    fn crashed(&self, process: ProcessId, place: &Self::Place) -> Self::Place {
        let _ = place;
        self.place(process)
    }

    /// What is wrong with these users together: those of all processes, and whether each is up.
    fn broken<'a>(
        &self,
        places: impl Iterator<Item = (ProcessId, &'a Self::Place, bool)> + Clone,
    ) -> Option<Property>
    where
        Self::Place: 'a;

    /// What is wrong with them when nothing is left to happen.
    fn broken_at_rest<'a>(
        &self,
        places: impl Iterator<Item = (ProcessId, &'a Self::Place, bool)> + Clone,
    ) -> Option<Property>
    where
        Self::Place: 'a,
    {
        let _ = places;
        None
    }

    /// Whether a user waits.
    fn waits(&self, place: &Self::Place) -> bool;

    /// Whether a change of the user is of interest to properties of several users together.
    fn shows(&self, before: &Self::Place, after: &Self::Place) -> bool;

    /// Whether a user has, or had, what it wanted.
    fn is_pleased(&self, place: &Self::Place) -> bool;

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

/// Users of a mutex: each may ask so many times, whenever it likes, and leaves some time after it has entered.
#[derive(Clone, Debug)]
pub struct MutexUsers {
    /// How often each asks.
    pub requests: Vec<u8>,
}

/// The user of a mutex at one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MutexPlace {
    /// How often it may still ask.
    left: u8,
    at: Whereabouts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Whereabouts {
    Away,
    Asking,
    Inside,
}

impl<P: Mutex> Users<P> for MutexUsers {
    type Place = MutexPlace;

    fn place(&self, process: ProcessId) -> MutexPlace {
        MutexPlace { left: self.requests[process.index()], at: Whereabouts::Away }
    }

    /// Nobody has to ask, but who is inside leaves.
    fn wish(&self, place: &MutexPlace) -> Option<(Command, bool)> {
        match place.at {
            Whereabouts::Away if place.left > 0 => Some((Command::Acquire, false)),
            Whereabouts::Inside => Some((Command::Release, true)),
            Whereabouts::Away | Whereabouts::Asking => None,
        }
    }

    fn asked(&self, place: &mut MutexPlace, command: &Command) {
        match command {
            Command::Acquire => {
                place.left -= 1;
                place.at = Whereabouts::Asking;
            }
            Command::Release => place.at = Whereabouts::Away,
        }
    }

    fn told(&self, place: &mut MutexPlace, output: &Output) {
        match output {
            Output::Entered => place.at = Whereabouts::Inside,
            // No quorum is left, nor will there be one.
            Output::NoQuorum => *place = MutexPlace { left: 0, at: Whereabouts::Away },
            Output::Expelled => place.at = Whereabouts::Away,
        }
    }

    fn broken<'a>(
        &self,
        places: impl Iterator<Item = (ProcessId, &'a MutexPlace, bool)> + Clone,
    ) -> Option<Property> {
        let inside = places.filter(|(_, place, up)| *up && place.at == Whereabouts::Inside).count();
        (inside > 1).then_some(Property::ME1)
    }

    fn waits(&self, place: &MutexPlace) -> bool {
        place.at == Whereabouts::Asking
    }

    fn shows(&self, before: &MutexPlace, after: &MutexPlace) -> bool {
        (before.at == Whereabouts::Inside) != (after.at == Whereabouts::Inside)
    }

    fn is_pleased(&self, place: &MutexPlace) -> bool {
        place.at == Whereabouts::Inside
    }

    fn patience(&self) -> Property {
        Property::ME2
    }

    fn renamed(
        &self,
        place: &MutexPlace,
        _: &dyn Fn(ProcessId) -> ProcessId,
    ) -> Option<MutexPlace> {
        Some(*place)
    }
}
