//! The history of the lock, checked by an independent linearizability tester: stateright's.
//!
//! An acquisition takes effect between its request and its answer. The end of a claim may take effect at any time from then
//! on. The tester searches for an order in which an ordinary lock would have given the same answers. The search is
//! exponential, so that the tester gets only a few claims at a time. Between two parts the holder of the lock is known, so
//! that no earlier step can come later: cutting there excludes no order.

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

use crate::history::LockClaim;

/// Number of claims that are checked at a time.
const PART: usize = 6;

/// Specification of a lock: whether it is held, and the last token.
#[derive(Clone, Debug, Default)]
struct LockSpec {
    held: bool,
    last: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Acquire,
    /// Release by the client that was granted the first token. The second token is the greatest that it received.
    Release(u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ret {
    Granted(u64),
    Done,
}

impl SequentialSpec for LockSpec {
    type Op = Op;
    type Ret = Ret;

    fn invoke(&mut self, op: &Op) -> Ret {
        match op {
            // The specification does not choose the token. Only grants that a client received are checked.
            Op::Acquire => Ret::Done,
            Op::Release(token, greatest) => {
                if *token == self.last {
                    *self = Self { held: false, last: *greatest };
                }
                Ret::Done
            }
        }
    }

    fn is_valid_step(&mut self, op: &Op, ret: &Ret) -> bool {
        match (op, ret) {
            (Op::Acquire, Ret::Granted(token)) if !self.held && *token > self.last => {
                *self = Self { held: true, last: *token };
                true
            }
            (Op::Release(..), Ret::Done) => {
                self.invoke(op);
                true
            }
            _ => false,
        }
    }
}

/// A step of one thread of the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TesterStep {
    Return(u64),
    Release(u64, u64),
    Ask,
}

/// The parts of a history, given in order of start, that no lock could have produced.
pub(crate) fn problems(claims: &[LockClaim]) -> Vec<String> {
    let mut broken = Vec::new();
    for first in (0..claims.len()).step_by(PART) {
        let part = &claims[first..claims.len().min(first + PART)];
        let before = first.checked_sub(1).map(|last| claims[last]);
        if !is_lock_history(before, part) {
            broken.push(format!(
                "no order of the {} claims from token {} on is a valid history of a lock",
                part.len(),
                part[0].token
            ));
        }
    }
    broken
}

/// Whether a lock could have produced this part, given the claim before it.
fn is_lock_history(before: Option<LockClaim>, part: &[LockClaim]) -> bool {
    let mut steps = Vec::new();
    let from = before.map_or(0, |before| before.start);
    for (thread, claim) in part.iter().enumerate() {
        steps.push((claim.asked.max(from), TesterStep::Ask, thread + 1));
        steps.push((claim.start, TesterStep::Return(claim.token), thread + 1));
        steps.push((claim.end, TesterStep::Release(claim.token, claim.greatest), thread + 1));
    }
    let release = |before: LockClaim| TesterStep::Release(before.token, before.greatest);
    steps.extend(before.map(|before| (before.end, release(before), 0)));
    // Within the same microsecond, an end may have been before a grant.
    steps.sort_by_key(|(time, step, thread)| {
        (*time, !matches!(step, TesterStep::Release(..)), *step, *thread)
    });
    let last = before.map_or(0, |before| before.token);
    let mut tester = LinearizabilityTester::new(LockSpec { held: before.is_some(), last });
    for (_, step, thread) in steps {
        let accepted = match step {
            TesterStep::Ask => tester.on_invoke(thread, Op::Acquire),
            TesterStep::Return(token) => tester.on_return(thread, Ret::Granted(token)),
            TesterStep::Release(token, greatest) => {
                tester.on_invoke(thread, Op::Release(token, greatest))
            }
        };
        if accepted.is_err() {
            return false;
        }
    }
    tester.is_consistent()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::ClaimEnding;

    fn claim(token: u64, asked: u64, start: u64, end: u64) -> LockClaim {
        LockClaim {
            worker: token as usize,
            token,
            greatest: token,
            asked,
            start,
            end,
            assumed: end,
            ending: ClaimEnding::Freed,
        }
    }

    #[test]
    fn a_long_history_of_turns_is_a_locks() {
        let claims: Vec<LockClaim> =
            (1..40).map(|turn| claim(turn, turn / 2, 10 * turn, 10 * turn + 9)).collect();
        assert_eq!(problems(&claims), Vec::<String>::new());
    }

    #[test]
    fn two_at_once_are_no_locks_wherever_they_are() {
        for wrong in 0..38 {
            let mut claims: Vec<LockClaim> =
                (1..40).map(|turn| claim(turn, 0, 10 * turn, 10 * turn + 9)).collect();
            claims[wrong].end += 5;
            assert_eq!(problems(&claims).len(), 1, "claim {wrong}");
        }
    }

    #[test]
    fn a_token_that_comes_again_is_no_locks() {
        assert_eq!(problems(&[claim(3, 0, 10, 20), claim(3, 0, 30, 40)]).len(), 1);
        assert_eq!(problems(&[claim(3, 0, 10, 20), claim(2, 0, 30, 40)]).len(), 1);
        let grown = LockClaim { greatest: 5, ..claim(3, 0, 10, 20) };
        assert_eq!(problems(&[grown, claim(5, 0, 30, 40)]).len(), 1, "not greater than 5");
        assert_eq!(problems(&[grown, claim(6, 0, 30, 40)]).len(), 0);
    }
}
