//! The voter, one per node. It lends its vote for each lock to one claim at a time, while the claim's session lives.

mod account;
mod changes;
mod peers;
mod restart;
mod sessions;
mod votes;

use alloc::vec::Vec;

use quorate_core::{ProcessId, SortedMap, SortedSet, Span, Time};

use super::ballot::{Ballot, GrantedVote, STAMPS_FROM};
use super::electorate::Electorate;
use super::id::{CandidateId, Epoch, RequestId};
use super::message::{Name, ToCandidate, ToVoter};
use super::terms::Terms;
use super::voter_session::VoterSession;

pub(super) use account::Abstention;
pub use peers::PeerMessage;
pub use restart::{Memory, RestartId};

/// A voter. A driver passes messages and time to it, and applies its effects in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Voter<K: Name> {
    id: ProcessId,
    electorate: Electorate,
    terms: Terms,
    /// Changes when the voter has forgotten its votes.
    incarnation: u64,
    /// Logical clock in milliseconds, never below the wall clock.
    clock: u64,
    /// The last epoch that was begun.
    epochs: u64,
    /// Upper bound of the numbers of locks without a ballot.
    floor: u64,
    /// Greatest number known to be durable. No vote has a greater number.
    ceiling: u64,
    reserving: bool,
    /// Locks whose next vote waits for a higher ceiling.
    held_up: SortedSet<K>,
    sessions: SortedMap<u128, VoterSession<K>>,
    /// Times at which client incarnations of sessions lapse.
    lapses: SortedSet<(Time, u128, u64)>,
    ballots: SortedMap<K, Ballot>,
    /// Idle ballots are evicted once there are more than twice this many ballots.
    ballots_most: usize,
    /// Votes under a force release, with the times at which they are freed.
    frozen: SortedSet<(Time, K)>,
    abstains: Option<Abstains>,
    change: Option<changes::Change>,
    /// Whether the voter stays out after it has forgotten its votes, because it has lost more than these.
    stays_out: bool,
    /// Messages of candidates that know a newer configuration, until the voter knows it too.
    early: Vec<(CandidateId, ToVoter<K>)>,
    /// Tokens are greater than this number, which the voter has learned because of a change.
    learned: u64,
    /// Index of the configuration in which it has learned it.
    learned_in: u64,
    /// Stamps are accepted unchanged until this time. After a restart the voter has forgotten which clock values it has
    /// sent to sessions. After a broken link it hears late of requests that were made long ago.
    trusts_until: Time,
}

/// The reason why a voter that has forgotten its votes does not vote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Abstains {
    /// A client may rely on a forgotten vote until this time.
    Until {
        time: Time,
        /// Whether a durable mark bounds the numbers of the forgotten votes.
        has_mark: bool,
    },
    /// The voter learns numbers from the other voters. `told` is the set of voters that have answered.
    Learning { told: quorate_core::ProcessSet, floor: u64 },
}

/// An effect of a voter. Drivers apply effects in order: a record is written before anything after it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoterEffect<K> {
    /// Writes a record to the vote file. It need not reach the disk platter.
    Persist(Record<K>),
    /// Makes durable that numbers up to this one may be used. The driver confirms with [`Voter::reserved`].
    Reserve(u64),
    /// Sends a message to a candidate.
    Send(CandidateId, ToCandidate<K>),
    /// Sends a message to another voter.
    SendPeer(ProcessId, PeerMessage),
}

/// State that a voter must keep across a restart. Later records of the same session or lock replace earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Record<K> {
    /// A session is in this epoch.
    Session {
        /// The session that is recorded.
        session: u128,
        /// Time-to-live of the session.
        ttl: Span,
        /// Epoch of the session at this voter.
        epoch: Epoch,
        /// Whether nodes run candidates for the session.
        relayed: bool,
        /// Whether the session is confirmed to be continuous.
        continuous: bool,
    },
    /// A session has lapsed or ended, with all its requests.
    Ended {
        /// The session that has ended.
        session: u128,
    },
    /// A lock has this last number and this vote.
    Ballot {
        /// The lock that is recorded.
        lock: K,
        /// The last number of the lock.
        last: u64,
        /// The vote, if it is given.
        vote: Option<GrantedVote>,
    },
    /// A request was ended by force.
    Dead {
        /// The request that has ended.
        request: RequestId,
        /// The lock of the request.
        lock: K,
    },
    /// A client has released a request, up to this attempt. Written only if other candidates of the session
    /// may not know it.
    Released {
        /// The request that was released.
        request: RequestId,
        /// The last attempt that has ended.
        attempt: u64,
    },
    /// State that concerns all locks and sessions.
    Counters {
        /// Upper bound of the numbers of locks without a ballot.
        floor: u64,
        /// The last epoch that was begun.
        epochs: u64,
    },
    /// The voter has learned that tokens are greater than this number.
    Learned {
        /// Index of the configuration in which it has learned it.
        index: u64,
        /// The number that it has learned.
        floor: u64,
    },
    /// A lock is idle and its ballot was evicted. The floor bounds its numbers.
    Forgotten {
        /// The lock that was evicted.
        lock: K,
    },
}

/// Buffer of voter effects.
pub type VoterEffects<K> = alloc::vec::Vec<VoterEffect<K>>;

/// Default value of `ballots_most` in a [`Voter`].
const BALLOTS_MOST: usize = 8192;

impl<K: Name> Voter<K> {
    /// Creates a voter of a new cluster, which has never voted.
    pub fn new(id: ProcessId, electorate: Electorate, terms: Terms) -> Self {
        Self {
            id,
            electorate,
            terms,
            incarnation: 0,
            clock: STAMPS_FROM,
            epochs: 0,
            floor: 0,
            ceiling: u64::MAX,
            reserving: false,
            held_up: SortedSet::new(),
            sessions: SortedMap::new(),
            lapses: SortedSet::new(),
            ballots: SortedMap::new(),
            ballots_most: BALLOTS_MOST,
            frozen: SortedSet::new(),
            abstains: None,
            change: None,
            stays_out: false,
            early: Vec::new(),
            learned: 0,
            learned_in: 0,
            trusts_until: Time::ZERO,
        }
    }

    /// The same voter with numbers bounded by the durable ceiling. Greater numbers wait for [`VoterEffect::Reserve`].
    #[must_use]
    pub fn with_ceiling(mut self, ceiling: u64) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// The same voter, which evicts idle ballots once it has more than twice this many ballots.
    #[must_use]
    pub fn with_ballots_most(mut self, most: usize) -> Self {
        self.ballots_most = most;
        self
    }

    /// Handles a message of a candidate.
    pub fn on_message(
        &mut self,
        from: CandidateId,
        message: ToVoter<K>,
        now: Time,
        out: &mut VoterEffects<K>,
    ) {
        if let Some(config) = self.config_of(&message)
            && !self.shares(from, config, &message, out)
        {
            return;
        }
        match message {
            ToVoter::Beat { session, seen, waiting, confirms } => {
                if self.accept(session, from, now, out) {
                    // Only now: a session that has just lapsed is in another epoch.
                    if confirms {
                        self.confirm(session.session, seen, out);
                    }
                    self.on_beat(from, session, seen, waiting, now, out);
                }
            }
            ToVoter::Request { session, lock, claim, stamp, inside, rank, ended } => {
                // A candidate may act only for itself and for the session that it presents.
                if claim.candidate == from && claim.request.session == session.session {
                    self.end_earlier(&lock, claim, ended, out);
                    self.on_request(session, lock, claim, (stamp, inside, rank), now, out);
                }
            }
            ToVoter::Raise { lock, claim, vote, token, enters } => {
                self.on_raise(lock, claim, vote, (token, enters), out);
            }
            ToVoter::Yield { lock, claim, vote } => self.on_yield(lock, claim, vote, out),
            ToVoter::Withdraw { lock, claim, untold } => {
                if claim.candidate == from {
                    self.on_withdraw(lock, claim, untold, out);
                }
            }
            ToVoter::Release { request, attempt, token, .. } => {
                self.release(request, attempt, token, out);
            }
            ToVoter::End { session } => self.end_session(session, out),
        }
    }

    /// The earliest time at which [`Self::wake`] has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        let abstains = match &self.abstains {
            Some(Abstains::Until { time, .. }) if !self.stays_out => Some(*time),
            _ => None,
        };
        let lapses = self.lapses.first().map(|(time, ..)| *time);
        let frozen = self.frozen.first().map(|(time, _)| *time);
        [abstains, lapses, frozen].into_iter().flatten().min()
    }

    /// Sessions, and the incarnations of their clients, whose votes [`Self::wake`] frees at this time because no beat has
    /// arrived for one time-to-live.
    pub fn lapsing(&self, now: Time) -> impl Iterator<Item = (u128, u64)> + '_ {
        let due = self.lapses.iter().take_while(move |(time, ..)| *time <= now);
        due.map(|(_, session, incarnation)| (*session, *incarnation))
    }

    /// Handles everything that is due.
    pub fn wake(&mut self, now: Time, out: &mut VoterEffects<K>) {
        self.end_abstention(now, out);
        self.learn_own(out);
        while let Some((_, session, incarnation)) =
            self.lapses.first().copied().filter(|(time, ..)| *time <= now)
        {
            self.end_incarnation(session, incarnation, now, out);
        }
        while let Some((_, lock)) = self.frozen.first().filter(|(time, _)| *time <= now) {
            let lock = lock.clone();
            self.thaw(lock, out);
        }
    }

    /// Sets the wall clock in milliseconds. The logical clock is never below it, so that the order survives a
    /// restart of all voters.
    pub fn set_wall_clock(&mut self, millis: u64) {
        self.clock = self.clock.max(millis);
    }

    /// Takes note that a link to another node has come up, over which requests may arrive that have waited elsewhere for a
    /// long time. They keep their places.
    pub fn linked(&mut self, now: Time) {
        self.trusts_until = self.trusts_until.max(now + self.terms.ttl_most);
    }

    /// Changes when the voter has forgotten its votes.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// The voter's logical clock.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Returns `true` if the voter votes. A voter that has forgotten its votes abstains for a while.
    pub fn is_voting(&self) -> bool {
        self.abstains.is_none()
    }

    /// Number of votes from before a restart whose clients have sent no beat since. A client may have released its vote
    /// while the voter was down; no other request gets the vote until the client sends a beat or its session lapses.
    pub fn unheard(&self) -> usize {
        let votes = self.ballots.values().filter_map(Ballot::vote);
        let is_unheard = |vote: &&GrantedVote| {
            let session = self.sessions.get(&vote.claim.request.session);
            session.is_some_and(|session| session.is_unheard(vote.beats))
        };
        votes.filter(is_unheard).count()
    }

    /// The ballot of a lock, if the voter has one.
    pub fn ballot(&self, lock: &K) -> Option<&Ballot> {
        self.ballots.get(lock)
    }

    /// All ballots with their locks.
    pub fn ballots(&self) -> impl ExactSizeIterator<Item = (&K, &Ballot)> {
        self.ballots.iter()
    }

    /// The greatest number given or confirmed for a lock. `None` while the voter abstains.
    pub fn last(&self, lock: &K) -> Option<u64> {
        let last = self.ballots.get(lock).map_or(self.floor, Ballot::last);
        self.is_voting().then_some(last)
    }

    /// A session, if it lives at this voter.
    pub fn session(&self, session: u128) -> Option<&VoterSession<K>> {
        self.sessions.get(&session)
    }

    /// All sessions that live at this voter.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = (u128, &VoterSession<K>)> {
        self.sessions.iter().map(|(id, session)| (*id, session))
    }

    /// Visits the number of every beat that the voter remembers, for explorers that number beats by the clock.
    pub fn beat_numbers(&mut self, show: &mut dyn FnMut(&mut u64)) {
        for session in self.sessions.values_mut() {
            session.beats.values_mut().for_each(|heard| show(&mut heard.number));
        }
        let early = self.early.iter_mut().filter_map(|(_, message)| message.presented_mut());
        early.for_each(|session| show(&mut session.beat.number));
    }

    /// Visits every time that the voter remembers, for explorers without a time limit.
    pub fn moments(&mut self, show: &mut dyn FnMut(&mut u64)) {
        for session in self.sessions.values_mut() {
            session.beats.values_mut().for_each(|heard| show(&mut heard.at.0));
        }
        show(&mut self.trusts_until.0);
        if let Some(Abstains::Until { time, .. }) = &mut self.abstains {
            show(&mut time.0);
        }
        if let Some(change) = &mut self.change {
            show(&mut change.closes.0);
        }
        self.index_lapses();
        let mut frozen = SortedSet::new();
        for (lock, ballot) in &mut self.ballots {
            if let Some(time) = ballot.vote.as_mut().and_then(|vote| vote.frozen.as_mut()) {
                show(&mut time.0);
                frozen.insert((*time, lock.clone()));
            }
        }
        self.frozen = frozen;
    }
}
