//! Integer time in nanoseconds since the start of the run.

use core::fmt;
use core::ops::{Add, Sub};

/// A point in time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(pub u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span(pub u64);

/// Difference of one clock from another, in nanoseconds. Negative if the clock is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Offset(pub i64);

/// Rate at which a clock gains on the true time, in parts per billion. Negative if it loses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Drift(pub i64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// A time later than any event.
    pub const NEVER: Self = Self(u64::MAX);

    /// The duration since `earlier`. Zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The difference of this time from the other. Positive if this time is ahead.
    pub fn ahead_of(self, other: Self) -> Offset {
        let ahead = i128::from(self.0) - i128::from(other.0);
        Offset(ahead.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }
}

impl Offset {
    /// No difference between the clocks.
    pub const ZERO: Self = Self(0);

    /// The absolute value of the difference.
    pub const fn size(self) -> Span {
        Span(self.0.unsigned_abs())
    }
}

impl Drift {
    /// The drift of a perfect clock.
    pub const NONE: Self = Self(0);
    /// A drift of one: a clock with this drift runs at twice the speed of true time.
    pub const ONE: i64 = 1_000_000_000;

    /// Maximum error of a duration `shown` by a clock whose drift is at most this, in either direction. The clock is
    /// only accurate to a nanosecond, so the result includes one more.
    pub fn uncertainty(self, shown: Span) -> Span {
        if self == Self::NONE {
            return Span::ZERO;
        }
        let size = u128::from(self.0.unsigned_abs());
        let rest = (Self::ONE as u128).saturating_sub(size).max(1);
        let uncertainty = ((u128::from(shown.0) + 1) * size).div_ceil(rest) + 1;
        Span(uncertainty.min(u64::MAX.into()) as u64)
    }
}

impl Span {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);

    /// Creates a duration of this many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
}

impl Add<Span> for Time {
    type Output = Self;
    /// Saturates. A timer beyond the end of time never fires.
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

impl Add<Offset> for Time {
    type Output = Self;
    /// Saturates at both ends of the range.
    fn add(self, offset: Offset) -> Self {
        Self(self.0.saturating_add_signed(offset.0))
    }
}

impl Add for Offset {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Offset {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Formats with the sign: `+250ms`, `-1s`, `0`.
impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.0 {
            0 => "",
            1.. => "+",
            _ => "-",
        };
        f.pad(&alloc::format!("{sign}{}", self.size()))
    }
}

/// Formats with the sign, in parts per million: `+50ppm`, `-0.5ppm`, `0ppm`.
impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.0 {
            0 => "",
            1.. => "+",
            _ => "-",
        };
        let (whole, rest) = (self.0.unsigned_abs() / 1_000, self.0.unsigned_abs() % 1_000);
        let decimals = alloc::format!(".{rest:03}");
        let decimals = if rest == 0 { "" } else { decimals.trim_end_matches('0') };
        f.pad(&alloc::format!("{sign}{whole}{decimals}ppm"))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Span(self.0), f)
    }
}

/// Formats exactly, in the largest unit in which the value is at least one: `1ms`, `2.5ms`, `1.000001s`.
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
    fn offsets_and_drifts_have_their_sign() {
        assert_eq!(Offset(-2_500_000).to_string(), "-2.5ms");
        assert_eq!(Time(5).ahead_of(Time(3)).to_string(), "+2ns");
        assert_eq!((Time(3) + Offset(-5), Time(3).ahead_of(Time(5))), (Time::ZERO, Offset(-2)));
        assert_eq!(Drift(-500).to_string(), "-0.5ppm");
        assert_eq!(Drift(50_000).to_string(), "+50ppm");
    }

    #[test]
    fn a_drifting_clock_leaves_a_doubt() {
        assert_eq!(Drift(100_000).uncertainty(Span(1_000_000_000)), Span(100_012));
        assert_eq!(Drift::NONE.uncertainty(Span(1_000_000_000)), Span::ZERO);
        assert_eq!(Drift(Drift::ONE).uncertainty(Span(u64::MAX)), Span(u64::MAX));
    }

    #[test]
    fn adding_to_a_moment_saturates() {
        assert_eq!(Time(5) + Span(u64::MAX), Time::NEVER);
    }
}
