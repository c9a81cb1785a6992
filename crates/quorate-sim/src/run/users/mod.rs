//! The users of each family: when they request, and when they have everything that they wanted.
//!
//! Each file implements [`crate::engine::User`] for one family. Users know commands and outputs, and import only the
//! scenario, the engine and what is observed.

mod agreement;
mod clock;
mod detector;
mod election;
mod multicast;
mod mutex;
mod replication;

pub use agreement::AgreementUsers;
pub use clock::ClockUsers;
pub use detector::DetectorUsers;
pub use election::ElectionUsers;
pub use multicast::MulticastUsers;
pub use mutex::MutexUsers;
pub use replication::ReplicationUsers;
