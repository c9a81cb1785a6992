//! How a connection begins, on both sides: TLS, first words, terms; or a refusal that says why.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use quorate_core::ProcessId;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::OwnedMutexGuard;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::config::Security;
use crate::hello::{self, Answer, Hello, NoHello, PREFIX, Welcome};
use crate::link::{Claim, Link};
use crate::mesh::{Phase, Shared};
use crate::network::{Connection, Stream};
use crate::refusal::{Reason, Refusal};
use crate::terms;
use crate::tls;

/// Why a connection did not come about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no TLS: {0}")]
    Tls(io::Error),
    #[error("{0}")]
    NoHello(#[from] NoHello),
    #[error("plain TCP is for one machine only, and {0} is elsewhere")]
    NotHere(SocketAddr),
    #[error("it refuses: {0}")]
    Refused(Refusal),
    #[error("refused: {0}")]
    Refusing(Refusal),
    #[error("it took too long")]
    TooLong,
    #[error("it has connected anew")]
    Overtaken,
}

/// A connection that may begin, and whose turn it is.
pub(crate) struct Agreed {
    pub(crate) link: Arc<Link>,
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) claim: Claim,
    /// The version of the owner's messages.
    pub(crate) version: u16,
    /// Kept until the connection is over.
    pub(crate) turn: OwnedMutexGuard<()>,
}

/// Connects to a peer.
pub(crate) async fn dial(shared: &Shared, link: &Arc<Link>) -> Result<Agreed, Failure> {
    let claim = link.claim();
    let turn = claim.turn().await.ok_or(Failure::Overtaken)?;
    let address = link.state().address.clone();
    let connection = shared.network.connect(&address).await?;
    let mut stream = secure_dialled(shared, connection, link.peer).await?;
    stream.write_all(&hello(shared, link).encode()).await?;
    stream.flush().await?;
    let welcome = match Answer::decode(&first_word(&mut stream).await?)? {
        Answer::Welcome(welcome) => welcome,
        Answer::Refused(refusal) => return Err(Failure::Refused(refusal)),
    };
    let config = &shared.config;
    if !config.frames.contain(welcome.frames) || !config.messages.contain(welcome.messages) {
        let what = format!("it chose versions {} and {}", welcome.frames, welcome.messages);
        return Err(Failure::Refusing(Refusal::new(Reason::Frames, what)));
    }
    let terms = config.terms.between(config.me, link.peer);
    let (mine, theirs) = (terms.as_ref(), welcome.terms.as_ref());
    if let Some(how) = terms::difference((config.me, mine), (link.peer, theirs)) {
        return Err(Failure::Refusing(Refusal::new(Reason::Terms, how)));
    }
    meet(shared, link, welcome.incarnation, welcome.received).map_err(Failure::Refusing)?;
    Ok(Agreed { link: Arc::clone(link), stream, claim, version: welcome.messages, turn })
}

/// Answers somebody who has connected.
pub(crate) async fn answer(shared: &Shared, connection: Connection) -> Result<Agreed, Failure> {
    let (mut stream, certificate) = secure_accepted(shared, connection).await?;
    let answered = match first_word(&mut stream).await {
        Ok(word) => judge(shared, &word, certificate.as_ref()).await,
        Err(Failure::NoHello(why)) => {
            Err(Failure::Refusing(Refusal::new(Reason::NotQuorate, why.to_string())))
        }
        Err(failure) => Err(failure),
    };
    let (link, claim, turn, welcome) = match answered {
        Ok(agreed) => agreed,
        Err(Failure::Refusing(refusal)) => {
            stream.write_all(&Answer::Refused(refusal.clone()).encode()).await?;
            stream.shutdown().await?;
            return Err(Failure::Refusing(refusal));
        }
        Err(failure) => return Err(failure),
    };
    let version = welcome.messages;
    stream.write_all(&Answer::Welcome(welcome).encode()).await?;
    stream.flush().await?;
    Ok(Agreed { link, stream, claim, version, turn })
}

type Judged = (Arc<Link>, Claim, OwnedMutexGuard<()>, Welcome);

/// Whether we talk to somebody who says this, and on what terms.
async fn judge(
    shared: &Shared,
    word: &[u8],
    certificate: Option<&CertificateDer<'static>>,
) -> Result<Judged, Failure> {
    let hello = Hello::decode(word)?;
    let (frames, messages, link) = admit(shared, &hello, certificate).map_err(Failure::Refusing)?;
    let claim = link.claim();
    let turn = claim.turn().await.ok_or(Failure::Overtaken)?;
    meet(shared, &link, hello.incarnation, hello.received).map_err(Failure::Refusing)?;
    let received = link.state().ledger.received();
    let config = &shared.config;
    let (incarnation, terms) = (config.incarnation, config.terms.between(config.me, link.peer));
    let welcome = Welcome { frames, messages, incarnation, received, terms };
    Ok((link, claim, turn, welcome))
}

/// The versions to speak and the link of who says hello, if all that it says fits.
fn admit(
    shared: &Shared,
    hello: &Hello,
    certificate: Option<&CertificateDer<'static>>,
) -> Result<(u16, u16, Arc<Link>), Refusal> {
    let (config, from) = (&shared.config, hello.from);
    let refuse = |reason, detail| Err(Refusal::new(reason, detail));
    let Some(frames) = config.frames.common(hello.frames) else {
        let (mine, theirs) = (config.frames, hello.frames);
        return refuse(
            Reason::Frames,
            format!("{from} speaks versions {theirs} of the frames, {} speaks {mine}", config.me),
        );
    };
    let Some(messages) = config.messages.common(hello.messages) else {
        let (mine, theirs) = (config.messages, hello.messages);
        return refuse(
            Reason::Messages,
            format!("{from} speaks versions {theirs} of the messages, {} speaks {mine}", config.me),
        );
    };
    if hello.cluster != config.cluster {
        let (theirs, mine) = (hello.cluster, config.cluster);
        return refuse(
            Reason::Cluster,
            format!("{from} is of cluster {theirs}, {} of {mine}", config.me),
        );
    }
    // Who it is must be shown before anything is said about who is known.
    if certificate.is_some_and(|certificate| !tls::belongs_to(certificate, from)) {
        let needed = tls::node_name(from);
        return refuse(Reason::Certificate, format!("its certificate is not good for {needed}"));
    }
    if hello.to != config.me {
        return refuse(Reason::Addressee, format!("it wants {}, this is {}", hello.to, config.me));
    }
    let Some(link) = shared.link(from) else {
        return refuse(
            Reason::Unknown,
            format!("{from} is not in the configuration of {}", config.me),
        );
    };
    if from > config.me {
        return refuse(
            Reason::Direction,
            format!("{} dials {from}, not the other way round", config.me),
        );
    }
    let terms = config.terms.between(config.me, from);
    if let Some(how) = terms::difference((config.me, terms.as_ref()), (from, hello.terms.as_ref()))
    {
        let mut state = link.state();
        if !state.up {
            (state.trouble, state.refusal) = (Some(how.clone()), Some(Reason::Terms));
        }
        drop(state);
        return refuse(Reason::Terms, how);
    }
    if *shared.phase.borrow() != Phase::Running {
        return refuse(Reason::Stopping, format!("{} is about to stop", config.me));
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
        received: link.state().ledger.received(),
        terms: config.terms.between(config.me, link.peer),
    }
}

fn meet(
    shared: &Shared,
    link: &Link,
    theirs: hello::Incarnation,
    received: Option<hello::Received>,
) -> Result<(), Refusal> {
    let meeting = link.state().ledger.meet(shared.config.incarnation, theirs, received)?;
    link.free(meeting.freed);
    if meeting.dropped > 0 {
        tracing::info!(peer = %link.peer, dropped = meeting.dropped, "it has lost its memory; messages for its life before are dropped");
    }
    Ok(())
}

async fn first_word(stream: &mut Box<dyn Stream>) -> Result<BytesMut, Failure> {
    let mut prefix = [0; PREFIX];
    stream.read_exact(&mut prefix).await?;
    let mut word = BytesMut::zeroed(hello::length(prefix)?);
    stream.read_exact(&mut word).await?;
    Ok(word)
}

async fn secure_dialled(
    shared: &Shared,
    (stream, address): Connection,
    peer: ProcessId,
) -> Result<Box<dyn Stream>, Failure> {
    match &shared.config.security {
        Security::Plain => plain(shared, stream, address),
        Security::Tls(tls) => {
            let connector = TlsConnector::from(Arc::clone(&tls.identity().client));
            let stream = connector.connect(tls::server_name(peer), stream).await;
            Ok(Box::new(stream.map_err(Failure::Tls)?))
        }
    }
}

async fn secure_accepted(
    shared: &Shared,
    (stream, address): Connection,
) -> Result<(Box<dyn Stream>, Option<CertificateDer<'static>>), Failure> {
    match &shared.config.security {
        Security::Plain => Ok((plain(shared, stream, address)?, None)),
        Security::Tls(tls) => {
            let acceptor = TlsAcceptor::from(Arc::clone(&tls.identity().server));
            let stream = acceptor.accept(stream).await.map_err(Failure::Tls)?;
            let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let certificate =
                shown.cloned().ok_or_else(|| Failure::Tls(io::Error::other("no certificate")))?;
            Ok((Box::new(stream), Some(certificate.into_owned())))
        }
    }
}

fn plain(
    shared: &Shared,
    stream: Box<dyn Stream>,
    address: SocketAddr,
) -> Result<Box<dyn Stream>, Failure> {
    if shared.network.stays_here(address.ip()) {
        Ok(stream)
    } else {
        Err(Failure::NotHere(address))
    }
}
