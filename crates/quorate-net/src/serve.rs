//! A connection from its first frame to its last, as the owner hears of it.

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::connection::{Surroundings, run};
use crate::event::{Event, Gone};
use crate::handshake::Agreed;
use crate::link::Link;
use crate::mesh::Shared;

/// Tells the owner that a peer is there, runs the connection, tells it that the peer is gone.
pub(crate) async fn serve(shared: &Shared, agreed: Agreed, events: &mpsc::Sender<Event>) {
    let Agreed { link, stream, mut claim, version, turn } = agreed;
    let Some(up) = arrive(&link, version) else { return };
    tracing::info!(peer = %link.peer, version, "connected");
    // An owner that does not read any longer has no use for a connection.
    if events.send(up).await.is_err() {
        return;
    }
    link.state().heard = Instant::now();
    let limits = &shared.config.limits;
    let around = Surroundings { events, limits, phase: shared.phase.clone() };
    let why = run(&link, stream, &around, &mut claim).await;
    leave(&link, &why);
    let _ = events.send(Event::Down { peer: link.peer, why }).await;
    drop(turn);
}

fn arrive(link: &Link, version: u16) -> Option<Event> {
    let mut state = link.state();
    let incarnation = state.ledger.theirs()?;
    let fresh = state.told.replace(incarnation) != Some(incarnation);
    state.up = true;
    state.version = version;
    state.connections += 1;
    (state.trouble, state.refusal) = (None, None);
    state.owner_is_slow = false;
    Some(Event::Up { peer: link.peer, incarnation, fresh, version })
}

fn leave(link: &Link, why: &Gone) {
    let mut state = link.state();
    state.up = false;
    (state.trouble, state.refusal) = (Some(why.to_string()), None);
    match why {
        Gone::Dishonest(_) => tracing::warn!(peer = %link.peer, %why, "disconnected"),
        _ => tracing::info!(peer = %link.peer, %why, "disconnected"),
    }
}
