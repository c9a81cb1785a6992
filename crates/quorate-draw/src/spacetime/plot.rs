//! Mapping of steps and times to columns and of processes to rows.
//!
//! Columns are proportional to time, or steps are spread: each step of the window has a column of its own, a fixed
//! distance to the right of the step before it, and the rest of the width is proportional to time.

use super::timeline::{Timeline, TracePoint};
use super::{Diagram, DiagramView};

/// Maximum number of lanes if the caller selects no processes.
const LANES_MOST: usize = 48;
/// Minimum number of lanes if processes are selected automatically.
const LANES_LEAST: usize = 12;
const WIDTH_LEAST: f64 = 360.0;
const WIDTH_MOST: f64 = 20_000.0;
/// Distance of the first and the last time from the edges of the plot.
const MARGIN: f64 = 14.0;
/// Maximum distance that two steps have because of their order alone, and the share of the width for all such distances.
const STEP_MOST: f64 = 22.0;
const STEPS_SHARE: f64 = 0.6;
/// Heights of lanes: the usual limits, the least one if the height of the picture is limited, and that of all lanes.
const LANE_LEAST: f64 = 19.0;
const LANE_LEAST_FITTED: f64 = 5.0;
const LANE_MOST: f64 = 92.0;
const LANES_HEIGHT: f64 = 470.0;
/// Minimum distance between two names of processes, and between two times.
const NAME_DISTANCE: f64 = 13.0;
const TICK_DISTANCE: f64 = 58.0;

/// Geometry of a picture.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) width: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    /// Row of each process; `None` if it is not drawn.
    rows: Vec<Option<usize>>,
    /// Drawn processes from top to bottom.
    pub(super) shown: Vec<u32>,
    pub(super) lane: f64,
    pub(super) top: f64,
    /// Steps in the window if they are spread.
    pub(super) steps: Vec<TracePoint>,
    /// Distance between consecutive steps because of their order.
    step_width: f64,
}

impl Plot {
    pub(super) fn new(timeline: &Timeline, view: &DiagramView) -> Self {
        let to = view.to.unwrap_or(timeline.end);
        let from = view.from.min(to.saturating_sub(1));
        let width = f64::from(view.width).clamp(WIDTH_LEAST, WIDTH_MOST);
        let shown = shown_processes(timeline, view, (from, to));
        let mut rows = vec![None; timeline.processes];
        for (row, process) in shown.iter().enumerate() {
            rows[*process as usize] = Some(row);
        }
        let lanes = shown.len().max(1) as f64;
        let lane = match view.lanes_height {
            Some(height) => (f64::from(height) / lanes).clamp(LANE_LEAST_FITTED, LANE_MOST),
            None => (LANES_HEIGHT / lanes).clamp(LANE_LEAST, LANE_MOST).floor(),
        };
        let longest = shown.iter().max().copied().unwrap_or(0).to_string().len() as f64;
        let left = 34.0 + 9.0 * longest;
        let right = width - 16.0;
        let is_inside = |step: &&TracePoint| view.spread && (from..=to).contains(&step.time);
        let steps: Vec<TracePoint> = timeline.steps.iter().filter(is_inside).copied().collect();
        let gaps = steps.len().saturating_sub(1).max(1) as f64;
        let step_width = (STEPS_SHARE * (right - left - 2.0 * MARGIN) / gaps).min(STEP_MOST);
        let to = to.max(from + 1);
        Self { from, to, width, left, right, rows, shown, lane, top: 0.0, steps, step_width }
    }

    /// Column of a step, which may lie outside the window.
    pub(super) fn x(&self, at: TracePoint) -> f64 {
        let earlier = self.steps.partition_point(|step| step.order() < at.order());
        self.column(at.time, earlier)
    }

    /// Column of a time, which may lie outside the window. At this time no step has been taken.
    pub(super) fn x_of_time(&self, time: u64) -> f64 {
        self.column(time, self.steps.partition_point(|step| step.time < time))
    }

    /// Column of the last step at a time, or of the time if there is none.
    pub(super) fn x_after(&self, time: u64) -> f64 {
        let before = self.steps.partition_point(|step| step.time < time);
        let until = self.steps.partition_point(|step| step.time <= time);
        self.column(time, before.max(until.saturating_sub(1)))
    }

    /// Column of a time after this number of steps in the window.
    fn column(&self, time: u64, steps: usize) -> f64 {
        let gaps = self.steps.len().saturating_sub(1);
        let spread = steps.min(gaps) as f64 * self.step_width;
        let fraction = (time as f64 - self.from as f64) / (self.to - self.from) as f64;
        let width = self.right - self.left - 2.0 * MARGIN - gaps as f64 * self.step_width;
        self.left + MARGIN + spread + fraction * width
    }

    /// Times at which several steps are spread, with the columns of the first and of the last one.
    pub(super) fn instants(&self) -> impl Iterator<Item = (u64, f64, f64)> + '_ {
        let at_one_time = self.steps.chunk_by(|a, b| a.time == b.time);
        at_one_time.filter(|steps| steps.len() > 1).filter_map(|steps| {
            let (first, last) = (steps.first()?, steps.last()?);
            Some((first.time, self.x(*first), self.x(*last)))
        })
    }

    /// Vertical centre of a process's lane; `None` if the process is not drawn.
    pub(super) fn y(&self, process: u32) -> Option<f64> {
        let row = (*self.rows.get(process as usize)?)?;
        Some(self.row(row))
    }

    pub(super) fn row(&self, row: usize) -> f64 {
        self.top + (row as f64 + 0.5) * self.lane
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.shown.len() as f64 * self.lane
    }

    pub(super) fn is_shown(&self, time: u64) -> bool {
        (self.from..=self.to).contains(&time)
    }

    /// Whether an interval overlaps the window.
    pub(super) fn overlaps(&self, from: u64, to: u64) -> bool {
        from <= self.to && to >= self.from
    }

    /// Whether the strip between the times and the first lane has any text.
    pub(super) fn has_strip(&self, timeline: &Timeline) -> bool {
        let partitioned = timeline
            .partitions
            .iter()
            .any(|partition| self.overlaps(partition.from, partition.to.unwrap_or(u64::MAX)));
        partitioned || timeline.rounds.keys().any(|(time, _)| self.is_shown(*time))
    }

    /// Height of the thickest bar.
    pub(super) fn bar(&self) -> f64 {
        (self.lane * 0.32).clamp((self.lane * 0.6).min(6.0), 15.0)
    }

    /// Radius of a marker.
    pub(super) fn marker_size(&self) -> f64 {
        (self.lane * 0.13).clamp((self.lane * 0.5).min(3.5), 5.5)
    }

    /// Round times in the window, with their labels.
    pub(super) fn ticks(&self) -> Vec<(u64, String)> {
        let span = (self.to - self.from) as f64;
        let most = ((self.right - self.left) / 95.0).clamp(2.0, 14.0);
        let magnitude = 10f64.powf((span / most).max(1.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
        let step = steps.into_iter().find(|step| span / step <= most).unwrap_or(10.0 * magnitude);
        let step = (step as u64).max(1);
        let first = self.from.div_ceil(step);
        (first..)
            .map_while(|multiple| multiple.checked_mul(step).filter(|time| *time <= self.to))
            .map(|time| (time, format_tick(time, step)))
            .scan(f64::NEG_INFINITY, |last, (time, label)| {
                let is_free = self.x_of_time(time) - *last >= TICK_DISTANCE;
                *last = if is_free { self.x_of_time(time) } else { *last };
                Some((time, is_free.then_some(label)))
            })
            .filter_map(|(time, label)| Some((time, label?)))
            .collect()
    }

    /// Whether the lane in a row has a name. Low lanes have too little room for all names.
    pub(super) fn is_named(&self, row: usize) -> bool {
        row.is_multiple_of((NAME_DISTANCE / self.lane).ceil().max(1.0) as usize)
    }
}

/// Formats a time in the largest unit in which the step is at least a tenth.
fn format_tick(time: u64, step: u64) -> String {
    let (unit, name) = match step {
        100_000_000.. => (1_000_000_000, "s"),
        100_000.. => (1_000_000, "ms"),
        100.. => (1_000, "µs"),
        _ => (1, "ns"),
    };
    match (time / unit, time % unit) {
        (0, 0) => "0".to_owned(),
        (whole, 0) => format!("{whole} {name}"),
        _ => format!("{:.1} {name}", time as f64 / unit as f64),
    }
}

/// Selects the processes to draw.
fn shown_processes(timeline: &Timeline, view: &DiagramView, (from, to): (u64, u64)) -> Vec<u32> {
    let exists = |process: &u32| (*process as usize) < timeline.processes;
    let mut chosen: Vec<u32> = Vec::new();
    for process in view.processes.iter().copied().filter(exists) {
        if !chosen.contains(&process) {
            chosen.push(process);
        }
    }
    if !chosen.is_empty() {
        return chosen;
    }
    let all = 0..timeline.processes as u32;
    if timeline.processes <= LANES_MOST {
        return all.collect();
    }
    let mut weight = vec![0u64; timeline.processes];
    let mut add = |process: u32, more: u64| {
        if let Some(weight) = weight.get_mut(process as usize) {
            *weight = weight.saturating_add(more);
        }
    };
    for event in timeline.violations.iter().flat_map(|violation| &violation.events) {
        add(event.process, 1 << 40);
    }
    for marker in timeline.markers.iter().filter(|marker| (from..=to).contains(&marker.at.time)) {
        add(marker.at.process, 1 << 20);
    }
    for (process, activities) in timeline.activities.iter().enumerate() {
        let here = activities.iter().filter(|activity| activity.overlaps(from, to));
        add(process as u32, (here.count() as u64) << 20);
    }
    for message in
        timeline.messages.iter().filter(|message| (from..=to).contains(&message.sent.time))
    {
        add(message.from, 1);
        add(message.to, 1);
    }
    let mut heaviest: Vec<u32> = all.collect();
    heaviest.sort_by_key(|process| std::cmp::Reverse(weight[*process as usize]));
    // Processes that only answer contribute little: draw only a few of them.
    let telling = weight.iter().filter(|weight| **weight >= 1 << 20).count();
    heaviest.truncate(telling.clamp(LANES_LEAST, LANES_MOST));
    heaviest.sort_unstable();
    heaviest
}

impl Diagram {
    /// Maximum number of lanes drawn if the caller selects no processes.
    pub const LANES_MOST: usize = LANES_MOST;
}
