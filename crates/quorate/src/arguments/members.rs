//! Flags of `quorate members`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use quorate_client::Member;

use super::service::{ClusterFlags, duration};

/// Examples and explanation of `quorate members`.
pub(super) const MEMBERS_HELP: &str = "\
Examples:
  quorate members                                   List the members
  quorate members add 3=10.0.0.4:7481
  quorate members add 3=10.0.0.4:7481 4=10.0.0.5:7481
  quorate members replace 2 3=10.0.0.4:7481         Node 3 takes the place of node 2
  quorate members add 1=10.0.0.9:7481               Node 1 has moved to another address
  quorate members remove 3 4
  quorate members set --ttl-most 30s --drift-ppm 1000

Locks are kept, and clients need not do anything. A new node has a number that no node had before, and a \
configuration file without [peers]; start it with --join before it is added. Keep removed nodes running until the \
command has ended.

Exit codes: 0 the change is complete (or the members are listed and a quorum is up); 1 refused, or no quorum; 2 \
invalid arguments; 75 chosen, but not complete in time.";

/// Explanation of `quorate members recover`.
const RECOVER_HELP: &str = "\
Example:
  quorate members recover --config node-0.toml                     Say what is at risk, and do nothing
  quorate members recover --config node-0.toml --others-are-gone

The node becomes the only member of a cluster with a new identifier, and abstains until no client of the old cluster can \
rely on a lock. Tokens continue above all earlier ones. If another node of the old cluster still runs, two clients can hold \
one lock. Use the node that was a member for the longest time, and add new nodes afterwards.";

/// Explanation of `quorate members set`.
const SET_HELP: &str = "\
Examples:
  quorate members set --ttl-most 2m
  quorate members set --ttl-least 1s --drift-ppm 200
  quorate members set --quorums tree

Sessions keep the time-to-live that they have; new ones get the new bounds. A node that has forgotten its votes abstains for \
the longest time-to-live that the cluster has ever permitted. Clocks have to obey the smaller drift until the change is complete.";

/// Flags of `quorate members`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct MembersFlags {
    /// Change of the members
    #[command(subcommand)]
    pub(crate) change: Option<ChangeMembers>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// A change of the members.
#[derive(Debug, Subcommand)]
pub(crate) enum ChangeMembers {
    /// Add nodes, or change the addresses of members
    Add {
        /// Number and peer address of each node
        #[arg(required = true, value_name = "NODE=HOST:PORT", value_parser = member)]
        nodes: Vec<Member>,
        #[command(flatten)]
        flags: ChangeFlags,
    },
    /// Remove nodes
    Remove {
        /// Numbers of the nodes
        #[arg(required = true, value_name = "NODE")]
        nodes: Vec<u32>,
        #[command(flatten)]
        flags: ChangeFlags,
    },
    /// Change the terms or the quorum system, with the same nodes
    #[command(after_help = SET_HELP)]
    Set {
        #[command(flatten)]
        flags: ChangeFlags,
    },
    /// Start the cluster again from one stopped node, after a majority was lost for good
    #[command(after_help = RECOVER_HELP)]
    Recover {
        /// Configuration file of the stopped node
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Confirm that no other node of the old cluster will ever run again
        #[arg(long)]
        others_are_gone: bool,
    },
    /// Replace a node by another one
    Replace {
        /// Number of the node to remove
        #[arg(value_name = "NODE")]
        old: u32,
        /// Number and peer address of the new node
        #[arg(value_name = "NODE=HOST:PORT", value_parser = member)]
        new: Member,
        #[command(flatten)]
        flags: ChangeFlags,
    },
}

/// Flags of every change.
#[derive(Debug, Args)]
pub(crate) struct ChangeFlags {
    /// Use this quorum system from then on: majority, tree or grid-fixed
    #[arg(long, value_name = "NAME")]
    pub(crate) quorums: Option<String>,
    #[command(flatten)]
    pub(crate) terms: TermsFlags,
    /// Maximum time to wait until the change is complete
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
}

/// Terms that change.
#[derive(Debug, Args)]
pub(crate) struct TermsFlags {
    /// Minimum time-to-live of new sessions from then on
    #[arg(long, value_name = "TIME", value_parser = millis)]
    pub(crate) ttl_least: Option<u32>,
    /// Maximum time-to-live of new sessions from then on
    #[arg(long, value_name = "TIME", value_parser = millis)]
    pub(crate) ttl_most: Option<u32>,
    /// Rate by which clocks may gain or lose from then on, in parts per million
    #[arg(long, value_name = "PPM")]
    pub(crate) drift_ppm: Option<u32>,
}

/// Parses a time of whole milliseconds.
fn millis(text: &str) -> Result<u32, String> {
    let time = duration(text)?;
    let whole = time.subsec_nanos().is_multiple_of(1_000_000);
    u32::try_from(time.as_millis())
        .ok()
        .filter(|_| whole)
        .ok_or_else(|| format!("{text} is not a whole number of milliseconds, or too long"))
}

/// Parses a member: its number and its address.
fn member(text: &str) -> Result<Member, String> {
    let expected = || format!("expected NODE=HOST:PORT, as in 3=10.0.0.4:7481, not {text}");
    let (node, address) = text.split_once('=').ok_or_else(expected)?;
    let node = node.parse().map_err(|_| expected())?;
    let member = Member { node, address: address.to_owned() };
    member.validate().map(|()| member)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_a_number_and_an_address() {
        let expected = Member { node: 3, address: "10.0.0.4:7481".to_owned() };
        assert_eq!(member("3=10.0.0.4:7481"), Ok(expected));
        for wrong in ["10.0.0.4:7481", "3", "x=10.0.0.4:1", "-1=a:1"] {
            assert!(member(wrong).expect_err("no member").contains("NODE=HOST:PORT"), "{wrong}");
        }
        assert!(member("3=10.0.0.4").expect_err("no port").contains("HOST:PORT"));
    }

    #[test]
    fn a_bound_is_a_time_of_whole_milliseconds() {
        assert_eq!((millis("2m"), millis("1500ms")), (Ok(120_000), Ok(1_500)));
        for wrong in ["100us", "50d", "30"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
    }
}
