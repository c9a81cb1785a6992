//! Detection of stable properties: algorithms that announce that a computation has terminated or is in a deadlock.

mod chandy_misra_haas_and;
mod chandy_misra_haas_or;
mod dijkstra_scholten;
mod safra;
mod safra_uncoloured;

pub use chandy_misra_haas_and::ChandyMisraHaasAnd;
pub use chandy_misra_haas_or::ChandyMisraHaasOr;
pub use dijkstra_scholten::DijkstraScholten;
pub use safra::Safra;
pub use safra_uncoloured::SafraUncoloured;
