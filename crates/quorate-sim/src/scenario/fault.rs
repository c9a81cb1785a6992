//! Faults in the notation of scenario files and flags, one line each. [`super::plan`] draws everything that the
//! notation leaves to the seed.

use std::fmt;
use std::str::FromStr;

use quorate_core::{ProcessSet, Span};
use serde::{Deserialize, Serialize};

use super::notation::{
    Factor, Link, NotationError, ProcessSelector, Rate, SetText, When, Window, parse_span,
    serde_as_text,
};
use super::traitor::Strategy;

/// All faults of a run. The fields are the keys of a scenario's
/// `[faults]` table and, with dashes, the flags of the command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Faults {
    /// Crashes of processes: `2@1ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crash: Vec<ProcessAt>,
    /// Crashes after a number of sends of the first multicast at or after the time: `2@1ms:3`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crash_mid: Vec<CrashMid>,
    /// Recoveries of crashed processes, with or without memory: `2@9ms`, `2@9ms:amnesia`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recover: Vec<Recover>,
    /// Send omissions of a process: `2@1ms..5ms:0.5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit_send: Vec<Omission>,
    /// Receive omissions of a process: `2@1ms..5ms:0.5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit_receive: Vec<Omission>,
    /// Probability that a message is lost.
    #[serde(skip_serializing_if = "is_zero")]
    pub loss: f64,
    /// Losses of the first message on a link at or after a time: `0-1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lose: Vec<LinkAt>,
    /// Probability that a message arrives twice.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplication: f64,
    /// Duplications of the first message on a link at or after a time: `0-1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub duplicate: Vec<LinkAt>,
    /// Probability that a message is overtaken, even on a FIFO link.
    #[serde(skip_serializing_if = "is_zero")]
    pub reordering: f64,
    /// Reorderings of the first message on a link at or after a time: `0-1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reorder: Vec<LinkAt>,
    /// Probability that a link changes the contents of a message.
    #[serde(skip_serializing_if = "is_zero")]
    pub corruption: f64,
    /// Changes of the contents of the first message on a link at or after a time: `0-1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrupt: Vec<LinkAt>,
    /// Processes that need this long to handle each message: `2@1ms..9ms:5ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<Slow>,
    /// Processes that run faster than they should by a factor: `2@1ms:4`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fast: Vec<Fast>,
    /// Processes whose clock runs at a wrong rate: `2@0:1.5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock: Vec<Clock>,
    /// Cut links, in both directions or, with `>`, in one: `0-1@2ms..9ms`, `0>1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Cut>,
    /// Network partitions: groups that cannot reach each other until they heal: `0,1|2,3,4@2ms..9ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partition: Vec<Partition>,
    /// False suspicions, in which the first process believes that the second has crashed: `0-3@2ms..9ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspect: Vec<Suspect>,
    /// Processes that do not follow the algorithm: `2:liar`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traitor: Vec<Traitor>,
}

fn is_zero(rate: &f64) -> bool {
    *rate == 0.0
}

/// Declares a fault together with its notation: the expected form for error messages, the parser and the printer.
macro_rules! notation {
    (
        $(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }
        expects $expected:literal;
        reads |$text:ident| $read:expr;
        prints |$this:ident| $($print:tt)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type),* }

        impl FromStr for $name {
            type Err = NotationError;
            fn from_str($text: &str) -> Result<Self, NotationError> {
                let read: Option<Result<Self, NotationError>> = $read;
                read.unwrap_or_else(|| Err(NotationError::new($expected, $text)))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $this = self;
                write!(f, $($print)+)
            }
        }

        serde_as_text!($name);
    };
}

notation! {
    /// A process and a time: of its crash, or of a request of its user.
    ProcessAt {
        /// The process, or any process that the seed selects.
        process: ProcessSelector,
        /// The time of the event.
        at: When,
    }
    expects "a process and a time, such as 2@1ms";
    reads |text| text.split_once('@').map(|(process, at)| Ok(Self { process: process.parse()?, at: at.parse()? }));
    prints |this| "{}@{}", this.process, this.at
}

notation! {
    /// A process that crashes in the middle of a multicast.
    CrashMid {
        /// The process that crashes.
        process: ProcessSelector,
        /// The crash happens in the first multicast at or after this time.
        at: When,
        /// Number of sends of that multicast that are still carried out.
        sends: u32,
    }
    expects "a process, a time and a number of sends, such as 2@1ms:3";
    reads |text| split_two(text, '@', ':').map(|(process, at, sends)| {
        let sends = sends.parse().map_err(|_| NotationError::new("a number of sends", sends))?;
        Ok(Self { process: process.parse()?, at: at.parse()?, sends })
    });
    prints |this| "{}@{}:{}", this.process, this.at, this.sends
}

notation! {
    /// The recovery of a crashed process.
    Recover {
        /// The process that recovers.
        process: ProcessSelector,
        /// The time of the recovery.
        at: When,
        /// Whether the process still has its state from before the crash.
        memory: bool,
    }
    expects "a process and a time, such as 2@9ms or 2@9ms:amnesia";
    reads |text| text.split_once('@').map(|(process, at)| {
        let (at, memory) = at.strip_suffix(":amnesia").map_or((at, true), |at| (at, false));
        Ok(Self { process: process.parse()?, at: at.parse()?, memory })
    });
    prints |this| "{}@{}{}", this.process, this.at, if this.memory { "" } else { ":amnesia" }
}

notation! {
    /// A process that omits to send or to receive messages.
    Omission {
        /// The process with the omissions.
        process: ProcessSelector,
        /// The time window of the fault.
        window: Window,
        /// Probability of an omission; default: 1.
        rate: Rate,
    }
    expects "a process, a window and perhaps a probability, such as 2@1ms..5ms:0.5";
    reads |text| text.split_once('@').map(|(process, rest)| {
        let (window, rate) = rest.split_once(':').unwrap_or((rest, "1"));
        Ok(Self { process: process.parse()?, window: window.parse()?, rate: rate.parse()? })
    });
    prints |this| "{}@{}:{}", this.process, this.window, this.rate
}

notation! {
    /// A fault of the first message on a link at or after a time.
    LinkAt {
        /// The link of the affected message.
        link: Link,
        /// The earliest time of the affected message.
        at: When,
    }
    expects "a link and a time, such as 0-1@2ms";
    reads |text| text.split_once('@').map(|(link, at)| Ok(Self { link: link.parse()?, at: at.parse()? }));
    prints |this| "{}@{}", this.link, this.at
}

notation! {
    /// A process that takes longer to handle messages than it should.
    Slow {
        /// The process that is slow.
        process: ProcessSelector,
        /// The time window of the fault.
        window: Window,
        /// Time needed to handle each message.
        handling: Span,
    }
    expects "a process, a window and a time per message, such as 2@1ms..9ms:5ms";
    reads |text| split_two(text, '@', ':').map(|(process, window, handling)| {
        Ok(Self { process: process.parse()?, window: window.parse()?, handling: parse_span(handling)? })
    });
    prints |this| "{}@{}:{}", this.process, this.window, this.handling
}

notation! {
    /// A process whose steps, stays in the critical section and timers are shorter than they should be.
    Fast {
        /// The process that is fast.
        process: ProcessSelector,
        /// The time window of the fault.
        window: Window,
        /// Factor by which the process runs faster.
        factor: Factor,
    }
    expects "a process, a window and a factor, such as 2@1ms:4";
    reads |text| split_two(text, '@', ':').map(|(process, window, factor)| {
        Ok(Self { process: process.parse()?, window: window.parse()?, factor: factor.parse()? })
    });
    prints |this| "{}@{}:{}", this.process, this.window, this.factor
}

notation! {
    /// A process whose clock runs at a wrong rate from a time on.
    Clock {
        /// The process with the wrong clock.
        process: ProcessSelector,
        /// The time from which on the rate is wrong.
        at: When,
        /// Seconds that the clock advances per second of true time.
        rate: Factor,
    }
    expects "a process, a time and a rate, such as 2@0:1.5";
    reads |text| split_two(text, '@', ':').map(|(process, at, rate)| {
        Ok(Self { process: process.parse()?, at: at.parse()?, rate: rate.parse()? })
    });
    prints |this| "{}@{}:{}", this.process, this.at, this.rate
}

notation! {
    /// A link that delivers nothing.
    Cut {
        /// The two ends of the link. For one direction, the first is the sender.
        link: Link,
        /// Whether both directions are cut.
        both_ways: bool,
        /// The time window of the fault.
        window: Window,
    }
    expects "a link and a window, such as 0-1@2ms..9ms, or 0>1@2ms for one direction";
    reads |text| text.split_once('@').map(|(link, window)| {
        let both_ways = !link.contains('>');
        Ok(Self { link: link.replace('>', "-").parse()?, both_ways, window: window.parse()? })
    });
    prints |this| "{}{}{}@{}", this.link.from, if this.both_ways { '-' } else { '>' }, this.link.to, this.window
}

notation! {
    /// Groups that cannot reach each other. All processes that are in no group form one more group.
    Partition {
        /// The groups, which are disjoint.
        groups: Vec<ProcessSet>,
        /// The time window of the fault.
        window: Window,
    }
    expects "groups and a window, such as 0,1|2,3,4@2ms..9ms";
    reads |text| text.split_once('@').map(|(groups, window)| {
        Ok(Self { groups: parse_groups(groups)?, window: window.parse()? })
    });
    prints |this| "{}@{}", print_groups(&this.groups), this.window
}

notation! {
    /// A false suspicion of a live process.
    Suspect {
        /// The observer, and the live process that it suspects.
        pair: Link,
        /// The time window of the fault.
        window: Window,
    }
    expects "observer-victim and a window, such as 0-3@2ms..9ms";
    reads |text| text.split_once('@').map(|(pair, window)| {
        Ok(Self { pair: pair.parse()?, window: window.parse()? })
    });
    prints |this| "{}@{}", this.pair, this.window
}

notation! {
    /// A process that follows a strategy instead of the algorithm.
    Traitor {
        /// The process that is a traitor.
        process: ProcessSelector,
        /// The strategy of the traitor.
        strategy: Strategy,
    }
    expects "a process and a strategy, such as 2:liar";
    reads |text| text.split_once(':').map(|(process, strategy)| {
        Ok(Self { process: process.parse()?, strategy: strategy.parse()? })
    });
    prints |this| "{}:{}", this.process, this.strategy
}

fn split_two(text: &str, first: char, second: char) -> Option<(&str, &str, &str)> {
    let (head, rest) = text.split_once(first)?;
    let (middle, tail) = rest.split_once(second)?;
    Some((head, middle, tail))
}

fn parse_groups(text: &str) -> Result<Vec<ProcessSet>, NotationError> {
    let mut groups: Vec<ProcessSet> = Vec::new();
    for group in text.split('|') {
        let error = || NotationError::new("groups of processes such as 0,1|2,3", text);
        let SetText(members) = group.parse().map_err(|_| error())?;
        if groups.iter().any(|other| !other.is_disjoint(&members)) {
            return Err(error());
        }
        groups.push(members);
    }
    Ok(groups)
}

fn print_groups(groups: &[ProcessSet]) -> String {
    groups.iter().map(|group| SetText(group.clone()).to_string()).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same<T: FromStr<Err = NotationError> + fmt::Display>(text: &str) {
        match text.parse::<T>() {
            Ok(fault) => assert_eq!(fault.to_string(), text),
            Err(error) => panic!("{text}: {error}"),
        }
    }

    #[test]
    fn faults_print_as_they_read() {
        same::<ProcessAt>("2@1ms");
        same::<ProcessAt>("?@1ms~5ms");
        same::<CrashMid>("2@1ms:3");
        same::<Recover>("2@9ms");
        same::<Recover>("2@9ms:amnesia");
        same::<Omission>("2@1ms..5ms:0.5");
        same::<LinkAt>("0-1@2ms");
        same::<Slow>("2@1ms..9ms:5ms");
        same::<Fast>("2@1ms:4");
        same::<Clock>("2@0:1.5");
        same::<Cut>("0-1@2ms..9ms");
        same::<Cut>("0>1@2ms");
        same::<Partition>("0,1|2,3,4@2ms..9ms");
        same::<Suspect>("0-3@2ms..9ms");
        same::<Traitor>("2:liar");
    }

    #[test]
    fn a_process_is_in_one_group_only() {
        assert!("0,1|1,2@0".parse::<Partition>().is_err());
        assert!("0|4000000000@0".parse::<Partition>().is_err());
    }
}
