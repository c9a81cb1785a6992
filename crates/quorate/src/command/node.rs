//! `quorate node`: one member of a real cluster.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use quorate_core::ProcessId;
use quorate_net::{Files, Network, Security, Tcp, Tls};
use quorate_service::{Disk, Node, NodeConfig, Remembered, Settings, Start};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::up::end_is_wanted;
use crate::Done;
use crate::arguments::NodeFlags;
use crate::failure::Failure;

/// How long clients have to go elsewhere.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn node(flags: &NodeFlags) -> Done {
    let config = NodeConfig::read(&flags.config).map_err(Failure::new)?;
    let cluster = config.cluster_number().map_err(Failure::new)?;
    let disk = memory(&config, cluster, flags.new_cluster)?;
    let tls = match &config.tls {
        Some(files) => {
            let (authority, certificate, key) =
                (files.authority.clone(), files.certificate.clone(), files.key.clone());
            let tls = Tls::from_files(Files { authority, certificate, key });
            Some(Arc::new(tls.map_err(Failure::new)?))
        }
        None => None,
    };
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let addresses = config.addresses();
        let own = &addresses[config.id as usize];
        let cannot = |at: &str, error| Failure::new(format!("cannot listen on {at}: {error}"));
        let peers = Tcp.listen(own).await.map_err(|error| cannot(own, error))?;
        let at = config.clients.to_string();
        let clients = TcpListener::bind(config.clients).await.map_err(|error| cannot(&at, error))?;
        let begins = flags.new_cluster && disk.as_ref().is_none_or(|(_, known)| known.life == 0);
        let settings = Settings {
            id: ProcessId::new(config.id),
            cluster,
            coterie: config.coterie(),
            terms: config.terms(),
            tempo: config.tempo(),
            life: u64::from(!begins),
            mark: disk.as_ref().filter(|(_, known)| begins || known.life > 0).map(|(_, known)| known.mark),
            addresses,
            sessions_most: 100_000,
            requests_most: 1_000_000,
        };
        let security = tls.clone().map_or(Security::Plain, Security::Tls);
        let start = Start { settings, security, peers, clients, disk };
        let node = Node::start(start).map_err(Failure::new)?;
        anstream::eprintln!("node {} is up; clients: {}", config.id, node.address());
        let mut reload = signal(SignalKind::hangup())
            .map_err(|error| Failure::new(format!("signals cannot be heard: {error}")))?;
        let end = end_is_wanted();
        tokio::pin!(end);
        loop {
            tokio::select! {
                done = &mut end => {
                    done?;
                    break;
                }
                _ = reload.recv() => match tls.as_ref().map(|tls| tls.reload()) {
                    Some(Err(error)) => anstream::eprintln!("the certificates stay as they were: {error}"),
                    Some(Ok(())) => anstream::eprintln!("the certificates are loaded anew"),
                    None => {}
                },
            }
        }
        node.stop(PATIENCE).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// What the node remembers of earlier lives.
fn memory(
    config: &NodeConfig,
    cluster: u128,
    new_cluster: bool,
) -> Result<Option<(Disk, Remembered)>, Failure> {
    let Some(folder) = &config.data else { return Ok(None) };
    let disk = Disk::open(folder).map_err(Failure::new)?;
    match disk.read().map_err(Failure::new)? {
        Some(known) if known.cluster != cluster => Err(Failure::new(format!(
            "{} belongs to another cluster ({:032x}); name another folder with `data`",
            folder.display(),
            known.cluster
        ))),
        Some(_) if new_cluster => Err(Failure::new(format!(
            "{} remembers this cluster, so it is not a new one; leave out --new-cluster",
            folder.display()
        ))),
        Some(known) => Ok(Some((disk, known))),
        None => Ok(Some((disk, Remembered { cluster, life: 0, mark: 0 }))),
    }
}
