//! A node in its own process, and a health check for nodes.

use std::io;
use std::path::Path;
use std::time::Duration;

use quorate_client::Client;
use quorate_service::{Extras, FirstStart, NodeConfig, launch};
use tokio::signal::unix::{SignalKind, signal};

use crate::records::Records;

/// Time for clients to switch to another node when this node leaves; the same as in `quorate node`.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a node until it is killed, or until it leaves after SIGTERM like `quorate node`.
pub(crate) async fn run(config: &Path, records: &Path, new_cluster: bool) -> io::Result<()> {
    tracing::subscriber::set_global_default(Records::open(records)?).map_err(io::Error::other)?;
    let config = NodeConfig::read(config).map_err(io::Error::other)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (node, _tls) = launch(&config, FirstStart::of_cluster(new_cluster), Extras::default())
        .await
        .map_err(io::Error::other)?;
    terminate.recv().await;
    node.stop(DRAIN_TIMEOUT).await;
    Ok(())
}

/// Whether a node votes and is connected to all others except at most `absent` of them.
pub(crate) async fn is_healthy(address: &str, absent: usize) -> bool {
    let client = Client::new([address]);
    let status = tokio::time::timeout(Duration::from_millis(500), client.status()).await;
    let Ok(Ok(status)) = status else { return false };
    let down = status.members.iter().filter(|member| !member.up).count();
    status.votes && status.quorum && down <= absent
}
