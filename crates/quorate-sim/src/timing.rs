//! Timing models: what is known about how long things take.
//!
//! The model decides two things: how messages are delayed and whether an algorithm may rely on a bound.
//!
//! | model | delays | the bound |
//! |---|---|---|
//! | `rounds:D` | a message sent in a round arrives at its end | one round |
//! | `synchronous` | by the law, which must be bounded | known |
//! | `asynchronous` | by the law | none |
//! | `eventually:T` | before T up to ten times the law's, but never later than T and a delay; then by the law | holds after T, which is not known |
//! | `unknown-bound` | by the law, which must be bounded | exists, not known |

use std::fmt;
use std::str::FromStr;

use quorate_core::{Span, Time};

use crate::delay::Delay;
use crate::notation::{NotationError, parse_span, serde_as_text};

/// A timing model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Lock-step rounds of this length.
    Rounds(Span),
    /// Bounded delay, the bound known.
    Synchronous,
    /// No bound.
    Asynchronous,
    /// Bounds hold after this time, which no process knows.
    Eventually(Time),
    /// Bounds hold from the start, but no process knows them.
    UnknownBound,
}

impl Timing {
    /// How much longer than the law says a message may take before bounds hold.
    pub const INSTABILITY_FACTOR: u64 = 10;

    /// Whether processes may rely on a known bound from the start.
    pub fn is_synchronous(self) -> bool {
        matches!(self, Self::Rounds(_) | Self::Synchronous)
    }

    /// Whether messages with delays of this law take no time at all.
    pub fn is_timeless(self, delay: &Delay) -> bool {
        !matches!(self, Self::Rounds(_)) && delay.bound() == Some(Span::ZERO)
    }

    /// Whether the law of delays must have a bound.
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
