//! Quotas: limits of one client on one node, so that no client can exhaust the node.
//!
//! A session ends in many ways, so sessions, requests and bytes are not decremented. They are only incremented, and
//! recounted from the existing sessions when a quota seems to be exhausted.

use std::fmt;
use std::sync::Arc;

use quorate_core::{SortedMap, SortedSet, Span, Time};
use quorate_protocol::Failure;

use super::{CallerId, NodeCore};

/// The client that a quota applies to: a client named in the configuration file, or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Creates an owner with this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Limits of one client on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Maximum number of sessions.
    pub sessions: usize,
    /// Maximum number of requests, over all sessions of the client.
    pub requests: usize,
    /// Maximum number of watched prefixes.
    pub watches: usize,
    /// Maximum number of bytes of names and texts.
    pub text_bytes: usize,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { sessions: 25_000, requests: 250_000, watches: 10_000, text_bytes: 64 << 20 }
    }
}

/// Minimum interval between two recounts of an owner's usage.
const RECOUNT: Span = Span::from_millis(100);

/// Number of owners that are kept before owners without usage are dropped.
const KEPT: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Owners {
    of_client: SortedMap<CallerId, Owner>,
    of_session: SortedMap<u128, Owner>,
    usage: SortedMap<Owner, Usage>,
    /// Number of owners above which owners without usage are dropped.
    prune_at: usize,
}

#[derive(Debug, Default)]
struct Usage {
    sessions: SortedSet<u128>,
    requests: usize,
    bytes: usize,
    watches: usize,
    counted: Option<Time>,
}

/// Usage that a call would add.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    pub(super) sessions: usize,
    pub(super) requests: usize,
    pub(super) watches: usize,
    pub(super) bytes: usize,
}

impl Usage {
    fn exceeded(&self, added: Charge, quotas: Quotas) -> Option<String> {
        let over = [
            (added.sessions, self.sessions.len(), quotas.sessions, "sessions"),
            (added.requests, self.requests, quotas.requests, "requests"),
            (added.watches, self.watches, quotas.watches, "watches"),
            (added.bytes, self.bytes, quotas.text_bytes, "bytes of names and texts"),
        ];
        let over = over.into_iter().find(|(added, has, most, _)| *added > 0 && has + added > *most);
        over.map(|(_, _, most, what)| format!("one client may have at most {most} {what}"))
    }
}

impl NodeCore {
    /// Registers the owner of a new connection.
    pub fn connection_opened(&mut self, client: CallerId, owner: Owner) {
        self.owners.of_client.insert(client, owner);
    }

    pub(super) fn forget_client(&mut self, client: CallerId, watches: usize) {
        let Some(owner) = self.owners.of_client.remove(&client) else { return };
        if let Some(usage) = self.owners.usage.get_mut(&owner) {
            usage.watches = usage.watches.saturating_sub(watches);
        }
        if self.owners.usage.len() > self.owners.prune_at.max(KEPT) {
            let mut owners = std::mem::take(&mut self.owners);
            owners.usage.retain(|_, usage| {
                usage.sessions.retain(|key| self.session_exists(*key));
                usage.watches > 0 || !usage.sessions.is_empty()
            });
            owners.prune_at = 2 * owners.usage.len();
            self.owners = owners;
        }
    }

    /// Checks whether a client may use this much more. If so, the usage is counted.
    pub(super) fn charge(
        &mut self,
        client: CallerId,
        added: Charge,
        now: Time,
    ) -> Result<(), Failure> {
        match self.owners.of_client.get(&client).cloned() {
            Some(owner) => self.charge_owner(owner, added, now),
            None => Ok(()),
        }
    }

    /// Does the same as [`Self::charge`] for the owner of a session.
    pub(super) fn charge_session(
        &mut self,
        key: u128,
        added: Charge,
        now: Time,
    ) -> Result<(), Failure> {
        match self.owners.of_session.get(&key).cloned() {
            Some(owner) => self.charge_owner(owner, added, now),
            None => Ok(()),
        }
    }

    fn charge_owner(&mut self, owner: Owner, added: Charge, now: Time) -> Result<(), Failure> {
        let quotas = self.settings.quotas;
        let mut usage = self.owners.usage.remove(&owner).unwrap_or_default();
        if usage.exceeded(added, quotas).is_some()
            && usage.counted.is_none_or(|at| now.since(at) >= RECOUNT)
        {
            usage.counted = Some(now);
            usage.sessions.retain(|key| self.session_exists(*key));
            let has = usage.sessions.iter().map(|key| self.has(*key));
            (usage.requests, usage.bytes) =
                has.fold((0, 0), |sum, has| (sum.0 + has.0, sum.1 + has.1));
        }
        let exceeded = usage.exceeded(added, quotas);
        if exceeded.is_none() {
            usage.requests += added.requests;
            usage.bytes += added.bytes;
            usage.watches += added.watches;
        }
        self.owners.usage.insert(owner, usage);
        exceeded.map_or(Ok(()), |why| {
            self.metrics.count_refusal("quota");
            Err(Failure::TooMuch(why))
        })
    }

    /// Sets the gauges of quotas: for each client that the configuration names, and the maximum of all addresses otherwise.
    /// Everything is counted anew, because ended sessions are still included in the usage.
    pub(super) fn set_quota_gauges(&self) {
        let quotas = self.settings.quotas;
        let mut by_client: SortedMap<&str, [f64; 4]> = SortedMap::new();
        for (owner, usage) in &self.owners.usage {
            let sessions = usage.sessions.iter().filter(|key| self.session_exists(**key));
            let (mut count, mut requests, mut bytes) = (0, 0, 0);
            for key in sessions {
                let has = self.has(*key);
                (count, requests, bytes) = (count + 1, requests + has.0, bytes + has.1);
            }
            let used = [
                (count, quotas.sessions),
                (requests, quotas.requests),
                (usage.watches, quotas.watches),
                (bytes, quotas.text_bytes),
            ];
            let client = owner.0.strip_prefix("client ").unwrap_or("(address)");
            let most = by_client.entry(client).or_default();
            for (most, (used, limit)) in most.iter_mut().zip(used) {
                *most = most.max(used as f64 / limit.max(1) as f64);
            }
        }
        self.metrics.set_quotas(&by_client);
    }

    /// Returns whether a session is relayed here, or known to the voter.
    pub(super) fn session_exists(&self, session: u128) -> bool {
        self.relays.contains_key(&session) || self.voter.session(session).is_some()
    }

    /// Returns the number of requests of a session, and the number of bytes of its names and texts.
    fn has(&self, session: u128) -> (usize, usize) {
        if let Some(relay) = self.relays.get(&session) {
            return (relay.interests.len(), relay.text_bytes());
        }
        let Some(known) = self.voter.session(session) else { return (0, 0) };
        let names = known.requests().map(|(_, lock)| lock.text().len());
        (known.requests().len(), names.sum::<usize>() + self.texts.bytes(session))
    }

    /// Records the owner of a session.
    pub(super) fn set_owner(&mut self, client: CallerId, key: u128) {
        let Some(owner) = self.owners.of_client.get(&client).cloned() else { return };
        self.owners.usage.entry(owner.clone()).or_default().sessions.insert(key);
        self.owners.of_session.insert(key, owner);
        let most = 2 * (self.relays.len() + self.voter.sessions().len()) + KEPT;
        if self.owners.of_session.len() > most {
            let mut of_session = std::mem::take(&mut self.owners.of_session);
            of_session.retain(|key, _| self.session_exists(*key));
            self.owners.of_session = of_session;
        }
    }
}
