//! Voters that have kept the session without a gap. Only they count when a client is told that its session is alive and not
//! what it holds: a session that has lapsed and is presented again has lost its locks at that voter.

use quorate_core::ProcessId;

use super::super::id::Beat;
use super::super::message::Name;
use super::tokens::Among;
use super::view::View;
use super::{Candidate, CandidateEffects};

impl<K: Name> Candidate<K> {
    /// The newest beat that a quorum has echoed at which the session is continuous. A lock that was granted before this
    /// beat, and not released, is in one of their lists: at one voter of this quorum the record of its token has not
    /// lapsed.
    pub fn echoed_continuously(&self) -> Option<Beat> {
        self.quorum_echo(|view| view.continuous || view.confirmed)
    }

    /// The same for the confirmation of further voters. After a change of the voters no quorum of the present ones may be
    /// continuous, because the session is new to some of them. A quorum of the configuration before is enough.
    pub fn echoed_to_confirm(&self) -> Option<Beat> {
        self.echo_among(Among::PresentOrPrevious, |view| view.continuous || view.confirmed)
    }

    /// Returns `true` if a quorum knows that the session is continuous there, so that every other candidate finds a
    /// voter at which it is.
    pub fn is_continuous(&self) -> bool {
        self.quorum_echo(|view| view.continuous).is_some()
    }

    /// Returns `true` if a quorum has echoed this beat or a later one, and the session is continuous at none of these
    /// voters. It has lapsed at a voter of every quorum, and can never be continuous again.
    pub fn is_broken(&self, beat: u64) -> bool {
        let broken = self.quorum_echo(|view| !view.continuous && !view.confirmed);
        broken.is_some_and(|echoed| echoed.number >= beat)
    }

    /// Returns `true` if the session is known to be continuous at a voter, or if this candidate has confirmed it.
    pub fn counts(&self, voter: ProcessId) -> bool {
        self.views.get(voter.index()).is_some_and(|view| view.continuous || view.confirmed)
    }

    pub(super) fn quorum_echo(&self, counts: impl Fn(&View<K>) -> bool) -> Option<Beat> {
        self.echo_among(Among::Present, counts)
    }

    fn echo_among(&self, among: Among, counts: impl Fn(&View<K>) -> bool) -> Option<Beat> {
        let views = self.views.iter().enumerate().filter(|(_, view)| counts(view));
        let echoed = views.filter_map(|(at, view)| Some((view.beat?, ProcessId::from_index(at))));
        let number = self.beat_of(among, echoed.collect())?;
        Some(Beat { number, ..self.session.beat })
    }

    /// The beats with which voters can be confirmed that have answered and are not confirmed.
    pub fn confirmable_with(&self) -> impl Iterator<Item = u64> {
        let views = self.views.iter().enumerate();
        let of_voters =
            views.filter(|(at, _)| self.electorate.contains(ProcessId::from_index(*at)));
        let unconfirmed = of_voters.filter(|(_, view)| view.is_unconfirmed());
        unconfirmed.map(|(_, view)| view.counts_from)
    }

    /// Confirms that the session is continuous at the voters that have answered before this beat began. The caller knows
    /// that a quorum has echoed the beat continuously, and that everything that the session holds is held in that beat.
    ///
    /// With `u64::MAX`, the session is so young that it cannot have lapsed at any voter that has answered.
    pub fn confirm(&mut self, beat: u64, out: &mut CandidateEffects<K>) {
        for voter in &self.electorate.all() {
            let view = &mut self.views[voter.index()];
            if view.is_unconfirmed() && view.counts_from <= beat {
                view.confirmed = true;
                out.push(self.beat_to(voter));
            }
        }
    }
}
