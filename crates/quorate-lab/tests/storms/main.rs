//! Short storms of random faults with fixed seeds, one module per family: random scenarios inside the assumptions violate
//! nothing, and runs outside them violate what they are known to violate.

mod agreement;
mod allocation;
mod clock;
mod consensus;
mod crash_agreement;
mod detector;
mod election;
mod from_text;
mod multicast;
mod mutex;
mod observed;
mod quorum;
mod replication;
