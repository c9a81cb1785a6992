//! Pinned runs of every algorithm of the catalogue: a change of behaviour anywhere in this crate is noticed here, in seconds.
//!
//! Every algorithm runs the scenario files that name it, and random scenarios with fixed seeds, inside and outside its
//! assumptions. A snapshot has a line for each algorithm and kind of run, with the seed and a digest of each run (`7:1be8`).
//! A digest only tells that a run has changed. What a rule is for is told by the scenario files, which also have to meet
//! their expectations, and by the unit tests beside the algorithms.
//!
//! A legitimate change renews the snapshots with
//! `INSTA_UPDATE=always cargo test -p quorate-algorithms --test protocols`. The difference of the snapshots shows which runs
//! have changed, and `quorate campaign` and `quorate replay` show these runs.

mod declarations;
mod digest;
mod disorder;
mod families;
mod files;
mod fnv;
mod lease_messages;
mod leases;
mod models;
mod storms;
mod worlds;
