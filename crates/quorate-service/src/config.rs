//! Configuration file of a node.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use quorate_core::Span;
use quorate_protocol::{ClusterTerms, MEMBERS_MOST, Members, NODE_MOST, QUORUM_SYSTEMS};
use serde::Deserialize;

use crate::auth::ClientConfig;
use crate::core::Quotas;

/// Configuration of a node, read from a TOML file.
///
/// ```toml
/// cluster = "9f2b1c0d5e6f7a8b9c0d1e2f3a4b5c6d"
/// id = 0
/// clients = "127.0.0.1:7480"
/// data = "/var/lib/quorate"
///
/// [peers]
/// 0 = "10.0.0.1:7481"
/// 1 = "10.0.0.2:7481"
/// 2 = "10.0.0.3:7481"
///
/// [tls]
/// authority = "ca.pem"
/// certificate = "node0.pem"
/// key = "node0.key"
///
/// [[client]]
/// name = "ci"
/// token_sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
/// acquire = ["deploy/"]
/// observe = [""]
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Identifier of the cluster in hexadecimal. It is the same on all nodes.
    pub cluster: String,
    /// Number of this node, counted from 0.
    pub id: u32,
    /// Address on which the node listens for clients.
    #[serde(default = "default_clients")]
    pub clients: SocketAddr,
    /// Address (host:port) at which clients reach this node, if it differs from `clients`.
    pub advertise: Option<String>,
    /// Data folder. Without one, a restarted node abstains and then learns the vote numbers from the other nodes.
    pub data: Option<PathBuf>,
    /// Peer addresses of the first members of the cluster, including this node. They only count until the node has started
    /// for the first time. A node that joins a cluster later lists none.
    #[serde(default)]
    pub peers: BTreeMap<String, String>,
    /// Address (host:port) on which the node listens for other nodes, if it differs from the one at which they reach it.
    pub listen: Option<String>,
    /// Certificates. Without them, nodes communicate in plain text, which is allowed on loopback only.
    pub tls: Option<TlsFiles>,
    /// Quorum system: majority, tree or grid-fixed.
    #[serde(default = "default_quorums")]
    pub quorums: String,
    /// Minimum time-to-live of a session, in milliseconds. Like the next two it only counts until the members or the terms
    /// of the cluster have changed for the first time.
    #[serde(default = "default_ttl_least")]
    pub ttl_least_ms: u32,
    /// Maximum time-to-live of a session, in milliseconds. A node that has forgotten its votes abstains for this long.
    /// `lease_ms` is the former name.
    #[serde(default = "default_ttl_most", alias = "lease_ms")]
    pub ttl_most_ms: u32,
    /// Maximum rate by which a clock gains or loses, in parts per million.
    #[serde(default = "default_drift")]
    pub drift_ppm: u32,
    /// Response time that peers are expected to keep, in milliseconds. A slower node is suspected, which costs
    /// time but is safe.
    #[serde(default = "default_answer")]
    pub answer_ms: u64,
    /// Clients that are admitted. If none is named, every client may do everything, which is allowed on loopback only.
    #[serde(default)]
    pub client: Vec<ClientConfig>,
    /// Maximum number of calls per second of one client, or of one connection if no clients are named. Zero means no limit.
    #[serde(default = "default_calls")]
    pub calls_per_second: u32,
    /// Maximum number of sessions through this node.
    #[serde(default = "default_sessions")]
    pub sessions: usize,
    /// Maximum number of relayed requests through this node.
    #[serde(default = "default_requests")]
    pub requests: usize,
    /// Maximum number of connections of clients to this node; fewer if the open-file limit is lower.
    #[serde(default = "default_connections")]
    pub connections: usize,
    /// Maximum number of connections from one address; default: half of `connections`.
    pub connections_per_address: Option<usize>,
    /// Maximum number of sessions of one client through this node; default: a quarter of `sessions`. A client is one named
    /// by `[[client]]`, or an address if none is named.
    pub sessions_per_client: Option<usize>,
    /// Maximum number of requests of one client through this node; default: a quarter of `requests`.
    pub requests_per_client: Option<usize>,
    /// Maximum number of watches of one client through this node.
    #[serde(default = "default_watches")]
    pub watches_per_client: usize,
    /// Maximum number of bytes of names and texts of one client through this node.
    #[serde(default = "default_text_bytes")]
    pub text_bytes_per_client: usize,
    /// Whether clients may use plain text and need no authentication on other addresses than loopback. Only for networks
    /// that keep strangers out.
    #[serde(default)]
    pub plain_clients: bool,
    /// Host names, besides addresses and localhost, by which browsers may call this node.
    #[serde(default)]
    pub names: Vec<String>,
}

/// Paths of a node's certificates, relative to the folder of the configuration file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// Certificate of the cluster's authority.
    pub authority: PathBuf,
    /// Certificate of the node.
    pub certificate: PathBuf,
    /// Private key of the node.
    pub key: PathBuf,
}

fn default_clients() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7480))
}
fn default_quorums() -> String {
    "majority".to_owned()
}
fn default_ttl_least() -> u32 {
    ClusterTerms::default().ttl_least_ms
}
fn default_ttl_most() -> u32 {
    ClusterTerms::default().ttl_most_ms
}
fn default_drift() -> u32 {
    ClusterTerms::default().drift_ppm
}
const fn default_answer() -> u64 {
    250
}
const fn default_calls() -> u32 {
    100_000
}
const fn default_sessions() -> usize {
    100_000
}
const fn default_requests() -> usize {
    1_000_000
}

const fn default_connections() -> usize {
    crate::node::CONNECTIONS
}
fn default_watches() -> usize {
    Quotas::default().watches
}
fn default_text_bytes() -> usize {
    Quotas::default().text_bytes
}

/// Reason why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadConfig {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// Path of the configuration file.
        path: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The file has a syntax error, an unknown key, or a value of the wrong type.
    #[error("{path}:{line}:{column}: {problem}")]
    Syntax {
        /// Path of the configuration file.
        path: String,
        /// Line of the error, counted from one.
        line: usize,
        /// Column of the error in characters, counted from one.
        column: usize,
        /// Description of the problem, on one line.
        problem: String,
        /// The line of the file, and a mark below the place.
        excerpt: String,
    },
    /// The file has an invalid value.
    #[error("{path}: {problem}")]
    Wrong {
        /// Path of the configuration file.
        path: String,
        /// Description of the problem.
        problem: String,
    },
}

/// Maximum number of characters of a line that an error shows.
const EXCERPT_MOST: usize = 120;

/// Shows the place of an error: `FILE:LINE:COLUMN: problem`, the line, and carets below the place.
fn syntax_error(
    path: String,
    text: &str,
    problem: &str,
    span: std::ops::Range<usize>,
) -> BadConfig {
    let start = text.floor_char_boundary(span.start);
    let line = text[..start].matches('\n').count() + 1;
    let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let column = text[begin..start].chars().count() + 1;
    let content: String =
        text[begin..].lines().next().unwrap_or_default().chars().take(EXCERPT_MOST).collect();
    let marked = text[start..text.floor_char_boundary(span.end).max(start)].lines().next();
    let width = marked.map_or(0, |marked| marked.chars().count()).clamp(1, EXCERPT_MOST);
    let (number, indent) = (line.to_string(), " ".repeat(line.to_string().len()));
    let tab = |c: char| if c == '\t' { ' ' } else { c };
    let content: String = content.chars().map(tab).collect();
    let excerpt = format!(
        "{indent} |\n{number} | {content}\n{indent} | {}{}",
        " ".repeat(column.min(EXCERPT_MOST) - 1),
        "^".repeat(width)
    );
    let problem = problem.lines().map(str::trim).collect::<Vec<_>>().join("; ");
    BadConfig::Syntax { path, line, column, problem, excerpt }
}

impl NodeConfig {
    /// Reads a configuration file. Paths in it are relative to its folder.
    // Inline, so that the parser is compiled in the crate that reads the file. It is hardly optimised; this one is, which
    // takes long.
    #[inline]
    pub fn read(path: &Path) -> Result<Self, BadConfig> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| BadConfig::Unreadable { path: shown.clone(), error })?;
        let wrong = |problem: String| BadConfig::Wrong { path: shown.clone(), problem };
        let mut config: Self = toml::from_str(&text).map_err(|error| {
            syntax_error(shown.clone(), &text, error.message(), error.span().unwrap_or_default())
        })?;
        config.validate().map_err(wrong)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        config.data = config.data.map(|data| folder.join(data));
        if let Some(tls) = &mut config.tls {
            for file in [&mut tls.authority, &mut tls.certificate, &mut tls.key] {
                *file = folder.join(&*file);
            }
        }
        Ok(config)
    }

    fn validate(&self) -> Result<(), String> {
        self.cluster_number()?;
        let n = self.peers.len();
        if n > MEMBERS_MOST {
            return Err(format!("a cluster has 1 to {MEMBERS_MOST} nodes, but [peers] lists {n}"));
        }
        if n == 0 && self.listen.is_none() {
            return Err(
                "list the first members of the cluster in [peers], or set `listen` to the address on which a node that \
                 joins waits for them"
                    .to_owned(),
            );
        }
        if n == 0 && self.data.is_none() {
            return Err("a node that joins a cluster needs a data folder: set `data`".to_owned());
        }
        if self.id > NODE_MOST {
            return Err(format!("id = {} is greater than {NODE_MOST}", self.id));
        }
        if let Some(missing) = (0..n).find(|id| !self.peers.contains_key(&id.to_string())) {
            return Err(format!(
                "[peers] lists {n} nodes, but not node {missing}: nodes are numbered from 0"
            ));
        }
        if n > 0 && self.id as usize >= n {
            return Err(format!("id = {} is not one of the {n} nodes of [peers]", self.id));
        }
        self.terms().validate()?;
        if !(1..=u64::from(self.ttl_most_ms) / 4).contains(&self.answer_ms) {
            return Err("answer_ms must be from 1 to a quarter of ttl_most_ms".to_owned());
        }
        if !QUORUM_SYSTEMS.contains(&self.quorums.as_str()) {
            let systems = QUORUM_SYSTEMS.join(", ");
            return Err(format!("quorums = \"{}\" is not one of {systems}", self.quorums));
        }
        if n > 0 {
            self.members().validate()?;
        }
        if self.connections < 2 || self.connections_per_address == Some(0) {
            return Err(
                "connections must be at least 2, and connections_per_address at least 1".to_owned()
            );
        }
        self.client.iter().try_for_each(ClientConfig::validate)?;
        let elsewhere = !self.clients.ip().is_loopback() && !self.plain_clients;
        if elsewhere && self.tls.is_none() {
            return Err(format!(
                "clients = \"{}\" is not loopback: set [tls] certificates, or plain_clients = true",
                self.clients
            ));
        }
        if elsewhere && self.client.is_empty() {
            return Err(format!(
                "clients = \"{}\" is not loopback: list the clients with [[client]], or set plain_clients = true",
                self.clients
            ));
        }
        Ok(())
    }

    /// Parses the identifier of the cluster.
    pub fn cluster_number(&self) -> Result<u128, String> {
        u128::from_str_radix(&self.cluster, 16)
            .map_err(|_| "cluster must be a number of 1 to 32 hexadecimal digits".to_owned())
    }

    /// Returns the first members of the cluster; none if the node joins a cluster.
    pub fn members(&self) -> Members {
        let of = |id: usize| self.peers.get(&id.to_string()).cloned().unwrap_or_default();
        Members::numbered((0..self.peers.len()).map(of), &self.quorums).with_terms(self.terms())
    }

    /// Returns the terms that the cluster has at first.
    pub const fn terms(&self) -> ClusterTerms {
        ClusterTerms::new(self.ttl_least_ms, self.ttl_most_ms, self.drift_ppm)
    }

    /// Returns the limits of one client.
    pub fn quotas(&self) -> Quotas {
        Quotas {
            sessions: self.sessions_per_client.unwrap_or(self.sessions.div_ceil(4)),
            requests: self.requests_per_client.unwrap_or(self.requests.div_ceil(4)),
            watches: self.watches_per_client,
            text_bytes: self.text_bytes_per_client,
        }
    }

    /// Returns the response times of peers that the failure detector assumes.
    pub fn delay_bounds(&self) -> quorate_core::DelayBounds {
        let bound = Span::from_millis(self.answer_ms);
        quorate_core::DelayBounds { delay: bound, bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Error of a file with this text.
    fn error_of(text: &str) -> (String, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("node.toml");
        std::fs::write(&path, text).expect("a disk");
        let error = NodeConfig::read(&path).expect_err("a wrong file");
        let shown = error.to_string().replace(&path.display().to_string(), "FILE");
        match error {
            BadConfig::Syntax { excerpt, .. } => (shown, excerpt),
            _ => (shown, String::new()),
        }
    }

    #[test]
    fn errors_show_the_line_and_a_mark_below_the_place() {
        let (error, excerpt) = error_of("cluster = \"ab\"\nid = \"x\"\n[peers]\n");
        assert!(error.starts_with("FILE:2:6: invalid type"), "{error}");
        assert_eq!(excerpt, "  |\n2 | id = \"x\"\n  |      ^^^");
        let (error, excerpt) = error_of("\n\n\tclint\u{e9} = 1\n");
        assert!(error.starts_with("FILE:3:"), "{error}");
        assert_eq!(excerpt.lines().count(), 3, "{excerpt}");
        let (error, excerpt) = error_of("cluster = \"ab\nid = 1");
        assert!(error.starts_with("FILE:1:") && !error.contains('\n'), "{error}");
        assert!(excerpt.contains("1 | cluster = \"ab\n"), "{excerpt}");
        let long = format!("cluster = \"{}\" x", "a".repeat(5_000));
        assert!(error_of(&long).1.lines().all(|line| line.chars().count() < 400));
    }

    #[test]
    fn values_that_do_not_fit_name_their_key() {
        let text = "cluster = \"ab\"\nid = 3\n[peers]\n0 = \"a:1\"\n";
        assert_eq!(error_of(text).0, "FILE: id = 3 is not one of the 1 nodes of [peers]");
    }
}
