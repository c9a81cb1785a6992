//! What the literature says that an election costs.

use super::world::{Contender, Order, Starters};
use super::{Cell, Promise};

/// What the algorithm is said to send in such a world.
pub(super) fn messages(
    contender: &Contender,
    starters: Starters,
    order: Order,
    n: usize,
) -> Promise {
    use Order::{Any, Best, Random, Worst};
    use Starters::{All, One};
    let n = n as f64;
    let turns = n.log2().ceil();
    let exact = Promise::exact;
    match (contender.algorithm, contender.rank_delay, starters, order) {
        ("chang-roberts", _, One, Best) => exact("2n", 2.0 * n),
        ("chang-roberts", _, One, Worst) | ("chang-roberts", _, All, Best) => {
            exact("3n - 1", 3.0 * n - 1.0)
        }
        ("chang-roberts", _, One, _) => {
            Promise::expected("2n + (n - 1)/2", 2.0 * n + (n - 1.0) / 2.0)
        }
        ("chang-roberts", _, All, Worst) => exact("n(n + 3)/2", n * (n + 3.0) / 2.0),
        ("chang-roberts", _, All, _) => Promise::expected("n(H(n) + 1)", n * (harmonic(n) + 1.0)),
        ("list-ring", _, One, _) => exact("2n", 2.0 * n),
        ("list-ring", _, All, _) => exact("2n^2", 2.0 * n * n),
        ("hirschberg-sinclair", _, One, Best) => {
            exact("4(2^L - 1) + 3n", 4.0 * (turns.exp2() - 1.0) + 3.0 * n)
        }
        ("hirschberg-sinclair", ..) => Promise::between(
            "4(2^L - 1) + 3n to 8n(1 + L) + n",
            4.0 * (turns.exp2() - 1.0) + 3.0 * n,
            8.0 * n * (1.0 + turns) + n,
        ),
        ("announce-all", ..) => exact("n(n - 1)", n * (n - 1.0)),
        ("bully", _, One, Best) | ("bully", true, All, _) => exact("n - 1", n - 1.0),
        ("bully", true, One, Worst) => exact("3(n - 1)", 3.0 * (n - 1.0)),
        ("bully", true, One, Any | Random) => Promise::expected("2(n - 1)", 2.0 * (n - 1.0)),
        ("bully", false, One, Any | Random) => {
            Promise::expected("(n^2 - 1)/3 + n - 1", (n * n - 1.0) / 3.0 + n - 1.0)
        }
        ("bully", false, ..) => exact("n^2 - 1", n * n - 1.0),
        ("bully-all", _, One, Best) => exact("2(n - 1)", 2.0 * (n - 1.0)),
        ("bully-all", _, One, Any | Random) => {
            Promise::expected("(n - 1)(2n + 5)/3", (n - 1.0) * (2.0 * n + 5.0) / 3.0)
        }
        ("bully-all", ..) => exact("(n - 1)(3n + 2)/2", (n - 1.0) * (3.0 * n + 2.0) / 2.0),
        _ => Promise::between("no formula", 0.0, f64::INFINITY),
    }
}

/// The most that a run may send, to know which take long.
pub(super) fn most(cell: &Cell) -> u64 {
    messages(cell.contender, cell.starters, cell.order, cell.n).number.ends().1 as u64
}

/// 1 + 1/2 + .. + 1/n.
fn harmonic(n: f64) -> f64 {
    (1..=n as u64).rev().map(|k| 1.0 / k as f64).sum()
}
