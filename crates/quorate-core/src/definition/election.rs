//! Elections: E1, safety, and E2, liveness.

use crate::ProcessId;
use crate::election::Identifier;

/// E1: a process that was up throughout the election must not be passed over. Tells whether electing `leader` passes over
/// `other`.
pub fn passes_over(leader: Identifier, other: Identifier) -> bool {
    other > leader
}

/// E1, once nothing is left to happen: all live processes that have decided follow the same leader. Returns two different leaders.
pub fn rival_leaders(
    leaders: impl IntoIterator<Item = ProcessId>,
) -> Option<(ProcessId, ProcessId)> {
    let mut leaders = leaders.into_iter();
    let first = leaders.next()?;
    let other = leaders.find(|other| *other != first)?;
    Some((first, other))
}

/// E2: once a live process has learnt of an election, every live process follows a leader that is up. Tells whether a live process
/// with this leader does not.
pub fn lacks_leader(leader: Option<ProcessId>, is_up: impl FnOnce(ProcessId) -> bool) -> bool {
    !leader.is_some_and(is_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_greater_process_is_passed_over() {
        let identifier = |value, process| Identifier { value, process: ProcessId::new(process) };
        assert!(passes_over(identifier(5, 0), identifier(7, 1)));
        assert!(
            passes_over(identifier(5, 0), identifier(5, 1)),
            "equal values: the process decides"
        );
        assert!(!passes_over(identifier(5, 0), identifier(5, 0)));
        assert!(!passes_over(identifier(5, 0), identifier(3, 1)));
    }

    #[test]
    fn live_processes_follow_one_leader_that_is_up() {
        let [p0, p1] = [0, 1].map(ProcessId::new);
        assert_eq!(rival_leaders([p1, p1]), None);
        assert_eq!(rival_leaders([p1, p0, p1]), Some((p1, p0)));
        assert!(lacks_leader(None, |_| true));
        assert!(lacks_leader(Some(p1), |process| process == p0));
        assert!(!lacks_leader(Some(p1), |process| process == p1));
    }
}
