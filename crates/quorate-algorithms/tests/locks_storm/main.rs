//! Named locks under everything that a network and its machines can do: losses, cuts one way and both ways, pauses, clocks
//! that drift, members that forget, detectors that err. A small world of its own, so that this needs no simulator.

mod clients;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use quorate_algorithms::mutex::leased::{Command, Locks, Message, Output, Terms, Ticket, Timer};
use quorate_core::quorum::AnyCoterie;
use quorate_core::{Belief, Drift, Effect, Effects, Process, ProcessId, Recipients, Span, Time};

const MS: u64 = 1_000_000;
const LEASE: u64 = 200 * MS;
/// Requests are made until then.
const ASKS: u64 = 14 * LEASE;
/// Clocks gain or lose up to a twentieth.
const DRIFT: i64 = Drift::ONE / 20;
const TERMS: Terms = Terms { lease: Span(LEASE), drift: Drift(DRIFT) };

/// Numbers that are as good as random, and the same each time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

type Name = u8;

#[derive(Clone, Debug)]
enum Event {
    Arrive {
        from: usize,
        to: usize,
        lives: (u64, u64),
        message: Message<Name>,
    },
    Fire {
        at: usize,
        life: u64,
        timer: Timer,
        generation: u64,
    },
    Believe {
        at: usize,
        belief: Belief,
    },
    Ask {
        at: usize,
        lock: Name,
    },
    /// A client sends a keep-alive.
    Call(Ticket),
    /// The keep-alive that its client sent at that time, by the client's clock, reaches the home of a request.
    Heard {
        at: usize,
        life: u64,
        ticket: Ticket,
        sent: Time,
        inside: bool,
    },
    /// An answer of that member reaches the client.
    Told {
        from: usize,
        ticket: Ticket,
        answer: Answer,
    },
    /// A client stops of its own accord.
    Leave(Ticket),
    /// The home of a request hears that its client has stopped.
    Released {
        at: usize,
        life: u64,
        ticket: Ticket,
    },
    /// The home of a request looks whether the session has expired.
    Expire {
        at: usize,
        life: u64,
        ticket: Ticket,
    },
    Reserved {
        at: usize,
        life: u64,
        mark: u64,
    },
    Depart(usize),
    End(usize, u64),
    TakeOver {
        at: usize,
        life: u64,
        lock: Name,
        ticket: Ticket,
        token: Option<u64>,
        moved: u32,
    },
    Mishap,
    Cut {
        from: usize,
        to: usize,
        until: u64,
    },
    Resume(usize),
    Return(usize),
}

/// A clock that drifts: what it shows at time zero, and how much it gains.
#[derive(Clone, Copy, Debug)]
struct Clock {
    offset: u64,
    gains: i64,
}

impl Clock {
    fn any(chance: &mut Chance) -> Self {
        let gains = chance.below(2 * DRIFT as u64 + 1) as i64 - DRIFT;
        Self { offset: chance.below(1_000 * MS), gains }
    }

    fn shows(&self, now: u64) -> Time {
        let rate = i128::from(Drift::ONE + self.gains);
        Time(self.offset + (i128::from(now) * rate / i128::from(Drift::ONE)) as u64)
    }

    /// The true duration of a span that this clock measures.
    fn truly(&self, shown: u64) -> u64 {
        let rate = i128::from(Drift::ONE + self.gains);
        (i128::from(shown) * i128::from(Drift::ONE) / rate) as u64
    }
}

struct Member {
    locks: Option<Locks<Name>>,
    life: u64,
    clock: Clock,
    paused: bool,
    /// It has handed all it had to others, and will end.
    departed: bool,
    /// Messages that wait until it goes on.
    backlog: VecDeque<Event>,
    timers: BTreeMap<String, u64>,
    /// State that outlives it.
    mark: u64,
}

/// Answer of a home to its client.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// The request does not have the lock yet.
    Waits,
    /// It has the lock with this token, and may rely on it until then by the client's clock, if that is known. Whether it
    /// may enter, or only go on.
    Holds(u64, Option<Time>, bool),
    /// It has lost the lock.
    Lost,
}

/// A client with one request. Only the client knows whether it relies on the lock: a message that takes the lock away may
/// be late or lost.
struct Client {
    lock: Name,
    clock: Clock,
    ttl: Span,
    /// Until when, truly, it relies on the lock.
    relies: Option<u64>,
    stopped: bool,
    /// The member that it called last.
    calls: usize,
    /// The member that has the session, and which life of it.
    home: (usize, u64),
    /// When the home last heard the client: by the home's clock, and by the client's.
    heard: (Time, Time),
    /// The token with which the home believes that the request has the lock.
    token: Option<u64>,
    /// Whether the home has nothing more to do with the request.
    over: bool,
}

struct Storm {
    chance: Chance,
    now: u64,
    count: u64,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    what: BTreeMap<u64, Event>,
    members: Vec<Member>,
    coterie: AnyCoterie,
    cut: BTreeMap<(usize, usize), u64>,
    last: BTreeMap<(usize, usize), u64>,
    clients: BTreeMap<Ticket, Client>,
    /// The token of the last client that has entered, by lock.
    tokens: BTreeMap<Name, u64>,
    moves: u64,
    expelled: u64,
    waiting: BTreeMap<Ticket, (usize, u64, Name)>,
    grants: u64,
    losses: u64,
    numbers: u64,
    calm_from: u64,
    disks: bool,
}

impl Storm {
    fn new(seed: u64, n: usize, system: &str, disks: bool) -> Self {
        let mut chance = Chance(seed);
        let coterie = AnyCoterie::by_name(system, n).expect("a coterie");
        let mut member = || Member {
            locks: None,
            life: 0,
            clock: Clock::any(&mut chance),
            paused: false,
            departed: false,
            backlog: VecDeque::new(),
            timers: BTreeMap::new(),
            mark: 0,
        };
        let members = (0..n).map(|_| member()).collect();
        let mut storm = Self {
            chance,
            now: 0,
            count: 0,
            events: BinaryHeap::new(),
            what: BTreeMap::new(),
            members,
            coterie,
            cut: BTreeMap::new(),
            last: BTreeMap::new(),
            clients: BTreeMap::new(),
            tokens: BTreeMap::new(),
            moves: 0,
            expelled: 0,
            waiting: BTreeMap::new(),
            grants: 0,
            losses: 0,
            numbers: 0,
            calm_from: 12 * LEASE,
            disks,
        };
        (0..n).for_each(|at| storm.be_born(at));
        for _ in 0..30 {
            let (time, at) = (storm.chance.below(ASKS), storm.chance.below(n as u64));
            let lock = storm.chance.below(2) as Name;
            storm.plan(time, Event::Ask { at: at as usize, lock });
        }
        for _ in 0..25 {
            let time = storm.chance.below(11 * LEASE);
            storm.plan(time, Event::Mishap);
        }
        storm
    }

    fn plan(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((time.max(self.now), self.count)));
        self.what.insert(self.count, event);
    }

    fn be_born(&mut self, at: usize) {
        let member = &mut self.members[at];
        let mut locks = Locks::new(ProcessId::new(at as u32), self.coterie.clone(), TERMS);
        if member.life > 0 {
            locks = locks.born_again(member.life, self.disks.then_some(member.mark));
        }
        if self.disks {
            locks = locks.with_ceiling(member.mark);
        }
        // Some forget every lock as soon as nobody uses it, and some never.
        if at.is_multiple_of(2) {
            locks = locks.remembering(0);
        }
        (member.locks, member.paused, member.departed) = (Some(locks), false, false);
        self.tell(at, |locks, out| locks.on_start(out));
    }

    fn tell(&mut self, at: usize, input: impl FnOnce(&mut Locks<Name>, &mut Effects<Locks<Name>>)) {
        let mut out = Effects::new(self.members[at].clock.shows(self.now));
        let Some(locks) = &mut self.members[at].locks else { return };
        input(locks, &mut out);
        let mut to_self = VecDeque::new();
        loop {
            let effects: Vec<Effect<Locks<Name>>> = out.drain().collect();
            for effect in effects {
                match effect {
                    Effect::Send { to, message } if to.index() == at => to_self.push_back(message),
                    Effect::Send { to, message } => self.send(at, to.index(), message),
                    Effect::Multicast { to: Recipients::Others, message } => {
                        (0..self.members.len())
                            .filter(|other| *other != at)
                            .for_each(|other| self.send(at, other, message.clone()))
                    }
                    Effect::SetTimer { timer, after } => self.set_timer(at, timer, after),
                    Effect::Output(output) => self.hear(at, output),
                    Effect::Ignored(_) => {}
                    other => panic!("{other:?} was not expected"),
                }
            }
            let Some(message) = to_self.pop_front() else { break };
            let locks = self.members[at].locks.as_mut().expect("it is up");
            locks.on_message(ProcessId::new(at as u32), message, &mut out);
        }
    }

    fn set_timer(&mut self, at: usize, timer: Timer, after: Span) {
        self.count += 1;
        let generation = self.count;
        let member = &mut self.members[at];
        member.timers.insert(format!("{timer:?}"), generation);
        let (time, life) = (self.now + member.clock.truly(after.0) + 1, member.life);
        self.plan(time, Event::Fire { at, life, timer, generation });
    }

    fn send(&mut self, from: usize, to: usize, message: Message<Name>) {
        let stormy = self.now < self.calm_from;
        if self.cut.get(&(from, to)).is_some_and(|until| *until > self.now)
            || (stormy && self.chance.one_in(12))
        {
            return;
        }
        let slow = if stormy && self.chance.one_in(20) { LEASE } else { 4 * MS };
        let time = self.now + self.chance.below(slow);
        let last = self.last.entry((from, to)).or_default();
        *last = time.max(*last);
        let time = *last;
        let lives = (self.members[from].life, self.members[to].life);
        self.plan(time, Event::Arrive { from, to, lives, message });
    }

    fn hear(&mut self, at: usize, output: Output<Name>) {
        let life = self.members[at].life;
        match output {
            Output::Queued(ticket) => self.open(at, ticket),
            Output::Granted { ticket, token, .. } => {
                let client = self.clients.get_mut(&ticket).expect("it was queued");
                match client.token {
                    // A request that has moved keeps the token that its client knows.
                    Some(had) => {
                        assert_eq!(had, token, "another token for the same request");
                        self.moves += 1;
                    }
                    None => {
                        self.grants += 1;
                        assert!(self.waiting.remove(&ticket).is_some(), "granted twice");
                    }
                }
                client.token = Some(token);
                let answer = self.answer(at, ticket);
                self.tell_client(at, ticket, answer);
                if self.now < self.calm_from - 2 * LEASE && self.chance.one_in(3) {
                    let stay = self.chance.below(LEASE / 2);
                    self.plan(self.now + stay, Event::Depart(at));
                }
            }
            Output::Lost { ticket, .. } => {
                self.losses += 1;
                let client = self.clients.get_mut(&ticket).expect("it was queued");
                (client.token, client.over) = (None, true);
                self.tell_client(at, ticket, Answer::Lost);
            }
            Output::Behind(_, place) => assert!(place > 0, "{place}"),
            Output::Reserve(mark) => {
                let time = self.now + self.chance.below(5 * MS);
                self.plan(time, Event::Reserved { at, life, mark });
            }
        }
    }

    fn mishap(&mut self) {
        let n = self.members.len() as u64;
        let (a, b) = (self.chance.below(n) as usize, self.chance.below(n) as usize);
        let until = (self.now + self.chance.below(3 * LEASE)).min(self.calm_from);
        match self.chance.below(8) {
            7 if !self.members[a].paused => self.expel(a),
            6 => self.plan(self.now, Event::Depart(a)),
            0 => self.plan(self.now, Event::Cut { from: a, to: b, until }),
            1 => {
                for other in (0..n as usize).filter(|other| *other != a) {
                    self.plan(self.now, Event::Cut { from: a, to: other, until });
                    self.plan(self.now, Event::Cut { from: other, to: a, until });
                }
            }
            2 | 3 if self.members[a].locks.is_some() => {
                self.members[a].paused = true;
                self.plan(until, Event::Resume(a));
            }
            4 if self.members[a].locks.is_some() && self.may_forget() => self.end(a),
            4 => {}
            _ => {
                let victim = ProcessId::new(b as u32);
                self.plan(self.now, Event::Believe { at: a, belief: Belief::Crashed(victim) });
                self.plan(until, Event::Believe { at: a, belief: Belief::Alive(victim) });
            }
        }
    }

    /// Without disks one at a time: where too many have forgotten, nobody knows.
    fn may_forget(&self) -> bool {
        let is_back = |member: &Member| member.locks.as_ref().is_some_and(Locks::is_voting);
        self.disks || self.members.iter().all(is_back)
    }

    /// A member hands all it has to another one, and is gone before long.
    fn depart(&mut self, at: usize) {
        let n = self.members.len() as u64;
        let to = (at + 1 + self.chance.below(n - 1) as usize) % n as usize;
        let (life, departed) = (self.members[to].life, self.members[at].departed);
        let Some(locks) = self.members[at].locks.as_ref().filter(|_| !departed) else { return };
        let all: Vec<_> = locks
            .candidates()
            .filter(|(ticket, _)| !self.clients[ticket].over)
            .map(|(ticket, it)| (ticket, *it.lock(), self.clients[&ticket].token, it.moved() + 1))
            .collect();
        for (ticket, lock, token, moved) in all {
            let hand_over = Command::HandOver(ticket);
            self.tell(at, |locks, out| locks.on_command(hand_over, out).expect("it is here"));
            let time =
                self.now + self.chance.below(if moved.is_multiple_of(2) { LEASE } else { 8 * MS });
            let take_over = Event::TakeOver { at: to, life, lock, ticket, token, moved };
            self.plan(time, take_over);
        }
        self.members[at].departed = true;
        let ends = self.now + self.chance.below(LEASE);
        self.plan(ends, Event::End(at, self.members[at].life));
    }

    fn end(&mut self, at: usize) {
        let until = (self.now + self.chance.below(3 * LEASE)).min(self.calm_from);
        let member = &mut self.members[at];
        (member.locks, member.life, member.paused) = (None, member.life + 1, false);
        member.timers.clear();
        member.backlog.clear();
        self.plan(until, Event::Return(at));
        // Detectors notice sooner or later, and ask other voters instead.
        let it = ProcessId::new(at as u32);
        for other in (0..self.members.len()).filter(|other| *other != at) {
            let (down, up) = (self.chance.below(LEASE / 2), self.chance.below(LEASE / 2));
            let crashed = Event::Believe { at: other, belief: Belief::Crashed(it) };
            self.plan((self.now + down).min(until), crashed);
            self.plan(until + up, Event::Believe { at: other, belief: Belief::Alive(it) });
        }
    }

    fn happen(&mut self, event: Event) {
        let at = match &event {
            Event::Arrive { to, .. } => Some(*to),
            Event::Fire { at, .. } | Event::Believe { at, .. } | Event::Ask { at, .. } => Some(*at),
            Event::Heard { at, .. } | Event::Released { at, .. } => Some(*at),
            Event::Expire { at, .. } | Event::Reserved { at, .. } => Some(*at),
            Event::Depart(at) | Event::TakeOver { at, .. } => Some(*at),
            _ => None,
        };
        if let Some(at) = at.filter(|at| self.members[*at].paused) {
            // What is due comes first when it goes on.
            return match event {
                Event::Fire { .. } => self.members[at].backlog.push_front(event),
                _ => self.members[at].backlog.push_back(event),
            };
        }
        match event {
            Event::Arrive { from, to, lives, message } => {
                if lives == (self.members[from].life, self.members[to].life) {
                    let from = ProcessId::new(from as u32);
                    self.tell(to, |locks, out| locks.on_message(from, message, out));
                }
            }
            Event::Fire { at, life, timer, generation } => {
                let name = format!("{timer:?}");
                let member = &mut self.members[at];
                if member.life == life && member.timers.get(&name) == Some(&generation) {
                    member.timers.remove(&name);
                    self.tell(at, |locks, out| locks.on_timer(timer, out));
                }
            }
            Event::Believe { at, belief } => {
                self.tell(at, |locks, out| locks.on_belief(belief, out))
            }
            Event::Ask { at, .. } if self.members[at].departed => {}
            Event::Ask { at, lock } => {
                self.numbers += 1;
                let ask = Command::Acquire { lock, session: at as u128, number: self.numbers };
                self.tell(at, |locks, out| locks.on_command(ask, out).expect("one may always ask"));
            }
            Event::Call(ticket) => self.call(ticket),
            Event::Heard { at, life, ticket, sent, inside } => {
                if self.is_home(at, life, ticket) {
                    let shown = self.members[at].clock.shows(self.now);
                    let client = self.clients.get_mut(&ticket).expect("it has asked");
                    if sent >= client.heard.1 {
                        client.heard = (shown, sent);
                    }
                    let answer = self.answer(at, ticket);
                    if let (Answer::Holds(_, Some(_), false), false) = (answer, inside) {
                        // Another request may have had the lock meanwhile: the client has to ask anew.
                        self.release(at, ticket);
                        return self.tell_client(at, ticket, Answer::Lost);
                    }
                    self.tell_client(at, ticket, answer);
                } else if self.clients[&ticket].over && self.members[at].life == life {
                    // Loss is a state: every answer says so.
                    self.tell_client(at, ticket, Answer::Lost);
                }
            }
            Event::Told { from, ticket, answer } => self.told(from, ticket, answer),
            Event::Leave(ticket) => self.stop(ticket),
            Event::Released { at, life, ticket } => {
                if self.is_home(at, life, ticket) {
                    self.release(at, ticket);
                } else if self.members[at].life == life && !self.members[at].departed {
                    let release = Command::Release(ticket);
                    self.tell(at, |locks, out| _ = locks.on_command(release, out));
                }
            }
            Event::Expire { at, life, ticket } => {
                if self.is_home(at, life, ticket) {
                    let shown = self.members[at].clock.shows(self.now);
                    let client = &self.clients[&ticket];
                    match client.heard.0 + client.ttl <= shown {
                        true => self.release(at, ticket),
                        false => self.look_for_expiry(at, ticket),
                    }
                }
            }
            Event::Reserved { at, life, mark } => {
                self.members[at].mark = self.members[at].mark.max(mark);
                if self.members[at].life == life {
                    let reserved = Command::Reserved(mark);
                    self.tell(at, |locks, out| {
                        locks.on_command(reserved, out).expect("it asked for that");
                    });
                }
            }
            Event::Depart(at) => self.depart(at),
            Event::End(at, life) => {
                if self.members[at].life == life && self.members[at].locks.is_some() {
                    match self.may_forget() {
                        true => self.end(at),
                        false => self.plan(self.now + LEASE, Event::End(at, life)),
                    }
                }
            }
            Event::TakeOver { at, life, lock, ticket, token, moved } => {
                let member = &self.members[at];
                if member.life == life && member.locks.is_some() && !member.departed {
                    let take_over = Command::TakeOver { lock, ticket, token, moved };
                    if let Some(waits) = self.waiting.get_mut(&ticket) {
                        *waits = (at, life, lock);
                    }
                    let shown = member.clock.shows(self.now);
                    let client = self.clients.get_mut(&ticket).expect("it has asked");
                    (client.home, client.heard.0) = ((at, life), shown);
                    self.look_for_expiry(at, ticket);
                    self.tell(at, |locks, out| {
                        locks.on_command(take_over, out).expect("one may always come");
                    });
                }
            }
            Event::Mishap => self.mishap(),
            Event::Cut { from, to, until } => {
                let cut = self.cut.entry((from, to)).or_default();
                *cut = until.max(*cut);
            }
            Event::Resume(at) => {
                self.members[at].paused = false;
                let backlog = std::mem::take(&mut self.members[at].backlog);
                backlog.into_iter().for_each(|event| self.happen(event));
            }
            Event::Return(at) => self.be_born(at),
        }
    }

    fn run(&mut self) {
        let end = self.calm_from + 60 * LEASE;
        while let Some(Reverse((time, number))) = self.events.pop() {
            if time > end {
                break;
            }
            let done = |client: &Client| client.stopped || client.over;
            if time > ASKS && self.waiting.is_empty() && self.clients.values().all(done) {
                break;
            }
            self.now = time;
            let event = self.what.remove(&number).expect("it was planned");
            self.happen(event);
        }
        let lives = |(at, life, _): &&(usize, u64, Name)| self.members[*at].life == *life;
        let forgotten: Vec<_> = self.waiting.values().filter(lives).collect();
        assert!(forgotten.is_empty(), "still waiting when all is calm: {forgotten:?}");
    }
}

fn storms(system: &str, n: usize, disks: bool) {
    // A campaign is `QUORATE_STORMS=20000 cargo test --release -p quorate-algorithms --test locks_storm`.
    let seeds = std::env::var("QUORATE_STORMS").ok().and_then(|count| count.parse().ok());
    let mut sums = [0; 4];
    for seed in 0..seeds.unwrap_or(100) {
        let run = std::panic::catch_unwind(|| {
            let mut storm = Storm::new(seed, n, system, disks);
            storm.run();
            [storm.grants, storm.losses, storm.moves, storm.expelled]
        });
        let run = run.unwrap_or_else(|_| panic!("{system}, n = {n}, disks {disks}, seed {seed}"));
        sums.iter_mut().zip(run).for_each(|(sum, it)| *sum += it);
    }
    let [grants, losses, moves, expelled] = sums;
    assert!(
        grants > 1_000 && losses > 10 && moves > 8 && expelled > 10,
        "{grants} grants, {losses} losses, {moves} moves and {expelled} forced show nothing"
    );
}

#[test]
fn three_members_with_disks() {
    storms("majority", 3, true);
}

#[test]
fn three_members_without_disks() {
    storms("majority", 3, false);
}

#[test]
fn five_members() {
    storms("majority", 5, true);
    storms("majority", 5, false);
}

#[test]
fn a_tree_and_a_grid() {
    storms("tree", 7, true);
    storms("grid-fixed", 4, true);
}
