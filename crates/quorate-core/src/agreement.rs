//! Agreement: what a user asks and hears, whatever the algorithm.

use alloc::vec::Vec;
use core::fmt;

use crate::Process;
use crate::message::UNCONDITIONAL_LIE;

/// Something to agree on. For generals 0 is to retreat and 1 to attack; for a transaction 0 is to abort and 1 to commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Value(pub u64);

impl Value {
    /// What generals do where nothing else is agreed.
    pub const RETREAT: Self = Self(0);
    /// The order to attack.
    pub const ATTACK: Self = Self(1);
    /// The vote or the decision to undo a transaction.
    pub const ABORT: Self = Self(0);
    /// The vote or the decision to let a transaction stand.
    pub const COMMIT: Self = Self(1);

    /// What a liar says in its place: the other of two for an odd choice, the truth for an even one; regardless of the
    /// truth 0 or 1, where the choice says so.
    #[must_use]
    pub const fn forged(self, choice: u64) -> Self {
        let truth = if choice >= UNCONDITIONAL_LIE { 0 } else { self.0 };
        Self(truth ^ (choice & 1))
    }

    /// The same where there may be nothing, and as much may be said.
    pub fn forged_or_none(value: Option<Self>, choice: u64) -> Option<Self> {
        let made_up = (choice >= UNCONDITIONAL_LIE || choice & 1 == 1).then_some(Self(choice & 1));
        value.map_or(made_up, |value| Some(value.forged(choice)))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the user of an agreement asks of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Take part with this value: a proposal, an order of the commander, or a vote.
    Propose(Value),
}

/// What an agreement tells its user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// This was decided, for good.
    Decided(Decision),
    /// Nothing can be decided until somebody who has crashed comes back.
    Blocked,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// One value.
    Value(Value),
    /// A value for each process, in order; none where all agree that there is none.
    Vector(Vec<Option<Value>>),
}

/// What is agreed on: who proposes, what makes a decision valid, and what values are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AgreementKind {
    /// One of the values that everybody proposes.
    #[default]
    Proposal,
    /// The order of a commander, who alone proposes.
    Order,
    /// The values of all, one for each.
    Vector,
    /// Whether a transaction stands, on which everybody votes.
    Vote,
}

impl AgreementKind {
    /// What everybody proposes if nobody says: n to 1, so that the last process has the least; to attack; to commit.
    pub const fn default_value(self, n: usize, index: usize) -> Value {
        match self {
            Self::Proposal | Self::Vector => Value((n - index) as u64),
            Self::Order => Value::ATTACK,
            Self::Vote => Value::COMMIT,
        }
    }

    /// The value in words: `attack`.
    pub const fn display_value(self, value: Value) -> impl fmt::Display {
        ValueDisplay { kind: self, value }
    }

    /// The decision in words: `attack`, or `4 3 - 1` for a vector.
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

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// It has proposed before.
    #[error("this process has proposed already")]
    AlreadyProposed,
    /// The agreement has gone on without it.
    #[error("the first round is over")]
    TooLate,
    /// Somebody else gives the orders.
    #[error("only the commander gives an order")]
    NotCommander,
}

/// A process that agrees with others.
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
