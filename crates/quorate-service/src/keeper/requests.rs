//! Requests: from asking to having to leaving.

use quorate_algorithms::mutex::leased::{Command, Output, Ticket};
use quorate_core::{Process, Span, Time};
use quorate_protocol::{
    About, Answer, Change, Failure, Name, Say, SessionKey, Standing, TEXT_MOST,
};

use super::calls::too_much;
use super::{Alarm, Client, Deed, Keeper};
use crate::measures::seconds;
use crate::session::{Interest, Session, Waiter, Waits};

/// What a client wants.
pub(super) struct Wanted {
    pub(super) request: u64,
    pub(super) name: Name,
    pub(super) wait_ms: Option<u64>,
    pub(super) why: String,
    /// Whether it is held once, however often it is asked for.
    pub(super) once: bool,
    /// Whether it is enough to know that it has to wait.
    pub(super) queued: bool,
}

/// So often may a session have one lock, and so many may wait for it.
const TIMES_MOST: usize = 1_024;

impl Keeper {
    /// A client wants a lock. It is answered at once only if that can be.
    pub(super) fn acquire(
        &mut self,
        client: Client,
        number: u64,
        key: SessionKey,
        wanted: Wanted,
        heard: (Time, u64),
    ) -> Option<Answer> {
        let Wanted { request, name, wait_ms, why, once, queued } = wanted;
        let (leaving, now) = (self.leaving, heard.0);
        let full = self.tickets.len() >= self.settings.requests_most;
        let lonely = wait_ms == Some(0) && !self.locks().has_quorum();
        if self.touch(client, key, heard).is_none() {
            return Some(Answer::Failed(Failure::NoSession));
        }
        let until = wait_ms.map(|wait| now + Span::from_millis(wait.min(1 << 40)));
        let waits = match wait_ms {
            Some(0) => Waits::OnlyIfFree,
            _ if queued => Waits::InTheQueue,
            _ => Waits::ToHaveIt,
        };
        // Whoever wants to know whether it is free waits for word, and not for ever.
        let until = if waits == Waits::ToHaveIt { until } else { Some(now + ONLY_FREE) };
        let waiter = Waiter { request, client, number, until, waits };
        if let Some(refused) = self.renounce_broken(key, &name, request, now) {
            return Some(refused);
        }
        let session = self.sessions.get_mut(&key)?;
        if let Some(interest) = session.interests.get_mut(&name) {
            let known = interest.holding.contains(&request);
            if let Some(token) = interest.token {
                if !known && !once {
                    if interest.holding.len() >= TIMES_MOST {
                        return Some(too_often());
                    }
                    interest.holding.push(request);
                    session.requests.insert(request, name);
                }
                let reliance = self.reliance_of(key, now);
                return Some(Answer::Granted { token, reliance });
            }
            // The same request again, from a client that does not know whether it was heard.
            interest.waiting.retain(|other| other.request != request);
            if interest.waiting.len() >= TIMES_MOST {
                return Some(too_often());
            }
            interest.waiting.push(waiter);
            let ticket = interest.ticket;
            session.requests.insert(request, name);
            self.alarms.extend(until.map(|until| (until, Alarm::Waiter(ticket))));
            return None;
        }
        if leaving {
            return Some(Answer::Failed(Failure::Leaving));
        }
        if lonely {
            return Some(Answer::Failed(Failure::NoQuorum));
        }
        if full {
            return Some(too_much("this node has as many requests as it may".to_owned()));
        }
        if why.len() > TEXT_MOST {
            return Some(too_much(format!("a text has {TEXT_MOST} bytes at most")));
        }
        if session.requests.insert(request, name.clone()).is_some() {
            return Some(too_much("this request is about another name already".to_owned()));
        }
        let ticket = self.ticket_of(key, name.clone(), now);
        let (holding, waiting) = (Vec::new(), vec![waiter]);
        let (since, token, revision, resumed) = (now, None, None, false);
        let interest = Interest { ticket, since, why, token, holding, waiting, revision, resumed };
        self.tickets.insert(ticket, (key, name.clone()));
        if let Some(session) = self.sessions.get_mut(&key) {
            session.interests.insert(name, interest);
        }
        self.alarms.extend(until.map(|until| (until, Alarm::Waiter(ticket))));
        self.listen(now);
        None
    }

    /// A client that asks for a lock may not be inside. If the lock came from another node and another request may have had
    /// it on the way, the client must not enter with the old token: the lock is lost and the request begins anew.
    fn renounce_broken(
        &mut self,
        key: SessionKey,
        name: &Name,
        request: u64,
        now: Time,
    ) -> Option<Answer> {
        let interest = self.sessions.get(&key)?.interests.get(name)?;
        let (ticket, confirmed) = (interest.ticket, interest.token.is_some() && !interest.resumed);
        let known = interest.holding.contains(&request);
        let candidate = self.locks().candidate(ticket);
        if !confirmed || candidate.is_none_or(|candidate| candidate.is_unbroken()) {
            return None;
        }
        if !known {
            return Some(Answer::Failed(Failure::Busy));
        }
        // It may be inside all the same, and not know whether it was heard: its votes stay until it relies on them no more.
        self.command(Command::Abandon(ticket), now);
        None
    }

    /// A ticket for this session. What else the algorithm says is listened to once the ticket is known here.
    fn ticket_of(&mut self, key: SessionKey, lock: Name, now: Time) -> Ticket {
        self.numbers += 1;
        let (session, number) = (key.0, self.numbers);
        let command = Command::Acquire { lock, session, number };
        self.tell_only(now, |member, out| {
            if member.on_command(command, out).is_err() {
                unreachable!("one may always ask");
            }
        });
        let queued = |output: &Output<Name>| match output {
            Output::Queued(ticket) => Some(*ticket),
            _ => None,
        };
        self.said.iter().find_map(queued).expect("a request is queued when it is made")
    }

    pub(super) fn on_granted(&mut self, ticket: Ticket, token: u64, now: Time) {
        let Some((key, name)) = self.tickets.get(&ticket).cloned() else { return };
        let Some(interest) = self.interest(key, &name) else { return };
        if std::mem::take(&mut interest.resumed) {
            // It had it elsewhere, with the same token: the client knows. An etcd client cannot tell whether it has relied
            // on its lease without a gap, so its lease ends if another request may have had the lock.
            let unbroken = self.locks().candidate(ticket).is_some_and(|it| it.is_unbroken());
            let leased = self.sessions.get(&key).is_some_and(|session| session.lease.is_some());
            if leased && !unbroken {
                self.command(Command::Abandon(ticket), now);
            }
            return;
        }
        interest.token = Some(token);
        let asked = std::mem::replace(&mut interest.since, now);
        if tracing::enabled!(tracing::Level::DEBUG) {
            let until = self.locks().deadline(ticket, now).unwrap_or(now);
            tracing::debug!(lock = %name, token, at = now.0, until = until.0, "granted");
        }
        let Some(interest) = self.interest(key, &name) else { return };
        let waiting = std::mem::take(&mut interest.waiting);
        let asked_by = waiting.first().map(|waiter| waiter.request);
        interest.holding.extend(waiting.iter().map(|waiter| waiter.request));
        if let Some(spans) = &mut self.spans {
            spans.request(&name, ticket, asked_by, (asked, now), Some(token));
        }
        self.measures.granted.inc();
        self.measures.wait.observe(seconds(now.since(asked)));
        if let Some(freed) = self.freed.remove(&name).filter(|freed| *freed >= asked) {
            self.measures.hand_off.observe(seconds(now.since(freed)));
        }
        let reliance = self.reliance_of(key, now);
        for waiter in waiting {
            self.answer((waiter.client, waiter.number), Answer::Granted { token, reliance });
        }
        self.publish_state(key, &name, now);
    }

    pub(super) fn on_lost(&mut self, ticket: Ticket, expelled: bool, now: Time) {
        let Some((key, name)) = self.tickets.remove(&ticket) else { return };
        let Some(session) = self.sessions.get_mut(&key) else { return };
        let Some(interest) = session.interests.remove(&name) else { return };
        self.measures.loses(if expelled { "expelled" } else { "no-quorum" });
        self.measures.hold.observe(seconds(now.since(interest.since)));
        let (client, leased) = (session.client, session.lease.is_some());
        for request in interest.holding {
            session.requests.remove(&request);
            session.lost.insert(request, ticket);
            self.deeds.push(Deed::Say(client, Say::Lost { session: key, request, expelled }));
        }
        while session.lost.len() > TIMES_MOST {
            session.lost.pop_first();
        }
        self.publish(Change { name, holder: None });
        if leased {
            // An etcd client hears of a loss only if its lease is over. Until then it relies on its other locks.
            self.end_session(key, Command::Abandon, None, now);
        }
    }

    pub(super) fn on_behind(&mut self, ticket: Ticket, place: u32, now: Time) {
        let Some((key, name)) = self.tickets.get(&ticket).cloned() else { return };
        let Some(interest) = self.interest(key, &name) else { return };
        let refused: Vec<Waiter> =
            interest.waiting.extract_if(.., |w| w.waits == Waits::OnlyIfFree).collect();
        let told: Vec<(Client, u64)> =
            interest.waiting.iter().map(|waiter| (waiter.client, waiter.request)).collect();
        for waiter in refused {
            self.refuse(key, waiter, Failure::Busy);
        }
        self.leave_in_queue(key, &name);
        for (client, request) in told {
            let say = Say::Position { session: key, request, position: place };
            self.deeds.push(Deed::Say(client, say));
        }
        self.drop_unwanted(ticket, now);
    }

    /// Whoever wants to know only that it has to wait is told so: from then on nobody waits for an answer.
    fn leave_in_queue(&mut self, key: SessionKey, name: &Name) {
        let node = self.settings.id.index() as u64;
        let Some(interest) = self.interest(key, name) else { return };
        let Ticket { stamp, number, .. } = interest.ticket;
        // Greater than all tokens, so that the two cannot be taken for each other.
        let revision = QUEUED | stamp << 16 | (number & 0xff) << 8 | node & 0xff;
        let mut told = Vec::new();
        for waiter in interest.waiting.iter_mut().filter(|it| it.waits == Waits::InTheQueue) {
            let nobody = super::moves::NOBODY;
            told.push((std::mem::replace(&mut waiter.client, nobody), waiter.number));
            (waiter.waits, waiter.until) = (Waits::ToHaveIt, None);
        }
        if !told.is_empty() {
            interest.revision = Some(revision);
        }
        told.into_iter().for_each(|by| self.answer(by, Answer::Queued(revision)));
    }

    pub(super) fn look_after_waiters(&mut self, ticket: Ticket, now: Time) {
        let Some((key, name)) = self.tickets.get(&ticket).cloned() else { return };
        self.leave_in_queue(key, &name);
        let Some(interest) = self.interest(key, &name) else { return };
        let late = |waiter: &mut Waiter| waiter.until.is_some_and(|until| until <= now);
        let late: Vec<Waiter> = interest.waiting.extract_if(.., late).collect();
        for waiter in late {
            let only_free = waiter.waits == Waits::OnlyIfFree;
            let why = if only_free { Failure::Busy } else { Failure::TimedOut };
            self.refuse(key, waiter, why);
        }
        self.drop_unwanted(ticket, now);
    }

    fn refuse(&mut self, key: SessionKey, waiter: Waiter, why: Failure) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.requests.remove(&waiter.request);
        }
        self.measures.refuses(if why == Failure::Busy { "busy" } else { "timed-out" });
        self.answer((waiter.client, waiter.number), Answer::Failed(why));
    }

    pub(super) fn release(&mut self, key: SessionKey, request: u64, now: Time) -> Answer {
        let Some(session) = self.sessions.get_mut(&key) else {
            return Answer::Failed(Failure::NoSession);
        };
        let Some(name) = session.requests.remove(&request) else {
            let Some(ticket) = session.lost.remove(&request) else {
                return Answer::Failed(Failure::NoRequest);
            };
            if !session.lost.values().any(|lost| *lost == ticket) {
                // The client has stopped: the next holder need not wait until it could rely on nothing any more.
                self.command(Command::Release(ticket), now);
            }
            return Answer::Done;
        };
        let Some(interest) = session.interests.get_mut(&name) else { return Answer::Done };
        interest.holding.retain(|held| *held != request);
        interest.waiting.retain(|waiter| waiter.request != request);
        let ticket = interest.ticket;
        self.drop_unwanted(ticket, now);
        Answer::Done
    }

    /// A ticket that nobody wants any more goes back.
    pub(super) fn drop_unwanted(&mut self, ticket: Ticket, now: Time) {
        let Some((key, name)) = self.tickets.get(&ticket).cloned() else { return };
        let Some(interest) = self.interest(key, &name) else { return };
        if !(interest.holding.is_empty() && interest.waiting.is_empty()) {
            return;
        }
        let had = interest.token.map(|token| (token, interest.since));
        let asked = interest.since;
        if let (Some(spans), None) = (&mut self.spans, had) {
            spans.request(&name, ticket, None, (asked, now), None);
        }
        if let Some(session) = self.sessions.get_mut(&key) {
            session.interests.remove(&name);
        }
        self.tickets.remove(&ticket);
        if let Some((_, since)) = had {
            self.was_freed(&name, since, now);
        }
        self.command(Command::Release(ticket), now);
        if let Some((token, _)) = had {
            tracing::debug!(lock = %name, token, at = now.0, "freed");
            self.publish(Change { name, holder: None });
        }
    }

    fn was_freed(&mut self, name: &Name, since: Time, now: Time) {
        self.measures.hold.observe(seconds(now.since(since)));
        // Only what is granted soon is worth measuring.
        if self.freed.len() >= FREED_MOST {
            self.freed.clear();
        }
        self.freed.insert(name.clone(), now);
    }

    /// Ends a session. Its requests end by [`Command::Release`] if the client relies on nothing any more, otherwise by
    /// [`Command::Abandon`]. The loss is counted under its reason, if there is one.
    pub(super) fn end_session(
        &mut self,
        key: SessionKey,
        end: fn(Ticket) -> Command<Name>,
        loss: Option<&'static str>,
        now: Time,
    ) {
        let Some(session) = self.sessions.remove(&key) else { return };
        if let Some(lease) = &session.lease {
            self.leases.here.remove(lease);
        }
        let over = if session.lease.is_some() { Failure::Ended } else { Failure::NoSession };
        for (name, interest) in session.interests {
            for request in interest.holding {
                let lost = Say::Lost { session: key, request, expelled: false };
                self.deeds.push(Deed::Say(session.client, lost));
            }
            for waiter in interest.waiting {
                let over = Answer::Failed(over.clone());
                self.answer((waiter.client, waiter.number), over);
            }
            self.tickets.remove(&interest.ticket);
            if interest.token.is_some() {
                self.was_freed(&name, interest.since, now);
                loss.into_iter().for_each(|why| self.measures.loses(why));
            }
            self.command(end(interest.ticket), now);
            if let Some(token) = interest.token {
                tracing::debug!(lock = %name, token, at = now.0, "freed");
                self.publish(Change { name, holder: None });
            }
        }
    }

    pub(super) fn proclaim(
        &mut self,
        key: SessionKey,
        request: u64,
        value: String,
        now: Time,
    ) -> Answer {
        if value.len() > TEXT_MOST {
            return too_much(format!("a text has {TEXT_MOST} bytes at most"));
        }
        let Some(session) = self.sessions.get_mut(&key) else {
            return Answer::Failed(Failure::NoSession);
        };
        let name = session.requests.get(&request).cloned();
        let interest = name.as_ref().and_then(|name| session.interests.get_mut(name));
        match (name.clone(), interest.filter(|interest| interest.token.is_some())) {
            (Some(name), Some(interest)) => {
                interest.why = value;
                self.publish_state(key, &name, now);
                Answer::Done
            }
            _ => Answer::Failed(Failure::NoRequest),
        }
    }

    fn interest(&mut self, key: SessionKey, name: &Name) -> Option<&mut Interest> {
        self.sessions.get_mut(&key)?.interests.get_mut(name)
    }

    fn publish_state(&mut self, key: SessionKey, name: &Name, now: Time) {
        if self.watchers.is_empty() && self.watching.is_empty() {
            return;
        }
        let Some(session) = self.sessions.get(&key) else { return };
        let Some(interest) = session.interests.get(name) else { return };
        let holder = Some(self.about(session, name, interest, now));
        self.publish(Change { name: name.clone(), holder });
    }

    /// A request as others see it.
    pub(super) fn about(
        &self,
        session: &Session,
        name: &Name,
        interest: &Interest,
        now: Time,
    ) -> About {
        About {
            name: name.clone(),
            stamp: interest.ticket.stamp,
            tie: interest.ticket.number << 8 | self.settings.id.index() as u64,
            node: self.settings.id.index() as u32,
            who: session.who.clone(),
            place: session.place.clone(),
            why: interest.why.clone(),
            lease: session.lease.as_ref().map_or(0, |lease| lease.id),
            revision: interest.revision.or(interest.token).unwrap_or(0),
            for_ms: now.since(interest.since).0 / 1_000_000,
            standing: match interest.token {
                Some(token) => Standing::Holding { token, times: interest.holding.len() as u32 },
                None => Standing::Waiting,
            },
        }
    }

    /// The requests of a session, of names that begin so.
    pub(super) fn requests_of(&self, session: &Session, prefix: &str, now: Time) -> Vec<About> {
        let chosen = session.interests.iter().filter(|(name, _)| name.text().starts_with(prefix));
        chosen.map(|(name, interest)| self.about(session, name, interest, now)).collect()
    }

    /// Takes a lock away from whoever has it through this node.
    pub(super) fn expel_here(&mut self, name: &Name, now: Time) -> bool {
        let held = self.sessions.values().find_map(|session| {
            session.interests.get(name).filter(|interest| interest.token.is_some())
        });
        let Some(ticket) = held.map(|interest| interest.ticket) else { return false };
        let (lock, home) = (name.clone(), self.settings.id);
        self.command(Command::Expel { lock, ticket, home }, now);
        true
    }
}

fn too_often() -> Answer {
    too_much(format!("{TIMES_MOST} times is the most that one session may have one lock"))
}

/// What create revisions have in them that were told before there was a token.
const QUEUED: u64 = 1 << 62;

/// Of so many locks it is kept when they were freed.
const FREED_MOST: usize = 1_024;

/// How long word may take that a lock is not free.
const ONLY_FREE: Span = Span::from_millis(1_000);
