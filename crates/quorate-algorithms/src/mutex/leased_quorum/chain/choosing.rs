//! How the voters of a settled configuration choose the next one: single-decree Paxos.

use quorate_core::{ProcessId, ProcessSet};

use super::{Chain, ChainEffect, ChainEffects, ChainMessage, Round, Voters};

/// An attempt of this node to choose the next configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Proposal<V> {
    /// The voters that the operator wants.
    wanted: V,
    round: Round,
    /// Voters that have answered in this phase.
    answered: ProcessSet,
    /// The voters accepted in the greatest round that a promise has named.
    accepted: Option<(Round, V)>,
    /// The voters that this round tries to choose, once a quorum has promised.
    value: Option<V>,
    /// Whether a voter has promised a greater round.
    refused: bool,
}

/// The reason why a change cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotPropose {
    /// The present configuration is not settled, so another change is in progress.
    #[error("another change of the voters is in progress")]
    NotSettled,
    /// Only voters of the present configuration propose.
    #[error("this node is not a voter")]
    NotVoter,
    /// The voters are these already.
    #[error("the cluster has these voters already")]
    Same,
}

impl<V: Voters> Chain<V> {
    /// Begins to choose these voters as the next ones. If another node proposes others at the same time, one of the two
    /// is chosen.
    pub fn propose(&mut self, wanted: V, out: &mut ChainEffects<V>) -> Result<(), CannotPropose> {
        if !self.is_settled() || self.present().is_joint() {
            return Err(CannotPropose::NotSettled);
        }
        if !self.present().electorate().contains(self.id) {
            return Err(CannotPropose::NotVoter);
        }
        if self.present().voters == wanted {
            return Err(CannotPropose::Same);
        }
        self.begin_round(wanted, out);
        Ok(())
    }

    /// Returns `true` while this node tries to choose the next configuration.
    pub fn proposes(&self) -> bool {
        self.proposal.is_some()
    }

    /// Gives up. The voters may choose what was proposed nevertheless.
    pub fn give_up(&mut self) {
        self.proposal = None;
    }

    pub(super) fn begin_round(&mut self, wanted: V, out: &mut ChainEffects<V>) {
        self.rounds += 1;
        let round = (self.rounds, self.id);
        let (answered, accepted, value, refused) = (ProcessSet::new(), None, None, false);
        self.proposal = Some(Proposal { wanted, round, answered, accepted, value, refused });
        self.ask_voters(out);
    }

    /// Repeats the question of the present phase, or begins a greater round if this one was refused. Two nodes that refuse
    /// each other do so at different times, so one of them completes a round.
    pub(super) fn repeat_proposal(&mut self, out: &mut ChainEffects<V>) {
        match self.proposal.take_if(|proposal| proposal.refused) {
            Some(refused) => self.begin_round(refused.wanted, out),
            None => self.ask_voters(out),
        }
    }

    /// Sends the question of the present phase to the voters that have not answered.
    fn ask_voters(&mut self, out: &mut ChainEffects<V>) {
        let Some(proposal) = &self.proposal else { return };
        let index = self.present().index;
        let message = match &proposal.value {
            None => ChainMessage::Prepare(index, proposal.round),
            Some(value) => ChainMessage::Accept(index, proposal.round, value.clone()),
        };
        let silent = &self.present().electorate().all() - &proposal.answered;
        for voter in silent.iter().filter(|voter| *voter != self.id) {
            out.push(ChainEffect::Send(voter, message.clone()));
        }
        if silent.contains(self.id) {
            self.choose(self.id, message, out);
        }
    }

    /// Handles a message about the choice of the next configuration.
    pub(super) fn choose(
        &mut self,
        from: ProcessId,
        message: ChainMessage<V>,
        out: &mut ChainEffects<V>,
    ) {
        let (ChainMessage::Prepare(index, round)
        | ChainMessage::Promise(index, round, _)
        | ChainMessage::Accept(index, round, _)
        | ChainMessage::Accepted(index, round)
        | ChainMessage::Refused(index, round)) = &message
        else {
            return;
        };
        let (index, round) = (*index, *round);
        if index != self.present().index {
            return;
        }
        self.rounds = self.rounds.max(round.0);
        let answer = match message {
            ChainMessage::Prepare(..) => self.promise(round, out),
            ChainMessage::Accept(_, _, value) => self.accept(round, value, out),
            ChainMessage::Promise(_, _, accepted) => {
                return self.on_promise(from, round, accepted, out);
            }
            ChainMessage::Accepted(..) => return self.on_accepted(from, round, out),
            _ => return self.on_refused(round),
        };
        let Some(answer) = answer else { return };
        match from == self.id {
            true => self.choose(from, answer, out),
            false => out.push(ChainEffect::Send(from, answer)),
        }
    }

    /// A voter takes part only if it knows that the present configuration is settled, and remembers its promises.
    pub(super) fn takes_part(&self) -> bool {
        let stable = !self.present().is_joint() && self.present().electorate().contains(self.id);
        let remembers = !self.state.volatile && self.state.lost.is_none();
        stable && remembers && self.is_settled()
    }

    /// The answer to a smaller round than the promised one.
    fn refusal(&self, round: Round) -> Option<ChainMessage<V>> {
        let promised = self.state.promised.filter(|promised| *promised > round)?;
        Some(ChainMessage::Refused(self.present().index, promised))
    }

    fn promise(&mut self, round: Round, out: &mut ChainEffects<V>) -> Option<ChainMessage<V>> {
        if !self.takes_part() {
            return None;
        }
        if let Some(refusal) = self.refusal(round) {
            return Some(refusal);
        }
        self.state.promised = Some(round);
        out.push(ChainEffect::Persist);
        Some(ChainMessage::Promise(self.present().index, round, self.state.accepted.clone()))
    }

    fn accept(
        &mut self,
        round: Round,
        value: V,
        out: &mut ChainEffects<V>,
    ) -> Option<ChainMessage<V>> {
        if !self.takes_part() {
            return None;
        }
        if let Some(refusal) = self.refusal(round) {
            return Some(refusal);
        }
        (self.state.promised, self.state.accepted) = (Some(round), Some((round, value)));
        out.push(ChainEffect::Persist);
        Some(ChainMessage::Accepted(self.present().index, round))
    }

    fn on_promise(
        &mut self,
        from: ProcessId,
        round: Round,
        accepted: Option<(Round, V)>,
        out: &mut ChainEffects<V>,
    ) {
        let electorate = self.present().electorate();
        let Some(proposal) =
            self.proposal.as_mut().filter(|it| it.round == round && it.value.is_none())
        else {
            return;
        };
        proposal.answered.insert(from);
        let newer = |(of, _): &(Round, V)| proposal.accepted.as_ref().is_none_or(|it| it.0 < *of);
        if let Some(accepted) = accepted.filter(newer) {
            proposal.accepted = Some(accepted);
        }
        if electorate.is_quorum(&proposal.answered) {
            // Voters of an earlier round may have been chosen, so they have precedence over those that are wanted.
            let earlier = proposal.accepted.take().map(|(_, value)| value);
            proposal.value = Some(earlier.unwrap_or_else(|| proposal.wanted.clone()));
            proposal.answered.clear();
            self.ask_voters(out);
        }
    }

    fn on_accepted(&mut self, from: ProcessId, round: Round, out: &mut ChainEffects<V>) {
        let electorate = self.present().electorate();
        let Some(proposal) = self.proposal.as_mut().filter(|it| it.round == round) else { return };
        let Some(value) = proposal.value.clone() else { return };
        proposal.answered.insert(from);
        if electorate.is_quorum(&proposal.answered) {
            let joint = self.present().towards(value);
            self.begin(joint, false, out);
        }
    }

    fn on_refused(&mut self, promised: Round) {
        if let Some(proposal) = self.proposal.as_mut().filter(|proposal| proposal.round < promised)
        {
            proposal.refused = true;
        }
    }
}
