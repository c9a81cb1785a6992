//! Items on the lane of a process: activities, which last, and markers, which are instantaneous. Each kind has its
//! own shape, so that colour is never the only distinction.

use super::timeline::TracePoint;
use crate::svg::{Px, Svg};
use crate::vocabulary::Phrase;

/// State of a process over an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Activity {
    pub(super) kind: ActivityKind,
    /// Step that started the activity.
    pub(super) from: TracePoint,
    /// Step that ended it; `None` if it lasts until the end of the trace.
    pub(super) to: Option<TracePoint>,
}

impl Activity {
    /// Whether a part of it lies between two times.
    pub(super) fn overlaps(&self, from: u64, to: u64) -> bool {
        self.from.time <= to && self.to.is_none_or(|end| end.time >= from)
    }
}

/// States that are drawn as bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ActivityKind {
    Waits,
    Inside,
    TakesPart,
    Leads,
    Undecided,
    Works,
    Down,
}

impl ActivityKind {
    pub(super) const ALL: [Self; 7] = [
        Self::Inside,
        Self::Waits,
        Self::Leads,
        Self::TakesPart,
        Self::Undecided,
        Self::Works,
        Self::Down,
    ];

    /// CSS class of the bar.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Waits | Self::TakesPart | Self::Undecided => "waits",
            Self::Inside | Self::Leads | Self::Works => "inside",
            Self::Down => "down",
        }
    }

    /// Text for the legend and for tooltips.
    pub(super) fn phrase(self) -> Phrase {
        match self {
            Self::Waits => Phrase::Waits,
            Self::Inside => Phrase::Inside,
            Self::TakesPart => Phrase::TakesPart,
            Self::Leads => Phrase::Leads,
            Self::Undecided => Phrase::Undecided,
            Self::Works => Phrase::Works,
            Self::Down => Phrase::Down,
        }
    }

    /// Text on the bar, drawn if there is room.
    pub(super) fn label(self) -> Option<Phrase> {
        match self {
            Self::Inside => Some(Phrase::InsideShort),
            Self::Leads => Some(Phrase::Leads),
            _ => None,
        }
    }

    /// Height of the bar. `most` is the height of the thickest kind.
    pub(super) fn thickness(self, most: f64) -> f64 {
        match self {
            Self::Inside | Self::Leads | Self::Works => most,
            Self::Waits | Self::TakesPart | Self::Undecided => (most * 0.35).max(3.0),
            Self::Down => 0.0,
        }
    }
}

/// Instantaneous event of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventMarker {
    pub(super) at: TracePoint,
    pub(super) kind: MarkerKind,
    /// Additional text, such as the suspected process or the decided value.
    pub(super) detail: String,
}

/// Kinds of instantaneous events, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MarkerKind {
    Crashes,
    Recovers,
    Wins,
    Decides,
    Blocked,
    GivesUp,
    CannotSetClock,
    Suspects,
    Trusts,
    Proposes,
    Multicasts,
    Delivers,
    Follows,
    SetsClock,
    Records,
    Announces,
    Submits,
    Applies,
    Truncates,
    Refuses,
    Timer,
}

impl MarkerKind {
    pub(super) const ALL: [Self; 21] = [
        Self::Crashes,
        Self::Recovers,
        Self::Wins,
        Self::Follows,
        Self::Proposes,
        Self::Decides,
        Self::Blocked,
        Self::GivesUp,
        Self::Multicasts,
        Self::Delivers,
        Self::SetsClock,
        Self::CannotSetClock,
        Self::Suspects,
        Self::Trusts,
        Self::Records,
        Self::Announces,
        Self::Submits,
        Self::Applies,
        Self::Truncates,
        Self::Refuses,
        Self::Timer,
    ];

    /// Verb phrase for the legend and for tooltips.
    pub(super) fn phrase(self) -> Phrase {
        match self {
            Self::Crashes => Phrase::Crashes,
            Self::Recovers => Phrase::Recovers,
            Self::Wins => Phrase::Wins,
            Self::Follows => Phrase::Follows,
            Self::Proposes => Phrase::Proposes,
            Self::Decides => Phrase::Decides,
            Self::Blocked => Phrase::Blocked,
            Self::GivesUp => Phrase::GivesUp,
            Self::Multicasts => Phrase::Multicasts,
            Self::Delivers => Phrase::Delivers,
            Self::SetsClock => Phrase::SetsClock,
            Self::CannotSetClock => Phrase::CannotSetClock,
            Self::Suspects => Phrase::Suspects,
            Self::Trusts => Phrase::Trusts,
            Self::Records => Phrase::Records,
            Self::Announces => Phrase::Announces,
            Self::Submits => Phrase::Submits,
            Self::Applies => Phrase::Applies,
            Self::Truncates => Phrase::Truncates,
            Self::Refuses => Phrase::Refuses,
            Self::Timer => Phrase::Timer,
        }
    }

    /// Draws the marker at a point; `r` is its radius.
    pub(super) fn draw(self, svg: &mut Svg, (x, y): (f64, f64), r: f64) {
        let p = |dx: f64, dy: f64| format!("{} {}", Px(x + dx * r), Px(y + dy * r));
        let cross = format!("M{}L{}M{}L{}", p(-1.0, -1.0), p(1.0, 1.0), p(-1.0, 1.0), p(1.0, -1.0));
        match self {
            Self::Crashes => svg.path("sign bad heavy", &cross),
            Self::Recovers => {
                let d = format!(
                    "M{}L{}M{}L{}L{}",
                    p(0.0, 1.2),
                    p(0.0, -1.0),
                    p(-0.8, -0.1),
                    p(0.0, -1.1),
                    p(0.8, -0.1)
                );
                svg.path("sign good heavy", &d);
            }
            Self::Wins => {
                let corner = |place: u32| {
                    let angle = f64::from(place) * std::f64::consts::PI / 5.0;
                    let radius = if place.is_multiple_of(2) { 1.4 } else { 0.6 };
                    p(radius * angle.sin(), -radius * angle.cos())
                };
                let corners: Vec<String> = (0..10).map(corner).collect();
                svg.path("sign solid", &format!("M{}Z", corners.join("L")));
            }
            Self::Decides | Self::Announces => {
                let corners = [p(0.0, -1.2), p(1.2, 0.0), p(0.0, 1.2), p(-1.2, 0.0)];
                svg.path("sign solid", &format!("M{}Z", corners.join("L")));
            }
            Self::Proposes | Self::Submits => {
                let corners = [p(0.0, -1.1), p(1.1, 0.9), p(-1.1, 0.9)];
                svg.path("sign hollow", &format!("M{}Z", corners.join("L")));
            }
            Self::Multicasts => {
                let corners = [p(0.0, -1.1), p(1.1, 0.9), p(-1.1, 0.9)];
                svg.path("sign solid", &format!("M{}Z", corners.join("L")));
            }
            Self::Delivers | Self::Applies => svg.circle("sign solid", (x, y), r * 0.8),
            Self::Follows => svg.circle("sign hollow", (x, y), r * 0.8),
            Self::Blocked => {
                let corners = [p(-0.9, -0.9), p(0.9, -0.9), p(0.9, 0.9), p(-0.9, 0.9)];
                svg.path(
                    "sign hollow bad",
                    &format!("M{}ZM{}L{}", corners.join("L"), p(-0.9, 0.0), p(0.9, 0.0)),
                );
            }
            Self::GivesUp | Self::CannotSetClock | Self::Truncates => {
                svg.circle("sign hollow bad", (x, y), r);
                svg.line("sign bad", (x - r * 0.7, y + r * 0.7), (x + r * 0.7, y - r * 0.7));
            }
            Self::Suspects => {
                svg.circle("sign hollow", (x, y), r);
                svg.line("sign heavy", (x, y - r * 0.6), (x, y + r * 0.1));
                svg.line("sign heavy", (x, y + r * 0.4), (x, y + r * 0.6));
            }
            Self::Trusts => {
                svg.circle("sign hollow", (x, y), r);
                svg.line("sign", (x - r * 0.55, y), (x + r * 0.55, y));
                svg.line("sign", (x, y - r * 0.55), (x, y + r * 0.55));
            }
            Self::SetsClock => {
                svg.circle("sign hollow", (x, y), r);
                svg.path("sign", &format!("M{}L{}L{}", p(0.0, -0.7), p(0.0, 0.0), p(0.5, 0.3)));
            }
            Self::Records => {
                let corners = [p(-0.9, -0.9), p(0.9, -0.9), p(0.9, 0.9), p(-0.9, 0.9)];
                svg.path("sign solid", &format!("M{}Z", corners.join("L")));
            }
            Self::Refuses => svg.path("sign", &cross),
            Self::Timer => {
                // An hourglass, smaller than the markers of the events that the timer causes.
                let corners = [p(-0.6, -0.8), p(0.6, -0.8), p(-0.6, 0.8), p(0.6, 0.8)];
                svg.path("sign hollow fine", &format!("M{}Z", corners.join("L")));
            }
        }
    }
}
