//! Resource allocation: which claims may be inside together, and which of them must not wait.

use crate::allocation::Claim;

/// Whether two claims exclude each other, however many others are inside. Claims of different kinds never meet in one
/// algorithm; they exclude each other.
pub fn conflict(one: &Claim, other: &Claim) -> bool {
    match (one, other) {
        (Claim::Permit, Claim::Permit) | (Claim::Read, Claim::Read) => false,
        (Claim::Group(one), Claim::Group(other)) => one != other,
        (Claim::Resources(one), Claim::Resources(other)) => {
            one.iter().any(|resource| other.contains(resource))
        }
        _ => true,
    }
}

/// A reason why claims that are inside together must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// The claim at this place excludes the last one.
    Conflict(usize),
    /// There are more permits inside than there may be.
    TooMany,
}

/// Exclusion: only compatible claims are inside together, and at most `capacity` permits. The claims inside are in the
/// order of entry. Tells whether the last of them should not have entered.
pub fn breach<'a>(
    inside: impl IntoIterator<Item = &'a Claim>,
    entered: &Claim,
    capacity: usize,
) -> Option<Breach> {
    let mut permits = 1;
    for (place, earlier) in inside.into_iter().enumerate() {
        if conflict(earlier, entered) {
            return Some(Breach::Conflict(place));
        }
        permits += usize::from(*earlier == Claim::Permit);
    }
    (*entered == Claim::Permit && permits > capacity).then_some(Breach::TooMany)
}

/// Concurrency: a claim waits only for others. Once every message has arrived, a waiting claim excludes one that is inside
/// or that waits too, or all permits are taken. Tells whether a claim has such a reason to wait.
pub fn may_wait<'a>(
    waiting: &Claim,
    inside: impl IntoIterator<Item = &'a Claim>,
    others_waiting: impl IntoIterator<Item = &'a Claim>,
    capacity: usize,
) -> bool {
    let mut permits = 0;
    for other in inside {
        if conflict(waiting, other) {
            return true;
        }
        permits += usize::from(*other == Claim::Permit);
    }
    let is_full = *waiting == Claim::Permit && permits >= capacity;
    is_full || others_waiting.into_iter().any(|other| conflict(waiting, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProcessId, ProcessSet};

    /// The resources that a process shares with others.
    fn shared(this: u32, others: &[u32]) -> Claim {
        let others: ProcessSet = others.iter().copied().map(ProcessId::new).collect();
        Claim::shared_with(ProcessId::new(this), &others)
    }

    #[test]
    fn readers_groups_and_separate_resources_are_compatible() {
        assert!(!conflict(&Claim::Read, &Claim::Read));
        assert!(conflict(&Claim::Read, &Claim::Write));
        assert!(conflict(&Claim::Write, &Claim::Write));
        assert!(!conflict(&Claim::Group(1), &Claim::Group(1)));
        assert!(conflict(&Claim::Group(1), &Claim::Group(2)));
        assert!(!conflict(&Claim::Permit, &Claim::Permit));
        assert!(conflict(&shared(0, &[1, 4]), &shared(1, &[0, 2])));
        assert!(!conflict(&shared(0, &[4]), &shared(1, &[0, 2])));
        assert!(conflict(&Claim::Permit, &Claim::Read));
    }

    #[test]
    fn an_entry_is_judged_by_those_inside() {
        let [read, write, permit] = [Claim::Read, Claim::Write, Claim::Permit];
        assert_eq!(breach([], &write, 1), None);
        assert_eq!(breach([&read, &read], &read, 1), None);
        assert_eq!(breach([&read, &write], &read, 1), Some(Breach::Conflict(1)));
        assert_eq!(breach([&permit], &permit, 2), None);
        assert_eq!(breach([&permit, &permit], &permit, 2), Some(Breach::TooMany));
    }

    #[test]
    fn a_claim_waits_for_conflicts_and_for_permits() {
        let [read, write, permit] = [Claim::Read, Claim::Write, Claim::Permit];
        assert!(!may_wait(&permit, [&permit], [&permit], 2), "a permit is left");
        assert!(may_wait(&permit, [&permit, &permit], [], 2));
        assert!(!may_wait(&read, [&read], [&read], 1));
        assert!(may_wait(&read, [&read], [&write], 1), "a writer waits");
        assert!(may_wait(&read, [&write], [], 1));
        assert!(!may_wait(&shared(0, &[1]), [&shared(2, &[1, 3])], [], 1));
    }
}
