//! Users of an election: each may start several elections, and all want one leader, the greatest process that is up.

use quorate_core::definition::election::{lacks_leader, passes_over, rival_leaders};
use quorate_core::election::{Command, Identifier, Output};
use quorate_core::{ProcessId, Property};

use super::Users;

/// Elections that users start, and the identifiers of the candidates.
///
/// No identifier changes here. So E1 reduces to this: when a process names a leader, no greater process is up that has
/// never crashed; and when the system is quiescent, all processes that are up name the same leader. Whether a process that
/// has recovered was noticed in time is left to the simulator.
#[derive(Clone, Debug)]
pub struct ElectionUsers {
    /// Number of elections that each user starts.
    pub requests: Vec<u8>,
    /// Identifier of each candidate, by process.
    pub candidates: Vec<Identifier>,
}

/// The user of an election at one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElectionUserState {
    /// Number of elections that it may still start.
    remaining: u8,
    /// Whether it has started an election and has learnt of no leader since.
    pending: bool,
    status: LeaderStatus,
    /// Whether its process is down and may recover.
    suspended: bool,
    /// Whether it has recovered from a crash.
    recovered: bool,
    /// Least leader that its process has named. A greater process that is up now was also up then.
    lowest_leader: Option<Identifier>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LeaderStatus {
    Nothing,
    Undecided,
    Elected(ProcessId),
    Down,
}

impl ElectionUserState {
    fn is_up(&self) -> bool {
        self.status != LeaderStatus::Down && !self.suspended
    }

    fn leader(&self) -> Option<ProcessId> {
        match self.status {
            LeaderStatus::Elected(leader) => Some(leader),
            _ => None,
        }
    }
}

impl Users for ElectionUsers {
    type Command = Command;
    type Output = Output;
    type UserState = ElectionUserState;

    fn initial_user(&self, process: ProcessId) -> ElectionUserState {
        let remaining = self.requests[process.index()];
        ElectionUserState {
            remaining,
            pending: false,
            status: LeaderStatus::Nothing,
            suspended: false,
            recovered: false,
            lowest_leader: None,
        }
    }

    /// No user must start an election, and a user that takes part in one waits for its end.
    fn next_command(&self, user: &ElectionUserState) -> Option<(Command, bool)> {
        let idle = !user.pending && user.is_up() && user.status != LeaderStatus::Undecided;
        (user.remaining > 0 && idle).then_some((Command::Elect, false))
    }

    fn on_command(&self, user: &mut ElectionUserState, _: &Command) {
        user.remaining -= 1;
        user.pending = true;
    }

    fn on_output(&self, user: &mut ElectionUserState, output: &Output) {
        match *output {
            Output::Undecided => user.status = LeaderStatus::Undecided,
            Output::Elected(leader) => {
                user.pending = false;
                user.status = LeaderStatus::Elected(leader.process);
                user.lowest_leader = Some(
                    user.lowest_leader.map_or(leader, |lowest_leader| lowest_leader.min(leader)),
                );
            }
        }
    }

    fn crashed(&self, _: &ElectionUserState) -> ElectionUserState {
        ElectionUserState {
            remaining: 0,
            pending: false,
            status: LeaderStatus::Down,
            suspended: false,
            recovered: false,
            lowest_leader: None,
        }
    }

    /// The user remembers its leader.
    fn suspended(&self, user: &ElectionUserState) -> Option<ElectionUserState> {
        Some(ElectionUserState { suspended: true, ..*user })
    }

    fn resumed(&self, user: &mut ElectionUserState) {
        (user.suspended, user.recovered) = (false, true);
    }

    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a ElectionUserState> + Clone,
    ) -> Option<Property> {
        let was_up = |user: &ElectionUserState| user.is_up() && !user.recovered;
        let up = self.candidates.iter().zip(user_states.clone()).filter(|(_, user)| was_up(user));
        let greatest = up.map(|(candidate, _)| candidate).max()?;
        let passed_over = |user: &ElectionUserState| {
            user.lowest_leader.is_some_and(|leader| passes_over(leader, *greatest))
        };
        user_states.into_iter().any(passed_over).then_some(Property::E1)
    }

    fn broken_when_quiescent<'a>(
        &self,
        user_states: impl Iterator<Item = &'a ElectionUserState> + Clone,
    ) -> Option<Property> {
        let up = || user_states.clone().filter(|user| user.is_up());
        if up().all(|user| user.status == LeaderStatus::Nothing) {
            return None;
        }
        let is_up = |process: ProcessId| {
            user_states.clone().nth(process.index()).is_some_and(ElectionUserState::is_up)
        };
        if rival_leaders(up().filter_map(ElectionUserState::leader)).is_some() {
            return Some(Property::E1);
        }
        up().any(|user| lacks_leader(user.leader(), is_up)).then_some(Property::E2)
    }

    fn is_waiting(&self, user: &ElectionUserState) -> bool {
        user.status == LeaderStatus::Undecided && !user.suspended
    }

    /// A wrongly named leader remains a violation.
    fn is_visible(&self, _: &ElectionUserState, _: &ElectionUserState) -> bool {
        false
    }

    fn is_satisfied(&self, user: &ElectionUserState) -> bool {
        user.lowest_leader.is_some()
    }

    fn starvation_property(&self) -> Property {
        Property::E2
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::election::Candidates;

    use super::*;

    /// The property violated after these outputs, each at a process.
    fn found(outputs: &[(usize, Output)], crashed: &[usize]) -> Option<Property> {
        let all = Candidates::new(3, &[5, 7, 9]);
        let candidates = ProcessId::all(3).map(|id| all.of(id)).collect();
        let users = ElectionUsers { requests: vec![1; 3], candidates };
        let make = |id| users.initial_user(id);
        let mut user_states: Vec<ElectionUserState> = ProcessId::all(3).map(make).collect();
        for victim in crashed {
            user_states[*victim] = users.crashed(&user_states[*victim]);
        }
        for (process, output) in outputs {
            users.on_output(&mut user_states[*process], output);
        }
        let broken = users.broken(user_states.iter());
        broken.or_else(|| users.broken_when_quiescent(user_states.iter()))
    }

    fn elected(value: u64, process: u32) -> Output {
        Output::Elected(Identifier { value, process: ProcessId::new(process) })
    }

    #[test]
    fn one_who_is_up_must_not_be_passed_over() {
        assert_eq!(found(&[(0, elected(7, 1))], &[]), Some(Property::E1));
        let again = [(0, elected(7, 1)), (0, Output::Undecided)];
        assert_eq!(found(&again, &[]), Some(Property::E1), "what was said remains said");
        assert_eq!(found(&[(0, elected(7, 1)), (1, elected(7, 1))], &[2]), None);
    }

    #[test]
    fn at_rest_all_have_the_same_leader_and_one_that_is_up() {
        assert_eq!(found(&[], &[]), None, "nobody began an election");
        let greatest = elected(9, 2);
        assert_eq!(found(&[(0, greatest), (1, greatest)], &[]), Some(Property::E2));
        assert_eq!(found(&[(0, greatest), (1, greatest), (2, greatest)], &[]), None);
        assert_eq!(found(&[(0, greatest), (1, greatest)], &[2]), Some(Property::E2));
        assert_eq!(found(&[(0, greatest), (1, elected(7, 1))], &[2]), Some(Property::E1));
    }
}
