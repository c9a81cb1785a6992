//! The error bound: every clock that was set is as close to the true time as it claims.
//!
//! Each setting is judged twice. When a clock is set, its offset is compared with the error that it claims. When it is set
//! again, the offset just before is compared with that error plus the maximum drift since. Cost: O(1) for each setting.

use quorate_core::{Drift, Offset, Property, Span, Time};

use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;

/// Monitor of the error bound.
#[derive(Clone, Debug)]
pub(crate) struct ClockError {
    drift: Drift,
    violation: Option<Violation>,
}

/// A clock at the moment it was set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Virtual time of the setting, and the process.
    pub(crate) at: Moment,
    /// Offsets from the true time: of the machine's own clock (`own`), and of the corrected clock (`shown`).
    pub(crate) own: Offset,
    pub(crate) shown: Offset,
    /// Maximum error of the corrected clock, as it claims.
    pub(crate) error: Span,
}

impl Setting {
    /// Offset of the corrected clock at a later time when the machine's own clock has the offset `own`.
    pub(crate) fn projected_offset(&self, own: Offset) -> Offset {
        self.shown + (own - self.own)
    }

    /// Maximum error of the corrected clock at the time `now`.
    pub(crate) fn error_bound_at(&self, now: Time, drift: Drift) -> Span {
        self.error + drift.uncertainty(now - self.at.time)
    }
}

impl ClockError {
    pub(crate) fn new(drift: Drift) -> Self {
        Self { drift, violation: None }
    }

    /// A clock is set. `before` is its previous setting, if it has one.
    pub(crate) fn set(&mut self, before: Option<Setting>, new: Setting) {
        let at = new.at;
        if let Some(before) = before {
            let (off, most) =
                (before.projected_offset(new.own), before.error_bound_at(at.time, self.drift));
            if off.size() > most {
                let detail = format!(
                    "the clock of {} was {off} off at {}, since it was set at {}, and {most} was the most",
                    at.process, at.time, before.at.time
                );
                self.violate(at, detail, vec![Evidence::new(before.at, "set its clock")]);
            }
        }
        if new.shown.size() > new.error {
            let detail = format!(
                "{} set its clock at {} and is {} off, though it says {} at most",
                at.process, at.time, new.shown, new.error
            );
            self.violate(at, detail, Vec::new());
        }
    }

    /// The first violation, if there is one.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn violate(&mut self, at: Moment, detail: String, mut events: Vec<Evidence>) {
        events.push(Evidence::new(at, "set its clock"));
        let property = Property::ClockError;
        self.violation.get_or_insert(Violation { property, time: at.time, detail, events });
    }
}
