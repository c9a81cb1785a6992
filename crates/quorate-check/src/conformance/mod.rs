//! Trace validation: whether every step of a run of processes is a sequence of actions of a proved model.
//!
//! The model is exported from its proof. The checker follows a run in it: it keeps a state of the model, and after every input
//! of a process it searches actions that lead to a state with the rows that the processes and the messages in flight imply. If
//! there are none, the code has done what the model does not allow. So the properties that are proved for the model
//! hold in the run. They are evaluated in every state too.
//!
//! - `expression`, `signature`, `formula` and `model` read the exported model.
//! - `structure` and `solve` evaluate formulas over finitely many elements.
//! - `ownership` knows which process acts with an element.
//! - `checker` keeps the state of the model, `step` searches the actions of a step, `divergence` describes a failure.
//! - `follower` feeds a checker with the inputs of any driver, and `observer` with a run of the simulator.

mod checker;
mod divergence;
mod expression;
mod follower;
mod formula;
mod model;
mod observer;
mod ownership;
mod signature;
mod solve;
mod step;
mod structure;
#[cfg(test)]
mod tests;

pub use checker::{Checker, Statistics};
pub use divergence::Divergence;
pub use follower::{FollowedInput, Follower};
pub use model::Model;
pub use observer::{Conformance, ConformanceReport, follow_mutex};
