//! Claims of resource allocation: those that a scenario gives, and those that are drawn from its seed.

use std::fmt;
use std::str::FromStr;

use quorate_core::allocation::{Claim, ClaimKind, ConflictGraph};
use quorate_core::{ProcessId, ProcessSet};

use super::description::Scenario;
use super::notation::{NotationError, serde_as_text};
use crate::random::{Random, Stream};

/// Number of permits by default.
pub const DEFAULT_CAPACITY: u32 = 2;

/// Number of groups from which claims are drawn.
const GROUPS: u64 = 3;

/// Of this number of claims that are drawn, one is to write.
const READS_PER_WRITE: u64 = 3;

/// Claims of one process, in order: `0=read,write`, `1=group:2`, `2=with:1+3`. The last one is used for all later entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOf {
    /// The process that makes the claims.
    pub process: ProcessId,
    /// Claims of its successive requests, never empty.
    pub claims: Vec<GivenClaim>,
}

/// A claim as a scenario gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenClaim {
    /// Shared access, written `read`.
    Read,
    /// Exclusive access, written `write`.
    Write,
    /// Membership in a group: `group:2`.
    Group(u32),
    /// The resources that the process shares with these others: `with:1+3`.
    With(ProcessSet),
}

impl GivenClaim {
    /// The claim of this process.
    pub fn claim(&self, process: ProcessId) -> Claim {
        match self {
            Self::Read => Claim::Read,
            Self::Write => Claim::Write,
            Self::Group(number) => Claim::Group(*number),
            Self::With(others) => Claim::shared_with(process, others),
        }
    }
}

impl FromStr for GivenClaim {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("a claim such as read, write, group:2 or with:1+3", text);
        match text {
            "read" => return Ok(Self::Read),
            "write" => return Ok(Self::Write),
            _ => {}
        }
        let (kind, value) = text.split_once(':').ok_or_else(error)?;
        match kind {
            "group" => value.parse().map(Self::Group).map_err(|_| error()),
            "with" => {
                let process = |text: &str| text.parse().map(ProcessId::new).map_err(|_| error());
                value.split('+').map(process).collect::<Result<_, _>>().map(Self::With)
            }
            _ => Err(error()),
        }
    }
}

impl fmt::Display for GivenClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Write => f.write_str("write"),
            Self::Group(number) => write!(f, "group:{number}"),
            Self::With(others) => {
                let others: Vec<String> = others.iter().map(|it| it.number().to_string()).collect();
                write!(f, "with:{}", others.join("+"))
            }
        }
    }
}

impl FromStr for ClaimOf {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || NotationError::new("a process and its claims, such as 0=read,write", text);
        let (process, claims) = text.split_once('=').ok_or_else(error)?;
        let process = ProcessId::new(process.parse().map_err(|_| error())?);
        let claims = claims.split(',').map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { process, claims })
    }
}

impl fmt::Display for ClaimOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claims: Vec<String> = self.claims.iter().map(GivenClaim::to_string).collect();
        write!(f, "{}={}", self.process.number(), claims.join(","))
    }
}

/// A [`ConflictGraph`] as text: `ring` or `complete`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConflictsText(pub ConflictGraph);

impl FromStr for ConflictsText {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        match text {
            "ring" => Ok(Self(ConflictGraph::Ring)),
            "complete" => Ok(Self(ConflictGraph::Complete)),
            _ => Err(NotationError::new("a conflict graph: ring or complete", text)),
        }
    }
}

impl fmt::Display for ConflictsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            ConflictGraph::Ring => "ring",
            ConflictGraph::Complete => "complete",
        })
    }
}

serde_as_text!(ClaimOf, ConflictsText);

impl Scenario {
    /// Number of permits that may be taken at the same time.
    pub fn permits(&self) -> usize {
        self.capacity.unwrap_or(DEFAULT_CAPACITY) as usize
    }

    /// The processes that share resources with a process.
    pub fn neighbours(&self, process: ProcessId) -> ProcessSet {
        self.conflicts.unwrap_or_default().0.neighbours(self.processes, process)
    }

    /// The claim of a process in its request with this number, counted from 0: a given one, or one that is drawn from the
    /// seed. It does not depend on other requests.
    pub fn claim(&self, kind: ClaimKind, process: ProcessId, number: u64) -> Claim {
        if let Some(own) = self.claim_of.iter().find(|own| own.process == process) {
            let last = own.claims.len() - 1;
            return own.claims[last.min(number as usize)].claim(process);
        }
        let mut random = Random::new(self.seed, Stream::Claims)
            .fork(u64::from(process.number()) << 32 | number & u64::from(u32::MAX));
        match kind {
            ClaimKind::Permit => Claim::Permit,
            ClaimKind::ReadWrite if random.below(READS_PER_WRITE) == 0 => Claim::Write,
            ClaimKind::ReadWrite => Claim::Read,
            ClaimKind::Group => Claim::Group(random.below(GROUPS) as u32),
            ClaimKind::AllResources => Claim::shared_with(process, &self.neighbours(process)),
            ClaimKind::SomeResources => {
                let all = self.neighbours(process);
                let some: ProcessSet = all.iter().filter(|_| random.below(2) == 0).collect();
                Claim::shared_with(process, if some.is_empty() { &all } else { &some })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_as_they_are_written() {
        for text in ["0=read,write", "3=group:2", "1=with:0+2,with:2"] {
            assert_eq!(text.parse::<ClaimOf>().map(|own| own.to_string()).as_deref(), Ok(text));
        }
        for wrong in ["0", "0=", "x=read", "0=with:", "0=group:-1", "0=permit"] {
            assert!(wrong.parse::<ClaimOf>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn claims_are_given_or_drawn() {
        let (p0, p1) = (ProcessId::new(0), ProcessId::new(1));
        let mut scenario = Scenario::new("readers-writers", 5);
        scenario.claim_of = vec!["0=write,read".parse().expect("claims")];
        let given = [0, 1, 7].map(|number| scenario.claim(ClaimKind::ReadWrite, p0, number));
        assert_eq!(given, [Claim::Write, Claim::Read, Claim::Read]);
        let drawn = |number| scenario.claim(ClaimKind::ReadWrite, p1, number);
        let writes = (0..300).filter(|number| drawn(*number) == Claim::Write).count();
        assert!((60..140).contains(&writes), "{writes}");
        assert_eq!(drawn(17), drawn(17));
        for number in 0..50 {
            let claim = scenario.claim(ClaimKind::SomeResources, p1, number);
            assert!(ClaimKind::SomeResources.admits(p1, &scenario.neighbours(p1), &claim));
            assert_ne!(claim, Claim::shared_with(p1, &ProcessSet::new()));
        }
    }
}
