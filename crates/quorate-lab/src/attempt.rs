//! A run that may fail in any way: a panic of an algorithm is a finding, like a violated property.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use quorate_sim::monitor::Status;
use quorate_sim::{Conditions, Report, Scenario};

use crate::{CannotRun, conformance, run};

/// Name under which a panic is listed among violated properties.
pub const PANIC: &str = "panic";

/// Name under which a step that the model does not allow is listed among violated properties.
pub const CONFORMANCE: &str = "conformance";

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Attempt {
    /// The run ended with a report.
    Ran(Box<Report>),
    /// The algorithm or a monitor panicked with this message.
    Panicked(String),
    /// All properties hold, but a step is none that the proved model of the algorithm allows.
    Diverged(String),
}

impl Attempt {
    /// Violated properties, each with its description.
    pub fn broken(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Ran(report) => {
                let properties = report.properties.iter();
                let violated = properties.filter(|property| property.status == Status::Violated);
                violated.map(|property| (property.id, property.detail.as_str())).collect()
            }
            Self::Panicked(message) => vec![(PANIC, message)],
            Self::Diverged(summary) => vec![(CONFORMANCE, summary)],
        }
    }

    /// Assumptions that did not hold in the run.
    pub fn broken_assumptions(&self) -> Vec<&'static str> {
        match self {
            Self::Ran(report) => {
                let broken = report.assumptions.iter().filter(|assumption| !assumption.met);
                broken.map(|assumption| assumption.id).collect()
            }
            Self::Panicked(_) | Self::Diverged(_) => Vec::new(),
        }
    }
}

/// Runs a validated scenario once, and catches a panic.
pub fn attempt(scenario: &Scenario, conditions: Conditions) -> Result<Attempt, CannotRun> {
    match catch_panic(|| run(scenario, conditions, None)) {
        Ok(done) => Ok(Attempt::Ran(Box::new(done?.report))),
        Err(message) => Ok(Attempt::Panicked(message)),
    }
}

/// The same for a run whose steps are compared with the proved model of the algorithm, if all properties hold.
pub fn attempt_in_model(scenario: &Scenario, conditions: Conditions) -> Result<Attempt, CannotRun> {
    let attempt = attempt(scenario, conditions)?;
    if !attempt.broken().is_empty() {
        return Ok(attempt);
    }
    let divergence = match catch_panic(|| conformance(scenario, conditions)) {
        Ok(report) => report?.divergence,
        Err(message) => return Ok(Attempt::Panicked(message)),
    };
    Ok(divergence.map_or(attempt, |divergence| Attempt::Diverged(divergence.summary())))
}

/// Does work that may panic. Returns the panic message if it did. Nothing is printed in that case.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    install_panic_hook();
    let outer = GUARDED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    done.map_err(|_| PANIC_MESSAGE.take().unwrap_or_else(|| "no message".to_owned()))
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static PANIC_MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Only the hook knows the message of a panic and its location in the source. Panics outside
/// [`catch_panic`] are reported as usual.
fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if GUARDED.get() {
                let message = info.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
                PANIC_MESSAGE.set(Some(message));
            } else {
                usual(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place_and_ends_nothing() {
        let message = catch_panic(|| -> u32 { panic!("no quorum\nof {}", 0) }).unwrap_err();
        assert!(message.starts_with("panicked at ") && message.contains("attempt.rs"), "{message}");
        assert!(message.ends_with("no quorum of 0"), "{message}");
        assert_eq!(catch_panic(|| 7), Ok(7));
    }
}
