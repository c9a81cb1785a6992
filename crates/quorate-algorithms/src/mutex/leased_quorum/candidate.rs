//! The candidate: collects votes for one session, inside the client or inside a node on behalf of a remote client.
//!
//! A candidate is soft state. It has no clock: the validity of a vote is expressed by the newest beat that its voter
//! has echoed, and only the client knows when it sent that beat.

mod account;
mod change;
mod continuity;
mod lists;
mod pursuit;
mod tokens;
mod view;

use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet, SortedMap, Span};

use super::electorate::Electorate;
use super::id::{Beat, CandidateId, Claim, Epoch, RequestId, VoteId};
use super::message::{
    Entry, Name, Presented, Rank, Report, RequestStatus, ToCandidate, ToVoter, Wanted,
};
pub(super) use account::{PursuitAccount, VoteAccount};
use pursuit::{Counted, Pursuit};
use view::View;

/// A candidate of one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate<K: Name> {
    id: CandidateId,
    electorate: Electorate,
    session: Presented,
    /// Requests of the client's incarnation up to this number that are not pursued have ended.
    issued: u64,
    /// Whether a token is recorded at a quorum before it is reported to the client. This is for clients that cannot
    /// pass the token on to another candidate.
    records_entries: bool,
    /// The electorate of the configuration before.
    previous: Option<Electorate>,
    views: Vec<View<K>>,
    pursuits: SortedMap<RequestId, Pursuit<K>>,
}

/// An effect of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateEffect<K> {
    /// Sends a message to a voter.
    Send(ProcessId, ToVoter<K>),
    /// Reports the status of a request to the client.
    Report(Report),
    /// Reports that a voter applies another time-to-live to this session.
    Refused(Span),
}

/// Buffer of candidate effects.
pub type CandidateEffects<K> = Vec<CandidateEffect<K>>;

/// The contents of an arriving vote.
struct ArrivedVote {
    claim: Claim,
    vote: VoteId,
    last: u64,
    stamp: u64,
    beat: Beat,
    version: u64,
    entered: Option<(u64, u64)>,
    recorded_in: u64,
    ended: u64,
    config: u64,
    floor: u64,
}

impl<K: Name> Candidate<K> {
    /// Creates a candidate for a session whose client begins with this beat.
    pub fn new(id: CandidateId, electorate: Electorate, session: Presented) -> Self {
        let views = alloc::vec![View::default(); electorate.bound()];
        let session = Presented { config: electorate.index(), ..session };
        let (issued, records_entries, previous) = (0, false, None);
        let pursuits = SortedMap::new();
        Self { id, electorate, session, issued, records_entries, previous, views, pursuits }
    }

    /// The same candidate, which records tokens at the voters before it reports them.
    #[must_use]
    pub fn recording_entries(mut self) -> Self {
        (self.records_entries, self.session.relayed) = (true, true);
        self
    }

    /// The session of the candidate.
    pub fn session(&self) -> Presented {
        self.session
    }

    /// The greatest clock received from a voter.
    pub fn clock(&self) -> u64 {
        self.views.iter().map(|view| view.clock).max().unwrap_or(0)
    }

    /// The newest beat that a quorum has echoed. It determines how long the session itself is known to live.
    pub fn echoed(&self) -> Option<Beat> {
        self.quorum_echo(|_| true)
    }

    /// The status of every request.
    pub fn reports(&self) -> impl Iterator<Item = Report> + '_ {
        self.pursuits.keys().filter_map(|request| self.report(*request))
    }

    /// The lists that voters have sent, for finding requests that another candidate has pursued.
    pub fn listed(&self) -> impl Iterator<Item = (ProcessId, &Entry<K>)> {
        let views = self.views.iter().enumerate();
        views.flat_map(|(index, view)| {
            view.listed.values().map(move |entry| (ProcessId::from_index(index), entry))
        })
    }

    /// The lists of voters that have echoed this beat or a later one.
    pub fn listed_since(&self, beat: u64) -> impl Iterator<Item = (ProcessId, &Entry<K>)> {
        self.listed().filter(move |(voter, _)| self.views[voter.index()].beat >= Some(beat))
    }

    /// Visits the number of every beat that the candidate remembers, for explorers that number beats by the clock.
    pub fn beat_numbers(&mut self, show: &mut dyn FnMut(&mut u64)) {
        show(&mut self.session.beat.number);
        self.views.iter_mut().filter_map(|view| view.beat.as_mut()).for_each(&mut *show);
        for pursuit in self.pursuits.values_mut() {
            let counted = pursuit.votes.values_mut();
            counted.filter_map(|counted| counted.beat.as_mut()).for_each(&mut *show);
            let told = pursuit.told.as_mut().map(|told| &mut told.standing);
            if let Some(RequestStatus::Granted { beat, .. } | RequestStatus::Held(Some(beat))) =
                told
            {
                show(&mut beat.number);
            }
        }
    }

    /// Records that the client has begun a beat. The next requests carry it to the voters that they ask.
    pub fn note_beat(&mut self, number: u64, issued: u64) {
        self.session.beat.number = self.session.beat.number.max(number);
        self.issued = self.issued.max(issued);
    }

    /// Repeats the present beat, so that every voter learns the stamps of all requests. Voters that are asked only
    /// later then know their positions. This matters most to a client that is inside: with a young stamp it would wait
    /// for a spare vote behind clients that wait for it.
    pub fn announce(&self, out: &mut CandidateEffects<K>) {
        out.extend(self.electorate.all().iter().map(|voter| self.beat_to(voter)));
    }

    fn beat_to(&self, voter: ProcessId) -> CandidateEffect<K> {
        CandidateEffect::Send(voter, self.present(voter))
    }

    /// The present beat, with the stamps that the voter may not know.
    pub fn present(&self, voter: ProcessId) -> ToVoter<K> {
        let view = &self.views[voter.index()];
        let knows = |(request, pursuit): &(&RequestId, &Pursuit<K>)| {
            view.listed.contains_key(*request) || pursuit.votes.contains_key(&voter)
        };
        let unknown = self.pursuits.iter().filter(|of| !knows(of));
        let waiting = unknown.map(|(request, pursuit)| (*request, pursuit.stamp)).collect();
        let (session, seen) = (self.session, view.seen());
        let confirms = view.confirmed && !view.continuous;
        ToVoter::Beat { session, seen, waiting, confirms }
    }

    /// Begins a beat of the client: sends it to all voters, and repeats messages that may have been lost.
    pub fn begin_beat(&mut self, number: u64, issued: u64, out: &mut CandidateEffects<K>) {
        self.note_beat(number, issued);
        self.announce(out);
        let requests: Vec<RequestId> = self.pursuits.keys().copied().collect();
        for request in requests {
            self.widen(request, out);
            self.repeat(request, out);
        }
    }

    /// Asks every voter for this request, because the preferred voters had enough time or the client has been
    /// inside for more than a beat interval.
    pub fn widen(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        if let Some(pursuit) = self.pursuits.get_mut(&request) {
            // A lock that is held for less than a beat interval needs no spare votes.
            pursuit.asks_all = pursuit.asks_all || core::mem::replace(&mut pursuit.is_old, true);
            self.ask(request, out);
        }
    }

    /// Starts a request, continues it with a greater attempt, or learns that the client is inside.
    pub fn pursue(&mut self, wanted: Wanted<K>, out: &mut CandidateEffects<K>) {
        let Wanted { lock, request, attempt, stamp, inside, ended } = wanted;
        // A new request is younger than every clock that its session has received. Without a clock, voters stamp it. If
        // other candidates may have requested it before, voters know its stamp.
        let stamp = match (stamp, self.clock()) {
            (0, clock) if clock > 0 && !self.records_entries => clock + 1,
            _ => stamp,
        };
        match self.pursuits.get_mut(&request) {
            Some(pursuit) if pursuit.attempt >= attempt => {
                if pursuit.attempt == attempt && pursuit.inside.is_none() {
                    pursuit.inside = inside;
                }
            }
            known => {
                let known = known.as_deref();
                let before = known.map_or(0, |known| known.ended_before).max(ended);
                let stamp = known.map_or(stamp, |known| stamp.max(known.stamp));
                let found = self.found(request, (attempt, before));
                let new = Pursuit::new(lock, attempt, stamp);
                let pursuit = Pursuit { inside, found, ended_before: before, ..new };
                self.pursuits.insert(request, pursuit);
            }
        }
        self.ask(request, out);
        self.advance(request, out);
    }

    /// Ends a request, because the client has stopped or no longer wants the lock. Only the client initiates this.
    pub fn release(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        let Some(pursuit) = self.pursuits.remove(&request) else { return };
        self.issued = self.issued.max(request.number);
        for (index, view) in self.views.iter().enumerate() {
            let voter = ProcessId::from_index(index);
            if pursuit.asked.contains(voter) || view.listed.contains_key(&request) {
                let (lock, token) = (pursuit.lock.clone(), pursuit.inside);
                let attempt = u64::MAX;
                let release = ToVoter::Release { lock, request, attempt, token };
                out.push(CandidateEffect::Send(voter, release));
            }
        }
    }

    /// Withdraws an attempt about which nothing was reported to the client. Returns `false` if that is not possible any
    /// more: once a token may be recorded, other candidates report it to the client. With `untold` the client uses no
    /// other candidate, and only a token of an earlier attempt prevents the withdrawal.
    pub fn withdraw(
        &mut self,
        request: RequestId,
        untold: bool,
        out: &mut CandidateEffects<K>,
    ) -> bool {
        let Some(pursuit) = self.pursuits.get(&request) else { return false };
        let told = pursuit.found.is_some() || (pursuit.recording.is_some() && !untold);
        if told || (pursuit.inside.is_some() && !untold) {
            return false;
        }
        let (lock, claim) = (pursuit.lock.clone(), self.claim(request, pursuit));
        for voter in &pursuit.asked {
            let withdraw = ToVoter::Withdraw { lock: lock.clone(), claim, untold };
            out.push(CandidateEffect::Send(voter, withdraw));
        }
        self.pursuits.remove(&request);
        true
    }

    /// Stops pursuing a request, and leaves its votes to other candidates of the session.
    pub fn forget(&mut self, request: RequestId) {
        self.pursuits.remove(&request);
    }

    /// The last attempt of a request that has ended according to the voters, and whether it was ended by force.
    pub fn ended(&self, request: RequestId) -> Option<(u64, bool)> {
        self.pursuits.get(&request).map(|pursuit| (pursuit.ended, pursuit.forced))
    }

    /// Ends the session on behalf of the client.
    pub fn end(&mut self, out: &mut CandidateEffects<K>) {
        self.pursuits.clear();
        for voter in &self.electorate.all() {
            let session = self.session.session;
            out.push(CandidateEffect::Send(voter, ToVoter::End { session }));
        }
    }

    /// Handles a voter that is unreachable or leaves: other voters are asked immediately. Its votes still count.
    pub fn avoid(&mut self, voter: ProcessId, out: &mut CandidateEffects<K>) {
        let Some(view) = self.views.get_mut(voter.index()).filter(|view| !view.avoided) else {
            return;
        };
        view.avoided = true;
        let requests: Vec<RequestId> = self.pursuits.keys().copied().collect();
        requests.into_iter().for_each(|request| self.ask(request, out));
    }

    /// Handles a voter that is reachable again: sends it the present beat and the outstanding requests.
    pub fn resume(&mut self, voter: ProcessId, out: &mut CandidateEffects<K>) {
        let Some(view) = self.views.get_mut(voter.index()) else { return };
        view.avoided = false;
        out.push(self.beat_to(voter));
        self.repeat_requests(voter, out);
    }

    /// Sends a voter the outstanding requests once more.
    pub fn repeat_requests(&self, voter: ProcessId, out: &mut CandidateEffects<K>) {
        for (request, pursuit) in &self.pursuits {
            if pursuit.asked.contains(voter) && !pursuit.votes.contains_key(&voter) {
                out.push(CandidateEffect::Send(voter, self.request(*request, pursuit)));
            }
        }
    }

    /// Handles a message of a voter.
    pub fn on_message(
        &mut self,
        voter: ProcessId,
        message: ToCandidate<K>,
        out: &mut CandidateEffects<K>,
    ) {
        if voter.index() >= self.views.len() {
            return;
        }
        match message {
            ToCandidate::Echo { epoch, beat, continuous, clock, version, part, entries } => {
                self.hear_clock(voter, clock);
                if self.enter_epoch(voter, epoch) {
                    self.views[voter.index()].continuous |= continuous;
                    self.on_echo(voter, version, beat, part, entries, out);
                }
            }
            ToCandidate::Vote {
                claim,
                vote,
                last,
                stamp,
                beat,
                clock,
                version,
                entered,
                recorded_in,
                ended,
                config,
                floor,
                ..
            } => {
                self.hear_clock(voter, clock);
                let arrived = ArrivedVote {
                    claim,
                    vote,
                    last,
                    stamp,
                    beat,
                    version,
                    entered,
                    recorded_in,
                    ended,
                    config,
                    floor,
                };
                self.on_vote(voter, arrived, out);
            }
            ToCandidate::Behind { claim, epoch, stamp, place, clock, ended, .. } => {
                self.hear_clock(voter, clock);
                self.on_behind(voter, claim, epoch, (stamp, place, ended), out);
            }
            ToCandidate::Raised { claim, vote, last, entered, recorded_in, .. } => {
                let records = self.records_entries;
                let Some(pursuit) = self.pursuit(claim) else { return };
                let Some(counted) = pursuit.votes.get_mut(&voter).filter(|it| it.vote == vote)
                else {
                    return;
                };
                counted.last = counted.last.max(last);
                counted.recorded_in = counted.recorded_in.max(recorded_in);
                counted.entered = entered.or(counted.entered);
                let found = entered.map(|token| (claim.attempt, token));
                counted.found = found.or(counted.found);
                if let Some(token) = entered.filter(|_| records) {
                    pursuit.grow(token);
                }
                self.advance(claim.request, out);
            }
            ToCandidate::Inquire { claim, vote, .. } => self.on_inquire(voter, claim, vote, out),
            ToCandidate::Stale { claim, attempt, .. } => {
                if let Some(pursuit) = self.pursuit(claim) {
                    pursuit.stale = Some(attempt);
                    self.tell(claim.request, out);
                }
            }
            ToCandidate::Gone { request, attempt, forced, .. } => {
                self.on_gone(voter, request, (attempt, forced));
                self.tell(request, out);
            }
            ToCandidate::Unavailable => self.avoid(voter, out),
            // The driver gets the configuration and calls `adopt`.
            ToCandidate::Outdated { .. } => {}
            ToCandidate::Refused { session, ttl } => {
                if session == self.session.session {
                    out.push(CandidateEffect::Refused(ttl));
                }
            }
        }
    }

    fn hear_clock(&mut self, voter: ProcessId, clock: u64) {
        let view = &mut self.views[voter.index()];
        view.clock = view.clock.max(clock);
    }

    /// The pursuit of a claim of this candidate, if its attempt is the present one.
    fn pursuit(&mut self, claim: Claim) -> Option<&mut Pursuit<K>> {
        let own = claim.candidate == self.id;
        let pursuit = self.pursuits.get_mut(&claim.request).filter(|_| own)?;
        (pursuit.attempt == claim.attempt).then_some(pursuit)
    }

    fn claim(&self, request: RequestId, pursuit: &Pursuit<K>) -> Claim {
        Claim { request, attempt: pursuit.attempt, candidate: self.id }
    }

    fn request(&self, request: RequestId, pursuit: &Pursuit<K>) -> ToVoter<K> {
        ToVoter::Request {
            session: self.session,
            lock: pursuit.lock.clone(),
            claim: self.claim(request, pursuit),
            stamp: pursuit.stamp,
            inside: pursuit.inside,
            rank: self.rank(request),
            ended: pursuit.ended_before,
        }
    }

    /// Handles the last attempt that the client has ended. Votes with a record of an earlier turn are requested again.
    fn end_earlier(&mut self, claim: Claim, ended: u64, out: &mut CandidateEffects<K>) {
        let Some(pursuit) = self.pursuit(claim) else { return };
        if pursuit.end_earlier(ended) {
            self.ask_the_rest(claim.request, out);
        }
    }

    fn avoided(&self) -> ProcessSet {
        let avoided = self.views.iter().enumerate().filter(|(_, view)| view.avoided);
        avoided.map(|(index, _)| ProcessId::from_index(index)).collect()
    }

    /// Asks the voters that should be asked and were not asked yet: the preferred ones, those that have voted for another
    /// candidate of the session, or all.
    fn ask(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        let avoided = self.avoided();
        let Some(pursuit) = self.pursuits.get_mut(&request) else { return };
        let voters = match pursuit.asks_all {
            true => self.electorate.all(),
            false => self.electorate.preferred(&pursuit.lock, &avoided),
        };
        let listed = self.views.iter().enumerate().filter(|(_, view)| {
            view.listed.get(&request).is_some_and(|entry| entry.vote.is_some())
        });
        let voters = listed.map(|(index, _)| ProcessId::from_index(index)).chain(&voters).collect();
        let new = &(&voters - &pursuit.asked) - &pursuit.gone;
        pursuit.asked.union_with(&new);
        pursuit.stamps.extend(new.iter().map(|voter| (voter, pursuit.stamp)));
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        for voter in &new {
            out.push(CandidateEffect::Send(voter, self.request(request, pursuit)));
        }
    }

    /// Repeats requests that no vote has answered, and confirmations that are missing.
    fn repeat(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        let Some(pursuit) = self.pursuits.get_mut(&request) else { return };
        pursuit.raising = None;
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        let stamp = self.rank(request).stamp().unwrap_or(pursuit.stamp);
        for voter in &(&pursuit.asked - &pursuit.gone) {
            // A voter that knows a smaller stamp than the present one would not ask for its vote back.
            let knows = |counted: &Counted| counted.stamp >= stamp;
            if !pursuit.votes.get(&voter).is_some_and(knows) {
                out.push(CandidateEffect::Send(voter, self.request(request, pursuit)));
            }
        }
        self.record(request, out);
        self.advance(request, out);
    }

    /// Adopts the request's stamp at a voter if it is the greatest. If the request has to wait, every voter that was
    /// asked learns it, so that all queues agree. If it need not wait, the next beat is early enough.
    fn adopt_stamp(
        &mut self,
        voter: ProcessId,
        request: RequestId,
        stamp: u64,
        out: &mut CandidateEffects<K>,
    ) {
        let waits = self.rank(request) == Rank::Waits;
        let Some(pursuit) = self.pursuits.get_mut(&request) else { return };
        pursuit.stamps.insert(voter, stamp);
        pursuit.stamp = pursuit.stamp.max(stamp);
        if pursuit.place == 0 || !waits {
            return;
        }
        let stamp = pursuit.stamp;
        let asked = &pursuit.asked - &pursuit.gone;
        let lags = |voter: &ProcessId| pursuit.stamps.get(voter).is_none_or(|it| *it < stamp);
        let lagging: Vec<ProcessId> = asked.iter().filter(lags).collect();
        pursuit.stamps.extend(lagging.iter().map(|voter| (*voter, stamp)));
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        for voter in lagging {
            out.push(CandidateEffect::Send(voter, self.request(request, pursuit)));
        }
    }

    /// Handles the epoch of the session at a voter. Returns `true` if it is the present one. A new epoch
    /// ends all earlier votes.
    fn enter_epoch(&mut self, voter: ProcessId, epoch: Epoch) -> bool {
        let view = &mut self.views[voter.index()];
        if view.epoch.is_some_and(|known| known > epoch) {
            return false;
        }
        if view.epoch != Some(epoch) {
            // Only candidates in nodes confirm sessions.
            let counts_from = if self.records_entries { self.session.beat.number + 1 } else { 0 };
            let clock = view.clock;
            *view = View { epoch: Some(epoch), clock, counts_from, ..View::default() };
            for pursuit in self.pursuits.values_mut() {
                pursuit.votes.remove(&voter);
            }
        }
        true
    }

    fn on_vote(&mut self, voter: ProcessId, arrived: ArrivedVote, out: &mut CandidateEffects<K>) {
        let ArrivedVote { claim, vote, last, stamp, beat, version, .. } = arrived;
        let ArrivedVote { entered, recorded_in, ended, config, floor, .. } = arrived;
        if !self.enter_epoch(voter, vote.epoch) {
            return;
        }
        self.end_earlier(claim, ended, out);
        let beat = (beat.incarnation == self.session.beat.incarnation).then_some(beat.number);
        let (records, rank) = (self.records_entries, self.rank(claim.request));
        let is_late = config < self.electorate.index();
        let Some(pursuit) = self.pursuit(claim) else { return };
        // It answers a request of an earlier configuration. The voter may have learned numbers of others since.
        if is_late && pursuit.inside.is_none() {
            return;
        }
        let lock = pursuit.lock.clone();
        if pursuit.returned.get(&voter).is_some_and(|returned| *returned >= vote) {
            // The vote was given back, and the YIELD was lost.
            return out.push(CandidateEffect::Send(voter, ToVoter::Yield { lock, claim, vote }));
        }
        if entered.is_some_and(|(attempt, _)| attempt <= pursuit.ended_before) {
            let Some(pursuit) = self.pursuits.get(&claim.request) else { return };
            return out.push(CandidateEffect::Send(voter, self.request(claim.request, pursuit)));
        }
        let recorded = entered.filter(|(attempt, _)| *attempt == claim.attempt).map(|it| it.1);
        let found = entered;
        let counted = Counted {
            vote,
            last,
            stamp,
            beat,
            version,
            entered: recorded,
            found,
            recorded_in,
            floor,
        };
        let known = pursuit.votes.entry(voter).or_insert(counted);
        if known.vote == vote {
            known.last = known.last.max(last);
            known.stamp = known.stamp.max(stamp);
            known.beat = known.beat.max(beat);
            known.entered = recorded.or(known.entered);
            known.found = found.or(known.found);
            known.recorded_in = known.recorded_in.max(recorded_in);
            // Numbers that the voter has learned since concern entries in later configurations.
        } else {
            *known = counted;
        }
        // Only records of earlier attempts count as found. A token that this attempt recorded but has not granted since was
        // never reported to the client, and its votes may have changed.
        pursuit.find(entered.filter(|(attempt, _)| *attempt < claim.attempt));
        if let Some((_, token)) = entered.filter(|_| records) {
            pursuit.grow(token);
        }
        if self.rank(claim.request) < rank {
            self.ask_the_rest(claim.request, out);
        }
        self.adopt_stamp(voter, claim.request, stamp, out);
        self.record(claim.request, out);
        self.advance(claim.request, out);
    }

    fn on_behind(
        &mut self,
        voter: ProcessId,
        claim: Claim,
        epoch: Epoch,
        (stamp, place, ended): (u64, u32, u64),
        out: &mut CandidateEffects<K>,
    ) {
        if !self.enter_epoch(voter, epoch) {
            return;
        }
        self.end_earlier(claim, ended, out);
        let Some(pursuit) = self.pursuit(claim) else { return };
        pursuit.place = place;
        self.adopt_stamp(voter, claim.request, stamp, out);
        self.tell(claim.request, out);
    }

    /// Handles an inquiry for an older request. A vote on which a client may rely is never given back.
    fn on_inquire(
        &mut self,
        voter: ProcessId,
        claim: Claim,
        vote: VoteId,
        out: &mut CandidateEffects<K>,
    ) {
        let (index, records) = self.records_in();
        let Some(pursuit) = self.pursuit(claim) else { return };
        let counted = pursuit.votes.get(&voter).filter(|counted| counted.vote == vote);
        // A vote without a record counts for no other candidate of a relayed session. If two requests have records at
        // some voters each, one of them gets the votes without a record.
        let is_spare = records && counted.is_some_and(|it| !pursuit.may_be_recorded(it, index));
        let recorded = pursuit.found.is_some() || pursuit.recording.is_some();
        // A client in another process may enter with a report of a grant whose votes another candidate has taken over since. So
        // the other votes of the grant must stay where they are.
        if pursuit.broken {
            return;
        }
        let told = pursuit.inside.or(pursuit.granted);
        if told.is_some() || (recorded && !is_spare) {
            return;
        }
        // The vote itself carries whether the client may be inside, so it has to arrive first.
        let is_known = counted.is_some();
        let is_returned = pursuit.returned.get(&voter).is_some_and(|returned| *returned >= vote);
        if !is_known && !is_returned {
            return;
        }
        pursuit.votes.retain(|of, counted| *of != voter || counted.vote != vote);
        let returned = pursuit.returned.entry(voter).or_insert(vote);
        *returned = vote.max(*returned);
        pursuit.raising = None;
        let lock = pursuit.lock.clone();
        out.push(CandidateEffect::Send(voter, ToVoter::Yield { lock, claim, vote }));
    }

    fn on_gone(&mut self, voter: ProcessId, request: RequestId, (ended, forced): (u64, bool)) {
        if let Some(pursuit) = self.pursuits.get_mut(&request).filter(|it| it.attempt <= ended) {
            (pursuit.ended, pursuit.forced) = (ended.max(pursuit.ended), forced | pursuit.forced);
            pursuit.gone.insert(voter);
        }
    }
}
