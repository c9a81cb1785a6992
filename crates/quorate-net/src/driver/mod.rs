//! Runs one process over a mesh: timers, messages, commands, and beliefs about peers.
//!
//! [`drive`] is the loop and knows only bytes; [`Actor`] is what it drives. [`Hosted`] makes an actor of any
//! [`quorate_core::Process`] whose messages `serde` knows. Timers that are due come before anything else, so that a
//! process that is asked to hurry is not kept waiting by its mail.

mod actor;
mod hosted;
mod outgoing;
mod timeout_detector;

use std::future::poll_fn;
use std::time::Duration;

use quorate_core::{Belief, ProcessId, Time};
use tokio::time::{Instant, sleep, sleep_until};

pub use actor::{Actor, Outbox};
pub use hosted::{CommandError, CommandRequest, Hosted, ProcessHandle, host};

use crate::event::{Event, Events};
use crate::mesh::Mesh;
use outgoing::Outgoing;
use timeout_detector::TimeoutDetector;

/// How soon to look again whether there is room.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// How to drive.
#[derive(Clone, Debug)]
pub struct DriveOptions {
    /// How long a peer may be away before the process is told that it has crashed; never if none, for processes that
    /// bring a detector of their own.
    pub suspect_after: Option<Duration>,
    /// How many bytes may wait here for each peer whose queue in the mesh is full.
    pub max_pending: usize,
}

impl Default for DriveOptions {
    fn default() -> Self {
        Self { suspect_after: Some(Duration::from_secs(1)), max_pending: 8 << 20 }
    }
}

/// Why driving has come to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveExit {
    /// The actor wanted no more, or nobody can ask anything of it.
    Finished,
    /// The mesh has stopped.
    MeshStopped,
    /// A peer did not take what it was sent, and more than the limit was waiting for it.
    Overrun(ProcessId),
    /// The process sent to somebody who is not a peer, or more than a message may have.
    Unsendable(String),
}

/// Drives an actor until one of them has had enough. What it sent last may still be queued: [`Mesh::stop`] flushes.
pub async fn drive(
    mesh: &Mesh,
    events: &mut Events,
    actor: &mut dyn Actor,
    options: &DriveOptions,
) -> DriveExit {
    let start = Instant::now();
    let now = || Time(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let peers = mesh.status().into_iter().map(|status| status.peer);
    let mut detector = options.suspect_after.map(|after| TimeoutDetector::new(peers, after, start));
    let mut outgoing = Outgoing::new(options.max_pending);
    let mut out = Outbox::default();
    actor.start(now(), &mut out);
    loop {
        while actor.next_due().is_some_and(|due| due <= now()) {
            actor.on_due(now(), &mut out);
        }
        for belief in detector.iter_mut().flat_map(|detector| detector.due(Instant::now())) {
            actor.on_belief(now(), belief, &mut out);
        }
        if let Err(ended) = outgoing.send(mesh, &mut out) {
            return ended;
        }
        if actor.has_finished() {
            return DriveExit::Finished;
        }
        // Another due time may have come while effects were carried out.
        if actor.next_due().is_some_and(|due| due <= now()) {
            continue;
        }
        let due = actor.next_due().map(|due| start + Duration::from_nanos(due.0));
        let deadlines = [due, detector.as_ref().and_then(TimeoutDetector::next)];
        let wake = deadlines.into_iter().flatten().min();
        let (full, waiting) = (actor.is_full(), outgoing.is_waiting());
        tokio::select! {
            biased;
            () = async { sleep_until(wake.unwrap_or(start)).await }, if wake.is_some() => {}
            event = events.next(), if !full => match event {
                None => return DriveExit::MeshStopped,
                Some(Event::Message { from, payload }) => {
                    actor.on_message(now(), from, &payload, &mut out);
                }
                Some(Event::Up { peer, fresh, .. }) => {
                    let beliefs = detector.as_mut().map(|detector| detector.up(peer, fresh));
                    beliefs.into_iter().flatten().for_each(|belief| actor.on_belief(now(), belief, &mut out));
                }
                Some(Event::Down { peer, why }) => {
                    let at = Instant::now();
                    detector.iter_mut().for_each(|detector| detector.down(peer, &why, at));
                }
            },
            more = poll_fn(|context| actor.poll_command(context, now(), &mut out)), if !full && !waiting => {
                if !more {
                    return DriveExit::Finished;
                }
            }
            () = sleep(RETRY_INTERVAL), if full || waiting => {}
        }
    }
}

/// What a driver may tell about a peer.
type BeliefChanges = Vec<Belief>;
