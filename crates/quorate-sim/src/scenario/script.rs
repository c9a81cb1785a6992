//! Scripts: what the users of a computation do, step by step, as text: `0: send 1 20; record`.

use std::fmt;
use std::str::FromStr;

use quorate_core::{ProcessId, ProcessSet};

use super::notation::{NotationError, SetText, serde_as_text};

/// The steps of the user of one process, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The process of the user.
    pub process: ProcessId,
    /// The steps of the user.
    pub steps: Vec<Step>,
}

/// One step of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Transfers money to another process.
    Transfer {
        /// The process that gains the money.
        to: ProcessId,
        /// The amount of money to transfer.
        amount: u64,
    },
    /// Begins a snapshot of all processes.
    Record,
    /// Begins a computation that may terminate.
    Start,
    /// Sends a message to another process.
    Send(ProcessId),
    /// Becomes passive until a message arrives.
    Rest,
    /// Waits for other processes.
    Wait(ProcessSet),
    /// Grants what another process waits for.
    Grant,
}

impl Step {
    /// The other processes that the step names.
    pub fn others(&self) -> ProcessSet {
        match self {
            Self::Transfer { to, .. } | Self::Send(to) => [*to].into_iter().collect(),
            Self::Wait(on) => on.clone(),
            Self::Record | Self::Start | Self::Rest | Self::Grant => ProcessSet::new(),
        }
    }

    /// The same step with renamed processes; `None` if one of them has no new name.
    pub fn renamed(&self, name: impl Fn(ProcessId) -> Option<ProcessId>) -> Option<Self> {
        Some(match self {
            Self::Transfer { to, amount } => Self::Transfer { to: name(*to)?, amount: *amount },
            Self::Send(to) => Self::Send(name(*to)?),
            Self::Wait(on) => {
                let others: Option<ProcessSet> = on.iter().map(name).collect();
                Self::Wait(others?)
            }
            Self::Record | Self::Start | Self::Rest | Self::Grant => self.clone(),
        })
    }
}

impl FromStr for Step {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error = || {
            let expected = "a step: send P AMOUNT, record, start, send P, rest, wait P,P or grant";
            NotationError::new(expected, text)
        };
        let process = |text: &str| -> Result<ProcessId, NotationError> {
            let SetText(set) = text.parse()?;
            match (set.first(), set.len()) {
                (Some(process), 1) => Ok(process),
                _ => Err(error()),
            }
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["send", to, amount] => {
                let amount = amount.parse::<u32>().map_err(|_| error())?;
                Ok(Self::Transfer { to: process(to)?, amount: amount.into() })
            }
            ["record"] => Ok(Self::Record),
            ["start"] => Ok(Self::Start),
            ["send", to] => Ok(Self::Send(process(to)?)),
            ["rest"] => Ok(Self::Rest),
            ["wait", on] => Ok(Self::Wait(on.parse::<SetText>()?.0)),
            ["grant"] => Ok(Self::Grant),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfer { to, amount } => write!(f, "send {} {amount}", to.number()),
            Self::Record => f.write_str("record"),
            Self::Start => f.write_str("start"),
            Self::Send(to) => write!(f, "send {}", to.number()),
            Self::Rest => f.write_str("rest"),
            Self::Wait(on) => write!(f, "wait {}", SetText(on.clone())),
            Self::Grant => f.write_str("grant"),
        }
    }
}

impl FromStr for Script {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        let error =
            || NotationError::new("a process and its steps, such as 0: send 1 20; record", text);
        let (process, steps) = text.split_once(':').ok_or_else(error)?;
        let process = process.trim().parse().map_err(|_| error())?;
        let steps: Result<Vec<Step>, NotationError> = steps.split(';').map(str::parse).collect();
        Ok(Self { process: ProcessId::new(process), steps: steps? })
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.process.number())?;
        for (place, step) in self.steps.iter().enumerate() {
            write!(f, "{} {step}", if place == 0 { "" } else { ";" })?;
        }
        Ok(())
    }
}

serde_as_text!(Script);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_and_written() {
        let script: Script =
            "1:  send 0 20;record; start;send 2;rest; wait 0,2;grant".parse().unwrap();
        assert_eq!(
            script.to_string(),
            "1: send 0 20; record; start; send 2; rest; wait 0,2; grant"
        );
        let again: Script = script.to_string().parse().unwrap();
        assert_eq!(again, script);
        for bad in
            ["", "1", "1:", "1: send", "1: send 0,2 5", "1: send 0 -1", "x: record", "1: jump"]
        {
            assert!(bad.parse::<Script>().is_err(), "{bad}");
        }
    }
}
