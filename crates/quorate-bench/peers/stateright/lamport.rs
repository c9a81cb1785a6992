//! Lamport's mutex as in the TLA+ examples (`LamportMutex.tla`), with bounded clocks.
//!
//! This is a transcript of that specification. It serves to compare explorers on a model whose states others have counted:
//! with three processes and clocks up to 6, TLC finds 724,274 distinct states. The algorithm that quorate runs is in
//! `quorate-algorithms`.

use std::hash::Hasher;

use quorate_check::{Fingerprint, FingerprintHasher, Model, Successor};
use quorate_core::Property;

const N: usize = 3;

/// The model, with the largest clock value that is explored.
pub(crate) struct LamportMutex {
    pub(crate) clock_most: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    clock: [u8; N],
    /// Clock of each request that a process knows of, by process and requester; 0 if there is none.
    req: [[u8; N]; N],
    /// Processes that have acknowledged a process's request, as bits.
    ack: [u8; N],
    network: [[Link; N]; N],
    /// Processes inside the critical section, as bits.
    inside: u8,
}

/// Messages of a FIFO link, one byte each. A request is its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Link(u64);

const ACK: u8 = 100;
const RELEASE: u8 = 101;

impl Link {
    fn push(&mut self, message: u8) {
        let length = self.0.checked_ilog2().map_or(0, |bits| bits / 8 + 1);
        assert!(length < 8, "no link holds more");
        self.0 |= u64::from(message) << (8 * length);
    }

    fn pop(&mut self) -> u8 {
        let first = self.0 as u8;
        self.0 >>= 8;
        first
    }
}

/// Action and the processes it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Request(u8),
    Enter(u8),
    Exit(u8),
    Receive { from: u8, to: u8 },
}

impl State {
    fn first() -> Self {
        let nothing = [[Link::default(); N]; N];
        Self { clock: [1; N], req: [[0; N]; N], ack: [0; N], network: nothing, inside: 0 }
    }

    fn beats(&self, p: usize, q: usize) -> bool {
        let (own, other) = (self.req[p][p], self.req[p][q]);
        other == 0 || (own, p) < (other, q)
    }

    fn broadcast(&mut self, from: usize, message: u8) {
        (0..N).filter(|to| *to != from).for_each(|to| self.network[from][to].push(message));
    }

    fn receive(&mut self, from: usize, to: usize) {
        match self.network[from][to].pop() {
            ACK => self.ack[to] |= 1 << from,
            RELEASE => self.req[to][from] = 0,
            clock => {
                self.req[to][from] = clock;
                self.clock[to] = clock.max(self.clock[to]) + 1;
                self.network[to][from].push(ACK);
            }
        }
    }
}

impl LamportMutex {
    /// Adds the successor of an action unless it exceeds the clock bound.
    fn push(
        &self,
        state: &State,
        action: Action,
        change: impl FnOnce(&mut State),
        successors: &mut Vec<Successor<State, Action>>,
    ) {
        let mut next = *state;
        change(&mut next);
        if next.clock.iter().all(|clock| *clock <= self.clock_most) {
            successors.push(Successor { action, class: None, state: next });
        }
    }
}

impl Model for LamportMutex {
    type State = State;
    type Action = Action;

    fn initial_states(&self) -> Vec<State> {
        vec![State::first()]
    }

    fn fingerprint(&self, state: &State) -> Fingerprint {
        let mut hasher = FingerprintHasher::default();
        let [a, b, c] = state.req;
        let rows = [a, b, c, state.clock, state.ack, [state.inside, 0, 0]];
        for pair in rows.chunks(2) {
            let [a, b, c] = pair[0];
            let [d, e, f] = pair[1];
            hasher.write_u64(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]));
        }
        state.network.as_flattened().iter().for_each(|link| hasher.write_u64(link.0));
        hasher.fingerprint()
    }

    fn successors(&self, state: &State, successors: &mut Vec<Successor<State, Action>>) {
        for p in 0..N {
            if state.req[p][p] == 0 {
                let ask = |next: &mut State| {
                    next.req[p][p] = next.clock[p];
                    next.broadcast(p, next.clock[p]);
                    next.ack[p] = 1 << p;
                };
                self.push(state, Action::Request(p as u8), ask, successors);
            }
            let mut others = (0..N).filter(|q| *q != p);
            if state.ack[p] == (1 << N) - 1 && others.all(|q| state.beats(p, q)) {
                let enter = |next: &mut State| next.inside |= 1 << p;
                self.push(state, Action::Enter(p as u8), enter, successors);
            }
            if state.inside & (1 << p) != 0 {
                let exit = |next: &mut State| {
                    next.inside &= !(1 << p);
                    next.broadcast(p, RELEASE);
                    next.req[p][p] = 0;
                    next.ack[p] = 0;
                };
                self.push(state, Action::Exit(p as u8), exit, successors);
            }
            for q in (0..N).filter(|q| state.network[*q][p].0 != 0) {
                let receive = |next: &mut State| next.receive(q, p);
                let action = Action::Receive { from: q as u8, to: p as u8 };
                self.push(state, action, receive, successors);
            }
        }
    }

    fn broken(&self, state: &State) -> Option<Property> {
        (state.inside.count_ones() > 1).then_some(Property::ME1)
    }

    fn broken_when_quiescent(&self, _: &State) -> Option<Property> {
        None
    }

    fn waiting(&self, _: &State) -> u8 {
        0
    }

    fn starvation_property(&self) -> Option<Property> {
        None
    }

    fn goals_reached(&self, state: &State) -> u64 {
        u64::from(state.inside != 0)
    }

    fn goals(&self) -> u64 {
        1
    }

    fn is_reduced(&self) -> bool {
        false
    }

    fn bytes(&self, _: &State) -> usize {
        size_of::<State>()
    }
}
