//! Clients: what each relies on by its own clock, whatever members say.

use super::*;

impl Storm {
    /// A request of a new client.
    pub(super) fn open(&mut self, at: usize, ticket: Ticket) {
        let (life, clock) = (self.members[at].life, Clock::any(&mut self.chance));
        let locks = self.members[at].locks.as_ref();
        let lock = *locks.and_then(|locks| locks.candidate(ticket)).expect("it was queued").lock();
        let ttl = Span(LEASE / 2 + self.chance.below(3 * LEASE));
        let heard = (self.members[at].clock.shows(self.now), clock.shows(self.now));
        let (relies, stopped, home, token, over) = (None, false, (at, life), None, false);
        let calls = at;
        let client = Client { lock, clock, ttl, relies, stopped, calls, home, heard, token, over };
        self.clients.insert(ticket, client);
        self.waiting.insert(ticket, (at, life, lock));
        self.plan(self.now, Event::Call(ticket));
        self.look_for_expiry(at, ticket);
    }

    pub(super) fn look_for_expiry(&mut self, at: usize, ticket: Ticket) {
        let client = &self.clients[&ticket];
        let (clock, life) = (self.members[at].clock, client.home.1);
        let left = (client.heard.0 + client.ttl).since(clock.shows(self.now));
        let time = self.now + clock.truly(left.0) + 1;
        self.plan(time, Event::Expire { at, life, ticket });
    }

    /// Whether this life of this member has the session of a request, and what it has or wants.
    pub(super) fn is_home(&self, at: usize, life: u64, ticket: Ticket) -> bool {
        let member = &self.members[at];
        let up = member.life == life && member.locks.is_some() && !member.departed;
        let client = &self.clients[&ticket];
        up && client.home == (at, life) && !client.over
    }

    /// What the home knows: the lock may be relied on until the votes or the session run out, counted from when the client
    /// sent the keep-alive that the home has heard.
    pub(super) fn answer(&self, at: usize, ticket: Ticket) -> Answer {
        let (client, member) = (&self.clients[&ticket], &self.members[at]);
        let Some(token) = client.token else { return Answer::Waits };
        let locks = member.locks.as_ref().expect("it is up");
        let until = locks.deadline(ticket, member.clock.shows(self.now)).map(|deadline| {
            let end = deadline.min(client.heard.0 + client.ttl);
            client.heard.1 + Terms { lease: end.since(client.heard.0), ..TERMS }.reliance()
        });
        let unbroken = locks.candidate(ticket).is_some_and(|it| it.is_unbroken());
        Answer::Holds(token, until, unbroken)
    }

    /// Whether a message between a client and its home arrives, and when.
    pub(super) fn way(&mut self) -> Option<u64> {
        let stormy = self.now < self.calm_from;
        let slow = if stormy && self.chance.one_in(10) { LEASE } else { 4 * MS };
        let lost = stormy && self.chance.one_in(6);
        (!lost).then(|| self.now + self.chance.below(slow))
    }

    pub(super) fn tell_client(&mut self, from: usize, ticket: Ticket, answer: Answer) {
        if let Some(time) = self.way() {
            self.plan(time, Event::Told { from, ticket, answer });
        }
    }

    pub(super) fn call(&mut self, ticket: Ticket) {
        let client = self.clients.get_mut(&ticket).expect("it has asked");
        let ((at, life), sent) = (client.home, client.clock.shows(self.now));
        let (stopped, inside) = (client.stopped, client.relies.is_some());
        let next = self.now + client.ttl.0 / 5;
        client.calls = at;
        if client.over && stopped {
            return;
        }
        self.plan(next, Event::Call(ticket));
        if let Some(time) = self.way() {
            let event = match stopped {
                true => Event::Released { at, life, ticket },
                false => Event::Heard { at, life, ticket, sent, inside },
            };
            self.plan(time, event);
        }
    }

    /// A client hears from a home of its request, perhaps not from the present one.
    pub(super) fn told(&mut self, from: usize, ticket: Ticket, answer: Answer) {
        let (now, client) = (self.now, self.clients.get_mut(&ticket).expect("it has asked"));
        if client.relies.is_some_and(|until| until < now) {
            // A lock that could not be relied on for a moment is lost for good.
            client.stopped = true;
        }
        if client.stopped {
            return;
        }
        match answer {
            Answer::Waits => {}
            Answer::Lost => self.stop(ticket),
            // A client that has asked another member does not enter on the word of the former one.
            Answer::Holds(_, _, unbroken)
                if client.relies.is_none() && !(unbroken && from == client.calls) => {}
            Answer::Holds(token, until, _) => {
                let shown = client.clock.shows(now);
                let left = until.map(|until| until.since(shown)).filter(|left| *left > Span(0));
                let Some(left) = left else { return };
                let until = now + client.clock.truly(left.0);
                if client.relies.is_none() {
                    let before = self.tokens.insert(client.lock, token).unwrap_or(0);
                    assert!(token > before, "token {token} after {before}");
                    // Some hold it long enough for several members to restart.
                    let most = if self.chance.one_in(3) { 4 * LEASE } else { LEASE };
                    let stay = self.chance.below(most);
                    self.plan(now + stay, Event::Leave(ticket));
                }
                let client = self.clients.get_mut(&ticket).expect("it has asked");
                client.relies = client.relies.max(Some(until));
                self.look_for_two(ticket);
            }
        }
    }

    pub(super) fn look_for_two(&self, ticket: Ticket) {
        let (now, lock) = (self.now, self.clients[&ticket].lock);
        let relies = |client: &Client| {
            client.lock == lock && !client.stopped && client.relies.is_some_and(|t| t >= now)
        };
        let rely = self.clients.iter().filter(|(_, client)| relies(client));
        let rely: Vec<&Ticket> = rely.map(|(ticket, _)| ticket).collect();
        assert!(rely.len() < 2, "lock {lock} is relied on by {rely:?} at {now}");
    }

    /// A client relies on the lock no longer, and says so soon.
    pub(super) fn stop(&mut self, ticket: Ticket) {
        let client = self.clients.get_mut(&ticket).expect("it has asked");
        if std::mem::replace(&mut client.stopped, true) {
            return;
        }
        let (at, life) = client.home;
        if let Some(time) = self.way() {
            self.plan(time, Event::Released { at, life, ticket });
        }
    }

    /// The home gives the lock back: the client has said so, or its session has expired.
    pub(super) fn release(&mut self, at: usize, ticket: Ticket) {
        self.waiting.remove(&ticket);
        let client = self.clients.get_mut(&ticket).expect("it has asked");
        (client.token, client.over) = (None, true);
        // The lock may have been lost.
        let release = Command::Release(ticket);
        self.tell(at, |locks, out| _ = locks.on_command(release, out));
    }

    pub(super) fn expel(&mut self, by: usize) {
        let held: Vec<Ticket> =
            self.clients.iter().filter(|(_, it)| it.token.is_some()).map(|(t, _)| *t).collect();
        if held.is_empty() {
            return;
        }
        let ticket = held[self.chance.below(held.len() as u64) as usize];
        let client = &self.clients[&ticket];
        let (lock, home) = (client.lock, ProcessId::new(client.home.0 as u32));
        self.expelled += 1;
        let expel = Command::Expel { lock, ticket, home };
        self.tell(by, |locks, out| locks.on_command(expel, out).expect("one may always ask"));
    }
}
