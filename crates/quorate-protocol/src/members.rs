//! The members of a cluster: which nodes vote, where they are, on which terms, and how clients change them.

use std::net::IpAddr;

use quorate_algorithms::mutex::leased_quorum::{self, Electorate, Terms, Voters};
use quorate_core::ProcessId;
use quorate_core::quorum::AnyCoterie;
use serde::{Deserialize, Serialize};

use crate::terms::{ClusterTerms, TermsChange};

/// Maximum number of members of a cluster.
pub const MEMBERS_MOST: usize = 64;

/// Greatest number of a node. Numbers of nodes are part of the identifiers of candidates, which have little room.
pub const NODE_MOST: u32 = 255;

/// Maximum length of an address, in bytes.
const ADDRESS_MOST: usize = 512;

/// Names of the quorum systems that a cluster may use.
pub const QUORUM_SYSTEMS: [&str; 3] = ["majority", "tree", "grid-fixed"];

/// A node that votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Member {
    /// Number of the node. It is never used again for another machine.
    pub node: u32,
    /// Address (host:port) at which other nodes reach the node.
    pub address: String,
}

/// The voters of a configuration, and their quorum system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Members {
    /// The voters, by their numbers in ascending order.
    pub nodes: Vec<Member>,
    /// Name of the quorum system.
    pub quorums: String,
    /// The first number that no node has had so far.
    pub unused: u32,
    /// The terms on which they vote.
    pub terms: ClusterTerms,
}

/// A configuration of the cluster.
pub type Configuration = leased_quorum::Configuration<Members>;

impl Members {
    /// Creates the members of a new cluster, which are numbered from 0.
    pub fn numbered(addresses: impl IntoIterator<Item = String>, quorums: &str) -> Self {
        let nodes = (0..).zip(addresses).map(|(node, address)| Member { node, address });
        let nodes: Vec<Member> = nodes.collect();
        let unused = nodes.len() as u32;
        Self { nodes, quorums: quorums.to_owned(), unused, terms: ClusterTerms::default() }
    }

    /// The same members on these terms.
    #[must_use]
    pub fn with_terms(mut self, terms: ClusterTerms) -> Self {
        self.terms = terms;
        self
    }

    /// The members that a node knows before it has joined a cluster.
    pub fn none() -> Self {
        Self::numbered([], QUORUM_SYSTEMS[0])
    }

    /// Returns `true` if this node is a member.
    pub fn contains(&self, node: ProcessId) -> bool {
        self.nodes.iter().any(|member| member.node == node.number())
    }

    /// Checks what a peer, a node or a file contains. `Err` contains the problem.
    pub fn validate(&self) -> Result<(), String> {
        if !(1..=MEMBERS_MOST).contains(&self.nodes.len()) {
            return Err(format!("a cluster has 1 to {MEMBERS_MOST} members"));
        }
        if !self.nodes.is_sorted_by(|one, next| one.node < next.node) {
            return Err("a node is listed twice, or the nodes are not in order".to_owned());
        }
        if let Some(member) = self.nodes.iter().find(|it| it.node > NODE_MOST) {
            return Err(format!("node {} is greater than {NODE_MOST}", member.node));
        }
        if let Some(member) = self.nodes.iter().find(|it| it.node >= self.unused) {
            return Err(format!("node {} counts as unused", member.node));
        }
        self.nodes.iter().try_for_each(Member::validate)?;
        self.terms.validate()?;
        match QUORUM_SYSTEMS.contains(&self.quorums.as_str()) {
            true => Ok(()),
            false => Err(format!("the quorum system {} is unknown", self.quorums)),
        }
    }
}

impl Member {
    /// Returns `true` if the address means every address of its own machine, so that no other node reaches it.
    pub fn is_unspecified(&self) -> bool {
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
        host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|host| host.is_unspecified())
    }

    /// Checks the address. `Err` contains the problem.
    pub fn validate(&self) -> Result<(), String> {
        let Self { node, address } = self;
        let odd = |c: char| c.is_control() || c.is_whitespace();
        let port =
            address.rsplit_once(':').map(|(host, port)| (!host.is_empty(), port.parse::<u16>()));
        match port {
            _ if address.len() > ADDRESS_MOST || address.contains(odd) => {
                Err(format!("the address of node {node} is too long, or has odd characters"))
            }
            Some((true, Ok(_))) => Ok(()),
            _ => Err(format!("the address of node {node} is not HOST:PORT: {address}")),
        }
    }
}

impl Voters for Members {
    fn electorate(&self, index: u64) -> Electorate {
        let voters = self.nodes.iter().map(|member| ProcessId::new(member.node)).collect();
        let known = AnyCoterie::by_name(&self.quorums, self.nodes.len());
        let majority = || AnyCoterie::by_name(QUORUM_SYSTEMS[0], self.nodes.len());
        let coterie = known.or_else(majority).expect("majorities are known");
        Electorate::stable(index, &voters, coterie)
    }

    fn terms(&self) -> Terms {
        self.terms.accepted()
    }
}

/// A change of the members that an operator wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberChange {
    /// Nodes to add. A node that is a member already gets the new address.
    pub add: Vec<Member>,
    /// Numbers of the nodes to remove.
    pub remove: Vec<u32>,
    /// The quorum system to use from then on, if it changes.
    pub quorums: Option<String>,
    /// The terms that change.
    pub terms: TermsChange,
}

impl MemberChange {
    /// The members after this change. `Err` contains the reason why the change is not possible.
    pub fn apply(&self, members: &Members) -> Result<Members, String> {
        let mut nodes = members.nodes.clone();
        for gone in &self.remove {
            let known = nodes.iter().position(|member| member.node == *gone);
            nodes.remove(known.ok_or_else(|| format!("node {gone} is not a member"))?);
        }
        let mut unused = members.unused;
        for added in &self.add {
            match nodes.iter_mut().find(|member| member.node == added.node) {
                Some(known) => known.clone_from(added),
                None if added.node < members.unused => {
                    return Err(format!(
                        "node {} was a member before, and numbers are not used again; the next one is {}",
                        added.node, members.unused
                    ));
                }
                None => nodes.push(added.clone()),
            }
            unused = unused.max(added.node.saturating_add(1));
        }
        nodes.sort();
        let quorums = self.quorums.clone().unwrap_or_else(|| members.quorums.clone());
        let terms = self.terms.apply(members.terms);
        let changed = Members { nodes, quorums, unused, terms };
        changed.validate()?;
        Ok(changed)
    }
}

/// The members of the cluster as a node knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembersStatus {
    /// The newest configuration that the node knows.
    pub configuration: Configuration,
    /// Whether it is settled, so that the next change can begin.
    pub settled: bool,
    /// Nodes of which a change still needs an answer, one sentence each.
    pub waits_for: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Members {
        Members::numbered(["a:1", "b:1", "c:1"].map(str::to_owned), "majority")
    }

    fn member(node: u32, address: &str) -> Member {
        Member { node, address: address.to_owned() }
    }

    #[test]
    fn a_change_adds_removes_and_moves_nodes() {
        let change = MemberChange {
            add: vec![member(5, "d:1"), member(1, "e:1")],
            remove: vec![0],
            quorums: Some("grid-fixed".to_owned()),
            ..MemberChange::default()
        };
        let changed = change.apply(&three()).expect("a change");
        assert_eq!(changed.nodes, [member(1, "e:1"), member(2, "c:1"), member(5, "d:1")]);
        assert_eq!((changed.unused, changed.quorums.as_str()), (6, "grid-fixed"));
        assert_eq!(changed.electorate(4).index(), 4);
        // A number is never used again, also not one that was left out.
        for again in [0, 3, 4, 5] {
            let remove = if again == 5 { vec![5] } else { Vec::new() };
            let after = MemberChange { remove, ..MemberChange::default() }.apply(&changed);
            let change =
                MemberChange { add: vec![member(again, "f:1")], ..MemberChange::default() };
            let refused = change.apply(&after.expect("a change")).expect_err("it was used");
            assert!(refused.contains("the next one is 6"), "{refused}");
        }
    }

    #[test]
    fn an_address_of_every_interface_is_known_as_such() {
        for (address, unspecified) in
            [("0.0.0.0:1", true), ("[::]:1", true), ("10.0.0.1:1", false), ("a:1", false)]
        {
            assert_eq!(member(0, address).is_unspecified(), unspecified, "{address}");
        }
    }

    #[test]
    fn an_impossible_change_is_refused_with_the_reason() {
        let refused = |add: &[Member], remove: &[u32], quorums: Option<&str>| {
            let quorums = quorums.map(str::to_owned);
            let (add, remove, terms) = (add.to_vec(), remove.to_vec(), TermsChange::default());
            let change = MemberChange { add, remove, quorums, terms };
            change.apply(&three()).expect_err("it is impossible")
        };
        assert!(refused(&[], &[7], None).contains("not a member"));
        assert!(refused(&[], &[0, 1, 2], None).contains("1 to 64"));
        assert!(refused(&[member(256, "d:1")], &[], None).contains("greater than 255"));
        assert!(refused(&[], &[], Some("coin")).contains("unknown"));
        for wrong in ["d", ":1", "d:x", "d d:1", "d:1\n", &"d".repeat(600)] {
            let why = refused(&[member(3, wrong)], &[], None);
            assert!(why.contains("the address of node 3"), "{why}");
        }
    }
}
