//! The voting side of quorum algorithms: a process gives its one vote to the best request it knows, and asks
//! for it back when a better one comes.

use alloc::collections::BTreeSet;

use quorate_core::{ProcessId, Stamp};

/// One process's vote and those who wait for it. The smaller the stamp, the better the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct Ballot {
    granted: Option<Stamp>,
    /// Whether the vote has been asked back.
    inquired: bool,
    waiting: BTreeSet<Stamp>,
}

/// What a voter has to say, and to whose request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mutex) enum Answer {
    /// The vote is yours.
    Reply(Stamp),
    /// May I have my vote back?
    Inquire(Stamp),
    /// Another is better than you.
    Failed(Stamp),
}

impl Ballot {
    /// A request comes in. With Sanders' correction, whoever is not the best known waiting request is told so,
    /// also one that was the best until now.
    pub(in crate::mutex) fn request(&mut self, theirs: Stamp, mut say: impl FnMut(Answer)) {
        let Some(granted) = self.granted else {
            return self.grant(theirs, say);
        };
        let head = self.waiting.first().copied();
        self.waiting.insert(theirs);
        if theirs > granted || head.is_some_and(|head| head < theirs) {
            return say(Answer::Failed(theirs));
        }
        // A head that does not outrank the holder has been told before.
        if let Some(displaced) = head.filter(|head| *head < granted) {
            say(Answer::Failed(displaced));
        }
        if !self.inquired {
            self.inquired = true;
            say(Answer::Inquire(granted));
        }
    }

    /// The vote comes back from one who still wants it.
    pub(in crate::mutex) fn give_back(&mut self, theirs: Stamp, say: impl FnMut(Answer)) -> bool {
        if self.granted != Some(theirs) {
            return false;
        }
        self.waiting.insert(theirs);
        self.grant_best(say);
        true
    }

    /// A request is over, whether it had the vote or not.
    pub(in crate::mutex) fn release(&mut self, theirs: Stamp, say: impl FnMut(Answer)) -> bool {
        if self.granted == Some(theirs) {
            self.grant_best(say);
            return true;
        }
        self.waiting.remove(&theirs)
    }

    /// A process has crashed: whatever it had or wanted is over.
    pub(in crate::mutex) fn forget(&mut self, process: ProcessId, say: impl FnMut(Answer)) {
        self.waiting.retain(|stamp| stamp.process != process);
        if self.granted.is_some_and(|granted| granted.process == process) {
            self.grant_best(say);
        }
    }

    fn grant_best(&mut self, say: impl FnMut(Answer)) {
        self.granted = None;
        self.inquired = false;
        if let Some(best) = self.waiting.pop_first() {
            self.grant(best, say);
        }
    }

    fn grant(&mut self, theirs: Stamp, mut say: impl FnMut(Answer)) {
        self.granted = Some(theirs);
        self.inquired = false;
        say(Answer::Reply(theirs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn stamp(time: u64) -> Stamp {
        Stamp { time, process: ProcessId::new(time as u32) }
    }

    fn said(act: impl FnOnce(&mut dyn FnMut(Answer))) -> Vec<Answer> {
        let mut all = Vec::new();
        act(&mut |answer| all.push(answer));
        all
    }

    #[test]
    fn a_displaced_head_is_told_that_it_failed() {
        let mut ballot = Ballot::default();
        assert_eq!(said(|say| ballot.request(stamp(9), say)), [Answer::Reply(stamp(9))]);
        assert_eq!(said(|say| ballot.request(stamp(5), say)), [Answer::Inquire(stamp(9))]);
        assert_eq!(said(|say| ballot.request(stamp(3), say)), [Answer::Failed(stamp(5))]);
        assert_eq!(said(|say| ballot.request(stamp(4), say)), [Answer::Failed(stamp(4))]);
        assert_eq!(said(|say| ballot.request(stamp(12), say)), [Answer::Failed(stamp(12))]);
    }

    #[test]
    fn a_vote_given_back_goes_to_the_best() {
        let mut ballot = Ballot::default();
        said(|say| ballot.request(stamp(9), say));
        said(|say| ballot.request(stamp(5), say));
        assert_eq!(said(|say| assert!(ballot.give_back(stamp(9), say))), [Answer::Reply(stamp(5))]);
        assert_eq!(said(|say| assert!(ballot.release(stamp(5), say))), [Answer::Reply(stamp(9))]);
        assert_eq!(said(|say| assert!(!ballot.give_back(stamp(5), say))), []);
    }
}
