//! k-exclusion by votes: each process has k votes and lends them to requests; a request needs more than k/(k + 1) of the
//! processes.
//!
//! - **Source**: the problem over the VCube is that of Rodrigues, "Uma Solução Autônoma para K-Exclusão Mútua em Sistemas
//!   Distribuídos", doctoral thesis, UFPR, 2014. Votes that are taken back are those of Maekawa, "A √N Algorithm for Mutual
//!   Exclusion in Decentralized Systems", ACM TOCS 3(2), 1985, and the inquiry after Sanders, "The Information Structure of
//!   Distributed Mutual Exclusion Algorithms", ACM TOCS 5(3), 1987.
//! - **Assumes**: links that neither lose nor duplicate, in any order; a perfect failure detector; crashed processes stay down.
//! - **Guarantees**: exclusion with k permits, no starvation while q processes are up (otherwise requesters give up), concurrency.
//! - **Costs**: 3(q - 1) to 8q - 5 messages per entry with quorums of q = ⌊kn/(k + 1)⌋ + 1 processes. Besides REQUEST, GRANT and
//!   RELEASE, the arrival of a request at a voter may cost an inquiry, a return and one more grant, and each vote one inquiry
//!   that its borrower answers from inside. Two message delays into a free section.
//! - **Departs from the paper**: this is a construction of its own, because quorums that only intersect do not suffice. With k = 2,
//!   each two of three quorums may share a voter while no voter is in all three. Each voter then has a vote for both of its
//!   requests, and all three processes enter. Here votes are counted.
//!
//! **Exclusion.** There are at most kn votes, and a vote that was lent to a process stays lent until that process returns it or has
//! crashed. If k + 1 processes were inside, they would have (k + 1)q > kn votes. This holds for any q voters, so each requester may
//! replace a voter that has crashed by any other, without agreement on failures. It prefers voters that are close in the VCube.
//!
//! **No starvation.** Requests are ordered by their stamps. A voter whose votes are lent asks the last of its borrowers to return a
//! vote if an earlier request arrives, and a borrower that has not entered does so. If the borrower is inside it says so, and the
//! voter asks the next one. Otherwise a request could wait for a process that is inside although another one could return a
//! vote. So the earliest request gets all its votes as long as fewer than k processes are inside.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::mem;

use quorate_core::allocation::{Claim, Command, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage,
    Permission, Process, ProcessId, ProcessSet, Profile, Property, SortedMap, SortedSet, Stamp,
    VCube,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the algorithm: a requester and a voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuorumK {
    id: ProcessId,
    n: usize,
    clock: LamportClock,
    failed: ProcessSet,
    phase: Phase,
    voter: Voter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting(Candidacy),
    Inside { time: u64, asked: ProcessSet },
}

/// A request that collects votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Candidacy {
    time: u64,
    /// The voters that were asked and have not crashed.
    asked: ProcessSet,
    /// The voters that have lent a vote.
    votes: ProcessSet,
    /// Voters that want a vote back which has not arrived yet.
    inquired: ProcessSet,
}

/// The votes of one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Voter {
    /// Number of votes, lent or not.
    votes: usize,
    /// Requests to which a vote is lent.
    lent: SortedMap<Stamp, Loan>,
    queue: SortedSet<Stamp>,
}

/// State of a vote that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Loan {
    Lent,
    /// The borrower was asked for the vote.
    Inquired,
    /// The borrower is inside and returns the vote when it leaves.
    Kept,
}

/// A message of the algorithm. Each carries the time of the request that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests a vote of the recipient.
    Request(u64),
    /// Lends a vote to the recipient.
    Grant(u64),
    /// Asks for a vote back, unless its borrower is inside.
    Inquire(u64),
    /// Keeps a vote, because its borrower is inside.
    Keep(u64),
    /// Returns a vote; the request goes on.
    Relinquish(u64),
    /// Ends a request and returns its vote.
    Release(u64),
}

/// Number of voters that a request needs: (k + 1)q > kn.
fn quorum_size(n: usize, capacity: usize) -> usize {
    // With more permits than processes, every process has to agree.
    let capacity = capacity.min(n);
    capacity * n / (capacity + 1) + 1
}

impl QuorumK {
    /// Creates process `id` of n processes, of which `capacity` may be inside together.
    pub fn new(n: usize, capacity: usize, id: ProcessId) -> Self {
        let votes = capacity.min(n);
        let voter = Voter { votes, lent: SortedMap::new(), queue: SortedSet::new() };
        let (clock, failed) = (LamportClock::default(), ProcessSet::new());
        Self { id, n, clock, failed, phase: Phase::Outside, voter }
    }

    /// Live processes in the order in which this process asks them: itself, then those of its clusters, the nearest first.
    fn preferred(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let cube = VCube::new(self.n);
        let clusters = cube.clusters().flat_map(move |s| cube.cluster(self.id, s));
        let all = core::iter::once(self.id).chain(clusters);
        all.filter(|process| process.index() < self.n && !self.failed.contains(*process))
    }

    fn request(&mut self, out: &mut Effects<Self>) {
        let time = self.clock.tick();
        let none = ProcessSet::new;
        let candidacy = Candidacy { time, asked: none(), votes: none(), inquired: none() };
        self.phase = Phase::Waiting(candidacy);
        self.ask_enough(out);
    }

    /// Asks further voters until a quorum is asked. Gives up if there are too few.
    fn ask_enough(&mut self, out: &mut Effects<Self>) {
        let size = quorum_size(self.n, self.voter.votes);
        let Phase::Waiting(candidacy) = &self.phase else { return };
        let more = size.saturating_sub(candidacy.asked.len());
        let unasked = self.preferred().filter(|voter| !candidacy.asked.contains(*voter));
        let new: ProcessSet = unasked.take(more).collect();
        if new.len() < more {
            return self.give_up(out);
        }
        let Phase::Waiting(candidacy) = &mut self.phase else { return };
        candidacy.asked.union_with(&new);
        let time = candidacy.time;
        if new.iter().any(|voter| voter != self.id) {
            let others = new.iter().filter(|voter| *voter != self.id).collect();
            out.multicast(others, Message::Request(time));
        }
        if new.contains(self.id) {
            self.on_request(Stamp { time, process: self.id }, out);
        }
    }

    fn give_up(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(candidacy) = &mut self.phase else { return };
        let (time, asked) = (candidacy.time, mem::take(&mut candidacy.asked));
        self.phase = Phase::Outside;
        self.end(time, asked, out);
        out.output(Output::NoQuorum);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        let Phase::Inside { time, asked } = mem::replace(&mut self.phase, Phase::Outside) else {
            return;
        };
        self.end(time, asked, out);
    }

    /// Tells all voters that a request has ended.
    fn end(&mut self, time: u64, mut asked: ProcessSet, out: &mut Effects<Self>) {
        let own = asked.remove(self.id);
        if !asked.is_empty() {
            out.multicast(asked, Message::Release(time));
        }
        if own {
            self.on_release(Stamp { time, process: self.id }, out);
        }
    }

    fn enter_if_elected(&mut self, out: &mut Effects<Self>) {
        let size = quorum_size(self.n, self.voter.votes);
        if let Phase::Waiting(Candidacy { time, asked, votes, .. }) = &mut self.phase
            && votes.len() >= size
        {
            let asked = mem::take(asked);
            self.phase = Phase::Inside { time: *time, asked };
            out.output(Output::Entered);
        }
    }

    /// A voter has lent a vote. If it has asked for it back meanwhile, it gets it back at once.
    fn on_grant(&mut self, from: ProcessId, time: u64, out: &mut Effects<Self>) {
        match &mut self.phase {
            Phase::Waiting(candidacy) if candidacy.time == time => {
                if candidacy.inquired.remove(from) {
                    return self.relinquish(from, time, out);
                }
                candidacy.votes.insert(from);
                self.enter_if_elected(out);
            }
            // The request has ended, and the voter learns that too.
            _ => out.ignored("a vote for a request that has ended"),
        }
    }

    fn on_inquiry(&mut self, from: ProcessId, time: u64, out: &mut Effects<Self>) {
        match &mut self.phase {
            Phase::Waiting(candidacy) if candidacy.time == time => {
                if candidacy.votes.remove(from) {
                    self.relinquish(from, time, out);
                } else {
                    candidacy.inquired.insert(from);
                }
            }
            Phase::Inside { time: own, .. } if *own == time => match from == self.id {
                true => self.on_kept(Stamp { time, process: self.id }, out),
                false => out.send(from, Message::Keep(time)),
            },
            // The vote is on its way back.
            _ => out.ignored("an inquiry after the vote of a request that has ended"),
        }
    }

    fn relinquish(&mut self, voter: ProcessId, time: u64, out: &mut Effects<Self>) {
        if voter == self.id {
            self.on_relinquished(Stamp { time, process: self.id }, out);
        } else {
            out.send(voter, Message::Relinquish(time));
        }
    }

    fn on_request(&mut self, request: Stamp, out: &mut Effects<Self>) {
        self.voter.queue.insert(request);
        self.lend(out);
    }

    fn on_relinquished(&mut self, request: Stamp, out: &mut Effects<Self>) {
        if self.voter.lent.remove(&request).is_none() {
            return out.ignored("a vote that was not lent");
        }
        self.voter.queue.insert(request);
        self.lend(out);
    }

    fn on_kept(&mut self, request: Stamp, out: &mut Effects<Self>) {
        // A notice that arrives after the vote has returned says nothing.
        if let Some(loan) = self.voter.lent.get_mut(&request) {
            *loan = Loan::Kept;
            self.lend(out);
        }
    }

    fn on_release(&mut self, request: Stamp, out: &mut Effects<Self>) {
        let is_queued = self.voter.queue.remove(&request);
        if self.voter.lent.remove(&request).is_none() && !is_queued {
            return out.ignored("the end of a request that was not made");
        }
        self.lend(out);
    }

    /// Lends votes to the earliest requests. If an earlier request than that of a borrower waits, asks the borrower to return
    /// its vote.
    fn lend(&mut self, out: &mut Effects<Self>) {
        while self.voter.lent.len() < self.voter.votes
            && let Some(next) = self.voter.queue.pop_first()
        {
            self.voter.lent.insert(next, Loan::Lent);
            match next.process == self.id {
                true => self.on_grant(self.id, next.time, out),
                false => out.send(next.process, Message::Grant(next.time)),
            }
        }
        let wanted_back = self.voter.wanted_back();
        // All are marked before any is asked: this process may be one of them, and then it lends the returned vote at once.
        for borrower in &wanted_back {
            self.voter.lent.insert(*borrower, Loan::Inquired);
        }
        for borrower in wanted_back {
            match borrower.process == self.id {
                true => self.on_inquiry(self.id, borrower.time, out),
                false => out.send(borrower.process, Message::Inquire(borrower.time)),
            }
        }
    }

    /// A crashed process needs no vote and lends none.
    fn on_crash(&mut self, crashed: ProcessId, out: &mut Effects<Self>) {
        if !self.failed.insert(crashed) {
            return;
        }
        let of_crashed = |stamp: &Stamp| stamp.process == crashed;
        let lent = self.voter.lent.keys().copied().find(of_crashed);
        lent.and_then(|stamp| self.voter.lent.remove(&stamp));
        let queued = self.voter.queue.iter().copied().find(of_crashed);
        queued.map(|stamp| self.voter.queue.remove(&stamp));
        self.lend(out);
        if let Phase::Waiting(candidacy) = &mut self.phase {
            candidacy.asked.remove(crashed);
            candidacy.votes.remove(crashed);
            candidacy.inquired.remove(crashed);
            self.ask_enough(out);
        }
    }
}

impl Voter {
    /// Borrowers to be asked for their votes: the latest ones that may return them, as many as there are earlier requests that
    /// wait, and each once.
    fn wanted_back(&self) -> Vec<Stamp> {
        let latest = self.lent.iter().rev().filter(|(_, loan)| **loan != Loan::Kept);
        let pairs = latest.zip(self.queue.iter());
        let wanted = pairs.take_while(|((borrower, _), waiting)| *waiting < *borrower);
        let new = wanted.filter(|((_, loan), _)| **loan == Loan::Lent);
        new.map(|((borrower, _), _)| *borrower).collect()
    }
}

impl Process for QuorumK {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Request(Claim::Permit), Phase::Outside) => self.request(out),
            (Command::Request(Claim::Permit), _) => return Err(Misuse::AlreadyAsked),
            (Command::Request(_), _) => return Err(Misuse::OtherClaim),
            (Command::Release, Phase::Inside { .. }) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        if self.failed.contains(from) {
            // Its votes are counted as returned and its requests as ended.
            return out.ignored("a message of a crashed process");
        }
        match message {
            Message::Request(time) => {
                self.clock.merge(time);
                self.on_request(Stamp { time, process: from }, out);
            }
            Message::Grant(time) => self.on_grant(from, time, out),
            Message::Inquire(time) => self.on_inquiry(from, time, out),
            Message::Keep(time) => self.on_kept(Stamp { time, process: from }, out),
            Message::Relinquish(time) => self.on_relinquished(Stamp { time, process: from }, out),
            Message::Release(time) => self.on_release(Stamp { time, process: from }, out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        if let Belief::Crashed(process) = belief {
            self.on_crash(process, out);
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting(candidacy) => {
                let mut missing = candidacy.asked.clone();
                missing.subtract(&candidacy.votes);
                missing
            }
            _ => ProcessSet::new(),
        }
    }

    fn permission(&self) -> Permission {
        Permission::given_to(self.voter.lent.keys().map(|request| request.process))
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::allocation("REQUEST"),
        Kind::allocation("GRANT"),
        Kind::allocation("INQUIRE"),
        Kind::allocation("KEEP"),
        Kind::allocation("RELINQUISH"),
        Kind::allocation("RELEASE"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Grant(_) => 1,
            Self::Inquire(_) => 2,
            Self::Keep(_) => 3,
            Self::Relinquish(_) => 4,
            Self::Release(_) => 5,
        }
    }
}

impl Sound for QuorumK {}

impl Algorithm for QuorumK {
    const PROFILE: Profile = Profile {
        name: "quorum-k",
        layer: Layer::Allocation,
        summary: "k may be inside: borrow votes of more than k/(k + 1) of the processes, each of which has k",
        source: "after Rodrigues, doctoral thesis, UFPR, 2014",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Exclusion, Property::NoStarvation, Property::Concurrency],
        cost: "3(q - 1) to 8q - 5 messages per entry with q = ⌊kn/(k + 1)⌋ + 1",
        never_quiescent: false,
    };

    const SHAPE: Shape = Shape::Everybody;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(setup.n, setup.capacity, id) }
    }

    fn cost(setup: &Setup) -> Cost {
        let others = quorum_size(setup.n, setup.capacity) as u64 - 1;
        let delay = if others == 0 { 0..=0 } else { 2..=2 };
        let most = if setup.n == 1 { 0 } else { 8 * others + 3 };
        Cost::between("3(q - 1) to 8q - 5", 3 * others, most).with_delays(delay, 0..=0)
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::{Effect, Time};

    use super::*;

    fn given(process: &mut QuorumK, from: u32, message: Message) -> Vec<Effect<QuorumK>> {
        let mut out = Effects::new(Time::ZERO);
        process.on_message(ProcessId::new(from), message, &mut out);
        out.drain().collect()
    }

    fn sent(to: u32, message: Message) -> Effect<QuorumK> {
        Effect::Send { to: ProcessId::new(to), message }
    }

    #[test]
    fn more_than_all_votes_would_be_needed_for_one_more_than_k() {
        for n in 1..40 {
            for capacity in 1..45 {
                let (size, votes) = (quorum_size(n, capacity), capacity.min(n));
                assert!(size <= n && (votes + 1) * size > votes * n, "{n} {capacity}");
            }
        }
        assert_eq!([1, 2, 3].map(|capacity| quorum_size(6, capacity)), [4, 5, 5]);
    }

    #[test]
    fn the_latest_borrower_that_is_not_inside_returns_a_vote() {
        let mut p0 = QuorumK::new(4, 2, ProcessId::new(0));
        assert_eq!(given(&mut p0, 1, Message::Request(5)), [sent(1, Message::Grant(5))]);
        assert_eq!(given(&mut p0, 2, Message::Request(9)), [sent(2, Message::Grant(9))]);
        assert_eq!(given(&mut p0, 3, Message::Request(3)), [sent(2, Message::Inquire(9))]);
        assert_eq!(given(&mut p0, 2, Message::Keep(9)), [sent(1, Message::Inquire(5))]);
        assert_eq!(given(&mut p0, 1, Message::Relinquish(5)), [sent(3, Message::Grant(3))]);
        assert_eq!(given(&mut p0, 2, Message::Release(9)), [sent(1, Message::Grant(5))]);
    }

    #[test]
    fn an_inquiry_may_overtake_the_vote() {
        let mut p0 = QuorumK::new(3, 2, ProcessId::new(0));
        let mut out = Effects::new(Time::ZERO);
        p0.on_command(Command::Request(Claim::Permit), &mut out).expect("p0 is outside");
        assert_eq!(given(&mut p0, 1, Message::Inquire(1)), []);
        assert_eq!(given(&mut p0, 1, Message::Grant(1)), [sent(1, Message::Relinquish(1))]);
        assert_eq!(given(&mut p0, 2, Message::Grant(1)), []);
        assert_eq!(given(&mut p0, 1, Message::Grant(1)), [Effect::Output(Output::Entered)]);
        assert_eq!(given(&mut p0, 1, Message::Inquire(1)), [sent(1, Message::Keep(1))]);
    }

    #[test]
    fn a_crashed_voter_is_replaced_and_a_crashed_borrower_returns_its_vote() {
        let mut p0 = QuorumK::new(6, 1, ProcessId::new(0));
        let mut out = Effects::new(Time::ZERO);
        p0.on_command(Command::Request(Claim::Permit), &mut out).expect("p0 is outside");
        out.drain().for_each(drop);
        let asked = p0.waits_for();
        assert_eq!(asked.len(), 3, "p0 has its own vote");
        let crashed = asked.first().expect("p0 has asked another process");
        p0.on_belief(Belief::Crashed(crashed), &mut out);
        assert_eq!(p0.waits_for().len(), 3);
        assert!(!p0.waits_for().contains(crashed));
        let mut p1 = QuorumK::new(6, 1, ProcessId::new(1));
        given(&mut p1, 2, Message::Request(1));
        assert_eq!(given(&mut p1, 3, Message::Request(1)), []);
        p1.on_belief(Belief::Crashed(ProcessId::new(2)), &mut out);
        let granted = out.drain().any(|effect| effect == sent(3, Message::Grant(1)));
        assert!(granted);
    }
}
