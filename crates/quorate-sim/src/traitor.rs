//! Byzantine processes: what a traitor does with the messages that its algorithm would send.
//!
//! A strategy is applied to each message on its way out, so that it works for every algorithm; the
//! lies themselves come from the process or its messages ([`quorate_core::Process::forge`]).

use std::fmt;
use std::str::FromStr;

use quorate_core::{ProcessId, UNCONDITIONAL_LIE};

use crate::notation::{NotationError, serde_as_text};
use crate::random::Random;

/// How a traitor behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Says nothing.
    Silent,
    /// Changes what it says, the same way for everyone.
    Liar,
    /// Tells everyone something else; where there are two things to say, odd processes hear the lie.
    Equivocator,
    /// Tells even processes one of two things and odd ones the other, whatever it has heard: with others of its kind
    /// it makes two worlds.
    TwoFaced,
    /// Says everything twice.
    Stutterer,
    /// Does any of these, or the right thing, as the seed has it for each message.
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

    /// What really leaves in place of a message of this kind to `to`.
    pub fn treatment(self, to: ProcessId, kind: usize, random: &mut Random) -> Treatment {
        match self {
            Self::Silent => Treatment::Nothing,
            // The lie depends on what is said and not on whom it is said to. It is odd: never the truth where two things
            // can be said.
            Self::Liar => Treatment::Lie(1 + 2 * kind as u64),
            Self::Equivocator => Treatment::Lie(u64::from(to.number())),
            Self::TwoFaced => {
                let even = u64::from(to.number().is_multiple_of(2));
                Treatment::Lie(UNCONDITIONAL_LIE | even)
            }
            Self::Stutterer => Treatment::Twice,
            Self::Random => match random.below(5) {
                0 => Treatment::Nothing,
                1 => Treatment::Twice,
                2 => Treatment::Truth,
                _ => Treatment::Lie(random.next_u64()),
            },
        }
    }
}

/// What a traitor does with a message that it should send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It does not send it.
    Nothing,
    /// It sends it.
    Truth,
    /// It sends it twice.
    Twice,
    /// It sends this lie in its place; see [`quorate_core::Process::forge`].
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
