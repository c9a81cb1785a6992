//! Origins whose pages may frame the read-only view of a run.

use std::fmt;
use std::str::FromStr;

/// Maximum length of an origin.
const CHARS_MOST: usize = 255;

/// An origin such as `https://course.example`, as in a content security policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameOrigin(String);

impl FromStr for FrameOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let origin = text.strip_suffix('/').unwrap_or(text);
        let host = ["https://", "http://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
        // A policy is a list of words, so that no other characters may pass.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
        match host {
            Some(host)
                if !host.is_empty() && host.chars().all(is_plain) && origin.len() <= CHARS_MOST =>
            {
                Ok(Self(origin.to_owned()))
            }
            _ => Err("expected an origin such as https://course.example or http://localhost:8000"
                .to_owned()),
        }
    }
}

impl fmt::Display for FrameOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_origins_are_accepted() {
        for good in ["https://course.example", "http://localhost:8000", "http://[::1]:80/"] {
            let origin: FrameOrigin = good.parse().expect("it is an origin");
            assert_eq!(origin.to_string(), good.trim_end_matches('/'));
        }
        let bad = [
            "",
            "*",
            "https://",
            "course.example",
            "https://*",
            "https://a/b",
            "https://a b",
            "https://a;script-src *",
            "javascript://a",
            "https://a\n",
        ];
        for bad in bad {
            assert!(bad.parse::<FrameOrigin>().is_err(), "{bad}");
        }
    }
}
