//! Bracha's reliable broadcast: receivers echo a message, and deliver it once enough of them are ready to, although the
//! sender and others may lie.
//!
//! - **Source**: Bracha, "Asynchronous Byzantine Agreement Protocols", Information and Computation 75(2), 1987, section 3.
//! - **Assumes**: links that lose nothing, and that tell a receiver who sent a message; any order, duplicates are
//!   tolerated. At most f processes lie or crash, and n > 3f. No detector and no bound on delays.
//! - **Guarantees**: validity, integrity and agreement of the correct processes: no two of them deliver different contents
//!   of one message, and if one delivers it, all do. Of a sender that lies, all deliver one content or none.
//! - **Costs**: (n - 1)(2n + 1) messages: n - 1 INIT, n(n - 1) ECHO and n(n - 1) READY; three message delays if f > 0.
//! - **Departs from the paper**: no process sends to itself. There is an instance for each message, by its sender and
//!   number. The paper counts the votes of one broadcast. The votes for a message are dropped once it is delivered. A
//!   quorum of ECHOs is more than (n + f)/2, as its proof requires; the text says (n + t)/2.
//!
//! ```text
//!   INIT(v) of the sender,                 more than (n + f)/2 ECHO(v),
//!   or as for READY                        or f + 1 READY(v)              2f + 1 READY(v)
//!   ------------------------> ECHO(v) ----------------------> READY(v) -----------------> deliver v
//! ```

use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::multicast::{Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, Profile,
    Property, SortedMap,
};

use crate::{Algorithm, Setup, Sound};

/// One process of Bracha's broadcast.
pub type Bracha = EchoBroadcast<ReadyRule>;

/// The votes after which a process delivers. The algorithm and its broken variant differ in it.
pub trait DeliveryRule: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with this rule.
    const PROFILE: Profile;

    /// Whether processes send READY before they deliver.
    const SENDS_READY: bool;
}

/// The paper's rule: a process delivers after 2f + 1 READYs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReadyRule;

/// A process that delivers by the rule `R`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EchoBroadcast<R> {
    id: ProcessId,
    n: usize,
    /// Maximum number of processes that lie or crash.
    f: usize,
    last: LastNumber,
    instances: SortedMap<Slot, Instance>,
    rule: PhantomData<R>,
}

/// The place of a message: its sender and its number. A sender that lies may give it several contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Slot {
    origin: ProcessId,
    id: u64,
}

/// The state of the broadcast of one message at one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Instance {
    Voting(Votes),
    Delivered,
}

/// The votes for the contents of one message. Only the first ECHO and the first READY of a process count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Votes {
    echoed: bool,
    is_ready: bool,
    echoes: SortedMap<ProcessId, Content>,
    readies: SortedMap<ProcessId, Content>,
}

/// The messages of the broadcast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// From the sender itself: message `id` has this content.
    Init(u64, Content),
    /// The sender of this message has seen this content.
    Echo(Slot, Content),
    /// The sender of this message knows that no correct process delivers another content.
    Ready(Slot, Content),
}

impl<R: DeliveryRule> EchoBroadcast<R> {
    /// Creates process `id` of `n`, of which at most `f` lie or crash.
    pub fn new(n: usize, id: ProcessId, f: usize) -> Self {
        let (last, instances) = (LastNumber::default(), SortedMap::new());
        Self { id, n, f, last, instances, rule: PhantomData }
    }

    /// Whether this many ECHOs are a quorum: any two quorums have a correct process in common.
    fn is_quorum(&self, echoes: usize) -> bool {
        2 * echoes > self.n + self.f
    }

    /// The votes for a message. `None` if it has been delivered.
    fn votes(&mut self, slot: Slot) -> Option<&mut Votes> {
        let new = || Instance::Voting(Votes::default());
        match self.instances.entry(slot).or_insert_with(new) {
            Instance::Voting(votes) => Some(votes),
            Instance::Delivered => None,
        }
    }

    /// Counts a vote for a content and takes the steps that it permits.
    fn count(&mut self, slot: Slot, vote: Vote, content: Content, out: &mut Effects<Self>) {
        let Some(votes) = self.votes(slot) else { return };
        match vote {
            Vote::Init => {}
            Vote::Echo(from) => drop(votes.echoes.entry(from).or_insert(content)),
            Vote::Ready(from) => drop(votes.readies.entry(from).or_insert(content)),
        }
        self.advance(slot, vote == Vote::Init, content, out);
    }

    /// Takes the steps that the votes for this content permit. Own votes are counted as if they had been received.
    fn advance(&mut self, slot: Slot, initial: bool, content: Content, out: &mut Effects<Self>) {
        let (own, f) = (self.id, self.f);
        let Some(votes) = self.votes(slot) else { return };
        let (echoes, readies) =
            (votes_for(&votes.echoes, content), votes_for(&votes.readies, content));
        let may_be_ready = self.is_quorum(echoes) || (R::SENDS_READY && readies > f);
        let Some(votes) = self.votes(slot) else { return };
        if !votes.echoed && (initial || may_be_ready) {
            votes.echoed = true;
            votes.echoes.insert(own, content);
            out.send_to_others(Message::Echo(slot, content));
            return self.advance(slot, false, content, out);
        }
        if R::SENDS_READY && !votes.is_ready && may_be_ready {
            votes.is_ready = true;
            votes.readies.insert(own, content);
            out.send_to_others(Message::Ready(slot, content));
            return self.advance(slot, false, content, out);
        }
        let may_deliver = if R::SENDS_READY { readies > 2 * f } else { may_be_ready };
        if may_deliver {
            self.instances.insert(slot, Instance::Delivered);
            let Slot { origin, id } = slot;
            out.output(Output::Delivered { origin, id, body: content });
        }
    }
}

/// A vote that a process has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vote {
    Init,
    Echo(ProcessId),
    Ready(ProcessId),
}

fn votes_for(votes: &SortedMap<ProcessId, Content>, content: Content) -> usize {
    votes.values().filter(|vote| **vote == content).count()
}

impl<R: DeliveryRule> Process for EchoBroadcast<R> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Multicast { id, to, body }: Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if to != Group::All {
            return Err(Misuse::EverybodyOnly);
        }
        self.last.take(id)?;
        out.send_to_others(Message::Init(id, body));
        self.count(Slot { origin: self.id, id }, Vote::Init, body, out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let (slot, vote, content) = match message {
            Message::Init(id, content) => (Slot { origin: from, id }, Vote::Init, content),
            Message::Echo(slot, content) => (slot, Vote::Echo(from), content),
            Message::Ready(slot, content) => (slot, Vote::Ready(from), content),
        };
        if slot.origin.index() >= self.n {
            return out.ignored("a message of one who does not exist");
        }
        self.count(slot, vote, content, out);
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::multicast("INIT"), Kind::multicast("ECHO"), Kind::multicast("READY")];

    fn kind(&self) -> usize {
        match self {
            Self::Init(..) => 0,
            Self::Echo(..) => 1,
            Self::Ready(..) => 2,
        }
    }

    /// A lying process changes the content.
    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Init(id, content) => Self::Init(*id, content.forged(choice)),
            Self::Echo(slot, content) => Self::Echo(*slot, content.forged(choice)),
            Self::Ready(slot, content) => Self::Ready(*slot, content.forged(choice)),
        }
    }
}

impl<R: DeliveryRule> Algorithm for EchoBroadcast<R> {
    const PROFILE: Profile = R::PROFILE;

    const GROUPS: bool = false;

    fn tolerates(n: usize) -> Option<usize> {
        Some((n - 1) / 3)
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id, setup.tolerates)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        let (formula, messages) = match R::SENDS_READY {
            true => ("(n - 1)(2n + 1)", (n - 1) * (2 * n + 1)),
            false => ("(n - 1)(n + 1)", (n - 1) * (n + 1)),
        };
        // With two or three processes and f = 0, the ECHOs of the sender and of the receiver itself are a quorum.
        let echoed = if 2 * 2 > setup.n + setup.tolerates { 1 } else { 2 };
        let delays = echoed + u64::from(R::SENDS_READY && setup.tolerates > 0);
        Cost::exact(formula, messages)
            .with_delays(delays..=delays, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

impl DeliveryRule for ReadyRule {
    const PROFILE: Profile = Profile {
        name: "bracha",
        layer: Layer::Multicast,
        summary: "receivers echo a message and say when they are ready, so that liars cannot split them",
        source: "Bracha, Information and Computation 75(2), 1987",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::FewFaults, Assumption::LessThanAThird],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
        ],
        cost: "(n - 1)(2n + 1) messages per multicast",
        never_quiescent: false,
    };

    const SENDS_READY: bool = true;
}

impl Sound for Bracha {}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use quorate_core::{Effect, Time};

    use super::*;

    const LIE: Content = Content(1);

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    /// Process 3 of 4, of which one may lie, and a way to give it messages about message 0 of process 0.
    fn receive(process: &mut Bracha, from: u32, message: Message) -> Vec<&'static str> {
        let mut out = Effects::new(Time(0));
        process.on_message(p(from), message, &mut out);
        let shown = |effect: Effect<Bracha>| match effect {
            Effect::Multicast { message, .. } => Message::KINDS[message.kind()].name,
            Effect::Output(_) => "deliver",
            _ => "other",
        };
        out.drain().map(shown).collect()
    }

    fn echo(content: Content) -> Message {
        Message::Echo(Slot { origin: p(0), id: 0 }, content)
    }

    fn ready(content: Content) -> Message {
        Message::Ready(Slot { origin: p(0), id: 0 }, content)
    }

    #[test]
    fn a_quorum_of_echoes_makes_ready_and_two_f_plus_one_deliver() {
        let mut process = Bracha::new(4, p(3), 1);
        assert_eq!(receive(&mut process, 0, Message::Init(0, Content::TRUE)), ["ECHO"]);
        assert_eq!(receive(&mut process, 0, Message::Init(0, LIE)), [""; 0], "it has echoed");
        assert_eq!(receive(&mut process, 1, echo(Content::TRUE)), [""; 0]);
        assert_eq!(receive(&mut process, 1, echo(Content::TRUE)), [""; 0], "it counts once");
        assert_eq!(receive(&mut process, 2, echo(Content::TRUE)), ["READY"]);
        assert_eq!(receive(&mut process, 1, ready(Content::TRUE)), [""; 0]);
        assert_eq!(receive(&mut process, 1, ready(LIE)), [""; 0], "it has voted");
        assert_eq!(receive(&mut process, 2, ready(Content::TRUE)), ["deliver"]);
        assert_eq!(receive(&mut process, 0, ready(Content::TRUE)), [""; 0], "only once");
    }

    #[test]
    fn f_plus_one_readies_convince_and_f_do_not() {
        let mut process = Bracha::new(4, p(3), 1);
        assert_eq!(receive(&mut process, 1, ready(LIE)), [""; 0]);
        assert_eq!(receive(&mut process, 2, ready(LIE)), ["ECHO", "READY", "deliver"]);
    }

    #[test]
    fn a_slot_of_a_process_that_does_not_exist_is_ignored() {
        let mut process = Bracha::new(4, p(3), 1);
        let slot = Slot { origin: p(9), id: 0 };
        assert_eq!(receive(&mut process, 1, Message::Echo(slot, LIE)), ["other"]);
    }
}
