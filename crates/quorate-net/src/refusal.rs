//! Refusals: the reason why a node refuses another. It is sent to the peer and logged.

use std::fmt;

/// Maximum length of a refusal's text, in bytes. Longer texts are truncated when they are sent and when they are received.
pub(crate) const LONGEST_TEXT: usize = 400;

/// A refusal of a connection to another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of reason.
    pub reason: RefusalReason,
    /// Description of the problem, with the values of both nodes.
    pub detail: String,
}

/// Kinds of reasons. Their numbers on the wire do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The connection did not start with a handshake of quorate.
    NotQuorate,
    /// The nodes have no version of the frames in common.
    Frames,
    /// The nodes have no version of the owners' messages in common.
    Messages,
    /// The peer belongs to another cluster.
    Cluster,
    /// The peer is not in the configuration.
    Unknown,
    /// The peer wanted to reach another node.
    Addressee,
    /// The certificate of the peer belongs to another node.
    Certificate,
    /// The peer should wait to be dialled.
    Direction,
    /// A later incarnation of the peer has been connected.
    StaleIncarnation,
    /// The peer reports messages as received that were never sent, or has forgotten messages that it had acknowledged.
    SequenceMismatch,
    /// The node is about to stop.
    Stopping,
    /// A reason that this build does not know.
    Other(u8),
}

impl Refusal {
    pub(crate) fn new(reason: RefusalReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }

    /// Decodes a refusal of a peer. Control characters are replaced.
    pub(crate) fn from_wire(code: u8, text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST_TEXT)]);
        let clean = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        Self { reason: RefusalReason::from_code(code), detail: clean }
    }

    /// The text, truncated to the maximum length.
    pub(crate) fn text(&self) -> &str {
        let mut end = self.detail.len().min(LONGEST_TEXT);
        while !self.detail.is_char_boundary(end) {
            end -= 1;
        }
        &self.detail[..end]
    }
}

impl RefusalReason {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::NotQuorate => 1,
            Self::Frames => 2,
            Self::Messages => 3,
            Self::Cluster => 4,
            Self::Unknown => 5,
            Self::Addressee => 6,
            Self::Certificate => 7,
            Self::Direction => 8,
            Self::StaleIncarnation => 9,
            Self::SequenceMismatch => 10,
            Self::Stopping => 11,
            Self::Other(code) => code,
        }
    }

    fn from_code(code: u8) -> Self {
        const KNOWN: [RefusalReason; 11] = [
            RefusalReason::NotQuorate,
            RefusalReason::Frames,
            RefusalReason::Messages,
            RefusalReason::Cluster,
            RefusalReason::Unknown,
            RefusalReason::Addressee,
            RefusalReason::Certificate,
            RefusalReason::Direction,
            RefusalReason::StaleIncarnation,
            RefusalReason::SequenceMismatch,
            RefusalReason::Stopping,
        ];
        KNOWN.into_iter().find(|known| known.code() == code).unwrap_or(Self::Other(code))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            RefusalReason::Other(code) => write!(f, "{} (reason {code})", self.detail),
            _ => f.write_str(&self.detail),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_they_are_written() {
        for code in 0..=255 {
            assert_eq!(RefusalReason::from_code(code).code(), code);
        }
    }

    #[test]
    fn a_peers_words_cannot_move_the_cursor_nor_go_on_for_ever() {
        let refusal = Refusal::from_wire(200, "\x1b[2Jhello\nworld".as_bytes());
        assert_eq!(refusal.to_string(), "?[2Jhello?world (reason 200)");
        let long = Refusal::new(RefusalReason::Unknown, "ä".repeat(LONGEST_TEXT));
        assert_eq!(long.text().len(), LONGEST_TEXT);
        assert!(Refusal::from_wire(1, &[0xff; 4096]).detail.chars().count() <= LONGEST_TEXT);
    }

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        // The limit is in the middle of a character of two bytes.
        let refusal = Refusal::new(RefusalReason::Cluster, format!("x{}", "é".repeat(200)));
        assert_eq!(refusal.text().len(), LONGEST_TEXT - 1);
        assert!(refusal.detail.starts_with(refusal.text()));
    }
}
