//! Adopting a configuration with other voters.

use alloc::vec::Vec;

use super::super::electorate::Electorate;
use super::super::id::RequestId;
use super::super::message::Name;
use super::view::View;
use super::{Candidate, CandidateEffect, CandidateEffects};

impl<K: Name> Candidate<K> {
    /// The configuration that the candidate uses.
    pub fn electorate(&self) -> &Electorate {
        &self.electorate
    }

    /// The same candidate, which knows the configuration before the present one.
    #[must_use]
    pub fn after(mut self, previous: Option<Electorate>) -> Self {
        self.previous = previous;
        self
    }

    /// Adopts a configuration that is newer than the present one. From now on the candidate needs quorums of the new one.
    ///
    /// Votes for requests that are not inside are requested again and count once they are confirmed: their voters may have
    /// learned numbers of others. They are not given back, so that the requests keep their positions. A request that is
    /// inside keeps its votes, and asks the new voters.
    ///
    /// `previous` is the electorate of the configuration before the new one. New voters are confirmed by one of its quorums.
    pub fn adopt(
        &mut self,
        electorate: Electorate,
        previous: Option<Electorate>,
        out: &mut CandidateEffects<K>,
    ) {
        if electorate.index() <= self.electorate.index() {
            return;
        }
        let bound = electorate.bound().max(self.views.len());
        self.views.resize(bound, View::default());
        self.session.config = electorate.index();
        (self.electorate, self.previous) = (electorate, previous);
        self.announce(out);
        for pursuit in self.pursuits.values_mut() {
            pursuit.raising = None;
            match (pursuit.inside, pursuit.granted) {
                (Some(_), _) => pursuit.asks_all = true,
                // The client may have learned of the grant. So the votes are not given back in this attempt.
                (None, Some(_)) => pursuit.broken = true,
                (None, None) => pursuit.votes.clear(),
            }
        }
        let requests: Vec<RequestId> = self.pursuits.keys().copied().collect();
        for request in requests {
            self.ask_again(request, out);
            self.record(request, out);
            self.advance(request, out);
        }
    }

    /// Requests all votes, those that were given before, too.
    fn ask_again(&mut self, request: RequestId, out: &mut CandidateEffects<K>) {
        let Some(pursuit) = self.pursuits.get(&request) else { return };
        for voter in &(&pursuit.asked - &pursuit.gone) {
            if self.electorate.contains(voter) {
                out.push(CandidateEffect::Send(voter, self.request(request, pursuit)));
            }
        }
        self.ask(request, out);
    }
}
