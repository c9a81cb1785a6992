//! Starts a node from its configuration file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quorate_core::ProcessId;
use quorate_net::{CertificateFiles, Network, Security, Tcp, Tls};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::config::NodeConfig;
use crate::core::{Settings, VoterStart};
use crate::disk::{Disk, DiskError, DurableState};
use crate::node::{CannotStart, ListenerConfig, Node, Start, random_number};
use crate::spans::SpanSink;

/// Parameters of a node that its configuration file does not contain.
#[derive(Default)]
pub struct Extras {
    /// Web pages that are served beside the API.
    pub pages: Option<axum::Router>,
    /// Destination of the node's traces, if they are written.
    pub spans: Option<SpanSink>,
}

/// Starts a node from its configuration and `extras`. `new_cluster` states that the cluster is new, so that no client can
/// have an earlier vote. Also returns the certificates, if there are any, so that the caller can reload them.
pub async fn launch(
    config: &NodeConfig,
    new_cluster: bool,
    extras: Extras,
) -> Result<(Node, Option<Arc<Tls>>), CannotStart> {
    let cluster = config.cluster_number().map_err(CannotStart::Wrong)?;
    let disk = open_state(config, cluster, new_cluster).await?;
    let tls = match &config.tls {
        Some(files) => {
            let (authority, certificate, key) =
                (files.authority.clone(), files.certificate.clone(), files.key.clone());
            Some(Arc::new(Tls::from_files(CertificateFiles { authority, certificate, key })?))
        }
        None => None,
    };
    let addresses = config.addresses();
    let own = &addresses[config.id as usize];
    let cannot = |at: &str, error| CannotStart::Io(format!("cannot listen on {at}"), error);
    let peers = Tcp.listen(own).await.map_err(|error| cannot(own, error))?;
    let at = config.clients.to_string();
    let clients = TcpListener::bind(config.clients).await.map_err(|error| cannot(&at, error))?;
    let first_start = new_cluster && disk.as_ref().is_none_or(|(_, known)| known.incarnation == 0);
    let settings = Settings {
        id: ProcessId::new(config.id),
        cluster,
        coterie: config.coterie(),
        terms: config.terms(),
        delay_bounds: config.delay_bounds(),
        voter: VoterStart::New,
        ceiling: None,
        persists: disk.is_some(),
        addresses,
        client_address: config.advertise.clone(),
        sessions_most: config.sessions,
        requests_most: config.requests,
        seed: random_number(),
        quotas: config.quotas(),
    };
    let security = tls.clone().map_or(Security::Plain, Security::Tls);
    let listener_config = ListenerConfig {
        clients: config.client.clone(),
        calls_per_second: config.calls_per_second,
        tls: tls.clone(),
        plain_anywhere: config.plain_clients,
        names: config.names.clone(),
        pages: extras.pages,
        connections: config.connections,
        connections_per_address: config.connections_per_address.unwrap_or(config.connections / 2),
    };
    let node = Node::start(Start {
        settings,
        security,
        peers,
        clients,
        disk,
        first_start,
        listener_config,
        spans: extras.spans,
    })?;
    Ok((node, tls))
}

/// Maximum time to wait for a data folder that is in use. A process that was just terminated may still hold it.
const FOLDER_BUSY: Duration = Duration::from_millis(1_500);

/// Locks the data folder and reads the state of earlier incarnations.
async fn open_state(
    config: &NodeConfig,
    cluster: u128,
    new_cluster: bool,
) -> Result<Option<(Disk, DurableState)>, CannotStart> {
    let Some(folder) = &config.data else { return Ok(None) };
    let disk = lock(folder).await?;
    let node = Some(config.id);
    match disk.read()? {
        Some(known) if known.cluster != cluster => Err(CannotStart::Wrong(format!(
            "{} belongs to another cluster ({:032x}); set `data` to another folder",
            folder.display(),
            known.cluster
        ))),
        Some(DurableState { node: Some(other), .. }) if other != config.id => {
            Err(CannotStart::Wrong(format!(
                "{} belongs to node {other}, and this is node {}; set `data` to another folder",
                folder.display(),
                config.id
            )))
        }
        Some(_) if new_cluster => Err(CannotStart::Wrong(format!(
            "{} contains state of this cluster, so the cluster is not new; omit --new-cluster",
            folder.display()
        ))),
        Some(known) => Ok(Some((disk, DurableState { node, ..known }))),
        None => Ok(Some((disk, DurableState { cluster, node, incarnation: 0, mark: None }))),
    }
}

async fn lock(folder: &Path) -> Result<Disk, DiskError> {
    let until = Instant::now() + FOLDER_BUSY;
    loop {
        match Disk::open(folder)?.lock() {
            Err(DiskError::InUse(_)) if Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            locked => return locked,
        }
    }
}
