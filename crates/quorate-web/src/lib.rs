//! What every HTTP server of quorate keeps to.

mod guard;

pub use guard::{Guard, check, seal};
