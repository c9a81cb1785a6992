//! Mutual exclusion: one process inside at a time, by messages alone.

mod central;
mod ricart_agrawala;

pub use central::Central;
pub use ricart_agrawala::RicartAgrawala;
