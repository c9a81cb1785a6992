//! Comparison of a measured figure with the prediction of the literature.

use quorate_algorithms::literature::{PredictedValue, Prediction};

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
    /// Compares the prediction with a measured mean and half the width of its 95 % interval over the seeds.
    pub(super) fn of(prediction: &Prediction, measured: f64, half_width: Option<f64>) -> Self {
        let slack = slack(measured);
        let (least, most) = prediction.value.ends();
        let within = |slack: f64| (least - slack..=most + slack).contains(&measured);
        match prediction.value {
            PredictedValue::Between(..) if within(slack) => Self::Within,
            PredictedValue::Exact(_) | PredictedValue::Expected(..) if within(slack) => Self::Equal,
            PredictedValue::Expected(..) if within(half_width.unwrap_or(0.0)) => Self::Agrees,
            _ => Self::Differs,
        }
    }

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

/// Whether the measured figure is the value of the rule for the requests that were drawn.
pub(super) fn matches_drawn_requests(prediction: &Prediction, measured: f64) -> bool {
    matches!(prediction.value, PredictedValue::Expected(_, Some(drawn)) if (drawn - measured).abs() <= slack(measured))
}

/// Rounding tolerance. Means are sums of integers divided once, so equal values differ at most by rounding.
fn slack(measured: f64) -> f64 {
    1e-9 * measured.abs().max(1.0)
}
