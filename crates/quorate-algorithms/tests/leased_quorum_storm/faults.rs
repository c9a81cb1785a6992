//! Faults that the storm injects.

use crate::rng::TTL;
use crate::world::{Endpoint, Event, Message, Storm};

impl Storm {
    pub(crate) fn inject_fault(&mut self) {
        let (nodes, clients) = (self.nodes.len(), self.clients.len());
        let (node, client) = (self.rng.index(nodes), self.rng.index(clients));
        let length = self.rng.below(3 * TTL);
        let until = (self.now + length).min(self.calm_from);
        if self.is_followed() {
            match self.rng.below(4) {
                0 => return self.withdraw(),
                1 => return self.force(),
                _ => {}
            }
        }
        match self.rng.below(12) {
            0 => {
                let (from, to) = (Endpoint::Client(client), Endpoint::Node(node));
                let (from, to) = if self.rng.one_in(2) { (from, to) } else { (to, from) };
                self.cut(from, to, until);
            }
            1 => {
                for other in 0..nodes {
                    self.cut(Endpoint::Node(node), Endpoint::Node(other), until);
                    self.cut(Endpoint::Node(other), Endpoint::Node(node), until);
                }
                for other in 0..clients {
                    self.cut(Endpoint::Node(node), Endpoint::Client(other), until);
                    self.cut(Endpoint::Client(other), Endpoint::Node(node), until);
                }
            }
            2 => {
                for other in 0..nodes {
                    self.cut(Endpoint::Client(client), Endpoint::Node(other), until);
                }
            }
            3 => self.pause(Endpoint::Node(node), until),
            4 => self.pause(Endpoint::Client(client), until),
            5..=8 => {
                (0..clients).for_each(|at| self.remember_held(at));
                // Most restarts are quick.
                let after = if self.rng.one_in(3) { until - self.now } else { length / 40 };
                if self.nodes[node].voter.is_some() {
                    self.stop_node(node, after);
                }
            }
            9 => self.crash_client(client),
            10 => self.force(),
            _ => self.avoid_and_resume(client, quorate_core::ProcessId::from_index(node)),
        }
    }

    fn pause(&mut self, endpoint: Endpoint, until: u64) {
        match endpoint {
            Endpoint::Node(at) if self.nodes[at].voter.is_some() => self.nodes[at].paused = true,
            Endpoint::Client(at) if self.clients[at].kind.is_some() => {
                self.clients[at].paused = true
            }
            _ => return,
        }
        self.schedule(until, Event::Resume(endpoint));
    }

    pub(crate) fn resume(&mut self, endpoint: Endpoint) {
        let backlog = match endpoint {
            Endpoint::Node(at) => {
                self.nodes[at].paused = false;
                std::mem::take(&mut self.nodes[at].backlog)
            }
            Endpoint::Client(at) => {
                self.clients[at].paused = false;
                std::mem::take(&mut self.clients[at].backlog)
            }
        };
        // Timers that are due come before messages that have arrived, because drivers check the clock first.
        let is_wake =
            |event: &Event| matches!(event, Event::WakeNode { .. } | Event::WakeClient { .. });
        let (due, arrived): (Vec<Event>, Vec<Event>) = backlog.into_iter().partition(is_wake);
        due.into_iter().chain(arrived).for_each(|event| self.dispatch(event));
    }

    /// Simulates an operator that ends the request of a holder or waiter by force, at every voter.
    fn force(&mut self) {
        let locks = if self.is_followed() { 1 } else { 2 };
        let lock = self.rng.below(locks) as u8;
        let wanted = self.clients.iter().filter_map(|machine| machine.client());
        let wanted = wanted.flat_map(|client| client.all_wanted());
        let requests: Vec<_> = wanted.filter(|it| it.lock == lock).map(|it| it.request).collect();
        if requests.is_empty() {
            return;
        }
        self.counts.forced += 1;
        let request = requests[self.rng.index(requests.len())];
        let operator = self.rng.index(self.nodes.len());
        for node in 0..self.nodes.len() {
            let message = Message::Force(lock, request);
            self.send(Endpoint::Node(operator), Endpoint::Node(node), message);
        }
    }
}
