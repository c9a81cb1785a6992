//! The certificate authority of a cluster: a key, and certificates for nodes and clients signed with it.

use std::time::Duration;

use quorate_core::ProcessId;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

use crate::client_certificate::client_name;
use crate::tls::node_name;

/// Validity of the authority's own certificate, in days. Replacing the authority requires new certificates everywhere.
const AUTHORITY_DAYS: u32 = 3650;
/// Certificates are valid from a little before their creation, for machines whose clocks are behind.
const BACKDATED: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Pem {
    /// The certificate, as PEM.
    pub certificate: String,
    /// The private key, as PEM.
    pub key: String,
}

/// Signs the certificates of the nodes and clients of one cluster.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Generates a new authority and returns it with its certificate and key.
    pub fn generate() -> Result<(Self, Pem), rcgen::Error> {
        let key = KeyPair::generate()?;
        let certificate = authority_params().self_signed(&key)?.pem();
        let pem = Pem { certificate, key: key.serialize_pem() };
        Ok((Self { issuer: Issuer::new(authority_params(), key) }, pem))
    }

    /// Creates the authority with this key. Its certificate is not needed: a node's certificate contains only the name,
    /// which is the same for every authority of quorate, and the key.
    pub fn from_key(pem: &str) -> Result<Self, rcgen::Error> {
        Ok(Self { issuer: Issuer::new(authority_params(), KeyPair::from_pem(pem)?) })
    }

    /// Creates a certificate of a node, valid for these names and addresses too, for `days` days.
    pub fn certify(
        &self,
        node: ProcessId,
        names: &[String],
        days: u32,
    ) -> Result<Pem, rcgen::Error> {
        let names: Vec<String> =
            [node_name(node)].into_iter().chain(names.iter().cloned()).collect();
        let uses = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&format!("quorate node {}", node.number()), names, &uses, days)
    }

    /// Creates a certificate of a client, valid for `days` days.
    pub fn certify_client(&self, client: &str, days: u32) -> Result<Pem, rcgen::Error> {
        let uses = [ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&format!("quorate client {client}"), vec![client_name(client)], &uses, days)
    }

    fn sign(
        &self,
        common_name: &str,
        names: Vec<String>,
        uses: &[ExtendedKeyUsagePurpose],
        days: u32,
    ) -> Result<Pem, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = subject_name(common_name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = uses.to_vec();
        set_validity(&mut params, days);
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pem { certificate, key: key.serialize_pem() })
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject_name("quorate cluster authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, AUTHORITY_DAYS);
    params
}

fn subject_name(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

#[expect(clippy::disallowed_methods, reason = "certificates expire by wall-clock time")]
fn set_validity(params: &mut CertificateParams, days: u32) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    params.not_before = epoch + now.saturating_sub(BACKDATED);
    params.not_after = epoch + (now + DAY * days);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, UnixTime};

    use super::*;
    use crate::tls::server_name;

    fn der(pem: &Pem) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.certificate.as_bytes()).expect("a certificate")
    }

    fn contains(certificate: &[u8], part: &[u8]) -> bool {
        certificate.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn an_authority_says_that_it_is_one() {
        let (authority, pem) = Authority::generate().expect("an authority");
        let certificate = der(&pem);
        assert!(contains(&certificate, b"quorate cluster authority"));
        // Basic constraints: an authority (TRUE) that signs no further authorities (path length 0).
        assert!(contains(&certificate, &[0x30, 6, 1, 1, 0xff, 2, 1, 0]));
        let node = authority.certify(ProcessId::new(4), &[], 1).expect("a certificate");
        assert!(contains(&der(&node), b"quorate node 4"));
        let client = authority.certify_client("web", 1).expect("a certificate");
        assert!(contains(&der(&client), b"quorate client web"));
    }

    #[test]
    fn a_certificate_is_valid_for_its_days_and_an_hour_before() {
        let (authority, pem) = Authority::generate().expect("an authority");
        let node = authority.certify(ProcessId::new(4), &[], 2).expect("a certificate");
        let mut roots = RootCertStore::empty();
        roots.add(der(&pem)).expect("it is an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().expect("a verifier");
        let (name, now) = (server_name(ProcessId::new(4)), UnixTime::now().as_secs());
        let is_valid = |seconds: u64| {
            let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
            verifier.verify_server_cert(&der(&node), &[], &name, &[], at).is_ok()
        };
        let minutes = |count: u64| count * 60;
        assert!(is_valid(now - minutes(59)) && !is_valid(now - minutes(61)));
        assert!(is_valid(now + minutes(47 * 60)) && !is_valid(now + minutes(49 * 60)));
        let again = Authority::from_key(&pem.key).expect("its key");
        let other = again.certify(ProcessId::new(4), &[], 2).expect("a certificate");
        let checked = verifier.verify_server_cert(&der(&other), &[], &name, &[], UnixTime::now());
        assert!(checked.is_ok(), "the key is all that an authority needs");
    }
}
