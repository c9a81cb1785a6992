//! A session of a client: what it wants and has, and how long it lives.

use std::collections::BTreeMap;

use quorate_algorithms::mutex::leased::Ticket;
use quorate_core::{Span, Time};
use quorate_protocol::{Held, Name};

use crate::keeper::Client;
use crate::lease::LeaseId;

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// It ends if nothing is heard of it for so long.
    pub(crate) ttl: Span,
    /// When that would be.
    pub(crate) until: Time,
    /// When it was last heard, by our clock, and when it said so, by the client's in microseconds.
    pub(crate) heard: (Time, u64),
    /// Through which connection.
    pub(crate) client: Client,
    /// If it is one of etcd's API.
    pub(crate) lease: Option<LeaseId>,
    pub(crate) who: String,
    pub(crate) place: String,
    pub(crate) interests: BTreeMap<Name, Interest>,
    /// Which name each request is about.
    pub(crate) requests: BTreeMap<u64, Name>,
    /// Requests that have lost their lock, until the client confirms that it has stopped.
    pub(crate) lost: BTreeMap<u64, Ticket>,
    /// Whether it is on its way to another node: nothing is done for it here any more.
    pub(crate) moving: bool,
    /// What its client was told elsewhere: until when, by the client's clock in microseconds, it relies on what it has.
    pub(crate) reliable_until: u64,
}

impl Session {
    /// Everything that it holds, whether or not this node has confirmed it after a move.
    pub(crate) fn held(&self) -> Vec<Held> {
        let held = self.interests.iter().filter_map(|(name, it)| Some((name, it, it.token?)));
        held.flat_map(|(name, interest, token)| {
            interest.holding.iter().map(move |request| Held {
                request: *request,
                name: name.clone(),
                token,
            })
        })
        .collect()
    }

    /// Bytes of its names and texts.
    pub(crate) fn text_bytes(&self) -> usize {
        let interests = self.interests.iter();
        let texts = interests.map(|(name, interest)| name.text().len() + interest.why.len());
        self.who.len() + self.place.len() + texts.sum::<usize>()
    }
}

/// What a session wants or has of one name: one ticket, however often it asks.
#[derive(Clone, Debug)]
pub(crate) struct Interest {
    pub(crate) ticket: Ticket,
    /// Since when it is as it is.
    pub(crate) since: Time,
    pub(crate) why: String,
    /// If it has it.
    pub(crate) token: Option<u64>,
    pub(crate) holding: Vec<u64>,
    pub(crate) waiting: Vec<Waiter>,
    /// The create revision that its client was told before there was a token.
    pub(crate) revision: Option<u64>,
    /// It was granted through another node, and has not yet been confirmed through this one.
    pub(crate) resumed: bool,
}

/// A request that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) request: u64,
    /// Whom to answer, and under which number.
    pub(crate) client: Client,
    pub(crate) number: u64,
    /// Until when.
    pub(crate) until: Option<Time>,
    pub(crate) waits: Waits,
}

/// For what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Until it has it.
    ToHaveIt,
    /// Until it is known whether it is free: otherwise it is not wanted.
    OnlyIfFree,
    /// Until it is known whether it is free: otherwise nobody waits for an answer, and it stays in the queue.
    InTheQueue,
}
