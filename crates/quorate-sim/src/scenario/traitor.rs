//! Byzantine processes: what a traitor does with the messages that its algorithm would send.
//!
//! A strategy is applied to each outgoing message, so it works for every algorithm. The lies themselves come from the
//! process or its messages ([`quorate_core::Process::forge`]).

use std::fmt;
use std::str::FromStr;

use quorate_core::{ProcessId, UNCONDITIONAL_LIE};

use super::notation::{NotationError, serde_as_text};
use crate::random::Random;

/// The behaviour of a traitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Sends no messages at all.
    Silent,
    /// Changes the contents of messages, in the same way for every receiver.
    Liar,
    /// Sends different contents to every receiver. If only two contents are possible, odd processes receive the lie.
    Equivocator,
    /// Sends one of two contents to even processes and the other to odd ones, independent of the messages that it has
    /// received. Several such traitors together present two different worlds.
    TwoFaced,
    /// Sends every message twice.
    Stutterer,
    /// Does one of these, or sends the true message. The seed decides for each message.
    Random,
}

impl Strategy {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Silent, "silent"),
        (Self::Liar, "liar"),
        (Self::Equivocator, "equivocator"),
        (Self::TwoFaced, "two-faced"),
        (Self::Stutterer, "stutterer"),
        (Self::Random, "random"),
    ];

    /// Decides what is sent in place of a message of this kind to `to`.
    pub fn treatment(self, to: ProcessId, kind: usize, random: &mut Random) -> Treatment {
        self.fixed_treatment(to, kind).unwrap_or_else(|| match random.below(5) {
            0 => Treatment::Nothing,
            1 => Treatment::Twice,
            2 => Treatment::Truth,
            _ => Treatment::Lie(random.next_u64()),
        })
    }

    /// The treatment of a message of this kind to `to`. `None` if the strategy is [`Strategy::Random`].
    pub fn fixed_treatment(self, to: ProcessId, kind: usize) -> Option<Treatment> {
        Some(match self {
            Self::Silent => Treatment::Nothing,
            // The lie depends on the kind of message and not on the receiver. It is odd, so it is never the truth if
            // only two contents are possible.
            Self::Liar => Treatment::Lie(1 + 2 * kind as u64),
            Self::Equivocator => Treatment::Lie(u64::from(to.number())),
            Self::TwoFaced => {
                let even = u64::from(to.number().is_multiple_of(2));
                Treatment::Lie(UNCONDITIONAL_LIE | even)
            }
            Self::Stutterer => Treatment::Twice,
            Self::Random => return None,
        })
    }
}

/// The treatment of a message that a traitor should send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Sends nothing at all.
    Nothing,
    /// Sends the message unchanged.
    Truth,
    /// Sends the message twice.
    Twice,
    /// Sends this lie in its place; see [`quorate_core::Process::forge`].
    Lie(u64),
}

impl FromStr for Strategy {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        Self::ALL
            .into_iter()
            .find(|(_, name)| *name == text)
            .map(|(strategy, _)| strategy)
            .ok_or_else(|| {
                NotationError::new(
                    "a strategy: silent, liar, equivocator, two-faced, stutterer or random",
                    text,
                )
            })
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL
            .into_iter()
            .find(|(strategy, _)| strategy == self)
            .map_or("", |found| found.1);
        f.pad(name)
    }
}

serde_as_text!(Strategy);
