//! The error bound: every clock that was set is as near to the true time as it says.
//!
//! Judged twice: when a clock is set, by the error that it claims then; and when it is set again, for what it has
//! shown just before, by that error and the most that it can have drifted since. Cost: O(1) for each setting.

use quorate_core::{Drift, Offset, Property, Span, Time};

use super::{Evidence, Violation};
use crate::observer::Moment;

/// Watches the error bound.
#[derive(Clone, Debug)]
pub(crate) struct ClockError {
    drift: Drift,
    violation: Option<Violation>,
}

/// A clock as it was set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// When, by virtual time.
    pub(crate) at: Moment,
    /// By how much the machine's own clock was ahead of the true time, and the corrected one.
    pub(crate) own: Offset,
    pub(crate) shown: Offset,
    /// By how much the corrected one may be off.
    pub(crate) error: Span,
}

impl Setting {
    /// By how much the corrected clock is ahead when the machine's own is so much.
    pub(crate) fn projected_offset(&self, own: Offset) -> Offset {
        self.shown + (own - self.own)
    }

    /// By how much it may be off then.
    pub(crate) fn error_bound_at(&self, now: Time, drift: Drift) -> Span {
        self.error + drift.uncertainty(now - self.at.time)
    }
}

impl ClockError {
    pub(crate) fn new(drift: Drift) -> Self {
        Self { drift, violation: None }
    }

    /// A clock is set, again if it was before.
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

    /// The first violation.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn violate(&mut self, at: Moment, detail: String, mut events: Vec<Evidence>) {
        events.push(Evidence::new(at, "set its clock"));
        let property = Property::ClockError;
        self.violation.get_or_insert(Violation { property, time: at.time, detail, events });
    }
}
