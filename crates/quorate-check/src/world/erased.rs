//! Worlds of processes without their types ([`Erased`]), one for each family.
//!
//! They are compiled here, with the optimisation of this crate. A crate that explores many algorithms through them compiles no
//! world of its own.

use quorate_core::{
    Erased, ProcessId, Reason, agreement, allocation, detection, election, multicast, mutex,
    replication, snapshot,
};

use crate::users::{
    AgreementUsers, AllocationUsers, DetectionUsers, ElectionUsers, MulticastUsers, MutexUsers,
    ReplicationUsers, SnapshotUsers, Users,
};
use crate::world::World;

/// Constructor of processes without their types.
pub type ErasedProcesses<'w, C, O, E> =
    Box<dyn Fn(ProcessId) -> Erased<C, O, E> + Send + Sync + 'w>;

/// The users of a family whose processes may be given without their types.
pub trait ErasedFamily: Users {
    /// Error of a process of this family.
    type Misuse: Reason;

    /// The same as [`World::new`] for processes without their types.
    fn world<'w>(
        self,
        n: usize,
        make: ErasedProcesses<'w, Self::Command, Self::Output, Self::Misuse>,
    ) -> World<'w>;
}

/// Implements [`ErasedFamily`] for the users of each family.
macro_rules! erased {
    ($($Users:ty: $family:ident;)*) => {$(
        impl ErasedFamily for $Users {
            type Misuse = $family::Misuse;

            // If it were inlined, the caller would compile the world.
            #[inline(never)]
            fn world<'w>(
                self,
                n: usize,
                make: ErasedProcesses<'w, $family::Command, $family::Output, $family::Misuse>,
            ) -> World<'w> {
                World::new(n, make, self)
            }
        }
    )*};
}

erased! {
    AgreementUsers: agreement;
    AllocationUsers: allocation;
    DetectionUsers: detection;
    ElectionUsers: election;
    MulticastUsers: multicast;
    MutexUsers: mutex;
    ReplicationUsers: replication;
    SnapshotUsers: snapshot;
}
