//! Abstraction of the processes to the model of `proofs/locks.py`.
//!
//! Every client has its own candidate, so relays are not covered. An instant of the model is the end of a beat by the clock of
//! its client, computed from what the client itself remembers. Numbers, beats and quorums that the code compares become rows: a
//! voter that has confirmed a number has confirmed all numbers from that of its vote on, and an echo of a beat is one of all
//! earlier beats since the request was made.

mod elements;
mod history;

use alloc::string::String;
use alloc::vec::Vec;

use quorate_core::abstraction::{
    AbstractState, Abstraction, Element, ElementOrder, MessageInFlight, Rows,
};
use quorate_core::{ProcessId, ProcessSet, Time};

use self::elements::{
    attempt, claim, client, client_of, instant, number, quorum, request, vote, voter,
};
use self::history::{BEFORE_ALL, History};
use super::{Cluster, LeasedQuorum};
use crate::Setup;
use crate::mutex::leased_quorum::ballot::GrantedVote;
use crate::mutex::leased_quorum::candidate::{PursuitAccount, VoteAccount};
use crate::mutex::leased_quorum::id::{Beat, Claim, RequestId, VoteId};
use crate::mutex::leased_quorum::message::{RequestStatus, ToCandidate, ToVoter};
use crate::mutex::leased_quorum::wire::Message;

/// Maximum number of voters. All sets of voters are tried as quorums.
const VOTERS_MOST: usize = 8;

/// Maps `leased-quorum` to the model of the lock service.
#[derive(Clone, Debug)]
pub struct OverLocks {
    cluster: Cluster,
    /// The quorums that contain no other quorum.
    quorums: Vec<Element>,
    history: History,
}

impl OverLocks {
    /// Creates the abstraction of processes with this setup, if there are at most eight voters.
    pub fn new(setup: &Setup) -> Option<Self> {
        let cluster = Cluster::new(setup);
        let electorate = &cluster.electorate;
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
        Some(Self { cluster, quorums, history: History::default() })
    }

    /// Ends of the beats of the request's client, from the request's first one to this one.
    fn instants(&self, of: RequestId, beat: u64) -> impl Iterator<Item = Element> {
        let beats = self.history.beats_until(of, beat);
        beats.map(move |number| instant(Beat { incarnation: of.incarnation, number }, of.session))
    }

    fn add_client(&self, process: &LeasedQuorum, state: &mut AbstractState) {
        let of = process.client.client();
        let presented = of.presented();
        let (session, incarnation) = (presented.session, presented.beat.incarnation);
        let id = client(session, incarnation);
        let end_of = |number| instant(Beat { incarnation, number }, session);
        for number in core::iter::once(BEFORE_ALL).chain(of.ends().map(|(number, _)| number)) {
            state.has("begun", [Some(id), Some(end_of(number))]);
        }
        for wanted in of.all_wanted() {
            let its = request(wanted.request);
            state.lacks("stopped", [Some(its)]);
            let candidate = process.client.candidate().id();
            let present = Claim { request: wanted.request, attempt: wanted.attempt, candidate };
            state.has("latest", [Some(claim(present))]);
            let token = wanted.inside.map(|token| [its, number(token)]);
            state.only("token", its, token);
            let Some(until) = of.valid_until(wanted.request) else {
                state.lacks("inside", [Some(its)]);
                continue;
            };
            state.has("inside", [Some(its)]);
            self.add_validity(wanted.request, until, state);
        }
    }

    /// The client relies on a beat that ends at this time, and on no later one.
    fn add_validity(&self, of: RequestId, until: Time, state: &mut AbstractState) {
        let its = request(of);
        let end_of = |number| instant(Beat { incarnation: of.incarnation, number }, of.session);
        let relied = self.history.beats_with_end(of, until);
        // A client that began two beats at the same time relies on one of them. No beat has the last number.
        if let [] | [_] = relied.as_slice() {
            let relied = relied.first().copied().unwrap_or(u64::MAX);
            state.has("relies", [Some(its), None, Some(end_of(relied))]);
        }
        for later in self.history.beats_with_later_end(of, until) {
            state.lacks("relies", [Some(its), None, Some(end_of(later))]);
        }
    }

    fn add_pursuit(&self, of: &PursuitAccount, state: &mut AbstractState) {
        let (id, its) = (of.claim.request, claim(of.claim));
        state.has("asked", [Some(its)]);
        let mut says = |relation, holds| match holds {
            true => state.has(relation, [Some(its)]),
            false => state.lacks(relation, [Some(its)]),
        };
        says("granted", of.granted.is_some());
        says("knows_inside", of.is_inside);
        for (voter, returned) in &of.returned {
            let returned = vote(*voter, id, *returned);
            state.has("returned", [Some(returned), Some(its)]);
        }
        for counted in &of.votes {
            self.add_counted(of.claim, counted, state);
        }
        let end_of = |beat| instant(beat, id.session);
        let mut reports = |token, beat| {
            let row = [Some(its), None, Some(number(token)), Some(end_of(beat))];
            state.has("grant_report", row);
        };
        if let Some((token, number)) = of.granted.zip(of.entering)
            && self.history.has_entered(id)
        {
            // The client has entered with a report that the candidate has replaced by a later one since.
            reports(token, Beat { incarnation: id.incarnation, number });
        }
        match of.told {
            Some(RequestStatus::Granted { token, beat }) if of.granted.is_some() => {
                reports(token, beat);
            }
            Some(RequestStatus::Held(Some(beat))) if of.is_inside => {
                state.has("held_report", [Some(its), None, Some(end_of(beat))]);
            }
            _ => {}
        }
    }

    /// Everything for which the candidate counts the vote was sent by its voter.
    fn add_counted(&self, of: Claim, counted: &VoteAccount, state: &mut AbstractState) {
        let (its, given) = (claim(of), vote(counted.voter, of.request, counted.vote));
        state.has("told", [Some(given), Some(its)]);
        state.lacks("returned", [Some(given), Some(its)]);
        for confirmed in counted.vote.number..=counted.last {
            state.has("raised", [Some(given), Some(its), Some(number(confirmed))]);
        }
        let heard = counted.beat.into_iter();
        for end in heard.flat_map(|beat| self.instants(of.request, beat)) {
            state.has("echoed", [Some(given), Some(its), Some(end)]);
        }
    }

    fn add_voter(&self, process: &LeasedQuorum, state: &mut AbstractState) {
        let Some(its) = &process.voter else { return };
        let Some(id) = self.cluster.voter_of(process.id) else { return };
        let own = voter(id);
        let given = its.ballot(&()).and_then(|ballot| ballot.vote());
        let given = given.and_then(|its_vote| {
            let GrantedVote { claim: of, number, .. } = *its_vote;
            let epoch = its.session(of.request.session)?.epoch;
            Some((vote(id, of.request, VoteId { epoch, number }), of))
        });
        state.exactly("out", given.map(|(vote, _)| [vote]));
        state.exactly::<1>("frozen", []);
        if let Some((vote, of)) = given {
            state.has("has", [Some(vote), Some(claim(of))]);
        }
        let last = its.last(&()).unwrap_or(0);
        state.exactly("used", (1..=last).map(|used| [own, number(used)]));
        state.exactly::<1>("abstains", []);
        state.exactly::<1>("lost_numbers", []);
        state.exactly::<1>("learning", []);
        for (session, incarnation, beat) in self.history.all_beats() {
            let heard = its.session(session).and_then(|it| it.beats.get(&incarnation));
            let is_heard = heard.is_some_and(|heard| beat.number <= heard.number);
            let end = instant(Beat { incarnation, number: beat.number }, session);
            let row = [Some(own), Some(client(session, incarnation)), Some(end)];
            if is_heard || self.history.is_kept_by(process.id, beat) {
                state.has("keeps", row);
            } else if !beat.is_over {
                state.lacks("keeps", row);
            }
        }
    }
}

impl Abstraction for OverLocks {
    type Process = LeasedQuorum;

    const MODEL: &'static str = include_str!("../locks.model");

    const ORDERS: &'static [(&'static str, ElementOrder)] =
        &[("at_most", ElementOrder::ByKey), ("attempt_at_most", ElementOrder::ByKey)];

    const ACTORS: &'static [&'static str] = &["Voter", "Client", "Request", "Claim", "Instant"];

    fn owner(&self, element: &Element) -> Option<ProcessId> {
        let [first, ..] = element.key;
        match element.sort {
            "Voter" => Some(self.cluster.process_of(ProcessId::new(first as u32))),
            "Vote" => Some(self.cluster.process_of(elements::voter_of(element))),
            "Client" | "Request" | "Claim" => Some(ProcessId::new(first as u32)),
            _ => None,
        }
    }

    fn observe(&mut self, process: &LeasedQuorum, is_up: bool) {
        if is_up {
            self.history.observe(process);
        }
    }

    fn time_passes(&mut self, clock: &dyn Fn(ProcessId) -> Time, rows: &mut Rows) {
        for (beat, session) in self.history.pass(clock) {
            rows.add("over", [instant(beat, session)]);
        }
    }

    fn state(&self, process: &LeasedQuorum, is_up: bool) -> AbstractState {
        let mut state = AbstractState::default();
        self.quorums.iter().for_each(|quorum| state.mention(*quorum));
        if is_up {
            self.add_client(process, &mut state);
            for pursuit in process.client.candidate().account() {
                self.add_pursuit(&pursuit, &mut state);
            }
        }
        self.add_voter(process, &mut state);
        state.action = self.history.has_restarted(process.id).then_some("restart");
        state
    }

    fn in_flight(&self, sent: &MessageInFlight<'_, Message>, rows: &mut Rows) {
        match sent.message {
            Message::ToVoter(message) => add_to_voter(message, self, sent.to, rows),
            Message::ToCandidate(message) => {
                if let Some(voter) = self.cluster.voter_of(sent.from) {
                    self.add_to_candidate(voter, message, rows);
                }
            }
        }
    }

    fn describe(&self, element: &Element, rows: &mut Rows) {
        let [session, incarnation, ..] = element.key;
        match element.sort {
            "Quorum" => {
                let members = element.members();
                members.iter().for_each(|of| rows.add("member", [voter(of), *element]));
            }
            "Request" => rows.add("client_of", [*element, client_of(session, incarnation)]),
            "Claim" => {
                rows.add("claim_for", [*element, elements::request_of_claim(element)]);
                rows.add("attempt_of", [*element, attempt(element.key[3])]);
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

fn add_to_voter(message: &ToVoter<()>, locks: &OverLocks, to: ProcessId, rows: &mut Rows) {
    let begun = |beat: Beat, session, rows: &mut Rows| {
        rows.add("begun", [client(session, beat.incarnation), instant(beat, session)]);
    };
    match message {
        ToVoter::Beat { session, .. } => begun(session.beat, session.session, rows),
        ToVoter::Request { session, claim: its, .. } => {
            begun(session.beat, session.session, rows);
            rows.add("asked", [claim(*its)]);
        }
        ToVoter::Yield { claim: its, vote: returned, .. } => {
            if let Some(voter) = locks.cluster.voter_of(to) {
                let returned = vote(voter, its.request, *returned);
                rows.add("returned", [returned, claim(*its)]);
            }
        }
        ToVoter::Release { request: its, .. } => rows.add("stopped", [request(*its)]),
        // Without a record, a confirmation is asked for at any time. Direct clients do not send the others.
        ToVoter::Raise { .. } | ToVoter::Withdraw { .. } | ToVoter::End { .. } => {}
    }
}

impl OverLocks {
    fn add_to_candidate(&self, voter: ProcessId, message: &ToCandidate<()>, rows: &mut Rows) {
        match message {
            ToCandidate::Echo { epoch, beat, version, part, entries, .. } => {
                let listed = entries.iter().filter_map(|it| Some((it.claim, it.vote?)));
                let list: Vec<(Claim, u64)> = match part {
                    Some(_) => listed.collect(),
                    None => self.history.list(voter, *epoch, *version).to_vec(),
                };
                let own = list.iter().filter(|it| it.0.request.incarnation == beat.incarnation);
                for (of, number) in own {
                    let given = vote(voter, of.request, VoteId { epoch: *epoch, number: *number });
                    for end in self.instants(of.request, beat.number) {
                        rows.add("echoed", [given, claim(*of), end]);
                    }
                }
            }
            ToCandidate::Vote { claim: of, vote: id, last, beat, .. } => {
                let given = vote(voter, of.request, *id);
                rows.add("told", [given, claim(*of)]);
                add_raised(given, *of, (*id, *last), rows);
                for end in self.instants(of.request, beat.number) {
                    rows.add("echoed", [given, claim(*of), end]);
                }
            }
            ToCandidate::Raised { claim: of, vote: id, last, .. } => {
                add_raised(vote(voter, of.request, *id), *of, (*id, *last), rows);
            }
            _ => {}
        }
    }
}

/// The voter has confirmed all numbers up to the last one.
fn add_raised(vote: Element, of: Claim, (id, last): (VoteId, u64), rows: &mut Rows) {
    for confirmed in id.number..=last {
        rows.add("raised", [vote, claim(of), number(confirmed)]);
    }
}
