//! The short notations that flags and scenario files share: `5ms`, `2@1ms`, `0-1@2ms..4ms`.
//!
//! Each type parses and prints itself. A file contains the same strings as the command line. `?` in place of a process
//! leaves the choice to the seed, and so does `1ms~5ms` in place of a time.

use std::fmt;
use std::str::FromStr;

use quorate_core::{Drift, Offset, ProcessId, ProcessSet, Span, SpanningTree, Time};

/// Maximum number of processes. The limit prevents hostile files from exhausting memory.
pub const PROCESSES_MOST: usize = 1 << 24;

/// A parse error: what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found `{found}`")]
pub struct NotationError {
    expected: String,
    found: String,
}

impl NotationError {
    /// Creates an error from the expected form and the text that was found.
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        // The text may be hostile: it is shortened, and line breaks are escaped.
        let found: String = found.into();
        let mut shown: String = found.chars().take(60).flat_map(char::escape_debug).collect();
        if found.chars().count() > 60 {
            shown.push('…');
        }
        Self { expected: expected.into(), found: shown }
    }
}

/// Implements serde for a type with `FromStr` and `Display`, which makes it a string in files.
macro_rules! serde_as_text {
    ($($type:ty),* $(,)?) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::scenario::notation::TextOrNumber).and_then(|text| {
                    text.parse().map_err(serde::de::Error::custom)
                })
            }
        }
    )*};
}
pub(crate) use serde_as_text;

/// Accepts `section = 1000` as well as `section = "1us"`.
pub(crate) struct TextOrNumber;

impl serde::de::Visitor<'_> for TextOrNumber {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a number")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

/// Parses a span: a whole number of nanoseconds, or a decimal number with ns, us, ms or s.
pub fn parse_span(text: &str) -> Result<Span, NotationError> {
    let expected = "a time such as 5ms, 1.5us, 2s or 300 (nanoseconds)";
    let error = || NotationError::new(expected, text);
    if text.starts_with('-') {
        return Err(NotationError::new("a time of zero or later", text));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let decimals_most = match unit {
        "" | "ns" => 0,
        "us" | "µs" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return Err(error()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() || fraction.len() > decimals_most || fraction.contains('.') {
        return Err(error());
    }
    let padded = format!("{whole}{fraction:0<decimals_most$}");
    padded.parse().map(Span).map_err(|_| error())
}

/// A [`Span`] as text in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpanText(pub Span);

impl FromStr for SpanText {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        parse_span(text).map(Self)
    }
}

impl fmt::Display for SpanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A process, or a process that the seed selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessSelector {
    /// A process given by its number.
    Process(ProcessId),
    /// Any process, written as `?`.
    Any,
}

impl FromStr for ProcessSelector {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        if text == "?" {
            return Ok(Self::Any);
        }
        let number = text.strip_prefix('p').unwrap_or(text);
        number.parse().map(|number| Self::Process(ProcessId::new(number))).map_err(|_| {
            NotationError::new("a process such as 2, or ? to let the seed choose", text)
        })
    }
}

impl fmt::Display for ProcessSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(process) => write!(f, "{}", process.number()),
            Self::Any => f.write_str("?"),
        }
    }
}

/// A point in time, or a range from which the seed selects a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A fixed point in time.
    At(Time),
    /// A time between the two, both included: `1ms~5ms`.
    Between(Time, Time),
}

impl When {
    /// The earliest possible time.
    pub fn earliest(self) -> Time {
        match self {
            Self::At(time) | Self::Between(time, _) => time,
        }
    }

    /// The latest possible time.
    pub fn latest(self) -> Time {
        match self {
            Self::At(time) | Self::Between(_, time) => time,
        }
    }
}

impl FromStr for When {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let time = |text| parse_span(text).map(|span| Time(span.0));
        match text.split_once('~') {
            None => time(text).map(Self::At),
            Some((low, high)) => {
                let (low, high) = (time(low)?, time(high)?);
                if low > high {
                    return Err(NotationError::new("times in order, such as 1ms~5ms", text));
                }
                Ok(Self::Between(low, high))
            }
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(time) => time.fmt(f),
            Self::Between(low, high) => write!(f, "{low}~{high}"),
        }
    }
}

/// A time window, forever or until an end: `2ms`, `2ms..9ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start of the window.
    pub from: When,
    /// End of the window; none means forever.
    pub until: Option<When>,
}

impl FromStr for Window {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let (from, until) = match text.split_once("..") {
            None => (text, None),
            Some((from, "")) => (from, None),
            Some((from, until)) => (from, Some(until)),
        };
        let window = Self { from: from.parse()?, until: until.map(str::parse).transpose()? };
        match (window.from, window.until) {
            (When::At(from), Some(When::At(until))) if from >= until => Err(NotationError::new(
                "a window that ends after it begins, such as 2ms..9ms",
                text,
            )),
            _ => Ok(window),
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.until {
            None => self.from.fmt(f),
            Some(until) => write!(f, "{}..{until}", self.from),
        }
    }
}

/// A directed link: `0-1` is the link from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The sender of the link.
    pub from: ProcessSelector,
    /// The receiver of the link.
    pub to: ProcessSelector,
}

impl FromStr for Link {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("a link such as 0-1 (from 0 to 1)", text);
        let (from, to) = text.split_once('-').ok_or_else(error)?;
        let link = Self { from: from.parse()?, to: to.parse()? };
        if link.from == link.to && link.from != ProcessSelector::Any {
            return Err(NotationError::new("a link between two processes", text));
        }
        Ok(link)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.to)
    }
}

/// A probability from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate(pub f64);

impl FromStr for Rate {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("a probability from 0 to 1, such as 0.05", text);
        let rate: f64 = text.parse().map_err(|_| error())?;
        if (0.0..=1.0).contains(&rate) { Ok(Self(rate)) } else { Err(error()) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A factor by which something is faster than nominal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor(pub f64);

impl FromStr for Factor {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("a factor from 0.001 to 1000, such as 1.5", text);
        let factor: f64 = text.parse().map_err(|_| error())?;
        if (0.001..=1000.0).contains(&factor) { Ok(Self(factor)) } else { Err(error()) }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Maximum offset of a clock, about four and a half years. The time of a run has to fit as well.
pub(crate) const OFFSET_MOST: Span = Span(1 << 57);

/// An [`Offset`] as text: `+250ms`, `-1s`, `0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OffsetText(pub Offset);

impl FromStr for OffsetText {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("an offset such as +250ms, -1s or 0", text);
        let (sign, size) = split_sign(text);
        let size = parse_span(size).map_err(|_| error())?;
        if size > OFFSET_MOST {
            return Err(NotationError::new("an offset of four years at most", text));
        }
        Ok(Self(Offset(sign * size.0 as i64)))
    }
}

impl fmt::Display for OffsetText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A [`Drift`] as text: `+50ppm`, `-200ppb`, `0ppm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriftText(pub Drift);

impl FromStr for DriftText {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || {
            NotationError::new("a drift up to 100000ppm, such as 50ppm, -0.5ppm or +200ppb", text)
        };
        let (sign, size) = split_sign(text);
        let (number, decimals) = match (size.strip_suffix("ppm"), size.strip_suffix("ppb")) {
            (Some(number), _) => (number, 3),
            (_, Some(number)) => (number, 0),
            _ => return Err(error()),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > decimals {
            return Err(error());
        }
        let padded = format!("{whole}{fraction:0<decimals$}");
        let size: i64 = padded.parse().map_err(|_| error())?;
        if size > Drift::ONE / 10 { Err(error()) } else { Ok(Self(Drift(sign * size))) }
    }
}

impl fmt::Display for DriftText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn split_sign(text: &str) -> (i64, &str) {
    match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(size), _) => (1, size),
        (_, Some(size)) => (-1, size),
        _ => (1, text),
    }
}

/// A set of processes as text: `0,1,4`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetText(pub ProcessSet);

impl FromStr for SetText {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("processes such as 0,1,4", text);
        let mut set = ProcessSet::new();
        for member in text.split(',') {
            let number: u32 = member.parse().map_err(|_| error())?;
            // The size of a set grows with its greatest member. The limit prevents a hostile file from exhausting memory.
            if number as usize >= PROCESSES_MOST || !set.insert(ProcessId::new(number)) {
                return Err(error());
            }
        }
        Ok(Self(set))
    }
}

impl fmt::Display for SetText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<String> =
            self.0.iter().map(|member| member.number().to_string()).collect();
        f.write_str(&members.join(","))
    }
}

/// An explicit quorum: `3=0,1,2,3`, or `3/1=0,2,3,5` once 1 has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumOf {
    /// The process that uses the quorum.
    pub process: ProcessId,
    /// The view in which it is used: the set of failed processes.
    pub failed: ProcessSet,
    /// The members of the quorum.
    pub members: ProcessSet,
}

impl FromStr for QuorumOf {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let parse = || {
            let (owner, members) = text.split_once('=')?;
            let (process, failed) = match owner.split_once('/') {
                Some((process, failed)) => (process, failed.parse::<SetText>().ok()?.0),
                None => (owner, ProcessSet::new()),
            };
            let process = ProcessId::new(process.parse().ok()?);
            Some(Self { process, failed, members: members.parse::<SetText>().ok()?.0 })
        };
        parse().ok_or_else(|| NotationError::new("a quorum such as 3=0,1 or 3/1=0,2", text))
    }
}

impl fmt::Display for QuorumOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.process.number())?;
        if !self.failed.is_empty() {
            write!(f, "/{}", SetText(self.failed.clone()))?;
        }
        write!(f, "={}", SetText(self.members.clone()))
    }
}

/// Durations of the stays of one process in the critical section: `0=3ms,1ms`. The last one repeats forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionOf {
    /// The process that the durations are for.
    pub process: ProcessId,
    /// Durations of the successive stays, never empty.
    pub durations: Vec<Span>,
}

impl FromStr for SectionOf {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error =
            || NotationError::new("a process and its times inside, such as 0=3ms,1ms", text);
        let (process, durations) = text.split_once('=').ok_or_else(error)?;
        let process = ProcessId::new(process.parse().map_err(|_| error())?);
        let durations = durations.split(',').map(parse_span).collect::<Result<_, _>>()?;
        Ok(Self { process, durations })
    }
}

impl fmt::Display for SectionOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let durations: Vec<String> = self.durations.iter().map(Span::to_string).collect();
        write!(f, "{}={}", self.process.number(), durations.join(","))
    }
}

/// A new identifier of a process from a time on: `2:40@5ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identify {
    /// The process that gets the identifier.
    pub process: ProcessSelector,
    /// The identifier from then on.
    pub value: u64,
    /// The time of the change.
    pub at: When,
}

impl FromStr for Identify {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error =
            || NotationError::new("a process, an identifier and a time, such as 2:40@5ms", text);
        let (process, rest) = text.split_once(':').ok_or_else(error)?;
        let (value, at) = rest.split_once('@').ok_or_else(error)?;
        let value = value.parse().map_err(|_| NotationError::new("an identifier", value))?;
        Ok(Self { process: process.parse()?, value, at: at.parse()? })
    }
}

impl fmt::Display for Identify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}@{}", self.process, self.value, self.at)
    }
}

/// A spanning tree as text: `chain`, `star`, `binary` or edges such as `0-1,1-2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeText(pub SpanningTree);

impl FromStr for TreeText {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error =
            || NotationError::new("a tree: chain, star, binary or edges such as 0-1,1-2", text);
        let edge = |edge: &str| {
            let (a, b) = edge.split_once('-')?;
            Some((ProcessId::new(a.parse().ok()?), ProcessId::new(b.parse().ok()?)))
        };
        match text {
            "chain" => Ok(Self(SpanningTree::Chain)),
            "star" => Ok(Self(SpanningTree::Star)),
            "binary" => Ok(Self(SpanningTree::Binary)),
            _ => {
                let edges: Option<Vec<_>> = text.split(',').map(edge).collect();
                edges.map(|edges| Self(SpanningTree::Edges(edges))).ok_or_else(error)
            }
        }
    }
}

impl fmt::Display for TreeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SpanningTree::Chain => f.write_str("chain"),
            SpanningTree::Star => f.write_str("star"),
            SpanningTree::Binary => f.write_str("binary"),
            SpanningTree::Edges(edges) => {
                let edge =
                    |(a, b): &(ProcessId, ProcessId)| format!("{}-{}", a.number(), b.number());
                f.write_str(&edges.iter().map(edge).collect::<Vec<_>>().join(","))
            }
        }
    }
}

serde_as_text!(
    SetText,
    QuorumOf,
    SectionOf,
    TreeText,
    SpanText,
    OffsetText,
    DriftText,
    ProcessSelector,
    When,
    Window,
    Link,
    Rate,
    Factor,
    Identify
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_exactly() {
        let span = |text| parse_span(text).map(|span| span.0).map_err(|error| error.to_string());
        assert_eq!(span("300"), Ok(300));
        assert_eq!(span("1.5us"), Ok(1500));
        assert_eq!(span("5ms"), Ok(5_000_000));
        assert_eq!(span("0.000000001s"), Ok(1));
        assert_eq!(span("-1ms"), Err("expected a time of zero or later, found `-1ms`".into()));
        for bad in [
            "",
            "ms",
            "1.5",
            "1.2345us",
            "1..2s",
            ".5s",
            "1e3",
            "5 ms",
            "99999999999999999999s",
            "5m",
        ] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_found_is_shown_short_and_on_one_line() {
        let error = "x\u{1b}[31m\n".repeat(50).parse::<ProcessSelector>().unwrap_err().to_string();
        assert!(error.chars().count() < 600 && error.chars().all(|c| !c.is_control()), "{error}");
    }

    #[test]
    fn windows_end_after_they_begin() {
        assert!("5ms..2ms".parse::<Window>().is_err());
        assert_eq!("2ms..".parse::<Window>().unwrap().to_string(), "2ms");
    }

    proptest! {
        #[test]
        fn spans_print_as_they_read(nanos: u64) {
            prop_assert_eq!(parse_span(&Span(nanos).to_string()), Ok(Span(nanos)));
        }

        #[test]
        fn hostile_text_never_panics(text in "\\PC{0,40}") {
            let _ = (text.parse::<Window>(), text.parse::<Link>(), text.parse::<Rate>(), text.parse::<Factor>());
        }
    }
}
