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

    /// An event at a process.
    #[derive(Clone)]
    enum Step {
        Command(Command),
        Output(Output),
        Crash,
    }

    const SNAPSHOT: SnapshotId = SnapshotId { initiator: ProcessId::new(0), number: 0 };

    /// The property violated after these steps of two processes with 10 coins each.
    fn found_after(steps: &[(usize, Step)]) -> Option<Property> {
        let (commands, balances) = (vec![vec![]; 2], vec![10; 2]);
        let users = SnapshotUsers { commands, balances, promised: Property::ALL.to_vec() };
        let mut user_states: Vec<SnapshotUserState> =
            ProcessId::all(2).map(|id| users.initial_user(id)).collect();
        for (process, step) in steps {
            let user = &mut user_states[*process];
            match step {
                Step::Command(command) => users.on_command(user, command),
                Step::Output(output) => users.on_output(user, output),
                Step::Crash => *user = users.crashed(user),
            }
        }
        let broken = users.broken(user_states.iter());
        broken.or_else(|| users.broken_when_quiescent(user_states.iter()))
    }

    fn begins() -> (usize, Step) {
        (0, Step::Command(Command::Record))
    }

    /// Process 0 transfers coins to process 1.
    fn transfers(amount: u64) -> (usize, Step) {
        (0, Step::Command(Command::Transfer { to: p(1), amount }))
    }

    /// Process 1 receives coins of process 0.
    fn receives(id: u64, amount: u64) -> (usize, Step) {
        (1, Step::Output(Output::Received { from: p(0), transfer: Transfer { id, amount } }))
    }

    fn records(process: usize, balance: i64) -> (usize, Step) {
        (process, Step::Output(Output::Recorded { snapshot: SNAPSHOT, balance }))
    }

    /// A process records the state of the channel from the other process, and completes.
    fn completes(process: usize, in_flight: &[(u64, u64)]) -> [(usize, Step); 2] {
        let transfers = in_flight.iter().map(|(id, amount)| Transfer { id: *id, amount: *amount });
        let (snapshot, from) = (SNAPSHOT, ProcessId::from_index(1 - process));
        let channel = Output::RecordedChannel { snapshot, from, transfers: transfers.collect() };
        [channel, Output::Completed { snapshot }].map(|output| (process, Step::Output(output)))
    }

    #[test]
    fn cuts_and_channels_depend_on_the_order_of_events() {
        let whole = |steps: &[(usize, Step)], in_flight: &[(u64, u64)]| {
            found_after(&[steps, &completes(0, &[]), &completes(1, in_flight)].concat())
        };
        let orphan = [begins(), records(0, 10), transfers(1), receives(0, 1), records(1, 11)];
        assert_eq!(whole(&orphan, &[]), Some(Property::ConsistentCut));
        let received = [transfers(1), begins(), records(0, 9), receives(0, 1), records(1, 11)];
        assert_eq!(whole(&received, &[]), None);
        let sent_later = [begins(), records(0, 10), records(1, 10), transfers(1), receives(0, 1)];
        assert_eq!(whole(&sent_later, &[]), None);
        assert_eq!(whole(&sent_later, &[(0, 1)]), Some(Property::ChannelState));
        let both = [transfers(1), transfers(2), begins(), records(0, 7), records(1, 10)];
        let overtaken = [&both[..], &[receives(1, 2), receives(0, 1)]].concat();
        assert_eq!(whole(&overtaken, &[(1, 2), (0, 1)]), None, "in the order of arrival");
    }

    #[test]
    fn live_processes_complete_a_snapshot_that_was_begun() {
        let missing = Some(Property::SnapshotTermination);
        assert_eq!(found_after(&[begins()]), missing, "no process has recorded its state");
        assert_eq!(found_after(&[begins(), (0, Step::Crash)]), None);
        let other = [begins(), records(1, 10), (0, Step::Crash)];
        assert_eq!(found_after(&other), missing, "p1 has begun its part");
        assert_eq!(found_after(&[&other[..], &completes(1, &[])].concat()), None);
        let completed = (0, Step::Output(Output::Completed { snapshot: SNAPSHOT }));
        let no_channel = [begins(), records(0, 10), records(1, 10), completed];
        let no_channel = [&no_channel[..], &completes(1, &[])].concat();
        assert_eq!(found_after(&no_channel), missing, "p0 has not recorded a channel");
        let alone = [begins(), records(0, 10), no_channel[3].clone(), (1, Step::Crash)];
        assert_eq!(found_after(&alone), None);
    }
}
