//! Delay distributions of messages and of crash detection.

use std::fmt;
use std::str::FromStr;

use quorate_core::Span;

use super::notation::{Link, NotationError, parse_span, serde_as_text};
use crate::random::Random;

/// A distribution that delays are drawn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The same delay every time: `constant:1ms`.
    Constant(Span),
    /// Uniform between two bounds, both included: `uniform:1ms..3ms`.
    Uniform(Span, Span),
    /// Exponential with this mean, hence unbounded: `exponential:1ms`.
    Exponential(Span),
    /// Fixed delays in the order of sending. The last one repeats forever: `list:1ms,5ms,2ms`.
    List(Vec<Span>),
}

/// The delay distribution of one link or one pair: `0-1=constant:5ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkDelay {
    /// The link that the distribution is for.
    pub link: Link,
    /// The distribution that replaces the common one on this link.
    pub delay: Delay,
}

impl Delay {
    /// The longest possible delay, or none if the distribution is unbounded.
    pub fn bound(&self) -> Option<Span> {
        match self {
            Self::Constant(delay) => Some(*delay),
            Self::Uniform(_, high) => Some(*high),
            Self::Exponential(_) => None,
            Self::List(delays) => delays.iter().max().copied(),
        }
    }

    /// The shortest possible delay.
    pub fn least(&self) -> Span {
        match self {
            Self::Constant(delay) => *delay,
            Self::Uniform(low, _) => *low,
            Self::Exponential(_) => Span::ZERO,
            Self::List(delays) => delays.iter().min().copied().unwrap_or(Span::ZERO),
        }
    }

    /// The mean delay. Delays of algorithms are reported in this unit.
    pub fn mean(&self) -> Span {
        match self {
            Self::Constant(delay) | Self::Exponential(delay) => *delay,
            Self::Uniform(low, high) => Span(low.0.midpoint(high.0)),
            Self::List(delays) => {
                let total: u128 = delays.iter().map(|delay| u128::from(delay.0)).sum();
                Span((total / delays.len() as u128) as u64)
            }
        }
    }

    /// Whether all delays are equal. Links then keep the order of messages without further work.
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }
}

/// Draws delays from one distribution, one after the other.
#[derive(Clone, Debug)]
pub struct DelaySampler {
    law: Delay,
    drawn: usize,
}

impl DelaySampler {
    /// Creates a sampler that starts at the beginning of the distribution.
    pub fn new(law: Delay) -> Self {
        Self { law, drawn: 0 }
    }

    /// The distribution that delays are drawn from.
    pub fn law(&self) -> &Delay {
        &self.law
    }

    /// Draws the next delay.
    #[inline(always)]
    pub fn draw(&mut self, random: &mut Random) -> Span {
        match &self.law {
            Delay::Constant(delay) => *delay,
            Delay::Uniform(low, high) => Span(random.between(low.0, high.0)),
            Delay::Exponential(mean) => Span(random.exponential(mean.0)),
            Delay::List(delays) => {
                let place = self.drawn.min(delays.len() - 1);
                self.drawn += 1;
                delays[place]
            }
        }
    }
}

impl FromStr for Delay {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let expected =
            "a delay such as constant:1ms, uniform:1ms..3ms, exponential:1ms or list:1ms,5ms";
        let error = || NotationError::new(expected, text);
        let (law, rest) = text.split_once(':').ok_or_else(error)?;
        match law {
            "constant" => Ok(Self::Constant(parse_span(rest)?)),
            "uniform" => {
                let (low, high) = rest.split_once("..").ok_or_else(error)?;
                let (low, high) = (parse_span(low)?, parse_span(high)?);
                if low > high {
                    return Err(NotationError::new("uniform:LOW..HIGH with LOW up to HIGH", text));
                }
                Ok(Self::Uniform(low, high))
            }
            "exponential" => Ok(Self::Exponential(parse_span(rest)?)),
            "list" => rest.split(',').map(parse_span).collect::<Result<_, _>>().map(Self::List),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(delay) => write!(f, "constant:{delay}"),
            Self::Uniform(low, high) => write!(f, "uniform:{low}..{high}"),
            Self::Exponential(mean) => write!(f, "exponential:{mean}"),
            Self::List(delays) => {
                let texts: Vec<String> = delays.iter().map(Span::to_string).collect();
                write!(f, "list:{}", texts.join(","))
            }
        }
    }
}

impl FromStr for LinkDelay {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("a link and its delay, such as 0-1=constant:5ms", text);
        let (link, delay) = text.split_once('=').ok_or_else(error)?;
        Ok(Self { link: link.parse()?, delay: delay.parse()? })
    }
}

impl fmt::Display for LinkDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.link, self.delay)
    }
}

serde_as_text!(Delay, LinkDelay);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn laws_print_as_they_read() {
        for text in ["constant:1ms", "uniform:1ms..3ms", "exponential:2us", "list:1ms,5ms,2ms"] {
            assert_eq!(text.parse::<Delay>().unwrap().to_string(), text);
        }
        assert_eq!(
            "0-1=constant:5ms".parse::<LinkDelay>().unwrap().to_string(),
            "0-1=constant:5ms"
        );
        for bad in
            ["1ms", "uniform:3ms..1ms", "uniform:1ms", "normal:1ms", "constant:-1ms", "list:"]
        {
            assert!(bad.parse::<Delay>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_list_goes_on_with_its_last_delay() {
        let mut delays = DelaySampler::new("list:3,1".parse().unwrap());
        let mut random = Random::new(0, Stream::Delays);
        let drawn: Vec<u64> = (0..4).map(|_| delays.draw(&mut random).0).collect();
        assert_eq!(drawn, [3, 1, 1, 1]);
    }
}
