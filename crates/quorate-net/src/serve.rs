//! A connection from its first frame to its last, and the events about it.

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::connection::{ConnectionContext, run};
use crate::event::{DisconnectReason, Event};
use crate::handshake::Established;
use crate::link::Link;
use crate::shared::Shared;

/// Notifies the owner that a peer is up, runs the connection, and notifies the owner that the peer is down.
pub(crate) async fn serve(shared: &Shared, established: Established, events: &mpsc::Sender<Event>) {
    let Established { link, stream, mut claim, version, slot } = established;
    let Some(up) = mark_up(&link, version) else { return };
    tracing::info!(peer = %link.peer, version, "connected");
    // An owner that no longer reads events does not need a connection.
    if events.send(up).await.is_err() {
        return;
    }
    link.state().last_heard = Instant::now();
    let limits = &shared.config.limits;
    let context = ConnectionContext { events, limits, phase: shared.phase.clone() };
    let why = run(&link, stream, &context, &mut claim).await;
    mark_down(&link, &why);
    let _ = events.send(Event::Down { peer: link.peer, why }).await;
    drop(slot);
}

fn mark_up(link: &Link, version: u16) -> Option<Event> {
    let mut state = link.state();
    let incarnation = state.delivery.peer_incarnation()?;
    let fresh = state.announced.replace(incarnation) != Some(incarnation);
    state.up = true;
    state.version = version;
    state.connections += 1;
    (state.last_error, state.refusal) = (None, None);
    state.owner_is_slow = false;
    Some(Event::Up { peer: link.peer, incarnation, fresh, version })
}

fn mark_down(link: &Link, why: &DisconnectReason) {
    let mut state = link.state();
    state.up = false;
    (state.last_error, state.refusal) = (Some(why.to_string()), None);
    match why {
        DisconnectReason::ProtocolViolation(_) => {
            tracing::warn!(peer = %link.peer, %why, "disconnected")
        }
        _ => tracing::info!(peer = %link.peer, %why, "disconnected"),
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::ProcessId;

    use super::*;
    use crate::delivery::DeliveryState;
    use crate::hello::Incarnation;

    #[test]
    fn a_peer_that_was_lost_is_down_for_this_reason() {
        let link = Link::new(ProcessId::new(1), String::new(), 100, DeliveryState::new());
        let (me, them) = (Incarnation(1), Incarnation(2));
        link.state().delivery.reconcile(me, them, None).expect("a first connection");
        let up = mark_up(&link, 5);
        assert!(matches!(up, Some(Event::Up { fresh: true, version: 5, .. })), "{up:?}");
        assert!(link.state().up);
        mark_down(&link, &DisconnectReason::Silent);
        assert!(!link.state().up);
        assert_eq!(link.state().last_error.as_deref(), Some("the peer was silent for too long"));
        let again = mark_up(&link, 5);
        assert!(matches!(again, Some(Event::Up { fresh: false, .. })), "{again:?}");
        let state = link.state();
        assert_eq!((state.last_error.as_deref(), state.connections), (None, 2));
    }
}
