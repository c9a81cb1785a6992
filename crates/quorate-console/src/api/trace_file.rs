//! The trace of a whole run as a file. It may be much longer than what is kept in memory, so it is sent while the run is
//! made again.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::mpsc;

use super::scenario::Said;
use crate::refusal::Refusal;
use crate::server::Lab;

/// A piece of the file, and how many may wait to be sent.
const PIECE: usize = 256 << 10;
const WAITING: usize = 4;

pub(super) async fn whole(
    State(lab): State<Arc<Lab>>,
    said: Result<Json<Said>, JsonRejection>,
) -> Result<Response, Refusal> {
    let scenario = said?.0.settle()?;
    lab.runs.admit(&scenario)?;
    let (pieces, mut arriving) = mpsc::channel::<Bytes>(WAITING);
    let run = tokio::spawn(async move {
        let out = BufWriter::with_capacity(PIECE, Pieces(pieces));
        lab.runs.retrace(scenario, out).await
    });
    // Until something has been written there is time to say that it cannot be.
    let first = arriving.recv().await;
    if first.is_none() {
        run.await
            .map_err(|_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the run broke"))??;
    }
    let sent = stream::unfold((first, arriving), |(first, mut arriving)| async {
        let piece = match first {
            Some(first) => first,
            None => arriving.recv().await?,
        };
        Some((Ok::<_, io::Error>(piece), (None, arriving)))
    });
    let told = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((told, Body::from_stream(sent)).into_response())
}

/// Where pieces go; closed when nobody takes them any more, which ends the run.
struct Pieces(mpsc::Sender<Bytes>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(piece).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
