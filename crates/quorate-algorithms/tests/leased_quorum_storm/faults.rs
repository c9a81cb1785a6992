//! Faults.

use crate::chance::TTL;
use crate::world::{Event, Message, Place, Storm};

impl Storm {
    pub(crate) fn mishap(&mut self) {
        let (nodes, clients) = (self.nodes.len(), self.clients.len());
        let (node, client) = (self.chance.index(nodes), self.chance.index(clients));
        let length = self.chance.below(3 * TTL);
        let until = (self.now + length).min(self.calm_from);
        match self.chance.below(12) {
            0 => {
                let (from, to) = (Place::Client(client), Place::Node(node));
                let (from, to) = if self.chance.one_in(2) { (from, to) } else { (to, from) };
                self.cut(from, to, until);
            }
            1 => {
                for other in 0..nodes {
                    self.cut(Place::Node(node), Place::Node(other), until);
                    self.cut(Place::Node(other), Place::Node(node), until);
                }
                for other in 0..clients {
                    self.cut(Place::Node(node), Place::Client(other), until);
                    self.cut(Place::Client(other), Place::Node(node), until);
                }
            }
            2 => {
                for other in 0..nodes {
                    self.cut(Place::Client(client), Place::Node(other), until);
                }
            }
            3 => self.pause(Place::Node(node), until),
            4 => self.pause(Place::Client(client), until),
            5..=8 => {
                (0..clients).for_each(|at| self.remember_held(at));
                // Most restarts are quick.
                let after = if self.chance.one_in(3) { until - self.now } else { length / 40 };
                if self.nodes[node].voter.is_some() {
                    self.stop_node(node, after);
                }
            }
            9 => self.crash_client(client),
            10 => self.force(),
            _ => self.avoid_and_resume(client, quorate_core::ProcessId::from_index(node)),
        }
    }

    fn pause(&mut self, place: Place, until: u64) {
        match place {
            Place::Node(at) if self.nodes[at].voter.is_some() => self.nodes[at].paused = true,
            Place::Client(at) if self.clients[at].kind.is_some() => self.clients[at].paused = true,
            _ => return,
        }
        self.plan(until, Event::Resume(place));
    }

    pub(crate) fn resume(&mut self, place: Place) {
        let backlog = match place {
            Place::Node(at) => {
                self.nodes[at].paused = false;
                std::mem::take(&mut self.nodes[at].backlog)
            }
            Place::Client(at) => {
                self.clients[at].paused = false;
                std::mem::take(&mut self.clients[at].backlog)
            }
        };
        // What is due comes before what has arrived: drivers look at the clock first.
        let is_wake =
            |event: &Event| matches!(event, Event::WakeNode { .. } | Event::WakeClient { .. });
        let (due, arrived): (Vec<Event>, Vec<Event>) = backlog.into_iter().partition(is_wake);
        due.into_iter().chain(arrived).for_each(|event| self.happen(event));
    }

    /// An operator ends the request of some holder or waiter by force, at every voter.
    fn force(&mut self) {
        let lock = self.chance.below(2) as u8;
        let wanted = self.clients.iter().filter_map(|machine| machine.client());
        let wanted = wanted.flat_map(|client| client.all_wanted());
        let requests: Vec<_> = wanted.filter(|it| it.lock == lock).map(|it| it.request).collect();
        if requests.is_empty() {
            return;
        }
        self.counts.forced += 1;
        let request = requests[self.chance.index(requests.len())];
        let operator = self.chance.index(self.nodes.len());
        for node in 0..self.nodes.len() {
            let message = Message::Force(lock, request);
            self.send(Place::Node(operator), Place::Node(node), message);
        }
    }
}
