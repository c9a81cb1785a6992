//! The tables for human readers.

use quorate_algorithms::literature::{Prediction, Starters};

use super::Row;
use super::crash::{CRASH, CrashRow, WATCHED};
use super::world::{RANK_DELAYS, contenders};
use crate::experiment::Block;
use crate::experiment::findings::figure;

pub(super) fn blocks(rows: &[Row], crashes: &[CrashRow]) -> Vec<Block> {
    vec![cost(rows), formulas(rows), growth(rows), crash(crashes)]
}

fn cost(rows: &[Row]) -> Block {
    let row = |row: &Row| {
        vec![
            row.contender.label(),
            row.starters.name().to_owned(),
            row.order.name().to_owned(),
            row.n.to_string(),
            whole(row.messages),
            row.comparison.sign().to_owned(),
            number(&row.prediction),
            whole(row.bytes),
            figure(row.time),
        ]
    };
    // Every third doubling is sufficient to show the growth; the last size of each case is shown too.
    let shown = |row: &&Row| {
        let last = rows.iter().filter(|other| same(other, row)).map(|other| other.n).max();
        row.n.ilog2().is_multiple_of(3) || last == Some(row.n)
    };
    Block {
        title: "Messages, bytes and time of one election".to_owned(),
        head: vec![
            "algorithm",
            "begun by",
            "order",
            " n",
            " messages",
            "",
            " formula",
            " bytes",
            " delays",
        ],
        rows: rows.iter().filter(shown).map(row).collect(),
    }
}

/// The formulas themselves, once for each case. Only their values depend on n.
fn formulas(rows: &[Row]) -> Block {
    let first = |row: &&Row| !rows.iter().any(|other| same(other, row) && other.n < row.n);
    let row = |row: &Row| {
        vec![
            row.contender.label(),
            row.starters.name().to_owned(),
            row.order.name().to_owned(),
            row.prediction.formula.to_string(),
        ]
    };
    Block {
        title: "Formulas for messages".to_owned(),
        head: vec!["algorithm", "begun by", "order", "formula"],
        rows: rows.iter().filter(first).map(row).collect(),
    }
}

/// Exponents of n by which messages, bytes and time grow between the two largest sizes.
fn growth(rows: &[Row]) -> Block {
    let mut lines = Vec::new();
    for row in rows {
        let half = rows.iter().find(|other| same(other, row) && other.n * 2 == row.n);
        let last = !rows.iter().any(|other| same(other, row) && other.n > row.n);
        if let Some(half) = half.filter(|_| last) {
            let power = |now: f64, before: f64| format!("{:.2}", (now / before).log2());
            lines.push(vec![
                row.contender.label(),
                row.starters.name().to_owned(),
                row.order.name().to_owned(),
                format!("{} to {}", half.n, row.n),
                power(row.messages, half.messages),
                power(row.bytes, half.bytes),
                power(row.time, half.time),
                figure(row.messages / (row.n as f64 * (row.n as f64).log2())),
            ]);
        }
    }
    Block {
        title: "Growth: the power of n by which each grows at the largest sizes, and messages / (n log2 n)"
            .to_owned(),
        head: vec![
            "algorithm", "begun by", "order", "from n", " messages", " bytes", " delays", " / n log2 n",
        ],
        rows: lines,
    }
}

fn crash(rows: &[CrashRow]) -> Block {
    let row = |row: &CrashRow| {
        vec![
            row.rival.label().to_owned(),
            row.detector.to_string(),
            row.n.to_string(),
            row.pairs.to_string(),
            row.messages.to_string(),
            figure(row.detector_rate),
            figure(row.time),
        ]
    };
    Block {
        title: format!(
            "The leader crashes: bully and detector-leader side by side ({WATCHED} message delays at most)"
        ),
        head: vec![
            "algorithm",
            "detector",
            " n",
            " pairs to watch",
            " election",
            " detector/delay",
            " delays",
        ],
        rows: rows.iter().map(row).collect(),
    }
}

pub(super) fn notes(up_to: usize) -> Vec<String> {
    let mut notes = vec![
        "L: log2 n rounded up; H(n): 1 + 1/2 + .. + 1/n; d: steps from the starter to the greatest; h: number of \
         processes greater than the starter."
            .to_owned(),
        "= the formula's number; in: within its range; ≈: the 95 % interval over the seeds contains it, which one in \
         twenty misses by chance; ≠: none of these. Message delays are constant; delays counts them from the \
         beginning to the last decision."
            .to_owned(),
        "Order: for the rings, the order of identifiers, best ascending, worst descending; with one starter, best is \
         the greatest and worst the smallest, behind the greatest on the ring. Random: the seed draws both. For \
         hirschberg-sinclair we know no order that is worse than a random one; the maximum of its formula is the \
         bound of its paper."
            .to_owned(),
        format!(
            "Delay by rank: a bully waits {RANK_DELAYS} message delays for each process of higher rank. This saves \
             messages and costs time."
        ),
    ];
    notes.extend(not_run(up_to));
    notes.extend([
        format!(
            "After the crash of the leader at {CRASH}: election counts the messages that the crash added, \
             detector/delay the messages of the detector in one message delay, delays the time until every process \
             follows the next in rank. The oracle reports a crash after one message delay and sends nothing."
        ),
        "bully: mixes failure detection with the election. Each process has to monitor only those with greater \
         identifiers, half of the pairs; a crash costs an election, n(n - 2) messages if all notice at once. The \
         first process that notices is enough: over the VCube, which notifies one process after the other, a bully \
         is done before all know."
            .to_owned(),
        "detector-leader: simple and modular, no message of its own and no delay beyond the detector's. But every \
         process has to be monitored by every other, whether it could lead or not, and while the detector is wrong \
         there are several leaders."
            .to_owned(),
    ]);
    notes
}

/// Names the sizes that were requested but would take too long or too much memory.
fn not_run(up_to: usize) -> Option<String> {
    let mut left_out: Vec<String> = Vec::new();
    for contender in contenders() {
        for starters in [Starters::One, Starters::All] {
            let reach = contender.reaches(starters);
            let all = contender.reaches(Starters::One) == contender.reaches(Starters::All);
            if reach < up_to && !(all && starters == Starters::All) {
                let who = if all { "" } else { " begun by all" };
                left_out.push(format!("{}{who} beyond {reach}", contender.label()));
            }
        }
    }
    (!left_out.is_empty()).then(|| {
        format!(
            "Not run, as messages or lists to remember grow with n^2: {}. --up-to chooses the largest n.",
            left_out.join("; ")
        )
    })
}

fn same(one: &Row, other: &Row) -> bool {
    std::ptr::eq(one.contender, other.contender)
        && (one.starters, one.order) == (other.starters, other.order)
}

fn whole(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn number(prediction: &Prediction) -> String {
    match prediction.value.ends() {
        (least, most) if least == most => whole(least),
        (least, most) => format!("{}..{}", whole(least), whole(most)),
    }
}
