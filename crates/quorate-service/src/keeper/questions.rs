//! Questions to all nodes, for one client's answer.

use std::collections::BTreeMap;

use quorate_core::{ProcessId, ProcessSet, Span, Time};
use quorate_protocol::{Answer, Failure, TokenStanding, escaped};

use super::calls::too_much;
use super::moves::Offer;
use super::pages::{PAGE_MOST, Parts};
use super::{Alarm, Client, Keeper};
use crate::peer::{PeerMessage, Question, Reply};

/// So many questions of one client may be on their way. Each makes work for every node.
const OPEN_MOST: usize = 4;

/// How long nodes have to answer.
pub(super) const PATIENCE: Span = Span::from_millis(500);

/// A question that is on its way.
#[derive(Debug)]
pub(super) struct Asked {
    by: (Client, u64),
    open: ProcessSet,
    waiting: Waiting,
}

/// What has come so far.
#[derive(Debug)]
pub(super) enum Waiting {
    List(Parts),
    Token {
        token: u64,
        counters: BTreeMap<ProcessId, u64>,
    },
    Expel(bool),
    Heard,
    /// A client asks for a lease.
    Lease,
    Leases(Vec<i64>),
    /// A session goes to another node.
    Move(Offer),
}

impl Asked {
    /// One node is asked, for no client.
    pub(super) fn one(peer: ProcessId, waiting: Waiting) -> Self {
        let open = [peer].into_iter().collect();
        Self { by: (Client(u64::MAX), 0), open, waiting }
    }
}

impl Keeper {
    /// Asks all nodes, this one first.
    pub(super) fn inquire(
        &mut self,
        by: (Client, u64),
        question: Question,
        waiting: Waiting,
        now: Time,
    ) {
        if self.asked.values().filter(|asked| asked.by.0 == by.0).count() >= OPEN_MOST {
            let most = format!("{OPEN_MOST} questions to all nodes at once are the most");
            return self.answer(by, too_much(most));
        }
        self.numbers += 1;
        let number = self.numbers;
        let peers: Vec<ProcessId> = self.peers().collect();
        let is_up = |peer: &&ProcessId| matches!(self.up.get(*peer), Some(Ok(())));
        let mut open: ProcessSet = peers.iter().filter(is_up).copied().collect();
        for peer in &open {
            self.send(peer, PeerMessage::Question(number, question.clone()));
        }
        open.insert(self.settings.id);
        self.asked.insert(number, Asked { by, open, waiting });
        self.alarms.insert((now + PATIENCE, Alarm::Question(number)));
        let reply = self.reply(question, now);
        self.on_reply(number, self.settings.id, reply, now);
    }

    /// What this node answers.
    pub(super) fn reply(&mut self, question: Question, now: Time) -> Reply {
        match question {
            // Of the first version, which knew no pages.
            Question::Requests(..) => Reply::Requests(Vec::new()),
            Question::Page(selection, most) => {
                let most = most.min(PAGE_MOST) as usize;
                let (requests, more) = self.page_here(&selection, most, now);
                Reply::Page(requests, more)
            }
            Question::Counter(name) => Reply::Counter(self.locks().counter(&name)),
            Question::Expel(name, reason) => {
                let had = self.expel_here(&name, now);
                if had {
                    tracing::warn!(lock = %name, reason = %escaped(&reason), "taken away");
                }
                Reply::Expelled(had)
            }
            Question::Heard => Reply::Heard,
            Question::HasLease(lease) => Reply::HasLease(self.leases.here.contains_key(&lease)),
            Question::Leases(owner) => Reply::Leases(self.leases_here(&owner)),
            Question::TakeOver(moving) => Reply::TakenOver(self.take_over(*moving, now)),
        }
    }

    pub(super) fn on_reply(&mut self, number: u64, from: ProcessId, reply: Reply, now: Time) {
        let Some(asked) = self.asked.get_mut(&number) else { return };
        asked.open.remove(from);
        match (&mut asked.waiting, reply) {
            (Waiting::List(parts), Reply::Page(requests, more)) => {
                parts.add(from, requests, more);
            }
            (Waiting::Token { counters, .. }, Reply::Counter(Some(counter))) => {
                counters.insert(from, counter);
            }
            (Waiting::Expel(done), Reply::Expelled(had)) => *done |= had,
            (Waiting::Leases(all), Reply::Leases(more)) => all.extend(more),
            (Waiting::Lease, Reply::HasLease(true)) => {
                let client = asked.by.0;
                self.asked.remove(&number);
                return self.lease_is_at(client, from, now);
            }
            (Waiting::Move(_), Reply::TakenOver(taken)) => {
                if let Some(Asked { waiting: Waiting::Move(offer), .. }) =
                    self.asked.remove(&number)
                {
                    self.was_sent_away(&offer, taken);
                }
                return;
            }
            _ => {}
        }
        if asked.open.is_empty() {
            self.close_question(number, now);
        }
    }

    /// Answers with what has come.
    pub(super) fn close_question(&mut self, number: u64, now: Time) {
        let Some(Asked { by, open, waiting }) = self.asked.remove(&number) else { return };
        let answer = match waiting {
            Waiting::List(parts) => {
                let down = |peer: &ProcessId| !matches!(self.up.get(peer), Some(Ok(())));
                let silent = self.peers().filter(|peer| open.contains(*peer) || down(peer));
                parts.page(silent.map(ProcessId::number).collect())
            }
            Waiting::Lease => return self.lease_is_nowhere(by.0, open.is_empty(), now),
            Waiting::Leases(mut all) => {
                all.sort_unstable();
                Answer::Leases(all)
            }
            Waiting::Heard | Waiting::Expel(true) => Answer::Done,
            Waiting::Expel(false) if open.is_empty() => Answer::Failed(Failure::Free),
            Waiting::Expel(false) => Answer::Failed(Failure::NoQuorum),
            Waiting::Token { token, counters } => self.standing(token, &counters),
            Waiting::Move(offer) => return self.offer_again(offer, now),
        };
        self.answer(by, answer);
    }

    /// Whether a token is the last one. Whoever enters later has a greater one, and so have then all voters of a quorum:
    /// one of them is in every quorum, so that no quorum is left of those who have not come further.
    fn standing(&self, token: u64, counters: &BTreeMap<ProcessId, u64>) -> Answer {
        let all: ProcessSet = counters.keys().copied().collect();
        if !self.locks().is_quorum(&all) {
            return Answer::Failed(Failure::NoQuorum);
        }
        let not_further = counters.iter().filter(|(_, counter)| **counter <= token);
        let not_further: ProcessSet = not_further.map(|(voter, _)| *voter).collect();
        let current = self.locks().is_quorum(&not_further);
        if !current {
            self.measures.stale_tokens.inc();
        }
        Answer::Token(TokenStanding {
            current,
            greatest: counters.values().copied().max().unwrap_or(0),
        })
    }
}
