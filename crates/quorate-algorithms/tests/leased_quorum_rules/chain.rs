//! The chain of configurations among nodes without voters' work: how the next one is chosen, when it is settled, and how a node
//! that has lost its state returns.

use super::*;
use quorate_algorithms::mutex::leased_quorum::{
    CannotPropose, Chain, ChainEffect, ChainMessage, ChainState, Configuration, Progress, Voters,
};
use quorate_core::ProcessSet;

/// Voters whose quorums are majorities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Members(ProcessSet);

impl Voters for Members {
    fn electorate(&self, index: u64) -> Electorate {
        let coterie = AnyCoterie::by_name("majority", self.0.len()).expect("a coterie");
        Electorate::stable(index, &self.0, coterie)
    }

    fn terms(&self) -> Terms {
        terms()
    }
}

pub(super) fn members(voters: &[u32]) -> Members {
    Members(voters.iter().copied().map(ProcessId::new).collect())
}

/// Nodes that exchange messages without delay, except those that are down.
struct Nodes {
    chains: Vec<Chain<Members>>,
    voters: Vec<Voter<Name>>,
    down: ProcessSet,
    messages: Vec<(usize, usize, ChainMessage<Members>)>,
    now: u64,
}

impl Nodes {
    /// Five nodes, of which the first three vote.
    fn new() -> Self {
        let first = Configuration::first(members(&[0, 1, 2]));
        let chain =
            |id| Chain::new(ProcessId::from_index(id), ChainState::new(first.clone(), true));
        let voter = |id| Voter::new(ProcessId::from_index(id), electorate(), terms());
        Self {
            chains: (0..5).map(chain).collect(),
            voters: (0..5).map(voter).collect(),
            down: ProcessSet::new(),
            messages: Vec::new(),
            now: 1,
        }
    }

    fn apply(&mut self, at: usize, effects: Vec<ChainEffect<Members>>) {
        for effect in effects {
            match effect {
                ChainEffect::Send(to, message) => self.messages.push((at, to.index(), message)),
                ChainEffect::Adopted => {
                    let chain = &self.chains[at];
                    let (present, previous) = (chain.present().electorate(), chain.previous());
                    let now = Time(self.now);
                    self.voters[at].adopt(present, previous, now, &mut Vec::new());
                    // Numbers do not matter here.
                    for from in 0..5 {
                        let config = self.voters[at].electorate().index();
                        let known = PeerMessage::Known { asked: 0, config, floor: 0, clock: 1 };
                        self.voters[at].on_peer(ProcessId::new(from), known, &mut Vec::new());
                    }
                }
                ChainEffect::Settled => self.voters[at].settled(),
                ChainEffect::Persist => {}
            }
        }
    }

    fn deliver(&mut self) {
        while !self.messages.is_empty() {
            for (from, to, message) in std::mem::take(&mut self.messages) {
                let is_up = |node: usize| !self.down.contains(ProcessId::from_index(node));
                if is_up(from) && is_up(to) {
                    let mut out = Vec::new();
                    let from = ProcessId::from_index(from);
                    self.chains[to].on_message(from, message, &mut out);
                    self.apply(to, out);
                }
            }
        }
    }

    fn tick(&mut self) {
        self.now += 100;
        for at in 0..5 {
            if !self.down.contains(ProcessId::from_index(at)) {
                let mut out = Vec::new();
                self.chains[at].tick(&self.voters[at], Time(self.now), &mut out);
                self.apply(at, out);
            }
        }
        self.deliver();
    }

    fn propose(&mut self, at: usize, voters: &[u32]) -> Result<(), CannotPropose> {
        let mut out = Vec::new();
        let proposed = self.chains[at].propose(members(voters), &mut out);
        self.apply(at, out);
        proposed
    }

    fn present(&self, at: usize) -> (u64, ProcessSet, bool) {
        let chain = &self.chains[at];
        (chain.present().index, chain.present().target().0.clone(), chain.is_settled())
    }
}

#[test]
fn a_change_goes_through_a_joint_configuration() {
    let mut nodes = Nodes::new();
    nodes.propose(0, &[0, 3, 4]).expect("it is a voter");
    nodes.deliver();
    for at in 0..5 {
        assert_eq!(nodes.present(at), (1, members(&[0, 3, 4]).0, false), "node {at}");
    }
    assert_eq!(nodes.propose(0, &[0, 1]), Err(CannotPropose::NotSettled));
    (0..3).for_each(|_| nodes.tick());
    for at in [0, 3, 4] {
        assert_eq!(nodes.present(at), (2, members(&[0, 3, 4]).0, true), "node {at}");
    }
    let chain = &nodes.chains[3];
    assert!(!chain.present().is_joint() && chain.previous().is_none());
    assert_eq!(nodes.propose(1, &[0, 1]), Err(CannotPropose::NotVoter));
    assert_eq!(nodes.propose(3, &[0, 3, 4]), Err(CannotPropose::Same));
    nodes.propose(3, &[3]).expect("it is a voter now");
}

#[test]
fn one_of_two_changes_is_chosen_and_one_that_may_be_chosen_is_completed() {
    let mut nodes = Nodes::new();
    nodes.propose(0, &[0, 3]).expect("it is a voter");
    nodes.propose(1, &[1, 4]).expect("it is a voter");
    (0..6).for_each(|_| nodes.tick());
    let (index, target, _) = nodes.present(0);
    assert!(index >= 1 && (target == members(&[0, 3]).0 || target == members(&[1, 4]).0));
    // A voter that has accepted a change makes a later proposer complete it.
    let mut nodes = Nodes::new();
    let (zero, round) = (ProcessId::new(0), (5, ProcessId::new(0)));
    let mut out = Vec::new();
    nodes.chains[1].on_message(zero, ChainMessage::Prepare(0, round), &mut out);
    nodes.chains[1].on_message(zero, ChainMessage::Accept(0, round, members(&[0, 3])), &mut out);
    let accepted = ChainEffect::Send(zero, ChainMessage::Accepted(0, round));
    let at = out.iter().position(|it| *it == accepted).expect("it accepts");
    assert!(out[..at].contains(&ChainEffect::Persist), "before it says so: {out:?}");
    nodes.down.insert(zero);
    nodes.propose(2, &[2, 4]).expect("it is a voter");
    (0..6).for_each(|_| nodes.tick());
    assert_eq!(nodes.present(2).1, members(&[0, 3]).0);
}

#[test]
fn a_voter_takes_part_only_if_it_knows_that_the_configuration_is_settled() {
    let mut nodes = Nodes::new();
    let stable = Configuration {
        index: 2,
        before: Some(members(&[3, 4])),
        ..Configuration::first(members(&[0, 1, 2]))
    };
    for (settled, answers) in [(false, 0), (true, 2)] {
        let state = ChainState::new(stable.clone(), settled);
        nodes.chains[1] = Chain::new(ProcessId::new(1), state);
        let (zero, round, mut out) = (ProcessId::new(0), (5, ProcessId::new(0)), Vec::new());
        nodes.chains[1].on_message(zero, ChainMessage::Prepare(2, round), &mut out);
        nodes.chains[1].on_message(zero, ChainMessage::Accept(2, round, members(&[0])), &mut out);
        let sent = out.iter().filter(|it| matches!(it, ChainEffect::Send(..))).count();
        assert_eq!(sent, answers, "{out:?}");
    }
}

#[test]
fn a_smaller_round_is_refused() {
    let mut nodes = Nodes::new();
    let (two, mut out) = (ProcessId::new(2), Vec::new());
    nodes.chains[1].on_message(two, ChainMessage::Prepare(0, (5, two)), &mut out);
    out.clear();
    let zero = ProcessId::new(0);
    nodes.chains[1].on_message(zero, ChainMessage::Prepare(0, (5, zero)), &mut out);
    nodes.chains[1].on_message(zero, ChainMessage::Accept(0, (4, two), members(&[0])), &mut out);
    let refused = ChainEffect::Send(zero, ChainMessage::Refused(0, (5, two)));
    assert_eq!(out, [refused.clone(), refused]);
    // Messages about another index are ignored.
    let mut out = Vec::new();
    nodes.chains[1].on_message(zero, ChainMessage::Prepare(1, (9, zero)), &mut out);
    assert_eq!(out, []);
}

/// Requests to accept are sent before the proposer has made durable that it accepts them itself.
#[test]
fn a_round_is_not_used_again_after_a_restart() {
    let round_of = |out: &[ChainEffect<Members>]| match out.first() {
        Some(ChainEffect::Send(_, ChainMessage::Prepare(_, round))) => *round,
        _ => panic!("no round begins: {out:?}"),
    };
    let (zero, one) = (ProcessId::new(0), ProcessId::new(1));
    let (mut chain, mut out) = (Nodes::new().chains.swap_remove(0), Vec::new());
    chain.propose(members(&[0, 3]), &mut out).expect("it is a voter");
    let (round, durable) = (round_of(&out), chain.state().clone());
    out.clear();
    chain.on_message(one, ChainMessage::Promise(0, round, None), &mut out);
    let accept = ChainMessage::Accept(0, round, members(&[0, 3]));
    assert_eq!(out.first(), Some(&ChainEffect::Send(one, accept)));
    let mut restarted = Chain::new(zero, durable);
    out.clear();
    restarted.propose(members(&[0, 4]), &mut out).expect("it is a voter");
    assert!(round_of(&out) > round);
}

#[test]
fn a_configuration_is_not_settled_without_a_quorum_of_both_sides() {
    for (down, settles) in
        [(vec![], true), (vec![2], true), (vec![1, 2], false), (vec![3, 4], false)]
    {
        let mut nodes = Nodes::new();
        nodes.propose(0, &[0, 3, 4]).expect("it is a voter");
        nodes.deliver();
        nodes.down = down.iter().copied().map(ProcessId::new).collect();
        (0..5).for_each(|_| nodes.tick());
        assert_eq!(nodes.present(0).0 == 2, settles, "without {down:?}");
        let missing: Vec<u32> =
            nodes.chains[0].waits_for().map(|(voter, _)| voter.number()).collect();
        assert!(settles || down.iter().all(|voter| missing.contains(voter)), "{missing:?}");
    }
}

#[test]
fn a_node_that_forgets_everything_when_it_stops_takes_no_part_in_choosing() {
    let mut nodes = Nodes::new();
    for at in 1..3 {
        let state = nodes.chains[at].state().clone();
        nodes.chains[at] =
            Chain::new(ProcessId::from_index(at), ChainState { volatile: true, ..state });
    }
    nodes.propose(0, &[0]).expect("it is a voter");
    (0..5).for_each(|_| nodes.tick());
    assert_eq!(nodes.present(0).0, 0);
}

#[test]
fn the_first_voter_that_is_not_out_lets_a_lost_node_in() {
    for lost in 0..3_u32 {
        let mut nodes = Nodes::new();
        let state = ChainState::after_loss(Configuration::first(members(&[0, 1, 2])));
        nodes.chains[lost as usize] = Chain::new(ProcessId::new(lost), state);
        let mut ticks = 0;
        while nodes.chains[lost as usize].stays_out() && ticks < 20 {
            nodes.tick();
            ticks += 1;
        }
        assert!(ticks <= 6, "node {lost} is out for {ticks} ticks");
    }
}

#[test]
fn a_node_that_has_lost_its_state_returns_two_configurations_later() {
    let mut nodes = Nodes::new();
    let lost = ChainState::after_loss(Configuration::first(members(&[0, 1, 2])));
    nodes.chains[1] = Chain::new(ProcessId::new(1), lost);
    assert!(nodes.chains[1].stays_out());
    // It neither promises nor reports anything.
    let (zero, mut out) = (ProcessId::new(0), Vec::new());
    nodes.chains[1].on_message(zero, ChainMessage::Prepare(0, (5, zero)), &mut out);
    assert_eq!(out, []);
    // A majority of the others is needed to know what it may have told before.
    nodes.down.insert(ProcessId::new(2));
    (0..20).for_each(|_| nodes.tick());
    assert_eq!((nodes.present(1).0, nodes.chains[1].stays_out()), (0, true));
    // One further configuration is not enough.
    let joint = ChainState::new(Configuration::first(members(&[0, 1, 2])), true);
    let mut early = Chain::new(
        ProcessId::new(1),
        ChainState { lost: nodes.chains[1].state().lost.clone(), ..joint },
    );
    let tells = |lost| {
        let progress = Some(Progress { lost, closed: true, learned: true });
        ChainMessage::Progress { index: 0, settled: true, progress }
    };
    let mut out_too = early.clone();
    early.on_message(ProcessId::new(2), tells(false), &mut Vec::new());
    out_too.on_message(ProcessId::new(2), tells(true), &mut Vec::new());
    let next = |index| Configuration { index, ..Configuration::first(members(&[0, 1, 2])) };
    for (index, stays_out) in [(1, true), (2, false)] {
        early.hear_of(next(index), true, &mut Vec::new());
        assert_eq!(early.stays_out(), stays_out, "configuration {index}");
        out_too.hear_of(next(index), true, &mut Vec::new());
        assert!(out_too.stays_out(), "a node that is out knows too little");
    }
    // The others choose the present voters once more by themselves.
    nodes.down.clear();
    (0..20).for_each(|_| nodes.tick());
    assert_eq!(nodes.present(1), (2, members(&[0, 1, 2]).0, true));
    assert!(!nodes.chains[1].stays_out());
    // No further renewal follows.
    (0..20).for_each(|_| nodes.tick());
    assert_eq!(nodes.present(0).0, 2);
}
