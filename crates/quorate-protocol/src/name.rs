//! What locks and elections are called.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest name, in bytes.
pub const NAME_MOST: usize = 256;

/// A lock or an election. The two have names of their own: a lock and an election may be called the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    kind: Kind,
    text: Arc<str>,
}

/// What a name is the name of.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A lock.
    #[default]
    Lock,
    /// An election.
    Election,
}

/// A name that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// There is nothing.
    #[error("a name must not be empty")]
    Empty,
    /// There is too much.
    #[error("a name has at most {NAME_MOST} bytes, and this one has {0}")]
    TooLong(usize),
    /// A terminal would not show it as it is.
    #[error("a name must not have control characters, and this one has one at byte {0}")]
    Control(usize),
}

impl Name {
    /// A lock's or an election's.
    pub fn new(kind: Kind, text: &str) -> Result<Self, BadName> {
        if text.is_empty() {
            return Err(BadName::Empty);
        }
        if text.len() > NAME_MOST {
            return Err(BadName::TooLong(text.len()));
        }
        match text.char_indices().find(|(_, character)| character.is_control()) {
            Some((index, _)) => Err(BadName::Control(index)),
            None => Ok(Self { kind, text: text.into() }),
        }
    }

    /// A lock's.
    pub fn lock(text: &str) -> Result<Self, BadName> {
        Self::new(Kind::Lock, text)
    }

    /// An election's.
    pub fn election(text: &str) -> Result<Self, BadName> {
        Self::new(Kind::Election, text)
    }

    /// What it is the name of.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The name alone.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::escaped(&self.text).fmt(f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.kind, &*self.text).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, text) = <(Kind, std::borrow::Cow<'de, str>)>::deserialize(deserializer)?;
        Self::new(kind, &text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_wherever_they_come_from() {
        assert_eq!(Name::lock(""), Err(BadName::Empty));
        assert_eq!(Name::lock("a\nb"), Err(BadName::Control(1)));
        assert_eq!(Name::lock(&"x".repeat(257)), Err(BadName::TooLong(257)));
        let name = Name::election("leiloeiro/São Paulo").expect("any letters");
        let bytes = postcard::to_stdvec(&name).expect("plain data");
        assert_eq!(postcard::from_bytes::<Name>(&bytes), Ok(name));
        let empty = postcard::to_stdvec(&(Kind::Lock, "")).expect("plain data");
        assert!(postcard::from_bytes::<Name>(&empty).is_err());
    }
}
