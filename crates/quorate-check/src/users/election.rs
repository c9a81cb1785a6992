//! Users of an election: each may begin so many, and all want one leader, the greatest that is up.

use quorate_core::election::{Command, Identifier, Output};
use quorate_core::{ProcessId, Property};

use super::Users;

/// Who begins elections, and with what processes stand.
///
/// Nobody comes back and no identifier changes here, so that of E1 this is left: when a process names a leader, nobody
/// greater is up; and at rest all that are up name the same.
#[derive(Clone, Debug)]
pub struct ElectionUsers {
    /// How often each begins an election.
    pub requests: Vec<u8>,
    /// With what each stands.
    pub candidates: Vec<Identifier>,
}

/// The user of an election at one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElectionPlace {
    /// How often it may still begin an election.
    left: u8,
    /// Whether it has begun one and was told of no leader since.
    due: bool,
    said: Said,
    /// The least leader that its process has named: if a greater one is up now, it was up then.
    least: Option<Identifier>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Said {
    Nothing,
    Undecided,
    Elected(ProcessId),
    /// It is down.
    Down,
}

impl ElectionPlace {
    fn is_up(&self) -> bool {
        self.said != Said::Down
    }

    fn leader(&self) -> Option<ProcessId> {
        match self.said {
            Said::Elected(leader) => Some(leader),
            _ => None,
        }
    }
}

impl Users for ElectionUsers {
    type Command = Command;
    type Output = Output;
    type Place = ElectionPlace;

    fn place(&self, process: ProcessId) -> ElectionPlace {
        let left = self.requests[process.index()];
        ElectionPlace { left, due: false, said: Said::Nothing, least: None }
    }

    /// Nobody has to begin an election, and who takes part in one waits for its end.
    fn wish(&self, place: &ElectionPlace) -> Option<(Command, bool)> {
        let idle = !place.due && !matches!(place.said, Said::Undecided | Said::Down);
        (place.left > 0 && idle).then_some((Command::Elect, false))
    }

    fn asked(&self, place: &mut ElectionPlace, _: &Command) {
        place.left -= 1;
        place.due = true;
    }

    fn told(&self, place: &mut ElectionPlace, output: &Output) {
        match *output {
            Output::Undecided => place.said = Said::Undecided,
            Output::Elected(leader) => {
                place.due = false;
                place.said = Said::Elected(leader.process);
                place.least = Some(place.least.map_or(leader, |least| least.min(leader)));
            }
        }
    }

    fn crashed(&self, _: &ElectionPlace) -> ElectionPlace {
        ElectionPlace { left: 0, due: false, said: Said::Down, least: None }
    }

    fn broken<'a>(
        &self,
        places: impl Iterator<Item = &'a ElectionPlace> + Clone,
    ) -> Option<Property> {
        let up = self.candidates.iter().zip(places.clone()).filter(|(_, place)| place.is_up());
        let greatest = up.map(|(candidate, _)| candidate).max()?;
        let passed_over =
            |place: &ElectionPlace| place.least.is_some_and(|least| least < *greatest);
        places.into_iter().any(passed_over).then_some(Property::E1)
    }

    fn broken_at_rest<'a>(
        &self,
        places: impl Iterator<Item = &'a ElectionPlace> + Clone,
    ) -> Option<Property> {
        let up = || places.clone().filter(|place| place.is_up());
        if up().all(|place| place.said == Said::Nothing) {
            return None;
        }
        let is_up = |process: ProcessId| {
            places.clone().nth(process.index()).is_some_and(ElectionPlace::is_up)
        };
        let has_leader = |place: &ElectionPlace| place.leader().is_some_and(is_up);
        let mut leaders = up().filter_map(ElectionPlace::leader);
        let first = leaders.next();
        if leaders.any(|leader| Some(leader) != first) {
            return Some(Property::E1);
        }
        (!up().all(has_leader)).then_some(Property::E2)
    }

    fn waits(&self, place: &ElectionPlace) -> bool {
        place.said == Said::Undecided
    }

    /// A leader that should not have been named remains one.
    fn shows(&self, _: &ElectionPlace, _: &ElectionPlace) -> bool {
        false
    }

    fn is_pleased(&self, place: &ElectionPlace) -> bool {
        place.least.is_some()
    }

    fn patience(&self) -> Property {
        Property::E2
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::election::Candidates;

    use super::*;

    /// What users find whose processes have told them this, one after the other.
    fn found(told: &[(usize, Output)], crashed: &[usize]) -> Option<Property> {
        let all = Candidates::new(3, &[5, 7, 9]);
        let candidates = ProcessId::all(3).map(|id| all.of(id)).collect();
        let users = ElectionUsers { requests: vec![1; 3], candidates };
        let make = |id| users.place(id);
        let mut places: Vec<ElectionPlace> = ProcessId::all(3).map(make).collect();
        for victim in crashed {
            places[*victim] = users.crashed(&places[*victim]);
        }
        for (process, output) in told {
            users.told(&mut places[*process], output);
        }
        let broken = users.broken(places.iter());
        broken.or_else(|| users.broken_at_rest(places.iter()))
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
