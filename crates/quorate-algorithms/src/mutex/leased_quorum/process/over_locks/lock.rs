//! One lock of voters, candidates and clients, whatever drives them.

use alloc::string::String;
use alloc::vec::Vec;

use quorate_core::abstraction::{AbstractState, Element, ElementOrder, Elements, Rows};
use quorate_core::{ProcessId, ProcessSet, Time};

use super::elements::{
    self, ClientName, attempt, claim, client, instant, number, quorum, request, vote, voter,
};
use super::history::{BEFORE_ALL, History};
use crate::mutex::leased_quorum::ballot::GrantedVote;
use crate::mutex::leased_quorum::candidate::{Candidate, PursuitAccount, VoteAccount};
use crate::mutex::leased_quorum::client::Client;
use crate::mutex::leased_quorum::electorate::Electorate;
use crate::mutex::leased_quorum::id::{CandidateId, Claim, RequestId, VoteId};
use crate::mutex::leased_quorum::message::{Name, RequestStatus, ToCandidate, ToVoter, Wanted};
use crate::mutex::leased_quorum::voter::{Abstention, PeerMessage, Voter};

/// Maximum number of voters. All sets of voters are tried as quorums.
const VOTERS_MOST: usize = 8;

/// Kind of a client in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowedKind {
    /// The client numbers its attempts, and its candidates record nothing.
    Direct,
    /// Candidates record tokens, and any of them may report what a quorum lists.
    Relayed,
    /// Candidates record tokens, and may withdraw those that they have not reported.
    Lease,
}

impl FollowedKind {
    /// Whether the candidates of the client record tokens.
    pub fn is_relayed(self) -> bool {
        self != Self::Direct
    }
}

/// A client of a run that is followed in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowedClient {
    /// The client in the model.
    pub name: ClientName,
    /// Owner of the client, its requests and its candidates. No voter has the same number.
    pub owner: ProcessId,
    /// Kind of the client.
    pub kind: FollowedKind,
    /// Whether its candidates run elsewhere. They may present earlier beats with a request than the one with which the
    /// client has made it.
    pub is_remote: bool,
}

/// Restart of a voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The voter has read its vote file.
    WithFile,
    /// The voter has forgotten its votes, but a mark bounds its numbers.
    WithMark,
    /// The voter has forgotten its votes and its numbers.
    WithNothing,
}

impl Restart {
    fn action(self) -> &'static str {
        match self {
            Self::WithFile => "restart",
            Self::WithMark => "forget_votes",
            Self::WithNothing => "forget_all",
        }
    }
}

/// Maps one lock to the model of the lock service: the states of voters, candidates and clients, and their messages.
#[derive(Clone, Debug)]
pub struct FollowedLock<K> {
    lock: K,
    /// The quorums that contain no other quorum.
    quorums: Vec<Element>,
    /// The number of the process with voter 0. Owners of voters are counted from there.
    first: u32,
    history: History,
}

impl<K: Name> FollowedLock<K> {
    /// The model, as `proofs/export.py` writes it.
    pub const MODEL: &'static str = include_str!("../../locks.model");

    /// The total orders among the static relations of the model.
    pub const ORDERS: &'static [(&'static str, ElementOrder)] =
        &[("at_most", ElementOrder::ByKey), ("attempt_at_most", ElementOrder::ByKey)];

    /// Sorts of the elements that act.
    pub const ACTORS: &'static [&'static str] = &["Voter", "Client", "Request", "Claim", "Instant"];

    /// Follows this lock at voters that never change, if there are at most eight of them. Process `first` is the owner of voter
    /// 0, and the next ones are those of the others.
    pub fn new(lock: K, electorate: &Electorate, first: u32) -> Option<Self> {
        if electorate.len() > VOTERS_MOST {
            return None;
        }
        let set = |bits: u32| -> ProcessSet {
            electorate.all().iter().filter(|voter| bits >> voter.number() & 1 == 1).collect()
        };
        let is_minimal = |voters: &ProcessSet| {
            let without = |voter: ProcessId| voters.iter().filter(|it| *it != voter).collect();
            electorate.is_quorum(voters)
                && voters.iter().all(|voter| !electorate.is_quorum(&without(voter)))
        };
        let sets = (0..1 << electorate.len()).map(set);
        let quorums = sets.filter(is_minimal).map(|voters| quorum(&voters)).collect();
        Some(Self { lock, quorums, first, history: History::default() })
    }

    /// Announces a client before its first step.
    pub fn add_client(&mut self, session: u128, incarnation: u64, client: FollowedClient) {
        self.history.add_client(session, incarnation, client);
    }

    /// Owner of a client that was announced.
    pub fn owner_of(&self, session: u128, incarnation: u64) -> Option<ProcessId> {
        self.history.client(self.history.name(session, incarnation)).map(|client| client.owner)
    }

    /// Takes note of a client that has handled an input.
    pub fn observe_client(&mut self, client: &Client<K>) {
        self.history.observe_client(client, &self.lock);
    }

    /// Takes note of a candidate that has handled an input.
    pub fn observe_candidate(&mut self, candidate: &Candidate<K>) {
        self.history.observe_candidate(candidate, &self.lock);
    }

    /// Takes note of a voter that has handled an input, or has just restarted.
    pub fn observe_voter(&mut self, id: ProcessId, voter: &Voter<K>, restart: Option<Restart>) {
        self.history.observe_voter(id, voter, restart, &self.lock);
    }

    /// Adds the instants that have passed. `clock` is what the clock of a client shows, by its owner.
    pub fn time_passes(&mut self, clock: &dyn Fn(ProcessId) -> Time, rows: &mut Rows) {
        for (of, beat) in self.history.pass(clock) {
            rows.add("over", [instant(of, beat)]);
        }
    }

    fn name_of(&self, of: RequestId) -> ClientName {
        self.history.name(of.session, of.incarnation)
    }

    fn request(&self, of: RequestId) -> Element {
        request(self.name_of(of), of.number)
    }

    fn claim(&self, of: Claim) -> Element {
        claim(self.name_of(of.request), of.request.number, of.attempt, of.candidate)
    }

    fn vote(&self, voter: ProcessId, of: RequestId, id: VoteId) -> Element {
        vote(voter, self.name_of(of), of.number, id)
    }

    fn end_of(&self, of: RequestId, beat: u64) -> Element {
        instant(self.name_of(of), beat)
    }

    /// Ends of the beats of the request's client, from the request's first one to this one.
    fn instants(&self, of: RequestId, beat: u64) -> impl Iterator<Item = Element> {
        let beats = self.history.beats_until(of, beat);
        beats.map(move |number| self.end_of(of, number))
    }

    /// The state of an owner without anything that it implies.
    pub(super) fn nothing(&self) -> AbstractState {
        let mut state = AbstractState::default();
        self.quorums.iter().for_each(|quorum| state.mention(*quorum));
        state
    }

    /// The rows that a client implies which uses this candidate, and a candidate that pursues its requests.
    pub fn client_state(
        &self,
        client: Option<(&Client<K>, CandidateId)>,
        candidate: Option<&Candidate<K>>,
    ) -> AbstractState {
        let mut state = self.nothing();
        if let Some((client, candidate)) = client {
            self.add_client_rows(client, candidate, &mut state);
        }
        if let Some(candidate) = candidate {
            self.add_beats(candidate, &mut state);
            for pursuit in candidate.account(&self.lock) {
                self.add_pursuit(&pursuit, candidate.records(), &mut state);
            }
        }
        state
    }

    /// The client has begun no beats but those that it has counted.
    fn add_beats(&self, of: &Candidate<K>, state: &mut AbstractState) {
        let presented = of.session();
        let (session, incarnation) = (presented.session, presented.beat.incarnation);
        let name = self.history.name(session, incarnation);
        state.closed.push(("begun", client(name)));
        for beat in self.history.beats_of(session, incarnation) {
            state.has("begun", [Some(client(name)), Some(instant(name, beat.number))]);
        }
    }

    fn add_client_rows(&self, of: &Client<K>, candidate: CandidateId, state: &mut AbstractState) {
        let presented = of.presented();
        let name = self.history.name(presented.session, presented.beat.incarnation);
        for number in core::iter::once(BEFORE_ALL).chain(of.ends().map(|(number, _)| number)) {
            state.has("begun", [Some(client(name)), Some(instant(name, number))]);
        }
        let wanted = of.all_wanted().into_iter().filter(|wanted| wanted.lock == self.lock);
        for wanted in wanted {
            self.add_wanted(of, &wanted, candidate, state);
        }
    }

    fn add_wanted(
        &self,
        of: &Client<K>,
        wanted: &Wanted<K>,
        candidate: CandidateId,
        state: &mut AbstractState,
    ) {
        let its = self.request(wanted.request);
        state.lacks("stopped", [Some(its)]);
        let is_relayed = self.history.is_relayed(wanted.request);
        if !is_relayed {
            let present = Claim { request: wanted.request, attempt: wanted.attempt, candidate };
            state.has("latest", [Some(self.claim(present))]);
        }
        for unreported in self.history.unreported(wanted.request) {
            state.lacks("reported", [Some(self.claim(unreported))]);
        }
        let token = wanted.inside.map(|token| [its, number(token)]);
        state.only("token", its, token);
        match of.valid_until(wanted.request) {
            Some(until) => {
                if !is_relayed {
                    state.has("inside", [Some(its)]);
                }
                self.add_validity(wanted.request, until, state);
            }
            None => state.lacks("inside", [Some(its)]),
        }
    }

    /// The client relies on a beat that ends at this time, and on no later one.
    fn add_validity(&self, of: RequestId, until: Time, state: &mut AbstractState) {
        let its = self.request(of);
        // A voter that has echoed the later one of two beats with the same end has echoed the earlier one, too. No beat has the last
        // number.
        let relied = self.history.beat_with_end(of, until).unwrap_or(u64::MAX);
        state.has("relies", [Some(its), None, Some(self.end_of(of, relied))]);
        for later in self.history.beats_with_later_end(of, until) {
            state.lacks("relies", [Some(its), None, Some(self.end_of(of, later))]);
        }
    }

    fn add_pursuit(&self, of: &PursuitAccount, records: bool, state: &mut AbstractState) {
        let (id, its) = (of.claim.request, self.claim(of.claim));
        state.has("asked", [Some(its)]);
        for (voter, returned) in &of.returned {
            let returned = self.vote(*voter, id, *returned);
            state.has("returned", [Some(returned), Some(its)]);
        }
        for counted in &of.votes {
            self.add_counted(of.claim, counted, records, state);
        }
        if !records {
            self.add_reports(of, state);
        }
    }

    /// The candidate of a client that is not relayed grants, and reports what it has granted.
    fn add_reports(&self, of: &PursuitAccount, state: &mut AbstractState) {
        let (id, its) = (of.claim.request, self.claim(of.claim));
        match of.granted.is_some() || of.is_broken {
            true => state.has("granted", [Some(its)]),
            false => state.lacks("granted", [Some(its)]),
        }
        if of.is_inside {
            state.has("knows_inside", [Some(its)]);
        } else if self.history.waits(id) {
            // In the model a candidate knows at once that its client has entered.
            state.lacks("knows_inside", [Some(its)]);
        }
        let mut reports = |token, beat| {
            let row = [Some(its), None, Some(number(token)), Some(self.end_of(id, beat))];
            state.has("grant_report", row);
        };
        if let Some((token, beat)) = of.granted.zip(of.entering)
            && self.history.has_entered(id)
        {
            // The client has entered with a report that the candidate has replaced by a later one since.
            reports(token, beat);
        }
        match of.told {
            Some(RequestStatus::Granted { token, beat }) if of.granted.is_some() => {
                reports(token, beat.number);
            }
            Some(RequestStatus::Held(Some(beat))) if of.is_inside => {
                let end = self.end_of(id, beat.number);
                state.has("held_report", [Some(its), None, Some(end)]);
            }
            _ => {}
        }
    }

    /// Everything for which the candidate counts the vote was sent by its voter.
    fn add_counted(
        &self,
        of: Claim,
        counted: &VoteAccount,
        records: bool,
        state: &mut AbstractState,
    ) {
        let (its, given) = (self.claim(of), self.vote(counted.voter, of.request, counted.vote));
        state.has("told", [Some(given), Some(its)]);
        state.lacks("returned", [Some(given), Some(its)]);
        for confirmed in counted.vote.number..=counted.last {
            state.has("raised", [Some(given), Some(its), Some(number(confirmed))]);
        }
        let heard = counted.beat.into_iter();
        for end in heard.flat_map(|beat| self.instants(of.request, beat)) {
            state.has("echoed", [Some(given), Some(its), Some(end)]);
        }
        if !records || self.history.has_ended(of.request) {
            return;
        }
        if let Some(token) = counted.recorded {
            state.has("recorded", [Some(given), Some(its), Some(number(token))]);
        }
        if counted.found.is_some_and(|(attempt, _)| attempt < of.attempt) {
            state.has("found", [Some(given), Some(its)]);
        }
    }

    /// The rows that a voter implies.
    pub fn voter_state(&self, id: ProcessId, its: &Voter<K>) -> AbstractState {
        let (mut state, own) = (self.nothing(), voter(id));
        let abstention = its.abstention();
        state.exactly("abstains", abstention.is_some().then_some([own]));
        let lost = matches!(abstention, Some(Abstention::WithoutMark | Abstention::Learning(_)));
        state.exactly("lost_numbers", lost.then_some([own]));
        let learns = matches!(abstention, Some(Abstention::Learning(_)));
        state.exactly("learning", learns.then_some([own]));
        match abstention {
            None => self.add_voting(id, its, &mut state),
            // The model keeps earlier votes until the voter votes again, and the numbers that a mark bounds.
            Some(Abstention::WithMark) => {}
            Some(Abstention::WithoutMark) => state.exactly::<2>("used", []),
            Some(Abstention::Learning(told)) => {
                state.exactly::<2>("used", []);
                for other in told {
                    state.has("answered", [Some(own), Some(voter(other))]);
                }
            }
        }
        self.add_kept(id, its, &mut state);
        state.action = self.history.restart_of(id).map(Restart::action);
        state
    }

    fn add_voting(&self, id: ProcessId, its: &Voter<K>, state: &mut AbstractState) {
        let given = its.ballot(&self.lock).and_then(|ballot| ballot.vote());
        let given = given.and_then(|its_vote| {
            let GrantedVote { claim: of, number, .. } = *its_vote;
            let epoch = its.session(of.request.session)?.epoch;
            Some((self.vote(id, of.request, VoteId { epoch, number }), *its_vote))
        });
        state.exactly("out", given.map(|(vote, _)| [vote]));
        if let Some((vote, of)) = given {
            state.has("has", [Some(vote), Some(self.claim(of.claim))]);
            match of.frozen {
                Some(_) => state.has("frozen", [Some(vote)]),
                None => state.lacks("frozen", [Some(vote)]),
            }
            self.add_record(vote, &of, state);
        }
        let last = its.last(&self.lock).unwrap_or(0);
        state.exactly("used", (1..=last).map(|used| [voter(id), number(used)]));
    }

    /// The token on record. Records of requests that have ended have no meaning, and neither have those of clients that enter with
    /// their own candidate.
    fn add_record(&self, vote: Element, of: &GrantedVote, state: &mut AbstractState) {
        let request = of.claim.request;
        if !self.history.is_relayed(request) || self.history.has_ended(request) {
            return;
        }
        match of.entered {
            Some((attempt, token)) => {
                let its = (attempt == of.claim.attempt).then(|| self.claim(of.claim));
                state.has("recorded", [Some(vote), its, Some(number(token))]);
            }
            None => state.lacks("is_recorded", [Some(vote)]),
        }
    }

    fn add_kept(&self, id: ProcessId, its: &Voter<K>, state: &mut AbstractState) {
        for (session, incarnation, beat) in self.history.all_beats() {
            let heard = its.session(session).and_then(|it| it.beats.get(&incarnation));
            let is_heard = heard.is_some_and(|heard| beat.number <= heard.number);
            let name = self.history.name(session, incarnation);
            let row = [Some(voter(id)), Some(client(name)), Some(instant(name, beat.number))];
            if is_heard || self.history.is_kept_by(id, beat) {
                state.has("keeps", row);
            } else if !beat.is_over {
                state.lacks("keeps", row);
            }
        }
    }

    /// Adds the rows of a message to a voter.
    pub fn sent_to_voter(&self, to: ProcessId, message: &ToVoter<K>, rows: &mut Rows) {
        let begun = |session: u128, incarnation, number, rows: &mut Rows| {
            let name = self.history.name(session, incarnation);
            rows.add("begun", [client(name), instant(name, number)]);
        };
        match message {
            ToVoter::Beat { session, .. } => {
                begun(session.session, session.beat.incarnation, session.beat.number, rows);
            }
            ToVoter::Request { session, claim, lock, .. } => {
                begun(session.session, session.beat.incarnation, session.beat.number, rows);
                if *lock == self.lock {
                    rows.add("asked", [self.claim(*claim)]);
                }
            }
            ToVoter::Yield { lock, claim, vote } if *lock == self.lock => {
                let returned = self.vote(to, claim.request, *vote);
                rows.add("returned", [returned, self.claim(*claim)]);
            }
            ToVoter::Release { lock, request, .. } if *lock == self.lock => {
                rows.add("stopped", [self.request(*request)]);
            }
            // Without a record, a confirmation is asked for at any time.
            ToVoter::Raise { lock, claim, vote, token, enters: true }
                if *lock == self.lock && !self.history.has_ended(claim.request) =>
            {
                let given = self.vote(to, claim.request, *vote);
                rows.add("record_request", [given, self.claim(*claim), number(*token)]);
            }
            ToVoter::Withdraw { lock, claim, untold } if *lock == self.lock => {
                rows.add("withdrawn", [self.claim(*claim)]);
                if *untold {
                    rows.add("untold", [self.claim(*claim)]);
                }
            }
            _ => {}
        }
    }

    /// Adds the rows of a message of a voter to a candidate.
    pub fn sent_to_candidate(&self, voter: ProcessId, message: &ToCandidate<K>, rows: &mut Rows) {
        match message {
            ToCandidate::Echo { epoch, beat, version, part, entries, .. } => {
                let own = entries.iter().filter(|entry| entry.lock == self.lock);
                let listed = own.filter_map(|it| Some((it.claim, it.vote?)));
                let list: Vec<(Claim, u64)> = match part {
                    Some(_) => listed.collect(),
                    None => self.history.list(voter, *epoch, *version).to_vec(),
                };
                let own = list.iter().filter(|it| it.0.request.incarnation == beat.incarnation);
                for (of, number) in own {
                    let id = VoteId { epoch: *epoch, number: *number };
                    self.add_echoed(self.vote(voter, of.request, id), *of, beat.number, rows);
                }
            }
            ToCandidate::Vote { lock, claim: of, vote: id, last, beat, .. }
                if *lock == self.lock =>
            {
                let given = self.vote(voter, of.request, *id);
                rows.add("told", [given, self.claim(*of)]);
                self.add_raised(given, *of, (*id, *last), rows);
                self.add_echoed(given, *of, beat.number, rows);
            }
            ToCandidate::Raised { lock, claim: of, vote: id, last, .. } if *lock == self.lock => {
                let given = self.vote(voter, of.request, *id);
                self.add_raised(given, *of, (*id, *last), rows);
            }
            _ => {}
        }
    }

    fn add_echoed(&self, vote: Element, of: Claim, beat: u64, rows: &mut Rows) {
        for end in self.instants(of.request, beat) {
            rows.add("echoed", [vote, self.claim(of), end]);
        }
    }

    /// The voter has confirmed all numbers up to the last one.
    fn add_raised(&self, vote: Element, of: Claim, (id, last): (VoteId, u64), rows: &mut Rows) {
        for confirmed in id.number..=last {
            rows.add("raised", [vote, self.claim(of), number(confirmed)]);
        }
    }

    /// Adds the rows of a message between voters. An answer to an earlier incarnation has no effect. Of several answers of one
    /// voter, the model counts the first one, which has the smallest numbers.
    pub fn sent_to_peer(
        &self,
        from: ProcessId,
        to: ProcessId,
        sent: &PeerMessage,
        rows: &mut Rows,
    ) {
        if let PeerMessage::Known { asked, .. } = *sent
            && self.history.is_learning(to, asked)
        {
            rows.add("answered", [voter(to), voter(from)]);
        }
    }
}

impl<K: Name> Elements for FollowedLock<K> {
    fn owner(&self, element: &Element) -> Option<ProcessId> {
        match element.sort {
            "Voter" => Some(ProcessId::new(self.first + element.key[0] as u32)),
            "Vote" => Some(ProcessId::new(self.first + elements::voter_of(element).number())),
            "Client" | "Request" | "Claim" => {
                let name = ClientName::of(element);
                let known = self.history.client(name).map(|client| client.owner);
                Some(known.unwrap_or(ProcessId::new(name.machine)))
            }
            _ => None,
        }
    }

    fn describe(&self, element: &Element, rows: &mut Rows) {
        match element.sort {
            "Quorum" => {
                let members = element.members();
                members.iter().for_each(|of| rows.add("member", [voter(of), *element]));
            }
            "Client" => {
                let kind = self.history.client(ClientName::of(element)).map(|client| client.kind);
                if kind.is_some_and(FollowedKind::is_relayed) {
                    rows.add("relayed", [*element]);
                }
                if kind == Some(FollowedKind::Lease) {
                    rows.add("lease", [*element]);
                }
            }
            "Request" => rows.add("client_of", [*element, client(ClientName::of(element))]),
            "Claim" => {
                rows.add("claim_for", [*element, elements::request_of_claim(element)]);
                rows.add("attempt_of", [*element, attempt(element.key[2])]);
            }
            "Vote" => {
                rows.add("by", [*element, voter(elements::voter_of(element))]);
                rows.add("vote_for", [*element, elements::request_of_vote(element)]);
                rows.add("number_of", [*element, number(element.key[3])]);
            }
            // Numbers below a known one are elements too, so that a voter that has used it has used them.
            "Number" if element.key[0] > 1 => {
                rows.add("at_most", [number(element.key[0] - 1), *element]);
            }
            _ => {}
        }
    }

    fn name(&self, element: &Element) -> String {
        elements::name(element)
    }
}
