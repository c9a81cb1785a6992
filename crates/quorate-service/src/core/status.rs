//! Status and readiness of the node.

use quorate_core::{ProcessId, ProcessSet, Span, Time};
use quorate_net::CertificateExpiry;
use quorate_protocol::{MemberStatus, NodeStatus};

use super::{Alarm, NodeCore};

/// Time after the start at which a node becomes ready even if clients that had votes here have sent no beat yet. The lease
/// of a client that has died may last longer.
const RESTART_GRACE: Span = Span::from_millis(5_000);

/// Time after the start at which a node becomes ready even if it is not connected to all peers. Covers the longest pause
/// between two dials of a peer.
const CONNECT_GRACE: Span = Span::from_millis(2_000);

/// Interval at which a node that has just started checks both.
const START_INTERVAL: Span = Span::from_millis(100);

impl NodeCore {
    /// Counts the votes from before a restart whose clients have sent no beat since, and ends the wait for peers.
    pub(super) fn check_start(&mut self, started: Time, now: Time) {
        self.unheard = if now < started + RESTART_GRACE { self.voter.unheard() } else { 0 };
        self.connecting &= now < started + CONNECT_GRACE;
        if self.unheard > 0 || self.connecting {
            self.alarms.insert((now + START_INTERVAL, Alarm::Start(started)));
        }
    }

    /// Returns the peers that are connected and have shown that they have the members and the terms of this node.
    pub fn peers_up(&self) -> ProcessSet {
        let connected = self.up.iter().filter(|(_, up)| up.is_ok()).map(|(peer, _)| *peer);
        &connected.collect() & &self.membership.greeted
    }

    /// Returns this node and the peers that are up and not suspected.
    fn reachable(&self) -> ProcessSet {
        let mut up = self.peers_up();
        up.insert(self.settings.id);
        &(&up - &self.suspected) & &self.electorate.all()
    }

    /// Returns whether the reachable voters contain a quorum.
    pub(super) fn has_quorum(&self) -> bool {
        self.electorate.is_quorum(&self.reachable())
    }

    /// Returns the reasons why the node grants no locks now. Each reason is a sentence that begins with
    /// a keyword for programs.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.leaving.is_some() {
            reasons.push("leaving: the node is shutting down; use another one".to_owned());
        }
        if let Some(why) = &self.disk_error {
            reasons.push(format!("disk: votes cannot be written ({why}); the node retries"));
        }
        if let Some(why) = &self.state_file_error {
            reasons
                .push(format!("disk: the state file cannot be written ({why}); the node retries"));
        }
        if self.membership.chain.stays_out() {
            reasons.push(
                "lost: the data folder of this node was lost; it votes again once the other members have renewed the \
                 configuration twice, which they do by themselves while a majority of them is up"
                    .to_owned(),
            );
        } else if !self.voter.is_voting() {
            reasons.push(
                "abstaining: the voter has forgotten its votes; it votes again once no client can rely on them and, if its \
                 disk has no mark, once it has learned the last numbers from a quorum of voters that remember theirs"
                    .to_owned(),
            );
        }
        // A lock that was acquired in the meantime needs this vote as soon as another node stops.
        if self.unheard > 0 {
            reasons.push(format!(
                "restarted: {} votes belong to clients that have sent no beat since; the node is ready once they have, once \
                 their ttl has expired, or 5 s after its start",
                self.unheard
            ));
        }
        if !self.has_quorum() {
            reasons.extend(self.membership.foreign.values().map(|text| format!("terms: {text}")));
            let (heard, n) = (self.reachable().len(), self.electorate.len());
            reasons
                .push(format!("no-quorum: {heard} of {n} nodes are reachable, including this one"));
        } else if self.connecting {
            // The next node of a rolling restart may stop as soon as this one is ready.
            let (up, peers) = (self.peers_up().len(), self.peers().count());
            reasons.push(format!(
                "connecting: {up} of {peers} peers are connected; the node is ready once all are, or 2 s after its start"
            ));
        }
        reasons
    }

    /// Sets or clears the error of the state file.
    pub fn state_written(&mut self, written: Result<(), String>) {
        if written.is_err() {
            self.metrics.disk_failures.inc();
        }
        self.state_file_error = written.err();
    }

    /// Sets the reason why a peer is not connected; `None` if it is connected, or if no reason is known.
    pub fn set_peer_error(&mut self, peer: ProcessId, error: Option<String>) {
        match error {
            Some(error) => drop(self.peer_errors.insert(peer, error)),
            None => drop(self.peer_errors.remove(&peer)),
        }
    }

    /// Returns the number of requests that relays of this node pursue.
    pub(super) fn requests(&self) -> usize {
        self.relays.values().map(|relay| relay.interests.len()).sum()
    }

    /// Returns the metrics in Prometheus's text format. `expiry` is that of the node's certificates.
    pub fn metrics_text(&self, expiry: Option<CertificateExpiry>, now: Time) -> String {
        let metrics = &self.metrics;
        metrics.set_expiry(expiry);
        self.set_grant_gauges(now);
        self.set_quota_gauges();
        metrics.sessions.set((self.relays.len() + self.direct.len()) as i64);
        metrics.requests.set(self.requests() as i64);
        metrics.ballots.set(self.voter.ballots().len() as i64);
        metrics.peers_up.set(self.peers_up().len() as i64);
        metrics.ready.set(self.reasons().is_empty().into());
        metrics.text()
    }

    pub(super) fn status(&self) -> NodeStatus {
        let settings = &self.settings;
        let up = self.peers_up();
        let member = |(id, address): (ProcessId, &str)| {
            let node = id.number();
            let (state, own) = (self.up.get(&id), settings.id == id);
            MemberStatus {
                node,
                address: address.to_owned(),
                clients: match own {
                    true => settings.client_address.clone(),
                    false => self.client_addresses.get(&id).cloned(),
                },
                up: own || up.contains(id),
                suspected: self.suspected.contains(id),
                last_error: match (state, self.membership.foreign.get(&id)) {
                    _ if own => None,
                    (_, Some(text)) => Some(text.clone()),
                    (Some(Ok(())), None) if up.contains(id) => None,
                    (Some(Ok(())), None) => Some("its members are not known yet".to_owned()),
                    _ if self.peer_errors.contains_key(&id) => self.peer_errors.get(&id).cloned(),
                    (Some(Err(why)), None) => Some(why.clone()),
                    (None, None) => Some("never connected".to_owned()),
                },
            }
        };
        let (terms, present) = (self.terms, self.membership.chain.present());
        NodeStatus {
            node: settings.id.index() as u32,
            cluster: settings.cluster,
            votes: self.voter.is_voting(),
            quorum: self.has_quorum(),
            quorums: present.target().quorums.clone(),
            terms: present.target().terms,
            // The slowest voter drops a session after one ttl by its own clock. Then one message gives the vote
            // to the next request.
            replaced_within_us: (present.terms().abstention() + settings.delay_bounds.bound).0
                / 1_000,
            not_before_us: terms.validity(terms.ttl_least).0 / 1_000,
            sessions: (self.relays.len() + self.direct.len()) as u64,
            requests: self.requests() as u64,
            locks: self.voter.ballots().len() as u64,
            messages: self.metrics.sent(),
            reasons: self.reasons(),
            members: self.membership.members().into_iter().map(member).collect(),
        }
    }
}
