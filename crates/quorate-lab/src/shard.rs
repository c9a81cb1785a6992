//! Shards of work that several machines share or that is not finished.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of several parts of some work, such as `3/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Number of this part, from 1 on.
    pub number: u32,
    /// Total number of parts.
    pub of: u32,
}

/// Maximum number of parts. A larger number is considered a mistake.
const SHARDS_MOST: u32 = 1_000_000;

impl Shard {
    /// The whole work as a single part.
    pub const WHOLE: Self = Self { number: 1, of: 1 };
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, of) = text.split_once('/')?;
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            ((1..=SHARDS_MOST).contains(&of) && (1..=of).contains(&number))
                .then_some(Self { number, of })
        };
        read().ok_or_else(|| {
            format!("expected a part and the number of parts, such as 3/8, at most {SHARDS_MOST}")
        })
    }
}

impl TryFrom<String> for Shard {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Sorts named parts by number. Fails unless every part is present exactly once and all belong to the
/// same work, as `same` decides.
pub fn in_order<T>(
    mut parts: Vec<(String, Shard, T)>,
    same: impl Fn(&T, &T) -> bool,
) -> Result<Vec<T>, String> {
    parts.sort_by_key(|(_, shard, _)| shard.number);
    let Some((first_name, first_shard, first)) = parts.first() else {
        return Err("there is nothing to merge".to_owned());
    };
    for (name, shard, work) in &parts {
        if shard.of != first_shard.of || !same(work, first) {
            return Err(format!(
                "{name} and {first_name} are parts of different campaigns or experiments"
            ));
        }
    }
    for pair in parts.windows(2) {
        if pair[0].1 == pair[1].1 {
            return Err(format!("{} and {} are both part {}", pair[0].0, pair[1].0, pair[0].1));
        }
    }
    let of = first_shard.of;
    let mut numbers = parts.iter().map(|(_, shard, _)| shard.number);
    if let Some(missing) = (1..=of).find(|number| numbers.next() != Some(*number)) {
        let count = of as usize - parts.len();
        let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        return Err(format!("part {missing}/{of}{others} missing: merge takes all {of} at once"));
    }
    Ok(parts.into_iter().map(|(.., work)| work).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_so_many() {
        assert_eq!("3/8".parse(), Ok(Shard { number: 3, of: 8 }));
        for bad in ["", "3", "0/8", "9/8", "1/0", "-1/2", "1/2/3", "a/b", "1/1000001"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn parts_are_put_in_order_and_must_all_be_there() {
        let part =
            |text: &str, work: char| (format!("{text}.json"), text.parse().expect("a shard"), work);
        let merged = |parts: Vec<(String, Shard, char)>| in_order(parts, |a, b| a == b);
        assert_eq!(merged(vec![part("2/2", 'a'), part("1/2", 'a')]), Ok(vec!['a', 'a']));
        let refused = |parts| merged(parts).unwrap_err();
        assert_eq!(
            refused(vec![part("1/3", 'a')]),
            "part 2/3 and 1 more missing: merge takes all 3 at once"
        );
        assert_eq!(
            refused(vec![part("1/2", 'a'), part("1/2", 'a')]),
            "1/2.json and 1/2.json are both part 1/2"
        );
        for other in [part("2/2", 'b'), part("2/3", 'a')] {
            assert!(
                refused(vec![part("1/2", 'a'), other])
                    .contains("different campaigns or experiments")
            );
        }
        assert_eq!(refused(Vec::new()), "there is nothing to merge");
    }
}
