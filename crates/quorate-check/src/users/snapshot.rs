//! Users of a snapshot: each may transfer money and begin snapshots, and all check the recorded states.

use quorate_core::definition::snapshot::{Ledger, begun, incomplete, inconsistency, wrong_channel};
use quorate_core::snapshot::{Command, Output, SnapshotId};
use quorate_core::{ProcessId, Property};

use super::Users;

/// Commands that users may issue, and the promised properties.
#[derive(Clone, Debug)]
pub struct SnapshotUsers {
    /// Commands of each user, in order.
    pub commands: Vec<Vec<Command>>,
    /// Initial balance of each account.
    pub balances: Vec<u64>,
    /// Properties that are checked.
    pub promised: Vec<Property>,
}

/// The user of a snapshot at one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SnapshotUserState {
    id: u8,
    /// Number of commands that it has issued.
    issued: u8,
    ledger: Ledger,
    /// Whether the process has completed a snapshot.
    satisfied: bool,
}

impl SnapshotUsers {
    fn promises(&self, property: Property) -> bool {
        self.promised.contains(&property)
    }
}

fn ledgers<'a>(user_states: impl Iterator<Item = &'a SnapshotUserState>) -> Vec<&'a Ledger> {
    user_states.map(|user| &user.ledger).collect()
}

impl Users for SnapshotUsers {
    type Command = Command;
    type Output = Output;
    type UserState = SnapshotUserState;

    fn initial_user(&self, process: ProcessId) -> SnapshotUserState {
        let balance = self.balances[process.index()] as i64;
        let id = process.index() as u8;
        SnapshotUserState { id, issued: 0, ledger: Ledger::new(balance), satisfied: false }
    }

    /// No user must do anything. So every beginning of the computation is also judged as a whole one.
    fn next_command(&self, user: &SnapshotUserState) -> Option<(Command, bool)> {
        let command = self.commands[usize::from(user.id)].get(usize::from(user.issued));
        command.filter(|_| user.ledger.live).map(|command| (*command, false))
    }

    fn on_command(&self, user: &mut SnapshotUserState, command: &Command) {
        user.issued += 1;
        user.ledger.on_command(command);
    }

    fn on_output(&self, user: &mut SnapshotUserState, output: &Output) {
        user.ledger.on_output(output);
        user.satisfied |= matches!(output, Output::Completed { .. });
    }

    /// Others may have recorded what it sent.
    fn crashed(&self, user: &SnapshotUserState) -> SnapshotUserState {
        let mut crashed = user.clone();
        crashed.ledger.live = false;
        crashed
    }

    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a SnapshotUserState> + Clone,
    ) -> Option<Property> {
        let ledgers = ledgers(user_states);
        let all = begun(&ledgers);
        let is_inconsistent = |snapshot: &SnapshotId| inconsistency(&ledgers, *snapshot).is_some();
        if self.promises(Property::ConsistentCut) && all.iter().any(is_inconsistent) {
            return Some(Property::ConsistentCut);
        }
        let is_wrong = |snapshot: &SnapshotId| wrong_channel(&ledgers, *snapshot).is_some();
        let wrong = self.promises(Property::ChannelState) && all.iter().any(is_wrong);
        wrong.then_some(Property::ChannelState)
    }

    fn broken_when_quiescent<'a>(
        &self,
        user_states: impl Iterator<Item = &'a SnapshotUserState> + Clone,
    ) -> Option<Property> {
        let ledgers = ledgers(user_states);
        let is_open = |snapshot: &SnapshotId| !incomplete(&ledgers, *snapshot).is_empty();
        let open =
            self.promises(Property::SnapshotTermination) && begun(&ledgers).iter().any(is_open);
        open.then_some(Property::SnapshotTermination)
    }

    /// Nothing circulates forever, so a snapshot that is not complete is found when nothing is left to happen.
    fn is_waiting(&self, _: &SnapshotUserState) -> bool {
        false
    }

    /// A recorded state is permanent, and so is a violation.
    fn is_visible(&self, _: &SnapshotUserState, _: &SnapshotUserState) -> bool {
        false
    }

    fn is_satisfied(&self, user: &SnapshotUserState) -> bool {
        user.satisfied
    }

    fn starvation_property(&self) -> Property {
        Property::SnapshotTermination
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::snapshot::Transfer;

    use super::*;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    /// The property violated after p0 has sent one coin and begun a snapshot, and the processes have produced these outputs.
    fn found(outputs: &[(usize, Output)]) -> Option<Property> {
        let users = SnapshotUsers {
            commands: vec![
                vec![Command::Transfer { to: p(1), amount: 1 }, Command::Record],
                vec![],
            ],
            balances: vec![10, 10],
            promised: Property::ALL.to_vec(),
        };
        let mut user_states: Vec<SnapshotUserState> =
            ProcessId::all(2).map(|id| users.initial_user(id)).collect();
        for _ in 0..2 {
            let (command, must) = users.next_command(&user_states[0]).expect("one is left");
            assert!(!must);
            users.on_command(&mut user_states[0], &command);
        }
        assert_eq!(users.next_command(&user_states[0]), None);
        for (process, output) in outputs {
            users.on_output(&mut user_states[*process], output);
        }
        let broken = users.broken(user_states.iter());
        broken.or_else(|| users.broken_when_quiescent(user_states.iter()))
    }

    #[test]
    fn cuts_channels_and_completion_are_judged() {
        let snapshot = SnapshotId { initiator: p(0), number: 0 };
        let coin = Transfer { id: 0, amount: 1 };
        let recorded = |balance| Output::Recorded { snapshot, balance };
        let channel =
            |from, transfers| Output::RecordedChannel { snapshot, from: p(from), transfers };
        let completed = || Output::Completed { snapshot };
        let received = || Output::Received { from: p(0), transfer: coin };
        let right = [
            (0, recorded(9)),
            (1, recorded(10)),
            (1, received()),
            (1, channel(0, vec![coin])),
            (1, completed()),
            (0, channel(1, vec![])),
            (0, completed()),
        ];
        assert_eq!(found(&right), None);
        assert_eq!(found(&right[..6]), Some(Property::SnapshotTermination));
        let missing = [(0, recorded(9)), (1, recorded(10)), (1, channel(0, vec![]))];
        assert_eq!(found(&missing), Some(Property::ChannelState));
        assert_eq!(found(&[(0, recorded(10))]), Some(Property::ConsistentCut), "it has sent one");
    }
}
