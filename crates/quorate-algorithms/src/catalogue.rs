//! The algorithms by name: one list, from which drivers, experiments and the command line are fed.
//!
//! An algorithm is a type, and drivers are compiled for each: [`visit`] calls a [`Visitor`] with the
//! type that a name stands for.

use quorate_core::mutex::Mutex;
use quorate_core::{Cost, Process, ProcessId, Profile};

use crate::mutex::{Central, RicartAgrawala};

/// What an algorithm is told about the world it is to live in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How many processes there are.
    pub n: usize,
    /// The process that serves the others, where the algorithm has one.
    pub server: ProcessId,
}

/// An algorithm in the catalogue.
pub trait Algorithm: Process {
    /// What it says of itself.
    const PROFILE: Profile;

    /// Its process `id`.
    fn build(setup: &Setup, id: ProcessId) -> Self;

    /// What it promises to cost in such a world.
    fn cost(setup: &Setup) -> Cost;
}

/// Something to be done with an algorithm whose type is known only by name.
pub trait Visitor {
    /// What comes of it.
    type Answer;

    /// Does it with a mutual exclusion algorithm.
    fn mutex<A: Algorithm + Mutex + 'static>(self) -> Self::Answer;
}

macro_rules! catalogue {
    ($($visit:ident $algorithm:ty),* $(,)?) => {
        /// What every algorithm says of itself, family by family.
        pub const PROFILES: &[Profile] = &[$(<$algorithm>::PROFILE),*];

        /// Calls the visitor with the algorithm of that name, if there is one.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Answer> {
            $(if name == <$algorithm>::PROFILE.name {
                return Some(visitor.$visit::<$algorithm>());
            })*
            None
        }
    };
}

catalogue! {
    mutex Central,
    mutex RicartAgrawala,
}
