//! Axes of a chart: their range, scale and tick labels.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// Mapping of values to positions along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences have equal distances.
    Linear,
    /// Equal ratios have equal distances, for values that span decades. Zero and negative values cannot be shown.
    Log,
}

/// Label and scale of one axis of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Measured quantity and its unit.
    pub label: String,
    /// Whether the axis is linear or logarithmic.
    pub scale: Scale,
}

impl Axis {
    /// Returns a linear axis with this label.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// Returns a logarithmic axis with this label.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }

    /// Whether the axis can show `value`.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// Returns a layout whose range covers all `values`.
    pub(super) fn layout(&self, values: impl Iterator<Item = f64>) -> AxisLayout {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
        let ticks = match self.scale {
            Scale::Log => log_ticks(low, high),
            Scale::Linear => linear_ticks(low, high),
        };
        AxisLayout { scale: self.scale, ticks }
    }
}

/// Tick positions of an axis. The first and the last tick are the ends of the axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisLayout {
    scale: Scale,
    ticks: Vec<f64>,
}

impl AxisLayout {
    /// Replaces the ticks if at least two are given. They must be in ascending order.
    pub(super) fn with_ticks(self, ticks: Vec<f64>) -> Self {
        if ticks.len() > 1 { Self { ticks, ..self } } else { self }
    }

    /// Position of `value` along the axis, from 0 to 1.
    fn fraction(&self, value: f64) -> f64 {
        let coordinate = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.ln(),
        };
        let Range { start, end } = self.range();
        (coordinate(value) - coordinate(start)) / (coordinate(end) - coordinate(start))
    }
}

impl Ranged for AxisLayout {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        start + (self.fraction(*value) * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.ticks[0]..self.ticks[self.ticks.len() - 1]
    }
}

impl ValueFormatter<f64> for AxisLayout {
    fn format_ext(&self, value: &f64) -> String {
        format_tick(*value)
    }
}

/// Ticks 1, 2, 5, 10, .. that enclose the range, or only powers of ten if it spans more than four decades.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = high.log10().floor() as i32 - low.log10().floor() as i32;
    let steps: &[f64] = if decades > 4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let round = |exponent: i32| steps.iter().map(move |step| step * 10f64.powi(exponent));
    let first = low.log10().floor() as i32;
    let all: Vec<f64> = (first..first + decades + 2).flat_map(round).collect();
    let start = all.iter().rposition(|&tick| tick <= low * 1.000_001).unwrap_or(0);
    let end = all.iter().position(|&tick| tick >= high * 0.999_999).unwrap_or(all.len() - 1);
    let end = end.max(start + 1).min(all.len() - 1);
    all[start..=end].to_vec()
}

/// Round, evenly spaced ticks that enclose zero and the range, at most about nine steps.
fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let low = low.min(0.0);
    let high = if high > low { high } else { low + 1.0 };
    let magnitude = 10f64.powi(((high - low) / 5.0).log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
    let step = step.into_iter().find(|step| (high - low) / step <= 8.0).unwrap_or(10.0 * magnitude);
    let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    (first..=last).map(|multiple| multiple as f64 * step).collect()
}

/// Formats a tick label: `0.05`, `2`, `10,000`, and from ten million on `10 M` and `1 G`.
pub(super) fn format_tick(value: f64) -> String {
    for (unit, name) in [(1e9, "G"), (1e6, "M")] {
        if value >= 10e6 && value >= unit && value % unit == 0.0 {
            return format!("{:.0} {name}", value / unit);
        }
    }
    if value.abs() < 1_000.0 {
        return format!("{}", (value * 1e6).round() / 1e6);
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_round_and_enclose_the_values() {
        let ticks = |axis: Axis, values: &[f64]| axis.layout(values.iter().copied()).ticks;
        assert_eq!(ticks(Axis::log("x"), &[3.0, 40.0]), [2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(ticks(Axis::log("x"), &[1.0, 1.0]), [1.0, 2.0]);
        assert_eq!(ticks(Axis::log("x"), &[1.0, 1e6]).len(), 7);
        assert_eq!(ticks(Axis::linear("x"), &[0.0, 9.0]), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(Axis::linear("x"), &[]), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
    }

    #[test]
    fn figures_are_short() {
        let texts = [0.6000000000000001, 0.05, 2.0, 1_000.0, 1_234_567.0].map(format_tick);
        assert_eq!(texts, ["0.6", "0.05", "2", "1,000", "1,234,567"]);
        let texts = [1e6, 10e6, 1e9, 20e9, 1_500e6].map(format_tick);
        assert_eq!(texts, ["1,000,000", "10 M", "1 G", "20 G", "1500 M"]);
    }
}
