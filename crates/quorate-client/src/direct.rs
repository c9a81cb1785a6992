//! Direct sessions: the client runs its own candidate and is connected to all voters, so that it keeps its locks when a
//! node fails. If only one node is reachable, that node relays the session instead.
//!
//! ```text
//!   guards --- commands ---> task ---> driver (no I/O) ---> links, one per voter ---> nodes
//!      ^                      |  ^                            |
//!      +--- validity, loss ---+  +------- voters' messages ---+
//! ```
//!
//! To open a session, the client attaches at the first node that answers. This node sends the voters' addresses, the quorum
//! system and the terms. The client then attaches at all other voters concurrently. The session is direct if a quorum of
//! voters is connected within [`QUORUM_TIMEOUT`], and relayed otherwise. This is decided once: a session never changes
//! between direct and relayed.

mod addresses;
mod attach;
#[cfg(test)]
mod disorder;
mod driver;
mod link;
mod linking;
mod session_lock;
mod task;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use quorate_algorithms::mutex::leased_quorum::Electorate;
use quorate_core::{ProcessId, ProcessSet, SortedMap, Span};
use quorate_protocol::{Attached, Failure, SessionKey, handshake};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::clock::{self, Moment};
use crate::credentials::Dialler;
use crate::error::Error;
use crate::session_options::SessionOptions;
use crate::session_state::SessionState;
use crate::staggered::first_that_answers;
use addresses::Addresses;
use attach::{AttachError, Connection, SessionIdentity};
use driver::{Driver, Parameters};
use link::{Link, LinkEvent, LinkEventKind};
use linking::Linking;
pub(crate) use task::{Command, Granted};

/// Maximum time to connect to a quorum of voters.
const QUORUM_TIMEOUT: Duration = Duration::from_millis(300);

/// Interval at which a node is queried again for addresses that it does not know yet.
const ADDRESS_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum pause between two attempts to reach a voter.
const MAX_REDIAL_PAUSE: Duration = Duration::from_secs(2);

/// Endpoints and credentials of a cluster.
pub(crate) struct Cluster {
    pub(crate) endpoints: Vec<String>,
    pub(crate) dialler: Dialler,
}

/// Result of opening a session.
pub(crate) enum Opened {
    Direct(DirectSession),
    /// The session has to be relayed by a node.
    Relayed,
}

/// Handle of a direct session, used by its guards. Dropping it ends the session.
#[derive(Debug)]
pub(crate) struct DirectSession {
    pub(crate) key: SessionKey,
    /// Time-to-live, within the limits of the cluster.
    pub(crate) ttl: Duration,
    commands: mpsc::UnboundedSender<Command>,
}

impl DirectSession {
    pub(crate) fn post(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).map_err(|_| Error::Closed)
    }

    /// Ends a call or a guard, and waits until the voters have been written to, without waiting for their answers.
    pub(crate) async fn release(&self, ticket: u64) -> Result<(), Error> {
        let (unwritten, mut written) = mpsc::channel(1);
        self.post(Command::Release { ticket, unwritten: Some(unwritten) })?;
        let _ = tokio::time::timeout(Duration::from_secs(1), written.recv()).await;
        Ok(())
    }

    /// Ends the session, and waits until the voters have read that, at most `CLOSE_TIMEOUT`.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.post(Command::Close(done)).is_ok() {
            let _ = closed.await;
        }
    }
}

/// Opens a session, direct if possible.
pub(crate) async fn open(
    cluster: &Cluster,
    options: &SessionOptions,
    state: &Arc<SessionState>,
) -> Result<Opened, Error> {
    let key = SessionKey(u128::from_be_bytes(random()));
    let (client_name, client_location) =
        (options.client_name.clone(), options.client_location.clone());
    let identity = Arc::new(SessionIdentity { key, client_name, client_location });
    let (endpoint, first) = match first_node(cluster, &identity, options.connect_timeout).await? {
        Some(found) => found,
        None => return Ok(Opened::Relayed),
    };
    let attached = first.attached.clone();
    let Some(electorate) = attached.electorate() else { return Ok(Opened::Relayed) };
    let terms = attached.members.terms();
    let asked = Span(u64::try_from(options.ttl.as_nanos()).unwrap_or(u64::MAX));
    let ttl = terms.clamp(asked);
    let addresses = Arc::new(Addresses::new(&attached, &endpoint));
    let voters = (&electorate, ttl);
    let mut connecting = Connecting::start(cluster, &identity, &addresses, first, voters);
    let Some(up) = connecting.wait_for_quorum(&electorate).await else {
        return Ok(Opened::Relayed);
    };
    let (session, incarnation) = (key.id(), u64::from_be_bytes(random()));
    let candidate = attached.candidate();
    let parameters = Parameters { session, incarnation, ttl, terms, candidate, electorate };
    let now = clock::now();
    let mut driver = Driver::new(parameters, now);
    up.iter().for_each(|voter| driver.up(voter, now));
    let (commands, taken) = mpsc::unbounded_channel();
    let task = task::Task {
        driver,
        links: connecting.links,
        linking: connecting.linking,
        commands: taken,
        state: Arc::clone(state),
        identity,
        candidate: attached.candidate,
        addresses,
        replies: SortedMap::new(),
    };
    tokio::spawn(task.run());
    let ttl = Duration::from_nanos(ttl.0);
    Ok(Opened::Direct(DirectSession { key, ttl, commands }))
}

/// Links to all voters, until it is known whether enough of them connect.
struct Connecting {
    links: SortedMap<ProcessId, Link>,
    linking: Linking,
    addresses: Arc<Addresses>,
    identity: Arc<SessionIdentity>,
    attached: Attached,
    /// Attempts to find out which voters the endpoints named by the user belong to.
    endpoint_probes: JoinSet<()>,
}

impl Connecting {
    fn start(
        cluster: &Cluster,
        identity: &Arc<SessionIdentity>,
        addresses: &Arc<Addresses>,
        first: Connection,
        (electorate, ttl): (&Electorate, Span),
    ) -> Self {
        let attached = first.attached.clone();
        let max_pause = MAX_REDIAL_PAUSE.min(Duration::from_nanos(ttl.0 / 4));
        let linking = Linking {
            candidate: attached.candidate,
            identity: Arc::clone(identity),
            dialler: cluster.dialler.clone(),
            addresses: Arc::clone(addresses),
            max_pause,
        };
        let mut first = Some(first);
        let voters = electorate.all();
        let links = voters.iter().map(|voter| {
            let is_first = voter.number() == attached.node;
            (voter, linking.link(voter, first.take_if(|_| is_first)))
        });
        let links = links.collect();
        let mut endpoint_probes = JoinSet::new();
        // Advertised addresses may be unreachable from here. The endpoints named by the user usually are not.
        for endpoint in cluster.endpoints.iter().filter(|it| !addresses.contains(it)) {
            let endpoint = endpoint.clone();
            let (dialler, identity) = (cluster.dialler.clone(), Arc::clone(identity));
            let (addresses, candidate) = (Arc::clone(addresses), attached.candidate);
            endpoint_probes.spawn(async move {
                let found = attach::attach(&dialler, &endpoint, &identity, Some(candidate)).await;
                if let Ok(connection) = found {
                    addresses.learn(&connection.attached.members);
                    addresses.add(connection.attached.node, &endpoint);
                }
            });
        }
        let (addresses, identity) = (Arc::clone(addresses), Arc::clone(identity));
        Self { links, linking, addresses, identity, attached, endpoint_probes }
    }

    /// Returns the connected voters once they contain a quorum; `None` after [`QUORUM_TIMEOUT`].
    async fn wait_for_quorum(&mut self, electorate: &Electorate) -> Option<ProcessSet> {
        let mut up = ProcessSet::new();
        let mut address_poll = tokio::time::interval(ADDRESS_POLL_INTERVAL);
        let late = tokio::time::sleep(QUORUM_TIMEOUT);
        tokio::pin!(late);
        while !electorate.is_quorum(&up) {
            tokio::select! {
                events = events(&mut self.links) => for LinkEvent { voter, kind } in events {
                    match kind {
                        LinkEventKind::Up => drop(up.insert(voter)),
                        LinkEventKind::Down | LinkEventKind::Leaving => drop(up.remove(voter)),
                        LinkEventKind::Received(_)
                        | LinkEventKind::Changes(_)
                        | LinkEventKind::Refused(..) => {}
                    }
                },
                _ = address_poll.tick() => if self.addresses.are_incomplete() {
                    let bytes = self.identity.attach_again(self.attached.candidate);
                    self.links.values_mut().for_each(|link| link.send(&bytes, &[]));
                },
                () = &mut late => return None,
            }
        }
        // The remaining probes finish in the background.
        self.endpoint_probes.detach_all();
        Some(up)
    }
}

/// Waits for the next events of any link.
async fn events(links: &mut SortedMap<ProcessId, Link>) -> Vec<LinkEvent> {
    let mut events = Vec::new();
    poll_fn(|cx| {
        links.values_mut().for_each(|link| link.poll(cx, &mut events));
        if events.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    events
}

/// Attaches at the first node that answers; `None` if that node refuses direct sessions.
async fn first_node(
    cluster: &Cluster,
    identity: &Arc<SessionIdentity>,
    timeout: Duration,
) -> Result<Option<(String, Connection)>, Error> {
    let until = Moment::now().later(timeout);
    let mut pause = Duration::from_millis(10);
    loop {
        let round = tokio::time::timeout(until.from_now(), any_node(cluster, identity)).await;
        let last_error = match round {
            Ok(Ok(found)) => return Ok(Some(found)),
            Ok(Err((_, AttachError::Failed(failure)))) if failure != Failure::Leaving => {
                return Ok(None);
            }
            Ok(Err((endpoint, error))) => {
                let incompatible = !matches!(
                    error,
                    AttachError::Handshake(handshake::ClientHandshakeError::Io(_))
                        | AttachError::Failed(_)
                );
                let last_error = error.into_error(&endpoint);
                if incompatible && cluster.endpoints.len() == 1 {
                    return Err(last_error);
                }
                last_error
            }
            Err(_) => Error::Unreachable("no node has answered in time".to_owned()),
        };
        if until.from_now() <= pause {
            return Err(last_error);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(500));
    }
}

/// Attaches at any of the endpoints. If all fail, returns the first failure that is not a mere I/O error.
async fn any_node(
    cluster: &Cluster,
    identity: &Arc<SessionIdentity>,
) -> Result<(String, Connection), (String, AttachError)> {
    let endpoints = cluster.endpoints.iter().cloned();
    let attached = first_that_answers(endpoints, |endpoint| {
        let (dialler, identity) = (cluster.dialler.clone(), Arc::clone(identity));
        async move { attach::attach(&dialler, &endpoint, &identity, None).await }
    });
    let mut failures = match attached.await {
        Ok((position, found)) => return Ok((cluster.endpoints[position].clone(), found)),
        Err(failures) => failures,
    };
    let broken = |it: &(String, AttachError)| {
        matches!(it.1, AttachError::Handshake(handshake::ClientHandshakeError::Io(_)))
    };
    let reported = failures.iter().position(|it| !broken(it)).or(failures.len().checked_sub(1));
    let nowhere = || (String::new(), std::io::Error::other("no endpoint is given").into());
    Err(reported.map_or_else(nowhere, |reported| failures.swap_remove(reported)))
}

/// Random bytes from the operating system.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}
