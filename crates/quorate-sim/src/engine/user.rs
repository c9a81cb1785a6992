//! Users: they give commands to the processes at certain times.

use quorate_core::{ProcessId, Span, Time};

use crate::scenario::plan::Memory;

/// Commands that users want to give: the process, the delay from now, and the command.
pub type Agenda<C> = Vec<(ProcessId, Span, C)>;

/// The users of all processes of a world. Commands are never given to a process that is down.
///
/// Users know the types of commands and outputs, but not the type of the processes. So they are compiled once for a family.
pub trait User {
    /// Commands that users give to a process.
    type Command;
    /// Outputs that a process gives to its user.
    type Output;

    /// The run begins. Adds the planned commands, which do not depend on events of the run.
    fn begin(&mut self, agenda: &mut Agenda<Self::Command>);

    /// A planned command is due. Returns whether it is to be given now.
    fn on_due(&mut self, process: ProcessId, command: &Self::Command, up: bool) -> bool {
        let _ = (process, command);
        up
    }

    /// A process has accepted a command.
    fn accepted(
        &mut self,
        process: ProcessId,
        command: &Self::Command,
        agenda: &mut Agenda<Self::Command>,
    );

    /// A process has produced an output.
    fn on_output(
        &mut self,
        process: ProcessId,
        output: &Self::Output,
        agenda: &mut Agenda<Self::Command>,
    );

    /// Whether this output voids all commands that the user planned in response to earlier outputs.
    fn voids_plans(&self, output: &Self::Output) -> bool {
        let _ = output;
        false
    }

    /// A process has crashed. Commands that its user planned in response to outputs are void.
    fn crashed(&mut self, process: ProcessId);

    /// A process has recovered.
    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<Self::Command>);

    /// Whether no user of a live process wants anything any more.
    fn is_content(&mut self, now: Time) -> bool;
}
