//! Figures 5.3 and 5.4, with separate markers for the printed values, and the same figures without failures.

use quorate_draw::chart::{Axis, Chart, Line};
use quorate_sim::scenario::Requesters;

use super::super::crashes::Failures;
use super::{Row, Variant};

const GENERATORS: [&str; 3] = ["grid", "tree", "vcube"];

pub(super) fn charts(rows: &[Row]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (requesters, figure, who) in [
        (Requesters::One, "Figure 5.3", "one requester"),
        (Requesters::All, "Figure 5.4", "everyone requests"),
    ] {
        for (failures, source, how_many) in [
            (
                Failures::None,
                if figure == "Figure 5.3" { "Table 5.1" } else { "Table 5.2" },
                "no failure",
            ),
            (Failures::One, figure, "one failure"),
            (Failures::Half, figure, "half of the processes fail"),
        ] {
            let title = format!("{source}: messages per entry, {who}, {how_many}");
            let name =
                format!("{source}-{}", how_many.replace(" of the processes fail", "-failed"));
            charts.push(Chart {
                name: name.to_lowercase().replace([' ', '.'], "-"),
                description: format!(
                    "{title}. A line for each quorum system, unbroken for the published algorithm and dashed for ours, \
                     and a hollow marker for each printed value. The legend is in the order of the right-hand ends."
                ),
                title,
                x: Axis::log("processes"),
                y: Axis::log("messages per entry"),
                lines: lines(rows, requesters, failures),
            });
        }
    }
    charts
}

fn lines(rows: &[Row], requesters: Requesters, failures: Failures) -> Vec<Line> {
    let mut lines = Vec::new();
    for (group, generator) in GENERATORS.into_iter().enumerate() {
        let of = |variant: Variant| {
            rows.iter().filter(move |row| {
                row.variant == variant
                    && row.printed.generator == generator
                    && row.printed.requesters == requesters
                    && row.printed.failures == failures
            })
        };
        let mut line = |label: &str, variant, points: Vec<(f64, f64)>| {
            lines.push(Line { label: format!("{generator}, {label}"), group, variant, points });
        };
        let measured = |variant| -> Vec<(f64, f64)> {
            of(variant).filter_map(|row| Some((row.n as f64, row.mean()?))).collect()
        };
        let printed = of(Variant::Published)
            .filter_map(|row| Some((row.n as f64, f64::from(row.printed_mean()?))));
        line("published", 0, measured(Variant::Published));
        line("ours", 1, measured(Variant::Ours));
        line("printed", Line::POINTS, printed.collect());
    }
    lines
}
