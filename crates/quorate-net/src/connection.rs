//! One connection while it lasts: reads, writes, and detects when the peer is lost.
//!
//! Everything happens in one task, to minimise the number of wake-ups per message. The writer takes all queued messages and
//! writes them together.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::delivery::Arrival;
use crate::event::{DisconnectReason, Event};
use crate::frame::{self, Body};
use crate::limits::Limits;
use crate::link::{Link, SlotClaim, State};
use crate::network::Stream;
use crate::shared::Phase;

/// Size at which a write buffer is flushed. The last message may exceed it.
const WRITE_CHUNK: usize = 256 << 10;
/// Number of bytes reserved for one read.
const READ_CHUNK: usize = 64 << 10;

/// Everything that a connection needs in addition to its link.
pub(crate) struct ConnectionContext<'a> {
    pub(crate) events: &'a mpsc::Sender<Event>,
    pub(crate) limits: &'a Limits,
    pub(crate) phase: watch::Receiver<Phase>,
}

/// Runs until the connection ends; returns the reason.
pub(crate) async fn run(
    link: &Link,
    stream: Box<dyn Stream>,
    context: &ConnectionContext<'_>,
    claim: &mut SlotClaim,
) -> DisconnectReason {
    let (from, to) = tokio::io::split(stream);
    tokio::select! {
        biased;
        () = claim.revoked() => if link.state().removed { DisconnectReason::Removed } else { DisconnectReason::Replaced },
        reason = write(link, to, context) => reason,
        reason = read(link, from, context) => reason,
        () = silence_timeout(link, context.limits) => DisconnectReason::Silent,
    }
}

async fn write(
    link: &Link,
    mut to: WriteHalf<Box<dyn Stream>>,
    context: &ConnectionContext<'_>,
) -> DisconnectReason {
    let mut phase = context.phase.clone();
    let mut buffer = BytesMut::with_capacity(READ_CHUNK);
    let mut written = Instant::now();
    let mut owed_since: Option<Instant> = None;
    loop {
        let flushing = *phase.borrow_and_update() != Phase::Running;
        let (owes_ack, done) = fill(link, &mut buffer, written, &mut owed_since, context.limits);
        if flushing && done {
            link.state().delivery.write_control(Body::Farewell, &mut buffer);
        }
        if !buffer.is_empty() {
            if let Err(error) = write_out(&mut to, &mut buffer).await {
                return broken(&error);
            }
            written = Instant::now();
            if flushing && done {
                let _ = to.shutdown().await;
                return DisconnectReason::Stopped;
            }
            continue;
        }
        let wake = match (owes_ack, owed_since) {
            (true, Some(since)) => since + context.limits.acknowledge,
            _ => written + context.limits.ping,
        };
        tokio::select! {
            biased;
            () = link.wake_writer.notified() => {}
            _ = phase.changed(), if !flushing => {}
            () = sleep_until(wake) => {}
        }
    }
}

/// Fills the buffer with everything that should be written now. Returns whether an acknowledgement is owed, and whether the
/// peer has acknowledged all messages.
fn fill(
    link: &Link,
    buffer: &mut BytesMut,
    written: Instant,
    owed_since: &mut Option<Instant>,
    limits: &Limits,
) -> (bool, bool) {
    let mut state = link.state();
    let delivery = &mut state.delivery;
    delivery.write(buffer, WRITE_CHUNK);
    if buffer.is_empty() {
        let now = Instant::now();
        let since = *owed_since.get_or_insert(now);
        let owed =
            delivery.owes_ack() && (delivery.ack_is_urgent() || now >= since + limits.acknowledge);
        if owed || now >= written + limits.ping {
            delivery.write_control(Body::Alive, buffer);
        }
    }
    if !delivery.owes_ack() {
        *owed_since = None;
    }
    (delivery.owes_ack(), delivery.queued() == 0)
}

async fn write_out(
    to: &mut WriteHalf<Box<dyn Stream>>,
    buffer: &mut BytesMut,
) -> std::io::Result<()> {
    to.write_all(buffer).await?;
    to.flush().await?;
    buffer.clear();
    Ok(())
}

async fn read(
    link: &Link,
    mut from: ReadHalf<Box<dyn Stream>>,
    context: &ConnectionContext<'_>,
) -> DisconnectReason {
    let mut buffer = BytesMut::with_capacity(READ_CHUNK);
    loop {
        buffer.reserve(READ_CHUNK);
        match from.read_buf(&mut buffer).await {
            Ok(0) => return DisconnectReason::Broken("closed by the other side".to_owned()),
            Ok(_) => link.state().last_heard = Instant::now(),
            Err(error) => return broken(&error),
        }
        if let Err(reason) = handle_frames(link, &mut buffer, context).await {
            return reason;
        }
        let flushing = *context.phase.borrow() != Phase::Running;
        if flushing || link.state().delivery.owes_ack() {
            link.wake_writer.notify_one();
        }
    }
}

/// Handles all frames that have arrived completely.
async fn handle_frames(
    link: &Link,
    buffer: &mut BytesMut,
    context: &ConnectionContext<'_>,
) -> Result<(), DisconnectReason> {
    let violation =
        |cause: &dyn std::fmt::Display| DisconnectReason::ProtocolViolation(cause.to_string());
    loop {
        let max_message = context.limits.message;
        let frame =
            frame::decode(buffer, max_message).map_err(|malformed| violation(&malformed))?;
        let Some((frame, size)) = frame else { return Ok(()) };
        let freed = active_state(link)?.delivery.on_ack(frame.acknowledged);
        link.free(freed.map_err(|why| violation(&why))?);
        match frame.body {
            Body::Data { sequence, payload } => {
                let permit = reserve_event(link, context).await?;
                let arrival = active_state(link)?.delivery.on_data(sequence);
                if arrival.map_err(|why| violation(&why))? == Arrival::New {
                    // A copy: a small payload that is kept must not keep the whole read buffer alive.
                    let payload = Bytes::copy_from_slice(payload);
                    permit.send(Event::Message { from: link.peer, payload });
                }
            }
            Body::Alive => {}
            Body::Farewell => return Err(DisconnectReason::Stopped),
        }
        buffer.advance(size);
    }
}

/// State of a link whose peer has not been removed; fails with [`DisconnectReason::Removed`] otherwise.
fn active_state(link: &Link) -> Result<std::sync::MutexGuard<'_, State>, DisconnectReason> {
    let state = link.state();
    if state.removed { Err(DisconnectReason::Removed) } else { Ok(state) }
}

/// Reserves a place in the owner's queue. While this waits, the peer is not to blame for silence.
async fn reserve_event<'a>(
    link: &Link,
    context: &ConnectionContext<'a>,
) -> Result<mpsc::Permit<'a, Event>, DisconnectReason> {
    if let Ok(permit) = context.events.try_reserve() {
        return Ok(permit);
    }
    link.state().owner_is_slow = true;
    let permit = context.events.reserve().await;
    let mut state = link.state();
    state.owner_is_slow = false;
    state.last_heard = Instant::now();
    permit.map_err(|_| DisconnectReason::Broken("the receiver of events was dropped".to_owned()))
}

/// Returns when nothing has been received for too long.
async fn silence_timeout(link: &Link, limits: &Limits) {
    loop {
        let deadline = {
            let state = link.state();
            let since = if state.owner_is_slow { Instant::now() } else { state.last_heard };
            since + limits.silence
        };
        if Instant::now() >= deadline {
            return;
        }
        sleep_until(deadline).await;
    }
}

fn broken(error: &std::io::Error) -> DisconnectReason {
    DisconnectReason::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use quorate_core::ProcessId;

    use super::*;
    use crate::delivery::DeliveryState;
    use crate::hello::Incarnation;

    const HOUR: Duration = Duration::from_secs(3600);

    fn link() -> Link {
        let link = Link::new(ProcessId::new(1), String::new(), 1 << 20, DeliveryState::new());
        let (me, them) = (Incarnation(1), Incarnation(2));
        link.state().delivery.reconcile(me, them, None).expect("a first connection");
        link
    }

    fn limits() -> Limits {
        Limits { ping: HOUR, acknowledge: HOUR, ..Limits::default() }
    }

    /// Fills a buffer. Returns whether an acknowledgement is owed, whether all is acknowledged, and the size of the buffer.
    fn filled(
        link: &Link,
        written: Instant,
        owed_since: &mut Option<Instant>,
    ) -> (bool, bool, usize) {
        let mut buffer = BytesMut::new();
        let (owes, done) = fill(link, &mut buffer, written, owed_since, &limits());
        (owes, done, buffer.len())
    }

    #[test]
    fn an_idle_connection_writes_after_the_interval_between_pings() {
        let (link, now) = (link(), Instant::now());
        assert_eq!(filled(&link, now, &mut None), (false, true, 0));
        let alive = 4 + 1 + 8;
        assert_eq!(filled(&link, now - HOUR, &mut None), (false, true, alive));
    }

    #[test]
    fn an_acknowledgement_waits_to_be_piggybacked_but_not_for_long() {
        let (link, now, alive) = (link(), Instant::now(), 4 + 1 + 8);
        let receive = |sequence| link.state().delivery.on_data(sequence).expect("the next message");
        receive(1);
        let mut since = None;
        assert_eq!(filled(&link, now, &mut since), (true, true, 0));
        assert!(since.is_some_and(|since| since >= now), "the time of waiting counts from now");
        since = Some(now - HOUR);
        assert_eq!(filled(&link, now, &mut since), (false, true, alive));
        assert_eq!(since, None);
        // Nothing is owed any more, however long ago.
        assert_eq!(filled(&link, now, &mut Some(now - HOUR)), (false, true, 0));
        (2..=65).for_each(|sequence| _ = receive(sequence));
        assert_eq!(filled(&link, now, &mut None), (false, true, alive), "many are urgent");
    }

    #[test]
    fn a_message_carries_the_acknowledgement() {
        let (link, now) = (link(), Instant::now());
        link.state().delivery.on_data(1).expect("the next message");
        link.try_push(Bytes::from_static(b"hi")).expect("there is room");
        let size = frame::DATA_OVERHEAD + 2;
        assert_eq!(filled(&link, now, &mut None), (false, false, size));
    }
}
