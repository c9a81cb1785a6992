//! A direct session without I/O: it drives client and candidate, shares a lock between guards of the session, keeps the
//! timers, and collects the messages to each voter.
//!
//! ```text
//!   acquire, release ---+                        +--> notices for guards
//!   voters' messages ---+--> DirectClient -------+
//!   links up and down --+                        +--> one outbox per voter
//!   wake (boot clock) --+
//! ```

use std::collections::VecDeque;

use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, Client, ClientEvent, DirectClient, DirectEffect, DirectEffects, Electorate,
    RequestId, Terms, ToCandidate, ToVoter,
};
use quorate_core::{ProcessId, SortedMap, SortedSet, Span, Time};
use quorate_protocol::{Failure, Name};

use super::session_lock::{SessionLock, Ticket, request_of};
use crate::lock_status::Loss;

/// Time after which a request without enough answers is sent to more voters.
const WIDEN_AFTER: Span = Span::from_millis(100);

/// Maximum time to find out whether a lock is free.
const TRY_TIMEOUT: Span = Span::from_millis(1_000);

/// Minimum time for a voter to echo a beat before it counts as silent.
const MIN_SILENCE: Span = Span::from_millis(50);

/// Parameters of a session.
pub(super) struct Parameters {
    /// Public identifier of the session.
    pub(super) session: u128,
    /// Random number that distinguishes two processes with the same session key.
    pub(super) incarnation: u64,
    pub(super) ttl: Span,
    pub(super) terms: Terms,
    pub(super) candidate: CandidateId,
    pub(super) electorate: Electorate,
}

/// A notification for a call or a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The lock is held until `until`, unless it is extended.
    Granted { ticket: Ticket, request: RequestId, token: u64, until: Time },
    /// The validity of the lock was extended.
    Extended { ticket: Ticket, until: Time },
    /// The call waits at this position in the queue.
    Position { ticket: Ticket, position: u32 },
    /// The call has failed.
    Failed { ticket: Ticket, failure: Failure },
    /// The lock is lost and will not become valid again.
    Lost { ticket: Ticket, loss: Loss },
    /// The voter has been silent for one ttl; its connection should be replaced.
    Redial(ProcessId),
}

/// Messages to one voter, sent together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outbox {
    pub(super) messages: Vec<ToVoter<Name>>,
    /// Texts of requests, shown to other clients.
    pub(super) texts: Vec<(RequestId, String)>,
}

/// State of the connection to a voter.
#[derive(Clone, Copy, Debug, Default)]
struct VoterLink {
    up: bool,
    /// The voter has announced that it stops.
    leaving: bool,
    /// The voter has not echoed the last beat in time.
    silent: bool,
    heard: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The next beat is due.
    Beat,
    /// The last beat should have been echoed by now.
    Silence,
    /// A request may need to be sent to more voters.
    Widen(RequestId),
    /// Timeout of a call that takes a lock only if it is free.
    OnlyIfFree(Ticket),
}

/// A lock that was revoked by force. Its user may still be in the critical section. The release is sent to the voters only
/// once all its guards are dropped. Until then the voters wait for the end of the validity.
#[derive(Debug, Default)]
struct Forced {
    guards: SortedSet<Ticket>,
    releases: SortedMap<ProcessId, ToVoter<Name>>,
}

/// A direct session without I/O.
pub(super) struct Driver {
    direct: DirectClient<Name>,
    electorate: Electorate,
    ttl: Span,
    validity: Span,
    voters: Vec<VoterLink>,
    locks: SortedMap<Name, SessionLock>,
    tickets: SortedMap<Ticket, Name>,
    names: SortedMap<RequestId, Name>,
    /// Requests that were ended by force, until their guards are dropped.
    forced: SortedMap<RequestId, Forced>,
    timers: SortedSet<(Time, Timer)>,
    /// Number and start of recent beats.
    beats: VecDeque<(u64, Time)>,
    outboxes: SortedMap<ProcessId, Outbox>,
    notices: Vec<Notice>,
    /// State of the generator that spreads the beats of many clients over time.
    jitter: u64,
    /// The greatest clock that a voter has reported, and when it was received.
    clock: (u64, Time),
}

impl Driver {
    /// Creates a session that starts its first beat now.
    pub(super) fn new(parameters: Parameters, now: Time) -> Self {
        let Parameters { session, incarnation, ttl, terms, candidate, electorate } = parameters;
        let client = Client::new(session, incarnation, ttl, terms);
        let mut driver = Self {
            direct: DirectClient::new(client, candidate, electorate.clone()),
            voters: vec![VoterLink::default(); electorate.bound()],
            electorate,
            ttl,
            validity: terms.validity(ttl),
            locks: SortedMap::new(),
            tickets: SortedMap::new(),
            names: SortedMap::new(),
            forced: SortedMap::new(),
            timers: SortedSet::new(),
            beats: VecDeque::new(),
            outboxes: SortedMap::new(),
            notices: Vec::new(),
            clock: (0, now),
            jitter: incarnation | 1,
        };
        driver.beat(now);
        // Voters are avoided until they are connected, so that a lock does not wait for an absent voter.
        for voter in ProcessId::all(driver.voters.len()) {
            driver.drive(now, |direct, out| direct.avoid(voter, now, out));
        }
        driver
    }

    /// The voters that the session uses.
    pub(super) fn electorate(&self) -> &Electorate {
        &self.electorate
    }

    /// Uses other voters and terms from now on. New voters are avoided until they are connected.
    pub(super) fn adopt(&mut self, electorate: Electorate, terms: Terms, now: Time) {
        self.validity = terms.validity(self.ttl);
        let bound = electorate.bound().max(self.voters.len());
        let new = &electorate.all() - &self.electorate.all();
        for gone in &(&self.electorate.all() - &electorate.all()) {
            self.voters[gone.index()] = VoterLink::default();
            self.outboxes.remove(&gone);
        }
        self.voters.resize(bound, VoterLink::default());
        self.electorate = electorate.clone();
        self.drive(now, |direct, out| direct.adopt(electorate, terms, now, out));
        for voter in new.iter().filter(|voter| !self.voters[voter.index()].up).collect::<Vec<_>>() {
            self.drive(now, |direct, out| direct.avoid(voter, now, out));
        }
    }

    /// Requests a lock. If the session already requests or holds it, the call shares that request.
    pub(super) fn acquire(
        &mut self,
        ticket: Ticket,
        name: Name,
        only_if_free: bool,
        why: String,
        now: Time,
    ) {
        if !self.locks.contains_key(&name) {
            let requested = name.clone();
            let stamp = self.voters_clock(now);
            let request = self.drive(now, |direct, out| direct.acquire(requested, stamp, now, out));
            if !why.is_empty() {
                self.describe_anywhere(request, &why);
            }
            self.names.insert(request, name.clone());
            self.locks.insert(name.clone(), SessionLock::new(request, why));
            self.timers.insert((now + WIDEN_AFTER, Timer::Widen(request)));
        }
        let Some(lock) = self.locks.get_mut(&name) else { return };
        lock.tickets.insert(ticket);
        if let (Some(token), Some(until)) =
            (lock.token, self.direct.client().valid_until(lock.request))
        {
            let request = lock.request;
            self.notices.push(Notice::Granted { ticket, request, token, until });
        } else if only_if_free {
            lock.tries.insert(ticket);
            self.timers.insert((now + TRY_TIMEOUT, Timer::OnlyIfFree(ticket)));
        }
        self.tickets.insert(ticket, name.clone());
        self.refuse_tries(&name, now);
    }

    /// Ends a call or a guard. The request ends with the last call or guard that shares it.
    pub(super) fn release(&mut self, ticket: Ticket, now: Time) {
        let Some(name) = self.tickets.remove(&ticket) else { return self.drop_forced(ticket) };
        let Some(lock) = self.locks.get_mut(&name) else { return };
        lock.tickets.remove(&ticket);
        lock.tries.remove(&ticket);
        if lock.tickets.is_empty() {
            self.end_lock(&name, now);
        }
    }

    /// Changes the text of a held lock.
    pub(super) fn describe(&mut self, ticket: Ticket, text: String) -> Result<(), Failure> {
        let lock = self.tickets.get(&ticket).and_then(|name| self.locks.get_mut(name));
        let lock = lock.filter(|it| it.token.is_some()).ok_or(Failure::NoRequest)?;
        lock.why.clone_from(&text);
        let request = lock.request;
        match self.describe_anywhere(request, &text) {
            true => Ok(()),
            false => Err(Failure::NoQuorum),
        }
    }

    /// Ends the session at the voters.
    pub(super) fn end(&mut self, now: Time) {
        self.drive(now, |direct, out| direct.end(now, out));
    }

    /// A guard had already expired when it should have been extended. The lock is lost.
    pub(super) fn expire(&mut self, ticket: Ticket, now: Time) {
        let Some(name) = self.tickets.get(&ticket).cloned() else { return };
        let Some(lock) = self.end_lock(&name, now) else { return };
        self.lose(lock, Loss::NoQuorum);
    }

    /// A voter is connected.
    pub(super) fn up(&mut self, voter: ProcessId, now: Time) {
        let Some(link) = self.voters.get_mut(voter.index()) else { return };
        *link = VoterLink { up: true, heard: now, ..VoterLink::default() };
        self.drive(now, |direct, out| direct.resume(voter, now, out));
        // The node may have lost the texts in a restart.
        let described = self.locks.values().filter(|lock| !lock.why.is_empty());
        let texts = described.map(|lock| (lock.request, lock.why.clone()));
        self.outboxes.entry(voter).or_default().texts.extend(texts);
    }

    /// A voter is disconnected.
    pub(super) fn down(&mut self, voter: ProcessId, now: Time) {
        let Some(link) = self.voters.get_mut(voter.index()) else { return };
        link.up = false;
        self.outboxes.remove(&voter);
        self.drive(now, |direct, out| direct.avoid(voter, now, out));
    }

    /// A voter has announced that it stops.
    pub(super) fn leaving(&mut self, voter: ProcessId, now: Time) {
        let Some(link) = self.voters.get_mut(voter.index()) else { return };
        link.leaving = true;
        self.drive(now, |direct, out| direct.avoid(voter, now, out));
    }

    /// A node has refused a request, for example because the client is not permitted to acquire the lock.
    pub(super) fn refused(&mut self, request: u64, failure: Failure, now: Time) {
        let found = self.names.iter().find(|(id, _)| id.number == request);
        let Some(name) = found.map(|(_, name)| name.clone()) else { return };
        if self.locks.get(&name).is_some_and(|lock| lock.token.is_none()) {
            self.fail(&name, failure, now);
        }
    }

    /// Handles messages of a voter. The caller calls [`Self::wake`] first, so that an expired lock is not extended.
    pub(super) fn on_messages(
        &mut self,
        voter: ProcessId,
        mut messages: Vec<ToCandidate<Name>>,
        now: Time,
    ) {
        // Echoes last: an echo lists the voter's votes. If that list is older than a vote in the same batch, the candidate
        // would request that vote again.
        messages.sort_by_key(|message| matches!(message, ToCandidate::Echo { .. }));
        let Some(link) = self.voters.get_mut(voter.index()) else { return };
        link.heard = now;
        let (leaving, was_silent) = (link.leaving, std::mem::take(&mut link.silent));
        for message in messages {
            let lock_name =
                request_of(&message).and_then(|request| self.names.get(&request)).cloned();
            if let Some(lock) = lock_name.as_ref().and_then(|name| self.locks.get_mut(name)) {
                lock.on_answer(voter, &message);
            }
            self.drive(now, |direct, out| direct.on_message(voter, message, now, out));
            if let Some(name) = lock_name {
                self.refuse_tries(&name, now);
            }
        }
        self.note_clock(now);
        if leaving {
            // An echo makes the candidate trust the voter again, so the voter is avoided again.
            self.drive(now, |direct, out| direct.avoid(voter, now, out));
        } else if was_silent {
            self.drive(now, |direct, out| direct.resume(voter, now, out));
        }
        self.notify_extensions();
    }

    /// The earliest time at which [`Self::wake`] has something to do.
    pub(super) fn next_wake(&self) -> Time {
        let timer = self.timers.first().map(|(time, _)| *time);
        [timer, self.direct.next_wake()].into_iter().flatten().min().unwrap_or(Time::NEVER)
    }

    /// Handles everything that is due. Expired locks are handled first.
    pub(super) fn wake(&mut self, now: Time) {
        if self.direct.next_wake().is_some_and(|due| due <= now) {
            self.drive(now, |direct, out| direct.wake(now, out));
        }
        while let Some((_, timer)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.pop_first();
            match timer {
                Timer::Beat => self.beat(now),
                Timer::Silence => self.check_silence(now),
                Timer::Widen(request) => self.widen(request, now),
                Timer::OnlyIfFree(ticket) => self.give_up_try(ticket, now),
            }
        }
    }

    /// End of the validity of everything that the session holds. If it holds nothing, end of the session's own validity.
    pub(super) fn deadline(&self) -> Time {
        if let Some(earliest) = self.direct.next_wake() {
            return earliest;
        }
        let echoed = self.direct.candidate().echoed().map_or(0, |beat| beat.number);
        let begun = self.beats.iter().find(|(number, _)| *number == echoed);
        begun.map_or(Time::ZERO, |(_, begun)| *begun + self.validity)
    }

    /// Whether the session waits for a lock or holds one.
    pub(super) fn is_active(&self) -> bool {
        !self.locks.is_empty()
    }

    /// Whether a quorum of voters has answered this request, so that no node is expected to refuse it.
    pub(super) fn is_answered(&self, request: RequestId) -> bool {
        let lock = self.names.get(&request).and_then(|name| self.locks.get(name));
        lock.is_none_or(|lock| lock.is_answered(&self.electorate))
    }

    /// Takes the notices since the last call.
    pub(super) fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Takes the messages to be sent.
    pub(super) fn outboxes(&mut self) -> SortedMap<ProcessId, Outbox> {
        std::mem::take(&mut self.outboxes)
    }

    fn drive<R>(
        &mut self,
        now: Time,
        input: impl FnOnce(&mut DirectClient<Name>, &mut DirectEffects<Name>) -> R,
    ) -> R {
        let mut effects = Vec::new();
        let result = input(&mut self.direct, &mut effects);
        for effect in effects {
            match effect {
                DirectEffect::Send(voter, message) if self.is_withheld(&message) => {
                    self.withhold(voter, message);
                }
                // A message to a disconnected voter is dropped: the candidate repeats it.
                DirectEffect::Send(voter, message) if self.voters[voter.index()].up => {
                    self.outboxes.entry(voter).or_default().messages.push(message);
                }
                DirectEffect::Send(..) => {}
                DirectEffect::Event(event) => self.on_event(event, now),
                DirectEffect::Refused(ttl) => self.on_refused_ttl(ttl, now),
            }
        }
        result
    }

    fn on_event(&mut self, event: ClientEvent, now: Time) {
        match event {
            ClientEvent::Entered { request, token } => self.enter(request, token),
            ClientEvent::Lost { request, forced, .. } => {
                let name = self.names.remove(&request);
                let Some(lock) = name.and_then(|it| self.locks.remove(&it)) else { return };
                if forced {
                    let guards = lock.tickets.clone();
                    self.forced.insert(request, Forced { guards, ..Forced::default() });
                }
                self.lose(lock, if forced { Loss::Expelled } else { Loss::NoQuorum });
            }
            ClientEvent::Gone(request) => {
                if let Some(name) = self.names.get(&request).cloned() {
                    self.fail(&name, Failure::NoRequest, now);
                }
            }
            ClientEvent::Waiting(request, position) => {
                let name = self.names.get(&request);
                if let Some(lock) = name.and_then(|name| self.locks.get(name))
                    && position > 0
                {
                    let tickets = lock.tickets.iter();
                    let notice = |ticket: &Ticket| Notice::Position { ticket: *ticket, position };
                    self.notices.extend(tickets.map(notice));
                }
            }
            ClientEvent::Again(_) => {}
        }
    }

    /// Whether this message would release a revoked lock whose guards still exist.
    fn is_withheld(&self, message: &ToVoter<Name>) -> bool {
        matches!(message, ToVoter::Release { request, .. } if self.forced.contains_key(request))
    }

    fn withhold(&mut self, voter: ProcessId, message: ToVoter<Name>) {
        let ToVoter::Release { request, .. } = &message else { return };
        if let Some(forced) = self.forced.get_mut(request) {
            // The first release names the token.
            forced.releases.entry(voter).or_insert(message);
        }
    }

    /// Drops a guard of a revoked lock. With the last guard its user has stopped, so the withheld releases are sent.
    fn drop_forced(&mut self, ticket: Ticket) {
        let ended = self.forced.extract(|_, forced| {
            forced.guards.remove(&ticket);
            forced.guards.is_empty()
        });
        for (voter, release) in ended.into_iter().flat_map(|(_, forced)| forced.releases) {
            if self.voters[voter.index()].up {
                self.outboxes.entry(voter).or_default().messages.push(release);
            }
        }
    }

    fn enter(&mut self, request: RequestId, token: u64) {
        let name = self.names.get(&request);
        let Some(lock) = name.and_then(|name| self.locks.get_mut(name)) else { return };
        let Some(until) = self.direct.client().valid_until(request) else { return };
        (lock.token, lock.announced) = (Some(token), until);
        lock.tries.clear();
        let granted = |ticket: &Ticket| Notice::Granted { ticket: *ticket, request, token, until };
        self.notices.extend(lock.tickets.iter().map(granted));
    }

    fn lose(&mut self, lock: SessionLock, loss: Loss) {
        for ticket in lock.tickets {
            self.tickets.remove(&ticket);
            self.notices.push(Notice::Lost { ticket, loss });
        }
    }

    /// Fails all calls for a lock.
    fn fail(&mut self, name: &Name, failure: Failure, now: Time) {
        let Some(lock) = self.end_lock(name, now) else { return };
        for ticket in lock.tickets {
            self.tickets.remove(&ticket);
            self.notices.push(Notice::Failed { ticket, failure: failure.clone() });
        }
    }

    /// Removes a lock and releases its request at the voters.
    fn end_lock(&mut self, name: &Name, now: Time) -> Option<SessionLock> {
        let lock = self.locks.remove(name)?;
        self.names.remove(&lock.request);
        let request = lock.request;
        self.timers.retain(|(_, timer)| *timer != Timer::Widen(request));
        self.drive(now, |direct, out| direct.release(request, now, out));
        Some(lock)
    }

    /// A voter applies another time-to-live. Calls that wait fail. Held locks continue with the votes that they have.
    fn on_refused_ttl(&mut self, applied: Span, now: Time) {
        let ms = |span: Span| span.0 / 1_000_000;
        let why = format!(
            "a voter applies a ttl of {} ms to this session, which asks for {} ms",
            ms(applied),
            ms(self.ttl)
        );
        let waiting = self.locks.iter().filter(|(_, lock)| lock.token.is_none());
        for name in waiting.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.fail(&name, Failure::TooMuch(why.clone()), now);
        }
    }

    /// Fails the calls that take the lock only if it is free, once it is known not to be free.
    fn refuse_tries(&mut self, name: &Name, now: Time) {
        let Some(lock) = self.locks.get_mut(name) else { return };
        if !lock.tries.is_empty() && lock.is_behind(&self.electorate) {
            for ticket in std::mem::take(&mut lock.tries) {
                self.notices.push(Notice::Failed { ticket, failure: Failure::Busy });
                self.release(ticket, now);
            }
        }
    }

    fn give_up_try(&mut self, ticket: Ticket, now: Time) {
        let lock = self.tickets.get(&ticket).and_then(|name| self.locks.get(name));
        let Some(lock) = lock.filter(|it| it.tries.contains(&ticket)) else { return };
        let failure = lock.failure(&self.electorate);
        self.notices.push(Notice::Failed { ticket, failure });
        self.release(ticket, now);
    }

    /// Sends the request to every voter if the preferred ones have not answered: one of them may have stopped.
    fn widen(&mut self, request: RequestId, now: Time) {
        let lock = self.names.get(&request).and_then(|name| self.locks.get(name));
        let waits = |it: &&SessionLock| it.token.is_none() && !it.is_answered(&self.electorate);
        if lock.filter(waits).is_some() {
            self.drive(now, |direct, out| direct.widen(request, now, out));
        }
    }

    fn beat(&mut self, now: Time) {
        self.drive(now, |direct, out| direct.beat(now, out));
        self.beats.push_back((self.direct.client().presented().beat.number, now));
        while self.beats.front().is_some_and(|(_, begun)| *begun + self.ttl <= now) {
            self.beats.pop_front();
        }
        let interval = Terms::beat(self.ttl);
        let spread = self.random() % (interval.0 / 8).max(1);
        self.timers.insert((now + Span(interval.0.saturating_sub(spread).max(1)), Timer::Beat));
        let timeout = Span((interval.0 / 4).max(MIN_SILENCE.0).min(interval.0));
        self.timers.insert((now + timeout, Timer::Silence));
    }

    /// Avoids voters that have not echoed the last beat, and redials voters that have been silent for one ttl. A stopped or
    /// partitioned machine does not close its connections.
    fn check_silence(&mut self, now: Time) {
        let Some((_, begun)) = self.beats.back().copied() else { return };
        for voter in ProcessId::all(self.voters.len()) {
            let link = &mut self.voters[voter.index()];
            if !link.up || link.heard >= begun {
                continue;
            }
            link.silent = true;
            if now.since(link.heard) >= self.ttl {
                link.heard = now;
                self.notices.push(Notice::Redial(voter));
            }
            self.drive(now, |direct, out| direct.avoid(voter, now, out));
        }
    }

    /// Stores the voters' clock if it has advanced.
    fn note_clock(&mut self, now: Time) {
        let reported = self.direct.candidate().clock();
        if reported > self.clock.0 {
            self.clock = (reported, now);
        }
    }

    /// Estimate of the voters' clock: the last reported value, advanced by the milliseconds since then. Zero if unknown.
    fn voters_clock(&self, now: Time) -> u64 {
        match self.clock {
            (0, _) => 0,
            (reported, at) => reported + 1 + now.since(at).0 / 1_000_000,
        }
    }

    fn notify_extensions(&mut self) {
        for lock in self.locks.values_mut().filter(|it| it.token.is_some()) {
            let until = self.direct.client().valid_until(lock.request);
            if let Some(until) = until.filter(|until| *until > lock.announced) {
                lock.announced = until;
                let extended = |ticket: &Ticket| Notice::Extended { ticket: *ticket, until };
                self.notices.extend(lock.tickets.iter().map(extended));
            }
        }
    }

    /// Sends a text to one node, which forwards it to the others; returns whether there is a usable node.
    fn describe_anywhere(&mut self, request: RequestId, text: &str) -> bool {
        let usable = |voter: &ProcessId| {
            let link = self.voters[voter.index()];
            link.up && !link.silent && !link.leaving
        };
        let Some(voter) = ProcessId::all(self.voters.len()).find(usable) else { return false };
        self.outboxes.entry(voter).or_default().texts.push((request, text.to_owned()));
        true
    }

    /// Xorshift. Its quality suffices: it only spreads beats over time.
    fn random(&mut self) -> u64 {
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        self.jitter
    }
}
