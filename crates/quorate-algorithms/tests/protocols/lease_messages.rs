//! Messages with other contents: numbers of other attempts and turns, answers that are out of date, and flags that differ.

use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, Part, PeerMessage, Rank, RequestStatus, ToCandidate, ToVoter,
};
use quorate_core::{ProcessId, Span};
use quorate_sim::random::Random;

use crate::leases::Envelope;

/// Tokens near the bounds of a voter: small ones, the next block, and the greatest step.
const TOKENS: [u64; 8] = [0, 1, 2, 3, 1 << 19, 1 << 20, 1 << 32, 1 << 40];

pub(crate) fn alter(envelope: &mut Envelope, random: &mut Random) {
    match envelope {
        Envelope::Voter(from, to, message) => match random.below(10) {
            0 => from.0 = random.below(7),
            1 => *to = ProcessId::from_index(random.below(3) as usize),
            _ => to_voter(message, random),
        },
        Envelope::Candidate(from, to, message) => match random.below(10) {
            0 => *from = ProcessId::from_index(random.below(6) as usize),
            1 => to.0 = random.below(7),
            _ => to_candidate(message, random),
        },
        Envelope::Peer(from, _, message) => match (random.below(4), message) {
            (0, _) => *from = ProcessId::from_index(random.below(6) as usize),
            (_, PeerMessage::Clock(clock) | PeerMessage::Known { clock, .. })
                if random.chance(0.5) =>
            {
                *clock += [1, 86_400_000, 86_400_001][random.below(3) as usize];
            }
            (_, PeerMessage::Learn { asked, .. } | PeerMessage::Known { asked, .. }) => {
                change(asked, random)
            }
            (_, PeerMessage::Clock(clock)) => change(clock, random),
        },
        Envelope::Caller(_, report) => match random.below(3) {
            0 => change(&mut report.attempt, random),
            1 => change(&mut report.stamp, random),
            _ => {
                report.standing = match random.below(5) {
                    0 => RequestStatus::Held(None),
                    1 => RequestStatus::Broken,
                    2 => RequestStatus::Stale(random.below(6)),
                    3 => RequestStatus::Gone,
                    _ => RequestStatus::Waiting(random.below(3) as u32),
                }
            }
        },
    }
}

fn to_voter(message: &mut ToVoter<u8>, random: &mut Random) {
    match message {
        ToVoter::Beat { session, seen, confirms, waiting } => match random.below(6) {
            0 => session.ttl = Span(random.below(12_000)),
            1 => session.relayed = !session.relayed,
            2 => *seen = None,
            3 => *confirms = !*confirms,
            4 => change(&mut session.beat.number, random),
            _ => waiting.iter_mut().for_each(|(_, stamp)| change(stamp, random)),
        },
        ToVoter::Request { session, claim, stamp, inside, rank, ended, .. } => {
            match random.below(8) {
                0 => change(&mut claim.attempt, random),
                1 => claim.candidate = CandidateId(random.below(7)),
                2 => *stamp = random.below(60),
                3 => *inside = Some(token(random)),
                4 => {
                    *rank = [Rank::First, Rank::Found, Rank::Waits][random.below(3) as usize];
                }
                5 => *ended = claim.attempt.saturating_sub(random.below(2)),
                6 => change(&mut session.beat.number, random),
                _ => change(&mut claim.request.number, random),
            }
        }
        ToVoter::Raise { claim, vote, token: of, enters, .. } => match random.below(4) {
            0 => *of = token(random),
            1 => *enters = !*enters,
            2 => change(&mut vote.number, random),
            _ => change(&mut claim.attempt, random),
        },
        ToVoter::Yield { claim, vote, .. } => match random.below(2) {
            0 => change(&mut vote.number, random),
            _ => change(&mut claim.attempt, random),
        },
        ToVoter::Withdraw { claim, untold, .. } => match random.below(2) {
            0 => *untold = !*untold,
            _ => change(&mut claim.attempt, random),
        },
        ToVoter::Release { attempt, token: of, .. } => match random.below(2) {
            0 => *attempt = random.below(5),
            _ => *of = Some(token(random)),
        },
        ToVoter::End { session } => *session = random.below(4).into(),
    }
}

fn to_candidate(message: &mut ToCandidate<u8>, random: &mut Random) {
    match message {
        ToCandidate::Echo { epoch, beat, continuous, version, part, entries, .. } => {
            match random.below(8) {
                0 => change(&mut epoch.number, random),
                1 => change(&mut beat.number, random),
                2 => *continuous = !*continuous,
                3 => change(version, random),
                4 => {
                    let (index, is_last) = (random.below(3) as u32, random.chance(0.5));
                    *part = Some(Part { index, is_last });
                }
                5 => entries.truncate(entries.len().saturating_sub(1)),
                6 => entries.iter_mut().for_each(|entry| {
                    entry.entered = Some((random.below(3), token(random)));
                    entry.forced = random.chance(0.3);
                }),
                _ => entries.iter_mut().for_each(|entry| change(&mut entry.claim.attempt, random)),
            }
        }
        ToCandidate::Vote { claim, vote, last, stamp, beat, version, entered, ended, .. } => {
            match random.below(9) {
                0 => change(&mut claim.attempt, random),
                1 => change(&mut vote.number, random),
                2 => *last = token(random),
                3 => *stamp = random.below(60),
                4 => change(&mut beat.number, random),
                5 => change(version, random),
                6 => {
                    *entered = Some((claim.attempt.saturating_sub(random.below(3)), token(random)))
                }
                7 => *ended = claim.attempt.saturating_sub(random.below(3)),
                _ => change(&mut vote.epoch.number, random),
            }
        }
        ToCandidate::Behind { claim, stamp, place, ended, .. } => match random.below(4) {
            0 => change(&mut claim.attempt, random),
            1 => *stamp = random.below(60),
            2 => *place = random.below(3) as u32,
            _ => *ended = claim.attempt.saturating_sub(random.below(3)),
        },
        ToCandidate::Raised { claim, vote, last, entered, .. } => match random.below(4) {
            0 => change(&mut claim.attempt, random),
            1 => change(&mut vote.number, random),
            2 => *last = token(random),
            _ => *entered = Some(token(random)),
        },
        ToCandidate::Inquire { claim, vote, .. } => match random.below(2) {
            0 => change(&mut claim.attempt, random),
            _ => change(&mut vote.number, random),
        },
        ToCandidate::Stale { attempt, .. } => change(attempt, random),
        ToCandidate::Gone { attempt, forced, .. } => match random.below(2) {
            0 => *attempt = random.below(4),
            _ => *forced = !*forced,
        },
        ToCandidate::Unavailable | ToCandidate::Outdated { .. } => {}
        ToCandidate::Refused { session, .. } => *session = random.below(4).into(),
    }
}

/// The number before or after.
pub(crate) fn change(number: &mut u64, random: &mut Random) {
    *number = if random.chance(0.5) { number.wrapping_add(1) } else { number.saturating_sub(1) };
}

fn token(random: &mut Random) -> u64 {
    TOKENS[random.below(TOKENS.len() as u64) as usize]
}
