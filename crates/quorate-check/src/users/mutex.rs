//! Users of a mutex: nobody has to ask, and who is inside leaves.

use quorate_core::mutex::{Command, Output};
use quorate_core::{ProcessId, Property};

use super::Users;

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
    /// Whether its process is down and may come back.
    suspended: bool,
}

impl MutexPlace {
    fn is_at(&self, at: Whereabouts) -> bool {
        self.at == at && !self.suspended
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Whereabouts {
    Away,
    Asking,
    Inside,
}

impl Users for MutexUsers {
    type Command = Command;
    type Output = Output;
    type Place = MutexPlace;

    fn place(&self, process: ProcessId) -> MutexPlace {
        let left = self.requests[process.index()];
        MutexPlace { left, at: Whereabouts::Away, suspended: false }
    }

    /// Nobody has to ask, but who is inside leaves.
    fn wish(&self, place: &MutexPlace) -> Option<(Command, bool)> {
        match place.at {
            _ if place.suspended => None,
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
            Output::NoQuorum => (place.left, place.at) = (0, Whereabouts::Away),
            Output::Expelled => place.at = Whereabouts::Away,
        }
    }

    /// All that are down are alike.
    fn crashed(&self, _: &MutexPlace) -> MutexPlace {
        MutexPlace { left: 0, at: Whereabouts::Away, suspended: false }
    }

    fn suspended(&self, place: &MutexPlace) -> Option<MutexPlace> {
        Some(MutexPlace { suspended: true, ..*place })
    }

    /// Who was inside is inside again, unless its process says otherwise.
    fn resumed(&self, place: &mut MutexPlace) {
        place.suspended = false;
    }

    fn broken<'a>(&self, places: impl Iterator<Item = &'a MutexPlace> + Clone) -> Option<Property> {
        let inside = places.filter(|place| place.is_at(Whereabouts::Inside)).count();
        (inside > 1).then_some(Property::ME1)
    }

    fn waits(&self, place: &MutexPlace) -> bool {
        place.is_at(Whereabouts::Asking)
    }

    fn shows(&self, before: &MutexPlace, after: &MutexPlace) -> bool {
        before.is_at(Whereabouts::Inside) != after.is_at(Whereabouts::Inside)
    }

    fn is_pleased(&self, place: &MutexPlace) -> bool {
        place.is_at(Whereabouts::Inside)
    }

    fn is_inside(&self, place: &MutexPlace) -> bool {
        place.is_at(Whereabouts::Inside)
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
