//! How the node is.

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet};
use quorate_protocol::{MemberStatus, NodeStatus};

use super::NodeCore;

impl NodeCore {
    /// Whether the voters that can be reached contain a quorum.
    pub(super) fn has_quorum(&self) -> bool {
        let is_up = |peer: &ProcessId| {
            matches!(self.up.get(peer), Some(Ok(()))) && !self.suspected.contains(*peer)
        };
        let mut reached: ProcessSet = self.peers().filter(is_up).collect();
        reached.insert(self.settings.id);
        self.electorate.is_quorum(&reached)
    }

    /// Why the node does not give locks now; `None` if it does.
    pub fn not_ready(&self) -> Option<String> {
        if let Some(trouble) = &self.disk_trouble {
            return Some(format!("votes cannot be written: {trouble}"));
        }
        if self.leaving.is_some() {
            return Some("the node is leaving".to_owned());
        }
        if !self.voter.is_voting() {
            let why = "the voter has forgotten its votes: it abstains until no client relies on them, and learns \
                       from a quorum that has not forgotten";
            return Some(why.to_owned());
        }
        let lonely = !self.has_quorum();
        lonely.then(|| "too few other nodes can be reached".to_owned())
    }

    /// Number of other nodes that can be reached.
    pub fn peers_up(&self) -> usize {
        self.up.values().filter(|up| up.is_ok()).count()
    }

    /// Number of requests that relays of this node pursue.
    pub(super) fn requests(&self) -> usize {
        self.relays.values().map(|relay| relay.interests.len()).sum()
    }

    /// Metrics in Prometheus's text format.
    pub fn measured(&self) -> String {
        let measures = &self.measures;
        measures.sessions.set((self.relays.len() + self.direct.len()) as i64);
        measures.requests.set(self.requests() as i64);
        measures.ballots.set(self.voter.ballots().count() as i64);
        measures.peers_up.set(self.peers_up() as i64);
        measures.ready.set(self.not_ready().is_none().into());
        measures.text()
    }

    pub(super) fn status(&self) -> NodeStatus {
        let settings = &self.settings;
        let member = |(node, address): (u32, &String)| {
            let id = ProcessId::new(node);
            let (state, own) = (self.up.get(&id), settings.id == id);
            MemberStatus {
                node,
                address: address.clone(),
                clients: match own {
                    true => settings.client_address.clone(),
                    false => self.client_addresses.get(&id).cloned(),
                },
                up: own || matches!(state, Some(Ok(()))),
                suspected: self.suspected.contains(id),
                trouble: match state {
                    Some(Err(why)) if !own => Some(why.clone()),
                    None if !own => Some("never heard of".to_owned()),
                    _ => None,
                },
            }
        };
        let terms = settings.terms;
        NodeStatus {
            node: settings.id.index() as u32,
            cluster: settings.cluster,
            votes: self.voter.is_voting(),
            quorum: self.has_quorum(),
            quorums: settings.coterie.name().to_owned(),
            lease_us: terms.ttl_most.0 / 1_000,
            // The slowest voter forgets a session after one ttl by its own clock; then one message frees the next.
            replaced_within_us: (terms.abstention() + settings.tempo.bound).0 / 1_000,
            not_before_us: terms.validity(terms.ttl_least).0 / 1_000,
            sessions: (self.relays.len() + self.direct.len()) as u64,
            requests: self.requests() as u64,
            locks: self.voter.ballots().count() as u64,
            messages: self.measures.sent(),
            members: (0..).zip(&settings.addresses).map(member).collect(),
        }
    }
}
