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
