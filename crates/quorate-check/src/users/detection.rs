//! Users of a computation that is observed: they make its steps, and check that announcements are true and not missing.

use quorate_core::definition::detection::{Situation, holds, unannounced};
use quorate_core::detection::{Command, Output, StableProperty};
use quorate_core::{ProcessId, Property};
use quorate_sim::{DetectionUser, ScriptedUser as _};

use super::Users;

/// Steps that users make, and the promised properties.
#[derive(Clone, Debug)]
pub struct DetectionUsers {
    /// The property that is detected.
    pub property: StableProperty,
    /// Commands of each user, in order.
    pub commands: Vec<Vec<Command>>,
    /// Properties that are checked.
    pub promised: Vec<Property>,
}

impl DetectionUsers {
    fn promises(&self, property: Property) -> bool {
        self.promised.contains(&property)
    }
}

fn situations<'a>(user_states: impl Iterator<Item = &'a DetectionUser>) -> Vec<&'a Situation> {
    user_states.map(DetectionUser::situation).collect()
}

impl Users for DetectionUsers {
    type Command = Command;
    type Output = Output;
    type UserState = DetectionUser;

    fn initial_user(&self, process: ProcessId) -> DetectionUser {
        DetectionUser::new(self.property, self.commands[process.index()].clone())
    }

    /// Users follow their scripts to the end.
    fn next_command(&self, user: &DetectionUser) -> Option<(Command, bool)> {
        user.next_command().map(|command| (command, true))
    }

    fn on_command(&self, user: &mut DetectionUser, command: &Command) {
        user.on_command(command);
    }

    fn on_output(&self, user: &mut DetectionUser, output: &Output) {
        user.on_output(output);
    }

    fn crashed(&self, user: &DetectionUser) -> DetectionUser {
        let mut crashed = user.clone();
        crashed.crash();
        crashed
    }

    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a DetectionUser> + Clone,
    ) -> Option<Property> {
        if !self.promises(Property::NoFalseDetection) {
            return None;
        }
        let situations = situations(user_states);
        let mut announced = ProcessId::all(situations.len())
            .filter(|process| situations[process.index()].has_announced());
        let is_false = |process| !holds(self.property, &situations, process);
        announced.any(is_false).then_some(Property::NoFalseDetection)
    }

    fn broken_when_quiescent<'a>(
        &self,
        user_states: impl Iterator<Item = &'a DetectionUser> + Clone,
    ) -> Option<Property> {
        let missing = || unannounced(self.property, &situations(user_states)).is_some();
        (self.promises(Property::EventualDetection) && missing())
            .then_some(Property::EventualDetection)
    }

    /// Whether the process must still announce the end of a computation.
    fn is_waiting(&self, user: &DetectionUser) -> bool {
        self.promises(Property::EventualDetection) && user.situation().owes_announcement()
    }

    /// A false announcement may become true, by any step of the computation.
    fn is_visible(&self, before: &DetectionUser, after: &DetectionUser) -> bool {
        before.situation() != after.situation()
    }

    fn is_satisfied(&self, user: &DetectionUser) -> bool {
        user.situation().has_announced()
    }

    fn starvation_property(&self) -> Property {
        Property::EventualDetection
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    /// The property violated after these processes have issued their next commands, and then produced these outputs.
    fn found(
        property: StableProperty,
        commands: [Vec<Command>; 3],
        issued: &[usize],
        outputs: &[(usize, Output)],
    ) -> Option<Property> {
        let promised = Property::ALL.to_vec();
        let users = DetectionUsers { property, commands: commands.to_vec(), promised };
        let mut user_states: Vec<DetectionUser> =
            ProcessId::all(3).map(|id| users.initial_user(id)).collect();
        for process in issued {
            let (command, must) = users.next_command(&user_states[*process]).expect("one is left");
            assert!(must);
            users.on_command(&mut user_states[*process], &command);
        }
        for (process, output) in outputs {
            users.on_output(&mut user_states[*process], output);
        }
        let broken = users.broken(user_states.iter());
        broken.or_else(|| users.broken_when_quiescent(user_states.iter()))
    }

    #[test]
    fn the_end_of_a_computation_is_announced_and_not_before() {
        let sends = || [vec![Command::Start, Command::Send(p(1))], vec![], vec![]];
        let found = |issued: &[usize], outputs: &[(usize, Output)]| {
            found(StableProperty::Termination, sends(), issued, outputs)
        };
        let announced = (0, Output::Announced);
        let received = (1, Output::Received(p(0)));
        assert_eq!(found(&[0], slice::from_ref(&announced)), Some(Property::NoFalseDetection));
        // A user that has come to the end of its script rests.
        let in_flight = [0, 0, 0];
        assert_eq!(
            found(&in_flight, slice::from_ref(&announced)),
            Some(Property::NoFalseDetection)
        );
        let active = [received, announced.clone()];
        assert_eq!(found(&in_flight, &active), Some(Property::NoFalseDetection));
        let alone = |issued: &[usize], outputs: &[(usize, Output)]| {
            let commands = [vec![Command::Start], vec![], vec![]];
            self::found(StableProperty::Termination, commands, issued, outputs)
        };
        assert_eq!(alone(&[0, 0], &[announced]), None);
        assert_eq!(alone(&[0, 0], &[]), Some(Property::EventualDetection));
    }

    #[test]
    fn deadlocks_are_cycles_or_knots() {
        let wait = |on: &[u32]| vec![Command::Wait(on.iter().copied().map(p).collect())];
        let waits = || [wait(&[1, 2]), wait(&[0]), wait(&[1])];
        let found = |property, issued: &[usize], by: &[usize]| {
            let outputs: Vec<_> = by.iter().map(|process| (*process, Output::Announced)).collect();
            found(property, waits(), issued, &outputs)
        };
        let and = StableProperty::AndDeadlock;
        assert_eq!(found(and, &[0, 1], &[0]), None);
        assert_eq!(found(and, &[0, 1], &[]), Some(Property::EventualDetection));
        assert_eq!(found(and, &[0, 1], &[2]), Some(Property::NoFalseDetection));
        let or = StableProperty::OrDeadlock;
        assert_eq!(found(or, &[0, 1], &[]), None, "p2 may send");
        assert_eq!(found(or, &[0, 1], &[0]), Some(Property::NoFalseDetection));
        assert_eq!(found(or, &[0, 1, 2], &[1]), None);
        assert_eq!(found(or, &[0, 1, 2], &[]), Some(Property::EventualDetection));
    }

    /// An event at a process.
    enum Step {
        Command(Command),
        Output(Output),
        Crash,
    }

    /// The property violated after these steps of three processes.
    fn found_after(property: StableProperty, steps: Vec<(usize, Step)>) -> Option<Property> {
        let promised = Property::ALL.to_vec();
        let users = DetectionUsers { property, commands: vec![Vec::new(); 3], promised };
        let mut user_states: Vec<DetectionUser> =
            ProcessId::all(3).map(|id| users.initial_user(id)).collect();
        for (process, step) in steps {
            let user = &mut user_states[process];
            match step {
                Step::Command(command) => users.on_command(user, &command),
                Step::Output(output) => users.on_output(user, &output),
                Step::Crash => *user = users.crashed(user),
            }
        }
        let broken = users.broken(user_states.iter());
        broken.or_else(|| users.broken_when_quiescent(user_states.iter()))
    }

    fn does(process: usize, command: Command) -> (usize, Step) {
        (process, Step::Command(command))
    }

    fn sees(process: usize, output: Output) -> (usize, Step) {
        (process, Step::Output(output))
    }

    fn waits(process: usize, on: &[u32]) -> (usize, Step) {
        does(process, Command::Wait(on.iter().copied().map(p).collect()))
    }

    #[test]
    fn a_computation_ends_once_its_messages_have_arrived_or_are_lost() {
        let after = |more: Vec<(usize, Step)>| {
            let sent = [Command::Start, Command::Send(p(1)), Command::Rest];
            let sent = sent.map(|command| does(0, command)).into_iter();
            found_after(StableProperty::Termination, sent.chain(more).collect())
        };
        let announced = || sees(0, Output::Announced);
        let received = || sees(1, Output::Received(p(0)));
        assert_eq!(after(vec![received(), does(1, Command::Rest), announced()]), None);
        assert_eq!(after(vec![]), Some(Property::EventualDetection), "the message is lost");
        assert_eq!(after(vec![received(), (1, Step::Crash), announced()]), None);
        assert_eq!(after(vec![(0, Step::Crash)]), None, "the dead announce nothing");
    }

    #[test]
    fn cycles_and_knots_are_judged_with_what_is_in_flight() {
        let and = |steps| found_after(StableProperty::AndDeadlock, steps);
        let announced = |process| sees(process, Output::Announced);
        let false_detection = Some(Property::NoFalseDetection);
        let cycle = || vec![waits(0, &[1]), waits(1, &[0]), waits(2, &[0])];
        let outside = cycle().into_iter().chain([announced(0), announced(2)]).collect();
        assert_eq!(and(outside), false_detection, "p2 waits for a cycle");
        let crash = cycle().into_iter().chain([(1, Step::Crash)]).collect();
        assert_eq!(and(crash), None, "the dead wait for no process");
        let granted = |on: &[u32], arrival: Option<(usize, Step)>| {
            let grants = [sees(1, Output::Requested(p(0))), does(1, Command::Grant)];
            let before = [waits(0, on)].into_iter().chain(grants).chain(arrival);
            and(before.chain([waits(1, &[0]), announced(0)]).collect())
        };
        assert_eq!(granted(&[1], None), false_detection, "the grant is in flight");
        let arrival = sees(0, Output::Received(p(1)));
        assert_eq!(granted(&[1, 2], Some(arrival)), false_detection, "p0 waits for p2 alone");
        let chain = vec![waits(0, &[1]), waits(1, &[2]), waits(2, &[0]), announced(0)];
        assert_eq!(and(chain), None);
        let or = |steps| found_after(StableProperty::OrDeadlock, steps);
        let knot = || [waits(0, &[1]), waits(1, &[0]), announced(1)];
        assert_eq!(or(knot().into()), None);
        let saved = [does(1, Command::Send(p(0)))].into_iter().chain(knot()).collect();
        assert_eq!(or(saved), false_detection, "a message is in flight");
    }
}
