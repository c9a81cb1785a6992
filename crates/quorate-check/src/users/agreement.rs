//! Users of an agreement: each has something to propose, once, and waits for what is decided.

use quorate_core::agreement::{Command, Decision, Matter, Output, Value};
use quorate_core::{ProcessId, Property};

use super::Users;

/// Who proposes what.
///
/// Correct is who does not crash. What those who are up have decided is judged as if nobody else would crash, with all
/// that was proposed and that will be: a crash that makes a difference is another step.
#[derive(Clone, Debug)]
pub struct AgreementUsers {
    /// What they are to agree on.
    pub matter: Matter,
    /// What each proposes; none if it has nothing to propose.
    pub values: Vec<Option<Value>>,
}

/// The user of an agreement at one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgreementPlace {
    /// What it has proposed or will propose.
    value: Option<Value>,
    proposed: bool,
    up: bool,
    decided: Option<Decision>,
    /// Whether it has decided something else later on.
    torn: bool,
}

impl AgreementPlace {
    /// What it has proposed, or will unless it crashes.
    fn proposal(&self) -> Option<Value> {
        self.value.filter(|_| self.proposed || self.up)
    }

    fn decision(&self) -> Option<&Decision> {
        self.decided.as_ref().filter(|_| self.up)
    }
}

impl AgreementUsers {
    /// Whether this decision of one that is up may be made.
    fn is_valid<'a>(
        &self,
        decision: &Decision,
        places: impl Iterator<Item = &'a AgreementPlace> + Clone,
    ) -> bool {
        let proposals = || places.clone().map(AgreementPlace::proposal);
        let mut of_correct = places
            .clone()
            .enumerate()
            .filter(|(_, place)| place.up)
            .filter_map(|(index, place)| place.proposal().map(|value| (index, value)));
        match (self.matter, decision) {
            (Matter::Proposal, Decision::Value(value)) => {
                proposals().flatten().any(|proposal| proposal == *value)
            }
            (Matter::Order, Decision::Value(value)) => of_correct.all(|(_, order)| order == *value),
            (Matter::Vector, Decision::Vector(entries)) => of_correct
                .all(|(index, value)| entries.get(index).copied().flatten() == Some(value)),
            (Matter::Vote, Decision::Value(value)) => {
                let all_for = proposals().all(|vote| vote == Some(Value::COMMIT));
                let hindered = places.clone().any(|place| !place.up);
                if *value == Value::COMMIT { all_for } else { !all_for || hindered }
            }
            _ => false,
        }
    }
}

impl Users for AgreementUsers {
    type Command = Command;
    type Output = Output;
    type Place = AgreementPlace;

    fn place(&self, process: ProcessId) -> AgreementPlace {
        let value = self.values[process.index()];
        AgreementPlace { value, proposed: false, up: true, decided: None, torn: false }
    }

    /// Who has something to propose does so some time.
    fn wish(&self, place: &AgreementPlace) -> Option<(Command, bool)> {
        let open = place.value.filter(|_| place.up && !place.proposed)?;
        Some((Command::Propose(open), true))
    }

    fn asked(&self, place: &mut AgreementPlace, _: &Command) {
        place.proposed = true;
    }

    fn told(&self, place: &mut AgreementPlace, output: &Output) {
        // One that is blocked goes on waiting.
        let Output::Decided(decision) = output else { return };
        match &place.decided {
            None => place.decided = Some(decision.clone()),
            Some(first) => place.torn |= first != decision,
        }
    }

    /// What it proposed may be decided by others.
    fn crashed(&self, place: &AgreementPlace) -> AgreementPlace {
        let value = place.value.filter(|_| place.proposed);
        AgreementPlace { value, proposed: value.is_some(), up: false, decided: None, torn: false }
    }

    fn broken<'a>(
        &self,
        places: impl Iterator<Item = &'a AgreementPlace> + Clone,
    ) -> Option<Property> {
        let mut decisions = places.clone().filter_map(AgreementPlace::decision);
        let first = decisions.next()?;
        let torn = places.clone().any(|place| place.up && place.torn);
        if torn || decisions.any(|other| other != first) {
            return Some(Property::Agreement);
        }
        (!self.is_valid(first, places)).then_some(Property::Validity)
    }

    fn broken_at_rest<'a>(
        &self,
        mut places: impl Iterator<Item = &'a AgreementPlace> + Clone,
    ) -> Option<Property> {
        let begun = places.clone().any(|place| place.proposed);
        let undecided = places.any(|place| place.up && place.decided.is_none());
        (begun && undecided).then_some(Property::Termination)
    }

    fn waits(&self, place: &AgreementPlace) -> bool {
        place.up && place.proposed && place.decided.is_none()
    }

    /// What is decided remains so.
    fn shows(&self, _: &AgreementPlace, _: &AgreementPlace) -> bool {
        false
    }

    fn is_pleased(&self, place: &AgreementPlace) -> bool {
        place.decided.is_some()
    }

    fn patience(&self) -> Property {
        Property::Termination
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Place = AgreementPlace;

    /// What users of a matter find: who has proposed, who has crashed then, and who has decided what.
    fn found(
        matter: Matter,
        values: [u64; 3],
        proposed: &[usize],
        crashed: &[usize],
        decided: &[(usize, u64)],
    ) -> Option<Property> {
        let values = values.map(|value| Some(Value(value))).to_vec();
        let users = AgreementUsers { matter, values };
        let make = |id| users.place(id);
        let mut places: Vec<Place> = ProcessId::all(3).map(make).collect();
        for process in proposed {
            let (command, will) = users.wish(&places[*process]).expect("it has not yet");
            assert!(will);
            users.asked(&mut places[*process], &command);
        }
        for victim in crashed {
            places[*victim] = users.crashed(&places[*victim]);
        }
        for (process, value) in decided {
            let output = Output::Decided(Decision::Value(Value(*value)));
            users.told(&mut places[*process], &output);
        }
        let broken = users.broken(places.iter());
        broken.or_else(|| users.broken_at_rest(places.iter()))
    }

    #[test]
    fn all_decide_once_and_the_same() {
        let matter = Matter::Proposal;
        let all = [0, 1, 2];
        assert_eq!(found(matter, [3, 2, 1], &all, &[], &[(0, 1), (1, 1), (2, 1)]), None);
        let two = [(0, 1), (1, 2)];
        assert_eq!(found(matter, [3, 2, 1], &all, &[], &two), Some(Property::Agreement));
        let torn = [(0, 1), (0, 2)];
        assert_eq!(found(matter, [3, 2, 1], &all, &[], &torn), Some(Property::Agreement));
        let late = [(0, 1), (1, 1)];
        assert_eq!(found(matter, [3, 2, 1], &all, &[], &late), Some(Property::Termination));
        assert_eq!(found(matter, [3, 2, 1], &all, &[2], &late), None);
    }

    #[test]
    fn what_is_decided_was_proposed_by_the_living_or_the_dead() {
        let matter = Matter::Proposal;
        let by_two = [(0, 1), (1, 1)];
        assert_eq!(found(matter, [3, 2, 1], &[0, 1, 2], &[2], &by_two), None);
        assert_eq!(found(matter, [3, 2, 1], &[0, 1], &[2], &by_two), Some(Property::Validity));
        let invented = [(0, 9), (1, 9), (2, 9)];
        assert_eq!(found(matter, [3, 2, 1], &[0, 1, 2], &[], &invented), Some(Property::Validity));
    }

    #[test]
    fn votes_decide_a_transaction() {
        let all = [0, 1, 2];
        let commit = [(0, 1), (1, 1), (2, 1)];
        let abort = [(0, 0), (1, 0), (2, 0)];
        assert_eq!(found(Matter::Vote, [1, 1, 1], &all, &[], &commit), None);
        assert_eq!(found(Matter::Vote, [1, 0, 1], &all, &[], &commit), Some(Property::Validity));
        assert_eq!(found(Matter::Vote, [1, 1, 1], &all, &[], &abort), Some(Property::Validity));
        assert_eq!(found(Matter::Vote, [1, 1, 1], &all, &[2], &abort[..2]), None);
        let unasked = found(Matter::Vote, [1, 1, 1], &all[..2], &[2], &commit[..2]);
        assert_eq!(unasked, Some(Property::Validity), "not everybody had voted");
    }
}
