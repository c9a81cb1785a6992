//! A figure predicted by the literature, and its comparison with a measured one.

use std::ops::RangeInclusive;

/// A formula, and its value for n processes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prediction {
    pub(super) formula: String,
    pub(super) value: PredictedValue,
}

/// Value of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PredictedValue {
    /// This value for every entry, or for the entries that were made.
    Exact(f64),
    /// A value in this range.
    Between(f64, f64),
    /// Mean for random requests, and the value of the same rule for the requests that were drawn.
    Expected(f64, Option<f64>),
}

impl PredictedValue {
    /// Least and greatest value.
    pub(super) fn ends(self) -> (f64, f64) {
        match self {
            Self::Exact(value) | Self::Expected(value, _) => (value, value),
            Self::Between(least, most) => (least, most),
        }
    }
}

/// Result of comparing a measured figure with a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// The measured figure is the predicted number.
    Equal,
    /// The measured figure is in the predicted range.
    Within,
    /// The predicted mean is in the 95 % interval around the measured one.
    Agrees,
    /// None of these applies.
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

    /// Sign in the column between the measured and the predicted figure.
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
    /// Prediction of an exact value.
    pub(super) fn exact(formula: &str, value: f64) -> Self {
        Self { formula: formula.to_owned(), value: PredictedValue::Exact(value) }
    }

    /// Prediction of a mean.
    pub(super) fn expected(formula: &str, value: f64) -> Self {
        Self { formula: formula.to_owned(), value: PredictedValue::Expected(value, None) }
    }

    /// Prediction of a range.
    pub(super) fn between(formula: &str, least: f64, most: f64) -> Self {
        let value = if least == most {
            PredictedValue::Exact(least)
        } else {
            PredictedValue::Between(least, most)
        };
        Self { formula: formula.to_owned(), value }
    }

    /// Prediction of a range, with the range itself as its formula.
    pub(super) fn of_range(range: &RangeInclusive<u64>) -> Self {
        let (least, most) = (*range.start(), *range.end());
        let formula = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Self::between(&formula, least as f64, most as f64)
    }

    /// Compares the prediction with a measured mean and half the width of its 95 % interval over the seeds.
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

    /// Whether the measured figure is the value of the rule for the requests that were drawn.
    pub(super) fn matches_drawn_requests(&self, measured: f64) -> bool {
        matches!(self.value, PredictedValue::Expected(_, Some(drawn)) if (drawn - measured).abs() <= slack(measured))
    }
}

/// Rounding tolerance. Means are sums of integers divided once, so equal values differ at most by rounding.
fn slack(measured: f64) -> f64 {
    1e-9 * measured.abs().max(1.0)
}
