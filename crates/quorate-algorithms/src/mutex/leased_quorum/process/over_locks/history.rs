//! Earlier steps of clients and voters, as far as later states and messages refer to them.

use alloc::vec::Vec;

use quorate_core::{ProcessId, SortedMap, Time};

use crate::mutex::leased_quorum::LeasedQuorum;
use crate::mutex::leased_quorum::id::{Beat, Claim, Epoch, RequestId};

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
    /// Beats of each client, by session and incarnation, in ascending order.
    beats: SortedMap<(u128, u64), Vec<BegunBeat>>,
    /// Number of beats of all clients.
    begun: u64,
    /// The client's beat when it made the request.
    first_beats: SortedMap<RequestId, u64>,
    /// Lists that a voter has had, by its epoch and version. An epoch belongs to one session.
    lists: SortedMap<(ProcessId, Epoch, u64), List>,
    /// The request with which the client of a process is inside.
    held: SortedMap<ProcessId, RequestId>,
    /// The request with which a client has entered in the step that was observed last.
    entered: Option<RequestId>,
    /// Number of restarts of a process, and of the beats that were begun before the last one.
    restarts: SortedMap<ProcessId, (u64, u64)>,
    /// The process that has just restarted.
    restarted: Option<ProcessId>,
}

impl History {
    pub(super) fn observe(&mut self, process: &LeasedQuorum) {
        let (known, _) = self.restarts.get(&process.id).copied().unwrap_or_default();
        self.restarted = (process.restarts != known).then_some(process.id);
        if self.restarted.is_some() {
            self.restarts.insert(process.id, (process.restarts, self.begun));
        }
        let client = process.client.client();
        let presented = client.presented();
        let of = (presented.session, presented.beat.incarnation);
        let beats = self.beats.entry(of).or_default();
        for (number, end) in core::iter::once((BEFORE_ALL, Time::ZERO)).chain(client.ends()) {
            if beats.last().is_none_or(|last| last.number < number) {
                beats.push(BegunBeat { number, end, is_over: false, place: self.begun });
                self.begun += 1;
            }
        }
        for wanted in client.all_wanted() {
            self.first_beats.entry(wanted.request).or_insert(presented.beat.number);
        }
        let (held, known) = (client.held().next().map(|(_, request, _)| request), &mut self.held);
        self.entered = held.filter(|request| known.get(&process.id) != Some(request));
        match held {
            Some(request) => known.insert(process.id, request),
            None => known.remove(&process.id),
        };
        self.observe_lists(process);
    }

    fn observe_lists(&mut self, process: &LeasedQuorum) {
        let Some((voter, id)) = process.voter.as_ref().zip(process.cluster.voter_of(process.id))
        else {
            return;
        };
        for (of, session) in voter.sessions() {
            let version = (id, session.epoch, session.version);
            let entries = voter.entries(of);
            let votes = entries.iter().filter_map(|entry| Some((entry.claim, entry.vote?)));
            self.lists.insert(version, votes.collect());
        }
    }

    /// Whether the process has restarted in the step that was observed last.
    pub(super) fn has_restarted(&self, process: ProcessId) -> bool {
        self.restarted == Some(process)
    }

    /// Whether the client has entered with this request in the step that was observed last.
    pub(super) fn has_entered(&self, request: RequestId) -> bool {
        self.entered == Some(request)
    }

    /// Whether the beat was begun before the last restart of the process, whose voter counts it as received.
    pub(super) fn is_kept_by(&self, process: ProcessId, beat: BegunBeat) -> bool {
        self.restarts.get(&process).is_some_and(|(_, begun)| beat.place < *begun)
    }

    /// The beats whose ends the clocks of their clients have just passed, with their sessions.
    pub(super) fn pass(&mut self, clock: &dyn Fn(ProcessId) -> Time) -> Vec<(Beat, u128)> {
        let mut passed = Vec::new();
        for ((session, incarnation), beats) in &mut self.beats {
            let now = clock(ProcessId::new(*session as u32));
            for beat in beats.iter_mut().filter(|beat| !beat.is_over && beat.end <= now) {
                beat.is_over = true;
                passed.push((Beat { incarnation: *incarnation, number: beat.number }, *session));
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

    fn beats_of(&self, request: RequestId) -> impl Iterator<Item = BegunBeat> {
        let beats = self.beats.get(&(request.session, request.incarnation));
        beats.into_iter().flatten().copied()
    }

    /// Numbers of the beats from the one with which the request was made to this one. This one is always included, and so
    /// is the beat that was over before.
    pub(super) fn beats_until(&self, request: RequestId, last: u64) -> impl Iterator<Item = u64> {
        let first = self.first_beats.get(&request).copied().unwrap_or(0);
        let before = self.beats_of(request).map(|beat| beat.number);
        let before = before.filter(move |number| (first..last).contains(number));
        core::iter::once(BEFORE_ALL).chain(before).chain((last > BEFORE_ALL).then_some(last))
    }

    /// Numbers of the beats of the request's client that end at this time.
    pub(super) fn beats_with_end(&self, request: RequestId, end: Time) -> Vec<u64> {
        let beats = self.beats_of(request).filter(|beat| beat.end == end);
        beats.map(|beat| beat.number).collect()
    }

    /// Numbers of the beats of the request's client that end later.
    pub(super) fn beats_with_later_end(
        &self,
        request: RequestId,
        end: Time,
    ) -> impl Iterator<Item = u64> {
        let beats = self.beats_of(request).filter(move |beat| beat.end > end);
        beats.map(|beat| beat.number)
    }

    /// The votes in a list that the voter has had. Empty if it never had a list of this version.
    pub(super) fn list(&self, voter: ProcessId, epoch: Epoch, version: u64) -> &[(Claim, u64)] {
        self.lists.get(&(voter, epoch, version)).map_or(&[], Vec::as_slice)
    }
}
