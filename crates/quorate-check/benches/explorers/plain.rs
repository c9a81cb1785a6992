//! Our own processes as a stateright model, as an ordinary user of stateright would write it. A state holds the processes,
//! their users and the messages in flight, and stateright hashes it.

use std::collections::{BTreeMap, VecDeque};

use quorate_check::{MutexUserState, MutexUsers, Users};
use quorate_core::mutex::Mutex;
use quorate_core::{Effect, Effects, ProcessId, Recipients, Time};
use stateright::Property;

/// A mutex among processes that do not crash, over FIFO links.
pub(crate) struct Plain<P> {
    pub(crate) processes: Vec<P>,
    pub(crate) users: MutexUsers,
}

type Link = (ProcessId, ProcessId);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State<P: Mutex> {
    processes: Vec<P>,
    user_states: Vec<MutexUserState>,
    links: BTreeMap<Link, VecDeque<P::Message>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Ask(ProcessId),
    Deliver(Link),
}

impl<P: Mutex> Plain<P> {
    /// Applies the effects of a process.
    fn settle(&self, state: &mut State<P>, id: ProcessId, out: &mut Effects<P>) {
        let n = self.processes.len();
        let mut to_self = VecDeque::new();
        loop {
            for effect in out.drain() {
                let mut post = |to: ProcessId, message| match to == id {
                    true => to_self.push_back(message),
                    false => state.links.entry((id, to)).or_default().push_back(message),
                };
                match effect {
                    Effect::Send { to, message } => post(to, message),
                    Effect::Multicast { to: Recipients::Others, message } => ProcessId::all(n)
                        .filter(|to| *to != id)
                        .for_each(|to| post(to, message.clone())),
                    Effect::Multicast { to: Recipients::Set(to), message } => {
                        to.iter().for_each(|to| post(to, message.clone()));
                    }
                    Effect::Output(output) => {
                        self.users.on_output(&mut state.user_states[id.index()], &output);
                    }
                    _ => {}
                }
            }
            let Some(message) = to_self.pop_front() else { break };
            state.processes[id.index()].on_message(id, message, out);
        }
    }
}

impl<P: Mutex + 'static> stateright::Model for Plain<P> {
    type State = State<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<State<P>> {
        let user_states = ProcessId::all(self.processes.len());
        let user_states = user_states.map(|id| self.users.initial_user(id)).collect();
        vec![State { processes: self.processes.clone(), user_states, links: BTreeMap::new() }]
    }

    fn actions(&self, state: &State<P>, actions: &mut Vec<Action>) {
        for (id, user) in ProcessId::all(self.processes.len()).zip(&state.user_states) {
            if self.users.next_command(user).is_some() {
                actions.push(Action::Ask(id));
            }
        }
        actions.extend(state.links.keys().map(|link| Action::Deliver(*link)));
    }

    fn next_state(&self, state: &State<P>, action: Action) -> Option<State<P>> {
        let mut next = state.clone();
        let mut out = Effects::new(Time::ZERO);
        let id = match action {
            Action::Ask(id) => {
                let user = &mut next.user_states[id.index()];
                let (command, _) = self.users.next_command(user)?;
                self.users.on_command(user, &command);
                next.processes[id.index()].on_command(command, &mut out).ok()?;
                id
            }
            Action::Deliver(link) => {
                let queue = next.links.get_mut(&link)?;
                let message = queue.pop_front()?;
                if queue.is_empty() {
                    next.links.remove(&link);
                }
                next.processes[link.1.index()].on_message(link.0, message, &mut out);
                link.1
            }
        };
        self.settle(&mut next, id, &mut out);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let safe =
            |model: &Self, state: &State<P>| model.users.broken(state.user_states.iter()).is_none();
        vec![Property::always("one inside at most", safe)]
    }
}
