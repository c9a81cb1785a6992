//! Rows of the relations that the models of both kinds of quorum systems have in common.

use quorate_core::ProcessId;
use quorate_core::abstraction::{AbstractState, Element};

use super::{Claim, Phase, Quorum, SentRequest};
use crate::mutex::voting::{AttemptClaim, Ticket};

/// Adds the rows of `granted`, `waiting`, `inside`, `current` and `counted`. `attempt` maps a ticket of an owner at a voter to its
/// element.
pub(super) fn add_phase_rows(
    state: &mut AbstractState,
    voting: &Quorum,
    attempt: fn(ProcessId, ProcessId, Ticket) -> Element,
) {
    let id = Element::process(voting.id);
    let granted = voting.ballot.granted().into_iter();
    let of_claim =
        |claim: AttemptClaim| [id, attempt(Claim::process(&claim), voting.id, claim.ticket())];
    state.exactly("granted", granted.map(of_claim));
    let (waiting, inside) = match &voting.phase {
        Phase::Outside => (None, None),
        Phase::Waiting(_) => (Some([id]), None),
        Phase::Inside(_) => (None, Some([id])),
    };
    state.exactly("waiting", waiting);
    // The code does not keep the quorum with which it entered, nor the view.
    state.beginnings("inside", inside);
    let of_voter = |sent: &SentRequest, voter: ProcessId| {
        [id, Element::process(voter), attempt(voting.id, voter, sent.ticket(voter))]
    };
    match &voting.phase {
        Phase::Outside => {
            state.exactly::<3>("current", []);
            state.exactly::<3>("counted", []);
        }
        Phase::Waiting(candidacy) => {
            let (sent, votes) = (&candidacy.request, &candidacy.votes);
            state.exactly("current", sent.voters.iter().map(|voter| of_voter(sent, voter)));
            state.exactly("counted", votes.iter().map(|voter| of_voter(sent, voter)));
        }
        // The models keep the votes with which a process has entered, also those of processes that crash meanwhile. The code
        // does not. Both drop the votes of a crash with which the process enters.
        Phase::Inside(sent) => {
            let voters = sent.voters.iter();
            state.preferably("current", voters.map(|voter| of_voter(sent, voter)));
        }
    }
}
