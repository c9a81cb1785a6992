//! Cost of an election according to the literature.

use quorate_core::election::Candidates;
use quorate_sim::Scenario;

use super::world::{Contender, Order, Starters};
use super::{Cell, Prediction};

/// Predicted number of messages of the algorithm in such a scenario. `drawn` is the mean value of the rule for the starters
/// that the seeds have drawn.
pub(super) fn messages(
    contender: &Contender,
    starters: Starters,
    order: Order,
    n: usize,
    drawn: Option<f64>,
) -> Prediction {
    use Order::{Best, Worst};
    use Starters::{All, One};
    let n = n as f64;
    let turns = n.log2().ceil();
    let exact = Prediction::exact;
    if let Some((formula, drawn)) = rule(contender).zip(drawn) {
        return exact(formula, drawn);
    }
    match (contender.algorithm, contender.rank_delay, starters, order) {
        ("chang-roberts", _, One, Best) => exact("2n", 2.0 * n),
        ("chang-roberts", _, One, Worst) | ("chang-roberts", _, All, Best) => {
            exact("3n - 1", 3.0 * n - 1.0)
        }
        ("chang-roberts", _, All, Worst) => exact("n(n + 3)/2", n * (n + 3.0) / 2.0),
        ("chang-roberts", _, All, _) => {
            Prediction::expected("n(H(n) + 1)", n * (harmonic(n) + 1.0))
        }
        ("list-ring", _, One, _) => exact("2n", 2.0 * n),
        ("list-ring", _, All, _) => exact("2n^2", 2.0 * n * n),
        ("hirschberg-sinclair", _, One, Best) => {
            exact("4(2^L - 1) + 3n", 4.0 * (turns.exp2() - 1.0) + 3.0 * n)
        }
        ("hirschberg-sinclair", ..) => Prediction::between(
            "4(2^L - 1) + 3n to 8n(1 + L) + n",
            4.0 * (turns.exp2() - 1.0) + 3.0 * n,
            8.0 * n * (1.0 + turns) + n,
        ),
        ("announce-all", ..) => exact("n(n - 1)", n * (n - 1.0)),
        ("bully", _, One, Best) | ("bully", true, All, _) => exact("n - 1", n - 1.0),
        ("bully", true, One, Worst) => exact("3(n - 1)", 3.0 * (n - 1.0)),
        ("bully", false, ..) => exact("n^2 - 1", n * n - 1.0),
        ("bully-all", _, One, Best) => exact("2(n - 1)", 2.0 * (n - 1.0)),
        ("bully-all", ..) => exact("(n - 1)(3n + 2)/2", (n - 1.0) * (3.0 * n + 2.0) / 2.0),
        _ => Prediction::between("no formula", 0.0, f64::INFINITY),
    }
}

/// Cost with one starter, with d steps to the greatest on the ring or h greater processes.
fn rule(contender: &Contender) -> Option<&'static str> {
    match (contender.algorithm, contender.rank_delay) {
        ("chang-roberts", _) => Some("d + 2n"),
        ("bully", false) => Some("h(h + 1) + n - 1"),
        ("bully", true) => Some("2h + n - 1"),
        ("bully-all", _) => Some("(h + 1)(n - 1) + h(h + 1)/2 + n - 1"),
        _ => None,
    }
}

/// Value of the rule for the starter of this scenario, if the seed has drawn it.
pub(super) fn by_rule(cell: &Cell, scenario: &Scenario) -> Option<f64> {
    rule(cell.contender)?;
    let starter = scenario.first_requests().first().map(|(process, _)| *process)?;
    if (cell.starters, cell.order) != (Starters::One, Order::Random) {
        return None;
    }
    let candidates = Candidates::new(cell.n, &scenario.ids);
    let greatest = candidates.ranking().first()?.process;
    let n = cell.n as f64;
    let steps = ((greatest.index() + cell.n - starter.index()) % cell.n) as f64;
    let above = candidates.above(starter).len() as f64;
    Some(match (cell.contender.algorithm, cell.contender.rank_delay) {
        ("chang-roberts", _) => steps + 2.0 * n,
        ("bully", false) => above * (above + 1.0) + n - 1.0,
        ("bully", true) => 2.0 * above + n - 1.0,
        _ => (above + 1.0) * (n - 1.0) + above * (above + 1.0) / 2.0 + n - 1.0,
    })
}

/// Maximum number of messages of a run, to tell which runs take long.
pub(super) fn most(cell: &Cell) -> u64 {
    messages(cell.contender, cell.starters, cell.order, cell.n, None).value.ends().1 as u64
}

/// Harmonic number: 1 + 1/2 + .. + 1/n.
fn harmonic(n: f64) -> f64 {
    (1..=n as u64).rev().map(|k| 1.0 / k as f64).sum()
}
