//! Plausibility of peers' messages. A peer with a valid certificate can still be wrong: impossible messages are ignored.

use quorate_algorithms::mutex::leased::{Message, Ticket};
use quorate_core::{Layered, ProcessId, Span, Time};
use quorate_protocol::Name;

use super::Keeper;
use crate::peer::{PeerMessage, Question};

/// Greatest number of a vote or token. A cluster that grants a million locks a second needs 36,000 years to get there;
/// a greater one would use up all numbers, and with them the lock.
const NUMBER_MOST: u64 = 1 << 60;

/// Greatest stamp: above wall-clock milliseconds for the next thousands of years.
const STAMP_MOST: u64 = 1 << 47;

/// Longest address.
const ADDRESS_MOST: usize = 512;

/// How often a line is logged about one peer at most.
const LOGGED: Span = Span::from_millis(1_000);

impl Keeper {
    /// Why a message cannot be what an honest peer says.
    pub(super) fn is_plausible(
        &self,
        from: ProcessId,
        message: &PeerMessage,
        now: Time,
    ) -> Result<(), &'static str> {
        if from == self.settings.id || from.index() >= self.settings.addresses.len() {
            return Err("it is not a peer");
        }
        match message {
            PeerMessage::Process(Layered::Upper(message)) => vote_is_plausible(message, now),
            PeerMessage::Door(address) if address.len() > ADDRESS_MOST => Err("a long address"),
            PeerMessage::Door(address) if address.chars().any(char::is_control) => {
                Err("an address with control characters")
            }
            PeerMessage::Question(_, Question::TakeOver(moving)) => {
                let fits = |(ticket, token): (Ticket, Option<u64>)| {
                    ticket.stamp <= STAMP_MOST && token.is_none_or(|token| token <= NUMBER_MOST)
                };
                match moving.numbers().all(fits) {
                    true => Ok(()),
                    false => Err("a session with numbers out of range"),
                }
            }
            _ => Ok(()),
        }
    }

    /// Ignores what a peer has said, and logs that now and then.
    pub(super) fn distrust(&mut self, from: ProcessId, why: &str, now: Time) {
        self.measures.implausible.inc();
        let last = self.distrusted.get(&from);
        if last.is_none_or(|last| now.since(*last) >= LOGGED) {
            tracing::warn!(peer = %from, why, "a message of a peer makes no sense: ignored");
            self.distrusted.insert(from, now);
        }
    }
}

fn vote_is_plausible(message: &Message<Name>, now: Time) -> Result<(), &'static str> {
    let (ticket, number, echo) = match message {
        Message::Extended(extension) => (None, None, Some(extension.echo)),
        Message::Request(_, ticket, ..) | Message::Probe(_, ticket) => (Some(ticket), None, None),
        Message::Release(_, ticket) | Message::Expel(_, ticket) => (Some(ticket), None, None),
        Message::Vote(_, ticket, number, extension) => {
            (Some(ticket), Some(number), Some(extension.echo))
        }
        Message::Inquire(_, ticket, number, _) | Message::Yield(_, ticket, number) => {
            (Some(ticket), Some(number), None)
        }
        Message::Raise(_, ticket, number) | Message::Raised(_, ticket, number) => {
            (Some(ticket), Some(number), None)
        }
        Message::SoFar(number) => (None, Some(number), None),
        Message::Behind(ticket, _) => (Some(ticket), None, None),
        Message::Sign(_) | Message::HowFar => (None, None, None),
    };
    if ticket.is_some_and(|ticket| ticket.stamp > STAMP_MOST) {
        return Err("a stamp out of range");
    }
    if number.is_some_and(|number| *number > NUMBER_MOST) {
        return Err("a number out of range");
    }
    // It is our own clock that is echoed.
    if echo.is_some_and(|echo| echo > now) {
        return Err("an echo of a time that is still to come");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::node_of_three;
    use super::*;
    use crate::peer::{Interest, Reply};
    use quorate_algorithms::mutex::leased::{Epoch, Extension, Sign};

    #[test]
    fn a_peer_that_lies_is_ignored() {
        let mut keeper = node_of_three();
        let lock = || Name::lock("x").expect("a name");
        let ticket = |stamp| Ticket { stamp, session: 1, number: u64::MAX };
        let sign = Sign { life: u64::MAX, sent: Time(u64::MAX) };
        let future = Extension { epoch: Epoch { life: 9, lease: u32::MAX }, echo: Time(u64::MAX) };
        let lies = [
            Message::Request(lock(), ticket(u64::MAX), sign, u32::MAX),
            Message::Vote(lock(), ticket(1), u64::MAX, future),
            Message::Extended(future),
            Message::Raise(lock(), ticket(1), u64::MAX),
            Message::SoFar(u64::MAX),
        ];
        let lies = lies.map(|message| PeerMessage::Process(Layered::Upper(message)));
        let peer = ProcessId::new(1);
        for lie in lies.clone() {
            keeper.hear(peer, lie, Time(2));
        }
        assert_eq!(keeper.measures.implausible.get(), 5);
        // There is no peer of that number.
        for stranger in [0, 3, 64, u32::MAX] {
            for lie in lies.clone() {
                keeper.hear(ProcessId::new(stranger), lie, Time(3));
            }
            keeper.hear(
                ProcessId::new(stranger),
                PeerMessage::Interest(Interest::default()),
                Time(3),
            );
        }
        assert_eq!(keeper.measures.implausible.get(), 5 + 4 * 6);
        // Answers to questions that were never asked.
        keeper.hear(peer, PeerMessage::Reply(u64::MAX, Reply::Counter(Some(u64::MAX))), Time(4));
        keeper.hear(peer, PeerMessage::Door("\x1b[2J".to_owned()), Time(4));
        assert!(keeper.doors.is_empty());
        // A plausible message is handled: it votes.
        let request = Message::Request(lock(), ticket(1), Sign { life: 0, sent: Time(1) }, 0);
        keeper.deeds().for_each(drop);
        keeper.hear(peer, PeerMessage::Process(Layered::Upper(request)), Time(5));
        let votes = keeper.deeds().any(|deed| {
            matches!(
                deed,
                super::super::Deed::Send(
                    _,
                    PeerMessage::Process(Layered::Upper(Message::Vote(..)))
                )
            )
        });
        assert!(votes);
    }
}
