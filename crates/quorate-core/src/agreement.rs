//! Agreement: the commands and outputs that all agreement algorithms share.

use alloc::vec::Vec;
use core::fmt;

use crate::Process;
use crate::message::UNCONDITIONAL_LIE;

/// A value to agree on. For generals, 0 means retreat and 1 means attack. For a transaction, 0 means abort
/// and 1 means commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Value(pub u64);

impl Value {
    /// The order to retreat, which is also the generals' default.
    pub const RETREAT: Self = Self(0);
    /// The order to attack.
    pub const ATTACK: Self = Self(1);
    /// The vote or the decision to undo a transaction.
    pub const ABORT: Self = Self(0);
    /// The vote or the decision to commit a transaction.
    pub const COMMIT: Self = Self(1);

    /// The value that a Byzantine process sends instead of this one. An odd choice flips the lowest bit, an even choice
    /// keeps the true value. From [`UNCONDITIONAL_LIE`] on the result is 0 or 1, independent of the true value.
    #[must_use]
    pub const fn forged(self, choice: u64) -> Self {
        let truth = if choice >= UNCONDITIONAL_LIE { 0 } else { self.0 };
        Self(truth ^ (choice & 1))
    }

    /// Like [`Self::forged`] for a value that may be absent. A Byzantine process may then invent a value.
    pub fn forged_or_none(value: Option<Self>, choice: u64) -> Option<Self> {
        let made_up = (choice >= UNCONDITIONAL_LIE || choice & 1 == 1).then_some(Self(choice & 1));
        value.map_or(made_up, |value| Some(value.forged(choice)))
    }
}

impl crate::multicast::Body for Value {}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A command of the user to a process that takes part in an agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Take part with this value: a proposal, an order of the commander, or a vote.
    Propose(Value),
}

/// An output of an agreement algorithm to its user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The final decision of this process.
    Decided(Decision),
    /// No decision is possible until a crashed process recovers.
    Blocked,
}

/// The result of an agreement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// A single value for all processes.
    Value(Value),
    /// One value per process, in order. `None` means that the processes agree that this process has no value.
    Vector(Vec<Option<Value>>),
}

/// The agreement problem: which processes propose, which decisions are valid, and how values are displayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AgreementKind {
    /// One of the values that the processes propose.
    #[default]
    Proposal,
    /// One of the values that the processes propose, each of which is 0 or 1.
    Bit,
    /// The order of a commander, the only process that proposes.
    Order,
    /// A vector of the values of all processes.
    Vector,
    /// The outcome of a transaction, on which every process votes.
    Vote,
}

impl AgreementKind {
    /// The default proposal of a process: n to 1, so that the last process has the least value; 0 and 1 in turn for a bit;
    /// `ATTACK` for an order; `COMMIT` for a vote.
    pub const fn default_value(self, n: usize, index: usize) -> Value {
        match self {
            Self::Proposal | Self::Vector => Value((n - index) as u64),
            Self::Bit => Value(index as u64 % 2),
            Self::Order => Value::ATTACK,
            Self::Vote => Value::COMMIT,
        }
    }

    /// The greatest value that may be proposed, if not all values may.
    pub const fn greatest_value(self) -> Option<Value> {
        match self {
            Self::Bit | Self::Vote => Some(Value(1)),
            Self::Proposal | Self::Order | Self::Vector => None,
        }
    }

    /// Displays the value in words, such as `attack`.
    pub const fn display_value(self, value: Value) -> impl fmt::Display {
        ValueDisplay { kind: self, value }
    }

    /// Displays the decision in words, such as `attack`, or `4 3 - 1` for a vector.
    pub fn display_decision(self, decision: &Decision) -> impl fmt::Display {
        DecisionDisplay { kind: self, decision }
    }
}

struct ValueDisplay {
    kind: AgreementKind,
    value: Value,
}

impl fmt::Display for ValueDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.value) {
            (AgreementKind::Order, Value::RETREAT) => f.pad("retreat"),
            (AgreementKind::Order, Value::ATTACK) => f.pad("attack"),
            (AgreementKind::Vote, Value::ABORT) => f.pad("abort"),
            (AgreementKind::Vote, Value::COMMIT) => f.pad("commit"),
            (_, value) => value.fmt(f),
        }
    }
}

struct DecisionDisplay<'a> {
    kind: AgreementKind,
    decision: &'a Decision,
}

impl fmt::Display for DecisionDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = match self.decision {
            Decision::Value(value) => return self.kind.display_value(*value).fmt(f),
            Decision::Vector(entries) => entries,
        };
        for (place, entry) in entries.iter().enumerate() {
            let gap = if place == 0 { "" } else { " " };
            match entry {
                Some(value) => write!(f, "{gap}{}", self.kind.display_value(*value))?,
                None => write!(f, "{gap}-")?,
            }
        }
        Ok(())
    }
}

/// A command that is invalid in the present state. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// The process has proposed before.
    #[error("this process has proposed already")]
    AlreadyProposed,
    /// The first round has ended, so a proposal is too late.
    #[error("the first round is over")]
    TooLate,
    /// Only the commander may propose, and this process is not the commander.
    #[error("only the commander gives an order")]
    NotCommander,
}

/// A process that runs an agreement algorithm.
pub trait Agreement: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Agreement for P {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn decisions_are_displayed_in_words() {
        let text =
            |kind: AgreementKind, value| kind.display_decision(&Decision::Value(value)).to_string();
        assert_eq!(text(AgreementKind::Order, Value::ATTACK), "attack");
        assert_eq!(text(AgreementKind::Vote, Value::ABORT), "abort");
        assert_eq!(text(AgreementKind::Order, Value(7)), "7");
        let vector = Decision::Vector([Some(Value(4)), None, Some(Value(2))].into());
        assert_eq!(AgreementKind::Vector.display_decision(&vector).to_string(), "4 - 2");
    }

    #[test]
    fn an_odd_choice_lies() {
        assert_eq!(Value::ATTACK.forged(1), Value::RETREAT);
        assert_eq!(Value::RETREAT.forged(7), Value::ATTACK);
        assert_eq!(Value::ATTACK.forged(2), Value::ATTACK);
        assert_eq!(Value::ATTACK.forged(UNCONDITIONAL_LIE), Value::RETREAT);
        assert_eq!(Value(7).forged(UNCONDITIONAL_LIE + 1), Value::ATTACK);
        assert_eq!(Value::forged_or_none(None, 2), None);
        assert_eq!(Value::forged_or_none(None, UNCONDITIONAL_LIE), Some(Value::RETREAT));
    }
}
