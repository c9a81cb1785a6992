//! All-to-all election: every process announces its identifier to all others and takes the greatest announced one as
//! leader. The baseline with which other elections are compared.
//!
//! - **Source**: the idea that precedes all others ("idea 0: all send to all, so that all know the identifiers:
//!   prohibitive"), from lecture notes on leader election; no paper claims it.
//! - **Assumes**: links that lose nothing, in any order; a perfect detector; crashed processes do not recover.
//! - **Guarantees**: E1 and E2, with crashes, for any starter and any number of simultaneous starters.
//! - **Costs**: n(n - 1) messages per election, of 25 bytes each; two message delays for a single starter. A leader's
//!   crash costs one election among the survivors, whose announcements also go to the crashed processes.
//! - **Departs from the paper**: nowhere, except in the handling of crashes. Elections are numbered. A process whose leader
//!   crashes begins the next election. A process that is believed to have crashed is neither waited for nor elected.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::election::{Command, Identifier, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Message, Process, ProcessId, ProcessSet,
    Profile, Property,
};

use super::common::{IDENTIFIER_BYTES, KIND_BYTES, NUMBER_BYTES, Participation};
use crate::literature::{ElectionCosts, IN_ANY_ORDER, Prediction};
use crate::{Algorithm, Setup, Sound, Step};

/// One process of the all-to-all election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnnounceAll {
    id: ProcessId,
    n: usize,
    participation: Participation,
    /// The identifiers announced in the current election, including this process's own.
    announced: Vec<Identifier>,
    heard: ProcessSet,
    leader: Option<Identifier>,
    crashed: ProcessSet,
}

/// Announces the sender's identifier in the election of this number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Announcement {
    number: u64,
    identifier: Identifier,
}

impl AnnounceAll {
    /// Creates a process among `n` that stands with this identifier.
    pub fn new(n: usize, identifier: Identifier) -> Self {
        Self {
            id: identifier.process,
            n,
            participation: Participation::new(identifier),
            announced: Vec::new(),
            heard: ProcessSet::new(),
            leader: None,
            crashed: ProcessSet::new(),
        }
    }

    /// Joins an election and announces this process to all others.
    fn join(&mut self, number: u64, out: &mut Effects<Self>) {
        out.output(Output::Undecided);
        let identifier = self.participation.join(number);
        self.announced.clear();
        self.heard.clear();
        self.record_announcement(identifier);
        if self.n > 1 {
            out.send_to_others(Announcement { number, identifier });
        }
    }

    fn begin(&mut self, out: &mut Effects<Self>) {
        let number = self.participation.next();
        self.join(number, out);
        self.decide(out);
    }

    fn record_announcement(&mut self, identifier: Identifier) {
        if self.heard.insert(identifier.process) {
            self.announced.push(identifier);
        }
    }

    /// Decides once every process that may be up has announced itself.
    fn decide(&mut self, out: &mut Effects<Self>) {
        let everyone = || (&self.heard | &self.crashed).len() == self.n;
        if !self.participation.is_under_way() || !everyone() {
            return;
        }
        let up = self.announced.iter().filter(|found| !self.crashed.contains(found.process));
        let greatest = up.max().copied();
        let number = self.participation.number();
        self.participation.note_outcome(number);
        self.participation.adopt_outcome(number);
        self.leader = greatest;
        greatest.into_iter().for_each(|leader| out.output(Output::Elected(leader)));
    }
}

impl Process for AnnounceAll {
    type Command = Command;
    type Message = Announcement;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Elect if self.participation.is_under_way() => return Err(Misuse::UnderWay),
            Command::Elect => self.begin(out),
            Command::Identify(value) => self.participation.identify(value),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, announcement: Announcement, out: &mut Effects<Self>) {
        let Announcement { number, identifier } = announcement;
        if self.participation.is_over(number) {
            return out.ignored("an announcement for an election that is over");
        }
        if self.participation.is_new(number) {
            self.join(number, out);
        }
        self.record_announcement(Identifier { process: from, ..identifier });
        self.decide(out);
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                let led = self.leader.is_some_and(|leader| leader.process == process);
                match self.participation.is_under_way() {
                    true => self.decide(out),
                    false if led => self.begin(out),
                    false => {}
                }
            }
            // A recovered process knows nothing of the election in progress, so a new one is needed.
            Belief::Alive(process) => {
                if self.crashed.remove(process) {
                    self.begin(out);
                }
            }
        }
    }

    fn on_recovery(&mut self, _: &mut Effects<Self>) {
        self.crashed.clear();
    }

    fn waits_for(&self) -> ProcessSet {
        match self.participation.is_under_way() {
            true => &(&ProcessSet::others(self.n, self.id) - &self.heard) - &self.crashed,
            false => ProcessSet::new(),
        }
    }
}

impl Message for Announcement {
    const KINDS: &'static [Kind] = &[Kind::election("ANNOUNCE")];

    fn kind(&self) -> usize {
        0
    }

    fn bytes(&self) -> Option<u64> {
        Some(KIND_BYTES + NUMBER_BYTES + IDENTIFIER_BYTES)
    }

    fn forged(&self, choice: u64) -> Self {
        Self { identifier: self.identifier.forged(choice), ..self.clone() }
    }
}

impl Sound for AnnounceAll {}

impl Algorithm for AnnounceAll {
    const PROFILE: Profile = Profile {
        name: "announce-all",
        layer: Layer::Election,
        summary: "every process announces its identifier to all, and all take the greatest: the baseline",
        source: "idea 0 of lecture notes on leader election",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::E1, Property::E2],
        cost: "n(n - 1) messages",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::on("Elect", "take part; send ANNOUNCE(i) to all others"),
        Step::doing(
            "ANNOUNCE",
            "ANNOUNCE",
            "ANNOUNCE(j) of a new election: take part, and send ANNOUNCE(i) to all others",
        ),
        Step::doing(
            "ANNOUNCE",
            "Elected",
            "ANNOUNCE(j), and all have announced themselves: the greatest identifier leads",
        ),
        Step::on("ANNOUNCE", "ANNOUNCE(j): remember j"),
    ];

    const ELECTION_COSTS: &'static [ElectionCosts] = &[ElectionCosts {
        rank_delay: false,
        cases: IN_ANY_ORDER,
        messages: |_, _, n| {
            let n = n as f64;
            Some(Prediction::exact("n(n - 1)", n * (n - 1.0)))
        },
        rule: None,
        stores_lists: false,
    }];

    const BYTES_PER_OTHER: u64 = 17;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, setup.identifier(id))
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::exact("n(n - 1)", n * (n - 1))
            .with_delays(2..=2, 0..=0)
            .without_delays_if_single(setup.n)
    }
}
