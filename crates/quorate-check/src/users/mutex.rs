//! Users of a mutex: no user must request entry, and a user that is inside leaves.

use quorate_core::definition::mutex::{token_not_exceeded, two_inside};
use quorate_core::mutex::{Command, Output};
use quorate_core::{ProcessId, Property};

use super::Users;

/// Users of a mutex. Each may request entry several times, at any time, and leaves some time after it has entered.
#[derive(Clone, Debug)]
pub struct MutexUsers {
    /// Number of requests of each user.
    pub requests: Vec<u8>,
}

/// The user of a mutex at one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MutexUserState {
    /// Number of requests that it may still make.
    remaining: u8,
    phase: MutexPhase,
    /// The token of its last entry, if the algorithm has tokens.
    token: Option<u64>,
    /// Whether that token is not greater than its own earlier one.
    has_fallen: bool,
    /// Whether its process is down and may recover.
    suspended: bool,
}

const NEW: MutexUserState = MutexUserState {
    remaining: 0,
    phase: MutexPhase::Idle,
    token: None,
    has_fallen: false,
    suspended: false,
};

impl MutexUserState {
    fn is_in(&self, phase: MutexPhase) -> bool {
        self.phase == phase && !self.suspended
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum MutexPhase {
    Idle,
    Requesting,
    Inside,
}

impl Users for MutexUsers {
    type Command = Command;
    type Output = Output;
    type UserState = MutexUserState;

    fn initial_user(&self, process: ProcessId) -> MutexUserState {
        let remaining = self.requests[process.index()];
        MutexUserState { remaining, ..NEW }
    }

    /// No user must request entry, but a user that is inside must leave.
    fn next_command(&self, user: &MutexUserState) -> Option<(Command, bool)> {
        match user.phase {
            _ if user.suspended => None,
            MutexPhase::Idle if user.remaining > 0 => Some((Command::Acquire, false)),
            MutexPhase::Inside => Some((Command::Release, true)),
            MutexPhase::Idle | MutexPhase::Requesting => None,
        }
    }

    fn may_request(&self, user: &MutexUserState) -> bool {
        user.remaining > 0
    }

    fn on_command(&self, user: &mut MutexUserState, command: &Command) {
        match command {
            Command::Acquire => {
                user.remaining -= 1;
                user.phase = MutexPhase::Requesting;
            }
            Command::Release => user.phase = MutexPhase::Idle,
        }
    }

    fn on_output(&self, user: &mut MutexUserState, output: &Output) {
        match output {
            Output::Token(token) => {
                user.has_fallen |= token_not_exceeded(user.token, *token).is_some();
                user.token = Some(*token);
            }
            Output::Entered => user.phase = MutexPhase::Inside,
            // No quorum is left, and there will be none later.
            Output::NoQuorum => (user.remaining, user.phase) = (0, MutexPhase::Idle),
            Output::Expelled => user.phase = MutexPhase::Idle,
        }
    }

    /// All crashed users are equal.
    fn crashed(&self, _: &MutexUserState) -> MutexUserState {
        NEW
    }

    fn suspended(&self, user: &MutexUserState) -> Option<MutexUserState> {
        Some(MutexUserState { suspended: true, ..*user })
    }

    /// A user that was inside is inside again, unless its process reports otherwise.
    fn resumed(&self, user: &mut MutexUserState) {
        user.suspended = false;
    }

    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a MutexUserState> + Clone,
    ) -> Option<Property> {
        let inside = user_states.clone().filter(|user| user.is_in(MutexPhase::Inside));
        if two_inside(inside.clone()).is_some() {
            return Some(Property::ME1);
        }
        // The user that is inside has entered last.
        let holder = inside.clone().next()?;
        let others = user_states.filter(|user| !std::ptr::eq(*user, holder));
        let earlier = others.filter_map(|user| user.token);
        let is_exceeded = token_not_exceeded(earlier, holder.token?).is_some();
        (holder.has_fallen || is_exceeded).then_some(Property::Fencing)
    }

    fn is_waiting(&self, user: &MutexUserState) -> bool {
        user.is_in(MutexPhase::Requesting)
    }

    fn is_visible(&self, before: &MutexUserState, after: &MutexUserState) -> bool {
        before.is_in(MutexPhase::Inside) != after.is_in(MutexPhase::Inside)
    }

    fn is_satisfied(&self, user: &MutexUserState) -> bool {
        user.is_in(MutexPhase::Inside)
    }

    fn is_inside(&self, user: &MutexUserState) -> bool {
        user.is_in(MutexPhase::Inside)
    }

    fn starvation_property(&self) -> Property {
        Property::ME2
    }

    fn renamed(
        &self,
        user: &MutexUserState,
        _: &dyn Fn(ProcessId) -> ProcessId,
    ) -> Option<MutexUserState> {
        Some(*user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_inside_break_me1() {
        let users = MutexUsers { requests: vec![1; 2] };
        let mut states: Vec<_> = ProcessId::all(2).map(|id| users.initial_user(id)).collect();
        for state in &mut states {
            assert_eq!(users.broken([*state].iter()), None);
            users.on_command(state, &Command::Acquire);
            users.on_output(state, &Output::Entered);
        }
        assert_eq!(users.broken(states[..1].iter()), None);
        assert_eq!(users.broken(states.iter()), Some(Property::ME1));
        users.on_command(&mut states[0], &Command::Release);
        assert_eq!(users.broken(states.iter()), None);
    }

    #[test]
    fn a_token_that_is_not_greater_breaks_fencing() {
        let users = MutexUsers { requests: vec![2; 2] };
        let mut states: Vec<_> = ProcessId::all(2).map(|id| users.initial_user(id)).collect();
        let mut enter = |process: usize, token: u64| {
            users.on_command(&mut states[process], &Command::Acquire);
            users.on_output(&mut states[process], &Output::Token(token));
            users.on_output(&mut states[process], &Output::Entered);
            let broken = users.broken(states.iter());
            users.on_command(&mut states[process], &Command::Release);
            broken
        };
        assert_eq!([enter(0, 3), enter(1, 4)], [None; 2]);
        assert_eq!(enter(0, 4), Some(Property::Fencing), "p1 had 4");
        assert_eq!(enter(1, 4), Some(Property::Fencing), "p1 had 4 itself");
    }
}
