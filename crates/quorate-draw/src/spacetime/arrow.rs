//! Messages as arrows. A head marks a delivery, a cross a loss, and an open end a message in flight when the trace ends.

use std::fmt::Display;

use quorate_core::Time;

use super::plot::Plot;
use super::timeline::{DeliveryStatus, Timeline, TracedMessage};
use crate::svg::{Px, Svg};
use crate::text::shortened;
use crate::theme::{DASHES, SERIES};
use crate::vocabulary::{Phrase, Vocabulary};

/// Length of an arrow head.
const HEAD: f64 = 7.0;
/// Maximum number of characters of a message body in a tooltip.
const BODY_MOST: usize = 160;

type Point = (f64, f64);

/// One message in a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrow<'s> {
    pub(super) message: &'s TracedMessage,
    /// Visible end points, clipped to the window.
    pub(super) start: Point,
    pub(super) end: Point,
    tip: Tip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tip {
    Head,
    Cross,
    Open,
}

impl<'s> Arrow<'s> {
    /// Clips the path of a message to the window.
    /// The tip of a delivered message stops `distance` pixels before the centre of the receiver's lane.
    pub(super) fn new(
        message: &'s TracedMessage,
        timeline: &Timeline,
        plot: &Plot,
        distance: f64,
    ) -> Option<Self> {
        let start = (plot.x(message.sent), plot.y(message.from)?);
        let expected_arrival = message.sent.time.saturating_add(timeline.median_delay);
        let (column, fraction, tip) = match &message.delivery {
            DeliveryStatus::Arrives(at) => (plot.x(*at), 1.0, Tip::Head),
            DeliveryStatus::Lost { at, at_receiver: true, .. } => (plot.x(*at), 0.93, Tip::Cross),
            DeliveryStatus::Lost { .. } => (plot.x_of_time(expected_arrival), 0.42, Tip::Cross),
            DeliveryStatus::InFlight => {
                let after_end = timeline.end.saturating_add(timeline.median_delay / 2);
                (plot.x_of_time(expected_arrival.max(after_end)), 1.0, Tip::Open)
            }
        };
        let target = (column.max(start.0), plot.y(message.to)?);
        let end = interpolate(start, target, fraction);
        let length = (end.0 - start.0).hypot(end.1 - start.1);
        let end = match tip {
            Tip::Head if length > 3.0 * distance => {
                interpolate(start, end, 1.0 - distance / length)
            }
            _ => end,
        };
        let (from, to) = clip(start, end, (plot.left, plot.right))?;
        let tip = if to < 1.0 { Tip::Open } else { tip };
        let (start, end) = (interpolate(start, end, from), interpolate(start, end, to));
        Some(Self { message, start, end, tip })
    }

    pub(super) fn draw(
        &self,
        svg: &mut Svg,
        timeline: &Timeline,
        vocabulary: &Vocabulary,
        led_to_violation: bool,
    ) {
        let TracedMessage { message, kind, from, to, sent, delivery, .. } = self.message;
        let lost = if self.tip == Tip::Cross { " lost" } else { "" };
        let open = if matches!(delivery, DeliveryStatus::InFlight) { " open" } else { "" };
        let culprit = if led_to_violation { " culprit" } else { "" };
        let arrival = match delivery {
            DeliveryStatus::Arrives(at) => format!(" data-arrival=\"{}\"", at.event),
            _ => String::new(),
        };
        svg.open(format_args!(
            "class=\"message k{kind}{lost}{open}{culprit}\" data-message=\"{message}\" data-event=\"{}\"{arrival} \
             data-from=\"{from}\" data-to=\"{to}\" data-sent=\"{}\"",
            sent.event, sent.time
        ));
        svg.title(&self.title_text(timeline, vocabulary));
        let (start, end) = (self.start, self.end);
        if from == to {
            let (middle, top) = ((start.0 + end.0) / 2.0, start.1 - 18.0);
            svg.path(
                "way",
                &format!(
                    "M{}Q{} {} {}",
                    format_point(start),
                    Px(middle),
                    Px(top),
                    format_point(end)
                ),
            );
        } else {
            svg.path("way", &format!("M{}L{}", format_point(start), format_point(end)));
        }
        match self.tip {
            Tip::Head => {
                let back =
                    if from == to { ((start.0 + end.0) / 2.0, start.1 - 18.0) } else { start };
                svg.path("head", &head(back, end));
            }
            Tip::Cross => svg.path("cross", &cross(end, 4.0)),
            Tip::Open => {}
        }
        svg.close();
    }

    fn title_text(&self, timeline: &Timeline, vocabulary: &Vocabulary) -> String {
        let TracedMessage { kind, from, to, sent, delivery, is_duplicate, body, .. } = self.message;
        let delivery = match delivery {
            DeliveryStatus::Arrives(at) => {
                vocabulary.format(Phrase::Arrives, &[("time", &Time(at.time))])
            }
            DeliveryStatus::Lost { why, .. } => {
                let why = reason_text(&timeline.reasons[*why as usize], vocabulary);
                vocabulary.format(Phrase::NotDelivered, &[("why", &why)])
            }
            DeliveryStatus::InFlight => vocabulary.text(Phrase::StillInFlight).to_owned(),
        };
        let values: [(&str, &dyn Display); 4] = [
            ("kind", &shortened(&timeline.kinds[*kind as usize].name, 40)),
            ("route", &format_args!("p{from} → p{to}")),
            ("time", &Time(sent.time)),
            ("fate", &delivery),
        ];
        let phrase = if *is_duplicate { Phrase::DuplicateTitle } else { Phrase::MessageTitle };
        format!("{} {}", vocabulary.format(phrase, &values), shortened(body, BODY_MOST))
    }

    /// Whether the arrow is so steep that a label of this width would cover it.
    pub(super) fn is_steeper_than(&self, width: f64) -> bool {
        (self.end.0 - self.start.0).abs() < width
    }

    /// Candidate positions for a label, in the gaps between the lanes that the arrow crosses. The middle comes first.
    pub(super) fn label_positions(&self, plot: &Plot) -> Vec<Point> {
        let (start, end) = (self.start, self.end);
        let rows = ((end.1 - start.1).abs() / plot.lane).round() as usize;
        if rows == 0 {
            return vec![((start.0 + end.0) / 2.0, start.1 - 14.0)];
        }
        let step = 1.0 / rows as f64;
        // Within a gap the middle is best. About a third of the way is next best.
        let mut fractions: Vec<f64> = (0..rows.min(12))
            .flat_map(|gap| [0.5, 0.38, 0.62, 0.3, 0.7].map(|inside| (gap as f64 + inside) * step))
            .collect();
        fractions.sort_by(|a, b| (a - 0.45).abs().total_cmp(&(b - 0.45).abs()));
        fractions.into_iter().map(|fraction| interpolate(start, end, fraction)).collect()
    }
}

/// Describes why a message was lost. A reason that is not known here is shown as it is in the trace.
fn reason_text<'w>(why: &'w str, vocabulary: &'w Vocabulary) -> &'w str {
    let phrase = match why {
        "lost" => Phrase::WhyLost,
        "cut" => Phrase::WhyCut,
        "partition" => Phrase::WhyPartition,
        "send-omission" => Phrase::WhySendOmission,
        "receive-omission" => Phrase::WhyReceiveOmission,
        "treason" => Phrase::WhyTreason,
        "receiver-down" => Phrase::WhyReceiverDown,
        _ => return why,
    };
    vocabulary.text(phrase)
}

/// Style rules that give each kind of message a colour and a dash pattern.
pub(super) fn rules(kinds: usize) -> String {
    let rule = |kind: usize| {
        let (colour, dash) = (SERIES[1 + kind % (SERIES.len() - 1)].0, DASHES[kind % DASHES.len()]);
        let dash = if dash.is_empty() { "none" } else { dash };
        format!(
            ".k{kind} .way{{stroke:${colour};stroke-dasharray:{dash}}}\n.k{kind} .head{{fill:${colour};stroke:${colour}}}\n\
             .t{kind}{{fill:${colour}}}\n"
        )
    };
    (0..kinds).map(rule).collect()
}

/// Path of an arrow head at `end` that points away from `from`.
pub(super) fn head(from: Point, end: Point) -> String {
    let (dx, dy) = (end.0 - from.0, end.1 - from.1);
    let length = dx.hypot(dy).max(0.001);
    let (dx, dy) = (dx / length * HEAD, dy / length * HEAD);
    let corner = |side: f64| (end.0 - dx - side * dy * 0.42, end.1 - dy + side * dx * 0.42);
    format!("M{}L{}L{}Z", format_point(end), format_point(corner(1.0)), format_point(corner(-1.0)))
}

pub(super) fn cross((x, y): Point, r: f64) -> String {
    let corner = |dx: f64, dy: f64| format_point((x + dx * r, y + dy * r));
    format!(
        "M{}L{}M{}L{}",
        corner(-1.0, -1.0),
        corner(1.0, 1.0),
        corner(-1.0, 1.0),
        corner(1.0, -1.0)
    )
}

fn format_point((x, y): Point) -> String {
    format!("{} {}", Px(x), Px(y))
}

fn interpolate(a: Point, b: Point, fraction: f64) -> Point {
    (a.0 + (b.0 - a.0) * fraction, a.1 + (b.1 - a.1) * fraction)
}

/// Returns the part of a line, as two fractions, that lies between two columns.
fn clip(start: Point, end: Point, (left, right): (f64, f64)) -> Option<(f64, f64)> {
    let dx = end.0 - start.0;
    if dx <= 0.0 {
        return (left..=right).contains(&start.0).then_some((0.0, 1.0));
    }
    let from = ((left - start.0) / dx).max(0.0);
    let to = ((right - start.0) / dx).min(1.0);
    (from < to).then_some((from, to))
}
