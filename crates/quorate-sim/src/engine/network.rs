//! The network: message delays, and the faults of links.

use quorate_core::{ProcessId, ProcessSet, SortedMap, Span, Time};

use crate::random::{Random, Stream};
use crate::scenario::notation::ProcessSelector;
use crate::scenario::plan::{MessageFault, Plan};
use crate::scenario::{Delay, DelaySampler, Timing};

pub use crate::scenario::LinkModel;

/// The fate of a message on its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The message arrives at this time.
    Arrives(Time),
    /// The message arrives twice, at these times.
    ArrivesTwice(Time, Time),
    /// The message arrives at this time with other contents, which the number selects.
    ArrivesChanged(Time, u64),
    /// The message is lost.
    Lost(Loss),
}

/// Why a message did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// The link lost the message.
    Link,
    /// The link was cut.
    Cut,
    /// Sender and receiver were in different groups of a partition.
    Partition,
    /// The sender omitted to send the message.
    SendOmission,
    /// The receiver omitted to receive the message.
    ReceiveOmission,
    /// The sender is a traitor and withheld the message.
    Treason,
    /// The receiver was down.
    Down,
    /// The sender crashed before the message had left.
    Unsent,
}

impl Loss {
    /// Short name for traces and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "lost",
            Self::Cut => "cut",
            Self::Partition => "partition",
            Self::SendOmission => "send-omission",
            Self::ReceiveOmission => "receive-omission",
            Self::Treason => "treason",
            Self::Down => "receiver-down",
            Self::Unsent => "sender-down",
        }
    }
}

/// All links of a world.
#[derive(Debug)]
pub struct Network {
    n: usize,
    timing: Timing,
    delays: DelaySampler,
    exceptions: SortedMap<(ProcessId, ProcessId), DelaySampler>,
    /// Arrivals of single messages by their numbers.
    arrivals: SortedMap<u64, Time>,
    /// Maximum delay that processes may rely on.
    bound: Option<Span>,
    random: Random,
    /// Latest arrival time at each receiver, by sender. A row is allocated when it is first needed.
    latest: Option<Vec<Vec<u64>>>,
    /// Size of the allocated rows, in units of the smallest queued message.
    weight: usize,
    /// Whether no link has a fault at present and no arrival was chosen.
    healthy: bool,
    chance: Random,
    loss: f64,
    duplication: f64,
    reordering: f64,
    corruption: f64,
    dead: SortedMap<(ProcessId, ProcessId), u32>,
    partition_of: Vec<u32>,
    armed_faults: Vec<(ProcessId, ProcessId, MessageFault)>,
}

impl Network {
    /// Creates the links of n processes.
    pub fn new(n: usize, model: &LinkModel, plan: &Plan, seed: u64) -> Self {
        let process = |selector| match selector {
            ProcessSelector::Process(process) => process,
            ProcessSelector::Any => unreachable!("a link with its own delay is named"),
        };
        let exceptions = model
            .link_delay
            .iter()
            .map(|own| {
                (
                    (process(own.link.from), process(own.link.to)),
                    DelaySampler::new(own.delay.clone()),
                )
            })
            .collect();
        let laws = model.link_delay.iter().map(|own| &own.delay).chain([&model.delay]);
        let delay_bound =
            laws.map(Delay::bound).try_fold(Span::ZERO, |most, own| Some(most.max(own?)));
        let in_order_anyway = model.arrivals.is_empty()
            && (model.delay.is_constant()
                && model.link_delay.iter().all(|own| own.delay.is_constant())
                && !matches!(model.timing, Timing::Eventually(_))
                || matches!(model.timing, Timing::Rounds(_)));
        let mut network = Self {
            n,
            timing: model.timing,
            delays: DelaySampler::new(model.delay.clone()),
            exceptions,
            arrivals: model.arrivals.iter().map(|own| (own.message, own.at)).collect(),
            bound: delay_bound.filter(|_| model.timing.is_synchronous()),
            random: Random::new(seed, Stream::Delays),
            latest: (model.fifo && !in_order_anyway).then(|| vec![Vec::new(); n]),
            weight: 0,
            healthy: false,
            chance: Random::new(seed, Stream::Links),
            loss: plan.loss,
            duplication: plan.duplication,
            reordering: plan.reordering,
            corruption: plan.corruption,
            dead: SortedMap::new(),
            partition_of: Vec::new(),
            armed_faults: Vec::new(),
        };
        network.update_healthy();
        network
    }

    /// Decides what happens to a message that is sent now. A message
    /// from a process to itself takes no time and is never lost.
    #[inline(always)]
    pub fn fate(&mut self, message: u64, from: ProcessId, to: ProcessId, now: Time) -> Fate {
        if from == to {
            return Fate::Arrives(now);
        }
        if !self.healthy {
            return self.chosen_fate(message, from, to, now);
        }
        Fate::Arrives(self.arrival(from, to, now))
    }

    /// Returns why the link is blocked, or none if it is open. A message in flight on a link that is cut is lost with it.
    #[inline(always)]
    pub fn block_reason(&self, from: ProcessId, to: ProcessId) -> Option<Loss> {
        if self.healthy || from == to {
            None
        } else if self.dead.contains_key(&(from, to)) {
            Some(Loss::Cut)
        } else if !self.partition_of.is_empty()
            && self.partition_of[from.index()] != self.partition_of[to.index()]
        {
            Some(Loss::Partition)
        } else {
            None
        }
    }

    /// Size of the stored arrival times, in units of a queued message of 16 bytes, the smallest possible one.
    #[inline(always)]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Cuts or restores a link. A link that was cut twice must be restored twice.
    pub fn set_link(&mut self, from: ProcessId, to: ProcessId, cut: bool) {
        let cuts = self.dead.entry((from, to)).or_insert(0);
        *cuts = if cut { *cuts + 1 } else { cuts.saturating_sub(1) };
        if *cuts == 0 {
            self.dead.remove(&(from, to));
        }
        self.update_healthy();
    }

    /// Separates groups. All processes that are in no group form one more group.
    pub fn separate(&mut self, groups: &[ProcessSet]) {
        self.partition_of = vec![0; self.n];
        for (group, number) in groups.iter().zip(1..) {
            for member in group {
                self.partition_of[member.index()] = number;
            }
        }
        self.update_healthy();
    }

    /// Ends the current partition.
    pub fn heal(&mut self) {
        self.partition_of.clear();
        self.update_healthy();
    }

    /// Schedules a fault for the next message on a link.
    pub fn arm(&mut self, from: ProcessId, to: ProcessId, message_fault: MessageFault) {
        self.armed_faults.push((from, to, message_fault));
        self.update_healthy();
    }

    /// Draws whether a process omits a message with this probability.
    pub fn draw_omission(&mut self, rate: f64) -> bool {
        rate > 0.0 && self.chance.chance(rate)
    }

    /// Whether no link has a fault at present and no arrival was chosen.
    #[inline(always)]
    pub fn is_healthy(&self) -> bool {
        self.healthy
    }

    fn update_healthy(&mut self) {
        let rates = [self.loss, self.duplication, self.reordering, self.corruption];
        self.healthy = rates == [0.0; 4]
            && self.dead.is_empty()
            && self.partition_of.is_empty()
            && self.armed_faults.is_empty()
            && self.arrivals.is_empty();
    }

    /// The fate, with the arrival that was chosen for this message, if any. On a FIFO link it does not overtake earlier ones.
    #[cold]
    fn chosen_fate(&mut self, message: u64, from: ProcessId, to: ProcessId, now: Time) -> Fate {
        let link = |latest: &mut Vec<Vec<u64>>| latest[from.index()].get(to.index()).copied();
        let earlier = self.latest.as_mut().and_then(link).unwrap_or(0);
        let fate = self.fate_with_faults(from, to, now);
        let Some(chosen) = self.arrivals.get(&message).copied() else { return fate };
        if matches!(fate, Fate::Lost(_)) {
            return fate;
        }
        let chosen = chosen.max(now).max(Time(earlier));
        if let Some(latest) = &mut self.latest
            && let Some(last) = latest[from.index()].get_mut(to.index())
        {
            *last = chosen.0;
        }
        match fate {
            Fate::ArrivesChanged(_, choice) => Fate::ArrivesChanged(chosen, choice),
            Fate::ArrivesTwice(_, second) => Fate::ArrivesTwice(chosen, second),
            _ => Fate::Arrives(chosen),
        }
    }

    /// Delay of a message with a chosen arrival, if processes rely on a shorter one. A lost message has none.
    pub fn chosen_excess(&self, message: u64, fate: Fate, now: Time) -> Option<Span> {
        self.arrivals.get(&message)?;
        let (Fate::Arrives(time) | Fate::ArrivesTwice(time, _) | Fate::ArrivesChanged(time, _)) =
            fate
        else {
            return None;
        };
        let delay = time.since(now);
        self.bound.filter(|bound| delay > *bound).map(|_| delay)
    }

    fn fate_with_faults(&mut self, from: ProcessId, to: ProcessId, now: Time) -> Fate {
        if let Some(loss) = self.block_reason(from, to) {
            return Fate::Lost(loss);
        }
        let message_fault = self.take_armed_fault(from, to);
        let struck = |rate: f64, kind: MessageFault, chance: &mut Random| {
            // Every rate above zero is drawn for every message, so that
            // the result of one draw does not shift the next ones.
            (rate > 0.0 && chance.chance(rate)) || message_fault == Some(kind)
        };
        let lost = struck(self.loss, MessageFault::Loss, &mut self.chance);
        let doubled = struck(self.duplication, MessageFault::Duplication, &mut self.chance);
        let overtaken = struck(self.reordering, MessageFault::Reordering, &mut self.chance);
        let changed = struck(self.corruption, MessageFault::Corruption, &mut self.chance);
        if lost {
            return Fate::Lost(Loss::Link);
        }
        if overtaken {
            // Delayed twice and exempt from the order of its link, so that later messages may overtake it.
            let late =
                self.draw(from, to, now) + self.draw(from, to, now) + self.delays.law().mean();
            return Fate::Arrives(now + late);
        }
        let arrival = self.arrival(from, to, now);
        if changed {
            // An odd choice selects the other one of two possible contents.
            return Fate::ArrivesChanged(arrival, self.chance.below(1 << 32) | 1);
        }
        if doubled {
            Fate::ArrivesTwice(arrival, self.arrival(from, to, now))
        } else {
            Fate::Arrives(arrival)
        }
    }

    fn take_armed_fault(&mut self, from: ProcessId, to: ProcessId) -> Option<MessageFault> {
        let place = self.armed_faults.iter().position(|armed| (armed.0, armed.1) == (from, to))?;
        let (.., message_fault) = self.armed_faults.remove(place);
        self.update_healthy();
        Some(message_fault)
    }

    #[inline(always)]
    fn arrival(&mut self, from: ProcessId, to: ProcessId, now: Time) -> Time {
        let arrival = match self.timing {
            Timing::Rounds(length) => {
                Time((now.0 / length.0).saturating_add(1).saturating_mul(length.0))
            }
            _ => now + self.draw(from, to, now),
        };
        let Some(latest) = &mut self.latest else { return arrival };
        let row = &mut latest[from.index()];
        if row.is_empty() {
            row.resize(self.n, 0);
            self.weight += self.n / 2;
        }
        let last = &mut row[to.index()];
        *last = arrival.0.max(*last);
        Time(*last)
    }

    #[inline(always)]
    fn draw(&mut self, from: ProcessId, to: ProcessId, now: Time) -> Span {
        let delays = if self.exceptions.is_empty() {
            &mut self.delays
        } else {
            self.exceptions.get_mut(&(from, to)).unwrap_or(&mut self.delays)
        };
        let delay = delays.draw(&mut self.random);
        match self.timing {
            Timing::Eventually(stable) if now < stable => {
                let unstable =
                    delay.0.saturating_mul(1 + self.random.below(Timing::INSTABILITY_FACTOR));
                Span(unstable.min(stable.since(now).0.saturating_add(delay.0)))
            }
            _ => delay,
        }
    }
}
