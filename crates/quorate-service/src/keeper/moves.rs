//! Sessions that go to another node, because this one leaves.
//!
//! A session goes with all it has and wants. What its client relies on does not change: voters keep what they lent to the
//! node that leaves for as long as it was told, and the other node asks them for the same requests in its own name. Until
//! it has their votes the client may rely on what it was told before, and on nothing more.

use std::collections::BTreeMap;

use quorate_algorithms::mutex::leased::{Command, Ticket};
use quorate_core::{ProcessId, Span, Time};
use quorate_protocol::{Answer, Failure, Name, Say, SessionKey};
use serde::{Deserialize, Serialize};

use super::questions::{Asked, PATIENCE, Waiting};
use super::{Alarm, Client, Deed, Keeper};
use crate::lease::LeaseId;
use crate::peer::{PeerMessage, Question};
use crate::session::{Interest, Session, Waiter, Waits};

/// Nobody has this connection: whoever waits has not come here yet.
pub(super) const NOBODY: Client = Client(u64::MAX);

/// How often the other node is asked to take a session: a connection may have broken under the first question.
const OFFERS_MOST: u8 = 4;

/// How long a request waits for whoever has to ask for it again.
const ASKED_AGAIN: Span = Span::from_millis(5_000);

/// A session on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moving {
    key: u128,
    lease: Option<LeaseId>,
    ttl: Span,
    who: String,
    place: String,
    /// Until when its client relies on all it has, by the client's clock in microseconds.
    reliable_until: u64,
    interests: Vec<MovingInterest>,
}

/// What it has or wants of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MovingInterest {
    name: Name,
    ticket: Ticket,
    /// How often it has moved.
    moved: u32,
    token: Option<u64>,
    revision: Option<u64>,
    why: String,
    /// For how long it has been as it is.
    age: Span,
    holding: Vec<u64>,
    /// Who waits, and for how long still.
    waiting: Vec<(u64, Option<Span>)>,
}

impl Moving {
    /// The ticket of each request, and its token if it has one.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (Ticket, Option<u64>)> {
        self.interests.iter().map(|it| (it.ticket, it.token))
    }
}

/// What another node is asked to take.
#[derive(Debug)]
pub(super) struct Offer {
    moving: Box<Moving>,
    peer: ProcessId,
    /// How often it was asked before.
    before: u8,
}

impl Keeper {
    /// Where clients reach this node.
    pub(super) fn tell_door(&mut self, peer: ProcessId) {
        if let Some(door) = self.settings.door.clone() {
            self.send(peer, PeerMessage::Door(door));
        }
    }

    /// No more requests: sessions go to another node.
    pub fn leave(&mut self, now: Time) {
        self.leaving = true;
        let suspected = self.locks().suspected().clone();
        let up = |peer: &ProcessId| {
            matches!(self.up.get(peer), Some(Ok(()))) && self.doors.contains_key(peer)
        };
        // Whoever is not suspected first.
        let target = self.peers().filter(up).min_by_key(|peer| suspected.contains(*peer));
        let keys: Vec<SessionKey> = self.sessions.keys().copied().collect();
        for key in keys {
            match target {
                Some(peer) => self.send_away(key, peer, now),
                None => self.tell_leaving(key),
            }
        }
    }

    fn tell_leaving(&mut self, key: SessionKey) {
        if let Some(session) = self.sessions.get(&key) {
            self.deeds.push(Deed::Say(session.client, Say::Leaving));
        }
    }

    fn send_away(&mut self, key: SessionKey, peer: ProcessId, now: Time) {
        let Some(moving) = self.pack(key, now) else { return };
        let tickets: Vec<Ticket> = moving.interests.iter().map(|it| it.ticket).collect();
        // From here on nothing of it may be relied on through this node.
        for ticket in tickets {
            self.command(Command::HandOver(ticket), now);
        }
        if let Some(session) = self.sessions.get_mut(&key) {
            session.moving = true;
        }
        self.offer(Offer { moving: Box::new(moving), peer, before: 0 }, now);
    }

    fn offer(&mut self, offer: Offer, now: Time) {
        self.numbers += 1;
        let number = self.numbers;
        let question = Question::TakeOver(offer.moving.clone());
        self.send(offer.peer, PeerMessage::Question(number, question));
        self.asked.insert(number, Asked::one(offer.peer, Waiting::Move(offer)));
        self.alarms.insert((now + PATIENCE, Alarm::Question(number)));
    }

    /// The other node has not answered.
    pub(super) fn offer_again(&mut self, offer: Offer, now: Time) {
        let before = offer.before + 1;
        match before < OFFERS_MOST {
            true => self.offer(Offer { before, ..offer }, now),
            false => self.was_sent_away(&offer, false),
        }
    }

    fn pack(&self, key: SessionKey, now: Time) -> Option<Moving> {
        let session = self.sessions.get(&key)?;
        let reliance = self.reliance_of(key, now);
        // Whoever speaks etcd's language has to ask again, and has so long to do so before its place in the queue is lost.
        let again = session.lease.as_ref().map(|_| ASKED_AGAIN);
        let interest = |(name, interest): (&Name, &Interest)| MovingInterest {
            name: name.clone(),
            ticket: interest.ticket,
            moved: self.locks().candidate(interest.ticket).map_or(0, |it| it.moved()) + 1,
            token: interest.token,
            revision: interest.revision,
            why: interest.why.clone(),
            age: now.since(interest.since),
            holding: interest.holding.clone(),
            waiting: interest
                .waiting
                .iter()
                .map(|waiter| {
                    let left = waiter.until.map(|until| until.since(now));
                    (waiter.request, left.or(again.filter(|_| waiter.client != NOBODY)))
                })
                .collect(),
        };
        Some(Moving {
            key: key.0,
            lease: session.lease.clone(),
            ttl: session.ttl,
            who: session.who.clone(),
            place: session.place.clone(),
            reliable_until: reliance.since.saturating_add(reliance.micros),
            interests: session.interests.iter().map(interest).collect(),
        })
    }

    /// A session comes from a node that leaves. Whether it can.
    pub(super) fn take_over(&mut self, moving: Moving, now: Time) -> bool {
        let Moving { key, lease, ttl, who, place, reliable_until, interests } = moving;
        let key = SessionKey(key);
        let room = self.settings.sessions_most.saturating_sub(self.sessions.len()) > 0;
        // The answer to an earlier offer may have been lost.
        if self.sessions.contains_key(&key) {
            return true;
        }
        if self.leaving || !room {
            return false;
        }
        let until = now + ttl;
        let mut session = Session {
            ttl,
            until,
            heard: (now, 0),
            client: NOBODY,
            lease,
            who,
            place,
            interests: BTreeMap::new(),
            requests: BTreeMap::new(),
            lost: BTreeMap::new(),
            moving: false,
            reliable_until,
        };
        let mut commands = Vec::new();
        for it in interests {
            let MovingInterest { name, ticket, moved, token, revision, .. } = it;
            let waits = it.waiting.iter().map(|(request, _)| *request);
            let requests = it.holding.iter().copied().chain(waits);
            session.requests.extend(requests.map(|request| (request, name.clone())));
            let waiter = |(request, left): (u64, Option<Span>)| Waiter {
                request,
                client: NOBODY,
                number: 0,
                until: left.map(|left| now + left),
                waits: Waits::ToHaveIt,
            };
            let waiting: Vec<Waiter> = it.waiting.into_iter().map(waiter).collect();
            let ends = waiting.iter().filter_map(|waiter| waiter.until);
            self.alarms.extend(ends.map(|until| (until, Alarm::Waiter(ticket))));
            let since = Time(now.0.saturating_sub(it.age.0));
            let (why, holding, resumed) = (it.why, it.holding, token.is_some());
            let interest =
                Interest { ticket, since, why, token, holding, waiting, revision, resumed };
            session.interests.insert(name.clone(), interest);
            self.tickets.insert(ticket, (key, name.clone()));
            commands.push(Command::TakeOver { lock: name, ticket, token, moved });
        }
        self.leases.here.extend(session.lease.clone().map(|lease| (lease, key)));
        self.sessions.insert(key, session);
        self.alarms.insert((until, Alarm::Session(key)));
        commands.into_iter().for_each(|command| self.command(command, now));
        true
    }

    /// The other node has the session, or does not answer: here it is over in any case.
    pub(super) fn was_sent_away(&mut self, offer: &Offer, taken: bool) {
        let (key, peer) = (SessionKey(offer.moving.key), offer.peer);
        let Some(session) = self.sessions.remove(&key) else { return };
        session.interests.values().for_each(|it| drop(self.tickets.remove(&it.ticket)));
        if let Some(lease) = &session.lease {
            self.leases.here.remove(lease);
            let waiting = session.interests.values().flat_map(|it| &it.waiting);
            for waiter in waiting {
                // Through whichever node it asks again, it finds its lease.
                self.answer((waiter.client, waiter.number), Answer::Failed(Failure::Leaving));
            }
            return;
        }
        let say = match self.doors.get(&peer).filter(|_| taken) {
            Some(to) => Say::Moved { session: key, to: to.clone() },
            None => Say::Leaving,
        };
        self.deeds.push(Deed::Say(session.client, say));
    }
}
