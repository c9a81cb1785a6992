//! The certificate files of a cluster: created if they are missing, renewed on request, and never overwritten otherwise.
//!
//! A directory contains `ca.pem` and `ca.key`, and for each node `node-3.pem` and `node-3.key`. Keys are readable by their
//! owner only. A node needs `ca.pem` and its own two files. `ca.key` must not be stored on any node.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use quorate_core::ProcessId;
use rustls::pki_types::ServerName;

use crate::authority::{Authority, Pem};

/// Specification of the certificates to create.
#[derive(Clone, Debug)]
pub struct CertsSpec {
    /// Each node, and the host names and addresses at which it is reached, in addition to the name that nodes use.
    pub nodes: Vec<(ProcessId, Vec<String>)>,
    /// Clients that authenticate themselves with a certificate.
    pub clients: Vec<String>,
    /// Validity of new certificates of nodes and clients, in days.
    pub days: u32,
    /// Whether existing certificates of nodes and clients are renewed.
    pub renew: bool,
}

/// Whether a certificate was created, renewed or kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueOutcome {
    /// The certificate did not exist and was created.
    Made,
    /// The certificate existed and was renewed on request.
    Renewed,
    /// The certificate existed and was kept.
    Kept,
}

/// The subject of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSubject {
    /// The authority of the cluster.
    Authority,
    /// A node of the cluster.
    Node(ProcessId),
    /// A client with this name.
    Client(String),
}

/// A certificate in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateEntry {
    /// The subject of the certificate.
    pub subject: CertificateSubject,
    /// Whether it was created, renewed or kept.
    pub outcome: IssueOutcome,
    /// Path of the certificate.
    pub certificate: PathBuf,
    /// Path of the private key.
    pub key: PathBuf,
}

/// Reason why certificates could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// I/O error of the operating system.
        source: io::Error,
    },
    /// One file of a certificate and its key is missing.
    #[error("{} exists, but {} does not: put it back, or remove the former", present.display(), missing.display())]
    IncompletePair {
        /// The file that exists.
        present: PathBuf,
        /// The file that is missing.
        missing: PathBuf,
    },
    /// A host name or address is invalid.
    #[error("`{0}` is neither a host name nor an IP address")]
    Name(String),
    /// The name of a client is invalid.
    #[error("`{0}` is not a valid client name: use 1 to 60 lowercase letters, digits and hyphens")]
    Client(String),
    /// A key or certificate is invalid.
    #[error("{context}: {source}")]
    Invalid {
        /// The invalid item, or its path.
        context: String,
        /// Error of the certificate library.
        source: rcgen::Error,
    },
}

/// Creates the missing certificates of the authority, the nodes and the clients. On request, renews those of nodes and
/// clients that exist.
pub fn make(directory: &Path, spec: &CertsSpec) -> Result<Vec<CertificateEntry>, CertsError> {
    let mut names = spec.nodes.iter().flat_map(|(_, names)| names);
    if let Some(wrong) = names.find(|name| !is_host_name(name)) {
        return Err(CertsError::Name(wrong.clone()));
    }
    if let Some(wrong) = spec.clients.iter().find(|client| !is_client_name(client)) {
        return Err(CertsError::Client(wrong.clone()));
    }
    fs::create_dir_all(directory)
        .map_err(|source| CertsError::File { path: directory.to_owned(), source })?;
    let pair = KeyPairFiles::named(directory, "ca");
    let (authority, outcome) = if pair.exists()? {
        (load_authority(&pair)?, IssueOutcome::Kept)
    } else {
        let (authority, pem) = Authority::generate().map_err(invalid("a new authority"))?;
        pair.write(&pem)?;
        (authority, IssueOutcome::Made)
    };
    let mut entries = vec![pair.entry(CertificateSubject::Authority, outcome)];
    for (node, names) in &spec.nodes {
        let pair = KeyPairFiles::named(directory, &format!("node-{}", node.number()));
        let names: Vec<String> =
            names.iter().cloned().chain(LOCAL_NAMES.map(str::to_owned)).collect();
        let outcome = issue(&pair, spec.renew, || authority.certify(*node, &names, spec.days))?;
        entries.push(pair.entry(CertificateSubject::Node(*node), outcome));
    }
    for client in &spec.clients {
        let pair = KeyPairFiles::named(directory, &format!("client-{client}"));
        let sign = || authority.certify_client(client, spec.days);
        let outcome = issue(&pair, spec.renew, sign)?;
        entries.push(pair.entry(CertificateSubject::Client(client.clone()), outcome));
    }
    Ok(entries)
}

/// Local names in every node's certificate: a node is also reached from its own machine.
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Creates a pair if there is none, or replaces it if `renew` is set.
fn issue(
    pair: &KeyPairFiles,
    renew: bool,
    sign: impl FnOnce() -> Result<Pem, rcgen::Error>,
) -> Result<IssueOutcome, CertsError> {
    let outcome = match (pair.exists()?, renew) {
        (false, _) => IssueOutcome::Made,
        (true, true) => IssueOutcome::Renewed,
        (true, false) => IssueOutcome::Kept,
    };
    if outcome != IssueOutcome::Kept {
        let context = pair.certificate.display().to_string();
        pair.write(&sign().map_err(invalid(&context))?)?;
    }
    Ok(outcome)
}

/// Whether this name is permitted for a client.
fn is_client_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=60).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('-')
}

/// Whether this is a host name or an address. Names by which nodes identify each other are refused: otherwise a node could
/// impersonate another.
fn is_host_name(name: &str) -> bool {
    ServerName::try_from(name).is_ok() && !name.to_ascii_lowercase().ends_with(".quorate.internal")
}

fn load_authority(pair: &KeyPairFiles) -> Result<Authority, CertsError> {
    let key = fs::read_to_string(&pair.key)
        .map_err(|source| CertsError::File { path: pair.key.clone(), source })?;
    Authority::from_key(&key).map_err(invalid(&pair.key.display().to_string()))
}

fn invalid(context: &str) -> impl FnOnce(rcgen::Error) -> CertsError {
    let context = context.to_owned();
    |source| CertsError::Invalid { context, source }
}

/// The files of a certificate and its key.
struct KeyPairFiles {
    certificate: PathBuf,
    key: PathBuf,
}

impl KeyPairFiles {
    fn named(directory: &Path, name: &str) -> Self {
        Self {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}.key")),
        }
    }

    fn exists(&self) -> Result<bool, CertsError> {
        let incomplete = |present: &PathBuf, missing: &PathBuf| {
            Err(CertsError::IncompletePair { present: present.clone(), missing: missing.clone() })
        };
        match (self.certificate.exists(), self.key.exists()) {
            (true, false) => incomplete(&self.certificate, &self.key),
            (false, true) => incomplete(&self.key, &self.certificate),
            (both, _) => Ok(both),
        }
    }

    /// Writes the key first: a node that reloads between the two writes finds a pair that does not match, and keeps its
    /// current certificates.
    fn write(&self, pem: &Pem) -> Result<(), CertsError> {
        replace(&self.key, &pem.key, 0o600)?;
        replace(&self.certificate, &pem.certificate, 0o644)
    }

    fn entry(&self, subject: CertificateSubject, outcome: IssueOutcome) -> CertificateEntry {
        CertificateEntry {
            subject,
            outcome,
            certificate: self.certificate.clone(),
            key: self.key.clone(),
        }
    }
}

/// Sets the mode of a new file, on systems that have one.
#[cfg(unix)]
fn with_mode(options: &mut fs::OpenOptions, mode: u32) -> &mut fs::OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, mode)
}

#[cfg(not(unix))]
fn with_mode(options: &mut fs::OpenOptions, _: u32) -> &mut fs::OpenOptions {
    options
}

/// Writes a temporary file and renames it, so that a partially written file is never read.
fn replace(path: &Path, text: &str, mode: u32) -> Result<(), CertsError> {
    let temporary = path.with_extension("new");
    let write = || {
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = fs::OpenOptions::new();
        let mut file = with_mode(options.write(true).create_new(true), mode).open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|source| CertsError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(nodes: u32, renew: bool) -> CertsSpec {
        let nodes = (0..nodes).map(|node| (ProcessId::new(node), Vec::new())).collect();
        CertsSpec { nodes, clients: Vec::new(), days: 1, renew }
    }

    fn outcomes(entries: &[CertificateEntry]) -> Vec<IssueOutcome> {
        entries.iter().map(|entry| entry.outcome).collect()
    }

    #[test]
    fn what_is_there_is_kept_until_it_is_to_be_renewed() {
        use IssueOutcome::{Kept, Made, Renewed};
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        assert_eq!(outcomes(&make(path, &spec(1, false)).expect("made")), [Made, Made]);
        let before = fs::read(path.join("node-0.pem")).expect("there");
        assert_eq!(outcomes(&make(path, &spec(2, false)).expect("made")), [Kept, Kept, Made]);
        assert_eq!(fs::read(path.join("node-0.pem")).expect("there"), before);
        assert_eq!(outcomes(&make(path, &spec(1, true)).expect("made")), [Kept, Renewed]);
        assert_ne!(fs::read(path.join("node-0.pem")).expect("there"), before);
    }

    #[test]
    fn a_name_that_makes_no_sense_or_is_another_nodes_is_refused_before_anything_is_made() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("new");
        for name in ["not a name!", "node-1.quorate.internal"] {
            let nodes = vec![(ProcessId::new(0), vec![name.to_owned()])];
            let spec = CertsSpec { nodes, clients: Vec::new(), days: 1, renew: false };
            let why = make(&path, &spec).expect_err("no name");
            assert!(why.to_string().contains(name), "{why}");
        }
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn keys_are_their_owners_secret() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        for entry in make(directory.path(), &spec(1, false)).expect("made") {
            let mode = fs::metadata(&entry.key).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn half_a_pair_is_nothing_to_build_on() {
        let directory = tempfile::tempdir().expect("a directory");
        make(directory.path(), &spec(1, false)).expect("made");
        fs::remove_file(directory.path().join("ca.key")).expect("there");
        let why = make(directory.path(), &spec(2, false)).expect_err("no key to sign with");
        assert!(why.to_string().contains("ca.key does not: put it back"), "{why}");
    }

    #[test]
    fn names_of_hosts_and_clients_are_checked() {
        let directory = tempfile::tempdir().expect("a directory");
        let hosts = ["host-1", "10.0.0.1", "a.example"].map(str::to_owned).to_vec();
        let clients = ["a".repeat(60), "web-1".to_owned()].to_vec();
        let valid =
            CertsSpec { nodes: vec![(ProcessId::new(0), hosts)], clients, ..spec(0, false) };
        assert_eq!(make(directory.path(), &valid).expect("valid names").len(), 4);
        for client in ["", "-web", "Web", "w_b", &"a".repeat(61)] {
            let invalid = CertsSpec { clients: vec![client.to_owned()], ..spec(0, false) };
            let why = make(directory.path(), &invalid).expect_err("an invalid name").to_string();
            assert!(why.contains(&format!("`{client}` is not a valid client name")), "{why}");
        }
    }
}
