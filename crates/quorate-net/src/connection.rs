//! One connection while it lasts: reads, writes, and notices when the other side is gone.
//!
//! Everything happens in one task, so that a message costs no more wake-ups than it must. The writer takes all that is
//! queued and writes it at once.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::event::{Event, Gone};
use crate::frame::{self, Body};
use crate::ledger::Arrival;
use crate::limits::Limits;
use crate::link::{Claim, Link, State};
use crate::mesh::Phase;
use crate::network::Stream;

/// As much is written at once, and a little more.
const WRITE_AT_ONCE: usize = 256 << 10;
/// As much is read at once.
const READ_AT_ONCE: usize = 64 << 10;

/// What a connection needs beside its link.
pub(crate) struct Surroundings<'a> {
    pub(crate) events: &'a mpsc::Sender<Event>,
    pub(crate) limits: &'a Limits,
    pub(crate) phase: watch::Receiver<Phase>,
}

/// Runs until the connection is over; says why.
pub(crate) async fn run(
    link: &Link,
    stream: Box<dyn Stream>,
    around: &Surroundings<'_>,
    claim: &mut Claim,
) -> Gone {
    let (from, to) = tokio::io::split(stream);
    tokio::select! {
        biased;
        () = claim.revoked() => if link.state().removed { Gone::Removed } else { Gone::Replaced },
        gone = write(link, to, around) => gone,
        gone = read(link, from, around) => gone,
        () = silence(link, around.limits) => Gone::Silent,
    }
}

async fn write(link: &Link, mut to: WriteHalf<Box<dyn Stream>>, around: &Surroundings<'_>) -> Gone {
    let mut phase = around.phase.clone();
    let mut buffer = BytesMut::with_capacity(READ_AT_ONCE);
    let mut written = Instant::now();
    let mut owed_since: Option<Instant> = None;
    loop {
        let flushing = *phase.borrow_and_update() != Phase::Running;
        let (owes, done) = fill(link, &mut buffer, written, &mut owed_since, around.limits);
        if flushing && done {
            link.state().ledger.write_alone(Body::Farewell, &mut buffer);
        }
        if !buffer.is_empty() {
            if let Err(error) = put(&mut to, &mut buffer).await {
                return broken(&error);
            }
            written = Instant::now();
            if flushing && done {
                let _ = to.shutdown().await;
                return Gone::Stopped;
            }
            continue;
        }
        let wake = match (owes, owed_since) {
            (true, Some(since)) => since + around.limits.acknowledge,
            _ => written + around.limits.ping,
        };
        tokio::select! {
            biased;
            () = link.work.notified() => {}
            _ = phase.changed(), if !flushing => {}
            () = sleep_until(wake) => {}
        }
    }
}

/// Everything that should be written now. Whether an acknowledgement is owed, and whether all is acknowledged by them.
fn fill(
    link: &Link,
    buffer: &mut BytesMut,
    written: Instant,
    owed_since: &mut Option<Instant>,
    limits: &Limits,
) -> (bool, bool) {
    let mut state = link.state();
    let ledger = &mut state.ledger;
    ledger.write(buffer, WRITE_AT_ONCE);
    if buffer.is_empty() {
        let now = Instant::now();
        let since = *owed_since.get_or_insert(now);
        let owed = ledger.owes() && (ledger.owes_much() || now >= since + limits.acknowledge);
        if owed || now >= written + limits.ping {
            ledger.write_alone(Body::Alive, buffer);
        }
    }
    if !ledger.owes() {
        *owed_since = None;
    }
    (ledger.owes(), ledger.queued() == 0)
}

async fn put(to: &mut WriteHalf<Box<dyn Stream>>, buffer: &mut BytesMut) -> std::io::Result<()> {
    to.write_all(buffer).await?;
    to.flush().await?;
    buffer.clear();
    Ok(())
}

async fn read(link: &Link, mut from: ReadHalf<Box<dyn Stream>>, around: &Surroundings<'_>) -> Gone {
    let mut buffer = BytesMut::with_capacity(READ_AT_ONCE);
    loop {
        buffer.reserve(READ_AT_ONCE);
        match from.read_buf(&mut buffer).await {
            Ok(0) => return Gone::Broken("closed by the other side".to_owned()),
            Ok(_) => link.state().heard = Instant::now(),
            Err(error) => return broken(&error),
        }
        if let Err(gone) = understand(link, &mut buffer, around).await {
            return gone;
        }
        let flushing = *around.phase.borrow() != Phase::Running;
        if flushing || link.state().ledger.owes() {
            link.work.notify_one();
        }
    }
}

/// Deals with all frames that have arrived completely.
async fn understand(
    link: &Link,
    buffer: &mut BytesMut,
    around: &Surroundings<'_>,
) -> Result<(), Gone> {
    let dishonest = |what: &dyn std::fmt::Display| Gone::Dishonest(what.to_string());
    loop {
        let most = around.limits.message;
        let frame = frame::decode(buffer, most).map_err(|malformed| dishonest(&malformed))?;
        let Some((frame, size)) = frame else { return Ok(()) };
        let freed = live(link)?.ledger.acknowledged(frame.acknowledged);
        link.free(freed.map_err(|why| dishonest(&why))?);
        match frame.body {
            Body::Data { sequence, payload } => {
                let place = place(link, around).await?;
                let arrival = live(link)?.ledger.arrived(sequence);
                if arrival.map_err(|why| dishonest(&why))? == Arrival::New {
                    // A copy of its own: a small message that is kept must not keep everything that arrived with it.
                    let payload = Bytes::copy_from_slice(payload);
                    place.send(Event::Message { from: link.peer, payload });
                }
            }
            Body::Alive => {}
            Body::Farewell => return Err(Gone::Stopped),
        }
        buffer.advance(size);
    }
}

/// What is known about a peer that still is one: the books of others are closed.
fn live(link: &Link) -> Result<std::sync::MutexGuard<'_, State>, Gone> {
    let state = link.state();
    if state.removed { Err(Gone::Removed) } else { Ok(state) }
}

/// A place in the owner's queue. While we wait for one, the other side is not to blame for silence.
async fn place<'a>(
    link: &Link,
    around: &Surroundings<'a>,
) -> Result<mpsc::Permit<'a, Event>, Gone> {
    if let Ok(place) = around.events.try_reserve() {
        return Ok(place);
    }
    link.state().owner_is_slow = true;
    let place = around.events.reserve().await;
    let mut state = link.state();
    state.owner_is_slow = false;
    state.heard = Instant::now();
    place.map_err(|_| Gone::Broken("nobody reads the events".to_owned()))
}

/// Ends when nothing has been heard for too long.
async fn silence(link: &Link, limits: &Limits) {
    loop {
        let deadline = {
            let state = link.state();
            let since = if state.owner_is_slow { Instant::now() } else { state.heard };
            since + limits.silence
        };
        if Instant::now() >= deadline {
            return;
        }
        sleep_until(deadline).await;
    }
}

fn broken(error: &std::io::Error) -> Gone {
    Gone::Broken(error.to_string())
}
