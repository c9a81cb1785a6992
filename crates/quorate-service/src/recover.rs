//! Starting a cluster again from one node, after a majority of its members was lost for good.
//!
//! The node becomes the only member of a cluster with a new identifier, so that no surviving node of the old one talks to it.
//! It has forgotten its votes: it abstains until no client can rely on a lock of the old cluster. Its numbers continue far above
//! all that it knows, because lost nodes may have used greater ones. All of this is safe only if the other nodes never run again.

use std::io::ErrorKind;

use quorate_algorithms::mutex::leased_quorum::{ChainState, Configuration};
use quorate_core::{ProcessId, Span};
use quorate_protocol::{Member, Members, QUORUM_SYSTEMS};

use crate::config::NodeConfig;
use crate::disk::{Disk, DurableState};
use crate::node::{CannotStart, random_number};

/// Distance from the greatest number that the node may have used. Nodes reserve numbers in blocks of a million, so their marks
/// differ by less.
const NUMBERS_SKIPPED: u64 = 1 << 32;

/// A cluster that was started again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Identifier of the new cluster, for the node's configuration file.
    pub cluster: u128,
    /// Members of the old cluster that must never run again.
    pub lost: Vec<Member>,
    /// Time for which the node abstains after it has been started.
    pub abstains: Span,
    /// Every token of the new cluster is greater than this one.
    pub tokens_above: u64,
}

/// Makes a node the only member of a new cluster. Without `commit` it only tells what would be done.
pub fn recover(config: &NodeConfig, commit: bool) -> Result<Recovered, CannotStart> {
    let wrong = |why: &str| Err(CannotStart::Wrong(why.to_owned()));
    let Some(folder) = &config.data else {
        return wrong("the node has no data folder, so nothing can be recovered from it");
    };
    let disk = Disk::open(folder)?.lock()?;
    let Some(durable) = disk.read()? else {
        return wrong("the data folder of the node is empty, so nothing can be recovered from it");
    };
    let Some(mark) = durable.mark else {
        return wrong(
            "this node does not know which numbers were used; recover another node, or start a new cluster",
        );
    };
    let first = || ChainState::new(Configuration::first(config.members()), true);
    let known = disk.read_members(durable.cluster, config.id)?.unwrap_or_else(first);
    if known.lost.is_some() {
        return wrong("the data folder of this node was lost before; recover another node");
    }
    let old = known.present.target();
    let listed = known.present.next.iter().chain([&known.present.voters]);
    let mut nodes: Vec<Member> = listed.flat_map(|members| members.nodes.clone()).collect();
    nodes.sort();
    nodes.dedup();
    let id = ProcessId::new(config.id);
    let Some(own) = nodes.iter().find(|member| member.node == id.number()).cloned() else {
        return wrong("this node is not a member of the cluster; recover one that is");
    };
    let lost = nodes.into_iter().filter(|member| *member != own).collect();
    let cluster = random_number();
    let tokens_above = mark.saturating_add(NUMBERS_SKIPPED);
    if commit {
        let quorums = QUORUM_SYSTEMS[0].to_owned();
        let voters = Members { nodes: vec![own], quorums, unused: old.unused, terms: old.terms };
        // Stable configurations have even indices.
        let index = (known.present.index | 1) + 1;
        let present = Configuration { index, ..Configuration::first(voters) };
        match std::fs::remove_file(folder.join("votes")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(CannotStart::Io(folder.display().to_string(), error));
            }
            _ => {}
        }
        disk.write(DurableState { cluster, mark: Some(tokens_above), ..durable })?;
        disk.write_members(cluster, config.id, &ChainState::new(present, true))?;
    }
    let abstains = known.present.terms().abstention();
    Ok(Recovered { cluster, lost, abstains, tokens_above })
}
