//! Metrics of a node, for monitoring.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use quorate_algorithms::detector::VcubeDiagnosis;
use quorate_algorithms::mutex::leased_quorum::{ToCandidate, ToVoter};
use quorate_core::{Belief, Message, Process, SortedMap, Span};
use quorate_net::CertificateExpiry;

use crate::peer::PeerMessage;

type Labels = [(&'static str, &'static str); 1];
type CounterFamily = Family<Labels, Counter>;
type SecondsGauge = Gauge<f64, AtomicU64>;
type QuotaFamily = Family<[(&'static str, String); 2], SecondsGauge>;

/// Metrics of a node. Names of locks and clients are not used as labels, because their number is unbounded.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// Time from a request to its grant.
    pub(crate) wait: Histogram,
    /// Time from a grant to the release or loss of the lock.
    pub(crate) hold: Histogram,
    /// Time from a release through this node to the next grant of the same lock through this node.
    pub(crate) hand_off: Histogram,
    pub(crate) granted: Counter,
    /// Votes that were sent to candidates, here or elsewhere.
    pub(crate) votes: Counter,
    /// Lost locks, by reason.
    lost: CounterFamily,
    /// Requests that were not granted, by reason.
    refused: CounterFamily,
    /// Checked tokens that were not current.
    pub(crate) stale_tokens: Counter,
    /// Failed writes of the state file or the vote file.
    pub(crate) disk_failures: Counter,
    /// Implausible messages of peers.
    pub(crate) implausible: Counter,
    suspicion_changes: CounterFamily,
    /// Sent messages by kind: first the kinds of the detector, then [`KINDS`].
    sent: Vec<Counter>,
    /// Grants whose clients were silent, as this node's voter saw it.
    pub(crate) expired: Counter,
    /// Grants that an operator has revoked, as this node's voter saw it.
    pub(crate) revoked: Counter,
    pub(crate) held: Gauge,
    pub(crate) waiting: Gauge,
    /// Time since the request of the holder that has asked first.
    pub(crate) oldest_age: SecondsGauge,
    /// Time until the votes of that holder are freed, unless its client sends another beat.
    pub(crate) oldest_left: SecondsGauge,
    certificate_expiry: Family<Labels, Gauge>,
    quota_used: QuotaFamily,
    pub(crate) sessions: Gauge,
    pub(crate) requests: Gauge,
    pub(crate) ballots: Gauge,
    pub(crate) peers_up: Gauge,
    pub(crate) ready: Gauge,
}

/// Kinds of messages between nodes, other than those of the detector.
const KINDS: [&str; 28] = [
    "BEAT",
    "REQUEST",
    "RAISE",
    "YIELD",
    "RELEASE",
    "END",
    "ECHO",
    "VOTE",
    "BEHIND",
    "RAISED",
    "INQUIRE",
    "STALE",
    "GONE",
    "UNAVAILABLE",
    "REFUSED",
    "VOTER",
    "QUESTION",
    "REPLY",
    "INTEREST",
    "VOTES",
    "ADDRESS",
    "DESCRIBE",
    "FORGET",
    "LEAVING",
    "CALLED",
    "NO-RELAY",
    "CHAIN",
    "OUTDATED",
];

fn kinds() -> impl Iterator<Item = &'static str> {
    let detector = <<VcubeDiagnosis as Process>::Message as Message>::KINDS.iter();
    detector.map(|kind| kind.name).chain(KINDS)
}

/// Position of a message's kind in [`KINDS`]; `None` for messages of the detector.
fn kind(message: &PeerMessage) -> Option<usize> {
    Some(match message {
        PeerMessage::Detector(..) => return None,
        PeerMessage::ToVoter(_, message) => match message {
            ToVoter::Beat { .. } => 0,
            ToVoter::Request { .. } => 1,
            ToVoter::Raise { .. } => 2,
            ToVoter::Yield { .. } => 3,
            ToVoter::Release { .. } | ToVoter::Withdraw { .. } => 4,
            ToVoter::End { .. } => 5,
        },
        PeerMessage::ToCandidate(_, message) => match message {
            ToCandidate::Echo { .. } => 6,
            ToCandidate::Vote { .. } => 7,
            ToCandidate::Behind { .. } => 8,
            ToCandidate::Raised { .. } => 9,
            ToCandidate::Inquire { .. } => 10,
            ToCandidate::Stale { .. } => 11,
            ToCandidate::Gone { .. } => 12,
            ToCandidate::Unavailable => 13,
            ToCandidate::Refused { .. } => 14,
            ToCandidate::Outdated { .. } => 27,
        },
        PeerMessage::Voter(_) => 15,
        PeerMessage::Question(..) => 16,
        PeerMessage::Reply(..) => 17,
        PeerMessage::WatchUpdate(_) => 18,
        PeerMessage::Votes(_) => 19,
        PeerMessage::ClientAddress(_) => 20,
        PeerMessage::Describe(_) => 21,
        PeerMessage::Forget(_) => 22,
        PeerMessage::Leaving => 23,
        PeerMessage::Called(..) => 24,
        PeerMessage::NoRelay(_) => 25,
        PeerMessage::Chain(_) => 26,
    })
}

/// Histogram with buckets from 50 µs to 839 s, about 14 minutes.
fn duration_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.000_05, 4.0, 13))
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let sent = CounterFamily::default();
        let counters = kinds().map(|kind| sent.get_or_create(&[("kind", kind)]).clone()).collect();
        let mut metrics = Self {
            registry: Registry::with_prefix("quorate"),
            wait: duration_histogram(),
            hold: duration_histogram(),
            hand_off: duration_histogram(),
            granted: Counter::default(),
            votes: Counter::default(),
            lost: CounterFamily::default(),
            refused: CounterFamily::default(),
            stale_tokens: Counter::default(),
            disk_failures: Counter::default(),
            implausible: Counter::default(),
            suspicion_changes: CounterFamily::default(),
            sent: counters,
            expired: Counter::default(),
            revoked: Counter::default(),
            held: Gauge::default(),
            waiting: Gauge::default(),
            oldest_age: SecondsGauge::default(),
            oldest_left: SecondsGauge::default(),
            certificate_expiry: Family::default(),
            quota_used: QuotaFamily::default(),
            sessions: Gauge::default(),
            requests: Gauge::default(),
            ballots: Gauge::default(),
            peers_up: Gauge::default(),
            ready: Gauge::default(),
        };
        metrics.register(sent);
        metrics
    }

    fn register(&mut self, sent: CounterFamily) {
        let registry = &mut self.registry;
        let mut time = |name, help, metric: &Histogram| {
            registry.register_with_unit(name, help, Unit::Seconds, metric.clone());
        };
        time(
            "wait",
            "Time from the request for a lock to its grant, for sessions that this node relays",
            &self.wait,
        );
        time(
            "hold",
            "Time from the grant of a lock to its release or loss, for sessions that this node relays",
            &self.hold,
        );
        time(
            "hand_off",
            "Time from the release of a lock to the next grant, both through this node",
            &self.hand_off,
        );
        registry.register(
            "grants",
            "Locks granted to sessions that this node relays",
            self.granted.clone(),
        );
        registry.register(
            "votes",
            "Votes sent by this node, including repetitions",
            self.votes.clone(),
        );
        registry.register("losses", "Locks that were lost, by reason", self.lost.clone());
        registry.register(
            "refusals",
            "Requests that were not granted, by reason",
            self.refused.clone(),
        );
        registry.register(
            "stale_tokens",
            "Checked tokens that were not the latest",
            self.stale_tokens.clone(),
        );
        registry.register(
            "implausible_messages",
            "Implausible messages of peers, which were ignored",
            self.implausible.clone(),
        );
        registry.register(
            "disk_failures",
            "Failed writes of the state file",
            self.disk_failures.clone(),
        );
        registry.register(
            "detector_changes",
            "Changes of the failure detector's suspicions",
            self.suspicion_changes.clone(),
        );
        registry.register("messages_sent", "Messages to other nodes, by kind", sent);
        registry.register(
            "expired_grants",
            "Grants whose clients were silent for their ttl, seen by the voter of this node",
            self.expired.clone(),
        );
        registry.register(
            "revoked_grants",
            "Grants that were released by force, seen by the voter of this node",
            self.revoked.clone(),
        );
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "Version of the program", Info::new(version));
        registry.register(
            "certificate_expiry_timestamp_seconds",
            "When the certificate of this node, or the first of its authorities, expires, in seconds since 1970",
            self.certificate_expiry.clone(),
        );
        registry.register(
            "oldest_holder_age_seconds",
            "Time since the holder that has asked first has asked, of the locks that this node's voter knows to be held",
            self.oldest_age.clone(),
        );
        registry.register(
            "oldest_holder_validity_seconds",
            "Time until the votes of that holder are freed, unless its client sends another sign of life",
            self.oldest_left.clone(),
        );
        registry.register(
            "quota_used_ratio",
            "Part of a quota that a client uses on this node; for addresses, the maximum of all",
            self.quota_used.clone(),
        );
        let mut now = |name, help, metric: &Gauge| registry.register(name, help, metric.clone());
        now("sessions", "Sessions of clients", &self.sessions);
        now("requests", "Requests through this node that have not ended", &self.requests);
        now("held_locks", "Locks that are held, as this node's voter knows", &self.held);
        now("waiting_requests", "Requests that wait for this node's vote", &self.waiting);
        now("known_locks", "Locks that this node remembers as a voter", &self.ballots);
        now("peers_up", "Other nodes that are connected", &self.peers_up);
        now("ready", "Whether this node is ready: 1 or 0", &self.ready);
    }

    /// Formats all metrics for Prometheus.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string cannot fail");
        text
    }

    pub(crate) fn count_sent(&self, message: &PeerMessage) {
        let own = self.sent.len() - KINDS.len();
        let index = match (message, kind(message)) {
            (_, Some(kind)) => own + kind,
            (PeerMessage::Detector(_, message), None) => message.kind(),
            (_, None) => return,
        };
        self.sent[index].inc();
    }

    /// Sets when the certificates expire; without certificates there is no such metric.
    pub(crate) fn set_expiry(&self, expiry: Option<CertificateExpiry>) {
        let Some(CertificateExpiry { node, authority }) = expiry else { return };
        for (label, end) in [("node", node), ("authority", authority)] {
            self.certificate_expiry.get_or_create(&[("certificate", label)]).set(end);
        }
    }

    /// Sets the used part of each quota: sessions, requests, watches, and bytes of texts.
    pub(crate) fn set_quotas(&self, by_client: &SortedMap<&str, [f64; 4]>) {
        self.quota_used.clear();
        for (client, used) in by_client {
            for (quota, used) in ["sessions", "requests", "watches", "text_bytes"].iter().zip(used)
            {
                let labels = [("client", (*client).to_owned()), ("quota", (*quota).to_owned())];
                self.quota_used.get_or_create(&labels).set(*used);
            }
        }
    }

    /// Total number of messages to other nodes.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.iter().map(Counter::<u64, AtomicU64>::get).sum()
    }

    pub(crate) fn count_loss(&self, why: &'static str) {
        self.lost.get_or_create(&[("why", why)]).inc();
    }

    pub(crate) fn count_refusal(&self, why: &'static str) {
        self.refused.get_or_create(&[("why", why)]).inc();
    }

    pub(crate) fn count_suspicion(&self, belief: Belief) {
        let label = match belief {
            Belief::Crashed(_) => "crashed",
            Belief::Alive(_) => "alive",
        };
        self.suspicion_changes.get_or_create(&[("belief", label)]).inc();
    }
}

/// Converts a duration to seconds, the base unit of Prometheus.
pub(crate) fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1e9
}
