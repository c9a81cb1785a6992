//! A node in its own process, and a health check for nodes.

use std::io;
use std::path::Path;
use std::time::Duration;

use quorate_client::{Client, Member, MemberChange};
use quorate_service::{Extras, FirstStart, NodeConfig, launch};
use tokio::signal::unix::{SignalKind, signal};

use tokio::time::Instant;

use crate::records::Records;

/// Time for clients to switch to another node when this node leaves; the same as in `quorate node`.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time for a change of the members while all other nodes work.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause between two questions for the state of a change.
const POLL: Duration = Duration::from_millis(50);

/// Runs a node until it is killed, or until it leaves after SIGTERM like `quorate node`.
pub(crate) async fn run(config: &Path, records: &Path, first_start: FirstStart) -> io::Result<()> {
    tracing::subscriber::set_global_default(Records::open(records)?).map_err(io::Error::other)?;
    let config = NodeConfig::read(config).map_err(io::Error::other)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (node, _tls) =
        launch(&config, first_start, Extras::default()).await.map_err(io::Error::other)?;
    terminate.recv().await;
    node.stop(DRAIN_TIMEOUT).await;
    Ok(())
}

/// The start of a node, as the run names it.
pub(crate) fn first_start(age: &str) -> FirstStart {
    match age {
        "new" => FirstStart::NewCluster,
        "joins" => FirstStart::NewNode,
        _ => FirstStart::No,
    }
}

/// Puts a node that has not run yet in place of another, through any of these nodes. Returns once the change is complete.
pub(crate) async fn replace(
    endpoints: &str,
    former: u32,
    number: u32,
    address: String,
) -> io::Result<()> {
    let client = Client::new(endpoints.split(','));
    let change = MemberChange {
        add: vec![Member { node: number, address }],
        remove: vec![former],
        ..MemberChange::default()
    };
    let (begun, mut last) = (Instant::now(), String::new());
    while begun.elapsed() < CHANGE_TIMEOUT {
        let status = match client.members().await {
            Ok(status) => status,
            Err(error) => {
                last = error.to_string();
                tokio::time::sleep(POLL).await;
                continue;
            }
        };
        let present = &status.configuration;
        let is_there = present.voters.nodes.iter().any(|member| member.node == number);
        if is_there && !present.is_joint() && status.settled {
            return Ok(());
        }
        // An answer may be lost, and the change be chosen nevertheless.
        if !is_there && !present.is_joint() {
            last = match client.change_members(change.clone()).await {
                Ok(_) => "it is not complete".to_owned(),
                Err(error) => error.to_string(),
            };
        }
        tokio::time::sleep(POLL).await;
    }
    Err(io::Error::other(last))
}

/// Whether a node votes and is connected to all others except at most `absent` of them.
pub(crate) async fn is_healthy(address: &str, absent: usize) -> bool {
    let client = Client::new([address]);
    let status = tokio::time::timeout(Duration::from_millis(500), client.status()).await;
    let Ok(Ok(status)) = status else { return false };
    let down = status.members.iter().filter(|member| !member.up).count();
    status.votes && status.quorum && down <= absent
}
