//! A node as a process of its own, and a look at one.

use std::io;
use std::path::Path;
use std::time::Duration;

use quorate_client::Client;
use quorate_service::{Extras, NodeConfig, launch};

use crate::records::Records;

/// Runs a node until it is killed.
pub(crate) async fn run(config: &Path, records: &Path, new_cluster: bool) -> io::Result<()> {
    tracing::subscriber::set_global_default(Records::open(records)?).map_err(io::Error::other)?;
    let config = NodeConfig::read(config).map_err(io::Error::other)?;
    let (_node, _tls) =
        launch(&config, new_cluster, Extras::default()).await.map_err(io::Error::other)?;
    std::future::pending().await
}

/// Whether the node there votes and hears all others but so many.
pub(crate) async fn is_well(address: &str, absent: usize) -> bool {
    let client = Client::new([address]);
    let status = tokio::time::timeout(Duration::from_millis(500), client.status()).await;
    let Ok(Ok(status)) = status else { return false };
    let down = status.members.iter().filter(|member| !member.up).count();
    status.votes && status.quorum && down <= absent
}
