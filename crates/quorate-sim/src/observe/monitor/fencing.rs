//! Fencing: every entry has a greater token than all earlier entries. Cost: O(1) for each entry.

use quorate_core::Property;
use quorate_core::definition::mutex::token_not_exceeded;

use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;

/// Monitor of fencing tokens.
#[derive(Clone, Debug, Default)]
pub struct Fencing {
    /// The entry with the greatest token so far.
    greatest: Option<(Moment, u64)>,
    violation: Option<Violation>,
}

impl Fencing {
    /// Processes an entry with this token.
    pub fn enters_with(&mut self, at: Moment, token: u64) {
        let Some((before, greatest)) = self.greatest else {
            self.greatest = Some((at, token));
            return;
        };
        if token_not_exceeded([greatest], token).is_none() {
            self.greatest = Some((at, token));
        } else if self.violation.is_none() {
            self.violation = Some(Violation {
                property: Property::Fencing,
                time: at.time,
                detail: format!(
                    "{} entered at {} with token {token}, after {} had entered at {} with token {greatest}",
                    at.process, at.time, before.process, before.time
                ),
                events: vec![Evidence::new(before, "entered"), Evidence::new(at, "entered")],
            });
        }
    }

    /// Whether any entry had a token.
    pub fn has_tokens(&self) -> bool {
        self.greatest.is_some()
    }

    /// The first violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }
}
