//! The voting side of quorum algorithms. A process gives its only vote to the best request it knows, and asks for it
//! back when a better request arrives.

use quorate_core::{ProcessId, ProcessSet, Stamp};

use super::ClaimQueue;

/// A request as known to a voter. A smaller claim has priority.
pub(in crate::mutex) trait Claim: Copy + Ord {
    /// The process that made the request.
    fn process(&self) -> ProcessId;
}

impl Claim for Stamp {
    fn process(&self) -> ProcessId {
        self.process
    }
}

/// The vote of one process, and the claims that wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct Ballot<C> {
    granted: Option<C>,
    /// Whether the voter has asked for its vote back.
    inquired: bool,
    waiting: ClaimQueue<C>,
    /// A closed ballot accepts requests but gives no vote.
    closed: bool,
}

/// A reply of a voter, with the request to which it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mutex) enum BallotReply<C> {
    /// Gives the vote to the request.
    Reply(C),
    /// Asks for the vote back.
    Inquire(C),
    /// Reports that another request has priority.
    Failed(C),
}

impl<C> Default for Ballot<C> {
    fn default() -> Self {
        Self { granted: None, inquired: false, waiting: ClaimQueue::default(), closed: false }
    }
}

impl<C: Claim> Ballot<C> {
    /// Creates a ballot that gives no vote until it is opened.
    pub(in crate::mutex) fn closed() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// Handles a request. With Sanders' correction, every request that is not the best known waiting one receives
    /// FAILED, including a claim that was the best until now. An earlier request of the same process has ended.
    pub(in crate::mutex) fn request(&mut self, theirs: C, mut send: impl FnMut(BallotReply<C>)) {
        // At most one claim of each process is known, the newest.
        match self.of(theirs.process()) {
            Some(newer) if newer > theirs => return,
            Some(older) => {
                self.release(older, &mut send);
            }
            None => {}
        }
        let Some(granted) = self.granted else {
            // If the ballot is open and the vote free, no other claim waits.
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
        // A head that does not outrank the holder has received FAILED before.
        if let Some(displaced) = head.filter(|head| *head < granted) {
            send(BallotReply::Failed(displaced));
        }
        if !self.inquired {
            self.inquired = true;
            send(BallotReply::Inquire(granted));
        }
    }

    /// Takes the vote back from a claim that keeps waiting for it. Returns `true` if the claim had the vote.
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

    /// Removes a claim, whether it has the vote or waits. Returns `true` if the claim was known.
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

    /// Removes all claims of a crashed process.
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

    /// Starts to give the vote. All other waiting claims receive FAILED, as if they had arrived one after another.
    pub(in crate::mutex) fn open(&mut self, mut send: impl FnMut(BallotReply<C>)) {
        self.closed = false;
        self.grant_best(&mut send);
        self.waiting.iter().for_each(|claim| send(BallotReply::Failed(*claim)));
    }

    /// The process that has the vote, if any.
    pub(in crate::mutex) fn holder(&self) -> ProcessSet {
        self.granted.iter().map(Claim::process).collect()
    }

    /// The claim that has the vote, if any.
    pub(in crate::mutex) fn granted(&self) -> Option<C> {
        self.granted
    }

    /// The known claim of the process, if any.
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
