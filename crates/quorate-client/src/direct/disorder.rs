//! Drivers in disorder: messages that are late, lost or duplicated, links that go up and down, calls at any time.
//!
//! Pinned digests of everything that the drivers put out notice a change of any rule. They do not say which rule it is; the
//! tests in `tests.rs` do.

use std::fmt::Debug;

use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, Electorate, Memory, Terms, ToCandidate, ToVoter, Voter, VoterEffect, VoterEffects,
};
use quorate_core::quorum::AnyCoterie;
use quorate_core::{Drift, ProcessId, Span, Time};
use quorate_protocol::{Failure, Name};

use super::driver::{Driver, Parameters};
use super::session_lock::Ticket;

const VOTERS: usize = 3;
const SESSIONS: usize = 3;
const SEEDS: u64 = 12;
const INPUTS: usize = 1_500;
const LOCKS: [&str; 3] = ["a", "b", "c"];
const TTL: Span = Span::from_millis(3_000);

fn terms() -> Terms {
    Terms { ttl_least: Span::from_millis(100), ttl_most: TTL, drift: Drift(Drift::ONE / 2_000) }
}

fn electorate() -> Electorate {
    Electorate::new(AnyCoterie::by_name("majority", VOTERS).expect("a coterie"))
}

struct Disorder {
    random: u64,
    now: Time,
    voters: Vec<Voter<Name>>,
    restarts: u64,
    drivers: Vec<Driver>,
    to_voters: Vec<(usize, ProcessId, ToVoter<Name>)>,
    to_drivers: Vec<(usize, ProcessId, ToCandidate<Name>)>,
    tickets: Vec<(usize, Ticket)>,
    last_ticket: Ticket,
    /// FNV-1a of everything that the drivers have put out.
    digest: u64,
}

impl Disorder {
    fn new(seed: u64) -> Self {
        let now = Time(1_000_000_000);
        let driver = |number: usize| {
            let ttl = if number == 2 { Span::from_millis(900) } else { TTL };
            let parameters = Parameters {
                session: number as u128,
                incarnation: seed * 10 + number as u64,
                ttl,
                terms: terms(),
                candidate: CandidateId(number as u64),
                electorate: electorate(),
            };
            let mut driver = Driver::new(parameters, now);
            ProcessId::all(VOTERS).for_each(|voter| driver.up(voter, now));
            driver
        };
        let voter = |id| Voter::new(id, electorate(), terms());
        Self {
            random: seed,
            now,
            voters: ProcessId::all(VOTERS).map(voter).collect(),
            restarts: 0,
            drivers: (0..SESSIONS).map(driver).collect(),
            to_voters: Vec::new(),
            to_drivers: Vec::new(),
            tickets: Vec::new(),
            last_ticket: 0,
            digest: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// A number below `bound` (splitmix64).
    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn add(&mut self, value: &impl Debug) {
        for byte in format!("{value:?}").bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn step(&mut self) {
        let most = if self.below(40) == 0 { 1_500_000_000 } else { 20_000_000 };
        self.now = self.now + Span(self.below(most) as u64);
        match self.below(30) {
            0..=7 => self.deliver_to_voter(),
            8..=15 => self.deliver_to_driver(),
            16..=18 => self.acquire(),
            19..=21 => self.release(),
            22 => self.change_link(),
            23 => self.call(),
            24 => self.disturb_voter(),
            _ => self.wake(),
        }
        for session in 0..SESSIONS {
            self.collect(session);
        }
    }

    /// Takes what a driver has put out.
    fn collect(&mut self, session: usize) {
        let driver = &mut self.drivers[session];
        let (notices, outboxes) = (driver.notices(), driver.outboxes());
        let seen = (driver.next_wake(), driver.deadline(), driver.is_active());
        self.add(&(seen, notices, &outboxes));
        for (voter, outbox) in outboxes {
            let messages = outbox.messages.into_iter();
            self.to_voters.extend(messages.map(|message| (session, voter, message)));
        }
    }

    fn deliver_to_voter(&mut self) {
        for _ in 0..3 {
            if self.to_voters.is_empty() {
                return;
            }
            let most = self.to_voters.len();
            let index = self.below(most.min(6));
            let (session, voter, message) = match self.below(8) {
                0 => self.to_voters[index].clone(),
                _ => self.to_voters.remove(index),
            };
            if self.below(20) > 0 {
                let (from, now) = (CandidateId(session as u64), self.now);
                self.vote(voter, |it, out| it.on_message(from, message, now, out));
            }
        }
    }

    fn vote(
        &mut self,
        voter: ProcessId,
        input: impl FnOnce(&mut Voter<Name>, &mut VoterEffects<Name>),
    ) {
        let mut out = Vec::new();
        input(&mut self.voters[voter.index()], &mut out);
        for effect in out {
            if let VoterEffect::Send(CandidateId(session), message) = effect {
                self.to_drivers.push((session as usize, voter, message));
            }
        }
    }

    fn deliver_to_driver(&mut self) {
        if self.to_drivers.is_empty() {
            return;
        }
        let most = self.to_drivers.len();
        let index = self.below(most.min(4));
        let (session, voter, _) = self.to_drivers[index];
        let count = 1 + self.below(4);
        let mut batch = Vec::new();
        self.to_drivers.retain(|(of, from, message)| {
            let taken = (*of, *from) == (session, voter) && batch.len() < count;
            if taken {
                batch.push(message.clone());
            }
            !taken
        });
        let (now, driver) = (self.now, &mut self.drivers[session]);
        driver.wake(now);
        driver.on_messages(voter, batch, now);
    }

    fn acquire(&mut self) {
        let (session, lock) = (self.below(SESSIONS), LOCKS[self.below(LOCKS.len())]);
        let (only_if_free, described) = (self.below(3) == 0, self.below(3) == 0);
        self.last_ticket += 1;
        let (ticket, now) = (self.last_ticket, self.now);
        let why = if described { "work".to_owned() } else { String::new() };
        let name = Name::lock(lock).expect("a name");
        self.drivers[session].acquire(ticket, name, only_if_free, why, now);
        self.tickets.push((session, ticket));
    }

    /// One of the last calls or guards, which may have ended.
    fn any_ticket(&mut self) -> Option<(usize, Ticket)> {
        let most = self.tickets.len().min(8);
        let index = (most > 0).then(|| self.tickets.len() - 1 - self.below(most))?;
        Some(self.tickets[index])
    }

    fn release(&mut self) {
        if let Some((session, ticket)) = self.any_ticket() {
            let now = self.now;
            self.drivers[session].release(ticket, now);
        }
    }

    fn change_link(&mut self) {
        let (session, voter) = (self.below(SESSIONS), ProcessId::from_index(self.below(VOTERS)));
        let (kind, now, driver) = (self.below(6), self.now, &mut self.drivers[session]);
        match kind {
            0 | 1 => driver.down(voter, now),
            2 => driver.leaving(voter, now),
            _ => driver.up(voter, now),
        }
    }

    fn call(&mut self) {
        let Some((session, ticket)) = self.any_ticket() else { return };
        let (kind, number, now) = (self.below(6), self.below(20) as u64, self.now);
        let driver = &mut self.drivers[session];
        match kind {
            0..=2 => {
                let described = driver.describe(ticket, format!("step {number}"));
                self.add(&described);
            }
            3 => driver.expire(ticket, now),
            4 => driver.refused(number, Failure::NotAllowed("no".to_owned()), now),
            _ if number == 0 => driver.end(now),
            _ => {}
        }
    }

    /// A voter ends a request by force, or restarts without its votes.
    fn disturb_voter(&mut self) {
        let voter = ProcessId::from_index(self.below(VOTERS));
        if self.below(6) == 0 {
            self.restarts += 1;
            let memory = Memory { incarnation: self.restarts, mark: Some(self.restarts * 50) };
            let new = Voter::new(voter, electorate(), terms());
            self.voters[voter.index()] = new.forgotten(memory, self.now);
            return;
        }
        let lock = Name::lock(LOCKS[self.below(LOCKS.len())]).expect("a name");
        let vote =
            self.voters[voter.index()].ballot(&lock).and_then(|ballot| ballot.vote().copied());
        let Some(vote) = vote else { return };
        for voter in ProcessId::all(VOTERS) {
            self.vote(voter, |it, out| _ = it.force(&lock, vote.claim.request, out));
        }
    }

    fn wake(&mut self) {
        let now = self.now;
        self.drivers.iter_mut().for_each(|driver| driver.wake(now));
        for voter in ProcessId::all(VOTERS) {
            self.vote(voter, |it, out| {
                it.set_wall_clock(now.0 / 1_000_000);
                it.wake(now, out);
            });
        }
    }
}

#[test]
fn in_disorder() {
    let mut row = Vec::new();
    for seed in 0..SEEDS {
        let mut disorder = Disorder::new(seed);
        (0..INPUTS).for_each(|_| disorder.step());
        row.push(format!("{seed}:{:04x}", (disorder.digest >> 32 ^ disorder.digest) & 0xffff));
    }
    insta::assert_snapshot!(row.join(" "));
}
