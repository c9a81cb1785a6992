//! A node without sockets: what clients ask, what peers say and what time brings, turned into deeds.
//!
//! It knows no clock and no chance: it is told the time, and the keys of sessions. So it can be run anywhere.

mod calls;
mod leases;
mod moves;
mod pages;
mod plausible;
mod questions;
mod quotas;
mod requests;
mod watches;

use std::collections::{BTreeMap, BTreeSet};

use quorate_algorithms::detector::VcubeDiagnosis;
use quorate_algorithms::mutex::leased::{Command, Locks, Message, Output, Terms, Ticket};
use quorate_core::quorum::AnyCoterie;
use quorate_core::{
    Effect, Effects, Layered, Process, ProcessId, ProcessSet, Recipients, Span, Stack, Tempo, Time,
};
use quorate_protocol::{Answer, Name, Say, SessionKey};

use crate::measures::Measures;
use crate::peer::{Interest, Member, PeerMessage};
use crate::session::Session;
use crate::spans::Spans;

pub use moves::Moving;
use questions::Asked;
pub use quotas::{Owner, Quotas};

/// A connection of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client(pub u64);

/// What a node does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Says something to a peer.
    Send(ProcessId, PeerMessage),
    /// Says something to a client.
    Say(Client, Say),
    /// Writes down that numbers up to this one may be used.
    Reserve(u64),
}

/// What a node is told when it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which node.
    pub id: ProcessId,
    /// Of which cluster.
    pub cluster: u128,
    /// Whose votes decide.
    pub coterie: AnyCoterie,
    /// How long votes are lent.
    pub terms: Terms,
    /// How quickly nodes answer each other.
    pub tempo: Tempo,
    /// Which life of it; zero in a new cluster.
    pub life: u64,
    /// The number up to which it may have used numbers in earlier lives, if it knows.
    pub mark: Option<u64>,
    /// The number up to which it may use numbers, if a disk has to know of them before they are used.
    pub ceiling: Option<u64>,
    /// Where nodes are, for people to see.
    pub addresses: Vec<String>,
    /// Where clients reach it, if other nodes are to know.
    pub door: Option<String>,
    /// How many sessions there may be, and how many requests of all sessions.
    pub sessions_most: usize,
    /// How many requests there may be.
    pub requests_most: usize,
    /// Limits of one client.
    pub quotas: Quotas,
}

/// Why there is no connection to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// A sentence for people.
    pub text: String,
    /// Whether the terms of the two nodes differ.
    pub differs: bool,
}

/// A node without sockets.
#[derive(Debug)]
pub struct Keeper {
    settings: Settings,
    member: Member,
    timers: Vec<(Time, <Member as Process>::Timer)>,
    sessions: BTreeMap<SessionKey, Session>,
    leases: leases::Leases,
    /// Whose each ticket is, and of what.
    tickets: BTreeMap<Ticket, (SessionKey, Name)>,
    /// What to look after, and when.
    alarms: BTreeSet<(Time, Alarm)>,
    asked: BTreeMap<u64, Asked>,
    numbers: u64,
    watchers: watches::Watchers,
    /// What clients of each peer watch.
    watching: BTreeMap<ProcessId, BTreeSet<String>>,
    owners: quotas::Owners,
    up: BTreeMap<ProcessId, Result<(), String>>,
    /// Where clients reach each peer.
    doors: BTreeMap<ProcessId, String>,
    leaving: bool,
    /// Why the last write of the state file failed.
    disk_trouble: Option<String>,
    troubles: BTreeMap<ProcessId, Trouble>,
    /// When a line was last logged about a message of a peer that makes no sense.
    distrusted: BTreeMap<ProcessId, Time>,
    deeds: Vec<Deed>,
    pub(crate) measures: Measures,
    /// If somebody wants to have them.
    pub(crate) spans: Option<Spans>,
    /// When locks were last freed through this node, as far as that is worth knowing.
    freed: BTreeMap<Name, Time>,
    /// What the algorithm has said that is to be dealt with once whoever asks knows its ticket.
    said: std::collections::VecDeque<Output<Name>>,
}

/// Something to look after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// A session may be over.
    Session(SessionKey),
    /// Somebody may have waited long enough.
    Waiter(Ticket),
    /// Who was asked may have had time enough to answer.
    Question(u64),
    /// Who was handed something on to may have had time enough to answer.
    Relay(u64),
    /// A lease that was not found may be somewhere now.
    Search(Client),
    /// A peer may not know what clients here watch.
    Interest(ProcessId),
}

impl Keeper {
    /// A node that starts now.
    pub fn new(settings: Settings, now: Time) -> Self {
        let n = settings.addresses.len();
        let mut locks = Locks::new(settings.id, settings.coterie.clone(), settings.terms);
        if settings.life > 0 {
            locks = locks.born_again(settings.life, settings.mark);
        }
        if let Some(ceiling) = settings.ceiling {
            locks = locks.with_ceiling(ceiling);
        }
        let detector = VcubeDiagnosis::paced(n, settings.id, settings.tempo);
        let mut keeper = Self {
            settings,
            member: Stack::new(locks, detector),
            timers: Vec::new(),
            sessions: BTreeMap::new(),
            leases: leases::Leases::default(),
            tickets: BTreeMap::new(),
            alarms: BTreeSet::new(),
            asked: BTreeMap::new(),
            numbers: 0,
            watchers: watches::Watchers::default(),
            owners: quotas::Owners::default(),
            watching: BTreeMap::new(),
            up: BTreeMap::new(),
            doors: BTreeMap::new(),
            leaving: false,
            disk_trouble: None,
            troubles: BTreeMap::new(),
            distrusted: BTreeMap::new(),
            deeds: Vec::new(),
            measures: Measures::new(),
            spans: None,
            freed: BTreeMap::new(),
            said: std::collections::VecDeque::new(),
        };
        keeper.tell(now, |member, out| member.on_start(out));
        keeper
    }

    /// What to do, in order.
    pub fn deeds(&mut self) -> std::vec::Drain<'_, Deed> {
        self.deeds.drain(..)
    }

    /// When to wake it, whatever else happens.
    pub fn next_alarm(&self) -> Option<Time> {
        let timers = self.timers.iter().map(|(time, _)| *time).min();
        let alarms = self.alarms.first().map(|(time, _)| *time);
        timers.into_iter().chain(alarms).min()
    }

    /// Whether it votes and reaches a quorum.
    pub fn is_ready(&self) -> bool {
        self.reasons().is_empty()
    }

    /// Why the node is not ready: one sentence for each reason, each with a word for programs in front.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.leaving {
            reasons.push("leaving: the node stops; use another one".to_owned());
        }
        if let Some(why) = &self.disk_trouble {
            reasons.push(format!("disk: the state file cannot be written ({why}); it is retried"));
        }
        if !self.locks().is_voting() {
            reasons.push(
                "abstaining: the node has lost its memory and does not vote until no lease of before can be valid \
                 and a quorum has told it the last numbers"
                    .to_owned(),
            );
        }
        if !self.reaches_quorum() {
            let differs = self.troubles.iter().filter(|(_, trouble)| trouble.differs);
            reasons
                .extend(differs.map(|(peer, trouble)| format!("terms: {peer}: {}", trouble.text)));
            let n = self.settings.addresses.len();
            let heard = self.reached().len();
            reasons
                .push(format!("no-quorum: {heard} of {n} nodes can be reached, itself included"));
        }
        reasons
    }

    /// This node and the peers that are connected and not suspected.
    fn reached(&self) -> ProcessSet {
        let up = self.up.iter().filter(|(_, up)| up.is_ok()).map(|(peer, _)| *peer);
        let connected: ProcessSet = up.chain([self.settings.id]).collect();
        &connected - self.locks().suspected()
    }

    fn reaches_quorum(&self) -> bool {
        self.locks().is_quorum(&self.reached())
    }

    /// The state file can be written, or not and why.
    pub fn disk_is(&mut self, written: Result<(), String>) {
        if written.is_err() {
            self.measures.disk_failures.inc();
        }
        self.disk_trouble = written.err();
    }

    /// Why there is no connection to a peer; none if there is one, or if nothing is known.
    pub fn trouble_is(&mut self, peer: ProcessId, trouble: Option<Trouble>) {
        match trouble {
            Some(trouble) => drop(self.troubles.insert(peer, trouble)),
            None => drop(self.troubles.remove(&peer)),
        }
    }

    /// How many other nodes can be talked to.
    pub fn peers_up(&self) -> usize {
        self.up.values().filter(|up| up.is_ok()).count()
    }

    /// Whether nobody has anything through this node.
    pub fn is_idle(&self) -> bool {
        self.tickets.is_empty()
    }

    fn locks(&self) -> &Locks<Name> {
        self.member.upper()
    }

    /// Time has gone by: what is due is done before anything else is.
    pub fn wake(&mut self, now: Time) {
        while let Some(place) = self.timers.iter().position(|(time, _)| *time <= now) {
            let (_, timer) = self.timers.swap_remove(place);
            self.tell(now, |member, out| member.on_timer(timer, out));
        }
        while let Some((_, alarm)) = self.alarms.first().copied().filter(|(time, _)| *time <= now) {
            self.alarms.pop_first();
            match alarm {
                Alarm::Session(key) => self.look_after_session(key, now),
                Alarm::Waiter(ticket) => self.look_after_waiters(ticket, now),
                Alarm::Question(number) => self.close_question(number, now),
                Alarm::Relay(number) => self.look_after_relay(number, now),
                Alarm::Search(client) => self.search(client, now),
                Alarm::Interest(peer) => self.tell_interest_again(peer),
            }
        }
    }

    /// A peer has said something.
    pub fn hear(&mut self, from: ProcessId, message: PeerMessage, now: Time) {
        if let Err(why) = self.is_plausible(from, &message, now) {
            return self.distrust(from, why, now);
        }
        if let Some(spans) = &mut self.spans {
            spans.hear(&message, now);
        }
        match message {
            PeerMessage::Process(message) => {
                self.tell(now, |member, out| member.on_message(from, message, out));
            }
            PeerMessage::Question(number, question) => {
                let reply = self.reply(question, now);
                self.send(from, PeerMessage::Reply(number, reply));
            }
            PeerMessage::Reply(number, reply) => self.on_reply(number, from, reply, now),
            PeerMessage::Watching(add) => {
                self.on_interest(from, Interest { reset: true, add, remove: Vec::new() });
            }
            PeerMessage::Interest(interest) => self.on_interest(from, interest),
            PeerMessage::Changed(change) => self.tell_watchers(&change),
            PeerMessage::Door(door) => drop(self.doors.insert(from, door)),
            PeerMessage::Relay(number, lease, what) => {
                match self.charge_lease(&lease, &what, now) {
                    Ok(()) => self.on_relay(from, number, &lease, what, now),
                    Err(failure) => {
                        let refused = PeerMessage::Relayed(number, Answer::Failed(failure));
                        self.send(from, refused);
                    }
                }
            }
            PeerMessage::Relayed(number, answer) => self.on_relayed(number, answer, now),
        }
    }

    /// A peer can be talked to, or not any more and why.
    pub fn peer_is(&mut self, peer: ProcessId, up: Result<(), String>, now: Time) {
        if up.is_ok() {
            self.tell_peer(peer);
        }
        let down = up.is_err();
        self.up.insert(peer, up);
        if down {
            self.redo_relays_to(peer, now);
            self.forget_relays_of(peer, now);
        }
    }

    /// Tells a peer what clients here watch, and where they come to.
    fn tell_peer(&mut self, peer: ProcessId) {
        self.tell_all_interest(peer);
        self.tell_door(peer);
    }

    /// Numbers up to this one may be used.
    pub fn reserved(&mut self, mark: u64, now: Time) {
        self.command(Command::Reserved(mark), now);
    }

    fn command(&mut self, command: Command<Name>, now: Time) {
        self.tell(now, |member, out| {
            if member.on_command(command, out).is_err() {
                out.ignored("a request that is over");
            }
        });
    }

    /// Tells the process something and does what it wants.
    fn tell(&mut self, now: Time, input: impl FnOnce(&mut Member, &mut Effects<Member>)) {
        self.tell_only(now, input);
        self.listen(now);
    }

    /// Deals with what the algorithm has said.
    fn listen(&mut self, now: Time) {
        while let Some(output) = self.said.pop_front() {
            self.on_output(output, now);
        }
    }

    /// Tells the process something and keeps what it says for later.
    fn tell_only(&mut self, now: Time, input: impl FnOnce(&mut Member, &mut Effects<Member>)) {
        let mut out = Effects::new(now);
        input(&mut self.member, &mut out);
        let mut effects: std::collections::VecDeque<Effect<Member>> = out.drain().collect();
        while let Some(effect) = effects.pop_front() {
            if let (Some(spans), Effect::Send { message: Layered::Upper(message), .. }) =
                (&mut self.spans, &effect)
                && let Message::Vote(lock, ticket, ..) = message
            {
                spans.vote(self.settings.id, lock, *ticket, now);
            }
            match effect {
                Effect::Send { to, message } if to == self.settings.id => {
                    self.member.on_message(to, message, &mut out);
                    effects.extend(out.drain());
                }
                Effect::Send { to, message } => self.send(to, PeerMessage::Process(message)),
                Effect::Multicast { to, message } => {
                    for peer in self.peers().collect::<Vec<_>>() {
                        if matches!(&to, Recipients::Set(set) if !set.contains(peer)) {
                            continue;
                        }
                        self.send(peer, PeerMessage::Process(message.clone()));
                    }
                }
                Effect::SetTimer { timer, after } => {
                    self.timers.retain(|(_, other)| *other != timer);
                    self.timers.push((now + after, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|(_, other)| *other != timer),
                Effect::Output(output) => self.said.push_back(output),
                Effect::Believed(belief) => self.measures.believes(belief),
                Effect::AwaitRound | Effect::Ignored(_) => {}
            }
        }
    }

    fn on_output(&mut self, output: Output<Name>, now: Time) {
        match output {
            // Whoever has asked looks there.
            Output::Queued(_) => {}
            Output::Granted { ticket, token, .. } => self.on_granted(ticket, token, now),
            Output::Lost { ticket, expelled, .. } => self.on_lost(ticket, expelled, now),
            Output::Behind(ticket, place) => self.on_behind(ticket, place, now),
            Output::Reserve(mark) => self.deeds.push(Deed::Reserve(mark)),
        }
    }

    fn send(&mut self, peer: ProcessId, message: PeerMessage) {
        self.measures.sends(&message);
        self.deeds.push(Deed::Send(peer, message));
    }

    /// What the node counts, for Prometheus.
    pub fn measured(&self) -> String {
        let measures = &self.measures;
        measures.sessions.set(self.sessions.len() as i64);
        measures.requests.set(self.tickets.len() as i64);
        measures.ballots.set(self.locks().ballots().count() as i64);
        measures.peers_up.set(self.peers_up() as i64);
        measures.ready.set(self.is_ready().into());
        measures.text()
    }

    fn peers(&self) -> impl Iterator<Item = ProcessId> + use<> {
        let me = self.settings.id;
        ProcessId::all(self.settings.addresses.len()).filter(move |peer| *peer != me)
    }

    /// How long, by its own clock and from when it was last heard, somebody may rely on something that ends then.
    fn reliance(&self, end: Time, heard: Time) -> Span {
        let terms = Terms { lease: end.since(heard), ..self.settings.terms };
        terms.reliance()
    }
}

#[cfg(test)]
mod testing {
    use super::*;
    use quorate_core::Drift;
    use quorate_core::quorum::Majority;

    /// Node 0 of three, in a new cluster, connected to both others.
    pub(super) fn node_of_three() -> Keeper {
        let settings = Settings {
            id: ProcessId::new(0),
            cluster: 1,
            coterie: AnyCoterie::Majority(Majority::new(3)),
            terms: Terms { lease: Span::from_millis(8_000), drift: Drift(Drift::ONE / 2_000) },
            tempo: Tempo { delay: Span::from_millis(250), bound: Span::from_millis(250) },
            life: 0,
            mark: None,
            ceiling: None,
            addresses: (0..3).map(|node| format!("127.0.0.1:{node}")).collect(),
            door: None,
            sessions_most: 1_000,
            requests_most: 1_000,
            quotas: Quotas::default(),
        };
        let mut keeper = Keeper::new(settings, Time(1));
        for peer in 1..3 {
            keeper.peer_is(ProcessId::new(peer), Ok(()), Time(1));
        }
        keeper.deeds().for_each(drop);
        keeper
    }

    #[test]
    fn each_reason_is_named_and_goes_away_again() {
        let mut keeper = node_of_three();
        assert_eq!(keeper.reasons(), [""; 0]);
        keeper.disk_is(Err("no space left".to_owned()));
        assert!(keeper.reasons()[0].contains("no space left"), "{:?}", keeper.reasons());
        keeper.disk_is(Ok(()));
        for peer in 1..3 {
            keeper.peer_is(ProcessId::new(peer), Err("refused".to_owned()), Time(2));
        }
        let text = "terms differ: lease_ms is 1 at p0 and 2 at p1".to_owned();
        keeper.trouble_is(ProcessId::new(1), Some(Trouble { text, differs: true }));
        let why = keeper.reasons();
        assert!(why[0].starts_with("terms: p1: terms differ: lease_ms"), "{why:?}");
        assert!(why[1].starts_with("no-quorum: 1 of 3"), "{why:?}");
        keeper.peer_is(ProcessId::new(2), Ok(()), Time(3));
        assert!(keeper.is_ready(), "{:?}", keeper.reasons());
        keeper.leave(Time(4));
        assert!(keeper.reasons()[0].starts_with("leaving: "));
    }
}
