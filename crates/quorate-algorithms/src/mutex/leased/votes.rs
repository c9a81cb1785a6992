//! A member as a voter.

use quorate_core::{Effects, ProcessId};

use super::ballot::{Ballot, Home, Vote};
use super::member::{BLOCK, Locks, Output, Timer};
use super::message::{Epoch, Extension, Message, Name, Sign, Ticket};

impl<K: Name> Locks<K> {
    /// Lends to a member that shows that it is alive; none if it may not have anything yet.
    fn lend(
        &mut self,
        member: ProcessId,
        sign: Sign,
        out: &mut Effects<Self>,
    ) -> Option<Extension> {
        let (life, now, terms) = (self.life, out.now(), self.terms);
        if member == self.id {
            return Some(Extension { epoch: Default::default(), echo: now });
        }
        if self.abstains.is_some() {
            out.ignored("it has forgotten its votes, and does not vote yet");
            return None;
        }
        let lent = &mut self.pairs[member.index()].lent;
        if lent.lapses().is_some_and(|lapses| lapses <= now) {
            self.on_lapse(member, out);
        }
        let lent = &mut self.pairs[member.index()].lent;
        let extension = lent.extend(sign, life, now, terms);
        match extension {
            None => out.ignored("an earlier life of it may still rely on a vote"),
            Some(_) if !lent.watched => {
                lent.watched = true;
                out.set_timer(Timer::Lapse(member), terms.lease);
            }
            Some(_) => {}
        }
        extension
    }

    pub(super) fn on_sign(&mut self, from: ProcessId, sign: Sign, out: &mut Effects<Self>) {
        if let Some(extension) = self.lend(from, sign, out) {
            out.send(from, Message::Extended(extension));
        }
    }

    /// A lease may have lapsed: then all that hung on it is free.
    pub(super) fn on_lapse(&mut self, member: ProcessId, out: &mut Effects<Self>) {
        let now = out.now();
        let lent = &mut self.pairs[member.index()].lent;
        match lent.lapses() {
            Some(lapses) if lapses > now => {
                out.set_timer(Timer::Lapse(member), lapses.since(now));
            }
            _ => {
                (lent.watched, _) = (false, lent.end());
                let ballots = self.ballots.iter_mut();
                let free = ballots.filter_map(|(lock, ballot)| {
                    ballot.remove_all_of(member).then(|| lock.clone())
                });
                let free: alloc::vec::Vec<K> = free.collect();
                free.into_iter().for_each(|lock| self.vote(lock, out));
            }
        }
    }

    pub(super) fn on_request(
        &mut self,
        from: ProcessId,
        lock: K,
        ticket: Ticket,
        (sign, moved): (Sign, u32),
        out: &mut Effects<Self>,
    ) {
        let Some(extension) = self.lend(from, sign, out) else { return };
        if self.abstains.is_some() {
            return out.ignored("it has forgotten its votes, and does not vote yet");
        }
        let floor = self.floor;
        let ballot = self.ballots.entry(lock.clone()).or_insert_with(|| Ballot::new(floor));
        let home = Home { member: from, moved };
        let known = ballot.vote.filter(|vote| vote.ticket == ticket).map(|vote| vote.moved);
        let known = known.or_else(|| ballot.queue.get(&ticket).map(|home| home.moved));
        if known.is_some_and(|known| known > moved) {
            return out.ignored("a request that has moved on");
        }
        match &mut ballot.vote {
            Some(vote) if vote.ticket == ticket => {
                (vote.home, vote.moved) = (from, moved);
                out.send(from, Message::Vote(lock, ticket, vote.number, extension));
            }
            Some(_) => {
                ballot.queue.insert(ticket, home);
                let place = ballot.queue.range(..=ticket).count() as u32;
                out.send(from, Message::Behind(ticket, place));
                self.inquire(lock, out);
            }
            None => {
                ballot.queue.insert(ticket, home);
                self.vote(lock, out);
            }
        }
    }

    /// The lease that all votes of a member hang on.
    fn epoch_of(&self, home: ProcessId) -> Epoch {
        let lent = self.pairs[home.index()].lent.extension();
        lent.map(|extension| extension.epoch).filter(|_| home != self.id).unwrap_or_default()
    }

    /// Asks for the vote back if an earlier request waits.
    fn inquire(&mut self, lock: K, out: &mut Effects<Self>) {
        if let Some(vote) = self.ballots.get_mut(&lock).and_then(Ballot::asks_back) {
            let epoch = self.epoch_of(vote.home);
            out.send(vote.home, Message::Inquire(lock, vote.ticket, vote.number, epoch));
        }
    }

    /// The vote is free: whoever is first gets it.
    pub(super) fn vote(&mut self, lock: K, out: &mut Effects<Self>) {
        let (id, now, ceiling) = (self.id, out.now(), self.ceiling);
        let Some(ballot) = self.ballots.get_mut(&lock) else { return };
        if ballot.vote.is_some() {
            return;
        }
        if ballot.queue.is_empty() {
            return self.forget_idle();
        }
        if ballot.counter >= ceiling {
            // All that it needs at once: what is on the disk must never be less than what was used.
            let reached = ballot.counter;
            self.held_up.push(lock);
            return self.reserve(reached, out);
        }
        let Some((ticket, Home { member: home, moved })) = ballot.queue.pop_first() else { return };
        ballot.counter += 1;
        let number = ballot.counter;
        ballot.vote = Some(Vote { ticket, home, moved, number, inquired: false });
        let own = Extension { epoch: Default::default(), echo: now };
        let lent = self.pairs[home.index()].lent.extension();
        let extension = if home == id { Some(own) } else { lent };
        if let Some(extension) = extension {
            out.send(home, Message::Vote(lock, ticket, number, extension));
        }
        // Long before there is no room left.
        if ceiling - number < BLOCK / 2 {
            self.reserve(number, out);
        }
    }

    fn reserve(&mut self, reached: u64, out: &mut Effects<Self>) {
        if !self.reserving && self.ceiling < u64::MAX {
            self.reserving = true;
            out.output(Output::Reserve(reached.max(self.ceiling).saturating_add(BLOCK)));
        }
    }

    pub(super) fn on_reserved(&mut self, ceiling: u64, out: &mut Effects<Self>) {
        self.ceiling = self.ceiling.max(ceiling);
        self.reserving = false;
        for lock in core::mem::take(&mut self.held_up) {
            self.vote(lock, out);
        }
    }

    pub(super) fn on_release(
        &mut self,
        from: ProcessId,
        lock: K,
        ticket: Ticket,
        out: &mut Effects<Self>,
    ) {
        let Some(ballot) = self.ballots.get_mut(&lock) else { return };
        if ballot.remove(ticket, from) {
            self.vote(lock, out);
        }
    }

    pub(super) fn on_yield(
        &mut self,
        from: ProcessId,
        lock: K,
        ticket: Ticket,
        number: u64,
        out: &mut Effects<Self>,
    ) {
        let Some(ballot) = self.ballots.get_mut(&lock) else { return };
        let given = ballot.vote.filter(|vote| vote.number == number);
        let Some(vote) = given.filter(|_| ballot.has(ticket, from)) else {
            return out.ignored("a vote that is somebody else's by now");
        };
        ballot.vote = None;
        ballot.queue.insert(ticket, Home { member: from, moved: vote.moved });
        self.vote(lock, out);
    }

    pub(super) fn on_raise(
        &mut self,
        from: ProcessId,
        lock: K,
        ticket: Ticket,
        token: u64,
        out: &mut Effects<Self>,
    ) {
        let ceiling = self.ceiling;
        let Some(ballot) = self.ballots.get_mut(&lock) else { return };
        if !ballot.has(ticket, from) {
            return out.ignored("its vote is somebody else's by now");
        }
        if token > ceiling {
            // It asks again.
            return self.reserve(token, out);
        }
        ballot.counter = ballot.counter.max(token);
        out.send(from, Message::Raised(lock, ticket, token));
    }

    /// Asks holders of votes that others wait for whether they still need them: word of a release may have been lost.
    pub(super) fn probe(&self, out: &mut Effects<Self>) {
        for (lock, ballot) in &self.ballots {
            let (Some(vote), Some((first, _))) = (ballot.vote, ballot.queue.first_key_value())
            else {
                continue;
            };
            let (lock, epoch) = (lock.clone(), self.epoch_of(vote.home));
            let ask = match *first < vote.ticket {
                true => Message::Inquire(lock, vote.ticket, vote.number, epoch),
                false => Message::Probe(lock, vote.ticket),
            };
            out.send(vote.home, ask);
        }
    }

    /// If there are many ballots, forgets those that nobody uses. Whoever asks for such a lock next begins where the
    /// furthest of them was.
    fn forget_idle(&mut self) {
        if self.ballots.len() <= self.roomy {
            return;
        }
        let floor = &mut self.floor;
        self.ballots.retain(|_, ballot| {
            let used = ballot.vote.is_some() || !ballot.queue.is_empty();
            if !used {
                *floor = ballot.counter.max(*floor);
            }
            used
        });
        // Looking through them all takes time: not again before there are twice as many.
        self.roomy = self.keeps.max(2 * self.ballots.len());
    }

    /// How far it has come with any lock.
    pub(super) fn furthest(&self) -> u64 {
        let ballots = self.ballots.values().map(|ballot| ballot.counter);
        ballots.fold(self.floor, u64::max)
    }
}
