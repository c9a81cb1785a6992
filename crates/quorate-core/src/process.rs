//! The central trait: a process receives inputs and responds with effects, nothing else.

use core::fmt::{Debug, Display};
use core::hash::Hash;

use crate::{Belief, Effects, Message, Permission, ProcessId, ProcessSet};

/// A process of a distributed algorithm, as a pure state machine.
///
/// A driver passes inputs to the `on_*` methods. The process writes its requests to the outside world into `out`. Two
/// equal processes with the same inputs behave in the same way. This is why one value can be simulated, explored
/// exhaustively and run over sockets.
///
/// A message never makes a process fail. Unexpected messages are ignored and reported with [`Effects::ignored`].
pub trait Process: Clone + Eq + Hash + Debug + Send + Sync {
    /// The commands of its user.
    type Command: Clone + Eq + Hash + Debug + Send + Sync;
    /// The messages that it exchanges with other processes.
    type Message: Message;
    /// The identifiers of its timers; [`core::convert::Infallible`] if it has none.
    type Timer: Clone + Eq + Hash + Debug + Send + Sync;
    /// The outputs to its user.
    type Output: Clone + Eq + Hash + Debug + Send + Sync;
    /// The reasons for which a command is refused.
    type Misuse: Debug + Display;

    /// Handles the first start, or a restart after which the process has forgotten everything.
    fn on_start(&mut self, out: &mut Effects<Self>) {
        let _ = out;
    }

    /// Handles a command of the user. After an error the state is unchanged.
    fn on_command(
        &mut self,
        command: Self::Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Self::Misuse>;

    /// Handles a message from another process.
    fn on_message(&mut self, from: ProcessId, message: Self::Message, out: &mut Effects<Self>);

    /// Handles the expiry of a timer that the process has set.
    fn on_timer(&mut self, timer: Self::Timer, out: &mut Effects<Self>) {
        let _ = (timer, out);
    }

    /// Handles a change of the failure detector's belief.
    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        let _ = (belief, out);
    }

    /// Handles the end of a synchronous round that the process awaits (see [`Effects::await_round`]). All messages that
    /// were sent to it in that round have arrived.
    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        let _ = (round, out);
    }

    /// Handles a recovery from a crash. The process remembers everything, but its timers and the messages that arrived
    /// meanwhile are lost. Its detector reports again which processes it suspects.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        let _ = out;
    }

    /// Visits every number of which only differences to other numbers matter, such as a logical clock or a count of all
    /// hops so far; if the algorithm sets timers, its times. A state explorer may lower all of them by the same amount, so
    /// that equivalent states become equal. It does not lower a logical clock from above 0 to 0.
    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        let _ = visit;
    }

    /// Replaces values that no later step can read by fixed ones, such as the time of a request that was answered. A state
    /// explorer calls it after each step if links are FIFO and lose nothing, and processes do not lie and do not recover. So
    /// states that differ only in these values count as one. Whatever happens next, the process has to send the same as before.
    fn forget_dead_values(&mut self) {}

    /// Replaces values of a message in flight from `from` to this process that it cannot read, neither now nor after messages
    /// that arrive earlier. Called like [`Self::forget_dead_values`].
    fn forget_dead_values_of(&self, from: ProcessId, message: &mut Self::Message) {
        let _ = (from, message);
    }

    /// The greatest number among those of [`Self::visit_shift_invariant`] with which this process may compare one that it
    /// receives later, if no user makes a request any more; 0 if there is none. `None` if it is not known. A state explorer
    /// takes all greater numbers for equal.
    fn greatest_compared(&self) -> Option<u64> {
        None
    }

    /// The same process with every process that it names renamed. A state explorer may treat two worlds as one if they
    /// differ only by a permutation of the processes. `None` if the order of process ids matters, for instance as a
    /// tie-breaker between two requests.
    fn renamed(&self, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<Self> {
        let _ = name;
        None
    }

    /// The message that this process sends instead of `message` if it is Byzantine. Only this process can make such a
    /// lie, because it has secrets such as a signing key. `choice` selects one of many lies. If there are two possible
    /// contents, an odd choice selects the other one. See [`Message::forged`].
    #[must_use]
    fn forge(&self, message: &Self::Message, choice: u64) -> Self::Message {
        message.forged(choice)
    }

    /// The processes for which it waits now, to enter or to get its vote back. It only explains hangs; no
    /// driver acts on it.
    fn waits_for(&self) -> ProcessSet {
        ProcessSet::new()
    }

    /// The location of its vote or its token. It is only shown; no driver acts on it.
    fn permission(&self) -> Permission {
        Permission::Free
    }
}
