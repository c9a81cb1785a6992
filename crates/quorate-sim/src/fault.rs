//! Faults as a user writes them, each in a notation of one line. [`crate::plan`] settles what is left
//! to the seed.

use std::fmt;
use std::str::FromStr;

use quorate_core::{ProcessSet, Span};
use serde::{Deserialize, Serialize};

use crate::notation::{
    Factor, Link, NotationError, ProcessSelector, Rate, SetText, When, Window, parse_span,
    serde_as_text,
};
use crate::traitor::Strategy;

/// Everything that goes wrong in a run. The fields are the keys of a scenario's `[faults]` and, with
/// dashes, the flags of the command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Faults {
    /// A process stops: `2@1ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crash: Vec<ProcessAt>,
    /// A process stops after so many sends of its first multicast at or after the time: `2@1ms:3`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crash_mid: Vec<CrashMid>,
    /// A crashed process comes back, with its memory or without: `2@9ms`, `2@9ms:amnesia`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recover: Vec<Recover>,
    /// A process fails to send what it should: `2@1ms..5ms:0.5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit_send: Vec<Omission>,
    /// A process fails to receive what arrives: `2@1ms..5ms:0.5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit_receive: Vec<Omission>,
    /// Each message is lost with this probability.
    #[serde(skip_serializing_if = "is_zero")]
    pub loss: f64,
    /// The first message on a link at or after a time is lost: `0-1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lose: Vec<LinkAt>,
    /// Each message arrives twice with this probability.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplication: f64,
    /// The first message on a link at or after a time arrives twice: `0-1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub duplicate: Vec<LinkAt>,
    /// Each message is overtaken with this probability, first-in first-out links or not.
    #[serde(skip_serializing_if = "is_zero")]
    pub reordering: f64,
    /// The first message on a link at or after a time is overtaken: `0-1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reorder: Vec<LinkAt>,
    /// A process takes so long to handle each message: `2@1ms..9ms:5ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<Slow>,
    /// A process does everything so many times faster than it should: `2@1ms:4`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fast: Vec<Fast>,
    /// A process's clock runs at this rate: `2@0:1.5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock: Vec<Clock>,
    /// A link is dead, in both directions or, with `>`, in one: `0-1@2ms..9ms`, `0>1@2ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<Cut>,
    /// Groups that cannot reach each other, until healed: `0,1|2,3,4@2ms..9ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partition: Vec<Partition>,
    /// The first process wrongly believes that the second has crashed: `0-3@2ms..9ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspect: Vec<Suspect>,
    /// A process that does not follow the algorithm: `2:liar`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traitor: Vec<Traitor>,
}

fn is_zero(rate: &f64) -> bool {
    *rate == 0.0
}

/// Declares a fault with its notation: a head, what stands between, and a tail.
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
    /// A process and a time: when it crashes, or when its user asks.
    ProcessAt {
        /// Which.
        process: ProcessSelector,
        /// When.
        at: When,
    }
    expects "a process and a time, such as 2@1ms";
    reads |text| text.split_once('@').map(|(process, at)| Ok(Self { process: process.parse()?, at: at.parse()? }));
    prints |this| "{}@{}", this.process, this.at
}

notation! {
    /// A process stops in the middle of a multicast.
    CrashMid {
        /// Which.
        process: ProcessSelector,
        /// The first multicast at or after this time.
        at: When,
        /// How many of its sends still leave.
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
    /// A crashed process comes back.
    Recover {
        /// Which.
        process: ProcessSelector,
        /// When.
        at: When,
        /// Whether it remembers what it knew.
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
    /// A process omits to send or to receive.
    Omission {
        /// Which.
        process: ProcessSelector,
        /// While.
        window: Window,
        /// How often; always if not said.
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
    /// Something befalls the first message on a link at or after a time.
    LinkAt {
        /// Which link.
        link: Link,
        /// When.
        at: When,
    }
    expects "a link and a time, such as 0-1@2ms";
    reads |text| text.split_once('@').map(|(link, at)| Ok(Self { link: link.parse()?, at: at.parse()? }));
    prints |this| "{}@{}", this.link, this.at
}

notation! {
    /// A process takes longer to handle messages than it should.
    Slow {
        /// Which.
        process: ProcessSelector,
        /// While.
        window: Window,
        /// How long for each message.
        handling: Span,
    }
    expects "a process, a window and a time per message, such as 2@1ms..9ms:5ms";
    reads |text| split_two(text, '@', ':').map(|(process, window, handling)| {
        Ok(Self { process: process.parse()?, window: window.parse()?, handling: parse_span(handling)? })
    });
    prints |this| "{}@{}:{}", this.process, this.window, this.handling
}

notation! {
    /// A process whose steps, stays and timers are quicker than they should be.
    Fast {
        /// Which.
        process: ProcessSelector,
        /// While.
        window: Window,
        /// How many times.
        factor: Factor,
    }
    expects "a process, a window and a factor, such as 2@1ms:4";
    reads |text| split_two(text, '@', ':').map(|(process, window, factor)| {
        Ok(Self { process: process.parse()?, window: window.parse()?, factor: factor.parse()? })
    });
    prints |this| "{}@{}:{}", this.process, this.window, this.factor
}

notation! {
    /// A process whose clock runs wrong from a time on.
    Clock {
        /// Whose.
        process: ProcessSelector,
        /// From when on.
        at: When,
        /// Its seconds per second.
        rate: Factor,
    }
    expects "a process, a time and a rate, such as 2@0:1.5";
    reads |text| split_two(text, '@', ':').map(|(process, at, rate)| {
        Ok(Self { process: process.parse()?, at: at.parse()?, rate: rate.parse()? })
    });
    prints |this| "{}@{}:{}", this.process, this.at, this.rate
}

notation! {
    /// A dead link.
    Cut {
        /// Between these, or from the first to the second.
        link: Link,
        /// Whether both directions are dead.
        both_ways: bool,
        /// While.
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
    /// Groups that cannot reach each other. Whoever is in no group forms one with the others left out.
    Partition {
        /// The groups.
        groups: Vec<ProcessSet>,
        /// While.
        window: Window,
    }
    expects "groups and a window, such as 0,1|2,3,4@2ms..9ms";
    reads |text| text.split_once('@').map(|(groups, window)| {
        Ok(Self { groups: parse_groups(groups)?, window: window.parse()? })
    });
    prints |this| "{}@{}", print_groups(&this.groups), this.window
}

notation! {
    /// A wrong belief.
    Suspect {
        /// Who believes, and whom it wrongs.
        pair: Link,
        /// While.
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
        /// Which.
        process: ProcessSelector,
        /// What it does.
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
