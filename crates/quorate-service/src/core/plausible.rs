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
        // Nothing that matters is accepted before the members were compared.
        let early = matches!(message, PeerMessage::Chain(_) | PeerMessage::Detector(..));
        if !early && !self.membership.greeted.contains(from) {
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
    use quorate_algorithms::mutex::leased_quorum::{
        Beat, CandidateId, Epoch, Presented, Rank, RequestId, VoteId,
    };

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

    #[test]
    fn every_number_of_a_message_is_checked_at_its_bound() {
        let core = node_of_three(0);
        let peer = ProcessId::new(1);
        let (candidate, name) = (CandidateId(9), Name::lock("x").expect("a name"));
        let request = RequestId { session: 1, incarnation: 2, number: 3 };
        let epoch = Epoch { incarnation: 0, number: 1 };
        let vote = |number| VoteId { epoch, number };
        let claim = |attempt| Claim { request, attempt, candidate };
        let beat = Beat { incarnation: 2, number: 1 };
        let session = Presented { session: 1, ttl: Span(1), beat, relayed: true, config: 0 };
        let to_voter = |stamp: u64, number: u64, attempt: u64| {
            let (lock, claim, vote) = (name.clone(), claim(attempt), vote(number));
            let release = ToVoter::Release {
                lock: lock.clone(),
                request,
                attempt: u64::MAX,
                token: Some(number),
            };
            let request = ToVoter::Request {
                session,
                lock: lock.clone(),
                claim,
                stamp,
                inside: Some(number),
                rank: Rank::Waits,
                ended: 0,
            };
            let raise =
                ToVoter::Raise { lock: lock.clone(), claim, vote, token: number, enters: true };
            let withdraw = ToVoter::Withdraw { lock: lock.clone(), claim, untold: true };
            let waiting = vec![(claim.request, 0), (claim.request, stamp), (claim.request, 1)];
            let beat = ToVoter::Beat { session, seen: None, waiting, confirms: false };
            vec![request, raise, ToVoter::Yield { lock, claim, vote }, release, withdraw, beat]
        };
        let to_candidate = |stamp: u64, number: u64, attempt: u64| {
            let (lock, claim) = (name.clone(), claim(attempt));
            let of_vote = |number: u64, last: u64, stamp: u64, clock: u64| ToCandidate::Vote {
                lock: lock.clone(),
                claim,
                vote: vote(number),
                last,
                stamp,
                beat,
                clock,
                version: 1,
                entered: None,
                recorded_in: 0,
                ended: 0,
                config: 0,
                floor: 0,
            };
            let behind = |stamp: u64, clock: u64| ToCandidate::Behind {
                lock: lock.clone(),
                claim,
                epoch,
                stamp,
                place: 1,
                clock,
                ended: 0,
            };
            let (part, entries) = (None, Vec::new());
            vec![
                of_vote(number, 0, stamp, 0),
                of_vote(0, number, 0, stamp),
                behind(stamp, 0),
                behind(0, stamp),
                ToCandidate::Raised {
                    lock: lock.clone(),
                    claim,
                    vote: vote(1),
                    last: number,
                    entered: None,
                    recorded_in: 0,
                },
                ToCandidate::Stale { lock: lock.clone(), claim, attempt: number },
                ToCandidate::Inquire { lock: lock.clone(), claim, vote: vote(1) },
                ToCandidate::Echo {
                    epoch,
                    beat,
                    continuous: false,
                    clock: stamp,
                    version: 1,
                    part,
                    entries,
                },
            ]
        };
        let objections = |stamp, number, attempt| -> Vec<&str> {
            let voters = to_voter(stamp, number, attempt).into_iter();
            let voters = voters.map(|message| PeerMessage::ToVoter(candidate, message));
            let candidates = to_candidate(stamp, number, attempt).into_iter();
            let candidates = candidates.map(|message| PeerMessage::ToCandidate(candidate, message));
            let all = voters.chain(candidates);
            all.filter_map(|message| core.is_plausible(peer, &message).err()).collect()
        };
        assert_eq!(objections(STAMP_MOST, NUMBER_MOST, NUMBER_MOST), [""; 0]);
        assert_eq!(objections(STAMP_MOST + 1, 0, 0), ["a stamp out of range"; 7]);
        assert_eq!(objections(0, NUMBER_MOST + 1, 0), ["a number out of range"; 8]);
        assert_eq!(objections(0, 0, NUMBER_MOST + 1), ["an attempt out of range"; 11]);
    }

    #[test]
    fn an_address_has_a_maximum_length() {
        let core = node_of_three(0);
        let checked = |length| {
            let address = PeerMessage::ClientAddress("a".repeat(length));
            core.is_plausible(ProcessId::new(1), &address)
        };
        assert_eq!(checked(ADDRESS_MOST), Ok(()));
        assert_eq!(checked(ADDRESS_MOST + 1), Err("an address that is too long"));
    }
}
