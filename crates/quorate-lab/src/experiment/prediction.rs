//! A figure that the literature promises, and how a measured one compares with it.

use std::ops::RangeInclusive;

/// A formula, and what it gives for n processes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prediction {
    pub(super) formula: String,
    pub(super) value: PredictedValue,
}

/// What a formula gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PredictedValue {
    /// This for every entry, or for the entries that were made.
    Exact(f64),
    /// Something from the first to the second.
    Between(f64, f64),
    /// This on average, if requests come by chance; for those that came, by the same rule, the second.
    Expected(f64, Option<f64>),
}

impl PredictedValue {
    /// The least and the most.
    pub(super) fn ends(self) -> (f64, f64) {
        match self {
            Self::Exact(value) | Self::Expected(value, _) => (value, value),
            Self::Between(least, most) => (least, most),
        }
    }
}

/// How a measured figure compares with a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// It is the promised number.
    Equal,
    /// It is in the promised range.
    Within,
    /// The promised mean is in the 95 % interval round the measured one.
    Agrees,
    /// None of these.
    Differs,
}

impl Comparison {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Within => "within",
            Self::Agrees => "agrees",
            Self::Differs => "differs",
        }
    }

    /// In a column between the measured figure and the promised one.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Within => "in",
            Self::Agrees => "≈",
            Self::Differs => "≠",
        }
    }
}

impl Prediction {
    /// Always this.
    pub(super) fn exact(formula: &str, value: f64) -> Self {
        Self { formula: formula.to_owned(), value: PredictedValue::Exact(value) }
    }

    /// This on average.
    pub(super) fn expected(formula: &str, value: f64) -> Self {
        Self { formula: formula.to_owned(), value: PredictedValue::Expected(value, None) }
    }

    /// From the least to the most.
    pub(super) fn between(formula: &str, least: f64, most: f64) -> Self {
        let value = if least == most {
            PredictedValue::Exact(least)
        } else {
            PredictedValue::Between(least, most)
        };
        Self { formula: formula.to_owned(), value }
    }

    /// What this range says, which is its own formula.
    pub(super) fn of_range(range: &RangeInclusive<u64>) -> Self {
        let (least, most) = (*range.start(), *range.end());
        let formula = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Self::between(&formula, least as f64, most as f64)
    }

    /// Compares it with a measured mean and half of its 95 % interval over the seeds.
    pub(super) fn compare(&self, measured: f64, half_width: Option<f64>) -> Comparison {
        let slack = slack(measured);
        let (least, most) = self.value.ends();
        let within = |slack: f64| (least - slack..=most + slack).contains(&measured);
        match self.value {
            PredictedValue::Between(..) if within(slack) => Comparison::Within,
            PredictedValue::Exact(_) | PredictedValue::Expected(..) if within(slack) => {
                Comparison::Equal
            }
            PredictedValue::Expected(..) if within(half_width.unwrap_or(0.0)) => Comparison::Agrees,
            _ => Comparison::Differs,
        }
    }

    /// Whether the measured figure is what the rule gives for the requests that came.
    pub(super) fn matches_drawn_requests(&self, measured: f64) -> bool {
        matches!(self.value, PredictedValue::Expected(_, Some(drawn)) if (drawn - measured).abs() <= slack(measured))
    }
}

/// Means are sums of integers divided once: what is equal differs by rounding at most.
fn slack(measured: f64) -> f64 {
    1e-9 * measured.abs().max(1.0)
}
