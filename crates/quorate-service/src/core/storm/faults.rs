//! Faults: restarts, cuts, pauses and crashes.

use super::nodes::MemoryLoss;
use super::rng::{MS, SECOND};
use super::world::{Event, World};

/// Minimum time between two restarts in gentle weather. By then candidates have the votes of the restarted node again.
const BETWEEN: u64 = 8 * SECOND;

impl World {
    pub(super) fn plan_faults(&mut self) {
        if self.setup.gentle {
            let mut time = 2 * SECOND + self.rng.below(3 * SECOND);
            while time < self.calm_from {
                self.plan(time, Event::Fault);
                time += BETWEEN + self.rng.below(SECOND);
            }
            return;
        }
        let faults = 5 + self.rng.below(35);
        for _ in 0..faults {
            let time = self.rng.below(self.calm_from);
            self.plan(time, Event::Fault);
        }
    }

    pub(super) fn inject_fault(&mut self) {
        let (nodes, clients) = (self.nodes.len(), self.clients.len());
        let (node, client) = (self.rng.index(nodes), self.rng.index(clients));
        let length = match self.rng.below(3) {
            0 => self.rng.below(8 * SECOND),
            _ => self.rng.below(SECOND),
        };
        let until = (self.now + length).min(self.calm_from);
        if self.setup.trusting && self.rng.one_in(2) {
            // About as long as a lease lives without its client.
            let until = self.now + SECOND + self.rng.below(4 * SECOND);
            return self.pause_client(client, until.min(self.calm_from));
        }
        let kind = if self.setup.gentle { 5 + self.rng.below(4) } else { self.rng.below(13) };
        self.log(|| format!("mishap {kind}: node {node}, client {client}, until {until}"));
        match kind {
            0 => self.cut(client, node, until),
            1 => (0..nodes).for_each(|other| self.break_link(node, other, until)),
            2 => {
                (0..nodes).for_each(|other| self.break_link(node, other, until));
                (0..clients).for_each(|other| self.cut(other, node, until));
            }
            3 => (0..nodes).for_each(|node| self.cut(client, node, until)),
            4 => {
                let other = self.rng.index(nodes);
                self.break_link(node, other, until);
            }
            5..=8 => self.restart(node, until),
            9 => self.crash_client(client),
            10 => self.pause_client(client, until),
            11 => self.pause_node(node, until),
            _ => {
                let other = self.rng.index(nodes);
                self.break_link(node, other, 0);
            }
        }
    }

    fn cut(&mut self, client: usize, node: usize, until: u64) {
        self.cuts.insert((client, node), until);
    }

    fn restart(&mut self, at: usize, until: u64) {
        let (process, now) = (self.nodes[at].process, self.now);
        if self.nodes[at].core.is_none() {
            return;
        }
        // In gentle weather no voter forgets: holders would lose the votes of that voter while waiters may have
        // those of other voters.
        self.nodes[at].memory_loss = match self.rng.below(8) {
            _ if self.setup.gentle => None,
            0 => Some(MemoryLoss::Votes),
            1 => Some(MemoryLoss::Everything),
            _ => None,
        };
        let gentle = self.setup.gentle;
        let quick = 20 * MS + self.rng.below(SECOND);
        let after = if gentle || self.rng.one_in(2) { quick } else { until - now };
        if self.rng.one_in(2) {
            self.with_core(at, |core, now| core.leave(now));
            let until = now + 500 * MS + self.rng.below(SECOND);
            self.plan(now + 20 * MS, Event::Depart { at, process, until });
        } else {
            self.stop_node(at, after);
        }
    }

    fn pause_client(&mut self, at: usize, until: u64) {
        if self.clients[at].backlog.is_none() && self.clients[at].running {
            self.clients[at].backlog = Some(Vec::new());
            self.plan(until, Event::ResumeClient { at });
        }
    }

    fn pause_node(&mut self, at: usize, until: u64) {
        if self.nodes[at].backlog.is_none() && self.nodes[at].core.is_some() {
            self.nodes[at].backlog = Some(Vec::new());
            self.plan(until, Event::ResumeNode { at });
        }
    }

    pub(super) fn resume_node(&mut self, at: usize) {
        let backlog = self.nodes[at].backlog.take().unwrap_or_default();
        self.with_core(at, |_, _| {});
        backlog.into_iter().for_each(|event| self.handle(event));
    }

    pub(super) fn resume_client(&mut self, at: usize) {
        let backlog = self.clients[at].backlog.take().unwrap_or_default();
        backlog.into_iter().for_each(|event| self.handle(event));
    }
}
