//! A node without I/O: it turns calls of clients, messages of peers and time into actions.
//!
//! The core hosts the voter of the node, and runs a relay for every session whose client does not connect to the voters
//! itself. It reads neither a clock nor a random source: a driver passes in the time and a seed. No state moves between
//! nodes: sessions live at the voters, and any node can start a relay from the state that the voters have.
//!
//! ```text
//!   HTTP, etcd's API, native calls --> sessions --> relays --+--> voter here  (local queue)
//!                                                            +--> voters elsewhere
//!   direct clients ------------------> direct ---------------+
//!   lists, tokens, force release ----> queries (ask all voters and merge)
//! ```

#[cfg(test)]
mod cluster;
mod direct;
mod events;
pub(crate) mod grants;
pub(crate) mod history;
mod holders;
mod leave;
mod lists;
mod members;
mod plausible;
mod queries;
mod quotas;
mod relay;
mod resume;
pub(crate) mod session_list;
mod sessions;
mod status;
#[cfg(test)]
mod storm;
mod texts;
mod voter_host;
mod watch;

use std::collections::{BTreeMap, VecDeque};

use quorate_algorithms::detector::VcubeDiagnosis;
use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, Chain, ChainState, Electorate, Memory, Record, RequestId, RestartId, Terms,
    ToCandidate, ToVoter, Voter,
};
use quorate_core::{
    DelayBounds, Drift, Process, ProcessId, ProcessSet, SortedMap, SortedSet, Span, Time,
};
use quorate_protocol::{CallResponse, Members, Name, ServerMessage, session_terms};
use sha2::{Digest, Sha256};

use crate::metrics::Metrics;
use crate::peer::{PeerMessage, VoteEnd};
use crate::spans::Spans;
pub use quotas::{Owner, Quotas};

use queries::PendingQuestion;
use relay::Relay;

/// Origin of a call, to which its answer is sent. Each number is used once in the lifetime of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallerId {
    /// A connection of a native client. The times in its calls are readings of the client's clock.
    Connection(u64),
    /// One call of a front end within the process, for a client of HTTP or of etcd's API. It is timed by the clock of this
    /// node.
    FrontEnd(u64),
    /// The node itself, which expects no answer.
    Node,
}

impl CallerId {
    /// Returns whether the caller is a front end, whose connection serves a single call.
    fn is_front_end(self) -> bool {
        match self {
            Self::FrontEnd(_) => true,
            Self::Connection(_) | Self::Node => false,
        }
    }
}

/// The call to answer: its caller and its number.
pub(crate) type CallId = (CallerId, u64);

/// An action of a node. Drivers apply actions in order: a record is written before any later action is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a message to a peer.
    Send(ProcessId, PeerMessage),
    /// Sends a message to a client.
    SendClient(CallerId, ServerMessage),
    /// Writes a record to the vote file.
    Persist(Record<Name>),
    /// Makes durable that vote numbers up to this one may be used.
    Reserve(u64),
    /// Makes this node's knowledge of the members durable, before any later action.
    PersistChain(Box<ChainState<Members>>),
    /// Connects to these peers and no others.
    Peers(BTreeMap<ProcessId, String>),
}

/// Knowledge of the voter about its earlier incarnations when it starts.
#[derive(Clone, Debug, Default)]
pub enum VoterStart {
    /// The cluster is new: no voter has ever voted.
    #[default]
    New,
    /// The voter has forgotten its votes.
    Forgotten(Memory),
    /// The vote file is intact.
    Restored {
        /// Identifier of the process that continues the voter.
        restart_id: RestartId,
        /// Records of the vote file.
        records: Vec<Record<Name>>,
    },
}

/// Settings of a node.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of the node.
    pub id: ProcessId,
    /// Identifier of the cluster.
    pub cluster: u128,
    /// The members of the cluster, as far as the node knows them.
    pub members: ChainState<Members>,
    /// Response times of peers that the failure detector assumes.
    pub delay_bounds: DelayBounds,
    /// Knowledge of the voter about its earlier incarnations.
    pub voter: VoterStart,
    /// Greatest vote number that is reserved on disk; `None` if numbers need not be reserved.
    pub ceiling: Option<u64>,
    /// Whether votes are written to a file.
    pub persists: bool,
    /// Client address of this node, which is sent to other nodes and to direct clients.
    pub client_address: Option<String>,
    /// Maximum number of sessions of this node, relayed and direct.
    pub sessions_most: usize,
    /// Maximum number of requests that relays of this node pursue.
    pub requests_most: usize,
    /// Random seed from which identifiers are derived. Every start uses a new one.
    pub seed: u128,
    /// Limits of one client.
    pub quotas: Quotas,
}

/// A node without I/O.
#[derive(Debug)]
pub struct NodeCore {
    settings: Settings,
    membership: members::Membership,
    /// The voters of the newest configuration.
    electorate: Electorate,
    /// The terms of new sessions.
    terms: Terms,
    voter: Voter<Name>,
    detector: VcubeDiagnosis,
    timers: Vec<(Time, <VcubeDiagnosis as Process>::Timer)>,
    suspected: ProcessSet,
    /// Peers that have announced that they stop.
    leaving_peers: ProcessSet,
    relays: SortedMap<u128, Relay>,
    /// Sessions by the candidates of their relays.
    candidates: SortedMap<CandidateId, u128>,
    /// Sessions that are being looked up at the voters, with the calls that wait for the result.
    lookups: SortedMap<u128, resume::Lookup>,
    direct: direct::DirectClients,
    /// Acquire calls of the front ends, which are withdrawn if the caller does not receive the answer. Contains the
    /// session, and the request once it is granted.
    withdrawable: SortedMap<CallerId, (u128, Option<RequestId>)>,
    texts: texts::Texts,
    pending_questions: SortedMap<u64, PendingQuestion>,
    watch: watch::Watches,
    history: history::History,
    /// Peers that understand questions about the history.
    history_peers: ProcessSet,
    /// Answered questions about the history.
    histories: Vec<(u64, history::VotesOfNodes)>,
    /// Whether each peer is connected, with the reason if it is not.
    up: SortedMap<ProcessId, Result<(), String>>,
    client_addresses: SortedMap<ProcessId, String>,
    alarms: SortedSet<(Time, Alarm)>,
    /// Messages for the voter or for candidates of this node that are not delivered yet.
    local_messages: VecDeque<LocalMessage>,
    actions: Vec<Action>,
    leaving: Option<Time>,
    /// Number of votes from before a restart whose clients have sent no beat since. Updated periodically.
    unheard: usize,
    /// Whether the node has just started and has not been connected to all peers yet.
    connecting: bool,
    /// Error of the last write of the vote file, if it failed.
    disk_error: Option<String>,
    /// Error of the last write of the state file, if it failed.
    state_file_error: Option<String>,
    peer_errors: SortedMap<ProcessId, String>,
    /// When an implausible message of each peer was last logged.
    distrusted: SortedMap<ProcessId, Time>,
    owners: quotas::Owners,
    counter: u64,
    /// When each lock was last released through this node.
    released: SortedMap<Name, Time>,
    pub(crate) metrics: Metrics,
    pub(crate) spans: Option<Spans>,
}

/// A message for the voter or for a candidate of this node.
#[derive(Debug)]
enum LocalMessage {
    ToVoter(CandidateId, ToVoter<Name>),
    ToCandidate(ProcessId, CandidateId, ToCandidate<Name>),
}

/// A timer of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// Sends the voter's clock to other voters.
    Gossip,
    /// Checks whether a relay has had no call for one ttl.
    Relay(u128),
    /// Checks whether calls of a session have timed out.
    Calls(u128),
    /// Checks whether locks of a session are still valid.
    Validity(u128),
    /// Extends a request to more voters.
    Widen(RequestId),
    /// Closes a question to the voters when its timeout has passed.
    Question(u64),
    /// Sends all watched prefixes to a peer again.
    ResendWatches(ProcessId),
    /// Checks whether the start is complete. Contains the time of the start.
    Start(Time),
    /// Continues a change of the members.
    Change,
}

/// Interval at which voters send each other their clocks.
const GOSSIP: Span = Span::from_millis(1_000);

impl NodeCore {
    /// Creates a node that starts at `now`.
    pub fn new(settings: Settings, now: Time) -> Self {
        let chain = Chain::new(settings.id, settings.members.clone());
        let (electorate, terms) = (chain.present().electorate(), session_terms(chain.present()));
        let mut core = Self {
            voter: voter_host::start(&settings, &chain, now),
            detector: VcubeDiagnosis::with_delay_bounds(
                1,
                ProcessId::new(0),
                settings.delay_bounds,
            ),
            membership: members::Membership::new(settings.id, chain),
            electorate,
            terms,
            settings,
            timers: Vec::new(),
            suspected: ProcessSet::new(),
            leaving_peers: ProcessSet::new(),
            relays: SortedMap::new(),
            candidates: SortedMap::new(),
            lookups: SortedMap::new(),
            direct: direct::DirectClients::default(),
            withdrawable: SortedMap::new(),
            texts: texts::Texts::default(),
            pending_questions: SortedMap::new(),
            watch: watch::Watches::default(),
            history: history::History::default(),
            history_peers: ProcessSet::new(),
            histories: Vec::new(),
            up: SortedMap::new(),
            client_addresses: SortedMap::new(),
            alarms: SortedSet::from([(now, Alarm::Gossip)]),
            local_messages: VecDeque::new(),
            actions: Vec::new(),
            leaving: None,
            unheard: 0,
            connecting: true,
            disk_error: None,
            state_file_error: None,
            peer_errors: SortedMap::new(),
            distrusted: SortedMap::new(),
            owners: quotas::Owners::default(),
            counter: 0,
            released: SortedMap::new(),
            metrics: Metrics::new(),
            spans: None,
        };
        core.update_peers(now);
        core.start_detector(now);
        core.tick_chain(now);
        core.connecting = core.peers().next().is_some();
        core.check_start(now, now);
        core
    }

    /// Number of this node.
    pub(crate) fn number(&self) -> u32 {
        self.settings.id.number()
    }

    /// Numbers of the members, including this node.
    pub(crate) fn member_numbers(&self) -> Vec<u32> {
        self.membership.members().into_iter().map(|(id, _)| id.number()).collect()
    }

    /// Maximum rate by which clocks gain or lose.
    pub fn drift(&self) -> Drift {
        self.terms.drift
    }

    /// Drains the actions to apply, in order.
    pub fn actions(&mut self) -> std::vec::Drain<'_, Action> {
        self.actions.drain(..)
    }

    /// Returns the earliest time at which [`Self::wake`] has something to do.
    pub fn next_alarm(&self) -> Option<Time> {
        let timers = self.timers.iter().map(|(time, _)| *time).min();
        let alarms = self.alarms.first().map(|(time, _)| *time);
        [timers, alarms, self.voter.next_wake()].into_iter().flatten().min()
    }

    /// Handles everything that is due. `wall_ms` is the wall clock in milliseconds since 1970.
    pub fn wake(&mut self, now: Time, wall_ms: u64) {
        self.voter.set_wall_clock(wall_ms);
        self.wake_detector(now);
        if self.voter.next_wake().is_some_and(|due| due <= now) {
            self.log_expired(now);
            self.with_voter_because(VoteEnd::Expired, now, |voter, out| voter.wake(now, out));
        }
        while let Some((_, alarm)) = self.alarms.first().copied().filter(|(time, _)| *time <= now) {
            self.alarms.pop_first();
            match alarm {
                Alarm::Gossip => self.gossip(now),
                Alarm::Relay(session) => self.expire_relay(session, now),
                Alarm::Calls(session) => self.expire_calls(session, now),
                Alarm::Validity(session) => self.check_validity(session, now),
                Alarm::Widen(request) => self.widen(request, now),
                Alarm::Question(number) => self.close_question(number, now),
                Alarm::ResendWatches(peer) => self.resend_watches(peer),
                Alarm::Start(started) => self.check_start(started, now),
                Alarm::Change => self.continue_change(now),
            }
        }
        self.deliver_local(now);
    }

    /// Handles a message of a peer.
    pub fn on_peer_message(&mut self, from: ProcessId, message: PeerMessage, now: Time) {
        if let Err(why) = self.is_plausible(from, &message) {
            return self.distrust(from, why, now);
        }
        match message {
            PeerMessage::Detector(index, message) => {
                self.on_detector_message(from, index, message, now);
            }
            PeerMessage::Chain(message) => self.on_chain_message(from, *message, now),
            PeerMessage::Voter(message) => {
                self.with_voter(now, |voter, out| voter.on_peer(from, message, out));
            }
            PeerMessage::ToVoter(candidate, message) => {
                self.local_messages.push_back(LocalMessage::ToVoter(candidate, message));
            }
            PeerMessage::ToCandidate(candidate, message) => {
                self.local_messages.push_back(LocalMessage::ToCandidate(from, candidate, message));
            }
            // A node that does not know the present voters asks again once it does.
            PeerMessage::Question(_, index, _) if index < self.electorate.index() => {
                self.greet_peer(from);
            }
            PeerMessage::Question(number, _, question) => {
                let reply = self.reply(question, now);
                self.send(from, PeerMessage::Reply(number, reply));
            }
            PeerMessage::Reply(number, reply) => self.on_reply(number, from, reply, now),
            PeerMessage::WatchUpdate(update) => self.on_watch_update(from, update),
            PeerMessage::Votes(ballots) => self.on_ballots(from, ballots, now),
            PeerMessage::ClientAddress(at) => drop(self.client_addresses.insert(from, at)),
            PeerMessage::Describe(description) => {
                // A peer may send back an older description of a session that this node relays. The local copy is newer.
                let own = description.session_text.node == self.settings.id.index() as u32;
                if !own || !self.relays.contains_key(&description.session) {
                    self.on_description(*description, now);
                }
            }
            PeerMessage::Forget(request) => self.texts.forget(request),
            PeerMessage::Leaving => self.peer_leaves(from, now),
            PeerMessage::Called(session, candidate) => {
                self.called_elsewhere(from, session, candidate, now);
            }
            PeerMessage::NoRelay(session) => self.adopt_from(from, session, now),
        }
        self.deliver_local(now);
    }

    /// Delivers messages to the voter and the candidates of this node until none is left.
    fn deliver_local(&mut self, now: Time) {
        while let Some(message) = self.local_messages.pop_front() {
            match message {
                LocalMessage::ToVoter(candidate, message) => {
                    self.deliver_to_voter(candidate, message, now)
                }
                LocalMessage::ToCandidate(voter, candidate, message) => {
                    self.deliver_to_candidate(voter, candidate, message, now);
                }
            }
        }
    }

    fn send(&mut self, peer: ProcessId, message: PeerMessage) {
        self.metrics.count_sent(&message);
        self.actions.push(Action::Send(peer, message));
    }

    fn send_client(&mut self, caller: CallerId, message: ServerMessage) {
        match caller {
            CallerId::Connection(_) | CallerId::FrontEnd(_) => {
                self.actions.push(Action::SendClient(caller, message));
            }
            CallerId::Node => {}
        }
    }

    pub(crate) fn answer(&mut self, (caller, number): CallId, answer: CallResponse) {
        self.send_client(caller, ServerMessage::Response(number, answer));
    }

    fn peers(&self) -> impl Iterator<Item = ProcessId> + use<> {
        let me = self.settings.id;
        let known: Vec<ProcessId> = self.membership.addresses.keys().copied().collect();
        known.into_iter().filter(move |peer| *peer != me)
    }

    fn peers_that_are_up(&self) -> Vec<ProcessId> {
        self.up.iter().filter(|(_, up)| up.is_ok()).map(|(peer, _)| *peer).collect()
    }

    /// Voters that candidates of this node do not ask first.
    fn avoided(&self) -> ProcessSet {
        let is_up = |peer: &ProcessId| matches!(self.up.get(peer), Some(Ok(())));
        let down: ProcessSet = self.peers().filter(|peer| !is_up(peer)).collect();
        &(&down | &self.suspected) | &self.leaving_peers
    }

    /// Returns random bytes that are unique in the cluster.
    fn unique(&mut self) -> [u8; 32] {
        self.counter += 1;
        let mut hash = Sha256::new();
        hash.update(self.settings.seed.to_be_bytes());
        hash.update(self.counter.to_be_bytes());
        hash.finalize().into()
    }

    fn unique_number(&mut self) -> u64 {
        let unique = self.unique();
        let (number, _) = unique.split_at(8);
        u64::from_be_bytes(number.try_into().expect("eight bytes"))
    }
}

#[cfg(test)]
mod testing {
    use super::*;
    use quorate_algorithms::mutex::leased_quorum::{ChainMessage, Configuration};
    use quorate_protocol::ClusterTerms;

    /// Terms with a time-to-live of 8 s.
    pub(super) fn terms() -> ClusterTerms {
        ClusterTerms::new(8_000, 8_000, 500)
    }

    /// A new cluster of n nodes.
    pub(super) fn members_of(n: usize, terms: ClusterTerms) -> ChainState<Members> {
        let addresses = (1..=n).map(|node| format!("127.0.0.1:{node}"));
        let members = Members::numbered(addresses, "majority").with_terms(terms);
        ChainState::new(Configuration::first(members), true)
    }

    /// Creates a node of three, in a new cluster, connected to both others.
    pub(super) fn node_of_three(at: usize) -> NodeCore {
        node_of(3, at, terms())
    }

    /// Creates a node of a new cluster, connected to all others.
    pub(super) fn node_of(n: usize, at: usize, terms: ClusterTerms) -> NodeCore {
        let mut core = unconnected_node_of(n, at, terms);
        for peer in (0..n).filter(|peer| *peer != at).map(ProcessId::from_index) {
            connect(&mut core, peer.number(), terms, Time(1));
        }
        core.actions().for_each(drop);
        core
    }

    /// Connects a peer that was started with these terms.
    fn connect(core: &mut NodeCore, peer: u32, terms: ClusterTerms, now: Time) {
        let (peer, n) = (ProcessId::new(peer), core.membership.members().len());
        core.on_peer_link(peer, Ok(()), now);
        let present = ChainMessage::Present(members_of(n, terms).present, true);
        core.on_peer_message(peer, PeerMessage::Chain(Box::new(present)), now);
    }

    fn unconnected_node_of(n: usize, at: usize, terms: ClusterTerms) -> NodeCore {
        let settings = Settings {
            id: ProcessId::from_index(at),
            cluster: 1,
            members: members_of(n, terms),
            delay_bounds: DelayBounds {
                delay: Span::from_millis(250),
                bound: Span::from_millis(250),
            },
            voter: VoterStart::New,
            ceiling: None,
            persists: false,
            client_address: None,
            sessions_most: 1_000,
            requests_most: 1_000,
            seed: 1 + at as u128,
            quotas: Quotas::default(),
        };
        NodeCore::new(settings, Time(1))
    }

    #[test]
    fn each_reason_is_named_and_goes_away_again() {
        let mut core = unconnected_node_of(3, 0, terms());
        let no_quorum = "no-quorum: 1 of 3 nodes are reachable, including this one";
        core.on_peer_link(ProcessId::new(1), Ok(()), Time(1));
        assert_eq!(core.reasons(), [no_quorum]);
        connect(&mut core, 1, terms(), Time(1));
        assert!(core.reasons()[0].starts_with("connecting: 1 of 2"), "{:?}", core.reasons());
        connect(&mut core, 2, terms(), Time(1));
        assert_eq!(core.reasons(), [""; 0]);
        core.state_written(Err("no space left".to_owned()));
        assert!(core.reasons()[0].contains("no space left"), "{:?}", core.reasons());
        core.state_written(Ok(()));
        core.set_disk_error(Some("read-only".to_owned()));
        assert!(core.reasons()[0].contains("read-only"), "{:?}", core.reasons());
        core.set_disk_error(None);
        for peer in 1..3 {
            core.on_peer_link(ProcessId::new(peer), Err("refused".to_owned()), Time(2));
        }
        assert_eq!(core.reasons(), [no_quorum]);
        let mut other = terms();
        other.drift_ppm = 7;
        connect(&mut core, 2, other, Time(3));
        let other = "terms: terms differ: p0 has drift_ppm = 500; p2 has drift_ppm = 7";
        assert_eq!(core.reasons(), [other, no_quorum]);
        core.on_peer_link(ProcessId::new(2), Err("refused".to_owned()), Time(4));
        assert_eq!(core.reasons(), [no_quorum]);
        connect(&mut core, 1, terms(), Time(5));
        assert_eq!(core.reasons(), [""; 0]);
        core.leave(Time(4));
        assert!(core.reasons()[0].starts_with("leaving: "));
    }

    #[test]
    fn a_peer_that_is_down_delays_readiness_by_two_seconds() {
        let mut core = unconnected_node_of(3, 0, terms());
        connect(&mut core, 1, terms(), Time(1));
        core.wake(Time(1) + Span::from_millis(1_900), 0);
        assert_eq!(core.reasons().len(), 1, "{:?}", core.reasons());
        core.wake(Time(1) + Span::from_millis(2_000), 0);
        assert_eq!(core.reasons(), [""; 0]);
    }
}
