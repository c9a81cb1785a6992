//! Tests of the driver of a direct session, with voters in memory and virtual time.

use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, Electorate, Memory, RestartId, Terms, ToCandidate, Voter, VoterEffect,
    VoterEffects,
};
use quorate_core::quorum::AnyCoterie;
use quorate_core::{Drift, ProcessId, SortedMap, SortedSet, Span, Time};
use quorate_protocol::{Failure, Name};

use super::driver::{Driver, Notice, Parameters};
use super::session_lock::Ticket;
use crate::lock_status::Loss;

const TTL: Span = Span::from_millis(3_000);

fn terms() -> Terms {
    Terms { ttl_least: Span::from_millis(100), ttl_most: TTL, drift: Drift(Drift::ONE / 2_000) }
}

fn electorate(n: usize) -> Electorate {
    Electorate::new(AnyCoterie::by_name("majority", n).expect("a coterie"))
}

fn name(text: &str) -> Name {
    Name::lock(text).expect("a name")
}

/// Voters and sessions. Messages take no time. Round trips are counted.
struct World {
    now: Time,
    voters: Vec<Option<Voter<Name>>>,
    /// Connected voters that neither read nor write.
    stopped: SortedSet<ProcessId>,
    sessions: Vec<Driver>,
    notices: Vec<Vec<Notice>>,
    /// Number of round trips after which the last call was granted or failed.
    decided_after: usize,
}

impl World {
    fn new(n: usize, sessions: usize) -> Self {
        let voter = |id| Some(Voter::new(id, electorate(n), terms()));
        let mut world = Self {
            now: Time(1_000_000_000),
            voters: ProcessId::all(n).map(voter).collect(),
            stopped: SortedSet::new(),
            sessions: Vec::new(),
            notices: Vec::new(),
            decided_after: 0,
        };
        for number in 0..sessions {
            world.open(number, TTL);
        }
        world
    }

    fn open(&mut self, number: usize, ttl: Span) {
        let all = ProcessId::all(self.voters.len());
        self.open_with(number, ttl, all.collect());
    }

    /// Opens a session that is connected to these voters only.
    fn open_with(&mut self, number: usize, ttl: Span, connected: Vec<ProcessId>) {
        let parameters = Parameters {
            session: number as u128 + 1,
            incarnation: number as u64 + 77,
            ttl,
            terms: terms(),
            candidate: CandidateId(number as u64),
            electorate: electorate(self.voters.len()),
        };
        let mut driver = Driver::new(parameters, self.now);
        connected.into_iter().for_each(|voter| driver.up(voter, self.now));
        self.sessions.push(driver);
        self.notices.push(Vec::new());
    }

    fn acquire(&mut self, session: usize, ticket: Ticket, lock: &str) {
        self.request_lock(session, ticket, lock, false);
    }

    fn request_lock(&mut self, session: usize, ticket: Ticket, lock: &str, only_if_free: bool) {
        let now = self.now;
        self.sessions[session].acquire(ticket, name(lock), only_if_free, String::new(), now);
        self.settle();
    }

    fn release(&mut self, session: usize, ticket: Ticket) {
        let now = self.now;
        self.sessions[session].release(ticket, now);
        self.settle();
    }

    /// Delivers messages until none are left.
    fn settle(&mut self) {
        for round_trip in 0.. {
            for session in 0..self.sessions.len() {
                let notices = self.sessions[session].notices();
                let decides =
                    |it: &Notice| matches!(it, Notice::Granted { .. } | Notice::Failed { .. });
                if notices.iter().any(decides) {
                    self.decided_after = round_trip;
                }
                self.notices[session].extend(notices);
            }
            let mut answers = SortedMap::<(usize, ProcessId), Vec<ToCandidate<Name>>>::new();
            let mut sent = false;
            let mut flights = Vec::new();
            for (session, driver) in self.sessions.iter_mut().enumerate() {
                let outboxes = driver.outboxes().into_iter();
                flights.extend(outboxes.map(|(voter, outbox)| (voter, session, outbox.messages)));
            }
            // Every second voter receives the sessions' messages in the opposite order.
            let order = |(voter, session, _): &(ProcessId, usize, Vec<_>)| match voter.index() % 2 {
                0 => (*voter, *session),
                _ => (*voter, usize::MAX - *session),
            };
            flights.sort_by_key(order);
            for (voter, session, messages) in flights {
                sent |= !messages.is_empty();
                if self.stopped.contains(&voter) {
                    continue;
                }
                for message in messages {
                    let (from, now) = (CandidateId(session as u64), self.now);
                    self.vote(voter, &mut answers, |it, out| {
                        it.on_message(from, message, now, out)
                    });
                }
            }
            if !sent && answers.is_empty() {
                break;
            }
            self.deliver(answers);
        }
    }

    fn deliver(&mut self, answers: SortedMap<(usize, ProcessId), Vec<ToCandidate<Name>>>) {
        for ((session, voter), messages) in answers {
            self.sessions[session].wake(self.now);
            self.sessions[session].on_messages(voter, messages, self.now);
        }
    }

    fn vote(
        &mut self,
        voter: ProcessId,
        answers: &mut SortedMap<(usize, ProcessId), Vec<ToCandidate<Name>>>,
        input: impl FnOnce(&mut Voter<Name>, &mut VoterEffects<Name>),
    ) {
        let Some(it) = self.voters[voter.index()].as_mut() else { return };
        let mut out = Vec::new();
        input(it, &mut out);
        for effect in out {
            if let VoterEffect::Send(to, message) = effect {
                answers.entry((to.0 as usize, voter)).or_default().push(message);
            }
        }
    }

    /// Advances the time in small steps.
    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.now = (self.now + Span::from_millis(20)).min(end);
            let mut answers = SortedMap::new();
            for voter in ProcessId::all(self.voters.len()) {
                if !self.stopped.contains(&voter) {
                    let now = self.now;
                    self.vote(voter, &mut answers, |it, out| it.wake(now, out));
                }
            }
            self.deliver(answers);
            self.sessions.iter_mut().for_each(|session| session.wake(self.now));
            self.settle();
        }
    }

    /// Kills a voter; connections to it break.
    fn kill(&mut self, voter: u32) -> Voter<Name> {
        let id = ProcessId::new(voter);
        let killed = self.voters[id.index()].take().expect("it lives");
        self.sessions.iter_mut().for_each(|session| session.down(id, self.now));
        self.settle();
        killed
    }

    /// Restarts a killed voter with its vote file.
    fn restart(&mut self, voter: u32, before: &Voter<Name>) {
        let id = ProcessId::new(voter);
        let restart_id = RestartId { incarnation: 0, number: 1 };
        let new = Voter::new(id, electorate(self.voters.len()), terms());
        self.voters[id.index()] = Some(new.restored(restart_id, before.records(), self.now));
        self.sessions.iter_mut().for_each(|session| session.up(id, self.now));
        self.settle();
    }

    fn take(&mut self, session: usize) -> Vec<Notice> {
        std::mem::take(&mut self.notices[session])
    }

    fn token(&mut self, session: usize, of: Ticket) -> Option<u64> {
        self.take(session).into_iter().find_map(|notice| match notice {
            Notice::Granted { ticket, token, .. } if ticket == of => Some(token),
            _ => None,
        })
    }
}

fn losses(notices: &[Notice]) -> Vec<(Ticket, Loss)> {
    let lost = notices.iter().filter_map(|notice| match notice {
        Notice::Lost { ticket, loss } => Some((*ticket, *loss)),
        _ => None,
    });
    lost.collect()
}

fn failures(notices: &[Notice]) -> Vec<(Ticket, Failure)> {
    let failed = notices.iter().filter_map(|notice| match notice {
        Notice::Failed { ticket, failure } => Some((*ticket, failure.clone())),
        _ => None,
    });
    failed.collect()
}

#[test]
fn a_free_lock_takes_one_round_trip_also_as_the_first_thing_of_a_session() {
    for n in [1, 3, 5] {
        let mut world = World::new(n, 1);
        world.acquire(0, 1, "x");
        assert_eq!(world.decided_after, 1, "{n} voters");
        let first = world.token(0, 1).expect("it is free");
        world.release(0, 1);
        world.acquire(0, 2, "x");
        assert_eq!(world.decided_after, 1, "{n} voters");
        assert!(world.token(0, 2).is_some_and(|token| token > first));
    }
}

#[test]
fn a_voter_that_was_never_connected_delays_nothing() {
    for away in ProcessId::all(3) {
        let mut world = World::new(3, 0);
        world.open_with(0, TTL, ProcessId::all(3).filter(|voter| *voter != away).collect());
        for ticket in 0..8 {
            world.acquire(0, ticket, &format!("x{ticket}"));
            assert!(world.token(0, ticket).is_some(), "without {away}, lock {ticket}");
        }
    }
}

#[test]
fn guards_of_one_session_share_a_lock() {
    let mut world = World::new(3, 2);
    world.acquire(0, 1, "x");
    world.acquire(0, 2, "x");
    let notices = world.take(0);
    let tokens: SortedSet<u64> = notices.iter().filter_map(granted).collect();
    assert_eq!((notices.iter().filter_map(granted).count(), tokens.len()), (2, 1));
    world.acquire(1, 1, "x");
    world.release(0, 1);
    assert_eq!(world.token(1, 1), None, "it is still held once");
    world.release(0, 2);
    assert!(world.token(1, 1) > tokens.last().copied());
}

fn granted(notice: &Notice) -> Option<u64> {
    match notice {
        Notice::Granted { token, .. } => Some(*token),
        _ => None,
    }
}

#[test]
fn any_one_voter_may_die_while_a_lock_is_held() {
    for dies in 0..3 {
        let mut world = World::new(3, 1);
        world.acquire(0, 1, "x");
        world.take(0);
        world.kill(dies);
        world.pass(Span(TTL.0 * 4));
        let notices = world.take(0);
        assert_eq!(losses(&notices), [], "voter {dies}");
        let last = notices.iter().rev().find_map(|notice| match notice {
            Notice::Extended { until, .. } => Some(*until),
            _ => None,
        });
        assert!(last.is_some_and(|until| until > world.now), "voter {dies}");
        assert_eq!(notices.iter().filter_map(granted).count(), 0, "the token stays");
    }
}

#[test]
fn any_one_voter_may_stop_without_a_word_while_a_lock_is_held() {
    for stops in 0..3 {
        let mut world = World::new(3, 1);
        world.acquire(0, 1, "x");
        world.stopped.insert(ProcessId::new(stops));
        world.pass(Span(TTL.0 * 4));
        let notices = world.take(0);
        assert_eq!(losses(&notices), [], "voter {stops}");
        let redial = Notice::Redial(ProcessId::new(stops));
        assert!(notices.contains(&redial), "its connection is given up");
    }
}

#[test]
fn without_a_quorum_a_lock_ends_before_its_voters_forget_it() {
    let mut world = World::new(3, 2);
    world.acquire(0, 1, "x");
    let began = world.now;
    world.take(0);
    world.kill(0);
    world.kill(1);
    world.acquire(1, 1, "y");
    let mut ended = None;
    for _ in 0..200 {
        world.pass(Span::from_millis(20));
        if !losses(&world.take(0)).is_empty() {
            ended.get_or_insert(world.now);
        }
    }
    assert!(ended.is_some_and(|ended| ended.since(began) <= TTL), "{ended:?}");
    assert_eq!(world.token(1, 1), None, "a minority grants nothing");
}

#[test]
fn a_call_that_does_not_wait_is_answered_at_once() {
    let mut world = World::new(3, 2);
    world.acquire(0, 1, "x");
    world.request_lock(1, 1, "x", true);
    assert_eq!(world.decided_after, 1);
    assert_eq!(failures(&world.take(1)), [(1, Failure::Busy)]);
    world.release(0, 1);
    world.request_lock(1, 2, "x", true);
    assert!(world.token(1, 2).is_some());
    world.kill(1);
    world.kill(2);
    world.request_lock(0, 2, "z", true);
    world.pass(Span::from_millis(1_100));
    assert_eq!(failures(&world.take(0)), [(2, Failure::NoQuorum)]);
}

#[test]
fn a_stopped_voter_costs_a_tenth_of_a_second() {
    for stops in 0..3 {
        let mut world = World::new(3, 1);
        world.stopped.insert(ProcessId::new(stops));
        world.acquire(0, 1, "x");
        world.pass(Span::from_millis(120));
        assert!(world.token(0, 1).is_some(), "voter {stops}");
    }
}

#[test]
fn a_process_that_was_stopped_has_lost_its_lock_before_it_hears_anything() {
    let mut world = World::new(3, 2);
    world.acquire(0, 1, "x");
    world.take(0);
    world.acquire(1, 1, "x");
    // The first process sleeps; answers to its last beat wait in its sockets.
    let asleep = world.sessions.remove(0);
    world.sessions.insert(0, Driver::new(unconnected(), world.now));
    let until = world.now + TTL + TTL;
    while world.now < until {
        world.pass(Span::from_millis(100));
    }
    assert!(world.token(1, 1).is_some(), "the lock has lapsed");
    world.sessions[0] = asleep;
    world.sessions[0].wake(world.now);
    let notices = world.sessions[0].notices();
    assert_eq!(losses(&notices), [(1, Loss::NoQuorum)]);
    world.settle();
    world.pass(TTL);
    assert!(world.take(0).iter().all(|it| !matches!(it, Notice::Extended { ticket: 1, .. })));
}

/// Parameters of a session that reaches no voter.
fn unconnected() -> Parameters {
    let (session, incarnation, candidate) = (99, 99, CandidateId(99));
    let electorate = electorate(3);
    Parameters { session, incarnation, ttl: TTL, terms: terms(), candidate, electorate }
}

#[test]
fn a_waiter_keeps_its_place_over_restarts() {
    let mut world = World::new(3, 3);
    world.acquire(0, 1, "x");
    world.acquire(1, 1, "x");
    world.pass(Span::from_millis(50));
    world.acquire(2, 1, "x");
    for voter in 0..3 {
        world.pass(Span::from_millis(300));
        let before = world.kill(voter);
        world.pass(Span::from_millis(100));
        world.restart(voter, &before);
    }
    world.pass(Span::from_millis(500));
    assert_eq!(losses(&world.take(0)), []);
    world.release(0, 1);
    world.pass(Span::from_millis(100));
    assert!(world.token(1, 1).is_some(), "the first in the queue");
    assert_eq!(world.token(2, 1), None);
    world.release(1, 1);
    world.pass(Span::from_millis(100));
    assert!(world.token(2, 1).is_some());
}

#[test]
fn a_voter_that_has_forgotten_is_done_without() {
    let mut world = World::new(3, 1);
    world.acquire(0, 1, "x");
    let id = ProcessId::new(0);
    world.kill(0);
    let memory = Memory { incarnation: 1, mark: None };
    let new = Voter::new(id, electorate(3), terms()).forgotten(memory, world.now);
    world.voters[0] = Some(new);
    world.sessions[0].up(id, world.now);
    world.pass(Span(TTL.0 * 3));
    assert_eq!(losses(&world.take(0)), []);
}

#[test]
fn a_lock_that_is_taken_away_is_free_once_its_user_has_stopped() {
    let mut world = World::new(3, 2);
    world.acquire(0, 1, "x");
    world.acquire(1, 1, "x");
    world.take(0);
    let mut answers = SortedMap::new();
    for voter in ProcessId::all(3) {
        let vote = world.voters[voter.index()].as_ref().and_then(|it| it.ballot(&name("x")));
        let Some(held) = vote.and_then(|ballot| ballot.vote()).map(|vote| vote.claim.request)
        else {
            continue;
        };
        world.vote(voter, &mut answers, |it, out| {
            it.force(&name("x"), held, out);
        });
    }
    world.deliver(answers);
    world.settle();
    world.pass(Span::from_millis(1_200));
    assert_eq!(losses(&world.take(0)), [(1, Loss::Expelled)]);
    assert_eq!(world.token(1, 1), None, "the first may still be inside");
    world.release(0, 1);
    world.settle();
    assert!(world.token(1, 1).is_some(), "it has stopped");
}

#[test]
fn a_time_to_live_that_voters_refuse_is_an_error() {
    let mut world = World::new(3, 0);
    world.open(0, Span(TTL.0 * 2));
    world.acquire(0, 1, "x");
    let failed = failures(&world.take(0));
    let [(1, Failure::TooMuch(why))] = failed.as_slice() else { panic!("{failed:?}") };
    assert!(why.contains("3000 ms") && why.contains("6000 ms"), "{why}");
}

#[test]
fn a_node_that_objects_fails_the_request_and_nothing_else() {
    let mut world = World::new(3, 1);
    world.acquire(0, 1, "x");
    world.take(0);
    world.stopped.extend(ProcessId::all(3));
    world.acquire(0, 2, "y");
    let refused = Failure::NotAllowed("not y".to_owned());
    world.sessions[0].refused(2, refused.clone(), world.now);
    world.settle();
    let notices = world.take(0);
    assert_eq!((failures(&notices), losses(&notices)), (vec![(2, refused)], vec![]));
}

#[test]
fn a_voter_that_leaves_is_replaced_at_once() {
    for leaves in 0..3 {
        let mut world = World::new(3, 1);
        world.acquire(0, 1, "x");
        let id = ProcessId::new(leaves);
        world.sessions[0].leaving(id, world.now);
        world.settle();
        let others = world.voters.iter().enumerate().filter(|(index, _)| *index != id.index());
        let votes = others.filter(|(_, voter)| {
            let ballot = voter.as_ref().and_then(|voter| voter.ballot(&name("x")));
            ballot.is_some_and(|ballot| ballot.vote().is_some())
        });
        assert_eq!(votes.count(), 2, "voter {leaves}");
    }
}

#[test]
fn a_crowd_hands_a_lock_over_without_waiting_for_beats() {
    const CROWD: usize = 40;
    let mut world = World::new(3, CROWD);
    let now = world.now;
    for session in 0..CROWD {
        world.sessions[session].acquire(1, name("x"), false, String::new(), now);
    }
    world.settle();
    let mut tokens = Vec::new();
    while tokens.len() < CROWD {
        let holder = (0..CROWD).find_map(|session| Some((session, world.token(session, 1)?)));
        let Some((session, token)) = holder else { panic!("stuck after {tokens:?}") };
        tokens.push(token);
        world.release(session, 1);
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}
