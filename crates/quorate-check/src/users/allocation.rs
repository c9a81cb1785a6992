//! Users of a resource allocation: no user must request entry, and a user that is inside leaves.

use quorate_core::allocation::{Claim, Command, Output};
use quorate_core::definition::allocation::{breach, may_wait};
use quorate_core::{ProcessId, Property};

use super::Users;

/// Users of a resource allocation. Each makes its requests one after the other, at any time, and leaves some time after it
/// has entered.
#[derive(Clone, Debug)]
pub struct AllocationUsers {
    /// Claims of the successive requests of each user.
    pub claims: Vec<Vec<Claim>>,
    /// Number of permits that may be taken at the same time.
    pub capacity: usize,
    /// Whether concurrency is judged.
    pub concurrency: bool,
}

/// The user of a resource allocation at one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AllocationUserState {
    process: ProcessId,
    /// Number of requests that it has made.
    made: u8,
    phase: AllocationPhase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum AllocationPhase {
    Idle,
    Requesting,
    Inside,
    /// The user makes no more requests: its process has crashed, or no quorum is left.
    Gone,
}

impl AllocationUsers {
    /// The claim of a user's current or last request.
    fn claim(&self, user: &AllocationUserState) -> &Claim {
        &self.claims[user.process.index()][usize::from(user.made) - 1]
    }

    /// Claims of the users in this phase.
    fn claims_in<'u, 'a>(
        &'u self,
        user_states: impl Iterator<Item = &'a AllocationUserState>,
        phase: AllocationPhase,
    ) -> impl Iterator<Item = (ProcessId, &'u Claim)> {
        let in_phase = user_states.filter(move |user| user.phase == phase);
        in_phase.map(|user| (user.process, self.claim(user)))
    }
}

impl Users for AllocationUsers {
    type Command = Command;
    type Output = Output;
    type UserState = AllocationUserState;

    fn initial_user(&self, process: ProcessId) -> AllocationUserState {
        AllocationUserState { process, made: 0, phase: AllocationPhase::Idle }
    }

    fn next_command(&self, user: &AllocationUserState) -> Option<(Command, bool)> {
        match user.phase {
            AllocationPhase::Idle => {
                let claim = self.claims[user.process.index()].get(usize::from(user.made));
                claim.map(|claim| (Command::Request(claim.clone()), false))
            }
            AllocationPhase::Inside => Some((Command::Release, true)),
            AllocationPhase::Requesting | AllocationPhase::Gone => None,
        }
    }

    fn on_command(&self, user: &mut AllocationUserState, command: &Command) {
        match command {
            Command::Request(_) => {
                user.made += 1;
                user.phase = AllocationPhase::Requesting;
            }
            Command::Release => user.phase = AllocationPhase::Idle,
        }
    }

    fn on_output(&self, user: &mut AllocationUserState, output: &Output) {
        user.phase = match output {
            Output::Entered => AllocationPhase::Inside,
            // No quorum is left, and there will be none later.
            Output::NoQuorum => AllocationPhase::Gone,
        };
    }

    /// All crashed users of a process are equal.
    fn crashed(&self, user: &AllocationUserState) -> AllocationUserState {
        AllocationUserState { made: 0, phase: AllocationPhase::Gone, ..*user }
    }

    fn broken<'a>(
        &self,
        user_states: impl Iterator<Item = &'a AllocationUserState> + Clone,
    ) -> Option<Property> {
        let inside: Vec<&Claim> =
            self.claims_in(user_states, AllocationPhase::Inside).map(|(_, claim)| claim).collect();
        let is_breach = |last: usize| {
            breach(inside[..last].iter().copied(), inside[last], self.capacity).is_some()
        };
        (0..inside.len()).any(is_breach).then_some(Property::Exclusion)
    }

    fn broken_when_settled<'a>(
        &self,
        user_states: impl Iterator<Item = &'a AllocationUserState> + Clone,
    ) -> Option<Property> {
        let claims = |phase| self.claims_in(user_states.clone(), phase);
        let is_needless = |(process, claim): (ProcessId, &Claim)| {
            let others = claims(AllocationPhase::Requesting).filter(|(other, _)| *other != process);
            let inside = claims(AllocationPhase::Inside).map(|(_, claim)| claim);
            !may_wait(claim, inside, others.map(|(_, claim)| claim), self.capacity)
        };
        let broken = self.concurrency && claims(AllocationPhase::Requesting).any(is_needless);
        broken.then_some(Property::Concurrency)
    }

    fn is_waiting(&self, user: &AllocationUserState) -> bool {
        user.phase == AllocationPhase::Requesting
    }

    fn is_visible(&self, before: &AllocationUserState, after: &AllocationUserState) -> bool {
        let is_inside = |user: &AllocationUserState| user.phase == AllocationPhase::Inside;
        is_inside(before) != is_inside(after)
    }

    fn is_satisfied(&self, user: &AllocationUserState) -> bool {
        user.phase == AllocationPhase::Inside
    }

    fn is_inside(&self, user: &AllocationUserState) -> bool {
        user.phase == AllocationPhase::Inside
    }

    fn starvation_property(&self) -> Property {
        Property::NoStarvation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(claims: [Claim; 3], capacity: usize, enter: &[usize]) -> [Option<Property>; 2] {
        let claims = claims.map(|claim| vec![claim]).into();
        let users = AllocationUsers { claims, capacity, concurrency: true };
        let mut states: Vec<_> = ProcessId::all(3).map(|id| users.initial_user(id)).collect();
        for state in &mut states {
            let (command, _) = users.next_command(state).expect("a user may ask");
            users.on_command(state, &command);
        }
        enter.iter().for_each(|process| users.on_output(&mut states[*process], &Output::Entered));
        [users.broken(states.iter()), users.broken_when_settled(states.iter())]
    }

    #[test]
    fn incompatible_claims_inside_break_exclusion() {
        let mixed = || [Claim::Read, Claim::Write, Claim::Read];
        assert_eq!(broken(mixed(), 1, &[0, 2]), [None; 2]);
        assert_eq!(broken(mixed(), 1, &[0, 1])[0], Some(Property::Exclusion));
        let permits = || [(); 3].map(|()| Claim::Permit);
        assert_eq!(broken(permits(), 2, &[0, 2]), [None; 2]);
        assert_eq!(broken(permits(), 2, &[0, 1, 2])[0], Some(Property::Exclusion));
        let forum = || [1, 1, 2].map(Claim::Group);
        assert_eq!(broken(forum(), 1, &[0, 1]), [None; 2]);
        assert_eq!(broken(forum(), 1, &[0, 2])[0], Some(Property::Exclusion));
        let table = || {
            [(0, [1, 4]), (1, [0, 2]), (2, [1, 3])].map(|(process, others)| {
                let others = others.into_iter().map(ProcessId::new).collect();
                Claim::shared_with(ProcessId::new(process), &others)
            })
        };
        assert_eq!(broken(table(), 1, &[0, 2]), [None; 2], "p0 and p2 share no fork");
        assert_eq!(broken(table(), 1, &[0, 1])[0], Some(Property::Exclusion));
    }

    #[test]
    fn a_claim_that_waits_for_no_other_breaks_concurrency() {
        let permits = || [(); 3].map(|()| Claim::Permit);
        assert_eq!(broken(permits(), 2, &[0]), [None, Some(Property::Concurrency)]);
        let readers = || [(); 3].map(|()| Claim::Read);
        assert_eq!(broken(readers(), 2, &[0, 1]), [None, Some(Property::Concurrency)]);
        assert_eq!(broken(readers(), 2, &[0, 1, 2]), [None; 2]);
        let mixed = || [Claim::Read, Claim::Write, Claim::Read];
        assert_eq!(broken(mixed(), 1, &[0]), [None; 2], "p2 waits for the writer that waits");
    }
}
