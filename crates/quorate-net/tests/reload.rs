//! Certificates that are replaced while nodes run: new connections use the new ones.

mod support;

use std::path::Path;
use std::sync::Arc;

use quorate_net::certs::{self, CertsSpec};
use quorate_net::{CertificateFiles, Security, Tls};
use support::{config, p, pair};

fn make(directory: &Path, renew: bool) {
    let nodes = vec![(p(0), Vec::new()), (p(1), vec!["127.0.0.1".to_owned()])];
    certs::make(directory, &CertsSpec { nodes, clients: Vec::new(), days: 1, renew })
        .expect("made");
}

fn tls(directory: &Path, node: u32) -> Arc<Tls> {
    let file = |name: &str| directory.join(name);
    let files = CertificateFiles {
        authority: file("trusted.pem"),
        certificate: file(&format!("node-{node}.pem")),
        key: file(&format!("node-{node}.key")),
    };
    Arc::new(Tls::from_files(files).expect("usable"))
}

/// Sets the authorities that both nodes trust.
fn trust(directory: &Path, authorities: &[&str]) {
    std::fs::write(directory.join("trusted.pem"), authorities.concat()).expect("written");
}

fn authority(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("ca.pem")).expect("there")
}

#[tokio::test]
async fn an_authority_is_replaced_without_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    make(path, false);
    let old = authority(path);
    trust(path, &[&old]);
    let [zero, one] = [0, 1].map(|node| tls(path, node));
    let security = |tls: &Arc<Tls>| Security::Tls(Arc::clone(tls));
    let (mut a, mut b) = pair(config(0, 1, security(&zero)), config(1, 1, security(&one))).await;
    a.up().await;
    b.up().await;

    // A new authority signs new certificates. Only one of the two nodes trusts it, so that they cannot reconnect.
    for name in ["ca.pem", "ca.key"] {
        std::fs::remove_file(path.join(name)).expect("there");
    }
    make(path, true);
    let new = authority(path);
    trust(path, &[&old, &new]);
    one.reload().expect("usable");
    // Existing connections continue.
    a.mesh.try_send(p(1), &b"old"[..]).expect("queued");
    assert_eq!(b.messages(1).await, [b"old"]);
    let address = b.mesh.address().to_string();
    let reconnect = |mesh: &quorate_net::Mesh| {
        mesh.set_peers([].into());
        mesh.set_peers([(p(1), address.clone())].into());
    };
    reconnect(&a.mesh);
    a.expect_error("TLS handshake failed: invalid peer certificate").await;

    // Now both nodes trust it.
    zero.reload().expect("usable");
    a.up().await;
    a.mesh.try_send(p(1), &b"new"[..]).expect("queued");
    assert_eq!(b.messages(1).await, [b"new"]);

    // A reload of an invalid file keeps the current certificates.
    std::fs::write(path.join("node-0.pem"), "rubbish").expect("written");
    assert!(zero.reload().is_err());
    reconnect(&a.mesh);
    a.up().await;
}
