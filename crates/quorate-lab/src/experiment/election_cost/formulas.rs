//! Cost of an election according to the literature, as the algorithm declares it.

use quorate_algorithms::literature::{Order, Prediction, StarterPosition, Starters};
use quorate_core::election::Candidates;
use quorate_sim::Scenario;

use super::Cell;
use super::world::Contender;

/// Predicted number of messages of the algorithm in such a scenario. `drawn` is the mean value of the rule for the starters
/// that the seeds have drawn.
pub(super) fn messages(
    contender: &Contender,
    starters: Starters,
    order: Order,
    n: usize,
    drawn: Option<f64>,
) -> Prediction {
    if let Some((rule, drawn)) = contender.costs.rule.zip(drawn) {
        return Prediction::exact(rule.formula, drawn);
    }
    (contender.costs.messages)(starters, order, n)
        .unwrap_or_else(|| Prediction::between("no formula", 0.0, f64::INFINITY))
}

/// Value of the rule for the starter of this scenario, if the seed has drawn it.
pub(super) fn by_rule(cell: &Cell, scenario: &Scenario) -> Option<f64> {
    let rule = cell.contender.costs.rule?;
    let starter = scenario.first_requests().first().map(|(process, _)| *process)?;
    if (cell.starters, cell.order) != (Starters::One, Order::Random) {
        return None;
    }
    let candidates = Candidates::new(cell.n, &scenario.ids);
    let greatest = candidates.ranking().first()?.process;
    Some((rule.messages)(StarterPosition {
        n: cell.n as f64,
        steps: ((greatest.index() + cell.n - starter.index()) % cell.n) as f64,
        above: candidates.above(starter).len() as f64,
    }))
}

/// Maximum number of messages of a run, to tell which runs take long.
pub(super) fn most(cell: &Cell) -> u64 {
    messages(cell.contender, cell.starters, cell.order, cell.n, None).value.ends().1 as u64
}
