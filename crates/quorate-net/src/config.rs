//! Who a node is, whom it talks to and how.

use std::collections::BTreeMap;
use std::sync::Arc;

use quorate_core::ProcessId;

use crate::hello::{ClusterId, Incarnation};
use crate::limits::{InvalidLimits, Limits};
use crate::terms::Terms;
use crate::tls::Tls;
use crate::versions::{FRAME_VERSIONS, Versions};

/// What a mesh needs to know.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// The cluster.
    pub cluster: ClusterId,
    /// Who this node is.
    pub me: ProcessId,
    /// Which life of it this is; larger than all before, and not zero.
    pub incarnation: Incarnation,
    /// The other nodes and where they wait for connections, `host:port`. An entry of this node itself is not looked at.
    pub peers: BTreeMap<ProcessId, String>,
    /// How connections are protected.
    pub security: Security,
    /// The versions of the owner's messages that are understood.
    pub messages: Versions,
    /// The versions of frames that are spoken; fewer than this build knows only in tests.
    pub frames: Versions,
    /// The terms of the cluster, equal on all its nodes.
    pub terms: Terms,
    /// Bounds of everything.
    pub limits: Limits,
    /// Where the jitter of redialling comes from: equal seeds make equal pauses.
    pub seed: u64,
}

/// How connections are protected.
#[derive(Clone)]
pub enum Security {
    /// Mutual TLS with the authority of the cluster.
    Tls(Arc<Tls>),
    /// Not at all: for processes on one machine only, and only when asked for.
    Plain,
}

/// Why a mesh cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Limits that contradict each other.
    #[error("the limits make no sense: {0}")]
    Limits(#[from] InvalidLimits),
    /// Zero is no life.
    #[error("the number of an incarnation must not be zero")]
    Incarnation,
    /// A range of versions that is upside down.
    #[error("the versions {0} make no sense")]
    Versions(Versions),
    /// The certificate belongs to somebody else.
    #[error("the certificate is not good for {0}: use the one that was made for this node")]
    Certificate(String),
    /// In plain text beyond this machine.
    #[error(
        "plain TCP is for one machine only, and {0} can be reached from elsewhere: use certificates"
    )]
    NotHostLocal(std::net::SocketAddr),
    /// It cannot listen.
    #[error("the listener has no address: {0}")]
    Listener(std::io::Error),
}

impl Config {
    /// A node with the default limits and the clock's incarnation.
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
            security,
            messages: Versions::only(1),
            frames: FRAME_VERSIONS,
            terms: Terms::default(),
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
