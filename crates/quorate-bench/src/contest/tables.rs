//! What is printed: one table of all, how many times as good ours is, the goals, and what the time goes into.

use super::{Contest, Figure, Row};
use crate::grid::Grid;
use crate::measure::Measured;
use crate::say::{number, time, times};
use crate::task::Task;

/// What stands where there is nothing.
const NOTHING: &str = "-";

fn cell<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), text)
}

impl Contest {
    pub(super) fn raw(&self) -> f64 {
        self.round_trip.median()
    }

    /// All services with all settings.
    pub(super) fn figures(&self) -> Grid {
        let queue = format!("{} waiters", number(self.effort.queue as f64));
        let mut grid = Grid::new(&[
            "service",
            "setting",
            "alone, 50 %",
            "99 %",
            "round trips",
            "apart, locks/s",
            "together, hand-offs/s",
            "to the same client",
            &queue,
            "holder killed",
        ]);
        for row in self.rows() {
            let of = |figure: Figure| figure.of(&row);
            let together = row.measured(Task::Together);
            grid.rows.push(vec![
                row.service.to_owned(),
                row.setting.clone(),
                cell(of(Figure::AloneHalf), time),
                cell(of(Figure::AloneMost), time),
                cell(of(Figure::AloneHalf), |half| number(half / self.raw())),
                cell(of(Figure::Apart), number),
                cell(of(Figure::HandOffs), number),
                cell(together, |done| format!("{:.0} %", done.kept_percent())),
                cell(row.measured(Task::Queue), |done| self.waiters(done)),
                cell(of(Figure::Killed), time),
            ]);
        }
        grid
    }

    /// How long it took until all waiters have had their turn, or how many have.
    fn waiters(&self, done: &Measured) -> String {
        match done.cycles >= self.effort.queue as u64 {
            true => time(done.seconds * 1e6),
            false => format!("{} in {}", number(done.cycles as f64), time(done.seconds * 1e6)),
        }
    }

    /// How many times as good the first of ours is as each of the others.
    pub(super) fn ratios(&self) -> Grid {
        let mut grid = Grid::new(&[
            "service",
            "setting",
            "alone, 50 %",
            "99 %",
            "apart",
            "hand-offs",
            "waiters",
            "killed",
        ]);
        let rows = self.rows();
        let Some((ours, others)) = rows.split_first() else { return grid };
        for other in others.iter().filter(|row| row.peer.is_some() && row.absent.is_none()) {
            let ratio = |figure: &Figure| cell(figure.ratio(ours, other), times);
            let mut row = vec![other.service.to_owned(), other.setting.clone()];
            row.extend(Figure::ALL.iter().map(ratio));
            grid.rows.push(row);
        }
        grid
    }

    /// Each goal and whether it is met.
    pub(super) fn goals_grid(&self) -> Grid {
        let mut grid = Grid::new(&["goal", "against", "wanted", "measured", ""]);
        for goal in self.goals() {
            let verdict = match goal.met {
                Some(true) => "met",
                Some(false) => "missed",
                None => "not measured",
            };
            let measured = cell(goal.measured, |measured| goal.unit.say(measured));
            grid.rows.push(vec![
                goal.what,
                goal.against,
                goal.unit.wanted(goal.wanted),
                measured,
                verdict.to_owned(),
            ]);
        }
        grid
    }

    /// Processor time of servers and clients for each lock, and messages.
    pub(super) fn costs(&self) -> Grid {
        let mut grid = Grid::new(&[
            "service",
            "setting",
            "alone: servers, in the kernel",
            "client",
            "apart: servers",
            "clients",
            "together: servers",
            "clients",
            "messages (alone, apart, together)",
        ]);
        const SHOWN: [Task; 3] = [Task::Alone, Task::Apart, Task::Together];
        for row in self.rows().iter().filter(|row| row.absent.is_none()) {
            let mut cells = vec![row.service.to_owned(), row.setting.clone()];
            for task in SHOWN {
                cells.push(cell(row.measured(task), |done| {
                    format!("{}, {:.0} %", time(done.processor_us), done.kernel_percent())
                }));
                cells.push(cell(row.measured(task), |done| time(done.client_us)));
            }
            let sent = SHOWN.map(|task| row.measured(task).and_then(|done| done.messages));
            let sent = sent.iter().flatten().map(|sent| format!("{sent:.1}"));
            let sent = sent.collect::<Vec<_>>().join(", ");
            cells.push(if sent.is_empty() { NOTHING.to_owned() } else { sent });
            grid.rows.push(cells);
        }
        grid
    }

    /// What is not there, and why: a line for each service or task.
    pub(super) fn troubles(&self) -> Vec<String> {
        let lines = |row: &Row<'_>| {
            let title = row.title();
            row.troubles().into_iter().map(move |trouble| format!("{title}: {trouble}")).collect()
        };
        self.rows().iter().flat_map(|row| -> Vec<String> { lines(row) }).collect()
    }

    /// All of it for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.round_trip);
        text += &self.figures().text(2);
        for trouble in self.troubles() {
            text += &format!("{trouble}\n");
        }
        for note in self.machine.notes() {
            text += &format!("note: {note}\n");
        }
        if let Some((wire, _)) = self.ours.first() {
            let ours = super::setting(self.nodes, *wire);
            text += &format!(
                "\nhow many times as good quorate ({ours}) is:\n{}",
                self.ratios().text(2)
            );
            text += &format!("\n{}", self.goals_grid().text(2));
        }
        text += &format!("\nprocessor time for each lock:\n{}", self.costs().text(2));
        text
    }
}

impl super::Machine {
    /// What a reader must know before believing the figures.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.disk_is_memory {
            notes.push(
                "temporary folders are in memory here, so that nothing was on a disk; TMPDIR chooses another place"
                    .to_owned(),
            );
        }
        if !self.optimised {
            notes.push(
                "this quorate was built without optimisation; figures need a release build"
                    .to_owned(),
            );
        }
        if let Some(busy) = self.busy.filter(|busy| *busy > 0.1) {
            notes.push(format!(
                "others used {:.0} % of this machine before it began; measure again when it does nothing else",
                100.0 * busy
            ));
        }
        notes
    }
}
