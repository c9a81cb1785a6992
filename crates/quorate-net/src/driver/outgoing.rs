//! Messages that a process has sent and the mesh has no capacity for yet, in order for each peer.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use quorate_core::ProcessId;

use super::{DriveExit, Outbox};
use crate::limits::MESSAGE_OVERHEAD;
use crate::mesh::{Mesh, SendError};

pub(super) struct Outgoing {
    waiting: BTreeMap<ProcessId, PendingQueue>,
    max_pending: usize,
}

#[derive(Default)]
struct PendingQueue {
    messages: VecDeque<Bytes>,
    cost: usize,
}

impl Outgoing {
    pub(super) const fn new(max_pending: usize) -> Self {
        Self { waiting: BTreeMap::new(), max_pending }
    }

    /// Whether any message waits for capacity.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Passes messages to the mesh as far as it has capacity, the oldest first.
    pub(super) fn send(&mut self, mesh: &Mesh, out: &mut Outbox) -> Result<(), DriveExit> {
        for (to, payload) in out.sends.drain(..) {
            if let Some(waiting) = self.waiting.get_mut(&to) {
                waiting.push(payload);
            } else if !offer(mesh, to, &payload)? {
                self.waiting.entry(to).or_default().push(payload);
            }
        }
        let mut overrun = None;
        for (&to, waiting) in &mut self.waiting {
            while let Some(payload) = waiting.messages.front() {
                if !offer(mesh, to, payload)? {
                    break;
                }
                waiting.cost -= payload.len() + MESSAGE_OVERHEAD;
                waiting.messages.pop_front();
            }
            if waiting.cost > self.max_pending {
                overrun = Some(to);
            }
        }
        self.waiting.retain(|_, waiting| !waiting.messages.is_empty());
        overrun.map_or(Ok(()), |peer| Err(DriveExit::Overrun(peer)))
    }
}

impl PendingQueue {
    fn push(&mut self, payload: Bytes) {
        self.cost += payload.len() + MESSAGE_OVERHEAD;
        self.messages.push_back(payload);
    }
}

/// Offers a message to the mesh; returns whether the mesh accepted it.
fn offer(mesh: &Mesh, to: ProcessId, payload: &Bytes) -> Result<bool, DriveExit> {
    match mesh.try_send(to, payload.clone()) {
        Ok(()) => Ok(true),
        Err(SendError::Full(_)) => Ok(false),
        Err(SendError::Stopped) => Err(DriveExit::MeshStopped),
        Err(error) => Err(DriveExit::Unsendable(error.to_string())),
    }
}
