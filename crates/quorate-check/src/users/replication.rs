//! Users of a replicated log: each may submit several commands, and all check that they are applied as the algorithm promises.

use quorate_core::definition::replication::{
    Misstep, ReplicaView, command_breach, divergence, lacks, mismatch, owes_application,
    shared_term,
};
use quorate_core::replication::{Command, Output, command_value};
use quorate_core::{ProcessId, ProcessSet, Property};

use super::Users;

/// Commands that clients submit, and the promised properties.
///
/// Outputs of crashed replicas count, because a client may have seen them.
#[derive(Clone, Debug)]
pub struct ReplicationUsers {
    /// Number of commands that each client submits.
    pub requests: Vec<u8>,
    /// Properties that are checked.
    pub promised: Vec<Property>,
    /// Byzantine replicas. Nothing is expected of them.
    pub traitors: ProcessSet,
}

/// The client of one replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplicationUserState {
    id: u8,
    up: bool,
    honest: bool,
    submitted: u8,
    remaining: u8,
    view: ReplicaView,
    /// Violation that its own replica alone reveals.
    wrong: Option<Property>,
}

impl ReplicationUserState {
    fn is_live(&self) -> bool {
        self.up && self.honest
    }
}

impl ReplicationUsers {
    fn promises(&self, property: Property) -> bool {
        self.promised.contains(&property)
    }

    fn has_submitted(&self, user: &ReplicationUserState, value: u64) -> bool {
        let n = self.requests.len();
        (0..user.submitted).any(|number| command_value(n, user.id.into(), number.into()).0 == value)
    }

    /// The property that two replicas violate together.
    fn broken_pair(
        &self,
        one: &ReplicationUserState,
        other: &ReplicationUserState,
    ) -> Option<Property> {
        let (view, seen) = (&one.view, &other.view);
        let matching = || {
            let logs = (0..view.log.len()).any(|at| mismatch(&view.log, &seen.log, at).is_some());
            one.id < other.id && logs
        };
        let complete = || {
            let mut applied = seen.applied.iter().enumerate();
            applied.any(|(at, applied)| lacks(view, applied, at))
        };
        let rivals = || one.id < other.id && shared_term(view, seen).is_some();
        let diverge = || one.id < other.id && divergence(&view.applied, &seen.applied).is_some();
        let checks: [(Property, &dyn Fn() -> bool); 4] = [
            (Property::ElectionSafety, &rivals),
            (Property::LogMatching, &matching),
            (Property::LeaderCompleteness, &complete),
            (Property::StateMachineSafety, &diverge),
        ];
        let broken =
            checks.iter().find(|(property, is_broken)| self.promises(*property) && is_broken());
        broken.map(|(property, _)| *property)
    }
}

impl Users for ReplicationUsers {
    type Command = Command;
    type Output = Output;
    type UserState = ReplicationUserState;

    fn initial_user(&self, process: ProcessId) -> ReplicationUserState {
        ReplicationUserState {
            id: process.index() as u8,
            up: true,
            honest: !self.traitors.contains(process),
            submitted: 0,
            remaining: self.requests[process.index()],
            view: ReplicaView::default(),
            wrong: None,
        }
    }

    /// No client must submit, and no client waits for earlier commands.
    fn next_command(&self, user: &ReplicationUserState) -> Option<(Command, bool)> {
        let value = command_value(self.requests.len(), user.id.into(), user.submitted.into());
        (user.up && user.remaining > 0).then_some((Command::Submit(value), false))
    }

    fn on_command(&self, user: &mut ReplicationUserState, _: &Command) {
        user.remaining -= 1;
        user.submitted += 1;
    }

    fn on_output(&self, user: &mut ReplicationUserState, output: &Output) {
        if !user.honest {
            return;
        }
        let misstep = user.view.on_output(output).map(|misstep| match misstep {
            Misstep::LeaderRewrites => Property::LeaderAppendOnly,
            Misstep::OutOfOrder => Property::StateMachineSafety,
        });
        let repeated = match *output {
            Output::Applied { command: Some(value), .. } => {
                let applied = user.view.applied.iter();
                applied.filter(|applied| applied.command == Some(value)).count() > 1
            }
            _ => false,
        };
        // Whether the command was submitted depends on the other clients: `broken` checks it.
        let breach = command_breach(true, true, repeated).map(|_| Property::CommandIntegrity);
        let wrong = misstep.or(breach).filter(|property| self.promises(*property));
        user.wrong = user.wrong.or(wrong);
    }

    /// Clients know the terms that it led and the commands that it applied.
    fn crashed(&self, user: &ReplicationUserState) -> ReplicationUserState {
        let view = ReplicaView {
            led: user.view.led.clone(),
            applied: user.view.applied.clone(),
            ..ReplicaView::default()
        };
        ReplicationUserState { up: false, remaining: 0, view, ..user.clone() }
    }

    fn suspended(&self, user: &ReplicationUserState) -> Option<ReplicationUserState> {
        Some(ReplicationUserState { up: false, ..user.clone() })
    }

    fn resumed(&self, user: &mut ReplicationUserState) {
        user.up = true;
    }

    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a ReplicationUserState> + Clone,
    ) -> Option<Property> {
        if let Some(wrong) = user_states.clone().find_map(|user| user.wrong) {
            return Some(wrong);
        }
        let honest = || user_states.clone().filter(|user| user.honest);
        let pairs = honest().flat_map(|one| {
            let others = honest().filter(move |other| other.id != one.id);
            others.map(move |other| (one, other))
        });
        if let Some(broken) = { pairs }.find_map(|(one, other)| self.broken_pair(one, other)) {
            return Some(broken);
        }
        let all_honest = self.traitors.is_empty();
        let mut applied =
            honest().flat_map(|user| &user.view.applied).filter_map(|applied| applied.command);
        let invented = applied.any(|value| {
            let submitted = user_states.clone().any(|user| self.has_submitted(user, value.0));
            command_breach(submitted, all_honest, false).is_some()
        });
        let integrity = Property::CommandIntegrity;
        (invented && self.promises(integrity)).then_some(integrity)
    }

    fn broken_when_quiescent<'a>(
        &self,
        user_states: impl Iterator<Item = &'a ReplicationUserState> + Clone,
    ) -> Option<Property> {
        if !self.promises(Property::CommandLiveness) {
            return None;
        }
        let n = self.requests.len();
        let has = |user: &ReplicationUserState, value| {
            user.view.applied.iter().any(|applied| applied.command == Some(value))
        };
        let owed = user_states.clone().any(|submitter| {
            (0..submitter.submitted).any(|number| {
                let value = command_value(n, submitter.id.into(), number.into());
                let known = submitter.is_live()
                    || user_states.clone().any(|user| user.is_live() && has(user, value));
                user_states
                    .clone()
                    .any(|user| owes_application(known, user.is_live(), has(user, value)))
            })
        });
        owed.then_some(Property::CommandLiveness)
    }

    fn is_waiting(&self, user: &ReplicationUserState) -> bool {
        let own = |number: u8| command_value(self.requests.len(), user.id.into(), number.into());
        let has = |value| user.view.applied.iter().any(|applied| applied.command == Some(value));
        self.promises(Property::CommandLiveness)
            && user.is_live()
            && (0..user.submitted).any(|number| !has(own(number)))
    }

    /// Applied commands and led terms are permanent. Logs and leaders are not.
    fn is_visible(&self, before: &ReplicationUserState, after: &ReplicationUserState) -> bool {
        let deposed = before.view.leads && !after.view.leads;
        deposed
            || !after.view.log.starts_with(&before.view.log)
            || before.submitted != after.submitted
    }

    fn is_satisfied(&self, user: &ReplicationUserState) -> bool {
        user.honest && user.view.applied.iter().any(|applied| applied.command.is_some())
    }

    fn starvation_property(&self) -> Property {
        Property::CommandLiveness
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::agreement::Value;
    use quorate_core::replication::Entry;

    /// The property violated by these outputs, each at a process. Process 0 has submitted command 1.
    fn found(outputs: &[(usize, Output)], crashed: &[usize]) -> Option<Property> {
        found_with(ProcessSet::new(), outputs, crashed)
    }

    fn found_with(
        traitors: ProcessSet,
        outputs: &[(usize, Output)],
        crashed: &[usize],
    ) -> Option<Property> {
        let (requests, promised) = (vec![1; 3], Property::ALL.to_vec());
        let users = ReplicationUsers { requests, promised, traitors };
        let mut states: Vec<_> = ProcessId::all(3).map(|id| users.initial_user(id)).collect();
        let (command, _) = users.next_command(&states[0]).expect("it has one");
        users.on_command(&mut states[0], &command);
        for (process, output) in outputs {
            users.on_output(&mut states[*process], output);
        }
        for victim in crashed {
            states[*victim] = users.crashed(&states[*victim]);
        }
        let broken = users.broken(states.iter());
        broken.or_else(|| users.broken_when_quiescent(states.iter()))
    }

    fn applied(index: u64, value: u64) -> Output {
        Output::Applied { index, command: Some(Value(value)) }
    }

    fn appended(index: u64, term: u64, value: u64) -> Output {
        Output::Appended { index, entry: Entry { term, command: Some(Value(value)) } }
    }

    #[test]
    fn what_all_apply_is_right_and_what_one_lacks_is_missing() {
        let all: [(usize, Output); 3] = [0, 1, 2].map(|process| (process, applied(1, 1)));
        assert_eq!(found(&all, &[]), None);
        assert_eq!(found(&all[..2], &[]), Some(Property::CommandLiveness));
        assert_eq!(found(&all[..2], &[2]), None, "the dead owe nothing");
        assert_eq!(found(&[], &[0]), None, "a command may be lost with its replica");
    }

    #[test]
    fn an_applied_command_was_submitted_and_comes_once() {
        assert_eq!(found(&[(0, applied(1, 2))], &[]), Some(Property::CommandIntegrity));
        let twice = [(0, applied(1, 1)), (0, applied(2, 1))];
        assert_eq!(found(&twice, &[]), Some(Property::CommandIntegrity));
        assert_eq!(found(&[(0, applied(2, 1))], &[]), Some(Property::StateMachineSafety));
        let invented = [0, 1].map(|process| [(process, applied(1, 1)), (process, applied(2, 2))]);
        let liar = ProcessSet::from_iter([ProcessId::new(2)]);
        assert_eq!(found(&invented.concat(), &[]), Some(Property::CommandIntegrity));
        assert_eq!(found_with(liar, &invented.concat(), &[]), None, "a liar may have submitted it");
    }

    #[test]
    fn the_dead_have_applied_what_they_have_applied() {
        let differently = [(0, applied(1, 1)), (1, Output::Applied { index: 1, command: None })];
        assert_eq!(found(&differently, &[]), Some(Property::StateMachineSafety));
        assert_eq!(found(&differently, &[0]), Some(Property::StateMachineSafety));
    }

    #[test]
    fn terms_logs_and_leaders_are_compared() {
        let leads = |term| Output::Leads { term };
        assert_eq!(found(&[(0, leads(1)), (1, leads(1))], &[0]), Some(Property::ElectionSafety));
        let rewrites = [(0, leads(1)), (0, appended(1, 1, 1)), (0, Output::Truncated { from: 1 })];
        assert_eq!(found(&rewrites, &[]), Some(Property::LeaderAppendOnly));
        let replaces = [(0, leads(1)), (0, appended(1, 1, 1)), (0, appended(1, 1, 2))];
        assert_eq!(found(&replaces, &[]), Some(Property::LeaderAppendOnly));
        let differ = [(0, appended(1, 1, 1)), (1, appended(1, 1, 2))];
        assert_eq!(found(&differ, &[]), Some(Property::LogMatching));
        let incomplete = [(0, leads(1)), (0, appended(1, 1, 1)), (0, applied(1, 1)), (1, leads(2))];
        assert_eq!(found(&incomplete, &[]), Some(Property::LeaderCompleteness));
        assert_eq!(found(&incomplete, &[0]), Some(Property::LeaderCompleteness));
        assert_ne!(found(&incomplete, &[1]), Some(Property::LeaderCompleteness));
        let owed = Some(Property::CommandLiveness);
        let follower = [&incomplete[..3], &[(1, Output::Follows { term: 2 })]].concat();
        assert_eq!(found(&follower, &[]), owed, "a follower may lack it");
        let later = [(1, leads(1)), (0, leads(2)), (0, appended(1, 2, 1)), (0, applied(1, 1))];
        assert_eq!(found(&later, &[]), owed, "so may a leader of an earlier term");
        let terms = [(0, appended(1, 1, 1)), (1, appended(1, 2, 2))];
        assert_eq!(found(&terms, &[]), owed, "entries of different terms may differ");
    }
}
