//! Processes in a ring that forward tokens. The processes do hardly any work, so that the driver is measured.

use std::convert::Infallible;

use quorate_core::{Effects, Kind, Message, Process, ProcessId, Time};
use quorate_sim::plan::Memory;
use quorate_sim::{Agenda, User};

pub(super) const PROCESSES: usize = 32;
pub(super) const TOKENS: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ring {
    next: ProcessId,
    hops: u64,
}

impl Ring {
    pub(super) fn new(id: ProcessId, hops: u64) -> Self {
        Self { next: ProcessId::from_index((id.index() + 1) % PROCESSES), hops }
    }
}

/// Token with its remaining hops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Token(u64);

impl Process for Ring {
    type Command = Infallible;
    type Message = Token;
    type Timer = Infallible;
    type Output = Infallible;
    type Misuse = Infallible;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        for _ in 0..TOKENS / PROCESSES {
            out.send(self.next, Token(self.hops));
        }
    }

    fn on_command(&mut self, command: Infallible, _: &mut Effects<Self>) -> Result<(), Infallible> {
        match command {}
    }

    fn on_message(&mut self, _: ProcessId, Token(hops): Token, out: &mut Effects<Self>) {
        if hops > 1 {
            out.send(self.next, Token(hops - 1));
        }
    }
}

impl Message for Token {
    const KINDS: &'static [Kind] = &[Kind::multicast("TOKEN")];

    fn kind(&self) -> usize {
        0
    }
}

/// User that gives no commands.
pub(super) struct NoUser;

impl User for NoUser {
    type Command = Infallible;
    type Output = Infallible;

    fn begin(&mut self, _: &mut Agenda<Infallible>) {}

    fn accepted(&mut self, _: ProcessId, _: &Infallible, _: &mut Agenda<Infallible>) {}

    fn on_output(&mut self, _: ProcessId, _: &Infallible, _: &mut Agenda<Infallible>) {}

    fn crashed(&mut self, _: ProcessId) {}

    fn recovered(&mut self, _: ProcessId, _: Memory, _: &mut Agenda<Infallible>) {}

    fn is_content(&mut self, _: Time) -> bool {
        true
    }
}
