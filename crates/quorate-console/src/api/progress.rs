//! Streams of the progress of a job.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream};
use serde_json::Value;

use crate::jobs::Job;

/// Interval between progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Streams summaries of a job until it has ended.
pub(super) fn stream_progress<P, R>(
    job: Arc<Job<P, R>>,
    summary: fn(&Job<P, R>) -> Value,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>>
where
    P: Copy + Send + Sync + 'static,
    R: Send + Sync + 'static,
{
    let events = stream::unfold(Some(job), move |job| async move {
        let job = job?;
        let over = job.outcome().is_some();
        if !over {
            tokio::time::sleep(PROGRESS_INTERVAL).await;
        }
        let event = Event::default().data(summary(&job).to_string());
        Some((Ok(event), (!over).then_some(job)))
    });
    Sse::new(events)
}
