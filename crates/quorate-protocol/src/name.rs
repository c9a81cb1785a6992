//! Names of locks and elections.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum length of a name, in bytes.
pub const NAME_MOST: usize = 256;

/// Name of a lock or of an election. Locks and elections have separate namespaces: one of each may have the same text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    kind: Kind,
    text: Arc<str>,
}

/// Namespace of a name.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The namespace of locks.
    #[default]
    Lock,
    /// The namespace of elections.
    Election,
}

/// Reason why a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// The text is empty.
    #[error("a name must not be empty")]
    Empty,
    /// The text is longer than [`NAME_MOST`]. Contains its length in bytes.
    #[error("a name has at most {NAME_MOST} bytes, and this one has {0}")]
    TooLong(usize),
    /// The text contains a control character, which a terminal would not show. Contains its byte offset.
    #[error("a name must not have control characters, and this one has one at byte {0}")]
    Control(usize),
}

impl Name {
    /// Creates a name of this kind, if the text is valid.
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

    /// Creates the name of a lock.
    pub fn lock(text: &str) -> Result<Self, BadName> {
        Self::new(Kind::Lock, text)
    }

    /// Creates the name of an election.
    pub fn election(text: &str) -> Result<Self, BadName> {
        Self::new(Kind::Election, text)
    }

    /// Returns whether this is the name of a lock or of an election.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the text without the kind.
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
