//! Watches: voters publish their votes for watched names, and the node of the watcher merges them into changes of holders.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::{ProcessId, Time};
use quorate_protocol::{Answer, Change, Name, Say, TEXT_MOST};

use super::holders::{Holder, holder};
use super::queries::Waiting;
use super::sessions::too_much;
use super::{By, ConnectionId, NodeCore};
use crate::peer::{BallotSeen, Description, PeerMessage, Question};

/// Maximum number of prefixes that one connection may watch.
const WATCHES_MOST: usize = 64;

/// Maximum number of names whose votes are remembered for watchers.
const NAMES_MOST: usize = 100_000;

/// Maximum number of ballots in one message.
const BALLOTS_MOST: usize = 512;

/// What is watched, here and by clients of other nodes.
#[derive(Debug, Default)]
pub(super) struct Watches {
    /// Prefixes that connections watch or are about to.
    wanted: BTreeMap<ConnectionId, Vec<String>>,
    /// Prefixes of watches that all nodes know of: changes are told.
    active: BTreeMap<ConnectionId, Vec<String>>,
    /// What clients of each peer watch.
    peers: BTreeMap<ProcessId, Vec<String>>,
    names: BTreeMap<Name, Watched>,
}

/// A name that is watched.
#[derive(Debug, Default)]
struct Watched {
    ballots: BTreeMap<ProcessId, BallotSeen>,
    holder: Option<Holder>,
}

fn matches(prefixes: &[String], name: &Name) -> bool {
    prefixes.iter().any(|prefix| name.text().starts_with(prefix.as_str()))
}

impl Watches {
    /// All nodes know of a watch.
    pub(super) fn begin(&mut self, connection: ConnectionId, prefix: String) {
        if self.wanted.contains_key(&connection) {
            self.active.entry(connection).or_default().push(prefix);
        }
    }

    fn is_wanted(&self, name: &Name) -> bool {
        self.wanted.values().any(|prefixes| matches(prefixes, name))
    }

    pub(super) fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.wanted.keys().copied()
    }

    /// Forgets names that nobody watches any more.
    pub(super) fn sweep(&mut self) {
        if self.names.is_empty() {
            return;
        }
        let names = std::mem::take(&mut self.names);
        self.names = names.into_iter().filter(|(name, _)| self.is_wanted(name)).collect();
    }
}

impl NodeCore {
    pub(super) fn watch(&mut self, by: By, prefix: String, now: Time) -> Option<Answer> {
        let prefixes = self.watch.wanted.entry(by.0).or_default();
        if prefixes.len() >= WATCHES_MOST || prefix.len() > TEXT_MOST {
            return Some(too_much(format!("{WATCHES_MOST} prefixes are the most for one client")));
        }
        prefixes.push(prefix.clone());
        self.tell_watched();
        let own: Vec<BallotSeen> = self.ballots_with(std::slice::from_ref(&prefix));
        self.see_ballots(self.settings.id, own, now);
        // Peers have sent their votes before they answer this.
        self.inquire(by, Question::Barrier, Waiting::Watching(prefix), now);
        None
    }

    /// The connection of a watcher is closed.
    pub(super) fn unwatch(&mut self, connection: ConnectionId) {
        self.watch.active.remove(&connection);
        if self.watch.wanted.remove(&connection).is_some() {
            self.tell_watched();
        }
    }

    fn tell_watched(&mut self) {
        for peer in self.peers_that_are_up() {
            self.tell_peer_watched(peer);
        }
    }

    pub(super) fn tell_peer_watched(&mut self, peer: ProcessId) {
        let prefixes: BTreeSet<String> = self.watch.wanted.values().flatten().cloned().collect();
        self.send(peer, PeerMessage::Watching(prefixes.into_iter().collect()));
    }

    /// Clients of a peer watch these prefixes: it is told the votes for new ones.
    pub(super) fn peer_watches(&mut self, peer: ProcessId, prefixes: Vec<String>) {
        let known = self.watch.peers.remove(&peer).unwrap_or_default();
        let new: Vec<String> =
            prefixes.iter().filter(|prefix| !known.contains(prefix)).cloned().collect();
        if !prefixes.is_empty() {
            self.watch.peers.insert(peer, prefixes);
        }
        if !new.is_empty() {
            for page in self.ballots_with(&new).chunks(BALLOTS_MOST) {
                self.send(peer, PeerMessage::Votes(page.to_vec()));
            }
        }
    }

    /// Ballots of the voter here whose vote is given.
    fn ballots_with(&self, prefixes: &[String]) -> Vec<BallotSeen> {
        let ballots = self.voter.ballots();
        let chosen = ballots.filter(|(name, it)| it.vote().is_some() && matches(prefixes, name));
        chosen.filter_map(|(name, _)| self.watched_ballot(name)).collect()
    }

    fn watched_ballot(&self, name: &Name) -> Option<BallotSeen> {
        Some(BallotSeen { queue: Vec::new(), ..self.ballot_here(name)? })
    }

    /// A vote of the voter here has changed.
    pub(super) fn publish_ballot(&mut self, name: &Name, now: Time) {
        if self.watch.peers.is_empty() && self.watch.wanted.is_empty() {
            return;
        }
        let Some(ballot) = self.watched_ballot(name) else { return };
        let peers = self.watch.peers.iter().filter(|(_, prefixes)| matches(prefixes, name));
        for peer in peers.map(|(peer, _)| *peer).collect::<Vec<_>>() {
            self.send(peer, PeerMessage::Votes(vec![ballot.clone()]));
        }
        if self.watch.is_wanted(name) {
            self.see_ballots(self.settings.id, vec![ballot], now);
        }
    }

    /// Votes of a voter for names that clients here watch.
    pub(super) fn see_ballots(&mut self, voter: ProcessId, ballots: Vec<BallotSeen>, now: Time) {
        for ballot in ballots {
            let name = ballot.name.clone();
            if !self.watch.is_wanted(&name) || self.watch.names.len() >= NAMES_MOST {
                continue;
            }
            let watched = self.watch.names.entry(name.clone()).or_default();
            watched.ballots.insert(voter, ballot);
            self.review(&name, now);
        }
    }

    /// Tells watchers if the holder has changed.
    fn review(&mut self, name: &Name, now: Time) {
        let Some(watched) = self.watch.names.get(name) else { return };
        let ballots = watched.ballots.iter().map(|(voter, ballot)| (*voter, ballot));
        let held = holder(&self.electorate, ballots, |request| self.records(request));
        if held == watched.holder {
            return;
        }
        if let Some(watched) = self.watch.names.get_mut(name) {
            watched.holder = held;
        }
        self.tell_holder(name, now);
    }

    fn tell_holder(&mut self, name: &Name, now: Time) {
        let Some(watched) = self.watch.names.get(name) else { return };
        let holder = watched.holder.map(|(request, token)| {
            let votes = watched.ballots.values().filter_map(|ballot| ballot.vote);
            let stamp = votes.filter(|vote| vote.request == request).map(|vote| vote.stamp).max();
            self.about(name, request, stamp.unwrap_or(0), Some(token), now)
        });
        let change = Change { name: name.clone(), holder };
        let watchers = self.watch.active.iter().filter(|(_, prefixes)| matches(prefixes, name));
        for watcher in watchers.map(|(watcher, _)| *watcher).collect::<Vec<_>>() {
            self.say(watcher, Say::Changed(change.clone()));
        }
    }

    /// Texts have arrived: watchers learn what a leader proclaims.
    pub(super) fn hear_texts(&mut self, description: Description, now: Time) {
        let request = description.request.as_ref().map(|(request, _)| *request);
        if !self.texts.hear(description, now) || self.watch.active.is_empty() {
            return;
        }
        let holds = |watched: &Watched| watched.holder.map(|(holder, _)| holder) == request;
        let names = self.watch.names.iter().filter(|(_, watched)| holds(watched));
        for name in names.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.tell_holder(&name, now);
        }
    }
}
