//! Backends and their addresses: `quorate://a:7480,b:7480`, `etcd://127.0.0.1:2379`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The system that grants the locks, and its endpoints. Parsed from `quorate://HOST:PORT`, `etcd://HOST:PORT`, or
/// `etcds://HOST:PORT` for etcd with TLS. Several `HOST:PORT` separated by commas are tried in turn. `HOST:PORT` alone is
/// quorate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The kind of system.
    pub kind: BackendKind,
    /// The endpoints, each as `HOST:PORT`.
    pub endpoints: Vec<String>,
}

/// The kind of system that grants the locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendKind {
    /// A cluster of quorate; plain text or TLS, depending on the credentials.
    Quorate,
    /// A cluster of etcd, in plain text.
    Etcd,
    /// A cluster of etcd, with TLS.
    EtcdTls,
}

/// Error in the address of a backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBackend {
    /// The scheme is unknown.
    #[error("`{0}://` is not supported; use quorate://, etcd:// or, with TLS, etcds://")]
    Scheme(String),
    /// The endpoint is not `HOST:PORT`.
    #[error(
        "`{0}` is not HOST:PORT, as in 127.0.0.1:7480, quorate://[::1]:7480 or etcd://127.0.0.1:2379"
    )]
    Endpoint(String),
}

impl BackendKind {
    /// Actual time-to-live of a session for which `asked` is requested. etcd counts whole seconds, at least two.
    pub fn ttl(self, asked: Duration) -> Duration {
        match self {
            Self::Quorate => asked,
            Self::Etcd | Self::EtcdTls => {
                let more = u64::from(asked.subsec_nanos() > 0);
                Duration::from_secs(asked.as_secs().saturating_add(more).max(2))
            }
        }
    }

    fn scheme(self) -> &'static str {
        match self {
            Self::Quorate => "quorate",
            Self::Etcd => "etcd",
            Self::EtcdTls => "etcds",
        }
    }
}

impl FromStr for Backend {
    type Err = BadBackend;

    fn from_str(text: &str) -> Result<Self, BadBackend> {
        let (scheme, rest) = text.trim().split_once("://").unwrap_or(("quorate", text.trim()));
        // A node serves HTTP at the same port, and prints its address so.
        let scheme = if ["http", "https"].contains(&scheme) { "quorate" } else { scheme };
        let known = [BackendKind::Quorate, BackendKind::Etcd, BackendKind::EtcdTls];
        let kind = known.into_iter().find(|kind| kind.scheme() == scheme);
        let kind = kind.ok_or_else(|| BadBackend::Scheme(scheme.to_owned()))?;
        let endpoints = rest.trim_end_matches('/').split(',').map(endpoint);
        Ok(Self { kind, endpoints: endpoints.collect::<Result<_, _>>()? })
    }
}

fn endpoint(text: &str) -> Result<String, BadBackend> {
    let text = text.trim();
    let bad = || BadBackend::Endpoint(text.to_owned());
    let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
    let named = !host.is_empty()
        && host.chars().all(|c| c.is_alphanumeric() || "-._".contains(c))
        && !host.starts_with(['-', '.']);
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let numbered = inner.is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
    match (named || numbered) && port.parse::<u16>().is_ok_and(|port| port > 0) {
        true => Ok(text.to_owned()),
        false => Err(bad()),
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.kind.scheme(), self.endpoints.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(BackendKind, Vec<String>), BadBackend> {
        text.parse().map(|Backend { kind, endpoints }| (kind, endpoints))
    }

    #[test]
    fn who_and_where_are_read() {
        let one = |endpoint: &str| vec![endpoint.to_owned()];
        assert_eq!(read("127.0.0.1:7480"), Ok((BackendKind::Quorate, one("127.0.0.1:7480"))));
        assert_eq!(read("quorate://[::1]:7480/"), Ok((BackendKind::Quorate, one("[::1]:7480"))));
        assert_eq!(read("etcds://etcd.example.org:2379"), {
            Ok((BackendKind::EtcdTls, one("etcd.example.org:2379")))
        });
        let three = read("etcd://a:1, b:2,c_d:65535").expect("three members");
        assert_eq!(
            three,
            (BackendKind::Etcd, vec!["a:1".into(), "b:2".into(), "c_d:65535".into()])
        );
        assert_eq!(read("http://a:7480/"), Ok((BackendKind::Quorate, one("a:7480"))));
        let shown: Backend = "etcd://a:1,b:2".parse().expect("two members");
        assert_eq!(shown.to_string(), "etcd://a:1,b:2");
    }

    #[test]
    fn what_is_neither_is_refused_with_a_way_out() {
        let unknown = read("consul://a:1").expect_err("nothing that is known");
        assert!(unknown.to_string().contains("etcd://"), "{unknown}");
        for bad in [
            "",
            "etcd://",
            "etcd://a",
            "etcd://:1",
            "etcd://a:0",
            "etcd://a:65536",
            "etcd://a:1,",
            "etcd://a:1/b",
            "etcd://user:word@a:1",
            "etcd://::1:2379",
            "etcd://[a]:1",
            "a b:1",
        ] {
            let error = read(bad).expect_err(bad);
            assert!(matches!(error, BadBackend::Endpoint(_)), "{bad}: {error}");
        }
    }

    #[test]
    fn etcd_counts_whole_seconds_from_two_up() {
        let ttl = |ms| BackendKind::Etcd.ttl(Duration::from_millis(ms)).as_secs();
        assert_eq!([0, 1_000, 2_000, 2_001, 10_000].map(ttl), [2, 2, 2, 3, 10]);
        let ms = Duration::from_millis(1_500);
        assert_eq!(BackendKind::Quorate.ttl(ms), ms);
    }
}
