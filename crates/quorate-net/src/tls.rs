//! Mutual TLS between nodes: the cluster's authority certifies nodes, and the name in the certificate identifies the node.
//!
//! A node's certificate is valid for `node-3.quorate.internal`, regardless of its addresses. The dialling node checks for
//! the name of the node that it wants to reach. The accepting node compares the name with the number in the peer's
//! handshake. Only TLS 1.3 is supported, with one cryptography provider. Sessions are not resumed: every connection
//! presents its certificate.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use quorate_core::ProcessId;
use rustls::client::{Resumption, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::TlsConnector;

use crate::expiry::{CertificateExpiry, not_after};
use crate::network::{Network, Stream, Tcp};

/// The name that a node's certificate must be valid for.
pub fn node_name(node: ProcessId) -> String {
    format!("node-{}.quorate.internal", node.number())
}

/// Paths of a node's certificate files.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The trusted authorities; several while one replaces another.
    pub authority: PathBuf,
    /// The certificate of the node.
    pub certificate: PathBuf,
    /// The private key of the node.
    pub key: PathBuf,
}

/// Reason why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// I/O error of the operating system.
        source: io::Error,
    },
    /// A PEM text lacks this item.
    #[error("no {0} in PEM format found")]
    Missing(&'static str),
    /// An item is invalid, or key and certificate do not belong together.
    #[error("the certificates cannot be used: {0}")]
    Unusable(String),
    /// The certificates were not read from files, so they cannot be reloaded.
    #[error("the certificates were not read from files and cannot be reloaded")]
    NoFiles,
}

/// Certificates of a node. They can be replaced while the node runs: new connections use the new ones.
pub struct Tls {
    files: Option<CertificateFiles>,
    current: RwLock<Arc<TlsIdentity>>,
}

/// TLS configurations made from one set of certificates.
pub(crate) struct TlsIdentity {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
    /// For clients, which need not present a certificate.
    pub(crate) server_for_clients: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
    expiry: Option<CertificateExpiry>,
}

impl Tls {
    /// Reads PEM texts: the authorities, the node's certificate, its key.
    pub fn from_pem(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let identity = TlsIdentity::new(authority, certificate, key)?;
        Ok(Self { files: None, current: RwLock::new(Arc::new(identity)) })
    }

    /// Reads files. [`Self::reload`] reads them again.
    pub fn from_files(files: CertificateFiles) -> Result<Self, TlsError> {
        let identity = TlsIdentity::from_files(&files)?;
        Ok(Self { files: Some(files), current: RwLock::new(Arc::new(identity)) })
    }

    /// Reads the files again. If anything is wrong with them, the current certificates stay in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let files = self.files.as_ref().ok_or(TlsError::NoFiles)?;
        self.set(TlsIdentity::from_files(files)?);
        Ok(())
    }

    /// Replaces the certificates by these PEM texts. If anything is wrong with them, the current certificates stay in use.
    pub fn replace(
        &self,
        authority: &[u8],
        certificate: &[u8],
        key: &[u8],
    ) -> Result<(), TlsError> {
        self.set(TlsIdentity::new(authority, certificate, key)?);
        Ok(())
    }

    /// Whether the certificate belongs to this node.
    pub fn is_for(&self, node: ProcessId) -> bool {
        belongs_to(&self.identity().certificate, node)
    }

    /// Returns when the current certificates expire.
    pub fn expiry(&self) -> Option<CertificateExpiry> {
        self.identity().expiry
    }

    /// Connects to a node and presents this certificate, without sending anything yet. For tools and tests.
    pub async fn connect(&self, to: SocketAddr, node: ProcessId) -> io::Result<Box<dyn Stream>> {
        let (stream, _) = Tcp.connect(&to.to_string()).await?;
        let connector = TlsConnector::from(Arc::clone(&self.identity().client));
        Ok(Box::new(connector.connect(server_name(node), stream).await?))
    }

    pub(crate) fn identity(&self) -> Arc<TlsIdentity> {
        Arc::clone(&self.current.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn set(&self, identity: TlsIdentity) {
        *self.current.write().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Arc::new(identity);
    }
}

/// Whether a presented certificate, whose signature was verified, belongs to this node.
pub(crate) fn belongs_to(certificate: &CertificateDer<'_>, node: ProcessId) -> bool {
    let Ok(parsed) = ParsedCertificate::try_from(certificate) else { return false };
    verify_server_name(&parsed, &server_name(node)).is_ok()
}

pub(crate) fn server_name(node: ProcessId) -> ServerName<'static> {
    ServerName::try_from(node_name(node)).expect("a node's name is a DNS name")
}

impl TlsIdentity {
    fn from_files(files: &CertificateFiles) -> Result<Self, TlsError> {
        let read = |path: &PathBuf| {
            fs::read(path).map_err(|source| TlsError::File { path: path.clone(), source })
        };
        Self::new(&read(&files.authority)?, &read(&files.certificate)?, &read(&files.key)?)
    }

    fn new(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let authorities = certificates(authority, "certificate of an authority")?;
        let first_end = authorities.iter().filter_map(not_after).min();
        let roots = Arc::new(roots(authorities)?);
        let chain = certificates(certificate, "certificate of the node")?;
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Missing("private key"))?;
        Ok(Self {
            certificate: chain[0].clone(),
            expiry: not_after(&chain[0])
                .zip(first_end)
                .map(|(node, authority)| CertificateExpiry { node, authority }),
            client: Arc::new(client(&provider, &roots, chain.clone(), key.clone_key())?),
            server_for_clients: Arc::new(server(
                &provider,
                &roots,
                chain.clone(),
                key.clone_key(),
                false,
            )?),
            server: Arc::new(server(&provider, &roots, chain, key, true)?),
        })
    }
}

fn certificates(pem: &[u8], kind: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or(TlsError::Missing(kind))
}

fn roots(authorities: Vec<CertificateDer<'static>>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in authorities {
        roots.add(certificate).map_err(unusable)?;
    }
    Ok(roots)
}

fn client(
    provider: &Arc<CryptoProvider>,
    roots: &Arc<RootCertStore>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ClientConfig, TlsError> {
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unusable)?
        .with_root_certificates(Arc::clone(roots))
        .with_client_auth_cert(chain, key)
        .map_err(unusable)?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn server(
    provider: &Arc<CryptoProvider>,
    roots: &Arc<RootCertStore>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    nodes_only: bool,
) -> Result<ServerConfig, TlsError> {
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider));
    let verifier = if nodes_only { verifier } else { verifier.allow_unauthenticated() };
    let verifier = verifier.build().map_err(unusable)?;
    let mut config = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unusable)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(unusable)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    if !nodes_only {
        // gRPC clients require that ALPN negotiates HTTP/2.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    Ok(config)
}

fn unusable(why: impl std::fmt::Display) -> TlsError {
    TlsError::Unusable(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Authority;

    #[test]
    fn a_certificate_belongs_to_one_node() {
        let (authority, ca) = Authority::generate().expect("an authority");
        let pem = authority.certify(ProcessId::new(1), &[], 1).expect("a certificate");
        let tls = Tls::from_pem(
            ca.certificate.as_bytes(),
            pem.certificate.as_bytes(),
            pem.key.as_bytes(),
        )
        .expect("it can be used");
        assert!(tls.is_for(ProcessId::new(1)));
        assert!(!tls.is_for(ProcessId::new(11)));
    }

    #[test]
    fn a_key_that_does_not_fit_changes_nothing() {
        let (authority, ca) = Authority::generate().expect("an authority");
        let [one, two] =
            [1, 2].map(|node| authority.certify(ProcessId::new(node), &[], 1).expect("made"));
        let ca = ca.certificate.as_bytes();
        let tls = Tls::from_pem(ca, one.certificate.as_bytes(), one.key.as_bytes()).expect("fits");
        assert!(tls.replace(ca, two.certificate.as_bytes(), one.key.as_bytes()).is_err());
        assert!(tls.is_for(ProcessId::new(1)));
        tls.replace(ca, two.certificate.as_bytes(), two.key.as_bytes()).expect("fits");
        assert!(tls.is_for(ProcessId::new(2)));
    }

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let why = Tls::from_pem(b"", b"", b"").err().expect("nothing there").to_string();
        assert_eq!(why, "no certificate of an authority in PEM format found");
    }

    #[test]
    fn clients_negotiate_their_protocol_and_nodes_do_not() {
        let (authority, ca) = Authority::generate().expect("an authority");
        let pem = authority.certify(ProcessId::new(1), &[], 1).expect("a certificate");
        let [ca, certificate, key] =
            [&ca.certificate, &pem.certificate, &pem.key].map(|text| text.as_bytes());
        let identity = TlsIdentity::new(ca, certificate, key).expect("it fits");
        assert_eq!(identity.server_for_clients.alpn_protocols, [&b"h2"[..], b"http/1.1"]);
        assert_eq!(identity.server.alpn_protocols, [b""; 0]);
    }
}
