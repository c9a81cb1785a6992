//! Configuration of a node: its identity, its peers and its limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_core::{ProcessId, Versions};

use crate::hello::{ClusterId, Incarnation};
use crate::limits::{InvalidLimits, Limits};
use crate::tls::Tls;

/// Versions of the frames that this build supports.
pub const FRAME_VERSIONS: Versions = Versions::only(1);

/// Configuration of a [`Mesh`](crate::Mesh).
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// Identifier of the cluster.
    pub cluster: ClusterId,
    /// Number of this node.
    pub me: ProcessId,
    /// Incarnation of this node: greater than that of every earlier start, and not zero.
    pub incarnation: Incarnation,
    /// Addresses of the other nodes, as `host:port`. An entry for this node itself is ignored.
    pub peers: BTreeMap<ProcessId, String>,
    /// Whether this node does not know its peers yet. Until the owner names some, nodes of its cluster with lower numbers may
    /// connect.
    pub joins: bool,
    /// Transport security of connections.
    pub security: Security,
    /// Supported versions of the owner's messages.
    pub messages: Versions,
    /// Supported versions of frames. Only tests set fewer than this build supports.
    pub frames: Versions,
    /// Size limits and timeouts.
    pub limits: Limits,
    /// Seed of the jitter between redials: equal seeds give equal pauses.
    pub seed: u64,
}

/// Transport security of connections.
#[derive(Clone)]
pub enum Security {
    /// Mutual TLS with certificates of the cluster's authority.
    Tls(Arc<Tls>),
    /// Plain text. Permitted only between processes of one machine.
    Plain,
}

/// Reason why a mesh cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The limits contradict each other.
    #[error("the limits are inconsistent: {0}")]
    Limits(#[from] InvalidLimits),
    /// The incarnation is zero.
    #[error("the number of an incarnation must not be zero")]
    Incarnation,
    /// The oldest version of a range is newer than its newest one.
    #[error("the range of versions {0} is empty")]
    Versions(Versions),
    /// The certificate belongs to another node.
    #[error("the certificate is not valid for {0}: use the one that was issued for this node")]
    Certificate(String),
    /// Plain text is configured, but the listener is reachable from other machines.
    #[error(
        "plain TCP is allowed on one machine only, and {0} is reachable from other machines: use certificates"
    )]
    NotHostLocal(std::net::SocketAddr),
    /// The address of the listener is unknown.
    #[error("the listener has no address: {0}")]
    Listener(std::io::Error),
}

impl Config {
    /// Configuration with the default limits and an incarnation from the clock.
    pub fn new(
        cluster: ClusterId,
        me: ProcessId,
        peers: impl IntoIterator<Item = (ProcessId, String)>,
        security: Security,
    ) -> Self {
        let incarnation = Incarnation::from_clock();
        Self {
            cluster,
            me,
            incarnation,
            peers: peers.into_iter().collect(),
            joins: false,
            security,
            messages: Versions::only(1),
            frames: FRAME_VERSIONS,
            limits: Limits::default(),
            seed: incarnation.0,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), StartError> {
        self.limits.validate()?;
        if self.incarnation.0 == 0 {
            return Err(StartError::Incarnation);
        }
        if let Some(&wrong) =
            [self.frames, self.messages].iter().find(|range| range.oldest > range.newest)
        {
            return Err(StartError::Versions(wrong));
        }
        match &self.security {
            Security::Tls(tls) if !tls.is_for(self.me) => {
                Err(StartError::Certificate(crate::tls::node_name(self.me)))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Authority;

    fn config() -> Config {
        Config::new(ClusterId(1), ProcessId::new(1), [], Security::Plain)
    }

    fn why(config: &Config) -> String {
        config.validate().expect_err("an invalid configuration").to_string()
    }

    #[test]
    fn every_part_of_a_configuration_is_checked() {
        assert!(config().validate().is_ok());
        let mut events = config();
        events.limits.events = 0;
        assert!(why(&events).contains("limits"), "{}", why(&events));
        let stopped = Config { incarnation: Incarnation(0), ..config() };
        assert!(why(&stopped).contains("incarnation"), "{}", why(&stopped));
        for (frames, messages) in [((2, 1), (1, 1)), ((1, 1), (3, 2))] {
            let range = |(oldest, newest)| Versions { oldest, newest };
            let empty = Config { frames: range(frames), messages: range(messages), ..config() };
            assert!(why(&empty).contains("is empty"), "{}", why(&empty));
        }
    }

    #[test]
    fn a_certificate_of_another_node_is_refused() {
        let (authority, ca) = Authority::generate().expect("an authority");
        let certify =
            |node| authority.certify(ProcessId::new(node), &[], 1).expect("a certificate");
        let secured = |node| {
            let pem = certify(node);
            let (certificate, key) = (pem.certificate.as_bytes(), pem.key.as_bytes());
            let tls = Tls::from_pem(ca.certificate.as_bytes(), certificate, key);
            Config { security: Security::Tls(Arc::new(tls.expect("it fits"))), ..config() }
        };
        assert!(secured(1).validate().is_ok());
        assert!(why(&secured(2)).contains("node-1.quorate.internal"), "{}", why(&secured(2)));
    }
}
