//! Users: who asks the processes for something, and when.

mod agreement;
mod clock;
mod detector;
mod election;
mod multicast;
mod mutex;

use quorate_core::{ProcessId, Span, Time};

pub use agreement::AgreementUsers;
pub use clock::ClockUsers;
pub use detector::DetectorUsers;
pub use election::ElectionUsers;
pub use multicast::MulticastUsers;
pub use mutex::MutexUsers;

use crate::plan::Memory;

/// What users want done: at a process, so much later.
pub type Agenda<C> = Vec<(ProcessId, Span, C)>;

/// The users of all processes of a world. Nobody asks anything of a process that is down.
///
/// They know what may be asked and heard, not the type of the processes: they are compiled once for a family.
pub trait User {
    /// What they may ask.
    type Command;
    /// What they may hear.
    type Output;

    /// The run begins: what users plan to ask, whatever happens until then.
    fn begin(&mut self, agenda: &mut Agenda<Self::Command>);

    /// The time of a planned command has come; tells whether it is to be given now.
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

    /// A process says something.
    fn on_output(
        &mut self,
        process: ProcessId,
        output: &Self::Output,
        agenda: &mut Agenda<Self::Command>,
    );

    /// Whether everything that the user planned in answer to earlier outputs is void after this one.
    fn voids_plans(&self, output: &Self::Output) -> bool {
        let _ = output;
        false
    }

    /// A process has crashed; what its user wanted in answer to something is gone with it.
    fn crashed(&mut self, process: ProcessId);

    /// A process is back.
    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<Self::Command>);

    /// Whether nobody at a live process wants anything any more.
    fn is_content(&mut self, now: Time) -> bool;
}
