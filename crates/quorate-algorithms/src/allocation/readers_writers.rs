//! Readers and writers by permission of all: a reader does not defer a reader.
//!
//! - **Source**: Ricart and Agrawala, "An Optimal Algorithm for Mutual Exclusion in Computer Networks", CACM 24(1), 1981,
//!   which names this change of the algorithm for readers and writers.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate. Any order.
//! - **Guarantees**: exclusion of writers from all others, no starvation if holders leave, concurrency of readers. Of two
//!   requests that exclude each other, the one with the smaller stamp enters first.
//! - **Costs**: 2(n - 1) messages per entry; two message delays into a free section.
//! - **Departs from the paper**: as `mutex/ricart_agrawala.rs` does: sets of processes replace the flag array and the reply
//!   counter, and replies carry a clock.

use quorate_core::allocation::{Claim, ClaimKind};
use quorate_core::{Assumption, Layer, Profile, Property};

use super::sessions::{AskForSession, Session, SessionRule};
use crate::Sound;

/// One process of the algorithm.
pub type ReadersWriters = AskForSession<ReadWrite>;

/// All readers share one session, and a writer shares none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReadWrite;

impl SessionRule for ReadWrite {
    const PROFILE: Profile = Profile {
        name: "readers-writers",
        layer: Layer::Allocation,
        summary: "ask everyone; readers do not defer readers",
        source: "Ricart and Agrawala, CACM 24(1), 1981",
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

    const CLAIM_KIND: ClaimKind = ClaimKind::ReadWrite;

    fn session(claim: &Claim) -> Option<Session> {
        match claim {
            Claim::Read => Some(Session::Shared(0)),
            Claim::Write => Some(Session::Exclusive),
            _ => None,
        }
    }
}

impl Sound for ReadersWriters {}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use quorate_core::allocation::{Command, Misuse, Output};
    use quorate_core::{Effect, Effects, Process, ProcessId, Time};

    use super::super::sessions::Message;
    use super::*;

    fn after(
        process: &mut ReadersWriters,
        from: u32,
        message: Message,
    ) -> Vec<Effect<ReadersWriters>> {
        let mut out = Effects::new(Time::ZERO);
        process.on_message(ProcessId::new(from), message, &mut out);
        out.drain().collect()
    }

    #[test]
    fn a_reader_inside_lets_readers_in_and_defers_writers() {
        let mut p0 = ReadersWriters::new(2, ProcessId::new(0));
        let mut out = Effects::new(Time::ZERO);
        p0.on_command(Command::Request(Claim::Read), &mut out).expect("p0 is outside");
        let refused = p0.on_command(Command::Request(Claim::Read), &mut out);
        assert_eq!(refused, Err(Misuse::AlreadyAsked));
        let entered = after(&mut p0, 1, Message::Reply(0));
        assert_eq!(entered, [Effect::Output(Output::Entered)]);
        let shared = Message::Request { time: 9, session: Session::Shared(0) };
        assert_eq!(after(&mut p0, 1, shared).len(), 1);
        let exclusive = Message::Request { time: 9, session: Session::Exclusive };
        assert_eq!(after(&mut p0, 1, exclusive), []);
    }

    #[test]
    fn other_claims_are_refused() {
        let mut p0 = ReadersWriters::new(2, ProcessId::new(0));
        let mut out = Effects::new(Time::ZERO);
        let refused = p0.on_command(Command::Request(Claim::Permit), &mut out);
        assert_eq!(refused, Err(Misuse::OtherClaim));
        assert!(p0.waits_for().is_empty());
    }
}
