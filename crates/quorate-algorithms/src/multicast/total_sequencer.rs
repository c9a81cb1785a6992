//! Total order by a sequencer: one process numbers all messages, and if it crashes the next one takes over.
//!
//! - **Source**: Kaashoek and Tanenbaum, "Group Communication in the Amoeba Distributed Operating System", ICDCS 1991
//!   (the PB method and its recovery); Coulouris et al., 5th edition, section 15.4.3.
//! - **Assumes**: a perfect detector; any process may crash, and crashed processes do not recover; links that lose
//!   nothing. Any order of messages; duplicates are tolerated.
//! - **Guarantees**: validity, integrity, agreement and total order, also among the survivors of a crash of the
//!   sequencer. Neither FIFO nor causal order: messages may overtake each other on the way to the sequencer. If all
//!   processes that have delivered a message crash, the others may deliver it in another order or not at all.
//! - **Costs**: n messages, n - 1 if the sequencer itself sends; two message delays, or one. A take-over: up to
//!   3(n - 1), besides messages that are submitted again.
//! - **Departs from the paper**: messages are kept forever, where the paper truncates the history once all have them. A
//!   detector reports crashes instead of probing, and the next process in line takes over without an election. In
//!   Coulouris' variant the sender sends to all and the sequencer only numbers: 2(n - 1) messages.
//!
//! Every process has a log, which is a prefix of one common sequence. The line of sequencers begins with the server and
//! continues in the order of process numbers, wrapping around. A process that believes that all sequencers before it in
//! line have crashed asks all processes for their logs (TAKE-OVER, LOG), adopts the longest, and sends to each process
//! the entries that it lacks (CATCH-UP). A process that has answered ignores all earlier sequencers from then on, and
//! submits its own undelivered messages again.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Body, Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile,
    Property, SortedMap, SortedSet,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the sequencer total order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TotalSequencer<B = Content> {
    id: ProcessId,
    n: usize,
    server: ProcessId,
    crashed: ProcessSet,
    last: LastNumber,
    /// The position in the line of the sequencer that this process follows.
    epoch: usize,
    role: SequencerRole,
    /// The delivered messages, in order.
    log: Vec<Entry<B>>,
    logged: SortedSet<(ProcessId, u64)>,
    /// Messages that the sequencer has numbered and that have arrived before their predecessors.
    out_of_order: SortedMap<u64, Entry<B>>,
    /// This process's own messages that have not been delivered.
    own: SortedMap<u64, B>,
    /// Messages submitted to this process that it cannot number yet.
    unnumbered: Vec<Entry<B>>,
}

/// A message in the total order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry<B> {
    origin: ProcessId,
    id: u64,
    body: B,
}

/// The role of a process in the numbering of messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SequencerRole {
    /// Another process numbers the messages.
    Follower,
    /// Takes over: waits for the logs of the `missing` processes, and knows the lengths of the logs received.
    TakingOver { missing: ProcessSet, lengths: SortedMap<ProcessId, u64> },
    /// This process numbers the messages.
    Sequencer,
}

/// The messages of the protocol. The first number of all but `Submit` is the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<B = Content> {
    /// From a sender to the sequencer: asks for a number for this message.
    Submit(u64, B),
    /// From the sequencer of this epoch: the message with this number.
    Ordered(usize, u64, Entry<B>),
    /// Announces the sender as sequencer of this epoch, with the length of its log, and asks for the receiver's log.
    TakeOver(usize, u64),
    /// The answer in this epoch: the length of the log, and the entries that the new sequencer lacks.
    Log(usize, u64, Vec<Entry<B>>),
    /// From the sequencer of this epoch: the entries that the receiver lacks, from this number on.
    CatchUp(usize, u64, Vec<Entry<B>>),
}

impl<B: Body> TotalSequencer<B> {
    /// Creates process `id` of `n`. The first sequencer is `server`.
    pub fn new(n: usize, id: ProcessId, server: ProcessId) -> Self {
        Self {
            id,
            n,
            server,
            crashed: ProcessSet::new(),
            last: LastNumber::default(),
            epoch: 0,
            role: if id == server { SequencerRole::Sequencer } else { SequencerRole::Follower },
            log: Vec::new(),
            logged: SortedSet::new(),
            out_of_order: SortedMap::new(),
            own: SortedMap::new(),
            unnumbered: Vec::new(),
        }
    }

    /// The process at a position in the line of sequencers.
    fn sequencer_at(&self, place: usize) -> ProcessId {
        ProcessId::from_index((self.server.index() + place) % self.n)
    }

    /// The length of the log, which is the number of the next message.
    fn next(&self) -> u64 {
        self.log.len() as u64
    }

    /// The log from this number on.
    fn log_from(&self, number: u64) -> Vec<Entry<B>> {
        self.log.iter().skip(usize::try_from(number).unwrap_or(usize::MAX)).cloned().collect()
    }

    /// Appends a message to the log and delivers it.
    fn append(&mut self, entry: Entry<B>, out: &mut Effects<Self>) {
        let Entry { origin, id, body } = entry.clone();
        if origin == self.id {
            self.own.remove(&id);
        }
        self.logged.insert((origin, id));
        self.log.push(entry);
        out.output(Output::Delivered { origin, id, body });
    }

    /// Asks the sequencer to number one of this process's messages.
    fn submit(&mut self, id: u64, body: B, out: &mut Effects<Self>) {
        match self.sequencer_at(self.epoch) {
            sequencer if sequencer == self.id => {
                self.unnumbered.push(Entry { origin: self.id, id, body });
                self.number(out);
            }
            sequencer => out.send(sequencer, Message::Submit(id, body)),
        }
    }

    /// Numbers the submitted messages, if this process is the sequencer.
    fn number(&mut self, out: &mut Effects<Self>) {
        if self.role != SequencerRole::Sequencer {
            return;
        }
        for entry in core::mem::take(&mut self.unnumbered) {
            if !self.logged.contains(&(entry.origin, entry.id)) {
                out.send_to_others(Message::Ordered(self.epoch, self.next(), entry.clone()));
                self.append(entry, out);
            }
        }
    }

    /// Accepts numbered messages from this number on, and delivers the ones in sequence.
    fn follow(&mut self, number: u64, entries: Vec<Entry<B>>, out: &mut Effects<Self>) {
        for (place, entry) in entries.into_iter().enumerate() {
            let number = number.saturating_add(place as u64);
            if number >= self.next() {
                self.out_of_order.insert(number, entry);
            }
        }
        while let Some(entry) = self.out_of_order.remove(&self.next()) {
            self.append(entry, out);
        }
    }

    /// Takes over if all sequencers before this process in line have crashed.
    fn step_up(&mut self, out: &mut Effects<Self>) {
        let live = |place: &usize| !self.crashed.contains(self.sequencer_at(*place));
        let Some(first) = (self.epoch..self.n).find(live) else { return };
        if first > self.epoch && self.sequencer_at(first) == self.id {
            self.begin_epoch(first);
            let missing = &ProcessSet::others(self.n, self.id) - &self.crashed;
            out.multicast(missing.clone(), Message::TakeOver(self.epoch, self.next()));
            self.role = SequencerRole::TakingOver { missing, lengths: SortedMap::new() };
            self.finish_gathering(out);
        }
    }

    /// Follows only the sequencer of this epoch, and discards messages of earlier ones that are out of sequence.
    fn begin_epoch(&mut self, epoch: usize) {
        self.epoch = epoch;
        self.out_of_order.clear();
        self.role = SequencerRole::Follower;
    }

    fn on_take_over(&mut self, from: ProcessId, epoch: usize, has: u64, out: &mut Effects<Self>) {
        if epoch >= self.n || self.sequencer_at(epoch) != from || epoch <= self.epoch {
            return out.ignored("a take-over by one who is not next");
        }
        self.begin_epoch(epoch);
        out.send(from, Message::Log(epoch, self.next(), self.log_from(has)));
        for (id, body) in self.own.clone() {
            out.send(from, Message::Submit(id, body));
        }
    }

    fn on_log(
        &mut self,
        from: ProcessId,
        length: u64,
        tail: Vec<Entry<B>>,
        out: &mut Effects<Self>,
    ) {
        let SequencerRole::TakingOver { missing, lengths } = &mut self.role else {
            return out.ignored("a log that nobody waits for");
        };
        if missing.remove(from) {
            lengths.insert(from, length);
            // All logs are prefixes of one sequence, so the entries beyond this process's log continue it.
            let begin = length.saturating_sub(tail.len() as u64);
            self.follow(begin, tail, out);
            self.finish_gathering(out);
        }
    }

    /// Once all live processes have sent their logs: sends to each the entries that it lacks, and begins to number.
    fn finish_gathering(&mut self, out: &mut Effects<Self>) {
        let SequencerRole::TakingOver { missing, lengths } = &self.role else { return };
        if !missing.is_empty() {
            return;
        }
        for (member, length) in lengths {
            if *length < self.next() {
                out.send(*member, Message::CatchUp(self.epoch, *length, self.log_from(*length)));
            }
        }
        self.role = SequencerRole::Sequencer;
        let own = self.own.clone().into_iter();
        self.unnumbered.extend(own.map(|(id, body)| Entry { origin: self.id, id, body }));
        self.number(out);
    }
}

impl<B: Body> Process for TotalSequencer<B> {
    type Command = Command<B>;
    type Message = Message<B>;
    type Timer = Infallible;
    type Output = Output<B>;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Multicast { id, to, body }: Command<B>,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if to != Group::All {
            return Err(Misuse::EverybodyOnly);
        }
        self.last.take(id)?;
        self.own.insert(id, body.clone());
        self.submit(id, body, out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message<B>, out: &mut Effects<Self>) {
        match message {
            Message::Submit(id, body) if self.role != SequencerRole::Follower => {
                self.unnumbered.push(Entry { origin: from, id, body });
                self.number(out);
            }
            Message::Ordered(epoch, number, entry) if epoch == self.epoch => {
                self.follow(number, alloc::vec![entry], out);
            }
            Message::CatchUp(epoch, number, entries) if epoch == self.epoch => {
                self.follow(number, entries, out);
            }
            Message::TakeOver(epoch, has) => self.on_take_over(from, epoch, has, out),
            Message::Log(epoch, length, tail) if epoch == self.epoch => {
                self.on_log(from, length, tail, out);
            }
            _ => out.ignored("a word of another reign"),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                if let SequencerRole::TakingOver { missing, lengths } = &mut self.role {
                    missing.remove(process);
                    lengths.remove(&process);
                }
                self.finish_gathering(out);
                self.step_up(out);
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.role {
            SequencerRole::TakingOver { missing, .. } => missing.clone(),
            SequencerRole::Follower if !self.own.is_empty() => {
                ProcessSet::from_iter([self.sequencer_at(self.epoch)])
            }
            _ => ProcessSet::new(),
        }
    }
}

impl<B: Body> quorate_core::Message for Message<B> {
    const KINDS: &'static [Kind] = &[
        Kind::multicast("SUBMIT"),
        Kind::multicast("ORDERED"),
        Kind::multicast("TAKE-OVER"),
        Kind::multicast("LOG"),
        Kind::multicast("CATCH-UP"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Submit(..) => 0,
            Self::Ordered(..) => 1,
            Self::TakeOver(..) => 2,
            Self::Log(..) => 3,
            Self::CatchUp(..) => 4,
        }
    }

    /// A lying process changes the number.
    fn forged(&self, choice: u64) -> Self {
        let lie = choice % 8;
        match self.clone() {
            Self::Submit(_, body) => Self::Submit(lie, body),
            Self::Ordered(epoch, _, entry) => Self::Ordered(epoch, lie, entry),
            Self::TakeOver(epoch, _) => Self::TakeOver(epoch, lie),
            Self::Log(epoch, _, tail) => Self::Log(epoch, lie, tail),
            Self::CatchUp(epoch, _, entries) => Self::CatchUp(epoch, lie, entries),
        }
    }
}

impl Algorithm for TotalSequencer {
    const PROFILE: Profile = Profile {
        name: "total-sequencer",
        layer: Layer::Multicast,
        summary: "one process numbers all messages; if it crashes, the next takes over",
        source: "Kaashoek, Tanenbaum, ICDCS 1991",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
            Property::TotalOrder,
        ],
        cost: "n messages per multicast, n - 1 if the sequencer sends",
        never_quiescent: false,
    };

    const SHAPE: Shape = Shape::Server;

    const GROUPS: bool = false;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id, setup.server)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        // A single process sends no messages.
        let most = if n == 1 { 0 } else { n };
        Cost::between("n - 1 to n", n - 1, most).with_delays(1..=2, 0..=0)
    }
}

impl Sound for TotalSequencer {}
