//! Tables of a comparison: all results, the factors by which ours is better, the goals, and the processor time.

use super::{Figure, ServiceComparison, ServiceRow};
use crate::format::{number, time, times};
use crate::measure::Measurement;
use crate::task::Task;
use crate::text_table::TextTable;

/// Text of a cell without a value.
const EMPTY_CELL: &str = "-";

fn cell<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| EMPTY_CELL.to_owned(), text)
}

impl ServiceComparison {
    pub(super) fn raw(&self) -> f64 {
        self.round_trip.median()
    }

    /// Results of all services with all settings.
    pub(super) fn figures(&self) -> TextTable {
        let queue = format!("{} waiters", number(self.config.queue as f64));
        let mut table = TextTable::new(&[
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
            table.rows.push(vec![
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
        table
    }

    /// Time until every waiter has held the lock once, or the number that did within the time.
    fn waiters(&self, done: &Measurement) -> String {
        match done.cycles >= self.config.queue as u64 {
            true => time(done.seconds * 1e6),
            false => format!("{} in {}", number(done.cycles as f64), time(done.seconds * 1e6)),
        }
    }

    /// Factors by which the first setting of ours is better than each other service.
    pub(super) fn ratios(&self) -> TextTable {
        let mut table = TextTable::new(&[
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
        let Some((ours, others)) = rows.split_first() else { return table };
        for other in others.iter().filter(|row| row.peer.is_some() && row.absent.is_none()) {
            let ratio = |figure: &Figure| cell(figure.ratio(ours, other), times);
            let mut row = vec![other.service.to_owned(), other.setting.clone()];
            row.extend(Figure::ALL.iter().map(ratio));
            table.rows.push(row);
        }
        table
    }

    /// Each goal and whether it is met.
    pub(super) fn goals_table(&self) -> TextTable {
        let mut table = TextTable::new(&["goal", "against", "wanted", "measured", ""]);
        for goal in self.goals() {
            let verdict = match goal.met {
                Some(true) => "met",
                Some(false) => "missed",
                None => "not measured",
            };
            let measured = cell(goal.measured, |measured| goal.unit.format(measured));
            table.rows.push(vec![
                goal.what,
                goal.against,
                goal.unit.wanted(goal.wanted),
                measured,
                verdict.to_owned(),
            ]);
        }
        table
    }

    /// Processor time of servers and clients per lock, and messages per lock.
    pub(super) fn costs(&self) -> TextTable {
        let mut table = TextTable::new(&[
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
            cells.push(if sent.is_empty() { EMPTY_CELL.to_owned() } else { sent });
            table.rows.push(cells);
        }
        table
    }

    /// Missing results and their reasons, one line for each service or task.
    pub(super) fn problems(&self) -> Vec<String> {
        let lines = |row: &ServiceRow<'_>| {
            let title = row.title();
            row.problems().into_iter().map(move |error| format!("{title}: {error}")).collect()
        };
        self.rows().iter().flat_map(|row| -> Vec<String> { lines(row) }).collect()
    }

    /// Renders all tables for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.round_trip);
        text += &self.figures().text(2);
        for error in self.problems() {
            text += &format!("{error}\n");
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
            text += &format!("\n{}", self.goals_table().text(2));
        }
        text += &format!("\nprocessor time for each lock:\n{}", self.costs().text(2));
        text
    }
}

impl super::Machine {
    /// Facts that a reader must know before relying on the results.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.disk_is_memory {
            notes.push(
                "temporary folders are in memory here, so nothing was on a disk; set TMPDIR to a folder on a disk"
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
                "other processes used {:.0} % of this machine before the run; measure again on an idle machine",
                100.0 * busy
            ));
        }
        notes
    }
}
