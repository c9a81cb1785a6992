//! Quotas: what one client may have on one node, so that it cannot take all that there is.
//!
//! A session ends in many ways, so usage is not counted down: it is only counted up, and counted anew from the sessions
//! that exist when a quota seems to be used up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use quorate_core::{Span, Time};
use quorate_protocol::{Failure, SessionKey};

use super::{Client, Keeper};
use crate::lease::{LeaseId, Leased};

/// The client whose quotas are used: one that the file names, or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(Arc<str>);

impl Owner {
    /// An owner with this name.
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
    /// Maximum number of requests of all its sessions.
    pub requests: usize,
    /// Maximum number of watched prefixes.
    pub watches: usize,
    /// Maximum number of bytes of its names and texts.
    pub text_bytes: usize,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { sessions: 25_000, requests: 250_000, watches: 10_000, text_bytes: 64 << 20 }
    }
}

/// How often usage is counted anew at most.
const RECOUNT: Span = Span::from_millis(100);

/// Owners that are kept before those without anything are dropped.
const KEPT: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Owners {
    of_client: BTreeMap<Client, Owner>,
    of_session: BTreeMap<SessionKey, Owner>,
    usage: BTreeMap<Owner, Usage>,
    /// Number of owners at which those without anything are dropped.
    prune_at: usize,
}

#[derive(Debug, Default)]
struct Usage {
    sessions: BTreeSet<SessionKey>,
    requests: usize,
    bytes: usize,
    watches: usize,
    counted: Option<Time>,
}

/// Usage that a call would add.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Added {
    pub(super) sessions: usize,
    pub(super) requests: usize,
    pub(super) watches: usize,
    pub(super) bytes: usize,
}

impl Usage {
    fn exceeded(&self, added: Added, quotas: Quotas) -> Option<String> {
        let over = [
            (added.sessions, self.sessions.len(), quotas.sessions, "sessions"),
            (added.requests, self.requests, quotas.requests, "requests"),
            (added.watches, self.watches, quotas.watches, "watches"),
            (added.bytes, self.bytes, quotas.text_bytes, "bytes of names and texts"),
        ];
        let over = over.into_iter().find(|(added, has, most, _)| *added > 0 && has + added > *most);
        over.map(|(_, _, most, what)| format!("{most} {what} are the most for one client"))
    }
}

impl Keeper {
    /// A client has connected.
    pub fn client_comes(&mut self, client: Client, owner: Owner) {
        self.owners.of_client.insert(client, owner);
    }

    pub(super) fn forget_client(&mut self, client: Client, watches: usize) {
        let Some(owner) = self.owners.of_client.remove(&client) else { return };
        if let Some(usage) = self.owners.usage.get_mut(&owner) {
            usage.watches = usage.watches.saturating_sub(watches);
        }
        if self.owners.usage.len() > self.owners.prune_at.max(KEPT) {
            let sessions = &self.sessions;
            self.owners.usage.retain(|_, usage| {
                usage.sessions.retain(|key| sessions.contains_key(key));
                usage.watches > 0 || !usage.sessions.is_empty()
            });
            self.owners.prune_at = 2 * self.owners.usage.len();
        }
    }

    /// Whether a client may have this as well. If so, it is counted.
    pub(super) fn charge(
        &mut self,
        client: Client,
        added: Added,
        now: Time,
    ) -> Result<(), Failure> {
        match self.owners.of_client.get(&client).cloned() {
            Some(owner) => self.charge_owner(owner, added, now),
            None => Ok(()),
        }
    }

    /// The same for the owner of a session.
    pub(super) fn charge_session(
        &mut self,
        key: SessionKey,
        added: Added,
        now: Time,
    ) -> Result<(), Failure> {
        match self.owners.of_session.get(&key).cloned() {
            Some(owner) => self.charge_owner(owner, added, now),
            None => Ok(()),
        }
    }

    fn charge_owner(&mut self, owner: Owner, added: Added, now: Time) -> Result<(), Failure> {
        let quotas = self.settings.quotas;
        let (owners, sessions) = (&mut self.owners, &self.sessions);
        let usage = owners.usage.entry(owner).or_default();
        if usage.exceeded(added, quotas).is_some()
            && usage.counted.is_none_or(|at| now.since(at) >= RECOUNT)
        {
            usage.counted = Some(now);
            usage.sessions.retain(|key| sessions.contains_key(key));
            let own = || usage.sessions.iter().filter_map(|key| sessions.get(key));
            usage.requests = own().map(|session| session.requests.len()).sum();
            usage.bytes = own().map(crate::session::Session::text_bytes).sum();
        }
        if let Some(why) = usage.exceeded(added, quotas) {
            self.measures.refuses("quota");
            return Err(Failure::TooMuch(why));
        }
        usage.requests += added.requests;
        usage.bytes += added.bytes;
        usage.watches += added.watches;
        Ok(())
    }

    /// A session was opened by a client.
    pub(super) fn owns(&mut self, client: Client, key: SessionKey) {
        let Some(owner) = self.owners.of_client.get(&client).cloned() else { return };
        self.owners.usage.entry(owner.clone()).or_default().sessions.insert(key);
        self.owners.of_session.insert(key, owner);
        if self.owners.of_session.len() > 2 * self.sessions.len() + KEPT {
            let sessions = &self.sessions;
            self.owners.of_session.retain(|key, _| sessions.contains_key(key));
        }
    }

    /// Whether what is wanted of a lease that is here is within the quotas of its owner.
    pub(super) fn charge_lease(
        &mut self,
        lease: &LeaseId,
        what: &Leased,
        now: Time,
    ) -> Result<(), Failure> {
        let Some(key) = self.leases.here.get(lease).copied() else { return Ok(()) };
        let (requests, bytes) = match what {
            Leased::Acquire { name, request, value } | Leased::Enqueue { name, request, value } => {
                let session = self.sessions.get(&key);
                if session.is_some_and(|session| session.requests.contains_key(request)) {
                    return Ok(());
                }
                (1, name.text().len() + value.len())
            }
            Leased::Proclaim { value, .. } => (0, value.len()),
            _ => return Ok(()),
        };
        self.charge_session(key, Added { requests, bytes, ..Added::default() }, now)
    }

    /// Refuses a call for a lease that is beyond the quotas of its client. Whether it did.
    pub fn refuses_leased(
        &mut self,
        client: Client,
        lease: &LeaseId,
        what: &Leased,
        now: Time,
    ) -> bool {
        match self.charge_lease(lease, what, now) {
            Ok(()) => false,
            Err(failure) => {
                self.answer((client, 1), quorate_protocol::Answer::Failed(failure));
                true
            }
        }
    }
}
