//! Credentials of a client, and the authority by which it verifies its cluster.

use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::error::Error;

/// Credentials of a client, and the authority by which it verifies its cluster. Without an authority the client uses plain
/// text, which nodes allow on loopback.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Token by which the cluster authenticates the client; for etcd, `USER:PASSWORD`.
    pub token: Option<String>,
    /// Certificate of the cluster's authority, as PEM. If present, connections use TLS.
    pub authority: Option<Vec<u8>>,
    /// Certificate and private key of the client, as PEM.
    pub certificate: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (token, tls) = (self.token.is_some(), self.authority.is_some());
        f.debug_struct("Credentials").field("token", &token).field("tls", &tls).finish()
    }
}

/// A bidirectional byte stream, plain or TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Opens connections with the credentials of a client.
#[derive(Clone)]
pub(crate) struct Dialler {
    /// Sent to nodes of quorate in the handshake.
    pub(crate) token: Option<String>,
    tls: Option<TlsConnector>,
}

impl Dialler {
    /// Plain text, without a token.
    pub(crate) fn plain() -> Self {
        Self { token: None, tls: None }
    }

    pub(crate) fn new(credentials: Credentials) -> Result<Self, Error> {
        Self::with_alpn(credentials, &[])
    }

    /// Like [`Self::new`], and offers these application protocols (ALPN) in TLS.
    pub(crate) fn with_alpn(credentials: Credentials, protocols: &[&[u8]]) -> Result<Self, Error> {
        let Credentials { token, authority, certificate } = credentials;
        let unusable = |reason: &str| Error::Credentials(reason.to_owned());
        let Some(authority) = authority else {
            return match certificate {
                Some(_) => Err(unusable(
                    "a client certificate needs the certificate of the authority as well",
                )),
                None => Ok(Self { token, tls: None }),
            };
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&authority) {
            let certificate = certificate
                .map_err(|_| unusable("the authority's certificate is not valid PEM"))?;
            roots.add(certificate).map_err(|error| unusable(&error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(unusable("no certificate of an authority found"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error.to_string()))?
            .with_root_certificates(roots);
        let mut config = match certificate {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain: Result<Vec<_>, _> =
                    CertificateDer::pem_slice_iter(&certificate).collect();
                let chain =
                    chain.map_err(|_| unusable("the client's certificate is not valid PEM"))?;
                let key = PrivateKeyDer::from_pem_slice(&key)
                    .map_err(|_| unusable("the client's key is not valid PEM"))?;
                config
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| unusable(&error.to_string()))?
            }
        };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Self { token, tls: Some(TlsConnector::from(Arc::new(config))) })
    }

    /// Connects to `host:port`, with TLS if the credentials contain an authority.
    pub(crate) async fn dial(&self, endpoint: &str) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(endpoint).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let host = endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let wrong = |_| io::Error::new(io::ErrorKind::InvalidInput, "not a valid host name");
        let name = ServerName::try_from(host).map_err(wrong)?;
        Ok(Box::new(tls.connect(name, stream).await?))
    }
}
