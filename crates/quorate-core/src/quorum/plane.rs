//! Finite projective planes: quorums of about sqrt(n) members, any two of which share exactly one member.
//!
//! Source: Maekawa, "A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems", ACM TOCS 3(2), 1985. For n =
//! k(k - 1) + 1 with k - 1 a prime power q there is a plane of order q whose lines are the shifts of one perfect
//! difference set (Singer, 1938): the exponents, modulo n, of the elements of trace zero in GF(q^3) over GF(q). Process
//! i uses the i-th shift.
//!
//! For any other n a plane of the next order is made degenerate: its lines for the first n processes, with each missing
//! member m replaced by m modulo n. Two lines still share what they shared before, and process i is still in its own
//! line. Sizes and degrees are then no longer all equal.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::{Coterie, QuorumSystem};
use crate::{ProcessId, ProcessSet};

/// The quorums of a projective plane over n processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plane {
    n: usize,
    /// Number of points of the plane, at least n.
    points: usize,
    /// A perfect difference set modulo `points` that contains 0.
    differences: Vec<usize>,
}

impl Plane {
    /// Creates the plane over n processes.
    pub fn new(n: usize) -> Self {
        let order = (1..).find(|&q| q * q + q + 1 >= n && (q == 1 || prime_power(q).is_some()));
        let order = order.unwrap_or(1);
        let points = order * order + order + 1;
        let differences = match prime_power(order) {
            // The plane of order 1 is the triangle.
            None => alloc::vec![0, 1],
            Some((prime, exponent)) => singer(prime, exponent),
        };
        Self { n, points, differences }
    }

    /// Returns `true` if n is the size of a plane, so that all quorums have the same size and all
    /// processes the same degree.
    pub fn is_regular(&self) -> bool {
        self.points == self.n
    }

    fn line(&self, process: ProcessId) -> impl Iterator<Item = ProcessId> {
        let members =
            self.differences.iter().map(move |step| (process.index() + step) % self.points);
        members.map(|point| ProcessId::from_index(point % self.n))
    }
}

impl QuorumSystem for Plane {
    fn name(&self) -> &'static str {
        "plane"
    }

    fn processes(&self) -> usize {
        self.n
    }

    /// The line of the process, or the next line without a failed member.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        let round =
            (0..self.n).map(|step| ProcessId::from_index((process.index() + step) % self.n));
        let mut live = round.filter(|owner| !self.line(*owner).any(|point| failed.contains(point)));
        live.next().map(|owner| self.line(owner).collect())
    }
}

impl Coterie for Plane {}

/// The prime and the exponent of a prime power. `None` if `q` is not a prime power.
fn prime_power(q: usize) -> Option<(usize, usize)> {
    let prime = (2..=q).find(|divisor| q.is_multiple_of(*divisor))?;
    let mut power = prime;
    let mut exponent = 1;
    while power < q {
        power *= prime;
        exponent += 1;
    }
    (power == q).then_some((prime, exponent))
}

/// The perfect difference set of the plane of order prime^exponent, shifted to contain 0.
fn singer(prime: usize, exponent: usize) -> Vec<usize> {
    let order = prime.pow(exponent as u32);
    let points = order * order + order + 1;
    let field = Field::new(prime, 3 * exponent);
    let mut traces = field.first_traces(order);
    let mut exponents = Vec::new();
    for power in 0..points {
        let next = field.next_trace(&traces);
        traces.push_back(next);
        if traces.pop_front().is_some_and(|trace| trace.iter().all(|&digit| digit == 0)) {
            exponents.push(power);
        }
    }
    let first = exponents[0];
    let mut differences: Vec<usize> =
        exponents.iter().map(|power| (power + points - first) % points).collect();
    differences.sort_unstable();
    differences
}

/// GF(prime^degree): polynomials over the integers modulo the prime, modulo a polynomial of which x is a
/// generator of the multiplicative group.
struct Field {
    prime: usize,
    degree: usize,
    /// x^degree in terms of lower powers.
    reduction: Vec<usize>,
}

type Element = Vec<usize>;

impl Field {
    fn new(prime: usize, degree: usize) -> Self {
        let size = prime.pow(degree as u32);
        let found = (1..size).find_map(|code| {
            let reduction = digits(code, prime, degree);
            let field = Self { prime, degree, reduction };
            field.is_generated_by_x(size - 1).then_some(field)
        });
        found.expect("every finite field has a primitive polynomial")
    }

    fn one(&self) -> Element {
        digits(1, self.prime, self.degree)
    }

    /// Returns `true` if the powers of x are all `group` non-zero elements.
    fn is_generated_by_x(&self, group: usize) -> bool {
        if self.reduction[0] == 0 {
            return false;
        }
        let mut x = alloc::vec![0; self.degree];
        x[1.min(self.degree - 1)] = 1;
        let one = self.one();
        self.power(&x, group) == one
            && (2..=group)
                .filter(|factor| {
                    group.is_multiple_of(*factor) && prime_power(*factor).is_some_and(|p| p.1 == 1)
                })
                .all(|factor| self.power(&x, group / factor) != one)
    }

    /// The traces over GF(order) of the powers of x below the degree.
    fn first_traces(&self, order: usize) -> VecDeque<Element> {
        let powers = core::iter::successors(Some(self.one()), |a| Some(self.times_generator(a)));
        let trace = |element: Element| {
            let conjugate = self.power(&element, order);
            let second = self.power(&conjugate, order);
            self.sum(&self.sum(&element, &conjugate), &second)
        };
        powers.take(self.degree).map(trace).collect()
    }

    /// The trace of the next power of x. Traces are linear, so they follow the recurrence of the powers.
    fn next_trace(&self, traces: &VecDeque<Element>) -> Element {
        let mut next = alloc::vec![0; self.degree];
        for (trace, reduced) in traces.iter().zip(&self.reduction) {
            for (place, digit) in next.iter_mut().zip(trace) {
                *place = (*place + reduced * digit) % self.prime;
            }
        }
        next
    }

    fn sum(&self, a: &Element, b: &Element) -> Element {
        a.iter().zip(b).map(|(a, b)| (a + b) % self.prime).collect()
    }

    fn times_generator(&self, a: &Element) -> Element {
        let carry = a[self.degree - 1];
        let shifted = core::iter::once(&0).chain(&a[..self.degree - 1]);
        shifted
            .zip(&self.reduction)
            .map(|(digit, reduced)| (digit + carry * reduced) % self.prime)
            .collect()
    }

    fn product(&self, a: &Element, b: &Element) -> Element {
        let mut product = alloc::vec![0; self.degree];
        for &digit in b.iter().rev() {
            product = self.times_generator(&product);
            for (place, a) in product.iter_mut().zip(a) {
                *place = (*place + digit * a) % self.prime;
            }
        }
        product
    }

    fn power(&self, a: &Element, mut exponent: usize) -> Element {
        let (mut result, mut square) = (self.one(), a.clone());
        while exponent > 0 {
            if exponent % 2 == 1 {
                result = self.product(&result, &square);
            }
            square = self.product(&square, &square);
            exponent /= 2;
        }
        result
    }
}

fn digits(mut code: usize, base: usize, count: usize) -> Vec<usize> {
    let mut digits = Vec::new();
    for _ in 0..count {
        digits.push(code % base);
        code /= base;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_plane_share_exactly_one_point() {
        for order in [1, 2, 3, 4, 5, 7, 8, 9, 11, 13] {
            let n = order * order + order + 1;
            let plane = Plane::new(n);
            assert!(plane.is_regular());
            let mut degrees = alloc::vec![0; n];
            for a in ProcessId::all(n) {
                let line: ProcessSet = plane.line(a).collect();
                assert!(line.contains(a) && line.len() == order + 1, "order {order}");
                line.iter().for_each(|member| degrees[member.index()] += 1);
                for b in ProcessId::all(n).filter(|&b| b != a) {
                    assert_eq!(
                        plane.line(b).filter(|b| line.contains(*b)).count(),
                        1,
                        "order {order}: {a} {b}"
                    );
                }
            }
            assert!(degrees.iter().all(|&degree| degree == order + 1));
        }
    }

    #[test]
    fn a_large_plane_does_not_take_long() {
        let plane = Plane::new(65_536);
        assert_eq!((plane.points, plane.differences.len()), (256 * 256 + 256 + 1, 257));
        let mut seen = alloc::vec![false; plane.points];
        for a in &plane.differences {
            for b in plane.differences.iter().filter(|b| *b != a) {
                let place = &mut seen[(a + plane.points - b) % plane.points];
                assert!(!*place, "each difference is there once");
                *place = true;
            }
        }
    }

    #[test]
    fn degenerate_planes_still_meet_and_contain_their_owners() {
        for n in 1..=60 {
            let plane = Plane::new(n);
            for a in ProcessId::all(n) {
                let line: ProcessSet = plane.line(a).collect();
                assert!(line.contains(a));
                let meets = |b: ProcessId| plane.line(b).any(|point| line.contains(point));
                assert!(ProcessId::all(n).all(meets), "n = {n}");
            }
        }
    }
}
