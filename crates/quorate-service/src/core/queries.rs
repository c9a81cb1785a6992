//! Questions to all voters, whose replies are merged into the answer to one call.

use quorate_algorithms::mutex::leased_quorum::{RequestId, ToVoter, VoterSession};
use quorate_core::{ProcessId, ProcessSet, SortedMap, Span, Time};
use quorate_protocol::{CallResponse, Failure, Name, TokenStatus};

use super::grants::shown;
use super::history::{REPLIED_MOST, VotesOfNodes};
use super::lists::Listing;
use super::relay::{Origin, Sent, is_relayed};
use super::{Alarm, CallId, CallerId, NodeCore};
use crate::peer::{
    BallotSeen, Description, EntrySeen, NameFilter, PeerMessage, Question, Reply, SessionSeen,
    VoteEnd, VoteSeen,
};

/// Timeout for the voters' replies.
const QUESTION_TIMEOUT: Span = Span::from_millis(500);

/// A question that is in progress.
#[derive(Debug)]
pub(super) struct PendingQuestion {
    call_id: CallId,
    question: Question,
    /// Voters that have not replied yet.
    open: ProcessSet,
    /// Voters that have replied and do not abstain.
    responded: ProcessSet,
    state: QuestionState,
}

/// Purpose of a question, and the replies so far.
#[derive(Debug)]
pub(super) enum QuestionState {
    /// Lists requests, page by page.
    List(Box<Listing>),
    /// Checks whether a token is current.
    Token { name: Name, token: u64, ballots: SortedMap<ProcessId, BallotSeen> },
    /// Finds the holder of a lock that is to be released by force.
    Holder { name: Name, reason: String, ballots: SortedMap<ProcessId, BallotSeen> },
    /// Ends a request by force. Contains whether a voter has done so.
    Forced(bool),
    /// Releases a request. Contains whether a voter knew the request, and whether one knew its session.
    Released { request: RequestId, known: bool, session_known: bool },
    /// Ends a session. Contains whether a voter knew it.
    Ended(bool),
    /// Waits until all reachable nodes know the watched prefix.
    Watching(String),
    /// Lists leases, with the longest time for which a voter has known each.
    Leases(SortedMap<i64, Span>),
    /// Collects the votes of all nodes for one lock.
    History(VotesOfNodes),
    /// Collects a session as voters know it. Contains the continuation.
    Session { seen: SortedMap<ProcessId, SessionSeen>, follow_up: Box<FollowUp> },
}

/// Continuation once the state of a session is known.
#[derive(Debug)]
pub(super) enum FollowUp {
    /// Starts a relay for the session.
    Lookup(u128),
    /// Grants a lease whose identifier the client chose.
    Grant { origin: Origin, ttl: Span, client_location: String, sent: Sent },
    /// Lists the requests of the session.
    List,
    /// Returns the remaining lifetime of the lease.
    LeaseInfo,
    /// Releases the session's request for a lock.
    Release { name: Name, token: Option<u64> },
    /// Changes the value that a leader proclaims.
    Proclaim { name: Option<Name>, number: Option<u64>, token: Option<u64>, value: String },
}

impl QuestionState {
    pub(super) fn session(follow_up: FollowUp) -> Self {
        Self::Session { seen: SortedMap::new(), follow_up: Box::new(follow_up) }
    }

    pub(super) fn released(request: RequestId) -> Self {
        Self::Released { request, known: false, session_known: false }
    }
}

impl NodeCore {
    /// Asks all reachable voters, the voter of this node first.
    pub(super) fn ask_voters(
        &mut self,
        call_id: CallId,
        question: Question,
        state: QuestionState,
        now: Time,
    ) {
        self.counter += 1;
        let number = self.counter;
        let mut open: ProcessSet = self.peers_that_are_up().into_iter().collect();
        if matches!(question, Question::History(_)) {
            open = &open & &self.history_peers;
        }
        let index = self.electorate.index();
        for peer in &open {
            self.send(peer, PeerMessage::Question(number, index, question.clone()));
        }
        open.insert(self.settings.id);
        let responded = ProcessSet::new();
        let pending =
            PendingQuestion { call_id, question: question.clone(), open, responded, state };
        self.pending_questions.insert(number, pending);
        self.alarms.insert((now + QUESTION_TIMEOUT, Alarm::Question(number)));
        let reply = self.reply(question, now);
        self.on_reply(number, self.settings.id, reply, now);
    }

    /// Repeats all open questions, because the voters have changed: to new voters, and to those that do not answer a node
    /// with an older configuration.
    pub(super) fn ask_again(&mut self, now: Time) {
        let (index, up) = (self.electorate.index(), self.peers_that_are_up());
        let mut repeated = Vec::new();
        for (number, pending) in &mut self.pending_questions {
            // A node of an earlier version may have joined, which does not understand it.
            if matches!(pending.question, Question::History(_)) {
                continue;
            }
            for peer in up.iter().filter(|peer| !pending.responded.contains(**peer)) {
                pending.open.insert(*peer);
                repeated.push((*peer, *number, pending.question.clone()));
            }
        }
        for (peer, number, question) in repeated {
            self.send(peer, PeerMessage::Question(number, index, question));
        }
        self.deliver_local(now);
    }

    /// Returns the number of list questions that a caller waits for.
    pub(super) fn open_lists(&self, caller: CallerId) -> usize {
        let lists = |pending: &&PendingQuestion| {
            matches!(pending.state, QuestionState::List(_) | QuestionState::Leases(_))
        };
        self.pending_questions
            .values()
            .filter(lists)
            .filter(|pending| pending.call_id.0 == caller)
            .count()
    }

    /// Returns the reply of this node's voter.
    pub(super) fn reply(&mut self, question: Question, now: Time) -> Reply {
        let silent = !self.voter.is_voting() || self.disk_error.is_some();
        match question {
            Question::Barrier => Reply::Done(true),
            Question::History(name) => Reply::History(self.votes_here(&name, REPLIED_MOST, now)),
            _ if silent => Reply::Abstains,
            Question::Ballots(filter) => self.ballots_here(&filter),
            Question::Session(session) => Reply::Session(self.session_here(session, now)),
            Question::Force(name, request, reason) => {
                let mut known = false;
                self.with_voter_because(VoteEnd::Revoked, now, |voter, out| {
                    known = voter.force(&name, request, out);
                });
                if known {
                    self.metrics.revoked.inc();
                    let client = self.shown_client(request.session);
                    let reason = shown(&reason);
                    tracing::warn!(lock = %name, %client, %reason, "grant revoked: released by force");
                }
                Reply::Done(known)
            }
            Question::Release(request, attempt) => {
                self.drop_interest(request, attempt, now);
                let session_known = self.voter.session(request.session).is_some();
                let mut known = false;
                self.with_voter_because(VoteEnd::Released, now, |voter, out| {
                    known = voter.release(request, attempt, None, out);
                });
                Reply::Released { session_known, known }
            }
            Question::End(session) => {
                let known = self.voter.session(session).is_some();
                let candidate = quorate_algorithms::mutex::leased_quorum::CandidateId(0);
                self.deliver_to_voter(candidate, ToVoter::End { session }, now);
                self.texts.forget_session(session);
                self.drop_relay(session, &Failure::Ended);
                Reply::Done(known)
            }
            Question::Leases(owner) => Reply::Leases(self.leases_here(&owner, now)),
        }
    }

    fn session_here(&self, session: u128, now: Time) -> Option<Box<SessionSeen>> {
        let known = self.voter.session(session).filter(|known| known.lapses() > now)?;
        let voted = |request: RequestId, lock: &Name| {
            let vote = self.voter.ballot(lock)?.vote();
            vote.filter(|vote| vote.claim.request == request)
        };
        let stamp = |request: RequestId, lock: &Name| {
            let mut queue = self.voter.ballot(lock)?.queue();
            let queued = queue.find(|(_, claim)| claim.request == request);
            let voted = voted(request, lock).map(|vote| vote.stamp);
            voted.or(queued.map(|(stamp, _)| stamp))
        };
        let entries = self.voter.entries(session).into_iter().filter(|entry| !entry.forced);
        let entries = entries.map(|entry| EntrySeen {
            request: entry.claim.request,
            attempt: entry.claim.attempt,
            stamp: stamp(entry.claim.request, &entry.lock).unwrap_or(0),
            voted: entry.vote.is_some(),
            entered: entry.entered.map(|(_, token)| token),
            first: voted(entry.claim.request, &entry.lock).and_then(|vote| vote.first),
            lock: entry.lock,
        });
        let texts = self.texts.session(session);
        let requests = texts.into_iter().flat_map(|known| known.requests.keys());
        let texts = self
            .texts
            .describe(session, None)
            .into_iter()
            .chain(requests.filter_map(|request| self.texts.describe(session, Some(*request))));
        Some(Box::new(SessionSeen {
            ttl: known.ttl(),
            left: known.lapses().since(now),
            continuous: known.is_continuous(),
            entries: entries.collect(),
            texts: texts.collect::<Vec<Description>>(),
        }))
    }

    fn leases_here(&self, owner: &str, now: Time) -> Vec<(i64, Span)> {
        let own = self.texts.sessions().filter(|(session, known)| {
            let alive = |it: &&VoterSession<Name>| it.is_continuous() && it.lapses() > now;
            known.session_text.lease != 0
                && known.session_text.owner == owner
                && self.voter.session(*session).filter(alive).is_some()
        });
        own.map(|(_, known)| (known.session_text.lease, now.since(known.since))).collect()
    }

    pub(super) fn on_reply(&mut self, number: u64, from: ProcessId, reply: Reply, now: Time) {
        let Some(pending) = self.pending_questions.get_mut(&number) else { return };
        pending.open.remove(from);
        if reply != Reply::Abstains {
            pending.responded.insert(from);
        }
        let is_quorum = self.electorate.is_quorum(&pending.responded);
        let mut complete = pending.open.is_empty();
        match (&mut pending.state, reply) {
            (QuestionState::List(listing), Reply::Ballots { ballots, texts, more }) => {
                listing.take(from, ballots, more);
                for text in texts {
                    self.merge_texts(text, now);
                }
            }
            (
                QuestionState::Token { ballots: seen, name, .. }
                | QuestionState::Holder { ballots: seen, name, .. },
                Reply::Ballots { ballots, texts, .. },
            ) => {
                let ballot = ballots.into_iter().find(|ballot| ballot.name == *name);
                seen.extend(ballot.map(|ballot| (from, ballot)));
                texts.into_iter().for_each(|text| self.merge_texts(text, now));
            }
            (QuestionState::History(votes), Reply::History(mut of_node)) => {
                of_node.truncate(REPLIED_MOST);
                votes.insert(from, of_node);
            }
            (QuestionState::Forced(done), Reply::Done(known)) => *done |= known,
            (
                QuestionState::Released { known, session_known, .. },
                Reply::Released { session_known: here, known: knew },
            ) => {
                (*session_known, *known) = (*session_known | here, *known | knew);
                complete |= is_quorum && *known;
            }
            (QuestionState::Ended(known), Reply::Done(knew)) => *known |= knew,
            (QuestionState::Leases(leases), Reply::Leases(more)) => {
                for (lease, age) in more {
                    let known = leases.entry(lease).or_default();
                    *known = (*known).max(age);
                }
            }
            (QuestionState::Session { seen, follow_up }, Reply::Session(session)) => {
                complete |= match **follow_up {
                    // The texts of one voter may be incomplete.
                    FollowUp::Lookup(_) => is_quorum,
                    FollowUp::Grant { .. } => session.is_some() || is_quorum,
                    _ => false,
                };
                if let Some(session) = session {
                    let texts = session.texts.clone();
                    seen.insert(from, *session);
                    texts.into_iter().for_each(|text| self.merge_texts(text, now));
                }
            }
            _ => {}
        }
        if complete {
            self.close_question(number, now);
        }
    }

    /// Answers the call with the replies that have arrived.
    pub(super) fn close_question(&mut self, number: u64, now: Time) {
        let Some(PendingQuestion { call_id, open, responded, state, .. }) =
            self.pending_questions.remove(&number)
        else {
            return;
        };
        let is_quorum = self.electorate.is_quorum(&responded);
        let no_quorum = CallResponse::Failed(Failure::NoQuorum);
        let answer = match state {
            QuestionState::List(listing) => {
                let silent = &self.electorate.all() - &responded;
                return self.close_list(call_id, *listing, &silent, now);
            }
            QuestionState::History(votes) => {
                self.histories.push((number, votes));
                return;
            }
            QuestionState::Session { seen, follow_up } => {
                return self.close_session(call_id, &responded, seen, *follow_up, now);
            }
            QuestionState::Holder { name, reason, ballots } => {
                return self.force_holder(call_id, name, reason, &ballots, is_quorum, now);
            }
            QuestionState::Token { name, token, ballots } => match is_quorum {
                true => self.token_status(&name, token, &ballots, &responded),
                false => no_quorum,
            },
            QuestionState::Released { request, known, session_known } => {
                self.forget_texts(request);
                match (is_quorum, known, session_known) {
                    (false, ..) => no_quorum,
                    (true, true, _) => CallResponse::Done,
                    (true, false, true) => CallResponse::Failed(Failure::NoRequest),
                    (true, false, false) => CallResponse::Failed(Failure::NoSession),
                }
            }
            QuestionState::Leases(leases) => {
                let mut leases: Vec<(i64, Span)> = leases.into_iter().collect();
                // The oldest lease comes first, as in etcd.
                leases.sort_unstable_by_key(|(lease, age)| (std::cmp::Reverse(*age), *lease));
                CallResponse::Leases(leases.into_iter().map(|(lease, _)| lease).collect())
            }
            QuestionState::Watching(prefix) => {
                self.watch.begin(call_id.0, &prefix);
                CallResponse::Done
            }
            QuestionState::Forced(true) | QuestionState::Ended(true) => CallResponse::Done,
            QuestionState::Forced(false) if open.is_empty() => CallResponse::Failed(Failure::Free),
            QuestionState::Ended(false) if is_quorum => CallResponse::Failed(Failure::NoSession),
            QuestionState::Forced(false) | QuestionState::Ended(false) => no_quorum,
        };
        self.answer(call_id, answer);
    }

    pub(super) fn check_token(
        &mut self,
        call_id: CallId,
        name: Name,
        token: u64,
        now: Time,
    ) -> Option<CallResponse> {
        let question = Question::Ballots(NameFilter::Exact(name.text().to_owned()));
        let state = QuestionState::Token { name, token, ballots: SortedMap::new() };
        self.ask_voters(call_id, question, state, now);
        None
    }

    /// Returns whether a token is current. A later holder has a greater token, which a whole quorum of voters has
    /// confirmed; every quorum shares a voter with that one. So a token is current if a quorum has replied without a
    /// greater `last`. Spare votes may have greater numbers although the same request still holds the lock. So a token is
    /// current, too, if it is the holder's.
    fn token_status(
        &self,
        name: &Name,
        token: u64,
        ballots: &SortedMap<ProcessId, BallotSeen>,
        responded: &ProcessSet,
    ) -> CallResponse {
        let of_name = ballots.iter().filter(|(_, ballot)| ballot.name == *name);
        let further = of_name.clone().filter(|(_, ballot)| ballot.last > token);
        let further: ProcessSet = further.map(|(voter, _)| *voter).collect();
        let is_last = self.electorate.is_quorum(&(responded - &further));
        let seen = of_name.clone().map(|(voter, ballot)| (*voter, ballot));
        let held = super::holders::holder(&self.electorate, seen, |it| self.records(it));
        let current = is_last || held.is_some_and(|(_, of)| of == token);
        if !current {
            self.metrics.stale_tokens.inc();
        }
        let greatest = match held {
            Some((_, of)) if current => of,
            _ => of_name.map(|(_, ballot)| ballot.last).max().unwrap_or(0),
        };
        CallResponse::Token(TokenStatus { current, greatest })
    }

    /// Returns whether tokens of this request are recorded at the voters, because a node runs its candidate.
    pub(super) fn records(&self, request: RequestId) -> bool {
        let relayed =
            self.texts.session(request.session).is_some_and(|known| known.session_text.relayed);
        relayed || is_relayed(request)
    }

    pub(super) fn force_release(
        &mut self,
        call_id: CallId,
        name: Name,
        reason: String,
        now: Time,
    ) -> Option<CallResponse> {
        let question = Question::Ballots(NameFilter::Exact(name.text().to_owned()));
        let state = QuestionState::Holder { name, reason, ballots: SortedMap::new() };
        self.ask_voters(call_id, question, state, now);
        None
    }

    fn force_holder(
        &mut self,
        call_id: CallId,
        name: Name,
        reason: String,
        ballots: &SortedMap<ProcessId, BallotSeen>,
        is_quorum: bool,
        now: Time,
    ) {
        let votes = ballots.values().filter(|ballot| ballot.name == name);
        let votes = votes.filter_map(|ballot| ballot.vote);
        // Chooses the request with the most votes. Even without a quorum of votes, it may be about to enter.
        let mut counted: SortedMap<RequestId, usize> = SortedMap::new();
        for VoteSeen { request, .. } in votes.filter(|vote| !vote.frozen) {
            *counted.entry(request).or_default() += 1;
        }
        match counted.into_iter().max_by_key(|(_, votes)| *votes) {
            Some((request, _)) => {
                let question = Question::Force(name, request, reason);
                self.ask_voters(call_id, question, QuestionState::Forced(false), now);
            }
            None if is_quorum => self.answer(call_id, CallResponse::Failed(Failure::Free)),
            None => self.answer(call_id, CallResponse::Failed(Failure::NoQuorum)),
        }
    }
}
