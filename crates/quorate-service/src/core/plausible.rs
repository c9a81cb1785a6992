//! Plausibility checks of peer messages. A peer with a valid certificate can still be faulty, so
//! impossible messages are ignored.

use quorate_algorithms::mutex::leased_quorum::{
    Claim, PeerMessage as VoterMessage, ToCandidate, ToVoter,
};
use quorate_core::{ProcessId, Span, Time};
use quorate_protocol::Name;

use super::NodeCore;
use crate::peer::PeerMessage;

/// Maximum number of a vote or token. A cluster that grants a million locks per second needs 36,000 years to reach it. A
/// greater number could use up all numbers, and the lock could not be granted any more.
const NUMBER_MOST: u64 = 1 << 60;

/// Maximum stamp. It is above wall-clock milliseconds for thousands of years.
const STAMP_MOST: u64 = 1 << 47;

/// Maximum length of an address, in bytes.
const ADDRESS_MOST: usize = 512;

/// Minimum interval between two log lines about one peer.
const LOGGED: Span = Span::from_millis(1_000);

/// Numbers in a message that have bounds.
#[derive(Default)]
struct Numbers {
    stamp: u64,
    number: u64,
    claim: Option<Claim>,
}

impl NodeCore {
    /// Checks a message. `Err` contains the reason why a correct peer cannot have sent it.
    pub(super) fn is_plausible(
        &self,
        from: ProcessId,
        message: &PeerMessage,
    ) -> Result<(), &'static str> {
        let knows = self.membership.is_joining() || self.membership.addresses.contains_key(&from);
        if from == self.settings.id || !knows {
            return Err("the sender is not a peer");
        }
        // Nothing is accepted before the members were compared.
        if !matches!(message, PeerMessage::Chain(_)) && !self.membership.greeted.contains(from) {
            return Err("the sender has not told which members it knows");
        }
        let numbers = match message {
            PeerMessage::ClientAddress(address) if address.len() > ADDRESS_MOST => {
                return Err("an address that is too long");
            }
            PeerMessage::ClientAddress(address) if address.chars().any(char::is_control) => {
                return Err("an address with control characters");
            }
            PeerMessage::ToVoter(_, message) => to_voter(message),
            PeerMessage::ToCandidate(_, message) => to_candidate(message),
            PeerMessage::Voter(VoterMessage::Clock(clock)) => {
                Numbers { stamp: *clock, ..Numbers::default() }
            }
            PeerMessage::Voter(VoterMessage::Known { floor, clock, .. }) => {
                Numbers { stamp: *clock, number: *floor, claim: None }
            }
            _ => return Ok(()),
        };
        if numbers.stamp > STAMP_MOST {
            return Err("a stamp out of range");
        }
        if numbers.number > NUMBER_MOST {
            return Err("a number out of range");
        }
        if numbers.claim.is_some_and(|claim| claim.attempt > NUMBER_MOST) {
            return Err("an attempt out of range");
        }
        Ok(())
    }

    /// Ignores a message of a peer, and logs that at a limited rate.
    pub(super) fn distrust(&mut self, from: ProcessId, why: &str, now: Time) {
        self.metrics.implausible.inc();
        let last = self.distrusted.get(&from);
        if last.is_none_or(|last| now.since(*last) >= LOGGED) {
            tracing::warn!(peer = %from, why, "implausible message from a peer ignored");
            self.distrusted.insert(from, now);
        }
    }
}

fn to_voter(message: &ToVoter<Name>) -> Numbers {
    match message {
        ToVoter::Beat { waiting, .. } => {
            let stamp = waiting.iter().map(|(_, stamp)| *stamp).max().unwrap_or(0);
            Numbers { stamp, ..Numbers::default() }
        }
        ToVoter::Request { claim, stamp, inside, .. } => {
            Numbers { stamp: *stamp, number: inside.unwrap_or(0), claim: Some(*claim) }
        }
        ToVoter::Raise { claim, token, .. } => {
            Numbers { number: *token, claim: Some(*claim), stamp: 0 }
        }
        ToVoter::Yield { claim, vote, .. } => {
            Numbers { number: vote.number, claim: Some(*claim), stamp: 0 }
        }
        ToVoter::Release { token, .. } => {
            Numbers { number: token.unwrap_or(0), ..Numbers::default() }
        }
        ToVoter::Withdraw { claim, .. } => Numbers { claim: Some(*claim), ..Numbers::default() },
        ToVoter::End { .. } => Numbers::default(),
    }
}

fn to_candidate(message: &ToCandidate<Name>) -> Numbers {
    match message {
        ToCandidate::Echo { clock, .. } => Numbers { stamp: *clock, ..Numbers::default() },
        ToCandidate::Vote { claim, vote, last, stamp, clock, .. } => {
            let number = vote.number.max(*last);
            Numbers { stamp: *stamp.max(clock), number, claim: Some(*claim) }
        }
        ToCandidate::Behind { claim, stamp, clock, .. } => {
            Numbers { stamp: *stamp.max(clock), number: 0, claim: Some(*claim) }
        }
        ToCandidate::Raised { claim, last, .. } => {
            Numbers { number: *last, claim: Some(*claim), stamp: 0 }
        }
        ToCandidate::Stale { claim, attempt, .. } => {
            Numbers { number: *attempt, claim: Some(*claim), stamp: 0 }
        }
        ToCandidate::Inquire { claim, .. } => Numbers { claim: Some(*claim), ..Numbers::default() },
        ToCandidate::Gone { .. }
        | ToCandidate::Unavailable
        | ToCandidate::Outdated { .. }
        | ToCandidate::Refused { .. } => Numbers::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing::node_of_three;

    #[test]
    fn a_peer_that_lies_about_numbers_is_ignored() {
        let core = node_of_three(0);
        let peer = ProcessId::new(1);
        let asked = 1;
        let known = |floor, clock| {
            PeerMessage::Voter(VoterMessage::Known { asked, config: 0, floor, clock })
        };
        assert_eq!(core.is_plausible(peer, &known(5, 5)), Ok(()));
        assert!(core.is_plausible(peer, &known(u64::MAX, 5)).is_err());
        assert!(core.is_plausible(peer, &known(5, u64::MAX)).is_err());
        for stranger in [0, 3, 70] {
            assert!(core.is_plausible(ProcessId::new(stranger), &known(5, 5)).is_err());
        }
        let address = PeerMessage::ClientAddress("a\nb".to_owned());
        assert!(core.is_plausible(peer, &address).is_err());
    }
}
