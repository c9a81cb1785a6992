//! How the node is.

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet, Span, Time};
use quorate_protocol::{MemberStatus, NodeStatus};

use super::{Alarm, NodeCore, Trouble};

/// A node is ready this long after its start, although clients that had votes here have not been heard yet: the lease of one
/// that has died may be long.
const BACK: Span = Span::from_millis(5_000);

/// Interval at which votes of such clients are counted.
const COUNT: Span = Span::from_millis(100);

impl NodeCore {
    /// Counts the votes from before a restart whose clients have not been heard since.
    pub(super) fn count_unheard(&mut self, started: Time, now: Time) {
        self.unheard = if now < started + BACK { self.voter.unheard() } else { 0 };
        if self.unheard > 0 {
            self.alarms.insert((now + COUNT, Alarm::Unheard(started)));
        }
    }

    /// This node and the peers that are connected and not suspected.
    fn reached(&self) -> ProcessSet {
        let up = self.up.iter().filter(|(_, up)| up.is_ok()).map(|(peer, _)| *peer);
        let connected: ProcessSet = up.chain([self.settings.id]).collect();
        &connected - &self.suspected
    }

    /// Whether the voters that can be reached contain a quorum.
    pub(super) fn has_quorum(&self) -> bool {
        self.electorate.is_quorum(&self.reached())
    }

    /// Why the node gives no locks now: one sentence for each reason, each with a word for programs in front.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.leaving.is_some() {
            reasons.push("leaving: the node stops; use another one".to_owned());
        }
        if let Some(why) = &self.disk_trouble {
            reasons.push(format!("disk: votes cannot be written ({why}); it is retried"));
        }
        if let Some(why) = &self.state_trouble {
            reasons.push(format!("disk: the state file cannot be written ({why}); it is retried"));
        }
        if !self.voter.is_voting() {
            reasons.push(
                "abstaining: the voter has forgotten its votes; it votes again when no client can rely on them and, \
                 without a mark on its disk, a quorum that remembers has told it the last numbers"
                    .to_owned(),
            );
        }
        // A lock that was taken meanwhile needs this vote as soon as another node stops.
        if self.unheard > 0 {
            reasons.push(format!(
                "restarted: {} votes belong to clients that have not been heard since; the node is ready when they are, \
                 when their ttl is over, or 5 s after its start",
                self.unheard
            ));
        }
        if !self.has_quorum() {
            let differs = self.troubles.iter().filter(|(_, trouble)| trouble.differs);
            reasons.extend(differs.map(|(peer, it)| format!("terms: {peer}: {}", it.text)));
            let (heard, n) = (self.reached().len(), self.settings.addresses.len());
            reasons
                .push(format!("no-quorum: {heard} of {n} nodes can be reached, itself included"));
        }
        reasons
    }

    /// The state file can be written, or not and why.
    pub fn state_written(&mut self, written: Result<(), String>) {
        if written.is_err() {
            self.measures.disk_failures.inc();
        }
        self.state_trouble = written.err();
    }

    /// Why there is no connection to a peer; `None` if there is one, or if nothing is known.
    pub fn trouble_is(&mut self, peer: ProcessId, trouble: Option<Trouble>) {
        match trouble {
            Some(trouble) => drop(self.troubles.insert(peer, trouble)),
            None => drop(self.troubles.remove(&peer)),
        }
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
        measures.ballots.set(self.voter.ballots().len() as i64);
        measures.peers_up.set(self.peers_up() as i64);
        measures.ready.set(self.reasons().is_empty().into());
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
                    Some(Ok(())) => None,
                    _ if own => None,
                    _ if self.troubles.contains_key(&id) => {
                        self.troubles.get(&id).map(|trouble| trouble.text.clone())
                    }
                    Some(Err(why)) => Some(why.clone()),
                    None => Some("never heard of".to_owned()),
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
            locks: self.voter.ballots().len() as u64,
            messages: self.measures.sent(),
            reasons: self.reasons(),
            members: (0..).zip(&settings.addresses).map(member).collect(),
        }
    }
}
