//! What clients ask.

use std::collections::BTreeMap;

use quorate_algorithms::mutex::leased::Command;
use quorate_core::{Span, Time};
use quorate_protocol::{
    Answer, Ask, Call, Failure, MemberStatus, NodeStatus, Reliance, Say, SessionKey, TEXT_MOST,
};

use super::pages::Parts;
use super::questions::Waiting;
use super::quotas::Added;
use super::{Alarm, Client, Deed, Keeper};
use crate::peer::{Question, Selection};
use crate::session::Session;

/// The shortest and the longest that a session may want to live without a word, in milliseconds.
const TTL_MS: std::ops::RangeInclusive<u32> = 100..=3_600_000;

/// Bytes of names and texts in one answer about a session.
const SESSION_BYTES: usize = 4 << 20;

impl Keeper {
    /// A client asks. `key` is for a new session, if it wants one.
    pub fn ask(&mut self, client: Client, ask: Ask, key: impl FnOnce() -> SessionKey, now: Time) {
        let Ask { number, sent, call } = ask;
        let session = call.session().and_then(|key| self.sessions.get(&key));
        if session.is_some_and(|session| session.moving) {
            // Its client is told where to ask again.
            return;
        }
        let answer = match call {
            Call::Open { ttl_ms, .. } if !TTL_MS.contains(&ttl_ms) => {
                let (least, most) = TTL_MS.into_inner();
                too_much(format!("a session lives {least} to {most} ms without a word"))
            }
            Call::Open { ttl_ms, who, place } => {
                self.open(client, (ttl_ms, who, place), key(), (now, sent))
            }
            Call::KeepAlive(key) => self.keep_alive(client, key, (now, sent)),
            Call::Close(key) => self.close(key, now),
            Call::Acquire { session, request, name, mode: _, wait_ms, why } => {
                let heard = (now, sent);
                let known = self.sessions.get(&session);
                let known = known.is_some_and(|known| known.requests.contains_key(&request));
                let bytes = name.text().len() + why.len();
                let added = Added { requests: 1, bytes, ..Added::default() };
                if !known && let Err(failure) = self.charge_session(session, added, now) {
                    return self.answer((client, number), Answer::Failed(failure));
                }
                let (once, queued) = (false, false);
                let wanted = super::requests::Wanted { request, name, wait_ms, why, once, queued };
                match self.acquire(client, number, session, wanted, heard) {
                    Some(answer) => answer,
                    None => return,
                }
            }
            Call::Release { session, request } => self.release(session, request, now),
            Call::Proclaim { session, request, value } => {
                let added = Added { bytes: value.len(), ..Added::default() };
                match self.charge_session(session, added, now) {
                    Ok(()) => self.proclaim(session, request, value, now),
                    Err(failure) => Answer::Failed(failure),
                }
            }
            Call::List { prefix, exact, after, most } => {
                let selection = Selection { prefix, exact, after };
                let parts = Parts::new(selection.clone(), most);
                let question = Question::Page(selection, parts.most as u32);
                return self.inquire((client, number), question, Waiting::List(parts), now);
            }
            Call::CheckToken { name, token } => {
                let waiting = Waiting::Token { token, counters: BTreeMap::new() };
                return self.inquire((client, number), Question::Counter(name), waiting, now);
            }
            Call::Expel { name, reason } => {
                let (question, waiting) = (Question::Expel(name, reason), Waiting::Expel(false));
                return self.inquire((client, number), question, waiting, now);
            }
            Call::Watch { prefix } => match self.watch(client, &prefix, now) {
                // Once all others know, nothing is missed any more.
                Answer::Done => {
                    return self.inquire((client, number), Question::Heard, Waiting::Heard, now);
                }
                refused => refused,
            },
            Call::Status => Answer::Status(Box::new(self.status())),
            Call::Session(key) => match self.sessions.get(&key) {
                Some(session) if session.text_bytes() > SESSION_BYTES => too_much(
                    "the session has more requests than one answer holds: list them by name"
                        .to_owned(),
                ),
                Some(session) => Answer::List(self.requests_of(session, "", now)),
                None => Answer::Failed(Failure::NoSession),
            },
        };
        self.answer((client, number), answer);
    }

    pub(super) fn answer(&mut self, (client, number): (Client, u64), answer: Answer) {
        if self.answer_leased(client, number, &answer) {
            return;
        }
        self.deeds.push(Deed::Say(client, Say::Answer(number, answer)));
    }

    /// The connection of a client is gone. Its sessions live on until their time is up: it may come back.
    /// What it has asked for a lease it may not have heard the answer to.
    pub fn client_is_gone(&mut self, client: Client, heard: bool, now: Time) {
        self.give_up(client, heard, now);
        self.stop_watching(client);
    }

    pub(super) fn open(
        &mut self,
        client: Client,
        (ttl_ms, who, place): (u32, String, String),
        key: SessionKey,
        heard: (Time, u64),
    ) -> Answer {
        if self.leaving {
            return Answer::Failed(Failure::Leaving);
        }
        if self.sessions.len() >= self.settings.sessions_most {
            let most = self.settings.sessions_most;
            return too_much(format!("{most} sessions are the most on one node"));
        }
        if who.len() > TEXT_MOST || place.len() > TEXT_MOST {
            return too_much(format!("a text has {TEXT_MOST} bytes at most"));
        }
        let added = Added { sessions: 1, bytes: who.len() + place.len(), ..Added::default() };
        if let Err(failure) = self.charge(client, added, heard.0) {
            return Answer::Failed(failure);
        }
        let ttl = Span::from_millis(ttl_ms.into());
        let until = heard.0 + ttl;
        let (interests, requests) = (BTreeMap::new(), BTreeMap::new());
        let session = Session {
            ttl,
            until,
            heard,
            client,
            lease: None,
            who,
            place,
            interests,
            requests,
            lost: BTreeMap::new(),
            moving: false,
            reliable_until: 0,
        };
        self.sessions.insert(key, session);
        self.alarms.insert((until, Alarm::Session(key)));
        self.owns(client, key);
        Answer::Opened(key)
    }

    /// The session was heard; none if there is none.
    pub(super) fn touch(
        &mut self,
        client: Client,
        key: SessionKey,
        heard: (Time, u64),
    ) -> Option<&mut Session> {
        let session = self.sessions.get_mut(&key)?;
        session.client = client;
        session.heard = heard;
        session.until = heard.0 + session.ttl;
        Some(session)
    }

    fn keep_alive(&mut self, client: Client, key: SessionKey, heard: (Time, u64)) -> Answer {
        match self.touch(client, key, heard) {
            Some(session) => {
                let held = session.held();
                Answer::Alive { reliance: self.reliance_of(key, heard.0), held }
            }
            None => Answer::Failed(Failure::NoSession),
        }
    }

    /// How long a session may rely on all that it has.
    pub(super) fn reliance_of(&self, key: SessionKey, now: Time) -> Reliance {
        let Some(session) = self.sessions.get(&key) else {
            return Reliance { since: 0, micros: 0 };
        };
        let mut held = session.interests.values().filter(|interest| interest.token.is_some());
        if held.clone().any(|interest| interest.resumed) {
            return Reliance { since: session.reliable_until, micros: 0 };
        }
        let deadlines = held
            .by_ref()
            .map(|interest| self.locks().deadline(interest.ticket, now).unwrap_or(Time::ZERO));
        let end = deadlines.fold(session.until, Time::min);
        let (heard, since) = session.heard;
        Reliance { since, micros: self.reliance(end, heard).0 / 1_000 }
    }

    fn close(&mut self, key: SessionKey, now: Time) -> Answer {
        match self.sessions.contains_key(&key) {
            true => {
                self.end_session(key, Command::Release, None, now);
                Answer::Done
            }
            false => Answer::Failed(Failure::NoSession),
        }
    }

    pub(super) fn look_after_session(&mut self, key: SessionKey, now: Time) {
        let Some(session) = self.sessions.get(&key) else { return };
        if session.until > now {
            self.alarms.insert((session.until, Alarm::Session(key)));
            return;
        }
        self.end_session(key, Command::Release, Some("session-over"), now);
    }

    fn status(&self) -> NodeStatus {
        let (settings, locks) = (&self.settings, self.locks());
        let member = |(node, address): (u32, &String)| {
            let state = self.up.get(&quorate_core::ProcessId::new(node));
            let known = self.troubles.get(&quorate_core::ProcessId::new(node));
            let own = settings.id.index() == node as usize;
            MemberStatus {
                node,
                address: address.clone(),
                clients: match own {
                    true => settings.door.clone(),
                    false => self.doors.get(&quorate_core::ProcessId::new(node)).cloned(),
                },
                up: own || matches!(state, Some(Ok(()))),
                suspected: locks.suspected().contains(quorate_core::ProcessId::new(node)),
                trouble: match state {
                    _ if own => None,
                    Some(Ok(())) => None,
                    _ if known.is_some() => known.map(|known| known.text.clone()),
                    Some(Err(why)) => Some(why.clone()),
                    None => Some("never heard of".to_owned()),
                },
            }
        };
        let lease = settings.terms.lease;
        NodeStatus {
            node: settings.id.index() as u32,
            cluster: settings.cluster,
            votes: locks.is_voting(),
            quorum: self.reaches_quorum(),
            quorums: quorate_core::quorum::QuorumSystem::name(&settings.coterie).to_owned(),
            lease_us: lease.0 / 1_000,
            // The slowest voter forgets it after a lease by its own clock; then one message frees the next.
            replaced_within_us: (settings.terms.abstention() + settings.tempo.bound).0 / 1_000,
            not_before_us: settings.terms.reliance().0 / 1_000,
            sessions: self.sessions.len() as u64,
            requests: self.tickets.len() as u64,
            locks: locks.ballots().count() as u64,
            messages: self.measures.sent(),
            reasons: self.reasons(),
            members: (0..).zip(&settings.addresses).map(member).collect(),
        }
    }
}

pub(super) fn too_much(what: String) -> Answer {
    Answer::Failed(Failure::TooMuch(what))
}
