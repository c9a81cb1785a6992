//! Dials one peer again and again, and runs the connection while it lasts.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::backoff::Backoff;
use crate::event::Event;
use crate::handshake::{Failure, dial};
use crate::link::Link;
use crate::mesh::Shared;
use crate::serve::serve;

/// Until the mesh stops or the peer is none any longer.
pub(crate) async fn keep_dialling(
    shared: Arc<Shared>,
    link: Arc<Link>,
    events: mpsc::Sender<Event>,
) {
    let limits = &shared.config.limits;
    let seed = shared.config.seed ^ (u64::from(link.peer.number()) << 32);
    let mut backoff = Backoff::new(limits.redial, limits.redial_most, seed);
    loop {
        let attempt = timeout(limits.handshake, dial(&shared, &link));
        let agreed = tokio::select! {
            biased;
            () = shared.stopping() => return,
            agreed = attempt => agreed.unwrap_or(Err(Failure::TooLong)),
        };
        match agreed {
            Ok(agreed) => {
                let began = Instant::now();
                serve(&shared, agreed, &events).await;
                if began.elapsed() > limits.redial_most {
                    backoff.reset();
                }
            }
            Err(failure) => complain(&link, &failure, &mut backoff),
        }
        if link.state().removed {
            return;
        }
        tokio::select! {
            biased;
            () = shared.stopping() => return,
            () = sleep(backoff.pause()) => {}
        }
    }
}

/// Once for each new trouble, so that a peer that stays away does not fill the log.
fn complain(link: &Link, failure: &Failure, backoff: &mut Backoff) {
    if matches!(failure, Failure::Refused(_) | Failure::Refusing(_)) {
        backoff.give_up();
    }
    let why = failure.to_string();
    let mut state = link.state();
    state.refusal = match failure {
        Failure::Refused(refusal) | Failure::Refusing(refusal) => Some(refusal.reason),
        _ => None,
    };
    if state.trouble.as_ref() != Some(&why) {
        tracing::warn!(peer = %link.peer, address = state.address, %why, "no connection");
        state.trouble = Some(why);
    }
}
