//! Starts a node from its configuration file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::{ChainState, Configuration};
use quorate_core::ProcessId;
use quorate_net::{CertificateFiles, Network, Security, Tcp, Tls};
use quorate_protocol::{ClusterTerms, Members};
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

/// Statement of an operator about the first start of a node. Without such a statement a node that finds no state of its own
/// has lost it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstStart {
    /// The node may have been started before.
    #[default]
    No,
    /// The cluster is new, so that no client can have an earlier vote.
    NewCluster,
    /// No node with this number has ever run in the cluster.
    NewNode,
}

impl FirstStart {
    /// The first start of a node of a new cluster, or a later one.
    pub const fn of_cluster(is_new: bool) -> Self {
        if is_new { Self::NewCluster } else { Self::No }
    }
}

/// Starts a node from its configuration and `extras`. Also returns the certificates, if there are any, so that the caller can
/// reload them.
pub async fn launch(
    config: &NodeConfig,
    first_start: FirstStart,
    extras: Extras,
) -> Result<(Node, Option<Arc<Tls>>), CannotStart> {
    let cluster = config.cluster_number().map_err(CannotStart::Wrong)?;
    let joins = config.peers.is_empty();
    let fits = match first_start {
        FirstStart::No => true,
        FirstStart::NewCluster => !joins,
        FirstStart::NewNode => joins,
    };
    if !fits {
        return Err(CannotStart::Wrong(
            "--new-cluster is for nodes with [peers], and --join is for nodes without".to_owned(),
        ));
    }
    let disk = open_state(config, cluster, first_start).await?;
    let tls = match &config.tls {
        Some(files) => {
            let (authority, certificate, key) =
                (files.authority.clone(), files.certificate.clone(), files.key.clone());
            Some(Arc::new(Tls::from_files(CertificateFiles { authority, certificate, key })?))
        }
        None => None,
    };
    let members = read_members(config, cluster, first_start, disk.as_ref())?;
    let known = &members.present;
    let listed = known.next.iter().chain([&known.voters]).flat_map(|members| &members.nodes);
    let mut own_address = listed.filter(|member| member.node == config.id);
    let own = config.listen.as_ref().or_else(|| own_address.next().map(|member| &member.address));
    let own = own.ok_or_else(|| {
        CannotStart::Wrong(format!(
            "node {} is not a member of the cluster any more; add it with another number",
            config.id
        ))
    })?;
    let cannot = |at: &str, error| CannotStart::Io(format!("cannot listen on {at}"), error);
    let peers = Tcp.listen(own).await.map_err(|error| cannot(own, error))?;
    let at = config.clients.to_string();
    let clients = TcpListener::bind(config.clients).await.map_err(|error| cannot(&at, error))?;
    let first_start = first_start != FirstStart::No
        && disk.as_ref().is_none_or(|(_, known)| known.incarnation == 0);
    let settings = Settings {
        id: ProcessId::new(config.id),
        cluster,
        members: members.clone(),
        delay_bounds: config.delay_bounds(),
        voter: VoterStart::New,
        ceiling: None,
        persists: disk.is_some(),
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
    first_start: FirstStart,
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
        Some(_) if first_start == FirstStart::NewCluster => Err(CannotStart::Wrong(format!(
            "{} contains state of this cluster, so the cluster is not new; omit --new-cluster",
            folder.display()
        ))),
        Some(_) if first_start == FirstStart::NewNode => Err(CannotStart::Wrong(format!(
            "{} contains state of this node, so the node is not new; omit --join",
            folder.display()
        ))),
        Some(known) => Ok(Some((disk, DurableState { node, ..known }))),
        None => Ok(Some((disk, DurableState { cluster, node, incarnation: 0, mark: None }))),
    }
}

/// Returns the members that the node knows: from its data folder, or the first members from its file. A node that has lost its
/// folder may have forgotten a promise, and a node that has none forgets all promises.
fn read_members(
    config: &NodeConfig,
    cluster: u128,
    first_start: FirstStart,
    disk: Option<&(Disk, DurableState)>,
) -> Result<ChainState<Members>, CannotStart> {
    let known = disk.map(|(disk, _)| disk.read_members(cluster, config.id)).transpose()?.flatten();
    let lost = |(_, durable): &(Disk, DurableState)| {
        first_start == FirstStart::No && durable.incarnation == 0
    };
    let first = || {
        let first = Configuration::first(config.members());
        match disk {
            Some(disk) if lost(disk) => ChainState::after_loss(first),
            Some(_) => ChainState::new(first, true),
            None => ChainState { volatile: true, ..ChainState::new(first, true) },
        }
    };
    if let Some(known) = known {
        let (terms, of_file) = (known.present.target().terms, config.terms());
        let values = |it: ClusterTerms| (it.ttl_least_ms, it.ttl_most_ms, it.drift_ppm);
        if values(terms) != values(of_file) {
            tracing::info!(
                cluster = ?values(terms),
                file = ?values(of_file),
                "ttl_least_ms, ttl_most_ms and drift_ppm of the file do not count; `quorate members set` changes those of the cluster"
            );
        }
        return Ok(known);
    }
    let first = first();
    // The next process must know of the loss, too. This one has not written anything else yet.
    if let (Some((disk, _)), true) = (disk, first.lost.is_some()) {
        disk.write_members(cluster, config.id, &first)?;
    }
    Ok(first)
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
