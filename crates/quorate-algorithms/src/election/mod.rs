//! Election: all processes agree on one leader, the process with the greatest identifier among the live ones.

mod announce_all;
mod bully;
mod bully_all;
mod bully_common;
mod chang_roberts;
mod common;
mod detector_leader;
mod hirschberg_sinclair;
mod list_ring;
mod list_ring_direct;

pub use announce_all::AnnounceAll;
pub use bully::Bully;
pub use bully_all::BullyAll;
pub use chang_roberts::ChangRoberts;
pub use detector_leader::DetectorLeader;
pub use hirschberg_sinclair::HirschbergSinclair;
pub use list_ring::ListRing;
pub use list_ring_direct::ListRingDirect;
