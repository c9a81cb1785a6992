//! Users of an agreement: each may propose a value, once, and waits for the decision.

use quorate_core::agreement::{AgreementKind, Command, Decision, Output, Value};
use quorate_core::definition::agreement::{Participant, disagreement, invalidity, owes_decision};
use quorate_core::{ProcessId, ProcessSet, Property};

use super::Users;

/// Values that users propose.
///
/// A process is correct if it does not crash. Decisions of the processes that are up are checked as if no other
/// process would crash, against all values that were proposed and will be proposed. A crash that makes a
/// difference is a separate step.
#[derive(Clone, Debug)]
pub struct AgreementUsers {
    /// Kind of agreement to reach.
    pub agreement_kind: AgreementKind,
    /// Value that each user proposes; `None` if it has nothing to propose.
    pub values: Vec<Option<Value>>,
    /// Whether a process that has recovered must decide like the others. Otherwise it counts as faulty.
    pub binds_recovered: bool,
    /// Whether termination is checked.
    pub must_decide: bool,
    /// Byzantine processes. Nothing is expected of them.
    pub traitors: ProcessSet,
}

/// The user of an agreement at one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgreementUserState {
    /// Value that it has proposed or will propose.
    value: Option<Value>,
    proposed: bool,
    up: bool,
    /// Whether it has recovered from a crash.
    recovered: bool,
    /// Whether nothing is expected of it because it has recovered.
    exempt: bool,
    honest: bool,
    decided: Option<Decision>,
    /// Whether it has later decided something else.
    changed_decision: bool,
}

impl AgreementUserState {
    /// Value that it has proposed, or will propose unless it crashes.
    fn proposal(&self) -> Option<Value> {
        self.value.filter(|_| self.proposed || self.up)
    }

    /// Whether it has to decide, and to decide the same as others.
    fn is_bound(&self) -> bool {
        self.up && self.honest && !self.exempt
    }

    fn decision(&self) -> Option<&Decision> {
        self.decided.as_ref().filter(|_| self.is_bound())
    }
}

impl AgreementUserState {
    fn participant(&self) -> Participant {
        let correct = self.up && self.honest && !self.recovered;
        Participant { proposal: self.proposal(), correct, honest: self.honest }
    }
}

impl Users for AgreementUsers {
    type Command = Command;
    type Output = Output;
    type UserState = AgreementUserState;

    fn initial_user(&self, process: ProcessId) -> AgreementUserState {
        let value = self.values[process.index()];
        AgreementUserState {
            value,
            proposed: false,
            up: true,
            recovered: false,
            exempt: false,
            honest: !self.traitors.contains(process),
            decided: None,
            changed_decision: false,
        }
    }

    /// A user that has a value to propose must propose it eventually.
    fn next_command(&self, user: &AgreementUserState) -> Option<(Command, bool)> {
        let open = user.value.filter(|_| user.up && !user.proposed)?;
        Some((Command::Propose(open), true))
    }

    fn on_command(&self, user: &mut AgreementUserState, _: &Command) {
        user.proposed = true;
    }

    fn on_output(&self, user: &mut AgreementUserState, output: &Output) {
        // A blocked process continues to wait.
        let Output::Decided(decision) = output else { return };
        match &user.decided {
            None => user.decided = Some(decision.clone()),
            Some(first) => user.changed_decision |= first != decision,
        }
    }

    /// Others may decide the value that it proposed.
    fn crashed(&self, user: &AgreementUserState) -> AgreementUserState {
        let value = user.value.filter(|_| user.proposed);
        AgreementUserState {
            value,
            proposed: value.is_some(),
            up: false,
            recovered: false,
            exempt: false,
            honest: user.honest,
            decided: None,
            changed_decision: false,
        }
    }

    fn suspended(&self, user: &AgreementUserState) -> Option<AgreementUserState> {
        Some(AgreementUserState { up: false, ..user.clone() })
    }

    fn resumed(&self, user: &mut AgreementUserState) {
        (user.up, user.recovered, user.exempt) = (true, true, !self.binds_recovered);
    }

    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a AgreementUserState> + Clone,
    ) -> Option<Property> {
        let decisions = user_states.clone().filter_map(AgreementUserState::decision);
        let changed_decision =
            user_states.clone().any(|user| user.is_bound() && user.changed_decision);
        if changed_decision || disagreement(decisions.clone()).is_some() {
            return Some(Property::Agreement);
        }
        // All decisions are equal.
        let first = decisions.into_iter().next()?;
        let participants = user_states.map(AgreementUserState::participant);
        invalidity(self.agreement_kind, first, participants).map(|_| Property::Validity)
    }

    fn broken_when_quiescent<'a>(
        &self,
        mut user_states: impl Iterator<Item = &'a AgreementUserState> + Clone,
    ) -> Option<Property> {
        let begun = self.must_decide && user_states.clone().any(|user| user.proposed);
        let undecided = |user: &AgreementUserState| {
            owes_decision(begun, user.is_bound(), user.decided.is_some())
        };
        user_states.any(undecided).then_some(Property::Termination)
    }

    fn is_waiting(&self, user: &AgreementUserState) -> bool {
        self.must_decide && user.is_bound() && user.proposed && user.decided.is_none()
    }

    /// A decision is permanent, and so is a violation.
    fn is_visible(&self, _: &AgreementUserState, _: &AgreementUserState) -> bool {
        false
    }

    fn is_satisfied(&self, user: &AgreementUserState) -> bool {
        user.honest && user.decided.is_some()
    }

    fn starvation_property(&self) -> Property {
        Property::Termination
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type UserState = AgreementUserState;

    /// The property violated after these processes have proposed, crashed and decided.
    fn found(
        agreement_kind: AgreementKind,
        values: [u64; 3],
        proposed: &[usize],
        crashed: &[usize],
        decided: &[(usize, u64)],
    ) -> Option<Property> {
        let values = values.map(|value| Some(Value(value))).to_vec();
        let (binds_recovered, must_decide, traitors) = (true, true, ProcessSet::new());
        let users =
            AgreementUsers { agreement_kind, values, binds_recovered, must_decide, traitors };
        let make = |id| users.initial_user(id);
        let mut user_states: Vec<UserState> = ProcessId::all(3).map(make).collect();
        for process in proposed {
            let (command, must) =
                users.next_command(&user_states[*process]).expect("it has not yet");
            assert!(must);
            users.on_command(&mut user_states[*process], &command);
        }
        for victim in crashed {
            user_states[*victim] = users.crashed(&user_states[*victim]);
        }
        for (process, value) in decided {
            let output = Output::Decided(Decision::Value(Value(*value)));
            users.on_output(&mut user_states[*process], &output);
        }
        let broken = users.broken(user_states.iter());
        broken.or_else(|| users.broken_when_quiescent(user_states.iter()))
    }

    #[test]
    fn all_decide_once_and_the_same() {
        let agreement_kind = AgreementKind::Proposal;
        let all = [0, 1, 2];
        assert_eq!(found(agreement_kind, [3, 2, 1], &all, &[], &[(0, 1), (1, 1), (2, 1)]), None);
        let two = [(0, 1), (1, 2)];
        assert_eq!(found(agreement_kind, [3, 2, 1], &all, &[], &two), Some(Property::Agreement));
        let changed_decision = [(0, 1), (0, 2)];
        assert_eq!(
            found(agreement_kind, [3, 2, 1], &all, &[], &changed_decision),
            Some(Property::Agreement)
        );
        let late = [(0, 1), (1, 1)];
        assert_eq!(found(agreement_kind, [3, 2, 1], &all, &[], &late), Some(Property::Termination));
        assert_eq!(found(agreement_kind, [3, 2, 1], &all, &[2], &late), None);
    }

    #[test]
    fn what_is_decided_was_proposed_by_the_living_or_the_dead() {
        let agreement_kind = AgreementKind::Proposal;
        let by_two = [(0, 1), (1, 1)];
        assert_eq!(found(agreement_kind, [3, 2, 1], &[0, 1, 2], &[2], &by_two), None);
        assert_eq!(
            found(agreement_kind, [3, 2, 1], &[0, 1], &[2], &by_two),
            Some(Property::Validity)
        );
        let invented = [(0, 9), (1, 9), (2, 9)];
        assert_eq!(
            found(agreement_kind, [3, 2, 1], &[0, 1, 2], &[], &invented),
            Some(Property::Validity)
        );
    }

    #[test]
    fn a_commander_is_obeyed_and_termination_begins_with_a_proposal() {
        let all = [0, 1, 2];
        let attack = [(0, 1), (1, 1), (2, 1)];
        let retreat = [(0, 0), (1, 0), (2, 0)];
        let kind = AgreementKind::Order;
        assert_eq!(found(kind, [1, 1, 1], &all, &[], &attack), None);
        assert_eq!(found(kind, [1, 1, 1], &all, &[], &retreat), Some(Property::Validity));
        assert_eq!(found(AgreementKind::Proposal, [3, 2, 1], &[], &[], &[]), None);
    }

    #[test]
    fn votes_decide_a_transaction() {
        let all = [0, 1, 2];
        let commit = [(0, 1), (1, 1), (2, 1)];
        let abort = [(0, 0), (1, 0), (2, 0)];
        assert_eq!(found(AgreementKind::Vote, [1, 1, 1], &all, &[], &commit), None);
        assert_eq!(
            found(AgreementKind::Vote, [1, 0, 1], &all, &[], &commit),
            Some(Property::Validity)
        );
        assert_eq!(
            found(AgreementKind::Vote, [1, 1, 1], &all, &[], &abort),
            Some(Property::Validity)
        );
        assert_eq!(found(AgreementKind::Vote, [1, 1, 1], &all, &[2], &abort[..2]), None);
        let unasked = found(AgreementKind::Vote, [1, 1, 1], &all[..2], &[2], &commit[..2]);
        assert_eq!(unasked, Some(Property::Validity), "not everybody had voted");
    }
}
