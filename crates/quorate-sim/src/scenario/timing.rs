//! Timing models: assumptions about delays, and what processes know of them.
//!
//! The model decides how messages are delayed, and whether an algorithm may rely on a bound.
//!
//! | model | delays | the bound |
//! |---|---|---|
//! | `rounds:D` | a message sent in a round arrives at its end | one round |
//! | `synchronous` | by the distribution, which must be bounded | known |
//! | `asynchronous` | by the distribution | none |
//! | `eventually:T` | before T up to ten times longer, at most until T plus one delay; then as given | after an unknown T |
//! | `unknown-bound` | by the distribution, which must be bounded | exists, but is unknown |

use std::fmt;
use std::str::FromStr;

use quorate_core::{Span, Time};

use super::delay::Delay;
use super::notation::{NotationError, parse_span, serde_as_text};

/// A timing model, which bounds delays or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Lock-step rounds of this length.
    Rounds(Span),
    /// Bounded delays with a known bound.
    Synchronous,
    /// Delays without a bound.
    Asynchronous,
    /// Bounds hold after this time, which no process knows.
    Eventually(Time),
    /// Bounds hold from the start, but no process knows them.
    UnknownBound,
}

impl Timing {
    /// Maximum factor by which delays are longer before bounds hold.
    pub const INSTABILITY_FACTOR: u64 = 10;

    /// Whether processes may rely on a known bound from the start.
    pub fn is_synchronous(self) -> bool {
        matches!(self, Self::Rounds(_) | Self::Synchronous)
    }

    /// Whether messages with this delay distribution take no time at all.
    pub fn is_timeless(self, delay: &Delay) -> bool {
        !matches!(self, Self::Rounds(_)) && delay.bound() == Some(Span::ZERO)
    }

    /// Whether the delay distribution must be bounded.
    pub fn needs_bound(self) -> bool {
        matches!(self, Self::Synchronous | Self::UnknownBound | Self::Eventually(_))
    }
}

impl FromStr for Timing {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        match text.split_once(':') {
            Some(("rounds", length)) => {
                let length = parse_span(length)?;
                if length == Span::ZERO {
                    return Err(NotationError::new(
                        "rounds that take time, such as rounds:1ms",
                        text,
                    ));
                }
                Ok(Self::Rounds(length))
            }
            Some(("eventually", time)) => Ok(Self::Eventually(Time(parse_span(time)?.0))),
            None if text == "synchronous" => Ok(Self::Synchronous),
            None if text == "asynchronous" => Ok(Self::Asynchronous),
            None if text == "unknown-bound" => Ok(Self::UnknownBound),
            _ => Err(NotationError::new(
                "a timing model: rounds:1ms, synchronous, asynchronous, eventually:50ms or unknown-bound",
                text,
            )),
        }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rounds(length) => write!(f, "rounds:{length}"),
            Self::Synchronous => f.write_str("synchronous"),
            Self::Asynchronous => f.write_str("asynchronous"),
            Self::Eventually(time) => write!(f, "eventually:{time}"),
            Self::UnknownBound => f.write_str("unknown-bound"),
        }
    }
}

serde_as_text!(Timing);
