//! TLS for clients, which are not nodes: they verify the node's certificate, and may present one of their own.

use std::io;
use std::sync::Arc;

use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use tokio_rustls::TlsAcceptor;

use crate::network::Stream;
use crate::tls::Tls;

/// The name that a client's certificate must be valid for.
pub fn client_name(client: &str) -> String {
    format!("{client}.client.quorate.internal")
}

/// A certificate that a client has presented, signed by the cluster's authority.
#[derive(Clone, Debug)]
pub struct ClientCertificate(CertificateDer<'static>);

impl ClientCertificate {
    /// Whether the certificate belongs to this client.
    pub fn is_for(&self, client: &str) -> bool {
        let Ok(parsed) = ParsedCertificate::try_from(&self.0) else { return false };
        let name = ServerName::try_from(client_name(client));
        name.is_ok_and(|name| verify_server_name(&parsed, &name).is_ok())
    }
}

impl Tls {
    /// Accepts a TLS connection of a client. Returns the decrypted stream, and the certificate if the client presented one.
    pub async fn accept_client<S: Stream>(
        &self,
        stream: S,
    ) -> io::Result<(impl Stream + use<S>, Option<ClientCertificate>)> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.identity().server_for_clients));
        let stream = acceptor.accept(stream).await?;
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let shown = shown.map(|certificate| ClientCertificate(certificate.clone().into_owned()));
        Ok((stream, shown))
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject as _;

    use super::*;
    use crate::authority::Authority;

    #[test]
    fn a_certificate_belongs_to_one_client() {
        let (authority, _) = Authority::generate().expect("an authority");
        let pem = authority.certify_client("web", 1).expect("a certificate");
        let certificate = CertificateDer::from_pem_slice(pem.certificate.as_bytes());
        let certificate = ClientCertificate(certificate.expect("a certificate"));
        assert!(certificate.is_for("web"));
        assert!(!certificate.is_for("we") && !certificate.is_for("not a name"));
    }
}
