//! The one trait: a process is told things and answers with effects, nothing else.

use core::fmt::{Debug, Display};
use core::hash::Hash;

use crate::{Belief, Effects, Message, ProcessId, ProcessSet};

/// A process of a distributed algorithm, as a pure state machine.
///
/// A driver tells it what happens through the `on_*` methods; whatever it wants from the world it
/// puts into `out`. Two equal processes told the same things do the same things, which is what lets
/// one value be simulated, explored exhaustively and run over sockets.
///
/// A message never makes a process fail: the unexpected is ignored, and said so with
/// [`Effects::ignored`].
pub trait Process: Clone + Eq + Hash + Debug + Send + Sync {
    /// What its user may ask.
    type Command: Clone + Eq + Hash + Debug + Send + Sync;
    /// What it says to other processes.
    type Message: Message;
    /// The names of its timers; [`core::convert::Infallible`] if it has none.
    type Timer: Clone + Eq + Hash + Debug + Send + Sync;
    /// What it tells its user.
    type Output: Clone + Eq + Hash + Debug + Send + Sync;
    /// Why a command may be refused.
    type Misuse: Debug + Display;

    /// It starts, or starts again having forgotten everything.
    fn on_start(&mut self, out: &mut Effects<Self>) {
        let _ = out;
    }

    /// Its user asks something. An error means that nothing has changed.
    fn on_command(
        &mut self,
        command: Self::Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Self::Misuse>;

    /// A message has arrived.
    fn on_message(&mut self, from: ProcessId, message: Self::Message, out: &mut Effects<Self>);

    /// A timer that it had set has run out.
    fn on_timer(&mut self, timer: Self::Timer, out: &mut Effects<Self>) {
        let _ = (timer, out);
    }

    /// The failure detector has changed its mind.
    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        let _ = (belief, out);
    }

    /// A synchronous round is over, and it had asked to be told (see [`Effects::await_round`]): all
    /// that was sent to it in that round has arrived.
    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        let _ = (round, out);
    }

    /// It is back after a crash and remembers everything, but its timers are gone and so are the
    /// messages that arrived meanwhile. Its detector tells it again whom it believes to have crashed.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        let _ = out;
    }

    /// Shows every number of which only the differences to others matter, such as a count of all hops so far: whoever
    /// explores states may lower all of them together, so that states come again.
    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        let _ = visit;
    }
    /// The same with every process that it names called by another name: whoever explores states may take two worlds for
    /// one that differ only in who is who. None where names mean something, such as which of two requests goes first.
    fn renamed(&self, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<Self> {
        let _ = name;
        None
    }

    /// What it says in place of a message if it is a traitor: a lie that only it can tell, since it has what nobody else
    /// has, such as a key to sign with. `choice` picks one of many lies; where there are two things to say, an odd one
    /// is the other. See [`Message::forged`].
    #[must_use]
    fn forge(&self, message: &Self::Message, choice: u64) -> Self::Message {
        message.forged(choice)
    }

    /// For whom it is waiting just now, to enter or to have its vote back. Only explains hangs; no driver acts on it.
    fn waits_for(&self) -> ProcessSet {
        ProcessSet::new()
    }
}
