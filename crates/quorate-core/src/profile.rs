//! What an algorithm says of itself: what it takes for granted, promises and costs.

use core::fmt;
use core::ops::RangeInclusive;

use crate::Layer;

/// An algorithm's own statement, the same for every driver and every view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// The problem it solves.
    pub layer: Layer,
    /// One line: how it works.
    pub summary: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// If it is kept to be seen breaking: what breaks and why.
    pub specimen: Option<Specimen>,
    /// What it takes for granted.
    pub assumes: &'static [Assumption],
    /// What it promises while that holds. A specimen's are claims.
    pub guarantees: &'static [Property],
    /// What an entry, an election or a decision costs, in words.
    pub cost: &'static str,
    /// Whether its processes go on exchanging messages when nobody wants anything.
    pub never_quiescent: bool,
}

/// A broken algorithm kept to be seen breaking. No service may run one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specimen {
    /// The property that does not hold.
    pub breaks: Property,
    /// Why not.
    pub why: &'static str,
}

/// Something that an algorithm takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assumption {
    /// No message is lost.
    NoLoss,
    /// No message arrives twice.
    NoDuplication,
    /// Messages on one link arrive in the order in which they were sent.
    Fifo,
    /// No process crashes.
    NoCrash,
    /// The process that serves the others does not crash.
    ServerUp,
    /// A process that has crashed stays away.
    CrashStop,
    /// A process that comes back remembers that it was away.
    Memory,
    /// The failure detector suspects exactly the crashed, sooner or later.
    PerfectDetector,
    /// The failure detector suspects every crashed process sooner or later, and from some moment on leaves somebody
    /// live alone.
    EventualDetector,
    /// Delays, steps and clocks keep within known bounds.
    Synchrony,
    /// From some moment on, delays, steps and clocks keep within bounds; nobody need know either.
    EventualSynchrony,
    /// The clocks of those who serve the time are right.
    TrueServers,
    /// No clock gains or loses more than is known.
    BoundedDrift,
    /// Of the servers whose answers are waited for, fewer than half lie.
    HonestMajority,
    /// In the end the voters of a quorum are up, where only some processes vote.
    QuorumUp,
    /// Every process follows the algorithm.
    Honesty,
    /// No more processes crash than the algorithm is built to bear.
    FewCrashes,
    /// No more processes crash or lie than the algorithm is built to bear.
    FewFaults,
    /// Fewer than a third of the processes are to be borne as faulty: n > 3m.
    LessThanAThird,
    /// Fewer than half of the processes are to be borne as crashed: n > 2f.
    LessThanAHalf,
}

impl Assumption {
    /// Every assumption there is.
    pub const ALL: [Self; 20] = [
        Self::NoLoss,
        Self::NoDuplication,
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

    /// A short name for programs.
    pub const fn id(self) -> &'static str {
        match self {
            Self::NoLoss => "no-loss",
            Self::NoDuplication => "no-duplication",
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
            Self::Fifo => "messages on one link arrive in order",
            Self::NoCrash => "no process crashes",
            Self::ServerUp => "the server does not crash",
            Self::CrashStop => "a crashed process stays away",
            Self::Memory => "a process that comes back remembers that it was away",
            Self::PerfectDetector => "the detector suspects exactly the crashed, sooner or later",
            Self::EventualDetector => {
                "the detector tells of every crash, and in the end leaves somebody live alone"
            }
            Self::Synchrony => "delays, steps and clocks keep within known bounds",
            Self::EventualSynchrony => {
                "from some moment on, delays, steps and clocks keep within bounds"
            }
            Self::TrueServers => "the servers' clocks are right",
            Self::BoundedDrift => "no clock gains or loses more than is known",
            Self::HonestMajority => "of the servers waited for, fewer than half lie",
            Self::QuorumUp => "in the end the voters of a quorum are up",
            Self::Honesty => "every process follows the algorithm",
            Self::FewCrashes => "no more processes crash than it is built to bear",
            Self::FewFaults => "no more processes crash or lie than it is built to bear",
            Self::LessThanAThird => "there are more than three processes for each fault to bear",
            Self::LessThanAHalf => "there are more than two processes for each crash to bear",
        }
    }
}

/// Something that can be watched to hold, or seen to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// Logical clocks, in whatever family uses them.
    ClockCondition,
    /// Mutual exclusion, safety.
    ME1,
    /// Mutual exclusion, liveness.
    ME2,
    /// Mutual exclusion, order.
    ME3,
    /// Election, safety.
    E1,
    /// Election, liveness.
    E2,
    /// Agreement, safety: one decision.
    Agreement,
    /// Agreement, safety: no invention.
    Validity,
    /// Agreement, liveness.
    Termination,
    /// Multicast, validity.
    DeliveryValidity,
    /// Multicast, integrity.
    DeliveryIntegrity,
    /// Multicast, agreement.
    DeliveryAgreement,
    /// Multicast, order of one sender.
    FifoOrder,
    /// Multicast, happened-before order.
    CausalOrder,
    /// Multicast, one order for all.
    TotalOrder,
    /// Failure detection, completeness.
    Completeness,
    /// Failure detection, accuracy.
    Accuracy,
    /// Failure detection, accuracy from some moment on.
    EventualAccuracy,
    /// Clocks, truth.
    ClockError,
    /// Clocks, agreement.
    ClockPrecision,
}

impl Property {
    /// Every property there is, family by family.
    pub const ALL: [Self; 20] = [
        Self::ME1,
        Self::ME2,
        Self::ME3,
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
        Self::ClockCondition,
    ];

    /// The properties of one family, and those of any.
    pub fn of(layer: Layer) -> impl Iterator<Item = Self> {
        let of_it = move |property: &Self| property.layer().is_none_or(|own| own == layer);
        Self::ALL.into_iter().filter(of_it)
    }

    /// The family that it is a property of, if it is one of a single family.
    pub const fn layer(self) -> Option<Layer> {
        Some(match self {
            Self::ClockCondition => return None,
            Self::ME1 | Self::ME2 | Self::ME3 => Layer::Mutex,
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
        })
    }

    /// Its name in the literature.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ClockCondition => "clock-condition",
            Self::ME1 => "ME1",
            Self::ME2 => "ME2",
            Self::ME3 => "ME3",
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
        }
    }

    /// The property as a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::ClockCondition => "what happened before has the smaller logical time",
            Self::ME1 => "at most one process is inside",
            Self::ME2 => "every live requester enters",
            Self::ME3 => "entries follow the happened-before order of requests",
            Self::E1 => "all who decide have the same leader, the greatest that is up",
            Self::E2 => "every live process comes to know a leader that is up",
            Self::Agreement => "no two correct processes decide differently",
            Self::Validity => {
                "what is decided was proposed; what all honest processes propose is decided"
            }
            Self::Termination => "every correct process decides",
            Self::DeliveryValidity => "what a live process multicasts, every live member delivers",
            Self::DeliveryIntegrity => "only members deliver, once, and only what was multicast",
            Self::DeliveryAgreement => "what one live member delivers, every live member delivers",
            Self::FifoOrder => "messages of one sender are delivered in the order of sending",
            Self::CausalOrder => "messages are delivered in their happened-before order",
            Self::TotalOrder => "any two members deliver messages in the same order",
            Self::Completeness => "every crashed process is suspected by every live one",
            Self::Accuracy => "nobody is suspected who has not crashed",
            Self::EventualAccuracy => "from some moment on nobody is suspected who has not crashed",
            Self::ClockError => "every clock that was set is as near to the true time as it says",
            Self::ClockPrecision => {
                "clocks that were set together differ by no more than was promised"
            }
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// What an algorithm promises to cost in one particular world: per entry of a mutex, per
/// multicast, per election, per agreement, per round of a detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The paper's formula for messages: `2(n - 1)`.
    pub formula: &'static str,
    /// What the formula gives here; a range where the formula has one.
    pub messages: RangeInclusive<u64>,
    /// From request to entry with the section free, or from multicast to delivery, in message delays.
    pub client_delay: RangeInclusive<u64>,
    /// From exit to the next entry, in message delays.
    pub synchronisation_delay: RangeInclusive<u64>,
    /// From a crash to when everybody knows of it, in rounds of a detector.
    pub detection_rounds: Option<u64>,
    /// How many messages are under way or remembered at once, where that is known beforehand.
    pub stored_messages_max: Option<u64>,
}

impl Cost {
    /// Exactly so many messages per entry.
    pub fn exact(formula: &'static str, messages: u64) -> Self {
        Self::between(formula, messages, messages)
    }

    /// So many messages per entry at least, and so many at most.
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

    /// With these delays into a free section and from the holder to its successor.
    #[must_use]
    pub fn with_delays(
        self,
        client: RangeInclusive<u64>,
        synchronisation: RangeInclusive<u64>,
    ) -> Self {
        Self { client_delay: client, synchronisation_delay: synchronisation, ..self }
    }

    /// With everybody told of a crash after so many rounds.
    #[must_use]
    pub fn with_detection(self, rounds: u64) -> Self {
        Self { detection_rounds: Some(rounds), ..self }
    }

    /// With so many messages under way or remembered at once.
    #[must_use]
    pub fn with_stored_messages_max(self, messages: u64) -> Self {
        Self { stored_messages_max: Some(messages), ..self }
    }

    /// A single process has nobody to wait for.
    #[must_use]
    pub fn without_delays_if_single(self, n: usize) -> Self {
        if n == 1 { self.with_delays(0..=0, 0..=0) } else { self }
    }
}
