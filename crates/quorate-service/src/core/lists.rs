//! Lists of requests, merged from the ballots of all voters, and the merged state of one session.

use quorate_algorithms::mutex::leased_quorum::RequestId;
use quorate_core::{ProcessId, ProcessSet, SortedMap, SortedSet, Span, Time};
use quorate_protocol::{
    CallResponse, Cursor, Failure, LeaseInfo, Name, Page, RequestInfo, RequestState,
};

use super::holders::{holder, recorded};
use super::queries::{FollowUp, QuestionState};
use super::relay::{NUMBERED, last_of_turn};
use super::sessions::too_much;
use super::{CallId, CallerId, NodeCore};
use crate::lease::{client_ttl, remaining};
use crate::peer::{
    BallotSeen, Description, NameFilter, Question, Reply, RequestText, SessionSeen, VoteSeen,
};

/// Maximum number of requests in one page. The last name of a page may exceed it.
const LISTED_MOST: usize = 10_000;

/// Size in bytes beyond which a page of ballots is complete: half of the maximum size of a message between nodes.
const PAGE_BYTES: usize = 512 << 10;

/// Maximum number of lists that one connection may wait for, because each list causes work at every node.
const LISTS_MOST: usize = 4;

/// A list that is being assembled, page by page.
#[derive(Debug)]
pub(super) struct Listing {
    filter: NameFilter,
    most: usize,
    ballots: SortedMap<Name, SortedMap<ProcessId, BallotSeen>>,
    /// Up to this name every voter has sent all its ballots; `None` if no voter has more.
    complete_to: Option<Name>,
    done: Vec<RequestInfo>,
}

impl Listing {
    fn new(filter: NameFilter, most: usize) -> Self {
        let (ballots, done) = (SortedMap::new(), Vec::new());
        Self { filter, most, ballots, complete_to: None, done }
    }

    pub(super) fn take(&mut self, voter: ProcessId, ballots: Vec<BallotSeen>, more: bool) {
        if let (true, Some(last)) = (more, ballots.last()) {
            let least =
                self.complete_to.take().map_or(last.name.clone(), |to| to.min(last.name.clone()));
            self.complete_to = Some(least);
        }
        for ballot in ballots {
            self.ballots.entry(ballot.name.clone()).or_default().insert(voter, ballot);
        }
    }
}

impl NodeCore {
    /// Lists requests for names with a prefix, or for one name. A page ends with the last request of a name; the next page
    /// begins with the name after it.
    pub(super) fn list(
        &mut self,
        call_id: CallId,
        (prefix, exact): (String, bool),
        after: Option<Cursor>,
        most: u32,
        now: Time,
    ) -> Option<CallResponse> {
        if !exact && self.open_lists(call_id.0) >= LISTS_MOST {
            return Some(too_much(format!(
                "a connection has at most {LISTS_MOST} concurrent list calls"
            )));
        }
        let filter = match exact {
            true => NameFilter::Exact(prefix),
            false => NameFilter::Prefix { prefix, after: after.map(|after| after.name) },
        };
        let listing = Listing::new(filter.clone(), (most as usize).clamp(1, LISTED_MOST));
        self.ask_voters(
            call_id,
            Question::Ballots(filter),
            QuestionState::List(Box::new(listing)),
            now,
        );
        None
    }

    /// Lists leases of a client of etcd's API.
    pub(crate) fn list_leases(&mut self, caller: CallerId, owner: String, now: Time) {
        let state = QuestionState::Leases(SortedMap::new());
        self.ask_voters((caller, 1), Question::Leases(owner), state, now);
        self.deliver_local(now);
    }

    /// Returns the ballots of the voter here, as many as fit into one message, with the texts of their requests.
    pub(super) fn ballots_here(&self, filter: &NameFilter) -> Reply {
        let chosen = |name: &Name| match filter {
            NameFilter::Exact(text) => name.text() == text,
            NameFilter::Prefix { prefix, after } => {
                name.text().starts_with(prefix.as_str())
                    && after.as_ref().is_none_or(|after| name > after)
            }
        };
        let exact = matches!(filter, NameFilter::Exact(_));
        let ballots = self.voter.ballots().filter(|(name, ballot)| {
            chosen(name) && (exact || ballot.vote().is_some() || ballot.queue().len() > 0)
        });
        let (mut page, mut texts, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (name, _) in ballots {
            if bytes > PAGE_BYTES {
                return Reply::Ballots { ballots: page, texts, more: true };
            }
            let Some(seen) = self.ballot_here(name) else { continue };
            bytes += 64 + name.text().len() + seen.queue.len() * 32;
            let requests = seen.vote.map(|vote| vote.request).into_iter();
            let requests = requests.chain(seen.queue.iter().map(|(_, request)| *request));
            for text in requests.filter_map(|it| self.texts.describe(it.session, Some(it))) {
                let session_text = &text.session_text;
                bytes += 64
                    + session_text.client_name.len()
                    + session_text.client_location.len()
                    + session_text.owner.len();
                bytes += text.request.as_ref().map_or(0, |(_, text)| text.why.len());
                texts.push(text);
            }
            page.push(seen);
        }
        Reply::Ballots { ballots: page, texts, more: false }
    }

    /// Returns a ballot of the voter here.
    pub(super) fn ballot_here(&self, name: &Name) -> Option<BallotSeen> {
        let ballot = self.voter.ballot(name)?;
        let vote = ballot.vote().map(|vote| VoteSeen {
            request: vote.claim.request,
            stamp: vote.stamp,
            number: vote.number,
            entered: vote.entered.map(|(_, token)| token),
            frozen: vote.frozen.is_some(),
        });
        let queue = ballot.queue().map(|(stamp, claim)| (stamp, claim.request)).collect();
        Some(BallotSeen { name: name.clone(), last: ballot.last(), vote, queue })
    }

    /// Processes one part of a list: asks for the next part, or answers with a page. The page names the voters
    /// that have not replied.
    pub(super) fn close_list(
        &mut self,
        call_id: CallId,
        mut listing: Listing,
        silent: &ProcessSet,
        now: Time,
    ) {
        let to = listing.complete_to.take();
        let ballots = std::mem::take(&mut listing.ballots);
        let mut rest = false;
        for (name, seen) in ballots {
            let complete = to.as_ref().is_none_or(|to| name <= *to);
            if listing.done.len() >= listing.most || !complete {
                rest = true;
                break;
            }
            listing.done.extend(self.requests_for(&name, &seen, now));
        }
        let full = listing.done.len() >= listing.most;
        if let (Some(to), NameFilter::Prefix { prefix, .. }, false) = (&to, &listing.filter, full) {
            let filter = NameFilter::Prefix { prefix: prefix.clone(), after: Some(to.clone()) };
            listing.filter = filter.clone();
            let state = QuestionState::List(Box::new(listing));
            return self.ask_voters(call_id, Question::Ballots(filter), state, now);
        }
        let prefixed = matches!(listing.filter, NameFilter::Prefix { .. });
        let more = prefixed && full && (rest || to.is_some());
        let next = listing.done.last().filter(|_| more).map(Cursor::of);
        let silent = silent.iter().map(ProcessId::number).collect();
        self.answer(call_id, CallResponse::Page(Page { requests: listing.done, next, silent }));
    }

    /// Returns all requests for one lock: the holder, then the others in the order of their stamps.
    pub(super) fn requests_for(
        &self,
        name: &Name,
        seen: &SortedMap<ProcessId, BallotSeen>,
        now: Time,
    ) -> Vec<RequestInfo> {
        let ballots = seen.iter().map(|(voter, ballot)| (*voter, ballot));
        let held = holder(&self.electorate, ballots, |request| self.records(request));
        let mut stamps: SortedMap<RequestId, u64> = SortedMap::new();
        for ballot in seen.values() {
            let voted = ballot.vote.filter(|vote| !vote.frozen);
            let voted = voted.map(|vote| (vote.stamp, vote.request)).into_iter();
            for (stamp, request) in voted.chain(ballot.queue.iter().copied()) {
                let known = stamps.entry(request).or_default();
                *known = stamp.max(*known);
            }
        }
        let holder = held.map(|(request, token)| {
            let stamp = stamps.remove(&request).unwrap_or(0);
            self.request_info(name, request, stamp, Some(token), now)
        });
        let waiting: SortedSet<(u64, RequestId)> =
            stamps.into_iter().map(|(request, stamp)| (stamp, request)).collect();
        let waiting = waiting.into_iter();
        let waiting =
            waiting.map(|(stamp, request)| self.request_info(name, request, stamp, None, now));
        holder.into_iter().chain(waiting).collect()
    }

    /// Returns a request as it is shown to users.
    pub(super) fn request_info(
        &self,
        name: &Name,
        request: RequestId,
        stamp: u64,
        token: Option<u64>,
        now: Time,
    ) -> RequestInfo {
        let session = self.texts.session(request.session).map(|known| known.session_text.clone());
        let session = session.unwrap_or_default();
        let text = self.texts.request(request);
        let revision = text.map_or(0, |(text, _)| text.revision);
        RequestInfo {
            name: name.clone(),
            stamp,
            tie_breaker: request.session as u64 ^ request.number.rotate_left(32),
            node: session.node,
            client_name: session.client_name,
            client_location: session.client_location,
            why: text.map_or_else(String::new, |(text, _)| text.why.clone()),
            lease: session.lease,
            revision: if revision > 0 { revision } else { token.unwrap_or(0) },
            for_ms: text.map_or(0, |(_, since)| now.since(*since).0 / 1_000_000),
            state: match token {
                Some(token) => RequestState::Holding { token, times: 1 },
                None => RequestState::Waiting,
            },
        }
    }

    /// Records texts that another voter knows and this node does not.
    pub(super) fn merge_texts(&mut self, text: Description, now: Time) {
        let unknown = match &text.request {
            Some((request, _)) => self.texts.request(*request).is_none(),
            None => self.texts.session(text.session).is_none(),
        };
        if unknown {
            self.texts.record(text, now);
        }
    }

    /// Continues a call once voters have reported the state of its session.
    pub(super) fn close_session(
        &mut self,
        call_id: CallId,
        responded: &ProcessSet,
        seen: SortedMap<ProcessId, SessionSeen>,
        follow_up: FollowUp,
        now: Time,
    ) {
        let is_quorum = self.electorate.is_quorum(responded);
        let ttl = seen.values().map(|session| session.ttl).max();
        if let FollowUp::Lookup(session) = follow_up {
            let found = if ttl.is_some() || is_quorum { Ok(ttl) } else { Err(()) };
            return self.on_lookup(session, found, now);
        }
        if let FollowUp::Grant { origin, ttl, client_location, sent } = follow_up {
            let super::relay::Origin::Lease(lease) = &origin else { return };
            let owner = lease.owner.clone();
            let answer = match (seen.is_empty(), is_quorum) {
                (false, _) => Some(CallResponse::Failed(Failure::Busy)),
                (true, true) => {
                    self.open(call_id, origin, ttl, (owner, client_location), sent, now)
                }
                (true, false) => Some(CallResponse::Failed(Failure::NoQuorum)),
            };
            return answer.into_iter().for_each(|answer| self.answer(call_id, answer));
        }
        let Some(ttl) = ttl else {
            let failure = if is_quorum { Failure::NoSession } else { Failure::NoQuorum };
            return self.answer(call_id, CallResponse::Failed(failure));
        };
        let mut facts = self.merge_session(responded, &seen);
        // Without a quorum of replies, other voters may still know the request.
        let unknown = if is_quorum { Failure::NoRequest } else { Failure::NoQuorum };
        let requests = |core: &Self, facts: &[Fact]| {
            let info = |fact: &Fact| {
                core.request_info(&fact.lock, fact.request, fact.stamp, fact.token, now)
            };
            facts.iter().map(info).collect::<Vec<RequestInfo>>()
        };
        match follow_up {
            FollowUp::Lookup(_) | FollowUp::Grant { .. } => {}
            FollowUp::List => {
                let list = requests(self, &facts);
                self.answer(call_id, CallResponse::List(list));
            }
            FollowUp::LeaseInfo => {
                // As for a keep-alive, only voters count that have kept the lease without a gap. A client that finds no
                // request for a lock here assumes that the lock is released.
                let kept = |voter: &ProcessId| seen.get(voter).is_some_and(|it| it.continuous);
                let (kept, broken): (ProcessSet, ProcessSet) = responded.iter().partition(kept);
                let Some(left) = self.quorum_left(&kept, &seen) else {
                    let has_lapsed = self.electorate.is_quorum(&broken);
                    let failure = if has_lapsed { Failure::NoSession } else { Failure::NoQuorum };
                    return self.answer(call_id, CallResponse::Failed(failure));
                };
                let terms = self.terms;
                let client_ttl = client_ttl(ttl, terms);
                let left = remaining(left, terms).min(client_ttl);
                let (ttl_ms, valid_ms) = (client_ttl.0 / 1_000_000, left.0 / 1_000_000);
                // A client of etcd's API interprets a token here as a grant, so the token must be recorded at a quorum.
                facts.iter_mut().for_each(|fact| {
                    let entered = std::mem::take(&mut fact.entered);
                    fact.token = recorded(&self.electorate, entered);
                });
                let requests = requests(self, &facts);
                self.answer(
                    call_id,
                    CallResponse::LeaseInfo(LeaseInfo { ttl_ms, valid_ms, requests }),
                );
            }
            FollowUp::Release { name, token } => {
                let fits = |fact: &&Fact| fact.lock == name && fact.has(token);
                let chosen = facts.iter().filter(fits);
                let chosen = chosen.map(|fact| (fact.request, last_of_turn(fact.attempt)));
                match chosen.collect::<Vec<_>>() {
                    none if none.is_empty() => self.answer(call_id, CallResponse::Failed(unknown)),
                    chosen => self.release_requests(call_id, chosen, now),
                }
            }
            FollowUp::Proclaim { name, number, token, value } => {
                let fits = |fact: &&Fact| {
                    let RequestId { incarnation, number: of, .. } = fact.request;
                    let has = |number| incarnation == NUMBERED && of == number;
                    fact.token.is_some()
                        && name.as_ref().is_none_or(|name| *name == fact.lock)
                        && number.is_none_or(has)
                        && fact.has(token)
                };
                let chosen = facts.iter().find(fits).map(|fact| fact.request);
                let described =
                    chosen.and_then(|it| Some((it, self.texts.describe(it.session, None)?)));
                let Some((request, described)) = described else {
                    return self.answer(call_id, CallResponse::Failed(unknown));
                };
                let known = self.texts.request(request).map(|(text, _)| text.clone());
                let text = RequestText { why: value, ..known.unwrap_or_default() };
                self.describe(Description { request: Some((request, text)), ..described }, now);
                self.answer(call_id, CallResponse::Done);
            }
        }
    }

    /// Returns the longest time for which a quorum of these voters keeps a session.
    fn quorum_left(
        &self,
        voters: &ProcessSet,
        seen: &SortedMap<ProcessId, SessionSeen>,
    ) -> Option<Span> {
        let left = voters.iter().filter_map(|voter| Some((seen.get(&voter)?.left, voter)));
        let mut left: Vec<(Span, ProcessId)> = left.collect();
        left.sort_unstable_by(|a, b| b.cmp(a));
        let mut quorum = ProcessSet::new();
        left.into_iter().find_map(|(left, voter)| {
            quorum.insert(voter);
            self.electorate.is_quorum(&quorum).then_some(left)
        })
    }

    fn release_requests(&mut self, call_id: CallId, chosen: Vec<(RequestId, u64)>, now: Time) {
        let Some((last, rest)) = chosen.split_last() else { return };
        for (request, attempt) in rest {
            self.release_at_voters((CallerId::Node, 0), *request, *attempt, now);
        }
        self.release_at_voters(call_id, last.0, last.1, now);
    }

    /// Merges the requests of a session as its voters know them.
    fn merge_session(
        &self,
        responded: &ProcessSet,
        seen: &SortedMap<ProcessId, SessionSeen>,
    ) -> Vec<Fact> {
        let mut facts: SortedMap<RequestId, (Fact, ProcessSet, Option<u64>)> = SortedMap::new();
        for (voter, session) in seen {
            for entry in &session.entries {
                let (request, lock) = (entry.request, entry.lock.clone());
                let (token, known_tokens, entered) = (None, Vec::new(), Vec::new());
                let empty =
                    Fact { lock, request, attempt: 0, stamp: 0, token, known_tokens, entered };
                let known = facts.entry(request).or_insert((empty, ProcessSet::new(), None));
                known.0.attempt = known.0.attempt.max(entry.attempt);
                known.0.stamp = known.0.stamp.max(entry.stamp);
                known.0.known_tokens.extend(entry.first.into_iter().chain(entry.entered));
                known.2 = known.2.max(entry.entered);
                if entry.voted {
                    known.1.insert(*voter);
                    known.0.entered.extend(entry.entered.map(|token| (token, *voter)));
                }
            }
        }
        let unheard = &self.electorate.all() - responded;
        let facts = facts.into_values().map(|(mut fact, voted, recorded)| {
            let held = self.electorate.is_quorum(&(&voted | &unheard));
            fact.token = recorded.filter(|_| held);
            fact
        });
        facts.collect()
    }
}

/// A request of a session, merged from the replies of voters.
#[derive(Clone, Debug)]
struct Fact {
    lock: Name,
    request: RequestId,
    attempt: u64,
    stamp: u64,
    /// The token, if the request holds the lock.
    token: Option<u64>,
    /// Tokens that the client may have received.
    known_tokens: Vec<u64>,
    /// Recorded tokens by voter.
    entered: Vec<(u64, ProcessId)>,
}

impl Fact {
    /// Returns whether a client that has received this token means this request. `None` matches every request.
    fn has(&self, token: Option<u64>) -> bool {
        token.is_none_or(|token| self.token == Some(token) || self.known_tokens.contains(&token))
    }
}
