//! Mutual exclusion: at most one process is inside at a time, by messages alone.

mod agrawal_el_abbadi;
mod central;
mod lamport;
pub mod leased_quorum;
mod maekawa;
mod maekawa_original;
mod quorum;
mod quorum_majority;
mod quorum_published;
mod quorum_published_dropping;
mod quorum_without_attempts;
mod raymond;
mod ricart_agrawala;
mod ricart_agrawala_priority;
mod singhal;
mod suzuki_kasami;
mod token_ring;
mod voting;

pub use agrawal_el_abbadi::AgrawalElAbbadi;
pub use central::Central;
pub use lamport::Lamport;
pub use leased_quorum::LeasedQuorum;
pub use maekawa::Maekawa;
pub use maekawa_original::MaekawaOriginal;
pub use quorum::Quorum;
pub use quorum_majority::QuorumMajority;
pub use quorum_published::QuorumPublished;
pub use quorum_published_dropping::QuorumPublishedDropping;
pub use quorum_without_attempts::QuorumWithoutAttempts;
pub use raymond::Raymond;
pub use ricart_agrawala::RicartAgrawala;
pub use ricart_agrawala_priority::RicartAgrawalaPriority;
pub use singhal::Singhal;
pub use suzuki_kasami::SuzukiKasami;
pub use token_ring::TokenRing;
