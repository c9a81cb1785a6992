//! Polls every node for readiness, from its own host, which no fault affects.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quorate_client::Moment;

use crate::clients::json;
use crate::log::Log;

/// Interval between two polls of one node.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Timeout of a poll.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);

/// Logs `ready SENT NODE` for each answer of a node that is ready, with the time at which the poll was sent. Runs until it
/// is killed.
pub(crate) async fn run(endpoints: &str, log: &Path) -> std::io::Result<()> {
    let log = Arc::new(Mutex::new(Log::open(log)?));
    let mut tasks = tokio::task::JoinSet::new();
    for (node, endpoint) in endpoints.split(',').enumerate() {
        let (endpoint, log) = (endpoint.to_owned(), Arc::clone(&log));
        tasks.spawn(async move {
            loop {
                let sent = Moment::now().0;
                let answer = json::call(&endpoint, "/readyz", None, ANSWER_TIMEOUT).await;
                if answer.is_ok_and(|answer| answer.status == 200) {
                    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                    log.line(format_args!("ready {sent} {node}"));
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    Ok(())
}
