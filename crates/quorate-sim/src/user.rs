//! Users: who asks the processes for something, and when.

use quorate_core::mutex::{Command, Mutex, Output};
use quorate_core::{Process, ProcessId, Span};

use crate::plan::Memory;

/// What users want done: at a process, so much later, because of an event or of themselves.
pub type Agenda<C> = Vec<(ProcessId, Span, C)>;

/// The users of all processes of a world. Nobody asks anything of a process that is down.
pub trait User<P: Process> {
    /// The run begins.
    fn begin(&mut self, agenda: &mut Agenda<P::Command>);

    /// A process has accepted a command.
    fn accepted(
        &mut self,
        process: ProcessId,
        command: &P::Command,
        agenda: &mut Agenda<P::Command>,
    );

    /// A process says something.
    fn hear(&mut self, process: ProcessId, output: &P::Output, agenda: &mut Agenda<P::Command>);

    /// A process has crashed; its pending commands are gone with it.
    fn crashed(&mut self, process: ProcessId);

    /// A process is back.
    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<P::Command>);

    /// Whether nobody at a live process wants anything any more.
    fn is_content(&self) -> bool;
}

/// Users of a mutex: each asks, stays inside for a while, leaves, thinks, and asks again.
#[derive(Clone, Debug)]
pub struct MutexUsers {
    /// The first requests.
    first: Vec<(ProcessId, Span)>,
    /// How often each process still has to enter.
    rounds_left: Vec<u32>,
    state: Vec<State>,
    section: Span,
    think: Span,
    /// How many live processes still want something.
    wanting: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Away,
    Asking,
    Inside,
    Down,
}

impl MutexUsers {
    /// Users of n processes: the first requests, how often each is repeated, how long a user stays
    /// inside and how long it thinks before it asks again.
    pub fn new(
        n: usize,
        first: Vec<(ProcessId, Span)>,
        repeat: u32,
        section: Span,
        think: Span,
    ) -> Self {
        let mut rounds_left = vec![0; n];
        for (process, _) in &first {
            rounds_left[process.index()] += repeat;
        }
        let wanting = rounds_left.iter().filter(|&&rounds| rounds > 0).count();
        Self { first, rounds_left, state: vec![State::Away; n], section, think, wanting }
    }

    fn ask_again(&mut self, process: ProcessId, agenda: &mut Agenda<Command>) {
        if self.rounds_left[process.index()] > 0 {
            agenda.push((process, self.think, Command::Acquire));
        } else {
            self.wanting -= 1;
        }
    }
}

impl<P: Mutex> User<P> for MutexUsers {
    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        // Only the earliest request of each process is on the agenda; the others follow it.
        let mut seen = quorate_core::ProcessSet::new();
        let mut first = self.first.clone();
        first.sort_by_key(|(_, after)| *after);
        for (process, after) in first {
            if seen.insert(process) {
                agenda.push((process, after, Command::Acquire));
            }
        }
    }

    fn accepted(&mut self, process: ProcessId, command: &Command, agenda: &mut Agenda<Command>) {
        match command {
            Command::Acquire => {
                // A process that enters or gives up at once has said so before its command is accepted.
                let answered = self.state[process.index()] == State::Inside
                    || self.rounds_left[process.index()] == 0;
                if !answered {
                    self.state[process.index()] = State::Asking;
                }
            }
            Command::Release => {
                self.state[process.index()] = State::Away;
                self.rounds_left[process.index()] -= 1;
                self.ask_again(process, agenda);
            }
        }
    }

    fn hear(&mut self, process: ProcessId, output: &Output, agenda: &mut Agenda<Command>) {
        match output {
            Output::Entered => {
                self.state[process.index()] = State::Inside;
                agenda.push((process, self.section, Command::Release));
            }
            Output::NoQuorum => {
                self.state[process.index()] = State::Away;
                self.rounds_left[process.index()] = 0;
                self.wanting -= 1;
            }
        }
    }

    fn crashed(&mut self, process: ProcessId) {
        if self.rounds_left[process.index()] > 0 {
            self.wanting -= 1;
        }
        self.state[process.index()] =
            if self.state[process.index()] == State::Inside { State::Inside } else { State::Down };
    }

    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<Command>) {
        if self.rounds_left[process.index()] == 0 {
            return;
        }
        self.wanting += 1;
        let was_inside = self.state[process.index()] == State::Inside;
        match memory {
            Memory::Kept if was_inside => agenda.push((process, self.section, Command::Release)),
            // It may have asked before it crashed; the process then refuses and goes on waiting.
            Memory::Kept | Memory::Lost => agenda.push((process, Span::ZERO, Command::Acquire)),
        }
    }

    fn is_content(&self) -> bool {
        self.wanting == 0
    }
}
