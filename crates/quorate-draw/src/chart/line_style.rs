//! Style of chart lines. Lines of one group share a colour and a marker, and differ in their dashes. A chart
//! printed in greyscale still distinguishes all lines.

use std::f64::consts::TAU;

use plotters::backend::DrawingBackend;
use plotters::element::ComposedElement;
use plotters::prelude::{Color, EmptyElement, PathElement, Polygon, RGBColor, ShapeStyle, WHITE};

use super::Line;
use crate::theme::SERIES;

/// Dash and gap lengths in pixels; `None` is a solid line.
const DASHES: [Option<(u32, u32)>; 5] =
    [None, Some((8, 4)), Some((2, 3)), Some((14, 4)), Some((4, 8))];

/// Marker outlines in pixels: number of corners, radius, and rotation as a fraction of a corner.
/// Seven outlines and ten colours have no common divisor, so a combination repeats only after seventy groups.
const OUTLINES: [Outline; 7] = [
    Outline { corners: 20, radius: 4.5, turn: 0.0, hollow: false },
    Outline { corners: 4, radius: 5.5, turn: 0.5, hollow: false },
    Outline { corners: 3, radius: 6.0, turn: 0.0, hollow: false },
    Outline { corners: 20, radius: 4.5, turn: 0.0, hollow: true },
    Outline { corners: 4, radius: 6.0, turn: 0.0, hollow: false },
    Outline { corners: 4, radius: 5.5, turn: 0.5, hollow: true },
    Outline { corners: 3, radius: 6.0, turn: 0.5, hollow: true },
];

struct Outline {
    corners: u32,
    radius: f64,
    turn: f64,
    hollow: bool,
}

impl Outline {
    fn points(&self, wider: f64) -> Vec<(i32, i32)> {
        let corner = |place: u32| {
            let angle = TAU * (f64::from(place) + self.turn) / f64::from(self.corners);
            let (sine, cosine) = angle.sin_cos();
            let radius = self.radius + wider;
            ((radius * sine).round() as i32, (-radius * cosine).round() as i32)
        };
        (0..=self.corners).map(corner).collect()
    }
}

/// Colour of a group on white. The style sheet replaces it in the dark theme.
fn colour(group: usize) -> RGBColor {
    let (_, white, _) = SERIES[group % SERIES.len()];
    let part = |place: usize| u8::from_str_radix(&white[place..place + 2], 16).unwrap_or(0);
    RGBColor(part(1), part(3), part(5))
}

/// Marker made of a filled area and an outline.
type Marker<B, Place> = ComposedElement<Place, B, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// Colour, marker and dashes of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineStyle {
    group: usize,
    variant: usize,
}

impl LineStyle {
    pub(super) fn new(group: usize, variant: usize) -> Self {
        Self { group, variant }
    }

    pub(super) fn is_joined(self) -> bool {
        self.variant != Line::POINTS
    }

    pub(super) fn stroke(self) -> ShapeStyle {
        colour(self.group).stroke_width(2)
    }

    pub(super) fn dash(self) -> Option<(u32, u32)> {
        DASHES[self.variant % DASHES.len()]
    }

    /// Returns the marker at a position of the drawing.
    pub(super) fn marker<B: DrawingBackend, Place>(self, at: Place) -> Marker<B, Place> {
        let outline = &OUTLINES[self.group % OUTLINES.len()];
        let colour = colour(self.group);
        let area = match self.is_joined() {
            false => WHITE.mix(0.0).filled(),
            true if outline.hollow => WHITE.filled(),
            true => colour.filled(),
        };
        let points = outline.points(if self.is_joined() { 0.0 } else { 3.0 });
        EmptyElement::at(at)
            + Polygon::new(points.clone(), area)
            + PathElement::new(points, colour.stroke_width(2))
    }

    /// Returns a horizontal sample of the line for the legend, with the dashes of the chart.
    pub(super) fn sample(self, (x, y): (i32, i32), length: i32) -> Vec<PathElement<(i32, i32)>> {
        if !self.is_joined() {
            return Vec::new();
        }
        let piece = |start, end| PathElement::new(vec![(start, y), (end, y)], self.stroke());
        let Some((dash, gap)) = self.dash() else { return vec![piece(x, x + length)] };
        let starts = (x..x + length).step_by((dash + gap) as usize);
        starts.map(|start| piece(start, (start + dash as i32).min(x + length))).collect()
    }
}
