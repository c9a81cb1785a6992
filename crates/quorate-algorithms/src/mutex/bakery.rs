//! Lamport's bakery: a process draws a number greater than all it has read, and waits for all smaller ones.
//!
//! - **Source**: Lamport, "A New Solution of Dijkstra's Concurrent Programming Problem", CACM 17(8), 1974.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate. Any order.
//! - **Guarantees**: ME1, ME2 if holders leave. Not ME3: a process that is still choosing may be overtaken by a request that it
//!   happened before.
//! - **Costs**: 4(n - 1) to 8(n - 1) messages per entry; four message delays into a free section, one or more from the holder to
//!   its successor.
//! - **Departs from the paper**: the shared registers are emulated by messages. A process keeps its own registers `choosing` and
//!   `number`, and answers READ by VALUE with both. So a read is atomic, where the paper allows reads that overlap a write to
//!   return anything. A process that waits in a loop would read the same value many times. Here a READ contains the value read
//!   last, and the owner answers once its registers differ from that. In the paper a process may fail if its registers become
//!   zero. Here the registers of a crashed process cannot be read, so no process may crash.
//!
//! ```text
//!     Outside --acquire--> Choosing --all registers read--> Waiting --all passed--> Inside
//! ```

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap,
};

use crate::literature::{MutexFigure, Prediction};
use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bakery {
    id: ProcessId,
    n: usize,
    phase: Phase,
    /// The registers of this process.
    registers: Registers,
    /// Processes that await a change of these registers.
    readers: ProcessSet,
}

/// The registers of one process. In the paper they are two arrays with an element for each process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Registers {
    /// Whether the process is choosing its number.
    pub choosing: bool,
    /// The number, or 0 if the process does not want to enter.
    pub number: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    /// Reads the numbers of all others, of which these are missing.
    Choosing {
        missing: ProcessSet,
        greatest: u64,
    },
    /// Waits for these processes.
    Waiting(SortedMap<ProcessId, Wait>),
    Inside,
}

/// The condition on the registers of another process for which this one waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wait {
    /// The process is not choosing.
    Chosen,
    /// The process has no number or a greater one.
    Passed,
}

/// A message of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Reads the recipient's registers once they differ from this value.
    Read(Option<Registers>),
    /// The value of the sender's registers.
    Value(Registers),
}

impl Bakery {
    /// Creates process `id` of n processes.
    pub fn new(n: usize, id: ProcessId) -> Self {
        let (registers, readers) = (Registers::default(), ProcessSet::new());
        Self { id, n, phase: Phase::Outside, registers, readers }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        self.write(Registers { choosing: true, number: 0 }, out);
        self.phase = Phase::Choosing { missing: ProcessSet::others(self.n, self.id), greatest: 0 };
        out.send_to_others(Message::Read(None));
        self.choose_if_read(out);
    }

    /// Chooses a number once all others are read, and then reads all others again.
    fn choose_if_read(&mut self, out: &mut Effects<Self>) {
        let Phase::Choosing { missing, greatest } = &self.phase else { return };
        if !missing.is_empty() {
            return;
        }
        self.write(Registers { choosing: false, number: *greatest + 1 }, out);
        let others = ProcessSet::others(self.n, self.id);
        self.phase = Phase::Waiting(others.iter().map(|other| (other, Wait::Chosen)).collect());
        out.send_to_others(Message::Read(None));
        self.enter_if_passed(out);
    }

    fn enter_if_passed(&mut self, out: &mut Effects<Self>) {
        if matches!(&self.phase, Phase::Waiting(waits) if waits.is_empty()) {
            self.phase = Phase::Inside;
            out.output(Output::Entered);
        }
    }

    /// Writes the own registers. Processes that await a change read them.
    fn write(&mut self, registers: Registers, out: &mut Effects<Self>) {
        self.registers = registers;
        let readers = core::mem::take(&mut self.readers);
        if !readers.is_empty() {
            out.multicast(readers, Message::Value(registers));
        }
    }

    /// The registers of another process have been read.
    fn on_value(&mut self, from: ProcessId, read: Registers, out: &mut Effects<Self>) {
        match &mut self.phase {
            Phase::Choosing { missing, greatest } => {
                missing.remove(from);
                *greatest = read.number.max(*greatest);
                self.choose_if_read(out);
            }
            Phase::Waiting(waits) if waits.contains_key(&from) => {
                let own = (self.registers.number, self.id);
                let wait = match (waits.get(&from), read) {
                    (Some(Wait::Chosen), Registers { choosing: true, .. }) => Wait::Chosen,
                    (_, Registers { number, .. }) if number != 0 && (number, from) < own => {
                        Wait::Passed
                    }
                    _ => {
                        waits.remove(&from);
                        return self.enter_if_passed(out);
                    }
                };
                waits.insert(from, wait);
                out.send(from, Message::Read(Some(read)));
            }
            _ => out.ignored("a value that was not awaited"),
        }
    }
}

impl Process for Bakery {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => self.acquire(out),
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                self.write(Registers::default(), out);
            }
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Read(last) if last == Some(self.registers) => {
                self.readers.insert(from);
            }
            Message::Read(_) => out.send(from, Message::Value(self.registers)),
            Message::Value(read) => self.on_value(from, read, out),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Choosing { missing, .. } => missing.clone(),
            Phase::Waiting(waits) => waits.keys().copied().collect(),
            Phase::Outside | Phase::Inside => ProcessSet::new(),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::mutex("READ"), Kind::mutex("VALUE")];

    fn kind(&self) -> usize {
        match self {
            Self::Read(_) => 0,
            Self::Value(_) => 1,
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Read(last) => Self::Read(*last),
            Self::Value(_) => Self::Value(Registers { choosing: false, number: choice % 8 }),
        }
    }
}

impl Sound for Bakery {}

impl Algorithm for Bakery {
    const PROFILE: Profile = Profile {
        name: "bakery",
        layer: Layer::Mutex,
        summary: "draw a number greater than all others, and wait for the smaller ones",
        source: "Lamport, CACM 17(8), 1974",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "4(n - 1) to 8(n - 1) messages per entry, by reads of the registers of others",
        never_quiescent: false,
    };

    const STATES_RARELY_RECUR: bool = true;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id)
    }

    /// A single requester reads every register twice. Otherwise it depends on how often the registers of others change
    /// while it waits.
    fn predict_entry(figure: MutexFigure, setup: &Setup, _: &[Vec<ProcessId>]) -> Prediction {
        match figure {
            MutexFigure::Light => Prediction::exact("4(n - 1)", 4.0 * (setup.n as f64 - 1.0)),
            figure => Prediction::of_cost(figure, &Self::cost(setup)),
        }
    }

    fn cost(setup: &Setup) -> Cost {
        let others = setup.n as u64 - 1;
        Cost::between("4(n - 1) to 8(n - 1)", 4 * others, 8 * others)
            .with_delays(4..=4, 1..=4)
            .without_delays_if_single(setup.n)
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::{Effect, Time};

    use super::*;

    fn given(process: &mut Bakery, message: Message) -> Vec<Effect<Bakery>> {
        let mut out = Effects::new(Time::ZERO);
        process.on_message(ProcessId::new(1), message, &mut out);
        out.drain().collect()
    }

    fn value(choosing: bool, number: u64) -> Message {
        Message::Value(Registers { choosing, number })
    }

    #[test]
    fn a_process_waits_for_the_choice_of_another_and_then_for_its_smaller_number() {
        let mut p0 = Bakery::new(2, ProcessId::new(0));
        let mut out = Effects::new(Time::ZERO);
        p0.on_command(Command::Acquire, &mut out).expect("p0 is outside");
        assert_eq!(given(&mut p0, value(false, 4)).len(), 1, "it reads again");
        assert_eq!(p0.registers, Registers { choosing: false, number: 5 });
        assert_eq!(given(&mut p0, value(true, 0)).len(), 1, "p1 chooses again");
        assert_eq!(given(&mut p0, value(false, 5)), [Effect::Output(Output::Entered)], "p0 < p1");
    }

    #[test]
    fn a_read_is_answered_once_the_registers_have_changed() {
        let mut p0 = Bakery::new(2, ProcessId::new(0));
        assert_eq!(given(&mut p0, Message::Read(None)).len(), 1);
        let same = Message::Read(Some(p0.registers));
        assert_eq!(given(&mut p0, same), []);
        let mut out = Effects::new(Time::ZERO);
        p0.on_command(Command::Acquire, &mut out).expect("p0 is outside");
        let all: Vec<_> = out.drain().collect();
        assert_eq!(all.len(), 2, "the value for p1, and its own read");
    }
}
