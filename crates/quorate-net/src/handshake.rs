//! The handshake on both sides: TLS, [`Hello`]; or a refusal with a reason.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use quorate_core::ProcessId;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::config::Security;
use crate::hello::{self, Hello, HelloError, HelloReply, PREFIX, Welcome};
use crate::link::{Link, SlotClaim};
use crate::network::{Connection, Stream};
use crate::refusal::{Refusal, RefusalReason};
use crate::shared::{Phase, Shared};
use crate::tls;

/// Reason why a connection was not established.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("TLS handshake failed: {0}")]
    Tls(io::Error),
    #[error("{0}")]
    InvalidHello(#[from] HelloError),
    #[error("plain TCP is allowed on one machine only, and {0} is another machine")]
    NotHostLocal(SocketAddr),
    #[error("refused by the peer: {0}")]
    RefusedByPeer(Refusal),
    #[error("refused: {0}")]
    RefusedByUs(Refusal),
    #[error("the handshake timed out")]
    TimedOut,
    #[error("superseded by a newer connection")]
    Superseded,
}

/// A connection that has completed its handshake and holds the slot of its link.
pub(crate) struct Established {
    pub(crate) link: Arc<Link>,
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) claim: SlotClaim,
    /// Negotiated version of the owner's messages.
    pub(crate) version: u16,
    /// Held until the connection has ended.
    pub(crate) slot: OwnedMutexGuard<()>,
}

/// Connects to a peer and performs the handshake.
pub(crate) async fn dial(shared: &Shared, link: &Arc<Link>) -> Result<Established, HandshakeError> {
    let claim = link.claim();
    let slot = claim.acquire_slot().await.ok_or(HandshakeError::Superseded)?;
    let address = link.state().address.clone();
    let connecting = shared.network.connect(&address);
    let connection = timeout(shared.config.limits.connect, connecting)
        .await
        .map_err(|_| HandshakeError::TimedOut)??;
    let mut stream = secure_dialled(shared, connection, link.peer).await?;
    stream.write_all(&hello(shared, link).encode()).await?;
    stream.flush().await?;
    let welcome = match HelloReply::decode(&read_message(&mut stream).await?)? {
        HelloReply::Welcome(welcome) => welcome,
        HelloReply::Refused(refusal) => return Err(HandshakeError::RefusedByPeer(refusal)),
    };
    let config = &shared.config;
    if !config.frames.contains(welcome.frames) || !config.messages.contains(welcome.messages) {
        let detail = format!(
            "the peer chose unsupported versions: frames {}, messages {}",
            welcome.frames, welcome.messages
        );
        return Err(HandshakeError::RefusedByUs(Refusal::new(RefusalReason::Frames, detail)));
    }
    reconcile(shared, link, welcome.incarnation, welcome.received)
        .map_err(HandshakeError::RefusedByUs)?;
    Ok(Established { link: Arc::clone(link), stream, claim, version: welcome.messages, slot })
}

/// Performs the handshake with a peer that has connected.
pub(crate) async fn respond(
    shared: &Shared,
    connection: Connection,
) -> Result<Established, HandshakeError> {
    let (mut stream, certificate) = secure_accepted(shared, connection).await?;
    let answered = match read_message(&mut stream).await {
        Ok(bytes) => accept_hello(shared, &bytes, certificate.as_ref()).await,
        Err(HandshakeError::InvalidHello(why)) => Err(HandshakeError::RefusedByUs(Refusal::new(
            RefusalReason::NotQuorate,
            why.to_string(),
        ))),
        Err(failure) => Err(failure),
    };
    let (link, claim, slot, welcome) = match answered {
        Ok(established) => established,
        Err(HandshakeError::RefusedByUs(refusal)) => {
            stream.write_all(&HelloReply::Refused(refusal.clone()).encode()).await?;
            stream.shutdown().await?;
            return Err(HandshakeError::RefusedByUs(refusal));
        }
        Err(failure) => return Err(failure),
    };
    let version = welcome.messages;
    stream.write_all(&HelloReply::Welcome(welcome).encode()).await?;
    stream.flush().await?;
    Ok(Established { link, stream, claim, version, slot })
}

type AcceptedHello = (Arc<Link>, SlotClaim, OwnedMutexGuard<()>, Welcome);

/// Checks a [`Hello`] and reconciles the delivery state; returns the link, its slot and the answer.
async fn accept_hello(
    shared: &Shared,
    bytes: &[u8],
    certificate: Option<&CertificateDer<'static>>,
) -> Result<AcceptedHello, HandshakeError> {
    let hello = Hello::decode(bytes)?;
    let (frames, messages, link) =
        check_hello(shared, &hello, certificate).map_err(HandshakeError::RefusedByUs)?;
    let claim = link.claim();
    let slot = claim.acquire_slot().await.ok_or(HandshakeError::Superseded)?;
    reconcile(shared, &link, hello.incarnation, hello.received)
        .map_err(HandshakeError::RefusedByUs)?;
    let received = link.state().delivery.received();
    let welcome = Welcome { frames, messages, incarnation: shared.config.incarnation, received };
    Ok((link, claim, slot, welcome))
}

/// Returns the versions of frames and messages and the link of the peer, if everything in its [`Hello`] fits.
fn check_hello(
    shared: &Shared,
    hello: &Hello,
    certificate: Option<&CertificateDer<'static>>,
) -> Result<(u16, u16, Arc<Link>), Refusal> {
    let (config, from) = (&shared.config, hello.from);
    let refuse = |reason, detail| Err(Refusal::new(reason, detail));
    let Some(frames) = config.frames.common(hello.frames) else {
        let (mine, theirs) = (config.frames, hello.frames);
        return refuse(
            RefusalReason::Frames,
            format!("{from} speaks versions {theirs} of the frames, {} speaks {mine}", config.me),
        );
    };
    let Some(messages) = config.messages.common(hello.messages) else {
        let (mine, theirs) = (config.messages, hello.messages);
        return refuse(
            RefusalReason::Messages,
            format!("{from} speaks versions {theirs} of the messages, {} speaks {mine}", config.me),
        );
    };
    if hello.cluster != config.cluster {
        let (theirs, mine) = (hello.cluster, config.cluster);
        return refuse(
            RefusalReason::Cluster,
            format!("{from} belongs to cluster {theirs}, {} to {mine}", config.me),
        );
    }
    // The identity is verified before any answer reveals which nodes are configured.
    if certificate.is_some_and(|certificate| !tls::belongs_to(certificate, from)) {
        let needed = tls::node_name(from);
        return refuse(
            RefusalReason::Certificate,
            format!("the presented certificate is not valid for {needed}"),
        );
    }
    if hello.to != config.me {
        return refuse(
            RefusalReason::Addressee,
            format!("{from} wants to connect to {}, this is {}", hello.to, config.me),
        );
    }
    let Some(link) = shared.link_from(from) else {
        return refuse(
            RefusalReason::Unknown,
            format!("{from} is not a member of the cluster, as far as {} knows", config.me),
        );
    };
    if from > config.me {
        return refuse(
            RefusalReason::Direction,
            format!("{} dials {from}, not the other way round", config.me),
        );
    }
    if *shared.phase.borrow() != Phase::Running {
        return refuse(RefusalReason::Stopping, format!("{} is stopping", config.me));
    }
    Ok((frames, messages, link))
}

fn hello(shared: &Shared, link: &Link) -> Hello {
    let config = &shared.config;
    Hello {
        frames: config.frames,
        messages: config.messages,
        cluster: config.cluster,
        from: config.me,
        to: link.peer,
        incarnation: config.incarnation,
        received: link.state().delivery.received(),
    }
}

fn reconcile(
    shared: &Shared,
    link: &Link,
    theirs: hello::Incarnation,
    received: Option<hello::Received>,
) -> Result<(), Refusal> {
    let reconciliation =
        link.state().delivery.reconcile(shared.config.incarnation, theirs, received)?;
    link.free(reconciliation.freed);
    if reconciliation.dropped > 0 {
        tracing::info!(peer = %link.peer, dropped = reconciliation.dropped, "the peer has lost its memory; messages for its previous incarnation are dropped");
    }
    Ok(())
}

async fn read_message(stream: &mut Box<dyn Stream>) -> Result<BytesMut, HandshakeError> {
    let mut prefix = [0; PREFIX];
    stream.read_exact(&mut prefix).await?;
    let mut bytes = BytesMut::zeroed(hello::length(prefix)?);
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn secure_dialled(
    shared: &Shared,
    (stream, address): Connection,
    peer: ProcessId,
) -> Result<Box<dyn Stream>, HandshakeError> {
    match &shared.config.security {
        Security::Plain => plain(shared, stream, address),
        Security::Tls(tls) => {
            let connector = TlsConnector::from(Arc::clone(&tls.identity().client));
            let stream = connector.connect(tls::server_name(peer), stream).await;
            Ok(Box::new(stream.map_err(HandshakeError::Tls)?))
        }
    }
}

async fn secure_accepted(
    shared: &Shared,
    (stream, address): Connection,
) -> Result<(Box<dyn Stream>, Option<CertificateDer<'static>>), HandshakeError> {
    match &shared.config.security {
        Security::Plain => Ok((plain(shared, stream, address)?, None)),
        Security::Tls(tls) => {
            let acceptor = TlsAcceptor::from(Arc::clone(&tls.identity().server));
            let stream = acceptor.accept(stream).await.map_err(HandshakeError::Tls)?;
            let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let certificate = shown.cloned().ok_or_else(|| {
                HandshakeError::Tls(io::Error::other("the peer presented no certificate"))
            })?;
            Ok((Box::new(stream), Some(certificate.into_owned())))
        }
    }
}

fn plain(
    shared: &Shared,
    stream: Box<dyn Stream>,
    address: SocketAddr,
) -> Result<Box<dyn Stream>, HandshakeError> {
    if shared.network.is_host_local(address.ip()) {
        Ok(stream)
    } else {
        Err(HandshakeError::NotHostLocal(address))
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;
    use crate::config::Config;
    use crate::delivery::DeliveryState;
    use crate::hello::{ClusterId, Incarnation};
    use crate::network::Tcp;
    use quorate_core::Versions;

    use crate::config::FRAME_VERSIONS;

    /// Node 2, whose peers are 1 and 3.
    fn shared(phase: Phase) -> Shared {
        let me = ProcessId::new(2);
        let mut config = Config::new(ClusterId(7), me, [], Security::Plain);
        config.messages = Versions::only(5);
        let shared = Shared::new(config, Arc::new(Tcp), watch::channel(phase).1);
        for peer in [1, 3].map(ProcessId::new) {
            let link = Link::new(peer, String::new(), 100, DeliveryState::new());
            shared.links_mut().current.insert(peer, Arc::new(link));
        }
        shared
    }

    /// A hello of node 1 that fits.
    fn hello() -> Hello {
        let (from, to) = (ProcessId::new(1), ProcessId::new(2));
        Hello {
            frames: FRAME_VERSIONS,
            messages: Versions::only(5),
            cluster: ClusterId(7),
            from,
            to,
            incarnation: Incarnation(1),
            received: None,
        }
    }

    #[test]
    fn a_hello_that_fits_gets_its_link() {
        let (frames, messages, link) =
            check_hello(&shared(Phase::Running), &hello(), None).expect("it fits");
        assert_eq!((frames, messages), (FRAME_VERSIONS.newest, 5));
        assert_eq!(link.peer, ProcessId::new(1));
    }

    #[test]
    fn a_hello_that_does_not_fit_is_refused_with_its_reason() {
        let (one, three, four) = (ProcessId::new(1), ProcessId::new(3), ProcessId::new(4));
        let refused = |reason, hello: Hello| {
            let answer = check_hello(&shared(Phase::Running), &hello, None);
            assert_eq!(answer.map(|_| ()).expect_err("it does not fit").reason, reason);
        };
        let none = Versions::only(99);
        refused(RefusalReason::Frames, Hello { frames: none, ..hello() });
        refused(RefusalReason::Messages, Hello { messages: none, ..hello() });
        refused(RefusalReason::Cluster, Hello { cluster: ClusterId(8), ..hello() });
        refused(RefusalReason::Addressee, Hello { to: one, ..hello() });
        refused(RefusalReason::Unknown, Hello { from: four, ..hello() });
        refused(RefusalReason::Direction, Hello { from: three, ..hello() });
        let stopping = check_hello(&shared(Phase::Flushing), &hello(), None);
        let stopping = stopping.map(|_| ()).expect_err("it is stopping");
        assert_eq!(stopping.reason, RefusalReason::Stopping);
    }

    /// Dials a peer that answers with these versions, whatever it is asked for.
    async fn dialled(frames: u16, messages: u16) -> Result<u16, HandshakeError> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let (shared, peer) = (shared(Phase::Running), ProcessId::new(3));
        let link = shared.link(peer).expect("a peer");
        link.state().address = listener.local_addr().expect("it is bound").to_string();
        let answers = async {
            let mut stream: Box<dyn Stream> = Box::new(listener.accept().await.expect("a dial").0);
            let hello = read_message(&mut stream).await.expect("a hello");
            let hello = Hello::decode(&hello).expect("a hello");
            assert_eq!((hello.from, hello.to), (ProcessId::new(2), peer));
            let (incarnation, received) = (Incarnation(1), None);
            let welcome = Welcome { frames, messages, incarnation, received };
            let answer = HelloReply::Welcome(welcome).encode();
            stream.write_all(&answer).await.expect("the dial is open");
        };
        let (dialled, ()) = tokio::join!(dial(&shared, &link), answers);
        dialled.map(|established| established.version)
    }

    #[tokio::test]
    async fn a_peer_that_chooses_versions_that_were_not_offered_is_refused() {
        let frames = FRAME_VERSIONS.newest;
        assert_eq!(dialled(frames, 5).await.expect("they fit"), 5);
        for (frames, messages) in [(99, 5), (frames, 99)] {
            let refused = dialled(frames, messages).await;
            let Err(HandshakeError::RefusedByUs(refusal)) = refused else {
                panic!("the versions fit: {:?}", refused.err());
            };
            assert_eq!(refusal.reason, RefusalReason::Frames);
        }
    }
}
