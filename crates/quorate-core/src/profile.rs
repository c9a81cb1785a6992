//! Profile of an algorithm: its assumptions, guarantees and costs.

use core::fmt;
use core::ops::RangeInclusive;

use crate::Layer;

/// The declared properties of an algorithm, the same for every driver and every view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name of the algorithm on the command line.
    pub name: &'static str,
    /// The problem that the algorithm solves.
    pub layer: Layer,
    /// A one-line description of how it works.
    pub summary: &'static str,
    /// The publication that describes the algorithm.
    pub source: &'static str,
    /// For a deliberately broken algorithm: the property that it violates, and the reason.
    pub specimen: Option<Specimen>,
    /// The assumptions under which the guarantees hold.
    pub assumes: &'static [Assumption],
    /// The properties that hold under the assumptions. For a specimen they are only claims.
    pub guarantees: &'static [Property],
    /// The cost of an entry, an election or a decision, in words.
    pub cost: &'static str,
    /// Whether its processes keep exchanging messages while there are no requests.
    pub never_quiescent: bool,
}

impl Profile {
    /// The guarantees that hold: all of them, or for a specimen those that it does not break.
    pub fn kept_guarantees(&self) -> impl Iterator<Item = Property> {
        let specimen = self.specimen;
        let breaks = move |property: Property| {
            specimen.is_some_and(|it| it.breaks == property || it.also_breaks.contains(&property))
        };
        self.guarantees.iter().copied().filter(move |property| !breaks(*property))
    }
}

/// A broken algorithm that is kept as a demonstration. No service may run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specimen {
    /// The property that does not hold.
    pub breaks: Property,
    /// Further properties that do not hold either.
    pub also_breaks: &'static [Property],
    /// The reason why the property does not hold.
    pub why: &'static str,
}

/// An assumption of an algorithm about its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assumption {
    /// No message is lost.
    NoLoss,
    /// No message arrives twice.
    NoDuplication,
    /// No message is changed on its way. Every algorithm assumes this, and no profile lists it.
    NoCorruption,
    /// Messages on one link arrive in the order in which they were sent.
    Fifo,
    /// No process crashes during the run.
    NoCrash,
    /// The process that serves the others does not crash.
    ServerUp,
    /// A crashed process never recovers.
    CrashStop,
    /// A process that recovers remembers that it was down.
    Memory,
    /// The failure detector eventually suspects every crashed process and never suspects a live one.
    PerfectDetector,
    /// The failure detector eventually suspects every crashed process. From some moment on there is a live process that
    /// it does not suspect.
    EventualDetector,
    /// Delays, steps and clocks stay within known bounds.
    Synchrony,
    /// From some moment on, delays, steps and clocks stay within bounds. Neither the moment nor the bounds need be known.
    EventualSynchrony,
    /// The clocks of the time servers are correct.
    TrueServers,
    /// The drift of every clock is within a known bound.
    BoundedDrift,
    /// Of the servers whose answers are awaited, fewer than half are Byzantine.
    HonestMajority,
    /// Eventually a quorum of voters is up, in algorithms where only some processes vote.
    QuorumUp,
    /// Every process follows the algorithm.
    Honesty,
    /// At most as many processes crash as the algorithm tolerates.
    FewCrashes,
    /// At most as many processes crash or are Byzantine as the algorithm tolerates.
    FewFaults,
    /// The algorithm must tolerate fewer than a third of the processes as faulty: n > 3m.
    LessThanAThird,
    /// The algorithm must tolerate fewer than half of the processes as crashed: n > 2f.
    LessThanAHalf,
}

impl Assumption {
    /// All assumptions, in the order of their declaration.
    pub const ALL: [Self; 21] = [
        Self::NoLoss,
        Self::NoDuplication,
        Self::NoCorruption,
        Self::Fifo,
        Self::NoCrash,
        Self::ServerUp,
        Self::CrashStop,
        Self::Memory,
        Self::PerfectDetector,
        Self::EventualDetector,
        Self::Synchrony,
        Self::EventualSynchrony,
        Self::TrueServers,
        Self::BoundedDrift,
        Self::HonestMajority,
        Self::QuorumUp,
        Self::Honesty,
        Self::FewCrashes,
        Self::FewFaults,
        Self::LessThanAThird,
        Self::LessThanAHalf,
    ];

    /// A short machine-readable name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::NoLoss => "no-loss",
            Self::NoDuplication => "no-duplication",
            Self::NoCorruption => "no-corruption",
            Self::Fifo => "fifo-links",
            Self::NoCrash => "no-crash",
            Self::ServerUp => "server-up",
            Self::CrashStop => "crash-stop",
            Self::Memory => "memory",
            Self::PerfectDetector => "perfect-detector",
            Self::EventualDetector => "eventual-detector",
            Self::Synchrony => "synchrony",
            Self::EventualSynchrony => "eventual-synchrony",
            Self::TrueServers => "true-servers",
            Self::BoundedDrift => "bounded-drift",
            Self::HonestMajority => "honest-majority",
            Self::QuorumUp => "quorum-up",
            Self::Honesty => "honesty",
            Self::FewCrashes => "few-crashes",
            Self::FewFaults => "few-faults",
            Self::LessThanAThird => "n-above-3m",
            Self::LessThanAHalf => "n-above-2f",
        }
    }

    /// The assumption as a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NoLoss => "no message is lost",
            Self::NoDuplication => "no message arrives twice",
            Self::NoCorruption => "no message is changed on its way",
            Self::Fifo => "messages on one link arrive in order",
            Self::NoCrash => "no process crashes",
            Self::ServerUp => "the server does not crash",
            Self::CrashStop => "a crashed process does not recover",
            Self::Memory => "a process that recovers remembers that it was down",
            Self::PerfectDetector => {
                "the detector eventually suspects every crashed process, and never a live one"
            }
            Self::EventualDetector => {
                "the detector eventually suspects every crashed process, and eventually stops suspecting some live process"
            }
            Self::Synchrony => "delays, steps and clocks stay within known bounds",
            Self::EventualSynchrony => {
                "from some time on, delays, steps and clocks stay within bounds"
            }
            Self::TrueServers => "the servers' clocks are right",
            Self::BoundedDrift => "no clock drifts faster than a known rate",
            Self::HonestMajority => "fewer than half of the servers waited for lie",
            Self::QuorumUp => "eventually all voters of some quorum are up",
            Self::Honesty => "every process follows the algorithm",
            Self::FewCrashes => {
                "no more processes crash than the algorithm is configured to tolerate"
            }
            Self::FewFaults => {
                "no more processes crash or lie than the algorithm is configured to tolerate"
            }
            Self::LessThanAThird => "there are more than three processes per tolerated fault",
            Self::LessThanAHalf => "there are more than two processes per tolerated crash",
        }
    }
}

/// A property that a monitor can check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// Logical clocks, in any family that uses them.
    ClockCondition,
    /// Safety of mutual exclusion.
    ME1,
    /// Liveness of mutual exclusion.
    ME2,
    /// Order of entries in mutual exclusion.
    ME3,
    /// Growth of the fencing tokens of entries in mutual exclusion.
    Fencing,
    /// Safety of an election.
    E1,
    /// Liveness of an election.
    E2,
    /// Safety of an agreement: there is one decision.
    Agreement,
    /// Safety of an agreement: a decision is not invented.
    Validity,
    /// Liveness of an agreement: every correct process decides.
    Termination,
    /// Validity of a multicast: messages of live senders are delivered.
    DeliveryValidity,
    /// Integrity of a multicast: no duplicates and no invented messages.
    DeliveryIntegrity,
    /// Agreement of a multicast: all live members deliver the same messages.
    DeliveryAgreement,
    /// Multicast in the order of each sender.
    FifoOrder,
    /// Multicast in happened-before order.
    CausalOrder,
    /// Multicast in one order for all members.
    TotalOrder,
    /// Completeness of a failure detector.
    Completeness,
    /// Accuracy of a failure detector.
    Accuracy,
    /// Accuracy of a failure detector from some moment on.
    EventualAccuracy,
    /// Deviation of a clock from the true time is within its declared bound.
    ClockError,
    /// Deviation between clocks that were synchronised together is within the promised bound.
    ClockPrecision,
    /// Safety of resource allocation.
    Exclusion,
    /// Liveness of resource allocation.
    NoStarvation,
    /// Concurrency of resource allocation: compatible claims do not wait for each other.
    Concurrency,
    /// Safety of a snapshot: the recorded states form a consistent cut.
    ConsistentCut,
    /// Safety of a snapshot: the recorded channels have what was in flight.
    ChannelState,
    /// Liveness of a snapshot: it is completed everywhere.
    SnapshotTermination,
    /// Safety of a detection: what is announced is true.
    NoFalseDetection,
    /// Liveness of a detection: what is true is announced.
    EventualDetection,
    /// A term of a replicated log has one leader.
    ElectionSafety,
    /// A leader of a replicated log never changes its own log.
    LeaderAppendOnly,
    /// Replicated logs agree up to every entry that they share.
    LogMatching,
    /// Later leaders have all committed entries.
    LeaderCompleteness,
    /// Replicas apply the same commands in the same order.
    StateMachineSafety,
    /// Replicas apply only submitted commands, each once.
    CommandIntegrity,
    /// Liveness of a replicated log: submitted commands are applied.
    CommandLiveness,
}

impl Property {
    /// All properties, ordered by family.
    pub const ALL: [Self; 36] = [
        Self::ME1,
        Self::ME2,
        Self::ME3,
        Self::Fencing,
        Self::E1,
        Self::E2,
        Self::Agreement,
        Self::Validity,
        Self::Termination,
        Self::DeliveryValidity,
        Self::DeliveryIntegrity,
        Self::DeliveryAgreement,
        Self::FifoOrder,
        Self::CausalOrder,
        Self::TotalOrder,
        Self::Completeness,
        Self::Accuracy,
        Self::EventualAccuracy,
        Self::ClockError,
        Self::ClockPrecision,
        Self::Exclusion,
        Self::NoStarvation,
        Self::Concurrency,
        Self::ElectionSafety,
        Self::LeaderAppendOnly,
        Self::LogMatching,
        Self::LeaderCompleteness,
        Self::StateMachineSafety,
        Self::CommandIntegrity,
        Self::CommandLiveness,
        Self::ConsistentCut,
        Self::ChannelState,
        Self::SnapshotTermination,
        Self::NoFalseDetection,
        Self::EventualDetection,
        Self::ClockCondition,
    ];

    /// The properties of one family, and the properties of no particular family.
    pub fn of(layer: Layer) -> impl Iterator<Item = Self> {
        let of_it = move |property: &Self| property.layer().is_none_or(|own| own == layer);
        Self::ALL.into_iter().filter(of_it)
    }

    /// The family to which the property belongs. `None` if it applies to several families.
    pub const fn layer(self) -> Option<Layer> {
        Some(match self {
            Self::ClockCondition => return None,
            Self::ME1 | Self::ME2 | Self::ME3 | Self::Fencing => Layer::Mutex,
            Self::E1 | Self::E2 => Layer::Election,
            Self::Agreement | Self::Validity | Self::Termination => Layer::Agreement,
            Self::DeliveryValidity
            | Self::DeliveryIntegrity
            | Self::DeliveryAgreement
            | Self::FifoOrder
            | Self::CausalOrder
            | Self::TotalOrder => Layer::Multicast,
            Self::Completeness | Self::Accuracy | Self::EventualAccuracy => Layer::Detector,
            Self::ClockError | Self::ClockPrecision => Layer::Clock,
            Self::Exclusion | Self::NoStarvation | Self::Concurrency => Layer::Allocation,
            Self::ConsistentCut | Self::ChannelState | Self::SnapshotTermination => Layer::Snapshot,
            Self::NoFalseDetection | Self::EventualDetection => Layer::Detection,
            Self::ElectionSafety
            | Self::LeaderAppendOnly
            | Self::LogMatching
            | Self::LeaderCompleteness
            | Self::StateMachineSafety
            | Self::CommandIntegrity
            | Self::CommandLiveness => Layer::Replication,
        })
    }

    /// Whether only few algorithms promise the property. Reports about the others leave it out.
    pub const fn is_rare(self) -> bool {
        matches!(self, Self::ClockCondition | Self::Fencing)
    }

    /// The name of the property in the literature.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ClockCondition => "clock-condition",
            Self::ME1 => "ME1",
            Self::ME2 => "ME2",
            Self::ME3 => "ME3",
            Self::Fencing => "fencing",
            Self::E1 => "E1",
            Self::E2 => "E2",
            Self::Agreement => "agreement",
            Self::Validity => "validity",
            Self::Termination => "termination",
            Self::DeliveryValidity => "validity",
            Self::DeliveryIntegrity => "integrity",
            Self::DeliveryAgreement => "agreement",
            Self::FifoOrder => "fifo-order",
            Self::CausalOrder => "causal-order",
            Self::TotalOrder => "total-order",
            Self::Completeness => "completeness",
            Self::Accuracy => "accuracy",
            Self::EventualAccuracy => "eventual-accuracy",
            Self::ClockError => "error-bound",
            Self::ClockPrecision => "precision",
            Self::Exclusion => "exclusion",
            Self::NoStarvation => "no-starvation",
            Self::Concurrency => "concurrency",
            Self::ConsistentCut => "consistent-cut",
            Self::ChannelState => "channel-state",
            Self::SnapshotTermination => "completion",
            Self::NoFalseDetection => "no-false-detection",
            Self::EventualDetection => "eventual-detection",
            Self::ElectionSafety => "election-safety",
            Self::LeaderAppendOnly => "leader-append-only",
            Self::LogMatching => "log-matching",
            Self::LeaderCompleteness => "leader-completeness",
            Self::StateMachineSafety => "state-machine-safety",
            Self::CommandIntegrity => "integrity",
            Self::CommandLiveness => "liveness",
        }
    }

    /// The property as a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::ClockCondition => {
                "an event that happened before another has the smaller logical time"
            }
            Self::ME1 => "at most one process is inside",
            Self::ME2 => "every live requester enters",
            Self::ME3 => "entries follow the happened-before order of requests",
            Self::Fencing => "every entry has a greater token than all earlier entries",
            Self::E1 => "all processes that decide have the same leader, the greatest that is up",
            Self::E2 => "every live process eventually learns of a leader that is up",
            Self::Agreement => "no two correct processes decide differently",
            Self::Validity => {
                "the decided value was proposed; a value that all honest processes propose is decided"
            }
            Self::Termination => "every correct process decides",
            Self::DeliveryValidity => {
                "every live member delivers each message that a live process multicasts"
            }
            Self::DeliveryIntegrity => {
                "only members deliver a message, at most once, and only if it was multicast"
            }
            Self::DeliveryAgreement => {
                "if one live member delivers a message, every live member delivers it"
            }
            Self::FifoOrder => "messages of one sender are delivered in the order of sending",
            Self::CausalOrder => "messages are delivered in their happened-before order",
            Self::TotalOrder => "any two members deliver messages in the same order",
            Self::Completeness => "every crashed process is suspected by every live one",
            Self::Accuracy => "only crashed processes are suspected",
            Self::EventualAccuracy => "from some time on, only crashed processes are suspected",
            Self::ClockError => {
                "every clock that was set differs from the true time by at most its reported bound"
            }
            Self::ClockPrecision => {
                "clocks that were set together differ by at most the promised bound"
            }
            Self::Exclusion => "only compatible claims are inside together",
            Self::NoStarvation => "every live requester enters",
            Self::Concurrency => {
                "a claim waits only for claims that exclude it, or while all permits are taken"
            }
            Self::ConsistentCut => {
                "no recorded state has received a message whose sending is not recorded"
            }
            Self::ChannelState => {
                "the recorded channels have exactly the messages sent before and received after the cut"
            }
            Self::SnapshotTermination => {
                "every live process completes every snapshot that was begun"
            }
            Self::NoFalseDetection => "a termination or a deadlock that is announced has happened",
            Self::EventualDetection => "every termination or deadlock is eventually announced",
            Self::ElectionSafety => "at most one process leads in a term",
            Self::LeaderAppendOnly => "a leader never deletes or overwrites entries of its log",
            Self::LogMatching => {
                "logs with the same term at an index are identical up to that index"
            }
            Self::LeaderCompleteness => {
                "the leaders of later terms have every committed entry in their logs"
            }
            Self::StateMachineSafety => "all processes apply the same commands in the same order",
            Self::CommandIntegrity => "an applied command was submitted, and is applied once",
            Self::CommandLiveness => {
                "every live process applies each command that is submitted at a live process"
            }
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// The promised cost of an algorithm in one particular world: per entry of a mutex, per multicast, per election, per
/// agreement, or per round of a detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The paper's formula for the number of messages, such as `2(n - 1)`.
    pub formula: &'static str,
    /// The value of the formula in this world, or its range.
    pub messages: RangeInclusive<u64>,
    /// Time from request to entry into a free section, or from multicast to delivery, in message delays.
    pub client_delay: RangeInclusive<u64>,
    /// Time from an exit to the next entry, in message delays.
    pub synchronisation_delay: RangeInclusive<u64>,
    /// Time from a crash until every process knows of it, in rounds of a detector.
    pub detection_rounds: Option<u64>,
    /// Maximum number of messages in transit or stored at the same time, if it is known beforehand.
    pub stored_messages_max: Option<u64>,
}

impl Cost {
    /// Exactly this number of messages per entry.
    pub fn exact(formula: &'static str, messages: u64) -> Self {
        Self::between(formula, messages, messages)
    }

    /// At least `least` and at most `most` messages per entry.
    pub fn between(formula: &'static str, least: u64, most: u64) -> Self {
        Self {
            formula,
            messages: least..=most,
            client_delay: 0..=0,
            synchronisation_delay: 0..=0,
            detection_rounds: None,
            stored_messages_max: None,
        }
    }

    /// Sets the delay into a free section and the delay from a holder to its successor.
    #[must_use]
    pub fn with_delays(
        self,
        client: RangeInclusive<u64>,
        synchronisation: RangeInclusive<u64>,
    ) -> Self {
        Self { client_delay: client, synchronisation_delay: synchronisation, ..self }
    }

    /// Sets the number of rounds until every process knows of a crash.
    #[must_use]
    pub fn with_detection(self, rounds: u64) -> Self {
        Self { detection_rounds: Some(rounds), ..self }
    }

    /// Sets the maximum number of messages in transit or stored at the same time.
    #[must_use]
    pub fn with_stored_messages_max(self, messages: u64) -> Self {
        Self { stored_messages_max: Some(messages), ..self }
    }

    /// Removes all delays if there is a single process, because it waits for no other.
    #[must_use]
    pub fn without_delays_if_single(self, n: usize) -> Self {
        if n == 1 { self.with_delays(0..=0, 0..=0) } else { self }
    }
}
