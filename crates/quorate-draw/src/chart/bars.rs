//! Bar charts that compare a few values over several decades.

use super::axis::format_tick;
use crate::svg::{Anchor, Svg};
use crate::text::shortened;
use crate::theme::Theme;

const WIDTH: f64 = 1_000.0;
const LABELS: f64 = 260.0;
const ROW: f64 = 24.0;
const TOP: f64 = 44.0;
/// Height above the bars of a panel, for its heading.
const HEADING: f64 = 48.0;
const BELOW: f64 = 16.0;
/// Width reserved to the right of the longest bar for its value.
const FIGURE: f64 = 90.0;

const RULES: &str = "
text{font-size:13px}
.title{font-size:20px}
.heading{font-size:15px;font-weight:600}
.faint{fill:$faint}
.axis{stroke:$grid}
.figure{stroke:$paper;stroke-width:3px;paint-order:stroke}
.bar{fill:$s7}
.own{fill:$s1}
";

/// Bar chart of several panels, one below the other. Each panel has its own logarithmic axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Heading of the chart.
    pub title: String,
    /// Text alternative for readers who cannot see the chart.
    pub description: String,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
}

/// Bars that share one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Measured quantity, its unit, and whether more is better.
    pub heading: String,
    /// Bars from top to bottom.
    pub bars: Vec<Bar>,
}

/// One labelled value of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Name of the compared item.
    pub label: String,
    /// Whether the bar is emphasised as the reference for the others.
    pub highlighted: bool,
    /// Length of the bar, greater than zero. With `None` only `value_label` is shown.
    pub value: Option<f64>,
    /// Text after the bar: the value, or the reason why it is missing.
    pub value_label: String,
}

impl Bars {
    /// Renders the chart as an SVG file that follows the reader's colour preference.
    pub fn svg(&self) -> String {
        self.svg_with_theme(Theme::Auto)
    }

    /// Renders the chart as an SVG file with this theme.
    pub fn svg_with_theme(&self, theme: Theme) -> String {
        let mut svg = Svg::default();
        svg.text("title", (16.0, 28.0), Anchor::Start, &self.title);
        let mut top = TOP;
        for panel in &self.panels {
            panel.draw(&mut svg, top);
            top += panel.height();
        }
        svg.finish((WIDTH, top), (&self.title, &self.description), theme, RULES)
    }
}

impl Panel {
    fn height(&self) -> f64 {
        HEADING + ROW * self.bars.len() as f64 + BELOW
    }

    /// The axis starts at a power of ten below the least value, so that even the shortest bar is visible.
    fn axis(&self) -> LogAxis {
        let values = || self.bars.iter().filter_map(|bar| bar.value).filter(|value| *value > 0.0);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        if most == 0.0 {
            return LogAxis { start: 0, decades: 1.0 };
        }
        let start = (least.log10() - 0.1).floor();
        LogAxis { start: start as i32, decades: most.log10() - start }
    }

    fn draw(&self, svg: &mut Svg, top: f64) {
        svg.text("heading", (16.0, top + 20.0), Anchor::Start, &self.heading);
        let (axis, end) = (self.axis(), top + HEADING + ROW * self.bars.len() as f64);
        for power in axis.powers() {
            let (x, tick) = (LABELS + axis.length(power), format_tick(power));
            svg.line("axis", (x, top + HEADING - 4.0), (x, end));
            svg.text("faint", (x, top + HEADING - 8.0), Anchor::Middle, &tick);
        }
        for (index, bar) in self.bars.iter().enumerate() {
            let y = top + HEADING + ROW * index as f64;
            let label = shortened(&bar.label, 38);
            svg.text("label", (LABELS - 10.0, y + 15.0), Anchor::End, &label);
            let long = bar.value.filter(|value| *value > 0.0).map_or(0.0, |v| axis.length(v));
            svg.rect(
                if bar.highlighted { "own" } else { "bar" },
                (LABELS, y + 2.0),
                (long, ROW - 6.0),
            );
            let class = if long > 0.0 { "figure" } else { "figure faint" };
            svg.text(class, (LABELS + long + 8.0, y + 15.0), Anchor::Start, &bar.value_label);
        }
    }
}

/// Logarithmic axis that starts at ten to the power of `start`.
struct LogAxis {
    start: i32,
    decades: f64,
}

impl LogAxis {
    fn length(&self, value: f64) -> f64 {
        (WIDTH - LABELS - FIGURE) * (value.log10() - f64::from(self.start)) / self.decades
    }

    /// Powers of ten along the axis.
    fn powers(&self) -> impl Iterator<Item = f64> {
        (self.start..=self.start + self.decades as i32).map(|power| 10f64.powi(power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(values: &[Option<f64>]) -> String {
        let bar = |value: &Option<f64>| Bar {
            label: "a & b".to_owned(),
            highlighted: false,
            value: *value,
            value_label: value.map_or("missing".to_owned(), |value| format!("{value} us")),
        };
        let bars = values.iter().map(bar).collect();
        let panel = Panel { heading: "microseconds, less is better".to_owned(), bars };
        Bars { title: "Locks".to_owned(), description: "Bars.".to_owned(), panels: vec![panel] }
            .svg()
    }

    /// Widths of the drawn bars.
    fn lengths(svg: &str) -> Vec<f64> {
        let bars = svg.lines().filter(|line| line.starts_with("<rect class=\"bar\""));
        let width = |line: &str| line.split("width=\"").nth(1)?.split('"').next()?.parse().ok();
        bars.filter_map(width).collect()
    }

    #[test]
    fn ten_times_as_much_is_a_step_whatever_it_is_ten_times_of() {
        let long = lengths(&bars(&[Some(10.0), Some(100.0), Some(1_000.0)]));
        assert!((long[1] - long[0] - (long[2] - long[1])).abs() < 0.5, "{long:?}");
        assert!(long[0] > 10.0, "even the shortest is seen: {long:?}");
    }

    #[test]
    fn what_is_not_there_is_said_in_words() {
        let svg = bars(&[Some(10.0), None]);
        assert!(svg.contains("missing") && svg.contains("a &amp; b"), "{svg}");
        assert_eq!(lengths(&svg)[1], 0.0);
        assert!(!bars(&[None]).contains("NaN"));
        assert!(!bars(&[]).contains("NaN") && !bars(&[Some(0.0)]).contains("inf"));
    }

    #[test]
    fn the_same_bars_are_the_same_file() {
        assert_eq!(bars(&[Some(3.0)]), bars(&[Some(3.0)]));
    }
}
