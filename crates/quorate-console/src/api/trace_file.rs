//! Download of the trace of a whole run. A trace may be much larger than memory allows, so the run is repeated and
//! its trace is streamed.

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

use super::scenario::ScenarioRequest;
use crate::api_error::ApiError;
use crate::lab_state::LabState;

/// Size of one chunk of the file.
const CHUNK_BYTES: usize = 256 << 10;
const CHUNKS_QUEUED_MOST: usize = 4;

pub(super) async fn download(
    State(lab): State<Arc<LabState>>,
    request: Result<Json<ScenarioRequest>, JsonRejection>,
) -> Result<Response, ApiError> {
    let scenario = request?.0.into_scenario()?;
    lab.runs.check_size(&scenario)?;
    let (chunks, mut incoming) = mpsc::channel::<Bytes>(CHUNKS_QUEUED_MOST);
    let run = tokio::spawn(async move {
        let out = BufWriter::with_capacity(CHUNK_BYTES, ChunkWriter(chunks));
        lab.runs.write_trace(scenario, out).await
    });
    // Until the first chunk is written, a failure can still be answered with an error status.
    let first = incoming.recv().await;
    if first.is_none() {
        run.await
            .map_err(|_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the run panicked"))??;
    }
    let sent = stream::unfold((first, incoming), |(first, mut incoming)| async {
        let chunk = match first {
            Some(first) => first,
            None => incoming.recv().await?,
        };
        Some((Ok::<_, io::Error>(chunk), (None, incoming)))
    });
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((headers, Body::from_stream(sent)).into_response())
}

/// Sends chunks to the response. After the client has disconnected, writing fails and the run ends.
struct ChunkWriter(mpsc::Sender<Bytes>);

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let chunk = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(chunk).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
