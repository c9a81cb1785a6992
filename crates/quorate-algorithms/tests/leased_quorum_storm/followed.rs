//! Storms that another test follows in the model of the locks, input by input (crates/quorate-check/tests/locks_conformance).
//!
//! They are shorter than other storms, have one lock, and do what nodes do and the model requires: a candidate is not continued by
//! another process under the same name, and a relay does not take its client for valid longer than the client itself. Some relays
//! also withdraw requests, and report tokens that voters list.

use quorate_algorithms::mutex::leased_quorum::{
    Candidate, CandidateId, Client, Report, RequestStatus, ToVoter, Voter, VoterEffect,
};
use quorate_core::ProcessId;

use crate::clients::ClientKind;
use crate::nodes::RECORDS_BIT;
use crate::rng::Clock;
use crate::world::{Name, Storm};

/// Memory of a voter whose node starts again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Remembers {
    File,
    Mark,
    Nothing,
}

/// A client and the candidate that it uses at present.
pub(crate) type Using<'a> = Option<(&'a Client<Name>, CandidateId)>;

/// Follows the state machines of a storm. Every call is about a state machine that has just handled an input at this time.
pub(crate) trait Follower {
    /// A process of the machine has started. The last argument says whether its candidates run in nodes, whether these record
    /// tokens, and whether they may withdraw those that they have not reported.
    fn client_starts(
        &mut self,
        machine: (usize, Clock),
        process: u64,
        identity: (u128, u64),
        kind: (bool, bool, bool),
    );

    fn voter(
        &mut self,
        now: u64,
        at: usize,
        voter: (&Voter<Name>, Option<Remembers>),
        sent: &[VoterEffect<Name>],
    );

    /// The client, the candidate that has handled the input, or both if they are one process.
    fn client(
        &mut self,
        now: u64,
        client: Using<'_>,
        candidate: Option<&Candidate<Name>>,
        sent: &[(ProcessId, ToVoter<Name>)],
    );
}

/// The candidate that continues a handle, in a storm that is followed.
pub(crate) fn candidate_of(handle: CandidateId) -> CandidateId {
    CandidateId(handle.0 & !(1 << RECORDS_BIT))
}

/// The client at a machine, if it is the one of this candidate.
pub(crate) fn client_of<'a>(kind: Option<&'a ClientKind>, of: &Candidate<Name>) -> Using<'a> {
    let Some(ClientKind::Relayed { client, candidate, .. }) = kind else { return None };
    let (own, presented) = (client.presented(), of.session());
    let is_its =
        own.session == presented.session && own.beat.incarnation == presented.beat.incarnation;
    is_its.then_some((client, candidate_of(*candidate)))
}

impl Storm {
    pub(crate) fn is_followed(&self) -> bool {
        self.setup.followed
    }

    /// Follows a relayed client that has handled an input.
    pub(crate) fn follow_client(&mut self, at: usize) {
        let Some(follower) = &mut self.follower else { return };
        if let Some(ClientKind::Relayed { client, candidate, .. }) = &self.clients[at].kind {
            follower.client(self.now, Some((client, candidate_of(*candidate))), None, &[]);
        }
    }

    /// Lets the relays of a client forget requests of which the client is no longer valid.
    pub(crate) fn check_validity(&mut self, at: usize, id: CandidateId) {
        let Some(relay) = self.nodes[at].relays.get_mut(&id).filter(|relay| relay.records()) else {
            return;
        };
        let machine = &self.clients[relay.client];
        let local_time = machine.clock.local_time(self.now);
        let client = client_of(machine.kind.as_ref(), &relay.candidate);
        let requests: Vec<_> = relay.candidate.reports().map(|report| report.request).collect();
        for request in requests {
            let until = client.and_then(|(client, _)| client.valid_until(request));
            if relay.candidate.inside(request).is_some() && until.is_none_or(|it| it <= local_time)
            {
                relay.candidate.forget(request);
            }
        }
    }

    /// The report of a relay that has found the token of the request at a quorum, whichever relay has recorded it.
    pub(crate) fn with_listed(&self, at: usize, id: CandidateId, report: Report) -> Report {
        let relay = self.nodes[at].relays.get(&id).filter(|relay| relay.records() && !relay.lease);
        let recorded = relay.and_then(|relay| relay.candidate.recorded(report.request));
        match (recorded.filter(|_| self.is_followed()), report.standing) {
            (Some((token, beat)), RequestStatus::Waiting(_) | RequestStatus::Stale(_)) => {
                Report { standing: RequestStatus::Granted { token, beat }, ..report }
            }
            _ => report,
        }
    }

    /// A relay withdraws a request about which it has reported nothing, and is not called again.
    pub(crate) fn withdraw(&mut self) {
        let at = self.rng.index(self.nodes.len());
        let relays = self.nodes[at].relays.iter().filter(|(_, relay)| relay.records());
        let relays: Vec<CandidateId> = relays.map(|(id, _)| *id).collect();
        for id in relays {
            self.check_validity(at, id);
            let Some(relay) = self.nodes[at].relays.get(&id) else { continue };
            let lease = relay.lease;
            let unreported = |report: &Report| {
                let request = report.request;
                !relay.reported.contains(&request) && relay.candidate.inside(request).is_none()
            };
            let requests = relay.candidate.reports().filter(unreported);
            let requests: Vec<_> = requests.map(|report| report.request).collect();
            let mut withdrawn = false;
            self.with_relay(at, id, |relay, out| {
                for request in requests {
                    withdrawn |= relay.withdraw(request, lease, out);
                }
            });
            if withdrawn {
                self.nodes[at].relays.remove(&id);
            }
        }
    }
}
