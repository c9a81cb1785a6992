//! Synchronisation of physical clocks.

mod berkeley;
mod cristian;

pub use berkeley::Berkeley;
pub use cristian::Cristian;
