//! The quorum mutex whose messages travel through the VCube multicast: a mutex over a reliable multicast over a failure
//! detector.
//!
//! - **Source**: Lopes' monograph on a fault-tolerant quorum mutex over the VCube, Figure 5.1: the mutex sends and receives
//!   through a broadcast, and the VCube reports crashes. The mutex is `quorum`, and the broadcast is `vcube-multicast`, by
//!   Rodrigues, Arantes and Duarte.
//! - **Assumes**: fixed membership; links that lose nothing, in any order, duplicates are tolerated; a perfect detector;
//!   crashed processes never recover.
//! - **Guarantees**: the same as `quorum`: ME1, and ME2 with up to n - 1 crashes over view-dependent systems, or while a
//!   quorum is alive over fixed coteries. Not ME3.
//! - **Costs**: 3(K - 1) messages for a quorum of K without contention or failures, up to 6(K - 1) with contention, and as many
//!   ACKs. So the links carry twice as many messages as with `quorum`, whose 3K include 3 of a process to itself. A tree sends one
//!   message to each member, as a direct multicast does. It spreads the sending: a candidate sends at most log2 n
//!   REQUESTs itself. At most log2 n + 1 message delays into a free section (log2 n over VCube quorums) instead of two, and
//!   log2 n + 1 from the holder to its successor, up to twice that if processes still have messages in their queues.
//!   A crash costs the acknowledgements of `quorum`, with an ACK each. In addition, every process that has received the last
//!   message of the crashed process sends it into the clusters of its group that it does not know to be complete, up to
//!   log2 n messages and as many ACKs.
//! - **Departs from the paper**: (1) The mutex differs from the published one as `quorum` does. (2) The monograph does not say
//!   which messages are broadcast to which processes. Here all of them are multicasts: REQUEST, RELEASE and CANCEL to their voters, and
//!   every message to one process to a group of one. (3) A message of a process to itself is delivered immediately and
//!   counts as no message. (4) The monograph counts the messages of the mutex only. Its figures for one requester (Table 5.1: 15, 27,
//!   51, 99, ... over the VCube) are 3K and contain neither the ACKs nor the delays of a broadcast. The kinds of messages here are those
//!   of the mutex, so that they can be compared; ACKs are counted in the layer of the multicast.
//!
//! Each process has a queue of messages, and the multicast begins the next one when the last one is everywhere. That makes
//! links of any order FIFO, as `quorum` requires. It cannot deadlock: ACKs do not wait in a queue. But every lost message, an
//! ACK included, blocks its sender forever.
//!
//! The last message of a crashed process is completed by the processes that have it. So a REQUEST or a vote may arrive after
//! its process is known to have crashed. The mutex ignores it, as it ignores messages that were in transit over a link: `quorum` is
//! correct however long messages take and however late crashes are reported. Messages that are still in the queue of a process
//! when it crashes are lost with it, which is the same as if they arrive too late.

use quorate_core::multicast::Body;
use quorate_core::quorum::QuorumSystem;
use quorate_core::{
    Assumption, Cost, Kind, Message as CoreMessage, ProcessId, ProcessSet, Profile, Stack, VCube,
};

use super::quorum::{Message, Quorum, SettledQuorums, VotingRules};
use crate::multicast::{TreeBody, VcubeMulticast};
use crate::{Algorithm, OverMulticast, Setup, Sound};

/// One process of the algorithm: the quorum mutex over the multicast.
pub type QuorumVcubeMulticast = Stack<OverMulticast<Quorum>, VcubeMulticast<Message>>;

impl Body for Message {}

/// A TREE message is counted as the message of the mutex that it carries.
impl TreeBody for Message {
    const KINDS: &'static [Kind] = <Self as CoreMessage>::KINDS;

    fn kind(&self) -> usize {
        CoreMessage::kind(self)
    }

    fn stamp(&self) -> Option<u64> {
        CoreMessage::stamp(self)
    }
}

impl Algorithm for QuorumVcubeMulticast {
    const PROFILE: Profile = Profile {
        name: "quorum-vcube-multicast",
        summary: "the quorum mutex with all messages down the spanning trees of the VCube",
        source: "after Lopes' monograph on a quorum mutex over the VCube, Figure 5.1",
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        cost: "3(K - 1) to 6(K - 1) messages per entry, K the size of a quorum, and as many ACKs",
        ..SettledQuorums::PROFILE
    };

    const QUORUMS: &'static [&'static str] = SettledQuorums::QUORUMS;

    // Every multicast has a number.
    const STATES_RARELY_RECUR: bool = true;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        let upper = OverMulticast::new(setup.n, id, Quorum::build(setup, id));
        Self::new(upper, VcubeMulticast::new(setup.n, id))
    }

    fn cost(setup: &Setup) -> Cost {
        let (least, most) = others_in_quorums(setup);
        // A process without any quorum has no cost.
        let least = least.min(most);
        let levels = u64::from(VCube::new(setup.n).dimension());
        Cost::between("3(K - 1) to 6(K - 1)", 3 * least, 6 * most)
            .with_delays(0..=levels + 1, 0..=2 * (levels + 1))
    }
}

impl Sound for QuorumVcubeMulticast {}

/// The smallest and the greatest number of other processes in a quorum. A process sends no messages to itself.
fn others_in_quorums(setup: &Setup) -> (u64, u64) {
    let none = ProcessSet::new();
    let others = ProcessId::all(setup.n).filter_map(|id| {
        let quorum = setup.quorums.quorum(id, &none)?;
        Some(quorum.len() as u64 - u64::from(quorum.contains(id)))
    });
    others.fold((u64::MAX, 0), |(least, most), others| (least.min(others), most.max(others)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use quorate_core::multicast::{self, Group};
    use quorate_core::mutex::{Command, Output};
    use quorate_core::quorum::AnySystem;
    use quorate_core::{Belief, Effect, Effects, Layer, Layered, Process, Time};

    type Sent = <QuorumVcubeMulticast as Process>::Message;

    fn process(id: u32) -> ProcessId {
        ProcessId::new(id)
    }

    fn setup(n: usize) -> Setup {
        Setup { quorums: AnySystem::by_name("vcube", n).unwrap(), ..Setup::new(n) }
    }

    fn system(n: usize) -> Vec<QuorumVcubeMulticast> {
        let setup = setup(n);
        ProcessId::all(n).map(|id| QuorumVcubeMulticast::build(&setup, id)).collect()
    }

    /// The messages of a step to each recipient, and whether the process enters.
    fn effects(
        n: usize,
        id: ProcessId,
        step: impl FnOnce(&mut Effects<QuorumVcubeMulticast>),
    ) -> (Vec<(ProcessId, Sent)>, bool) {
        let mut out = Effects::new(Time::ZERO);
        step(&mut out);
        let (mut sent, mut enters) = (Vec::new(), false);
        for effect in out {
            match effect {
                Effect::Send { to, message } => sent.push((to, message)),
                Effect::Multicast { to, message } => {
                    sent.extend(to.among(n, id).map(|to| (to, message.clone())));
                }
                Effect::Output(output) => enters |= output == Output::Entered,
                _ => {}
            }
        }
        (sent, enters)
    }

    /// Number of messages of each layer until nothing is in transit, and the processes that enter.
    fn run(
        system: &mut [QuorumVcubeMulticast],
        id: ProcessId,
        command: Command,
    ) -> ((u32, u32), ProcessSet) {
        let n = system.len();
        let first = |out: &mut Effects<_>| system[id.index()].on_command(command, out).unwrap();
        let (sent, enters) = effects(n, id, first);
        let mut inside: ProcessSet = enters.then_some(id).into_iter().collect();
        let (mut mutex, mut acks) = (0, 0);
        let mut transit: VecDeque<_> =
            sent.into_iter().map(|(to, message)| (id, to, message)).collect();
        while let Some((from, to, message)) = transit.pop_front() {
            match Sent::KINDS[message.kind()].layer {
                Layer::Mutex => mutex += 1,
                _ => acks += 1,
            }
            let deliver = |out: &mut Effects<_>| system[to.index()].on_message(from, message, out);
            let (sent, enters) = effects(n, to, deliver);
            inside.extend(enters.then_some(to));
            transit.extend(sent.into_iter().map(|(next, message)| (to, next, message)));
        }
        ((mutex, acks), inside)
    }

    #[test]
    fn an_entry_costs_three_messages_for_each_other_voter_and_as_many_acks() {
        for n in [1, 2, 5, 8, 16] {
            let mut all = system(n);
            for id in ProcessId::all(n) {
                let quorum = setup(n).quorums.quorum(id, &ProcessSet::new()).unwrap();
                let others = quorum.len() as u32 - 1;
                let (asked, inside) = run(&mut all, id, Command::Acquire);
                assert_eq!(inside, ProcessSet::from_iter([id]));
                assert_eq!(asked, (2 * others, 2 * others), "REQUEST and REPLY, n = {n}, {id}");
                let (left, inside) = run(&mut all, id, Command::Release);
                assert_eq!(left, (others, others), "RELEASE, n = {n}, {id}");
                assert!(inside.is_empty());
            }
        }
    }

    /// The first TREE message of a process to this group.
    fn tree(origin: u32, to: &[u32], body: Message) -> Sent {
        let to = Group::Only(to.iter().copied().map(process).collect());
        let mut multicast = VcubeMulticast::new(4, process(origin));
        let mut out = Effects::new(Time::ZERO);
        let command = multicast::Command::Multicast { id: 0, to, body };
        multicast.on_command(command, &mut out).unwrap();
        let sent = out.into_iter().find_map(|effect| match effect {
            Effect::Multicast { message, .. } => Some(message),
            _ => None,
        });
        Layered::Lower(sent.expect("a TREE message"))
    }

    fn request(time: u64) -> Message {
        Message::Request(crate::mutex::voting::Ticket { time, attempt: 0 })
    }

    fn kinds(sent: &[(ProcessId, Sent)]) -> Vec<(u32, &'static str)> {
        let kind = |(to, message): &(ProcessId, Sent)| {
            (to.index() as u32, Sent::KINDS[message.kind()].name)
        };
        sent.iter().map(kind).collect()
    }

    #[test]
    fn a_request_that_arrives_after_the_crash_of_its_process_gets_no_vote() {
        let mut p2 = system(4).remove(2);
        effects(4, process(2), |out| p2.on_belief(Belief::Crashed(process(0)), out));
        // p3 completes the multicast of p0, and p2 takes part in that.
        let late = tree(0, &[1, 2, 3], request(1));
        let (sent, _) = effects(4, process(2), |out| p2.on_message(process(3), late, out));
        assert_eq!(kinds(&sent), [(1, "REQUEST"), (3, "REQUEST"), (3, "ACK")]);
        let other = tree(3, &[2], request(2));
        let (sent, _) = effects(4, process(2), |out| p2.on_message(process(3), other, out));
        assert_eq!(kinds(&sent), [(3, "REPLY"), (3, "ACK")]);
    }

    #[test]
    fn a_voter_asks_its_vote_back_only_when_it_has_arrived() {
        let mut all = system(4);
        let (mut p1, mut p0) = (all.remove(1), all.remove(0));
        let ask = tree(0, &[1], request(5));
        let (voted, _) = effects(4, process(1), |out| p1.on_message(process(0), ask, out));
        assert_eq!(kinds(&voted), [(0, "REPLY"), (0, "ACK")]);
        let better = tree(3, &[1], request(1));
        let (sent, _) = effects(4, process(1), |out| p1.on_message(process(3), better, out));
        assert_eq!(kinds(&sent), [(3, "ACK")]);
        let reply = voted[0].1.clone();
        let (sent, _) = effects(4, process(0), |out| p0.on_message(process(1), reply, out));
        assert_eq!(kinds(&sent), [(1, "ACK")]);
        let ack = sent[0].1.clone();
        let (sent, _) = effects(4, process(1), |out| p1.on_message(process(0), ack, out));
        assert_eq!(kinds(&sent), [(0, "INQUIRE")]);
    }
}
