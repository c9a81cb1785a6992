//! Line charts and bar charts.

mod axis;
mod bars;
mod line_style;

use std::fmt::Write;

use plotters::coord::Shift;
use plotters::prelude::{
    BLACK, ChartBuilder, DashedLineSeries, DrawingArea, DrawingAreaErrorKind, IntoDrawingArea,
    IntoFont, LineSeries, RGBColor, SVGBackend, Text, WHITE,
};

use axis::AxisLayout;
pub use axis::{Axis, Scale};
pub use bars::{Bar, Bars, Panel};
use line_style::LineStyle;

use crate::text::escaped;
use crate::theme::{FONT, SERIES, Theme, style_sheet};

const WIDTH: u32 = 1_000;
const HEIGHT: u32 = 560;
const LEGEND: u32 = 270;
/// Grid colour of the light theme.
const GRID: [u8; 3] = [0xe9, 0xec, 0xef];
/// Preferred height of a legend line. It shrinks if there are many lines.
const LEGEND_LINE: i32 = 22;
const LEGEND_TOP: i32 = 52;

/// Line chart with one pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Short name for the file, such as `messages-light`.
    pub name: String,
    /// Heading of the chart.
    pub title: String,
    /// Text alternative for readers who cannot see the chart.
    pub description: String,
    /// Axis from left to right.
    pub x: Axis,
    /// Axis from bottom to top.
    pub y: Axis,
    /// Lines of the chart.
    pub lines: Vec<Line>,
}

/// One series of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// Lines of one group share a colour and a marker.
    pub group: usize,
    /// Dash pattern. Lines of one group differ in it; [`Line::POINTS`] draws markers without a line.
    pub variant: usize,
    /// Points from left to right. Points that an axis cannot show are left out.
    pub points: Vec<(f64, f64)>,
}

impl Line {
    /// Variant whose points are not joined. Its markers are hollow and large enough to surround other markers.
    pub const POINTS: usize = usize::MAX;
}

impl Chart {
    /// Renders the chart as an SVG file that follows the reader's colour preference.
    pub fn svg(&self) -> String {
        self.svg_with_theme(Theme::Auto)
    }

    /// Renders the chart as an SVG file with this theme.
    pub fn svg_with_theme(&self, theme: Theme) -> String {
        let drawn = self.render();
        // The backend writes the root element on its own line. The title and description for screen readers follow it.
        let (root, rest) = drawn.split_once('>').unwrap_or(("<svg", ""));
        let (title, description) = (escaped(&self.title), escaped(&self.description));
        let style = style_sheet(theme, &rules());
        format!(
            "{root} class=\"quorate-draw\" role=\"img\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             <style>\n{style}</style>{rest}"
        )
    }

    fn render(&self) -> String {
        let mut svg = String::new();
        let root = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        let (plot, legend) = root.split_horizontally(WIDTH - LEGEND);
        let drawn = root
            .fill(&WHITE)
            .and_then(|()| self.draw_plot(&plot))
            .and_then(|()| self.draw_legend(&legend))
            .and_then(|()| root.present());
        drawn.expect("writing to memory does not fail");
        drop((plot, legend, root));
        svg
    }

    fn shown(&self, line: &Line) -> Vec<(f64, f64)> {
        let has_place = |&(x, y): &(f64, f64)| self.x.shows(x) && self.y.shows(y);
        line.points.iter().copied().filter(has_place).collect()
    }

    fn draw_plot(&self, area: &Area<'_>) -> DrawResult {
        let points: Vec<(f64, f64)> = self.lines.iter().flat_map(|line| self.shown(line)).collect();
        // The title has its own area, away from markers at the upper edge.
        let area = area.margin(8, 0, 0, 0).titled(&self.title, (FONT, 20).into_font())?;
        let mut chart = ChartBuilder::on(&area)
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(68)
            .build_cartesian_2d(
                self.x_layout(&points),
                self.y.layout(points.iter().map(|p| p.1)),
            )?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(GRID[0], GRID[1], GRID[2]))
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 15))
            .draw()?;
        for line in &self.lines {
            let line_style = LineStyle::new(line.group, line.variant);
            let points = self.shown(line);
            match line_style.dash() {
                _ if !line_style.is_joined() => {}
                None => {
                    chart.draw_series(LineSeries::new(points.clone(), line_style.stroke()))?;
                }
                Some((dash, gap)) => {
                    let dashed =
                        DashedLineSeries::new(points.clone(), dash, gap, line_style.stroke());
                    chart.draw_series(dashed)?;
                }
            }
            chart.draw_series(points.into_iter().map(|point| line_style.marker(point)))?;
        }
        Ok(())
    }

    /// If at most 12 different values were measured, they become the ticks of the horizontal axis.
    fn x_layout(&self, points: &[(f64, f64)]) -> AxisLayout {
        let mut xs: Vec<f64> = points.iter().map(|&(x, _)| x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let layout = self.x.layout(xs.iter().copied());
        if xs.len() <= 12 { layout.with_ticks(xs) } else { layout }
    }

    /// Draws the legend in the order of the lines' last values, highest first.
    fn draw_legend(&self, area: &Area<'_>) -> DrawResult {
        let end = |line: &Line| self.shown(line).last().map_or(f64::NEG_INFINITY, |&(_, y)| y);
        let mut lines: Vec<&Line> = self.lines.iter().collect();
        lines.sort_by(|a, b| end(b).total_cmp(&end(a)));
        let room = (HEIGHT as i32 - LEGEND_TOP - 10) / (lines.len().max(1) as i32);
        let line_height = LEGEND_LINE.min(room.max(8));
        let style = (FONT, 14.min(line_height)).into_font().color(&BLACK);
        for (index, line) in lines.into_iter().enumerate() {
            let line_style = LineStyle::new(line.group, line.variant);
            let y = LEGEND_TOP + index as i32 * line_height;
            for piece in line_style.sample((6, y), 40) {
                area.draw(&piece)?;
            }
            area.draw(&line_style.marker((26, y)))?;
            area.draw(&Text::new(line.label.clone(), (54, y - 7), style.clone()))?;
        }
        Ok(())
    }
}

type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;
type DrawResult = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Renders several charts below each other as one SVG file.
pub fn page(title: &str, charts: &[Chart], theme: Theme) -> String {
    let height = HEIGHT as usize * charts.len().max(1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{}</title>\n",
        escaped(title)
    );
    for (index, chart) in charts.iter().enumerate() {
        let top = HEIGHT as usize * index;
        let _ = writeln!(
            svg,
            "<g transform=\"translate(0 {top})\">\n{}</g>",
            chart.svg_with_theme(theme)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Style rules that map the colours which the backend writes into each element to the colours of a theme.
fn rules() -> String {
    let grey = GRID.map(|part| format!("{part:02X}")).concat();
    let theme_colours = [("FFFFFF", "paper"), ("000000", "ink"), (grey.as_str(), "grid")];
    let colours = SERIES.iter().map(|(name, white, _)| (white[1..].to_uppercase(), *name));
    let all =
        theme_colours.map(|(colour, name)| (colour.to_owned(), name)).into_iter().chain(colours);
    let rule = |(colour, name): (String, &str)| {
        format!("[fill=\"#{colour}\"]{{fill:${name}}}\n[stroke=\"#{colour}\"]{{stroke:${name}}}\n")
    };
    all.map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let line = |label: &str, group, variant, factor: f64| Line {
            label: label.to_owned(),
            group,
            variant,
            points: [4.0, 8.0, 16.0].iter().map(|&n| (n, n * factor)).collect(),
        };
        Chart {
            name: "test".to_owned(),
            title: "Messages & <delays>".to_owned(),
            description: "Two lines that rise.".to_owned(),
            x: Axis::log("processes"),
            y: Axis::log("messages per entry"),
            lines: vec![line("one", 0, 0, 1.0), line("two", 1, 1, 3.0)],
        }
    }

    #[test]
    fn a_chart_tells_what_it_shows_in_words() {
        let svg = chart().svg();
        for part in [
            "<title>Messages &amp; &lt;delays&gt;</title>",
            "<desc>Two lines that rise.</desc>",
            "role=\"img\"",
            "messages per entry",
            "processes",
            "one",
            "two",
        ] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
    }

    #[test]
    fn what_a_log_axis_has_no_place_for_is_left_out() {
        let mut odd = chart();
        odd.lines[0].points.push((32.0, 0.0));
        odd.lines[0].points.push((32.0, f64::NAN));
        assert_eq!(odd.svg(), chart().svg());
    }

    #[test]
    fn the_same_chart_is_the_same_file() {
        let page = || page("all", &[chart(), chart()], Theme::Auto);
        assert_eq!(page(), page());
        insta::assert_snapshot!(chart().svg());
    }

    #[test]
    fn points_that_are_not_joined_are_markers_only() {
        let mut points = chart();
        points.lines.push(Line { variant: Line::POINTS, ..points.lines[0].clone() });
        let (with, without) = (points.svg(), chart().svg());
        // One outline for each of the three points and one for the legend.
        assert_eq!(with.matches("<polyline").count(), without.matches("<polyline").count() + 4);
    }

    #[test]
    fn a_chart_without_points_is_drawn_all_the_same() {
        let empty = Chart { lines: Vec::new(), ..chart() };
        assert!(empty.svg().ends_with("</svg>\n"));
    }
}
