//! Earlier steps of clients and voters, as far as later states and messages refer to them.

use alloc::vec::Vec;

use quorate_core::{ProcessId, SortedMap, SortedSet, Time};

use super::elements::ClientName;
use super::lock::{FollowedClient, Restart};
use crate::mutex::leased_quorum::candidate::Candidate;
use crate::mutex::leased_quorum::client::Client;
use crate::mutex::leased_quorum::id::{Claim, Epoch, RequestId};
use crate::mutex::leased_quorum::message::{Name, RequestStatus};
use crate::mutex::leased_quorum::voter::{Abstention, Voter};

/// A beat that a client has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct BegunBeat {
    pub(super) number: u64,
    /// The end of its validity by the clock of the client, as the client computes it.
    pub(super) end: Time,
    /// Whether the clock of the client has passed the end.
    pub(super) is_over: bool,
    /// Position among the beats of all clients.
    place: u64,
}

/// The beat that a voter echoes that has received none since its restart. It counts as one that was over when the client began.
pub(super) const BEFORE_ALL: u64 = 0;

/// The claims with votes of a voter's list, and the numbers of the votes.
type List = Vec<(Claim, u64)>;

#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Clients by session and incarnation, and by their names.
    clients: SortedMap<(u128, u64), FollowedClient>,
    by_name: SortedMap<ClientName, FollowedClient>,
    /// Beats of each client, by session and incarnation, in ascending order.
    beats: SortedMap<(u128, u64), Vec<BegunBeat>>,
    /// Number of beats of all clients.
    begun: u64,
    /// The first beat that a candidate can have presented with the request.
    first_beats: SortedMap<RequestId, u64>,
    /// Lists that a voter has had, by its epoch and version. An epoch belongs to one session.
    lists: SortedMap<(ProcessId, Epoch, u64), List>,
    /// Claims of candidates that record tokens, and whether they have reported to their clients that they hold the lock.
    recording: SortedMap<Claim, bool>,
    /// The request with which a client is inside.
    held: SortedMap<(u128, u64), RequestId>,
    /// Requests that clients want, and those that they do not want any more.
    wanted: SortedMap<(u128, u64), Vec<RequestId>>,
    ended: SortedSet<RequestId>,
    /// The request with which a client has entered in the step that was observed last.
    entered: Option<RequestId>,
    /// Number of beats that were begun before the last restart of a voter.
    restarts: SortedMap<ProcessId, u64>,
    /// The voter that has just restarted.
    restarted: Option<(ProcessId, Restart)>,
    /// Incarnations of voters that learn their numbers.
    learning: SortedMap<ProcessId, u64>,
}

impl History {
    pub(super) fn add_client(&mut self, session: u128, incarnation: u64, client: FollowedClient) {
        self.clients.insert((session, incarnation), client);
        self.by_name.insert(client.name, client);
    }

    /// The name of a client. A client that was not announced is named by the numbers of its session and incarnation.
    pub(super) fn name(&self, session: u128, incarnation: u64) -> ClientName {
        let known = self.clients.get(&(session, incarnation)).map(|client| client.name);
        known.unwrap_or(ClientName { machine: session as u32, process: incarnation as u32 })
    }

    pub(super) fn client(&self, name: ClientName) -> Option<&FollowedClient> {
        self.by_name.get(&name)
    }

    /// Whether the client of the request has candidates that record tokens.
    pub(super) fn is_relayed(&self, of: RequestId) -> bool {
        let client = self.clients.get(&(of.session, of.incarnation));
        client.is_some_and(|client| client.kind.is_relayed())
    }

    pub(super) fn observe_client<K: Name>(&mut self, client: &Client<K>, lock: &K) {
        let presented = client.presented();
        let of = (presented.session, presented.beat.incarnation);
        let beats = self.beats.entry(of).or_default();
        for (number, end) in core::iter::once((BEFORE_ALL, Time::ZERO)).chain(client.ends()) {
            if beats.last().is_none_or(|last| last.number < number) {
                beats.push(BegunBeat { number, end, is_over: false, place: self.begun });
                self.begun += 1;
            }
        }
        let wanted = client.all_wanted().into_iter().filter(|wanted| wanted.lock == *lock);
        let wanted: Vec<RequestId> = wanted.map(|wanted| wanted.request).collect();
        let is_remote = self.clients.get(&of).is_some_and(|client| client.is_remote);
        let first = if is_remote { BEFORE_ALL + 1 } else { presented.beat.number };
        for request in &wanted {
            self.first_beats.entry(*request).or_insert(first);
        }
        let before = self.wanted.insert(of, wanted.clone()).unwrap_or_default();
        self.ended.extend(before.into_iter().filter(|request| !wanted.contains(request)));
        let mut held = client.held().filter(|(held, ..)| *held == lock);
        let held = held.next().map(|(_, request, _)| request);
        self.entered = held.filter(|request| self.held.get(&of) != Some(request));
        match held {
            Some(request) => self.held.insert(of, request),
            None => self.held.remove(&of),
        };
    }

    pub(super) fn observe_candidate<K: Name>(&mut self, candidate: &Candidate<K>, lock: &K) {
        for pursuit in candidate.account(lock).filter(|_| candidate.records()) {
            let told = pursuit.told;
            let reports =
                matches!(told, Some(RequestStatus::Granted { .. } | RequestStatus::Held(_)));
            *self.recording.entry(pursuit.claim).or_insert(false) |= reports;
        }
    }

    /// Claims of the request whose candidates have not reported that they hold the lock.
    pub(super) fn unreported(&self, request: RequestId) -> impl Iterator<Item = Claim> {
        let claims = self.recording.iter().filter(move |(claim, _)| claim.request == request);
        claims.filter(|(_, has_reported)| !**has_reported).map(|(claim, _)| *claim)
    }

    pub(super) fn observe_voter<K: Name>(
        &mut self,
        id: ProcessId,
        voter: &Voter<K>,
        restart: Option<Restart>,
        lock: &K,
    ) {
        self.restarted = restart.map(|restart| (id, restart));
        if restart.is_some() {
            self.restarts.insert(id, self.begun);
        }
        match voter.abstention() {
            Some(Abstention::Learning(_)) => self.learning.insert(id, voter.incarnation()),
            _ => self.learning.remove(&id),
        };
        for (of, session) in voter.sessions() {
            let version = (id, session.epoch, session.version);
            let entries = voter.entries(of).into_iter().filter(|entry| entry.lock == *lock);
            let votes = entries.filter_map(|entry| Some((entry.claim, entry.vote?)));
            self.lists.insert(version, votes.collect());
        }
    }

    /// How the voter has restarted in the step that was observed last, if it has.
    pub(super) fn restart_of(&self, voter: ProcessId) -> Option<Restart> {
        self.restarted.filter(|(restarted, _)| *restarted == voter).map(|(_, restart)| restart)
    }

    /// Whether a voter of this incarnation learns its numbers.
    pub(super) fn is_learning(&self, voter: ProcessId, incarnation: u64) -> bool {
        self.learning.get(&voter) == Some(&incarnation)
    }

    /// Whether the client no longer wants the request.
    pub(super) fn has_ended(&self, request: RequestId) -> bool {
        self.ended.contains(&request)
    }

    /// Whether the client waits with this request, as far as its last step shows.
    pub(super) fn waits(&self, request: RequestId) -> bool {
        let of = (request.session, request.incarnation);
        let is_wanted = self.wanted.get(&of).is_some_and(|wanted| wanted.contains(&request));
        is_wanted && self.held.get(&of) != Some(&request)
    }

    /// Whether the client has entered with this request in the step that was observed last.
    pub(super) fn has_entered(&self, request: RequestId) -> bool {
        self.entered == Some(request)
    }

    /// Whether the beat was begun before the last restart of the voter, which counts it as received.
    pub(super) fn is_kept_by(&self, voter: ProcessId, beat: BegunBeat) -> bool {
        self.restarts.get(&voter).is_some_and(|begun| beat.place < *begun)
    }

    /// The beats whose ends the clocks of their clients have just passed. `clock` is that of the owner of a client.
    pub(super) fn pass(&mut self, clock: &dyn Fn(ProcessId) -> Time) -> Vec<(ClientName, u64)> {
        let mut passed = Vec::new();
        for (of, beats) in &mut self.beats {
            let Some(client) = self.clients.get(of) else { continue };
            let now = clock(client.owner);
            for beat in beats.iter_mut().filter(|beat| !beat.is_over && beat.end <= now) {
                beat.is_over = true;
                passed.push((client.name, beat.number));
            }
        }
        passed
    }

    /// Beats of all clients, with session and incarnation.
    pub(super) fn all_beats(&self) -> impl Iterator<Item = (u128, u64, BegunBeat)> {
        let clients = self.beats.iter();
        clients.flat_map(|((session, incarnation), beats)| {
            beats.iter().map(|beat| (*session, *incarnation, *beat))
        })
    }

    /// Beats of one client.
    pub(super) fn beats_of(
        &self,
        session: u128,
        incarnation: u64,
    ) -> impl Iterator<Item = BegunBeat> {
        self.beats.get(&(session, incarnation)).into_iter().flatten().copied()
    }

    /// Numbers of the beats from the one with which the request was made to this one. This one is always included, and so
    /// is the beat that was over before.
    pub(super) fn beats_until(&self, request: RequestId, last: u64) -> impl Iterator<Item = u64> {
        let first = self.first_beats.get(&request).copied().unwrap_or(0);
        let before = self.beats_of(request.session, request.incarnation);
        let before = before.map(|beat| beat.number);
        let before = before.filter(move |number| (first..last).contains(number));
        core::iter::once(BEFORE_ALL).chain(before).chain((last > BEFORE_ALL).then_some(last))
    }

    /// The first beat of the request's client that ends at this time and that a candidate can have presented with the request.
    pub(super) fn beat_with_end(&self, request: RequestId, end: Time) -> Option<u64> {
        let first = self.first_beats.get(&request).copied().unwrap_or(0);
        let mut beats = self.beats_of(request.session, request.incarnation);
        beats.find(|beat| beat.end == end && beat.number >= first).map(|beat| beat.number)
    }

    /// Numbers of the beats of the request's client that end later.
    pub(super) fn beats_with_later_end(
        &self,
        request: RequestId,
        end: Time,
    ) -> impl Iterator<Item = u64> {
        let beats = self.beats_of(request.session, request.incarnation);
        beats.filter(move |beat| beat.end > end).map(|beat| beat.number)
    }

    /// The votes in a list that the voter has had. Empty if it never had a list of this version.
    pub(super) fn list(&self, voter: ProcessId, epoch: Epoch, version: u64) -> &[(Claim, u64)] {
        self.lists.get(&(voter, epoch, version)).map_or(&[], Vec::as_slice)
    }
}
