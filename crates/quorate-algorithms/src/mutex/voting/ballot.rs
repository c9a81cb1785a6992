//! The voting side of quorum algorithms: a process gives its one vote to the best request it knows, and asks
//! for it back when a better one comes.

use quorate_core::{ProcessId, ProcessSet, Stamp};

use super::ClaimQueue;

/// A request as a voter knows it. The smaller, the better.
pub(in crate::mutex) trait Claim: Copy + Ord {
    /// Whose it is.
    fn process(&self) -> ProcessId;
}

impl Claim for Stamp {
    fn process(&self) -> ProcessId {
        self.process
    }
}

/// One process's vote and those who wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct Ballot<C> {
    granted: Option<C>,
    /// Whether the vote has been asked back.
    inquired: bool,
    waiting: ClaimQueue<C>,
    /// A closed ballot takes requests and gives no vote.
    closed: bool,
}

/// What a voter has to say, and to whose request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mutex) enum BallotReply<C> {
    /// The vote is yours.
    Reply(C),
    /// May I have my vote back?
    Inquire(C),
    /// Another is better than you.
    Failed(C),
}

impl<C> Default for Ballot<C> {
    fn default() -> Self {
        Self { granted: None, inquired: false, waiting: ClaimQueue::default(), closed: false }
    }
}

impl<C: Claim> Ballot<C> {
    /// A ballot that gives no vote until it is opened.
    pub(in crate::mutex) fn closed() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// A request comes in. With Sanders' correction, whoever is not the best known waiting request is told so,
    /// also one that was the best until now. What its process had asked before is over.
    pub(in crate::mutex) fn request(&mut self, theirs: C, mut send: impl FnMut(BallotReply<C>)) {
        // Of each process one claim is known at most, the newest.
        match self.of(theirs.process()) {
            Some(newer) if newer > theirs => return,
            Some(older) => {
                self.release(older, &mut send);
            }
            None => {}
        }
        let Some(granted) = self.granted else {
            // Nobody waits for a vote that could have been given.
            match self.closed {
                true => self.waiting.insert(theirs),
                false => self.grant(theirs, send),
            }
            return;
        };
        let head = self.waiting.first();
        self.waiting.insert(theirs);
        if theirs > granted || head.is_some_and(|head| head < theirs) {
            return send(BallotReply::Failed(theirs));
        }
        // A head that does not outrank the holder has been told before.
        if let Some(displaced) = head.filter(|head| *head < granted) {
            send(BallotReply::Failed(displaced));
        }
        if !self.inquired {
            self.inquired = true;
            send(BallotReply::Inquire(granted));
        }
    }

    /// The vote comes back from one who still wants it.
    pub(in crate::mutex) fn give_back(
        &mut self,
        theirs: C,
        send: impl FnMut(BallotReply<C>),
    ) -> bool {
        if self.granted != Some(theirs) {
            return false;
        }
        self.waiting.insert(theirs);
        self.grant_best(send);
        true
    }

    /// A request is over, whether it had the vote or not.
    pub(in crate::mutex) fn release(
        &mut self,
        theirs: C,
        send: impl FnMut(BallotReply<C>),
    ) -> bool {
        if self.granted == Some(theirs) {
            self.grant_best(send);
            return true;
        }
        self.waiting.remove(&theirs)
    }

    /// A process has crashed: whatever it had or wanted is over.
    pub(in crate::mutex) fn forget(
        &mut self,
        process: ProcessId,
        send: impl FnMut(BallotReply<C>),
    ) {
        self.waiting.retain(|claim| claim.process() != process);
        if self.granted.is_some_and(|granted| granted.process() == process) {
            self.grant_best(send);
        }
    }

    /// Begins to give its vote. Those who do not get it are told, as if they had come one after the other.
    pub(in crate::mutex) fn open(&mut self, mut send: impl FnMut(BallotReply<C>)) {
        self.closed = false;
        self.grant_best(&mut send);
        self.waiting.iter().for_each(|claim| send(BallotReply::Failed(*claim)));
    }

    /// Who has the vote, if anybody has.
    pub(in crate::mutex) fn holder(&self) -> ProcessSet {
        self.granted.iter().map(Claim::process).collect()
    }

    /// What the process is known to claim.
    fn of(&self, process: ProcessId) -> Option<C> {
        let mut known = self.granted.iter().chain(self.waiting.iter());
        known.find(|claim| claim.process() == process).copied()
    }

    fn grant_best(&mut self, send: impl FnMut(BallotReply<C>)) {
        self.granted = None;
        self.inquired = false;
        if self.closed {
            return;
        }
        if let Some(best) = self.waiting.pop_first() {
            self.grant(best, send);
        }
    }

    fn grant(&mut self, theirs: C, mut send: impl FnMut(BallotReply<C>)) {
        self.granted = Some(theirs);
        self.inquired = false;
        send(BallotReply::Reply(theirs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn stamp(time: u64) -> Stamp {
        Stamp { time, process: ProcessId::new(time as u32) }
    }

    fn sent(act: impl FnOnce(&mut dyn FnMut(BallotReply<Stamp>))) -> Vec<BallotReply<Stamp>> {
        let mut all = Vec::new();
        act(&mut |answer| all.push(answer));
        all
    }

    #[test]
    fn a_displaced_head_is_told_that_it_failed() {
        let mut ballot = Ballot::default();
        assert_eq!(sent(|send| ballot.request(stamp(9), send)), [BallotReply::Reply(stamp(9))]);
        assert_eq!(sent(|send| ballot.request(stamp(5), send)), [BallotReply::Inquire(stamp(9))]);
        assert_eq!(sent(|send| ballot.request(stamp(3), send)), [BallotReply::Failed(stamp(5))]);
        assert_eq!(sent(|send| ballot.request(stamp(4), send)), [BallotReply::Failed(stamp(4))]);
        assert_eq!(sent(|send| ballot.request(stamp(12), send)), [BallotReply::Failed(stamp(12))]);
    }

    #[test]
    fn a_vote_given_back_goes_to_the_best() {
        let mut ballot = Ballot::default();
        sent(|send| ballot.request(stamp(9), send));
        sent(|send| ballot.request(stamp(5), send));
        assert_eq!(
            sent(|send| assert!(ballot.give_back(stamp(9), send))),
            [BallotReply::Reply(stamp(5))]
        );
        assert_eq!(
            sent(|send| assert!(ballot.release(stamp(5), send))),
            [BallotReply::Reply(stamp(9))]
        );
        assert_eq!(sent(|send| assert!(!ballot.give_back(stamp(5), send))), []);
    }

    #[test]
    fn a_closed_ballot_collects_and_then_decides() {
        let mut ballot = Ballot::closed();
        assert_eq!(sent(|send| ballot.request(stamp(9), send)), []);
        assert_eq!(sent(|send| ballot.request(stamp(5), send)), []);
        let decided = [BallotReply::Reply(stamp(5)), BallotReply::Failed(stamp(9))];
        assert_eq!(sent(|send| ballot.open(send)), decided);
    }

    #[test]
    fn a_process_that_asks_again_has_given_up_what_it_asked_before() {
        let again = Stamp { time: 9, process: ProcessId::new(5) };
        let mut ballot = Ballot::default();
        sent(|send| ballot.request(stamp(5), send));
        sent(|send| ballot.request(stamp(7), send));
        let answers = [BallotReply::Reply(stamp(7)), BallotReply::Failed(again)];
        assert_eq!(sent(|send| ballot.request(again, send)), answers);
        assert_eq!(
            sent(|send| assert!(ballot.release(stamp(7), send))),
            [BallotReply::Reply(again)]
        );
    }
}
