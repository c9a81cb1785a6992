//! One member: voter for others, and candidate for whoever asks through it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use quorate_core::quorum::{AnyCoterie, QuorumSystem};
use quorate_core::{Belief, Effects, LamportClock, Process, ProcessId, ProcessSet, Span, Time};

use super::ballot::Ballot;
use super::candidate::{Candidate, Counted};
use super::lease::Pair;
use super::message::{Epoch, Extension, Message, Name, Sign, Ticket};
use super::terms::Terms;

/// One member of a lock service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Locks<K: Name> {
    pub(super) id: ProcessId,
    pub(super) n: usize,
    pub(super) coterie: AnyCoterie,
    pub(super) terms: Terms,
    clock: LamportClock,
    /// Which life of this member it is.
    pub(super) life: u64,
    /// Whom the detector takes for crashed: asked last.
    pub(super) suspected: ProcessSet,
    /// By member.
    pub(super) pairs: Vec<Pair>,
    pub(super) ballots: BTreeMap<K, Ballot>,
    /// Locks that nobody has used for a while have come so far at most.
    pub(super) floor: u64,
    /// So many ballots are kept whether anybody uses them or not.
    pub(super) keeps: usize,
    /// With more ballots than this, those are forgotten that nobody uses.
    pub(super) roomy: usize,
    /// No vote may have a greater number: so much is known to outlive a crash.
    pub(super) ceiling: u64,
    /// Whether a higher ceiling was asked for.
    pub(super) reserving: bool,
    /// Locks whose vote waits for a higher ceiling.
    pub(super) held_up: Vec<K>,
    /// After it has forgotten everything: why it does not vote.
    pub(super) abstains: Option<Abstains>,
    candidates: BTreeMap<Ticket, Candidate<K>>,
    /// Requests that have moved to another member.
    handed_over: BTreeSet<Ticket>,
}

/// Why a member does not vote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Abstains {
    /// Somebody may rely on a vote that it has forgotten. Whether it knows at least how far it had come.
    Waiting { knows: bool },
    /// It does not know how far it had come: so far, as those have told it.
    Asking(ProcessSet, u64),
}

/// What is asked of a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command<K> {
    /// A request for a lock.
    Acquire {
        /// Which.
        lock: K,
        /// Whose.
        session: u128,
        /// Which one of that session's: never the same again.
        number: u64,
    },
    /// It has left, or does not want in any more.
    Release(Ticket),
    /// The member itself ends a request whose client may still rely on the lock.
    Abandon(Ticket),
    /// Somebody who may do so wants a request of another member to lose the lock.
    Expel {
        /// Which lock.
        lock: K,
        /// Whose request.
        ticket: Ticket,
        /// Through which member it has come.
        home: ProcessId,
    },
    /// Numbers up to this one will be remembered whatever happens.
    Reserved(u64),
    /// A request goes to another member, since this one leaves: it asks for no more locks, and says no more that it is alive.
    HandOver(Ticket),
    /// A request comes from another member that leaves.
    TakeOver {
        /// Which lock.
        lock: K,
        /// Which request.
        ticket: Ticket,
        /// The number with which it has the lock, if it has.
        token: Option<u64>,
        /// How often it has moved, this time included.
        moved: u32,
    },
}

/// What a member tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output<K> {
    /// A request is in the queues under this ticket.
    Queued(Ticket),
    /// A request has the lock, for as long as [`Locks::deadline`] says.
    Granted {
        /// Which lock.
        lock: K,
        /// Whose request.
        ticket: Ticket,
        /// Greater than any before.
        token: u64,
    },
    /// A request has lost the lock.
    Lost {
        /// Which lock.
        lock: K,
        /// Whose request.
        ticket: Ticket,
        /// Whether because somebody wanted so, and not because too few could be heard.
        expelled: bool,
    },
    /// Numbers up to this one should outlive a crash.
    Reserve(u64),
    /// A request waits behind others; in this voter's queue it is so far back, the first being 1.
    Behind(Ticket, u32),
}

/// A command that makes no sense. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// There is no such request here.
    #[error("there is no such request here")]
    Unknown,
}

/// What a member waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// To say that it is alive, and ask again.
    Beat,
    /// For what it lent to this one to lapse.
    Lapse(ProcessId),
    /// For what this one lent it to run out.
    RunOut(ProcessId),
    /// Until nobody relies on what it has forgotten.
    Abstention,
}

/// So many ballots are kept if nobody says otherwise: a voter that remembers a lock need not be told how far the others
/// have come with it.
const BALLOTS: usize = 8192;

/// So many numbers are reserved at a time.
pub(super) const BLOCK: u64 = 1 << 20;

impl<K: Name> Locks<K> {
    /// Member `id` of a coterie. Numbers above the ceiling wait until they are reserved.
    pub fn new(id: ProcessId, coterie: AnyCoterie, terms: Terms) -> Self {
        let n = coterie.processes();
        Self {
            id,
            n,
            coterie,
            terms,
            clock: LamportClock::default(),
            life: 0,
            suspected: ProcessSet::new(),
            pairs: alloc::vec![Pair::default(); n],
            ballots: BTreeMap::new(),
            floor: 0,
            keeps: BALLOTS,
            roomy: BALLOTS,
            ceiling: u64::MAX,
            reserving: false,
            held_up: Vec::new(),
            abstains: None,
            candidates: BTreeMap::new(),
            handed_over: BTreeSet::new(),
        }
    }

    /// The same in a later life, which has forgotten its votes and knows from its disk, if it has one, that no number was
    /// above this.
    #[must_use]
    pub fn born_again(mut self, life: u64, mark: Option<u64>) -> Self {
        self.life = life;
        self.floor = mark.unwrap_or(0);
        self.abstains = Some(Abstains::Waiting { knows: mark.is_some() });
        self
    }

    /// The same, which forgets locks that nobody uses as soon as it knows more than so many.
    #[must_use]
    pub fn remembering(mut self, ballots: usize) -> Self {
        (self.keeps, self.roomy) = (ballots, ballots);
        self
    }

    /// The same with a disk that remembers numbers up to this one.
    #[must_use]
    pub fn with_ceiling(mut self, ceiling: u64) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// How a lock stands as far as this voter knows.
    pub fn ballot(&self, lock: &K) -> Option<&Ballot> {
        self.ballots.get(lock)
    }

    /// How far this voter has come with a lock; none if it has forgotten and does not vote.
    pub fn counter(&self, lock: &K) -> Option<u64> {
        let known = self.ballots.get(lock).map_or(self.floor, |ballot| ballot.counter);
        self.abstains.is_none().then_some(known)
    }

    /// All locks that this voter has heard of, as far as it knows.
    pub fn ballots(&self) -> impl Iterator<Item = (&K, &Ballot)> {
        self.ballots.iter()
    }

    /// All requests that have come through this member.
    pub fn candidates(&self) -> impl Iterator<Item = (Ticket, &Candidate<K>)> {
        self.candidates.iter().map(|(ticket, candidate)| (*ticket, candidate))
    }

    /// A request that has come through this member.
    pub fn candidate(&self, ticket: Ticket) -> Option<&Candidate<K>> {
        self.candidates.get(&ticket)
    }

    /// Whether it votes.
    pub fn is_voting(&self) -> bool {
        self.abstains.is_none()
    }

    /// Whom the detector takes for crashed.
    pub fn suspected(&self) -> &ProcessSet {
        &self.suspected
    }

    /// Whether a quorum of members is not suspected.
    pub fn has_quorum(&self) -> bool {
        self.is_quorum(&(&ProcessSet::all(self.n) - &self.suspected))
    }

    /// Until when, by this member's clock, a request may rely on having the lock: at most as long as leases are, for that
    /// is how long this member itself would keep quiet if it forgot.
    pub fn deadline(&self, ticket: Ticket, now: Time) -> Option<Time> {
        let candidate = self.candidates.get(&ticket).filter(|candidate| candidate.inside)?;
        // Any vote for the request counts, whatever its number. The voters that had come as far as the token when the
        // request entered go back no further, so that later tokens are greater.
        let votes = candidate.votes.iter().filter(|vote| !vote.yielded);
        let mut until: Vec<(Time, ProcessId)> =
            votes.map(|vote| (self.until(vote.voter, vote.epoch, now), vote.voter)).collect();
        until.sort_unstable();
        let mut left: ProcessSet = until.iter().map(|(_, voter)| *voter).collect();
        // The first vote without which too few are left decides.
        for (time, voter) in until {
            left.remove(voter);
            if !self.is_quorum(&left) {
                return Some(time);
            }
        }
        None
    }

    /// Until when a vote on this lease counts.
    fn until(&self, voter: ProcessId, epoch: Epoch, now: Time) -> Time {
        match voter == self.id {
            true => now + self.terms.reliance(),
            false => self.pairs[voter.index()].held.until(epoch),
        }
    }

    /// Whether these are enough.
    pub fn is_quorum(&self, members: &ProcessSet) -> bool {
        let others = &ProcessSet::all(self.n) - members;
        match &self.coterie {
            AnyCoterie::Majority(_) => members.len() * 2 > self.n,
            coterie => members.iter().any(|member| {
                coterie.quorum(member, &others).is_some_and(|quorum| quorum.is_subset(members))
            }),
        }
    }

    fn sign(&self, now: Time) -> Sign {
        Sign { life: self.life, sent: now }
    }

    /// Asks whom it has not asked yet.
    fn ask(&mut self, ticket: Ticket, out: &mut Effects<Self>) {
        let sign = self.sign(out.now());
        let Some(candidate) = self.candidates.get(&ticket) else { return };
        let voters = self.voters_of(&candidate.lock);
        let Some(candidate) = self.candidates.get_mut(&ticket) else { return };
        for voter in &(&voters - &candidate.asked) {
            candidate.asked.insert(voter);
            let (lock, moved) = (candidate.lock.clone(), candidate.moved);
            out.send(voter, Message::Request(lock, ticket, sign, moved));
        }
    }

    /// Asks those again whose votes are not here or have run out, or who have not come far enough.
    fn ask_again(&self, out: &mut Effects<Self>) {
        let (now, sign) = (out.now(), self.sign(out.now()));
        let wanted = self.candidates.iter().filter(|(_, candidate)| candidate.lost.is_none());
        for (ticket, candidate) in wanted {
            let votes = |voter| candidate.votes.iter().find(|vote| vote.voter == voter);
            for voter in &candidate.asked {
                let lock = || candidate.lock.clone();
                match (votes(voter).filter(|vote| self.is_good(vote, now)), candidate.token) {
                    (None, _) => {
                        out.send(voter, Message::Request(lock(), *ticket, sign, candidate.moved));
                    }
                    (Some(vote), Some(token)) if vote.counter < token => {
                        out.send(voter, Message::Raise(lock(), *ticket, token));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Whether a vote counts.
    fn is_good(&self, vote: &Counted, now: Time) -> bool {
        !vote.yielded && self.until(vote.voter, vote.epoch, now) > now
    }

    /// Looks whether a request has votes enough.
    fn advance(&mut self, ticket: Ticket, out: &mut Effects<Self>) {
        let now = out.now();
        let Some(candidate) = self.candidates.get(&ticket) else { return };
        let good = candidate.votes.iter().filter(|vote| self.is_good(vote, now));
        let good: Vec<Counted> = good.copied().collect();
        let reached = |token: u64| -> ProcessSet {
            good.iter().filter(|vote| vote.counter >= token).map(|vote| vote.voter).collect()
        };
        let quorum = self.is_quorum(&reached(0));
        // Had another request been inside since, one voter of every quorum would have given a greater number after it.
        let same = |vote: &&Counted| candidate.resumes.is_some_and(|token| vote.number <= token);
        let same: ProcessSet = good.iter().filter(same).map(|vote| vote.voter).collect();
        let unbroken = candidate.resumes.is_none() || self.is_quorum(&same);
        match candidate.resumes {
            _ if candidate.lost.is_some() => return,
            _ if candidate.inside && !quorum => return self.lose(ticket, false, out),
            Some(_) if candidate.elsewhere < now => return self.lose(ticket, false, out),
            Some(token) if quorum => return self.enter(ticket, (token, unbroken), out),
            None if quorum && !candidate.inside => {}
            _ => return,
        }
        // The votes may be others than when it last looked: others may have been inside meanwhile.
        let token = good.iter().map(|vote| vote.counter).max().unwrap_or(0);
        if candidate.token != Some(token) {
            let lock = candidate.lock.clone();
            for vote in good.iter().filter(|vote| vote.counter < token) {
                out.send(vote.voter, Message::Raise(lock.clone(), ticket, token));
            }
        }
        let enough = self.is_quorum(&reached(token));
        self.candidates.entry(ticket).and_modify(|candidate| candidate.token = Some(token));
        if enough {
            self.enter(ticket, (token, true), out);
        }
    }

    fn enter(&mut self, ticket: Ticket, (token, unbroken): (u64, bool), out: &mut Effects<Self>) {
        let Some(candidate) = self.candidates.get_mut(&ticket) else { return };
        (candidate.token, candidate.resumes, candidate.inside) = (Some(token), None, true);
        candidate.unbroken = unbroken;
        out.output(Output::Granted { lock: candidate.lock.clone(), ticket, token });
    }

    /// The lock is lost as far as this member knows. Its client may not have heard so, and relies on it until the end of
    /// what it was told last, here or by the member that it came from: the votes do not go back before.
    fn lose(&mut self, ticket: Ticket, expelled: bool, out: &mut Effects<Self>) {
        let here = self.deadline(ticket, out.now()).unwrap_or(Time::ZERO);
        let Some(candidate) = self.candidates.get_mut(&ticket) else { return };
        let until = here.max(candidate.elsewhere);
        let lock = candidate.lock.clone();
        (candidate.inside, candidate.resumes, candidate.lost) = (false, None, Some(until));
        if until <= out.now() {
            self.withdraw(ticket, out);
        }
        out.output(Output::Lost { lock, ticket, expelled });
    }

    /// Forgets a request and tells all that were asked.
    fn withdraw(&mut self, ticket: Ticket, out: &mut Effects<Self>) -> Option<K> {
        let candidate = self.candidates.remove(&ticket)?;
        for voter in &candidate.asked {
            out.send(voter, Message::Release(candidate.lock.clone(), ticket));
        }
        Some(candidate.lock)
    }

    /// A vote counts as long as its voter says so.
    fn on_extended(&mut self, voter: ProcessId, extension: Extension, out: &mut Effects<Self>) {
        if voter == self.id {
            return;
        }
        let held = &mut self.pairs[voter.index()].held;
        let void = held.extend(extension, self.terms);
        if !held.watched {
            held.watched = true;
            let (timer, until) = (Timer::RunOut(voter), held.runs_out());
            out.set_timer(timer, until.since(out.now()) + Span(1));
        }
        if void {
            self.look_again(voter, out);
        }
    }

    /// What a voter has lent is no longer what it was.
    fn look_again(&mut self, voter: ProcessId, out: &mut Effects<Self>) {
        let hang_on_it = self.candidates.iter().filter(|(_, c)| c.has_vote_of(voter));
        let hang_on_it: Vec<Ticket> = hang_on_it.map(|(ticket, _)| *ticket).collect();
        for ticket in hang_on_it {
            self.advance(ticket, out);
        }
    }

    fn on_run_out(&mut self, voter: ProcessId, out: &mut Effects<Self>) {
        let now = out.now();
        let held = &mut self.pairs[voter.index()].held;
        let until = held.runs_out();
        if until >= now {
            return out.set_timer(Timer::RunOut(voter), until.since(now) + Span(1));
        }
        held.watched = false;
        self.look_again(voter, out);
    }

    fn on_vote(&mut self, lock: K, ticket: Ticket, vote: Counted, out: &mut Effects<Self>) {
        match self.candidates.get_mut(&ticket) {
            // Word of that was lost.
            Some(candidate) if candidate.has_given_back(vote) => {
                out.send(vote.voter, Message::Yield(lock, ticket, vote.number));
            }
            Some(candidate) if candidate.lock == lock => {
                candidate.count(vote);
                // A new voter of one who is inside has to catch up.
                if let Some(token) = candidate.token().filter(|token| *token > vote.counter) {
                    out.send(vote.voter, Message::Raise(lock, ticket, token));
                }
                self.advance(ticket, out);
            }
            _ => self.disown(vote.voter, lock, ticket, out),
        }
    }

    /// A voter asks about a request that is not here. If that may be because it was forgotten, somebody may still rely on
    /// the vote, and it has to lapse.
    fn disown(&self, voter: ProcessId, lock: K, ticket: Ticket, out: &mut Effects<Self>) {
        match self.abstains {
            Some(Abstains::Waiting { .. }) => out.ignored("a request that it may have forgotten"),
            _ if self.handed_over.contains(&ticket) => out.ignored("a request that has moved"),
            _ => out.send(voter, Message::Release(lock, ticket)),
        }
    }

    fn on_inquire(
        &mut self,
        voter: ProcessId,
        lock: K,
        ticket: Ticket,
        (number, epoch): (u64, Epoch),
        out: &mut Effects<Self>,
    ) {
        let Some(candidate) = self.candidates.get_mut(&ticket) else {
            return self.disown(voter, lock, ticket, out);
        };
        if candidate.is_relied_on() {
            return out.ignored("it is inside, and will release");
        }
        candidate.give_back(voter, number, epoch);
        out.send(voter, Message::Yield(lock, ticket, number));
    }

    /// Says that it is alive, and once more what may have been lost.
    fn beat(&mut self, out: &mut Effects<Self>) {
        out.set_timer(Timer::Beat, self.terms.beat());
        // Who has nothing from a voter has nothing to keep: an idle member is quiet.
        let mut voters = ProcessSet::new();
        let wanted = self.candidates.values().filter(|candidate| candidate.lost.is_none());
        wanted.for_each(|candidate| voters.union_with(&candidate.asked));
        voters.remove(self.id);
        let (sign, now) = (self.sign(out.now()), out.now());
        let late = |candidate: &Candidate<K>| candidate.lost.is_some_and(|until| until <= now);
        let late = self.candidates.iter().filter(|(_, candidate)| late(candidate));
        // No client relies on these votes any more.
        for ticket in late.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.withdraw(ticket, out);
        }
        for voter in &voters {
            out.send(voter, Message::Sign(sign));
        }
        self.ask_again(out);
        // A lease that had run out may have been extended. Who is inside loses when its leases run out.
        let has_votes = |(_, candidate): &(&Ticket, &Candidate<K>)| {
            !candidate.inside && (candidate.resumes.is_some() || !candidate.votes.is_empty())
        };
        let hopeful = self.candidates.iter().filter(has_votes);
        let hopeful: Vec<Ticket> = hopeful.map(|(ticket, _)| *ticket).collect();
        hopeful.into_iter().for_each(|ticket| self.advance(ticket, out));
        self.probe(out);
        if let Some(Abstains::Asking(..)) = self.abstains {
            out.send_to_others(Message::HowFar);
        }
    }

    /// Those who have forgotten least say how far they had come: enough of them know of every token.
    fn on_so_far(&mut self, from: ProcessId, counter: u64, out: &mut Effects<Self>) {
        let Some(Abstains::Asking(told, most)) = &mut self.abstains else {
            return out.ignored("it knows how far it had come");
        };
        told.insert(from);
        *most = counter.max(*most);
        let (told, most) = (told.clone(), *most);
        if self.is_quorum(&told) {
            self.floor = self.floor.max(most);
            self.abstains = None;
        }
    }

    fn on_abstention_over(&mut self, out: &mut Effects<Self>) {
        if self.abstains.take() == Some(Abstains::Waiting { knows: false }) {
            self.abstains = Some(Abstains::Asking(ProcessSet::new(), 0));
            out.send_to_others(Message::HowFar);
        }
    }
}

impl<K: Name> Process for Locks<K> {
    type Command = Command<K>;
    type Message = Message<K>;
    type Timer = Timer;
    type Output = Output<K>;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        if self.abstains.is_some() {
            out.set_timer(Timer::Abstention, self.terms.abstention());
        }
        self.beat(out);
    }

    fn on_command(&mut self, command: Command<K>, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Acquire { lock, session, number } => {
                let ticket = Ticket { stamp: self.clock.tick(), session, number };
                self.candidates.insert(ticket, Candidate::new(lock));
                out.output(Output::Queued(ticket));
                self.ask(ticket, out);
            }
            Command::Release(ticket) => {
                self.withdraw(ticket, out).ok_or(Misuse::Unknown)?;
            }
            Command::Abandon(ticket) => match self.candidates.get(&ticket) {
                Some(candidate) if candidate.has_lock() => self.lose(ticket, false, out),
                Some(candidate) if candidate.lost.is_some() => {}
                _ => drop(self.withdraw(ticket, out).ok_or(Misuse::Unknown)?),
            },
            Command::Expel { lock, ticket, home } => out.send(home, Message::Expel(lock, ticket)),
            Command::Reserved(ceiling) => self.on_reserved(ceiling, out),
            Command::HandOver(ticket) => {
                self.candidates.remove(&ticket).ok_or(Misuse::Unknown)?;
                self.handed_over.insert(ticket);
            }
            Command::TakeOver { lock, ticket, token, moved } => {
                self.clock.hear(ticket.stamp);
                // The other member has promised nothing since the request left it, and never longer than a lease.
                let until = out.now() + self.terms.abstention();
                let (resumes, elsewhere) = (token, token.map_or(Time::ZERO, |_| until));
                let candidate = Candidate { resumes, elsewhere, moved, ..Candidate::new(lock) };
                self.candidates.insert(ticket, candidate);
                self.ask(ticket, out);
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message<K>, out: &mut Effects<Self>) {
        if from.index() >= self.n {
            return out.ignored("a stranger");
        }
        match message {
            Message::Sign(sign) => self.on_sign(from, sign, out),
            Message::Extended(extension) => self.on_extended(from, extension, out),
            Message::Request(lock, ticket, sign, moved) => {
                self.clock.hear(ticket.stamp);
                self.on_request(from, lock, ticket, (sign, moved), out);
            }
            Message::Vote(lock, ticket, number, extension) => {
                self.on_extended(from, extension, out);
                let (epoch, yielded) = (extension.epoch, false);
                let vote = Counted { voter: from, epoch, number, counter: number, yielded };
                self.on_vote(lock, ticket, vote, out);
            }
            Message::Inquire(lock, ticket, number, epoch) => {
                self.on_inquire(from, lock, ticket, (number, epoch), out);
            }
            Message::Yield(lock, ticket, number) => self.on_yield(from, lock, ticket, number, out),
            Message::Probe(lock, ticket) => {
                if !self.candidates.contains_key(&ticket) {
                    self.disown(from, lock, ticket, out);
                }
            }
            Message::Release(lock, ticket) => self.on_release(from, lock, ticket, out),
            Message::Raise(lock, ticket, token) => self.on_raise(from, lock, ticket, token, out),
            Message::Raised(_, ticket, token) => {
                let candidate = self.candidates.get_mut(&ticket);
                candidate.into_iter().for_each(|candidate| candidate.raise(from, token));
                self.advance(ticket, out);
            }
            Message::HowFar if self.abstains.is_none() => {
                out.send(from, Message::SoFar(self.furthest()));
            }
            Message::HowFar => out.ignored("it has forgotten itself"),
            Message::Behind(ticket, place) => {
                if self.candidates.get(&ticket).is_some_and(|candidate| !candidate.is_relied_on()) {
                    out.output(Output::Behind(ticket, place));
                }
            }
            Message::SoFar(counter) => self.on_so_far(from, counter, out),
            Message::Expel(_, ticket) => {
                if self.candidates.get(&ticket).is_some_and(Candidate::has_lock) {
                    self.lose(ticket, true, out);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match timer {
            Timer::Beat => self.beat(out),
            Timer::Lapse(member) => self.on_lapse(member, out),
            Timer::RunOut(voter) => self.on_run_out(voter, out),
            Timer::Abstention => self.on_abstention_over(out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(member) => {
                self.suspected.insert(member);
                let tickets: Vec<Ticket> = self.candidates.keys().copied().collect();
                for ticket in tickets {
                    self.ask(ticket, out);
                }
            }
            Belief::Alive(member) => {
                self.suspected.remove(member);
            }
        }
    }

    /// It remembers everything, and its clock has gone on: what has run out meanwhile has.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        if matches!(self.abstains, Some(Abstains::Waiting { .. })) {
            out.set_timer(Timer::Abstention, self.terms.abstention());
        }
        self.beat(out);
        for member in ProcessId::all(self.n) {
            let Pair { lent, held } = self.pairs[member.index()];
            if lent.watched {
                self.on_lapse(member, out);
            }
            if held.watched {
                self.on_run_out(member, out);
            }
        }
    }
}
