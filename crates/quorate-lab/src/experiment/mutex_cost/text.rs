//! The tables for human readers.

use quorate_algorithms::literature::{MutexFigure, Prediction};

use super::load::{REPEAT, REQUESTS};
use super::{Compared, Row};
use crate::experiment::Block;
use crate::experiment::comparison::Comparison;
use crate::experiment::findings::figure;

pub(super) fn blocks(rows: &[Row]) -> Vec<Block> {
    let reasons = reasons(rows);
    vec![messages(rows, &reasons), delays(rows, &reasons), formulas(rows)]
}

fn messages(rows: &[Row], reasons: &[&str]) -> Block {
    let row = |row: &Row| {
        let (light, saturated) = (row.of(MutexFigure::Light), row.of(MutexFigure::Saturated));
        let mut cells = begin(row);
        cells.extend(beside(light, row.light.links, reasons));
        cells.extend(beside(saturated, row.saturated.links, reasons));
        cells
    };
    Block {
        title: "Messages per entry".to_owned(),
        head: vec![
            "algorithm",
            "over",
            " n",
            " light",
            " links",
            "",
            "formula",
            " saturated",
            " links",
            "",
            "formula",
        ],
        rows: rows.iter().map(row).collect(),
    }
}

fn delays(rows: &[Row], reasons: &[&str]) -> Block {
    let row = |row: &Row| {
        let (client, synchronisation) =
            (row.of(MutexFigure::Client), row.of(MutexFigure::Synchronisation));
        let mut cells = begin(row);
        for compared in [client, synchronisation] {
            cells.extend([
                measured(compared),
                sign(compared, reasons),
                predicted(&compared.prediction),
            ]);
        }
        cells.push(figure(row.saturated.busiest));
        cells
    };
    Block {
        title: "Delays in message delays, and the busiest process over the mean at saturation"
            .to_owned(),
        head: vec![
            "algorithm",
            "over",
            " n",
            " client",
            "",
            "formula",
            " sync.",
            "",
            "formula",
            " busiest",
        ],
        rows: rows.iter().map(row).collect(),
    }
}

/// The formulas themselves, once for each series. Only their values depend on n.
fn formulas(rows: &[Row]) -> Block {
    let mut known: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for row in rows {
        if known.contains(&row.series.label()) {
            continue;
        }
        known.push(row.series.label());
        let formula = |figure| row.of(figure).prediction.formula.to_string();
        let mut cells = begin(row);
        cells.truncate(2);
        cells.extend([formula(MutexFigure::Light), formula(MutexFigure::Saturated)]);
        lines.push(cells);
    }
    Block {
        title:
            "Formulas for messages per entry (K: size of a quorum, d: mean way through the tree)"
                .to_owned(),
        head: vec!["algorithm", "over", "light", "saturated"],
        rows: lines,
    }
}

pub(super) fn notes(rows: &[Row]) -> Vec<String> {
    let mut notes = vec![
        format!(
            "Light: {REQUESTS}n requests, one at a time, each of a process that the seed draws. Saturated: all ask \
             within the first message delay and again as soon as they have left, {REPEAT} times each."
        ),
        "Messages to oneself are in light and saturated, as in the formulas; links leaves them out. Message delays \
         are constant, and a message to oneself takes none. Load is the number of messages sent and received over \
         links."
            .to_owned(),
        "= the formula's number; in: within its range; ≈: the 95 % interval over the seeds contains it, which one in \
         twenty misses by chance; ≠: none of these, and a letter says why where that is known."
            .to_owned(),
    ];
    let reasons = reasons(rows);
    notes
        .extend(reasons.iter().enumerate().map(|(place, why)| format!("{}: {why}", letter(place))));
    notes
}

fn begin(row: &Row) -> Vec<String> {
    let over = row.series.over.unwrap_or("-").to_owned();
    vec![row.series.algorithm.to_owned(), over, row.n.to_string()]
}

fn beside(compared: &Compared, links: f64, reasons: &[&str]) -> [String; 4] {
    let sign = sign(compared, reasons);
    [measured(compared), figure(links), sign, predicted(&compared.prediction)]
}

/// All reasons without duplicates, in the order of the rows.
fn reasons(rows: &[Row]) -> Vec<&str> {
    let mut reasons: Vec<&str> = Vec::new();
    for figures in [
        [MutexFigure::Light, MutexFigure::Saturated],
        [MutexFigure::Client, MutexFigure::Synchronisation],
    ] {
        for reason in
            rows.iter().flat_map(|row| figures.map(|figure| row.of(figure).reason)).flatten()
        {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    reasons
}

fn letter(place: usize) -> char {
    char::from(b'a' + (place % 26) as u8)
}

/// Sign of the comparison, with the letter of the reason: `≠ a`.
fn sign(compared: &Compared, reasons: &[&str]) -> String {
    let place = compared.reason.and_then(|why| reasons.iter().position(|known| *known == why));
    let sign = compared.comparison.sign();
    place.map_or(sign.to_owned(), |place| format!("{sign} {}", letter(place)))
}

/// The measured figure, with more digits if it differs but would look equal.
fn measured(compared: &Compared) -> String {
    let short = figure(compared.measured);
    let (least, most) = compared.prediction.value.ends();
    let looks_equal = [least, most].iter().any(|end| figure(*end) == short);
    match compared.comparison {
        Comparison::Differs if looks_equal => format!("{:.5}", compared.measured),
        _ => short,
    }
}

fn predicted(prediction: &Prediction) -> String {
    let short = |value: f64| match value {
        value if value.is_infinite() => "inf".to_owned(),
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value => figure(value),
    };
    match prediction.value.ends() {
        (least, most) if least == most => short(least),
        (least, most) => format!("{}..{}", short(least), short(most)),
    }
}
