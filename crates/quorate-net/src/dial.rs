//! Dials one peer repeatedly, and runs each connection while it lasts.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::backoff::Backoff;
use crate::event::Event;
use crate::handshake::{HandshakeError, dial};
use crate::link::Link;
use crate::serve::serve;
use crate::shared::Shared;

/// Dials a peer until the mesh stops or the peer is removed.
pub(crate) async fn keep_dialling(
    shared: Arc<Shared>,
    link: Arc<Link>,
    events: mpsc::Sender<Event>,
) {
    let limits = &shared.config.limits;
    let seed = shared.config.seed ^ (u64::from(link.peer.number()) << 32);
    let mut backoff = Backoff::new(limits.redial, limits.redial_max, seed);
    loop {
        let attempt = timeout(limits.handshake, dial(&shared, &link));
        let established = tokio::select! {
            biased;
            () = shared.stopping() => return,
            established = attempt => established.unwrap_or(Err(HandshakeError::TimedOut)),
        };
        match established {
            Ok(established) => {
                let began = Instant::now();
                serve(&shared, established, &events).await;
                if began.elapsed() > limits.redial_max {
                    backoff.reset();
                }
            }
            Err(failure) => record_failure(&link, &failure, &mut backoff),
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

/// Records a failure. Logs each new failure only once, so that an absent peer does not fill the log.
fn record_failure(link: &Link, failure: &HandshakeError, backoff: &mut Backoff) {
    if matches!(failure, HandshakeError::RefusedByPeer(_) | HandshakeError::RefusedByUs(_)) {
        backoff.skip_to_longest();
    }
    let why = failure.to_string();
    let mut state = link.state();
    state.refusal = match failure {
        HandshakeError::RefusedByPeer(refusal) | HandshakeError::RefusedByUs(refusal) => {
            Some(refusal.reason)
        }
        _ => None,
    };
    if state.last_error.as_ref() != Some(&why) {
        tracing::warn!(peer = %link.peer, address = state.address, %why, "cannot connect to a peer");
        state.last_error = Some(why);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use quorate_core::ProcessId;

    use super::*;
    use crate::delivery::DeliveryState;
    use crate::refusal::{Refusal, RefusalReason};

    #[test]
    fn a_refusal_is_remembered_until_another_failure_follows() {
        let link = Link::new(ProcessId::new(1), "a:1".to_owned(), 100, DeliveryState::new());
        let millis = Duration::from_millis;
        let mut backoff = Backoff::new(millis(1), millis(64), 7);
        record_failure(&link, &HandshakeError::TimedOut, &mut backoff);
        assert!(link.state().refusal.is_none() && backoff.pause() <= millis(1));
        assert_eq!(link.state().last_error.as_deref(), Some("the handshake timed out"));
        let refusals = [HandshakeError::RefusedByPeer, HandshakeError::RefusedByUs];
        for refused in refusals {
            backoff.reset();
            let refusal = Refusal::new(RefusalReason::Cluster, "another cluster");
            record_failure(&link, &refused(refusal), &mut backoff);
            assert_eq!(link.state().refusal, Some(RefusalReason::Cluster));
            assert!(backoff.pause() >= millis(32), "a quick redial does not help");
        }
        record_failure(&link, &HandshakeError::TimedOut, &mut backoff);
        assert_eq!(link.state().refusal, None);
    }
}
