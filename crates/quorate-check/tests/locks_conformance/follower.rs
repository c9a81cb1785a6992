//! Follows a storm: maps each step to the model, and compares it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use quorate_algorithms::mutex::leased_quorum::{
    Candidate, ClientName, Electorate, FollowedClient, FollowedKind, FollowedLock, Restart,
    ToVoter, Voter, VoterEffect,
};
use quorate_check::conformance::{FollowedInput, Follower, Model, Statistics};
use quorate_core::ProcessId;
use quorate_core::abstraction::{AbstractState, Rows};
use quorate_core::quorum::AnyCoterie;

use crate::followed::{self, Remembers, Using};
use crate::rng::Clock;
use crate::world::{Name, Setup};

/// The lock that is followed.
const LOCK: Name = 0;

pub(crate) struct StormFollower {
    follower: Follower<'static>,
    lock: FollowedLock<Name>,
    /// The clock of each client, by its owner.
    clocks: BTreeMap<ProcessId, Clock>,
    /// Owner of the next client. Voters have the numbers before.
    next: usize,
    /// The run in words.
    run: String,
    total: Rc<RefCell<Statistics>>,
}

impl StormFollower {
    pub(crate) fn new(
        model: &'static Model,
        setup: Setup,
        run: String,
        total: &Rc<RefCell<Statistics>>,
    ) -> Self {
        let coterie = AnyCoterie::by_name(setup.system, setup.voters).expect("a coterie");
        let lock = FollowedLock::new(LOCK, &Electorate::new(coterie), 0);
        Self {
            follower: Follower::new(
                model,
                FollowedLock::<Name>::ORDERS,
                FollowedLock::<Name>::ACTORS,
            ),
            lock: lock.expect("few voters"),
            clocks: BTreeMap::new(),
            next: setup.voters,
            run,
            total: Rc::clone(total),
        }
    }

    fn pass_time(&mut self, now: u64) {
        let mut rows = Rows::default();
        let clocks = &self.clocks;
        self.lock.time_passes(&|owner| clocks[&owner].local_time(now), &mut rows);
        if !rows.0.is_empty() {
            self.step(None, &AbstractState::default(), &rows, || format!("time has passed: {now}"));
        }
    }

    fn step(
        &mut self,
        owner: Option<ProcessId>,
        state: &AbstractState,
        sent: &Rows,
        describe: impl FnOnce() -> String,
    ) {
        let input = FollowedInput { owner, state, sent };
        if let Err(divergence) = self.follower.follow(&input, &self.lock, describe) {
            panic!("{}{divergence}", self.run);
        }
    }
}

impl followed::Follower for StormFollower {
    fn client_starts(
        &mut self,
        (at, clock): (usize, Clock),
        process: u64,
        (session, incarnation): (u128, u64),
        (is_remote, records, lease): (bool, bool, bool),
    ) {
        let owner = ProcessId::from_index(self.next);
        self.next += 1;
        self.clocks.insert(owner, clock);
        let name = ClientName { machine: at as u32, process: process as u32 };
        let kind = match (records, lease) {
            (true, true) => FollowedKind::Lease,
            (true, false) => FollowedKind::Relayed,
            (false, _) => FollowedKind::Direct,
        };
        self.lock.add_client(session, incarnation, FollowedClient { name, owner, kind, is_remote });
    }

    fn voter(
        &mut self,
        now: u64,
        at: usize,
        (voter, restart): (&Voter<Name>, Option<Remembers>),
        sent: &[VoterEffect<Name>],
    ) {
        self.pass_time(now);
        let id = ProcessId::from_index(at);
        let restart = restart.map(|remembers| match remembers {
            Remembers::File => Restart::WithFile,
            Remembers::Mark => Restart::WithMark,
            Remembers::Nothing => Restart::WithNothing,
        });
        self.lock.observe_voter(id, voter, restart);
        let mut rows = Rows::default();
        for effect in sent {
            match effect {
                VoterEffect::Send(_, message) => {
                    self.lock.sent_to_candidate(id, message, &mut rows);
                }
                VoterEffect::SendPeer(to, message) => {
                    self.lock.sent_to_peer(id, *to, message, &mut rows);
                }
                VoterEffect::Persist(_) | VoterEffect::Reserve(_) => {}
            }
        }
        let state = self.lock.voter_state(id, voter);
        let text = || match restart {
            Some(restart) => format!("{now}: voter {at} restarts {restart:?}"),
            None => format!("{now}: voter {at} sends {sent:?}"),
        };
        self.step(Some(id), &state, &rows, text);
    }

    fn client(
        &mut self,
        now: u64,
        client: Using<'_>,
        candidate: Option<&Candidate<Name>>,
        sent: &[(ProcessId, ToVoter<Name>)],
    ) {
        self.pass_time(now);
        if let Some((client, _)) = client {
            self.lock.observe_client(client);
        }
        if let Some(candidate) = candidate {
            self.lock.observe_candidate(candidate);
        }
        let mut rows = Rows::default();
        for (to, message) in sent {
            self.lock.sent_to_voter(*to, message, &mut rows);
        }
        let presented = client.map(|(client, _)| client.presented());
        let presented = presented.or(candidate.map(Candidate::session));
        let Some(presented) = presented else { return };
        let owner = self.lock.owner_of(presented.session, presented.beat.incarnation);
        let state = self.lock.client_state(client, candidate);
        let text = || {
            let part = if candidate.is_some() { "candidate" } else { "client" };
            let session = presented.session;
            format!("{now}: {part} of session {session:x}, {owner:?}, sends {sent:?}")
        };
        self.step(owner, &state, &rows, text);
    }
}

impl Drop for StormFollower {
    fn drop(&mut self) {
        self.total.borrow_mut().add(self.follower.statistics());
    }
}
