//! Runs one process over a mesh: timers, messages, commands, and beliefs about peers.
//!
//! [`drive`] is the event loop and handles bytes only; [`Actor`] is the interface that it drives. [`Hosted`] makes an actor
//! of any [`quorate_core::Process`] whose messages implement the `serde` traits. Due timers are handled before anything
//! else, so that a process under load still meets its deadlines.

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

/// Interval at which the driver checks again whether a full queue has capacity.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Options of a driver.
#[derive(Clone, Debug)]
pub struct DriveOptions {
    /// Time for which a peer may be disconnected before the process is informed that it has crashed. `None` disables this,
    /// for processes with their own failure detector.
    pub suspect_after: Option<Duration>,
    /// Maximum number of bytes that wait here for each peer whose queue in the mesh is full.
    pub max_pending: usize,
}

impl Default for DriveOptions {
    fn default() -> Self {
        Self { suspect_after: Some(Duration::from_secs(1)), max_pending: 8 << 20 }
    }
}

/// Reason why a driver has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveExit {
    /// The actor has finished, or no further commands can arrive.
    Finished,
    /// The mesh has stopped.
    MeshStopped,
    /// The peer did not accept messages fast enough, and more than the limit was waiting for it.
    Overrun(ProcessId),
    /// The process sent to a recipient that is not a peer, or exceeded the message size.
    Unsendable(String),
}

/// Drives an actor until it or the mesh ends. Its last messages may still be queued: [`Mesh::stop`] flushes them.
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
        // More may have become due while effects were applied.
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

/// Changes of the driver's beliefs about peers, for the process.
type BeliefChanges = Vec<Belief>;

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use super::*;
    use crate::{ClusterId, Config, Network as _, Security, Tcp};

    /// Expires once, and accepts commands or not.
    struct Clockwork {
        due: Option<Time>,
        expired: Option<Time>,
        accepts_commands: bool,
    }

    impl Actor for Clockwork {
        fn start(&mut self, _: Time, _: &mut Outbox) {}

        fn on_message(&mut self, _: Time, _: ProcessId, _: &[u8], _: &mut Outbox) {}

        fn next_due(&self) -> Option<Time> {
            self.due
        }

        fn on_due(&mut self, now: Time, _: &mut Outbox) {
            (self.due, self.expired) = (None, Some(now));
        }

        fn on_belief(&mut self, _: Time, _: Belief, _: &mut Outbox) {}

        fn poll_command(&mut self, _: &mut Context<'_>, _: Time, _: &mut Outbox) -> Poll<bool> {
            if self.accepts_commands { Poll::Pending } else { Poll::Ready(false) }
        }

        fn has_finished(&self) -> bool {
            self.expired.is_some()
        }
    }

    async fn driven(mut actor: Clockwork) -> (DriveExit, Option<Time>) {
        let listener = Tcp.listen("127.0.0.1:0").await.expect("a free port");
        let config = Config::new(ClusterId(1), ProcessId::new(1), [], Security::Plain);
        let (mesh, mut events) = Mesh::start(config, Tcp, listener).expect("it starts");
        let exit = drive(&mesh, &mut events, &mut actor, &DriveOptions::default()).await;
        (exit, actor.expired)
    }

    #[tokio::test]
    async fn a_timer_expires_when_it_is_due_and_not_before() {
        let due = Time(20_000_000);
        let actor = Clockwork { due: Some(due), expired: None, accepts_commands: true };
        let (exit, expired) = driven(actor).await;
        assert_eq!(exit, DriveExit::Finished);
        assert!(expired.is_some_and(|at| at >= due), "{expired:?}");
    }

    #[tokio::test]
    async fn a_running_timer_does_not_keep_a_driver_from_its_commands() {
        let hour = Time(3_600_000_000_000);
        let actor = Clockwork { due: Some(hour), expired: None, accepts_commands: false };
        assert_eq!(driven(actor).await, (DriveExit::Finished, None));
    }
}
