//! Group mutual exclusion by permission of all: requests for the same group do not defer each other.
//!
//! - **Source**: Joung, "Asynchronous Group Mutual Exclusion", Distributed Computing 13(4), 2000 (PODC 1998), which states the
//!   problem, and Joung, "The Congenial Talking Philosophers Problem in Computer Networks", Distributed Computing 15(3), 2002,
//!   which solves it by messages in the way of Ricart and Agrawala.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate. Any order.
//! - **Guarantees**: exclusion of different groups, no starvation if holders leave, concurrency within a group as long as no other
//!   group waits. Of two requests for different groups, the one with the smaller stamp enters first.
//! - **Costs**: 2(n - 1) messages per entry; two message delays into a free section.
//! - **Departs from the paper**: it is the first and simpler of the two algorithms for messages. The second one lets a process
//!   inside invite others of its group past requests of other groups, which is not done here. Replies carry a clock, as in
//!   `mutex/ricart_agrawala.rs`.

use quorate_core::allocation::{Claim, ClaimKind};
use quorate_core::{Assumption, Layer, Profile, Property};

use super::sessions::{AskForSession, Session, SessionRule};
use crate::Sound;

/// One process of the algorithm.
pub type GroupMutex = AskForSession<Groups>;

/// Each group is a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Groups;

impl SessionRule for Groups {
    const PROFILE: Profile = Profile {
        name: "group-mutex",
        layer: Layer::Allocation,
        summary: "ask everyone; requests for the same group do not defer each other",
        source: "Joung, Distributed Computing 13(4), 2000, and 15(3), 2002",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::Exclusion,
            Property::NoStarvation,
            Property::Concurrency,
            Property::ClockCondition,
        ],
        cost: "2(n - 1) messages per entry",
        never_quiescent: false,
    };

    const CLAIM_KIND: ClaimKind = ClaimKind::Group;

    fn session(claim: &Claim) -> Option<Session> {
        match claim {
            Claim::Group(number) => Some(Session::Shared(*number)),
            _ => None,
        }
    }
}

impl Sound for GroupMutex {}

#[cfg(test)]
mod tests {
    use quorate_core::allocation::Command;
    use quorate_core::{Effects, Process, ProcessId, Time};

    use super::super::sessions::Message;
    use super::*;

    #[test]
    fn a_waiting_process_lets_its_own_group_pass_and_defers_others() {
        let mut p0 = GroupMutex::new(2, ProcessId::new(0));
        let mut out = Effects::new(Time::ZERO);
        p0.on_command(Command::Request(Claim::Group(1)), &mut out).expect("p0 is outside");
        assert_eq!(out.drain().count(), 1);
        let mut replies = |group| {
            let request = Message::Request { time: 9, session: Session::Shared(group) };
            p0.on_message(ProcessId::new(1), request, &mut out);
            out.drain().count()
        };
        assert_eq!(replies(1), 1);
        assert_eq!(replies(2), 0);
    }
}
