//! When: integer time. The unit is the nanosecond; the zero is the start of the run.

use core::fmt;
use core::ops::{Add, Sub};

/// A moment, in nanoseconds since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// How long after `earlier` this is; nothing if it is not after.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of so many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
}

impl Add<Span> for Time {
    type Output = Self;
    /// Saturates: a timer further away than time itself never fires.
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Span(self.0), f)
    }
}

/// In the largest unit that leaves at least one whole, exactly: `1ms`, `2.5ms`, `1.000001s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, usize, &str); 4] =
            [(1_000_000_000, 9, "s"), (1_000_000, 6, "ms"), (1_000, 3, "us"), (1, 0, "ns")];
        let Some((size, digits, unit)) = UNITS.into_iter().find(|unit| self.0 >= unit.0) else {
            return f.pad("0");
        };
        let (whole, rest) = (self.0 / size, self.0 % size);
        if rest == 0 {
            return f.pad(&alloc::format!("{whole}{unit}"));
        }
        let decimals = alloc::format!("{rest:0digits$}");
        f.pad(&alloc::format!("{whole}.{}{unit}", decimals.trim_end_matches('0')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn spans_read_in_the_largest_fitting_unit() {
        let text = |nanos| Span(nanos).to_string();
        assert_eq!(text(0), "0");
        assert_eq!(text(999), "999ns");
        assert_eq!(text(1_000_000), "1ms");
        assert_eq!(text(2_500_000), "2.5ms");
        assert_eq!(text(10_000_000_000), "10s");
        assert_eq!(text(1_000_000_001), "1.000000001s");
        assert_eq!(text(1_001), "1.001us");
    }

    #[test]
    fn adding_to_a_moment_saturates() {
        assert_eq!(Time(5) + Span(u64::MAX), Time::NEVER);
    }
}
