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
