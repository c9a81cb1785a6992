//! Rules for one node of the chain: which states are durable before a message is sent, which answers count, and when a
//! configuration is settled.

use super::chain::{Members, members};
use super::*;
use quorate_algorithms::mutex::leased_quorum::{
    Chain, ChainEffect, ChainEffects, ChainMessage, ChainState, Configuration, Progress,
};

fn node(number: u32) -> ProcessId {
    ProcessId::new(number)
}

fn five() -> Configuration<Members> {
    Configuration::first(members(&[0, 1, 2, 3, 4]))
}

/// A node of the voters 0 to 4.
fn one_of_five(id: u32) -> Chain<Members> {
    Chain::new(node(id), ChainState::new(five(), true))
}

/// From the voters 0, 1, 2 to 0, 3, 4.
fn joint() -> Configuration<Members> {
    let next = Some(members(&[0, 3, 4]));
    Configuration { index: 1, next, ..Configuration::first(members(&[0, 1, 2])) }
}

fn stable() -> Configuration<Members> {
    let before = Some(members(&[0, 1, 2]));
    Configuration { index: 2, before, ..Configuration::first(members(&[0, 3, 4])) }
}

fn hear(
    chain: &mut Chain<Members>,
    from: u32,
    message: ChainMessage<Members>,
) -> ChainEffects<Members> {
    let mut out = Vec::new();
    chain.on_message(node(from), message, &mut out);
    out
}

/// Nodes that are asked to accept voters, with these voters.
fn accepts(effects: &ChainEffects<Members>) -> Vec<(u32, Members)> {
    let accepts = effects.iter().filter_map(|effect| match effect {
        ChainEffect::Send(to, ChainMessage::Accept(_, _, value)) => {
            Some((to.number(), value.clone()))
        }
        _ => None,
    });
    accepts.collect()
}

#[test]
fn rule_1_promises_are_durable_before_they_are_sent() {
    let (mut chain, value) = (one_of_five(1), members(&[0, 3]));
    let to = |number, message| [ChainEffect::Persist, ChainEffect::Send(node(number), message)];
    let [first, second, third] = [(5, node(0)), (6, node(0)), (7, node(2))];
    let out = hear(&mut chain, 0, ChainMessage::Prepare(0, first));
    assert_eq!(out, to(0, ChainMessage::Promise(0, first, None)));
    assert_eq!(chain.state().promised, Some(first));
    // A round that it accepts is one that it promises, and it may accept it once more.
    for _ in 0..2 {
        let out = hear(&mut chain, 0, ChainMessage::Accept(0, second, value.clone()));
        assert_eq!(out, to(0, ChainMessage::Accepted(0, second)));
        assert_eq!(chain.state().promised, Some(second));
        assert_eq!(chain.state().accepted, Some((second, value.clone())));
    }
    let out = hear(&mut chain, 2, ChainMessage::Prepare(0, third));
    assert_eq!(out, to(2, ChainMessage::Promise(0, third, Some((second, value)))));
}

#[test]
fn a_configuration_is_durable_before_the_voter_adopts_it() {
    let first = Configuration::first(members(&[0, 1, 2]));
    let mut chain = Chain::new(node(1), ChainState::new(first, true));
    let known = |settled| ChainMessage::Present(joint(), settled);
    let adopts = [ChainEffect::Persist, ChainEffect::Adopted];
    let mut at_once = chain.clone();
    let out = hear(&mut chain, 0, known(false));
    assert_eq!((&out[..2], chain.present().index), (&adopts[..], 1), "{out:?}");
    assert_eq!(hear(&mut chain, 0, known(false)), []);
    // The stable configuration follows from the joint one.
    let out = hear(&mut chain, 0, known(true));
    assert_eq!(out[..2], [ChainEffect::Persist, ChainEffect::Settled], "{out:?}");
    assert_eq!(out[2..4], adopts, "{out:?}");
    assert_eq!((chain.present(), chain.is_settled()), (&stable(), false));
    hear(&mut at_once, 0, known(true));
    assert_eq!((at_once.present(), at_once.is_settled()), (&stable(), false));
}

#[test]
fn rule_1_only_answers_of_the_present_phase_and_round_count() {
    let mut chain = one_of_five(0);
    chain.propose(members(&[0, 1, 2]), &mut Vec::new()).expect("it is a voter");
    let (round, other) = ((1, node(0)), (9, node(0)));
    let promise = |round| ChainMessage::Promise(0, round, None);
    for (from, of) in [(1, other), (2, other), (1, round), (1, round)] {
        assert_eq!(accepts(&hear(&mut chain, from, promise(of))), [], "two of five");
    }
    let asked = accepts(&hear(&mut chain, 2, promise(round)));
    assert_eq!(asked, [1, 2, 3, 4].map(|voter| (voter, members(&[0, 1, 2]))));
    // Those that have promised have not accepted.
    assert_eq!(hear(&mut chain, 3, promise(round)), []);
    for (from, of) in [(1, round), (2, other), (3, other), (1, round)] {
        hear(&mut chain, from, ChainMessage::Accepted(0, of));
        assert_eq!((chain.present().index, chain.proposes()), (0, true));
    }
    hear(&mut chain, 2, ChainMessage::Accepted(0, round));
    assert_eq!((chain.present().index, chain.proposes()), (1, false));
    assert_eq!(*chain.present().target(), members(&[0, 1, 2]));
}

#[test]
fn rule_1_the_voters_that_were_accepted_last_have_precedence() {
    let accepted = [(1, (3, node(3)), members(&[0, 3])), (2, (4, node(1)), members(&[0, 4]))];
    for order in [[0, 1], [1, 0]] {
        let mut chain = one_of_five(0);
        // Its own round is greater than every one that it has heard of.
        hear(&mut chain, 1, ChainMessage::Refused(0, (8, node(1))));
        chain.propose(members(&[0]), &mut Vec::new()).expect("it is a voter");
        let asked = order.map(|at: usize| {
            let (from, round, value) = accepted[at].clone();
            let promise = ChainMessage::Promise(0, (9, node(0)), Some((round, value)));
            accepts(&hear(&mut chain, from, promise))
        });
        assert_eq!(asked[0], []);
        assert_eq!(asked[1], [1, 2, 3, 4].map(|voter| (voter, members(&[0, 4]))));
    }
}

#[test]
fn rule_1_a_refused_proposer_begins_a_greater_round() {
    let voter: Voter<Name> = Voter::new(node(0), electorate(), terms());
    let mut chain = one_of_five(0);
    chain.propose(members(&[0, 1, 2]), &mut Vec::new()).expect("it is a voter");
    let mut rounds_of_tick = |refused| {
        hear(&mut chain, 1, ChainMessage::Refused(0, refused));
        let mut out = Vec::new();
        chain.tick(&voter, Time(1), &mut out);
        let rounds = out.into_iter().filter_map(|effect| match effect {
            ChainEffect::Send(_, ChainMessage::Prepare(0, (round, _))) => Some(round),
            _ => None,
        });
        rounds.collect::<Vec<u64>>()
    };
    assert_eq!(rounds_of_tick((0, node(1))), [1; 4], "a refusal of an earlier round");
    assert_eq!(rounds_of_tick((7, node(1))), [8; 4]);
}

#[test]
fn rule_1_messages_about_another_configuration_are_ignored() {
    let round = (5, node(0));
    for index in [0, 1, 3] {
        let mut chain = Chain::new(node(3), ChainState::new(stable(), true));
        let accept = ChainMessage::Accept(index, round, members(&[0]));
        for message in [ChainMessage::Prepare(index, round), accept] {
            assert_eq!(hear(&mut chain, 0, message), [], "{index}");
        }
    }
}

#[test]
fn rule_1_only_voters_take_part() {
    let round = (5, node(0));
    let accept = ChainMessage::Accept(0, round, members(&[0]));
    for message in [ChainMessage::Prepare(0, round), accept] {
        assert_eq!(hear(&mut one_of_five(5), 0, message), []);
    }
}

/// Progress of a voter in the configuration of this index.
fn progress(index: u64, closed: bool, learned: bool) -> ChainMessage<Members> {
    let progress = Some(Progress { lost: false, closed, learned });
    ChainMessage::Progress { index, settled: false, progress }
}

/// Whether node 0 settles a configuration once these voters are closed and these have learned.
fn settles(present: Configuration<Members>, closed: &[u32], learned: &[u32]) -> bool {
    let index = present.index;
    let mut chain = Chain::new(node(0), ChainState::new(present, false));
    for from in 1..5 {
        let message = progress(index, closed.contains(&from), learned.contains(&from));
        hear(&mut chain, from, message);
        // A voter that has closed or learned has done so for good.
        hear(&mut chain, from, progress(index, false, false));
    }
    chain.present().index > index || chain.is_settled()
}

#[test]
fn rule_7_those_before_are_closed_and_those_after_have_learned() {
    let (before, after, all) = (&[1, 2], &[3, 4], &[1, 2, 3, 4]);
    assert!(settles(joint(), before, all) && settles(joint(), all, all));
    assert!(!settles(joint(), after, all) && !settles(joint(), all, before));
    assert!(!settles(joint(), before, before) && !settles(joint(), before, after));
    // The configuration before a stable one is the joint one.
    assert!(settles(stable(), all, after) && settles(stable(), all, all));
    assert!(!settles(stable(), after, after) && !settles(stable(), before, after));
    assert!(!settles(stable(), all, before) && !settles(stable(), after, all));
}

#[test]
fn rule_7_progress_in_the_configuration_before_does_not_count() {
    let mut chain = Chain::new(node(0), ChainState::new(joint(), false));
    for from in 1..5 {
        hear(&mut chain, from, progress(1, true, true));
    }
    assert_eq!(chain.present().index, 2);
    hear(&mut chain, 3, progress(2, true, true));
    assert!(!chain.is_settled());
    for from in [1, 2, 4] {
        hear(&mut chain, from, progress(1, true, true));
    }
    assert!(!chain.is_settled(), "they do not know the stable configuration");
    for from in [1, 2, 4] {
        hear(&mut chain, from, progress(2, true, true));
    }
    assert!(chain.is_settled());
}

#[test]
fn rule_7_nodes_tell_each_other_what_is_settled() {
    let asks = |index, settled| ChainMessage::Progress { index, settled, progress: None };
    let mut chain = Chain::new(node(0), ChainState::new(joint(), false));
    let to_three = |message| [ChainEffect::Send(node(3), message)];
    assert_eq!(hear(&mut chain, 3, asks(0, true)), to_three(ChainMessage::Present(joint(), false)));
    assert_eq!(hear(&mut chain, 3, asks(1, false)), []);
    for (index, settled) in [(1, true), (2, false)] {
        assert_eq!(hear(&mut chain, 3, asks(index, settled)), to_three(asks(1, false)));
    }
    let mut chain = Chain::new(node(0), ChainState::new(stable(), true));
    assert_eq!(
        hear(&mut chain, 3, asks(2, false)),
        to_three(ChainMessage::Present(stable(), true))
    );
    assert_eq!(hear(&mut chain, 3, asks(2, true)), []);
}

/// Node 1, which has lost its state and knows the first configuration of five voters.
fn lost() -> Chain<Members> {
    Chain::new(node(1), ChainState::after_loss(five()))
}

fn begin(chain: &mut Chain<Members>, index: u64) {
    chain.hear_of(Configuration { index, ..five() }, true, &mut Vec::new());
}

#[test]
fn rule_10_a_lost_node_needs_answers_of_a_quorum_about_one_configuration() {
    let mut chain = lost();
    // Neither its own answer counts, nor one about a configuration that it does not know.
    for (from, index) in [(1, 0), (2, 1), (3, 0)] {
        hear(&mut chain, from, progress(index, true, true));
    }
    let persists = |out: ChainEffects<Members>| out.contains(&ChainEffect::Persist);
    assert!(persists(hear(&mut chain, 4, progress(0, true, true))));
    assert!(!persists(hear(&mut chain, 4, progress(0, true, true))), "it has answered before");
    let mut early = chain.clone();
    begin(&mut early, 2);
    assert!(early.stays_out(), "two of five have answered");
    hear(&mut chain, 2, progress(0, true, true));
    // A late answer changes nothing.
    let mut late = chain.clone();
    begin(&mut late, 1);
    hear(&mut late, 0, progress(1, true, true));
    begin(&mut chain, 1);
    for mut chain in [chain, late] {
        assert!(chain.stays_out());
        begin(&mut chain, 2);
        assert!(!chain.stays_out());
    }
}

#[test]
fn rule_10_answers_before_a_newer_configuration_do_not_count_together_with_later_ones() {
    let mut chain = lost();
    for from in [2, 3] {
        hear(&mut chain, from, progress(0, true, true));
    }
    begin(&mut chain, 1);
    hear(&mut chain, 4, progress(1, true, true));
    begin(&mut chain, 3);
    assert!(chain.stays_out());
}

#[test]
fn rule_10_a_lost_node_reports_nothing() {
    let voter: Voter<Name> = Voter::new(node(1), electorate(), terms());
    let (mut chain, mut out) = (lost(), Vec::new());
    chain.tick(&voter, Time(1), &mut out);
    let reported: Vec<&Progress> = out
        .iter()
        .filter_map(|effect| match effect {
            ChainEffect::Send(_, ChainMessage::Progress { progress, .. }) => progress.as_ref(),
            _ => None,
        })
        .collect();
    let nothing = Progress { lost: true, closed: false, learned: false };
    assert_eq!(reported, [&nothing; 4]);
}
