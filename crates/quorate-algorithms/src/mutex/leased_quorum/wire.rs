//! Messages between the processes of [`super::LeasedQuorum`], and the kinds by which they are counted.

use quorate_core::{Kind, Message as CoreMessage};

use super::id::Beat;
use super::message::{ToCandidate, ToVoter};
use super::voter::PeerMessage;

/// A message between two processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message from a candidate to a voter.
    ToVoter(ToVoter<()>),
    /// A message from a voter to a candidate.
    ToCandidate(ToCandidate<()>),
    /// A message from a voter to a voter.
    ToPeer(PeerMessage),
}

impl Message {
    /// The beat that the message carries or echoes.
    fn beat_mut(&mut self) -> Option<&mut Beat> {
        match self {
            Self::ToVoter(message) => message.presented_mut().map(|session| &mut session.beat),
            Self::ToCandidate(ToCandidate::Echo { beat, .. } | ToCandidate::Vote { beat, .. }) => {
                Some(beat)
            }
            _ => None,
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::mutex("BEAT"),
        Kind::mutex("REQUEST"),
        Kind::mutex("RAISE"),
        Kind::mutex("YIELD"),
        Kind::mutex("RELEASE"),
        Kind::mutex("ECHO"),
        Kind::mutex("VOTE"),
        Kind::mutex("BEHIND"),
        Kind::mutex("RAISED"),
        Kind::mutex("INQUIRE"),
        Kind::mutex("STALE"),
        Kind::mutex("REFUSED"),
        Kind::mutex("PEER"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::ToVoter(message) => match message {
                ToVoter::Beat { .. } => 0,
                ToVoter::Request { .. } => 1,
                ToVoter::Raise { .. } => 2,
                ToVoter::Yield { .. } => 3,
                ToVoter::Release { .. } | ToVoter::Withdraw { .. } | ToVoter::End { .. } => 4,
            },
            Self::ToCandidate(message) => match message {
                ToCandidate::Echo { .. } => 5,
                ToCandidate::Vote { .. } => 6,
                ToCandidate::Behind { .. } => 7,
                ToCandidate::Raised { .. } => 8,
                ToCandidate::Inquire { .. } => 9,
                ToCandidate::Stale { .. } => 10,
                // Rare here: all processes have the same terms and remember their votes, and no request is ended by
                // force. GONE answers a REQUEST that arrives after its RELEASE.
                ToCandidate::Gone { .. }
                | ToCandidate::Unavailable
                | ToCandidate::Outdated { .. }
                | ToCandidate::Refused { .. } => 11,
            },
            Self::ToPeer(_) => 12,
        }
    }

    fn visit_shift_invariant(&mut self, show: &mut dyn FnMut(&mut u64)) {
        // Beats are numbered by the clock.
        self.beat_mut().into_iter().for_each(|beat| show(&mut beat.number));
    }
}
