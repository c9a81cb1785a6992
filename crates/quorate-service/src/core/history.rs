//! History of votes: which requests had the vote of this node for each lock, for how long, and why they lost it.
//!
//! A voter does not know whether other voters have voted for the same request. So this is the history of a lock as one node saw
//! it, like the log lines of [`super::grants`]. It is kept in memory and lost when the node stops.

use std::collections::VecDeque;

use quorate_algorithms::mutex::leased_quorum::{RequestId, ToVoter};
use quorate_core::{ProcessId, SortedMap, Span, Time};
use quorate_protocol::Name;

use super::grants::token_of;
use super::holders::Holder;
use super::queries::QuestionState;
use super::{CallerId, NodeCore};
use crate::peer::{HISTORY_SINCE, HolderTexts, Question, VoteEnd, VoteRecord};

/// Maximum number of votes that are remembered after they have ended. The oldest are forgotten first.
const PAST_MOST: usize = 2_048;

/// Maximum number of votes in one answer.
const SHOWN_MOST: usize = 100;

/// Maximum number of votes in a reply to another node.
pub(super) const REPLIED_MOST: usize = 16;

/// Maximum number of characters of a client's text.
const TEXT_CHARS_MOST: usize = 400;

impl VoteEnd {
    /// Returns the reason if a message to the voter ends a vote.
    pub(super) fn by(message: &ToVoter<Name>) -> Self {
        match message {
            ToVoter::Release { .. } | ToVoter::End { .. } => Self::Released,
            ToVoter::Yield { .. } | ToVoter::Withdraw { .. } => Self::NotEntered,
            ToVoter::Beat { .. } | ToVoter::Request { .. } | ToVoter::Raise { .. } => Self::Moved,
        }
    }
}

/// A vote that was given to a request whose client may have been inside.
#[derive(Clone, Debug)]
struct PastVote {
    name: Name,
    request: RequestId,
    /// Number of the vote. The token of a direct client is the number of another vote if that one is greater.
    number: u64,
    /// The token, if this node knows it: recorded by a relay, or computed for a watcher from the votes of all nodes.
    token: Option<u64>,
    texts: Option<HolderTexts>,
    from: Time,
    ended: Option<(Time, VoteEnd)>,
}

/// The votes of all nodes for one lock, by node.
pub(crate) type VotesOfNodes = SortedMap<ProcessId, Vec<VoteRecord>>;

/// The knowledge of one node about a lock.
#[derive(Clone, Debug)]
pub(crate) struct LockRecord {
    /// Greatest number that the voter has given or confirmed.
    pub(crate) last: u64,
    /// Remaining time until the voter frees its vote unless the holder's client sends a beat, and the session's time-to-live.
    pub(crate) validity: Option<(Span, Span)>,
    /// The votes of the node, the newest first.
    pub(crate) votes: Vec<VoteRecord>,
}

/// A vote for a request whose client may be inside.
#[derive(Clone, Copy, Debug)]
struct Granted {
    request: RequestId,
    number: u64,
    token: Option<u64>,
}

/// Votes of this node that are given, and those that have ended.
#[derive(Debug, Default)]
pub(super) struct History {
    given: SortedMap<Name, PastVote>,
    past: VecDeque<PastVote>,
    /// The reason for votes that end now.
    why: VoteEnd,
}

impl History {
    pub(super) fn set_reason(&mut self, why: VoteEnd) {
        self.why = why;
    }

    /// Records the present vote for a lock, and ends the one before.
    fn update(&mut self, name: &Name, granted: Option<Granted>, now: Time) {
        if let (Some(known), Some(granted)) = (self.given.get_mut(name), granted)
            && known.request == granted.request
        {
            known.number = known.number.max(granted.number);
            known.token = granted.token.or(known.token);
            return;
        }
        if let Some(mut ended) = self.given.remove(name)
            && self.why != VoteEnd::NotEntered
        {
            ended.ended = Some((now, self.why));
            if self.past.len() >= PAST_MOST {
                self.past.pop_front();
            }
            self.past.push_back(ended);
        }
        if let Some(Granted { request, number, token }) = granted {
            let (name, texts, ended) = (name.clone(), None, None);
            let vote = PastVote { name, request, number, token, texts, from: now, ended };
            self.given.insert(vote.name.clone(), vote);
        }
    }

    /// Records the token of a holder, which a watcher has learned from the votes of all nodes.
    pub(super) fn learn_token(&mut self, name: &Name, (request, token): Holder) {
        if let Some(vote) = self.given.get_mut(name).filter(|vote| vote.request == request) {
            vote.token = Some(token);
        }
    }

    /// Returns when the present vote for a lock was given.
    pub(super) fn given_since(&self, name: &Name) -> Option<Time> {
        self.given.get(name).map(|vote| vote.from)
    }
}

impl NodeCore {
    /// Records a changed vote of the voter here.
    pub(super) fn record_vote(&mut self, name: &Name, now: Time) {
        let vote = self.voter.ballot(name).and_then(|ballot| ballot.vote());
        let vote = vote.filter(|vote| vote.frozen.is_none());
        let granted = vote.filter(|vote| token_of(vote).is_some()).map(|vote| Granted {
            request: vote.claim.request,
            number: vote.number,
            token: vote.entered.map(|(_, token)| token),
        });
        // The texts of the request may be forgotten with its vote.
        self.history_texts(name);
        self.history.update(name, granted, now);
        self.history_texts(name);
    }

    /// Adds the texts of the request that has the vote. They may arrive after the vote was given.
    fn history_texts(&mut self, name: &Name) {
        let Some(vote) = self.history.given.get(name).filter(|vote| vote.texts.is_none()) else {
            return;
        };
        let texts = self.holder_texts(vote.request);
        if let Some(vote) = self.history.given.get_mut(name) {
            vote.texts = texts;
        }
    }

    fn holder_texts(&self, request: RequestId) -> Option<HolderTexts> {
        let session = &self.texts.session(request.session)?.session_text;
        let (text, _) = self.texts.request(request)?;
        let short = |text: &str| text.chars().take(TEXT_CHARS_MOST).collect::<String>();
        Some(HolderTexts {
            client_name: short(&session.client_name),
            client_location: short(&session.client_location),
            why: short(&text.why),
            node: session.node,
        })
    }

    /// Returns what the voter here knows of a lock.
    pub(crate) fn lock_record(&self, name: &Name, now: Time) -> LockRecord {
        let ballot = self.voter.ballot(name);
        let vote = ballot.and_then(|ballot| ballot.vote()).filter(|vote| vote.frozen.is_none());
        let session = vote.and_then(|vote| self.voter.session(vote.claim.request.session));
        let validity = session.map(|session| (session.lapses().since(now), session.ttl()));
        LockRecord {
            last: ballot.map_or(0, |ballot| ballot.last()),
            validity,
            votes: self.votes_here(name, SHOWN_MOST, now),
        }
    }

    /// Returns the last votes of the voter here, the newest first.
    pub(super) fn votes_here(&self, name: &Name, most: usize, now: Time) -> Vec<VoteRecord> {
        let past = self.history.past.iter().rev().filter(|vote| vote.name == *name);
        let all = self.history.given.get(name).into_iter().chain(past).take(most);
        let record = |vote: &PastVote| VoteRecord {
            request: vote.request,
            number: vote.number,
            token: vote.token,
            // The texts of a present holder may have arrived after the vote was given.
            texts: vote.texts.clone().or_else(|| self.holder_texts(vote.request)),
            began: now.since(vote.from),
            ended: vote.ended.map(|(at, why)| (now.since(at), why)),
        };
        all.map(record).collect()
    }

    /// Asks all nodes that understand the question for their votes for a lock. Returns the number of the question.
    pub(crate) fn ask_history(&mut self, name: Name, now: Time) -> u64 {
        let number = self.counter + 1;
        let state = QuestionState::History(VotesOfNodes::new());
        self.ask_voters((CallerId::Node, 0), Question::History(name), state, now);
        number
    }

    /// Records whether a peer understands [`Question::History`].
    pub(crate) fn set_peer_version(&mut self, peer: ProcessId, version: u16) {
        match version >= HISTORY_SINCE {
            true => self.history_peers.insert(peer),
            false => self.history_peers.remove(peer),
        };
    }

    /// Returns the answers to questions of [`Self::ask_history`] since the last call, by number.
    pub(crate) fn answered_histories(&mut self) -> Vec<(u64, VotesOfNodes)> {
        std::mem::take(&mut self.histories)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Action;
    use crate::core::testing::node_of_three;
    use crate::peer::{PeerMessage, Reply};

    fn name() -> Name {
        Name::lock("a").expect("a name")
    }

    fn granted(session: u128, number: u64) -> Option<Granted> {
        let request = RequestId { session, incarnation: 0, number: 1 };
        Some(Granted { request, number, token: None })
    }

    fn ends(history: &History) -> Vec<(u64, VoteEnd)> {
        let end = |vote: &PastVote| (vote.number, vote.ended.expect("a vote that has ended").1);
        history.past.iter().map(end).collect()
    }

    #[test]
    fn a_vote_ends_with_its_reason_and_votes_that_were_given_back_are_forgotten() {
        let mut history = History::default();
        history.update(&name(), granted(1, 1), Time(1));
        history.update(&name(), granted(1, 2), Time(2));
        assert!(ends(&history).is_empty(), "the same request");
        history.set_reason(VoteEnd::Expired);
        history.update(&name(), granted(2, 3), Time(3));
        history.set_reason(VoteEnd::NotEntered);
        history.update(&name(), granted(3, 4), Time(4));
        history.set_reason(VoteEnd::Released);
        history.update(&name(), None, Time(5));
        assert_eq!(ends(&history), [(2, VoteEnd::Expired), (4, VoteEnd::Released)]);
        assert!(history.given.is_empty());
    }

    #[test]
    fn a_token_is_learned_for_the_request_that_has_the_vote() {
        let mut history = History::default();
        history.update(&name(), granted(1, 4), Time(1));
        let of = |session| RequestId { session, incarnation: 0, number: 1 };
        history.learn_token(&name(), (of(2), 9));
        assert_eq!(history.given[&name()].token, None, "of another request");
        history.learn_token(&name(), (of(1), 5));
        history.update(&name(), granted(1, 4), Time(2));
        assert_eq!(history.given[&name()].token, Some(5));
    }

    #[test]
    fn only_nodes_that_understand_the_question_are_asked() {
        let mut core = node_of_three(0);
        core.set_peer_version(ProcessId::new(1), HISTORY_SINCE);
        core.set_peer_version(ProcessId::new(2), HISTORY_SINCE - 1);
        let number = core.ask_history(name(), Time(2));
        let asked: Vec<ProcessId> = core
            .actions()
            .filter_map(|action| match action {
                Action::Send(to, PeerMessage::Question(_, _, Question::History(_))) => Some(to),
                _ => None,
            })
            .collect();
        assert_eq!(asked, [ProcessId::new(1)]);
        assert!(core.answered_histories().is_empty(), "one node is still to answer");
        // After a change of the voters other questions are repeated, also to nodes that are new.
        core.ask_again(Time(2));
        let sent = |action: &Action| matches!(action, Action::Send(..));
        assert!(!core.actions().any(|action| sent(&action)));
        core.on_reply(number, ProcessId::new(1), Reply::History(Vec::new()), Time(3));
        let answers = core.answered_histories();
        let nodes = |votes: &VotesOfNodes| votes.keys().map(|id| id.number()).collect::<Vec<_>>();
        assert_eq!(
            answers.iter().map(|(of, votes)| (*of, nodes(votes))).collect::<Vec<_>>(),
            [(number, vec![0, 1])]
        );
    }

    #[test]
    fn the_oldest_votes_are_forgotten() {
        let mut history = History::default();
        for number in 0..PAST_MOST as u64 + 10 {
            history.update(&name(), granted(u128::from(number), number), Time(number));
        }
        assert_eq!(history.past.len(), PAST_MOST);
        assert_eq!(history.past.front().map(|vote| vote.number), Some(9));
    }
}
