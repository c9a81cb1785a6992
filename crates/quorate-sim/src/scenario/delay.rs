//! Delay distributions of messages and of crash detection.

use std::fmt;
use std::str::FromStr;

use quorate_core::{Span, Time};

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
    /// Pareto with this scale, which is the least delay, and this shape: `pareto:1ms,1.5`. The tail is heavy: the smaller
    /// the shape, the longer are rare delays. There is no mean if the shape is at most 1.
    Pareto(Span, Parameter),
    /// Log-normal with this median and this standard deviation of the logarithm: `log-normal:1ms,0.5`. Unbounded.
    LogNormal(Span, Parameter),
    /// One of these delays, each with the same probability: `choice:1ms,2ms,50ms`.
    Choice(Vec<Span>),
    /// Fixed delays in the order of sending. The last one repeats forever: `list:1ms,5ms,2ms`.
    List(Vec<Span>),
}

/// A positive parameter of a distribution, in thousandths, so that equal laws print equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter(u32);

impl Parameter {
    /// Greatest parameter, in thousandths.
    const THOUSANDTHS_MOST: u32 = 1_000_000;

    /// Creates a parameter of this many thousandths: 1 to 1,000,000.
    pub fn from_thousandths(thousandths: u32) -> Option<Self> {
        (1..=Self::THOUSANDTHS_MOST).contains(&thousandths).then_some(Self(thousandths))
    }

    /// The value of the parameter.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }
}

impl FromStr for Parameter {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let expected = "a number from 0.001 to 1000 with at most three decimals";
        let error = || NotationError::new(expected, text);
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 3 {
            return Err(error());
        }
        let thousandths = format!("{whole}{fraction:0<3}").parse().ok();
        thousandths.and_then(Self::from_thousandths).ok_or_else(error)
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0 / 1_000, self.0 % 1_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
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
            Self::Exponential(_) | Self::Pareto(..) | Self::LogNormal(..) => None,
            Self::Choice(delays) | Self::List(delays) => delays.iter().max().copied(),
        }
    }

    /// The shortest possible delay.
    pub fn least(&self) -> Span {
        match self {
            Self::Constant(delay) => *delay,
            Self::Uniform(low, _) => *low,
            Self::Exponential(_) | Self::LogNormal(..) => Span::ZERO,
            Self::Pareto(scale, _) => *scale,
            Self::Choice(delays) | Self::List(delays) => {
                delays.iter().min().copied().unwrap_or(Span::ZERO)
            }
        }
    }

    /// The mean delay, or the median if there is no mean. Delays of algorithms are reported in this unit.
    pub fn mean(&self) -> Span {
        match self {
            Self::Constant(delay) | Self::Exponential(delay) => *delay,
            Self::Uniform(low, high) => Span(low.0.midpoint(high.0)),
            Self::Pareto(scale, shape) => {
                let shape = shape.value();
                let factor =
                    if shape > 1.0 { shape / (shape - 1.0) } else { libm::pow(2.0, 1.0 / shape) };
                Span(libm::round(scale.0 as f64 * factor) as u64)
            }
            Self::LogNormal(median, sigma) => {
                let sigma = sigma.value();
                Span(libm::round(median.0 as f64 * libm::exp(sigma * sigma / 2.0)) as u64)
            }
            Self::Choice(delays) | Self::List(delays) => {
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
            Delay::Pareto(scale, shape) => Span(random.pareto(scale.0, shape.value())),
            Delay::LogNormal(median, sigma) => Span(random.log_normal(median.0, sigma.value())),
            Delay::Choice(delays) => delays[random.below(delays.len() as u64) as usize],
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
        let expected = "a delay such as constant:1ms, uniform:1ms..3ms, exponential:1ms, \
                        pareto:1ms,1.5, log-normal:1ms,0.5, choice:1ms,5ms or list:1ms,5ms";
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
            "pareto" => {
                let (scale, shape) = with_parameter(rest, "pareto:SCALE,SHAPE", text)?;
                Ok(Self::Pareto(scale, shape))
            }
            "log-normal" => {
                let (median, sigma) = with_parameter(rest, "log-normal:MEDIAN,SIGMA", text)?;
                Ok(Self::LogNormal(median, sigma))
            }
            "choice" => rest.split(',').map(parse_span).collect::<Result<_, _>>().map(Self::Choice),
            // A scenario contains everything that a run depends on, so it names no other file.
            "file" => Err(NotationError::new(
                "a law without a file; write the delays as choice:D,D,.., or use --delay file:PATH",
                text,
            )),
            "list" => rest.split(',').map(parse_span).collect::<Result<_, _>>().map(Self::List),
            _ => Err(error()),
        }
    }
}

/// Reads a time and a parameter, separated by a comma.
fn with_parameter(rest: &str, form: &str, text: &str) -> Result<(Span, Parameter), NotationError> {
    let (span, parameter) = rest.split_once(',').ok_or_else(|| NotationError::new(form, text))?;
    Ok((parse_span(span)?, parameter.parse()?))
}

/// Maximum number of delays in a file of delays.
const DELAYS_MOST: usize = 10_000;

/// Maximum size of a file of delays in bytes.
pub const DELAY_FILE_BYTES_MOST: u64 = 1 << 20;

impl Delay {
    /// Reads one delay per line. Empty lines and lines that begin with `#` are skipped. The result draws each of them with
    /// the same probability.
    pub fn choice_of_lines(text: &str) -> Result<Self, NotationError> {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let delays: Vec<Span> =
            lines.take(DELAYS_MOST + 1).map(parse_span).collect::<Result<_, _>>()?;
        match delays.len() {
            0 => Err(NotationError::new("at least one time, each on a line of its own", "")),
            many if many > DELAYS_MOST => {
                let expected = format!("at most {DELAYS_MOST} times");
                Err(NotationError::new(expected, "more"))
            }
            _ => Ok(Self::Choice(delays)),
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(delay) => write!(f, "constant:{delay}"),
            Self::Uniform(low, high) => write!(f, "uniform:{low}..{high}"),
            Self::Exponential(mean) => write!(f, "exponential:{mean}"),
            Self::Pareto(scale, shape) => write!(f, "pareto:{scale},{shape}"),
            Self::LogNormal(median, sigma) => write!(f, "log-normal:{median},{sigma}"),
            Self::Choice(delays) | Self::List(delays) => {
                let law = if matches!(self, Self::Choice(_)) { "choice" } else { "list" };
                let texts: Vec<String> = delays.iter().map(Span::to_string).collect();
                write!(f, "{law}:{}", texts.join(","))
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

/// The arrival of one message at a chosen time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Number of the message in the trace: its position among all messages that are sent, starting with 1.
    pub message: u64,
    /// The time of its arrival, or of its sending if that is later.
    pub at: Time,
}

impl FromStr for Arrival {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("a message number and a time, such as 17@3ms", text);
        let (message, at) = text.split_once('@').ok_or_else(error)?;
        let message = message.parse().ok().filter(|message| *message > 0).ok_or_else(error)?;
        Ok(Self { message, at: Time(parse_span(at)?.0) })
    }
}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.message, self.at)
    }
}

serde_as_text!(Delay, LinkDelay, Arrival);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn arrivals_print_as_they_read() {
        for text in ["1@0", "17@3ms", "17@3.000001ms"] {
            assert_eq!(text.parse::<Arrival>().map(|arrival| arrival.to_string()).unwrap(), text);
        }
        for text in ["", "17", "0@1ms", "a@1ms", "17@", "17@-1ms", "17@1ms..2ms"] {
            assert!(text.parse::<Arrival>().is_err(), "{text}");
        }
    }

    #[test]
    fn laws_print_as_they_read() {
        for text in [
            "constant:1ms",
            "uniform:1ms..3ms",
            "exponential:2us",
            "pareto:1ms,1.5",
            "pareto:1ms,2",
            "log-normal:1ms,0.05",
            "choice:1ms,2ms,50ms",
            "list:1ms,5ms,2ms",
        ] {
            assert_eq!(text.parse::<Delay>().unwrap().to_string(), text);
        }
        assert_eq!(
            "0-1=constant:5ms".parse::<LinkDelay>().unwrap().to_string(),
            "0-1=constant:5ms"
        );
        for bad in [
            "1ms",
            "uniform:3ms..1ms",
            "uniform:1ms",
            "normal:1ms",
            "constant:-1ms",
            "list:",
            "choice:",
            "pareto:1ms",
            "pareto:1ms,0",
            "pareto:1ms,-1",
            "pareto:1ms,1e3",
            "pareto:1ms,1.2345",
            "pareto:1ms,1000.001",
            "pareto:1ms,.5",
            "log-normal:1ms,",
            "log-normal:0.5,1ms",
            "file:delays.txt",
        ] {
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

    /// The value below which this share of 100,000 drawn delays lies.
    fn quantile(law: &str, share: f64) -> f64 {
        let mut delays = DelaySampler::new(law.parse().unwrap());
        let mut random = Random::new(11, Stream::Delays);
        let mut drawn: Vec<u64> = (0..100_000).map(|_| delays.draw(&mut random).0).collect();
        drawn.sort_unstable();
        drawn[(share * 100_000.0) as usize] as f64
    }

    #[test]
    fn heavy_tails_have_the_quantiles_of_their_formulas() {
        let close = |law: &str, share: f64, expected: f64| {
            let found = quantile(law, share);
            assert!((found / expected - 1.0).abs() < 0.05, "{law}, {share}: {found}, {expected}");
        };
        for (law, shape) in
            [("pareto:1ms,1.5", 1.5), ("pareto:1ms,0.8", 0.8), ("pareto:1ms,3", 3.0)]
        {
            assert!(quantile(law, 0.0) >= 1e6, "{law}: the scale is the least delay");
            for share in [0.1, 0.5, 0.9, 0.99] {
                close(law, share, 1e6 * libm::pow(1.0 - share, -1.0 / shape));
            }
        }
        for (law, sigma) in [("log-normal:1ms,0.5", 0.5), ("log-normal:1ms,1.5", 1.5)] {
            // Quantiles of the standard normal distribution.
            for (share, normal) in [(0.1, -1.28155), (0.5, 0.0), (0.9, 1.28155), (0.99, 2.32635)] {
                close(law, share, 1e6 * libm::exp(sigma * normal));
            }
        }
        for share in [0.1, 0.4, 0.6, 0.9] {
            let expected = if share < 0.5 { 1.0 } else { 7.0 };
            assert_eq!(quantile("choice:1,7", share), expected);
        }
    }

    #[test]
    fn means_and_bounds_follow_from_the_law() {
        let law = |text: &str| text.parse::<Delay>().unwrap();
        let mean = |text| law(text).mean().0;
        assert_eq!(mean("pareto:1ms,3"), 1_500_000);
        assert_eq!(mean("pareto:1ms,1.1"), 11_000_000);
        assert_eq!(mean("pareto:1ms,1"), 2_000_000, "the median, since there is no mean");
        assert_eq!(mean("log-normal:1ms,1") / 1_000, 1_648);
        assert_eq!(mean("choice:1ms,2ms,6ms"), 3_000_000);
        let bounds = |text| (law(text).least().0, law(text).bound().map(|bound| bound.0));
        assert_eq!(bounds("pareto:1ms,2"), (1_000_000, None));
        assert_eq!(bounds("log-normal:1ms,2"), (0, None));
        assert_eq!(bounds("choice:5,1,9"), (1, Some(9)));
    }

    #[test]
    fn lines_of_a_file_become_a_choice() {
        let read = |text: &str| Delay::choice_of_lines(text).map(|law| law.to_string());
        assert_eq!(read("# measured\n1ms\n\n 2.5ms\n50ms"), Ok("choice:1ms,2.5ms,50ms".to_owned()));
        assert!(read("1ms\nsoon\n").unwrap_err().to_string().contains("found `soon`"));
        assert!(read("# nothing\n").unwrap_err().to_string().contains("at least one time"));
        assert!(read(&"1\n".repeat(DELAYS_MOST)).is_ok());
        let many = read(&"1\n".repeat(DELAYS_MOST + 1)).unwrap_err().to_string();
        assert!(many.contains("at most 10000 times"), "{many}");
    }
}
