//! The users of each family: when they request, and when they have everything that they wanted.
//!
//! Each file implements [`crate::engine::User`] for one family. Users know commands and outputs, and import only the
//! scenario, the engine and what is observed.

mod agreement;
mod allocation;
mod clock;
mod detection;
mod detector;
mod election;
mod multicast;
mod mutex;
mod replication;
mod scripted;
mod snapshot;

pub use agreement::AgreementUsers;
pub use allocation::AllocationUsers;
pub use clock::ClockUsers;
pub(crate) use detection::planned_scripts;
pub use detection::{DetectionUser, detection_commands};
pub use detector::DetectorUsers;
pub use election::ElectionUsers;
pub use multicast::MulticastUsers;
pub use mutex::MutexUsers;
pub use replication::ReplicationUsers;
pub use scripted::{ScriptedUser, ScriptedUsers};
pub(crate) use snapshot::planned_commands;
pub use snapshot::{SnapshotUser, scripted_commands};
