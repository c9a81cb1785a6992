//! Chart of three panels, with a bar for each service and setting.

use quorate_draw::chart::{Bar, Bars, Panel};

use super::{Figure, ServiceComparison, ServiceRow};
use crate::format::{number, time};

impl ServiceComparison {
    /// Renders the chart as an SVG file.
    pub fn chart(&self) -> String {
        let rows = self.rows();
        let panel = |heading: &str, figure: Figure| Panel {
            heading: heading.to_owned(),
            bars: rows.iter().map(|row| bar(row, figure)).collect(),
        };
        let panels = vec![
            panel("Uncontended lock, median in microseconds: less is better", Figure::AloneHalf),
            panel(
                "16 clients, each with its own lock, locks per second: more is better",
                Figure::Apart,
            ),
            panel("8 clients and one lock, hand-offs per second: more is better", Figure::HandOffs),
        ];
        let described = panels.iter().map(|panel| {
            let bars = panel.bars.iter().map(|bar| format!("{}: {}", bar.label, bar.value_label));
            format!("{}. {}.", panel.heading, bars.collect::<Vec<_>>().join("; "))
        });
        let description = described.collect::<Vec<_>>().join(" ");
        let title = "Locks on one machine".to_owned();
        Bars { title, description, panels }.svg()
    }
}

fn bar(row: &ServiceRow<'_>, figure: Figure) -> Bar {
    let value = figure.of(row);
    let formatted = |value| if figure.less_is_better() { time(value) } else { number(value) };
    let missing = if row.absent.is_some() { "missing" } else { "not measured" };
    Bar {
        label: row.title(),
        highlighted: row.peer.is_none(),
        value,
        value_label: value.map_or_else(|| missing.to_owned(), formatted),
    }
}
