//! Actions that can happen in a world.

use std::fmt;

/// An action, and optionally a crash of its process in the middle of the first multicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// The action that happens.
    pub kind: ActionKind,
    /// Number of sends after which the process crashes; `None` if it does not crash.
    pub crash_after: Option<u8>,
}

/// Actions that can happen in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// A message is delivered: the one at `index` among those of its link.
    Deliver {
        /// Process that sent the message.
        from: u8,
        /// Process that receives the message.
        to: u8,
        /// Position among the messages in flight on the link.
        index: u8,
    },
    /// A user issues its next command.
    Command(u8),
    /// An observer is notified of a crash.
    NotifyCrash {
        /// Process that is notified.
        observer: u8,
        /// Process that has crashed.
        victim: u8,
    },
    /// A process crashes between two of its steps.
    Crash(u8),
    /// A crashed process recovers with its memory.
    Recover(u8),
    /// A message is lost.
    Lose {
        /// Process that sent the message.
        from: u8,
        /// Process to which the message was sent.
        to: u8,
        /// Position among the messages in flight on the link.
        index: u8,
    },
    /// An observer wrongly starts to suspect a live process.
    Suspect {
        /// Process that suspects the victim.
        observer: u8,
        /// Process that is wrongly suspected.
        victim: u8,
    },
    /// An observer stops suspecting a live process.
    Trust {
        /// Process that trusts the victim again.
        observer: u8,
        /// Process that is no longer suspected.
        victim: u8,
    },
    /// A process is informed that the round is over.
    RoundEnd(u8),
    /// A timer expires: the one at `index` among those of its process.
    Expire {
        /// Process that set the timer.
        process: u8,
        /// Position among the running timers of the process.
        index: u8,
    },
    /// Time advances by one instant.
    Tick,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ActionKind::Deliver { from, to, .. } => {
                write!(f, "p{to} receives a message from p{from}")?
            }
            ActionKind::Command(process) => write!(f, "p{process} receives a command")?,
            ActionKind::NotifyCrash { observer, victim } => {
                write!(f, "p{observer} detects the crash of p{victim}")?;
            }
            ActionKind::Crash(victim) => write!(f, "p{victim} crashes")?,
            ActionKind::Recover(process) => write!(f, "p{process} comes back")?,
            ActionKind::Lose { from, to, .. } => {
                write!(f, "a message from p{from} to p{to} is lost")?
            }
            ActionKind::Suspect { observer, victim } => {
                write!(f, "p{observer} wrongly suspects p{victim}")?;
            }
            ActionKind::Trust { observer, victim } => write!(f, "p{observer} trusts p{victim}")?,
            ActionKind::RoundEnd(process) => write!(f, "the round is over for p{process}")?,
            ActionKind::Expire { process, .. } => write!(f, "a timer of p{process} expires")?,
            ActionKind::Tick => write!(f, "time advances by the maximum message delay")?,
        }
        match self.crash_after {
            Some(1) => write!(f, " and crashes after 1 send"),
            Some(sends) => write!(f, " and crashes after {sends} sends"),
            None => Ok(()),
        }
    }
}
