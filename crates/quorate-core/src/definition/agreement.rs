//! Agreement: agreement, validity and termination.

use crate::agreement::{AgreementKind, Decision, Value};

/// State of one process that the properties depend on. Participants are in the order of process numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Its proposal, order or vote. The explorer counts proposals that the process will make unless it crashes.
    pub proposal: Option<Value>,
    /// Whether it neither crashes nor lies.
    pub correct: bool,
    /// Whether it does not lie. A process that crashes has told the truth, so its proposal may be decided.
    pub honest: bool,
}

/// Agreement: all correct processes decide the same. Returns the first decision and one that differs from it.
pub fn disagreement<T: PartialEq>(decisions: impl IntoIterator<Item = T>) -> Option<(T, T)> {
    let mut decisions = decisions.into_iter();
    let first = decisions.next()?;
    let other = decisions.find(|other| *other != first)?;
    Some((first, other))
}

/// Termination: once a process has proposed, every correct process decides. Tells whether this process still owes a decision.
pub fn owes_decision(begun: bool, correct: bool, decided: bool) -> bool {
    begun && correct && !decided
}

/// The reason why a decision is not valid. Numbers are those of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidity {
    /// This correct process proposed or ordered something else.
    Contradicts(usize),
    /// The decision is to commit, and this process voted to abort.
    VotedAgainst(usize),
    /// The decision is to commit, and a vote is missing.
    VoteMissing,
    /// The decision is to abort, although all processes are correct and voted to commit.
    NeedlessAbort,
    /// No process proposed the value, and none lies.
    NotProposed,
    /// All honest processes proposed this one value.
    NotUnanimous(Value),
    /// The decision is not of the kind that was to be agreed on.
    WrongKind,
}

/// Validity: what a correct process may decide, given what all processes proposed. Returns the reason if it may not.
pub fn invalidity(
    kind: AgreementKind,
    decision: &Decision,
    participants: impl Iterator<Item = Participant> + Clone,
) -> Option<Invalidity> {
    let proposals = || {
        let numbered = participants.clone().enumerate();
        numbered.filter_map(|(number, it)| it.proposal.map(|value| (number, it, value)))
    };
    let of_correct = || proposals().filter(|(_, it, _)| it.correct);
    match (kind, decision) {
        (AgreementKind::Order, Decision::Value(value)) => {
            let (number, ..) = of_correct().find(|(_, _, order)| order != value)?;
            Some(Invalidity::Contradicts(number))
        }
        (AgreementKind::Vector, Decision::Vector(entries)) => {
            let entry = |number: usize| entries.get(number).copied().flatten();
            let (number, ..) =
                of_correct().find(|(number, _, value)| entry(*number) != Some(*value))?;
            Some(Invalidity::Contradicts(number))
        }
        (AgreementKind::Vote, Decision::Value(value)) => {
            let against = proposals().find(|(_, _, vote)| *vote != Value::COMMIT);
            let all_voted = participants.clone().all(|it| it.proposal.is_some());
            let all_correct = participants.clone().all(|it| it.correct);
            match against {
                Some((number, ..)) if *value == Value::COMMIT => {
                    Some(Invalidity::VotedAgainst(number))
                }
                None if *value == Value::COMMIT && !all_voted => Some(Invalidity::VoteMissing),
                None if *value != Value::COMMIT && all_voted && all_correct => {
                    Some(Invalidity::NeedlessAbort)
                }
                _ => None,
            }
        }
        (AgreementKind::Proposal | AgreementKind::Bit, Decision::Value(value)) => {
            // A liar may have sent any value.
            let all_honest = participants.clone().all(|it| it.honest);
            if all_honest && !proposals().any(|(_, _, proposal)| proposal == *value) {
                return Some(Invalidity::NotProposed);
            }
            let of_honest = || proposals().filter(|(_, it, _)| it.honest);
            let (_, _, first) = of_honest().next()?;
            let unanimous = of_honest().all(|(_, _, proposal)| proposal == first);
            (unanimous && first != *value).then_some(Invalidity::NotUnanimous(first))
        }
        _ => Some(Invalidity::WrongKind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn judged(
        kind: AgreementKind,
        decision: u64,
        of: &[(Option<u64>, bool)],
    ) -> Option<Invalidity> {
        let participant = |(proposal, correct): &(Option<u64>, bool)| Participant {
            proposal: proposal.map(Value),
            correct: *correct,
            honest: true,
        };
        let participants = of.iter().map(participant);
        invalidity(kind, &Decision::Value(Value(decision)), participants)
    }

    #[test]
    fn the_first_difference_is_a_disagreement() {
        assert_eq!(disagreement([1, 1, 2, 3]), Some((1, 2)));
        assert_eq!(disagreement([1, 1]), None);
        assert_eq!(disagreement([0; 0]), None);
    }

    #[test]
    fn correct_processes_owe_a_decision_once_one_has_proposed() {
        assert!(owes_decision(true, true, false));
        assert!(!owes_decision(false, true, false));
        assert!(!owes_decision(true, false, false));
        assert!(!owes_decision(true, true, true));
    }

    #[test]
    fn a_commander_that_crashes_may_be_disobeyed() {
        let kind = AgreementKind::Order;
        assert_eq!(
            judged(kind, 0, &[(Some(1), true), (None, true)]),
            Some(Invalidity::Contradicts(0))
        );
        assert_eq!(judged(kind, 1, &[(Some(1), true), (None, true)]), None);
        assert_eq!(judged(kind, 0, &[(Some(1), false), (None, true)]), None);
    }

    #[test]
    fn a_commit_needs_all_votes_and_an_abort_needs_a_reason() {
        let kind = AgreementKind::Vote;
        let (yes, no) = ((Some(1), true), (Some(0), true));
        assert_eq!(judged(kind, 1, &[yes, yes]), None);
        assert_eq!(judged(kind, 1, &[yes, no]), Some(Invalidity::VotedAgainst(1)));
        assert_eq!(judged(kind, 1, &[yes, (None, true)]), Some(Invalidity::VoteMissing));
        assert_eq!(judged(kind, 0, &[yes, yes]), Some(Invalidity::NeedlessAbort));
        assert_eq!(judged(kind, 0, &[yes, (Some(1), false)]), None);
        assert_eq!(judged(kind, 0, &[yes, (None, true)]), None);
    }

    #[test]
    fn a_value_must_have_been_proposed() {
        let kind = AgreementKind::Proposal;
        assert_eq!(judged(kind, 2, &[(Some(1), true), (Some(2), false)]), None);
        assert_eq!(
            judged(kind, 3, &[(Some(1), true), (Some(2), true)]),
            Some(Invalidity::NotProposed)
        );
    }

    #[test]
    fn a_liar_cannot_outvote_honest_processes_that_agree() {
        let participants = [(1, true), (1, true), (0, false)].map(|(value, honest)| Participant {
            proposal: Some(Value(value)),
            correct: honest,
            honest,
        });
        let decided = |value| {
            let decision = Decision::Value(Value(value));
            invalidity(AgreementKind::Proposal, &decision, participants.iter().copied())
        };
        assert_eq!(decided(1), None);
        assert_eq!(decided(0), Some(Invalidity::NotUnanimous(Value(1))));
    }

    #[test]
    fn a_vector_has_the_values_of_all_correct_processes() {
        let participants = [(5, true), (6, false)].map(|(value, correct)| Participant {
            proposal: Some(Value(value)),
            correct,
            honest: true,
        });
        let decided = |entries| {
            let decision = Decision::Vector(entries);
            invalidity(AgreementKind::Vector, &decision, participants.iter().copied())
        };
        assert_eq!(decided(vec![Some(Value(5)), None]), None);
        assert_eq!(decided(vec![Some(Value(6)), None]), Some(Invalidity::Contradicts(0)));
        assert_eq!(decided(vec![None]), Some(Invalidity::Contradicts(0)));
        let value = Decision::Value(Value(5));
        let found = invalidity(AgreementKind::Vector, &value, participants.iter().copied());
        assert_eq!(found, Some(Invalidity::WrongKind));
    }
}
