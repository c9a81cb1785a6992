//! SWIM: every process probes one other per period, asks others to probe in its place, and spreads news on its probes.
//!
//! - **Source**: Das, Gupta and Motivala, "SWIM: Scalable Weakly-consistent Infection-style Process Group Membership
//!   Protocol", DSN 2002.
//! - **Assumes**: synchrony: each message arrives within the bound; nothing is lost.
//! - **Guarantees**: completeness and, while the assumptions hold, accuracy. Every process probes every other within
//!   2n - 3 periods, so each detects a crash by itself even if no news reaches it.
//! - **Costs**: 2n messages per period, two for each process however many there are. A probe without an answer costs up to
//!   4k more, with k = 3. A crash is known everywhere within 2n - 1 periods and a suspicion timeout; usually some
//!   process detects it in the next period.
//! - **Departs from the paper**: the members and their number are fixed. A process orders its probes by a hash of its
//!   number, the traversal and the target, where the paper draws them at random. A recovered process returns with a greater
//!   incarnation number, which also overrides the news that it has failed; in the paper it joins as a new member. It
//!   forgets what it knew of others. Every message has the incarnation number of its sender, and a message to a process that
//!   its sender takes for suspected or failed says so, so that news about a process that is up again cannot stay.
//!
//! ```text
//!   probe:   PING --(2 bounds without an ACK)--> PING-REQ through k others --(end of the period)--> suspected
//!   member:  alive i --(no answer)--> suspected i --(timeout)--> failed i
//!              ^------(alive i + 1 from the member itself)----------'
//! ```
//!
//! News about a member consists of its incarnation number and its status. Greater incarnation numbers are newer, and among
//! equal ones failed is newer than suspected, and that newer than alive.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::detector::Detector;
use quorate_core::{
    Assumption, Belief, Cost, DelayBounds, Effects, Kind, Layer, Message as CoreMessage, Process,
    ProcessId, Profile, Property, SortedMap, Span,
};

use crate::{Algorithm, Setup, Sound};

/// Number of members that are asked to probe in the place of a process: the paper's k.
const RELAYS: usize = 3;

/// Maximum number of news per message, besides the news for its receiver.
const NEWS_MOST: usize = 6;

/// Limit of an incarnation number. No process recovers this often, so only a lying process sends a greater one.
const INCARNATION_MAX: u32 = u32::MAX / 2;

/// One process of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Swim {
    id: ProcessId,
    n: usize,
    /// Maximum time to answer a probe directly.
    timeout: Span,
    incarnation: u32,
    /// Members that differ from [`Standing::INITIAL`].
    members: SortedMap<ProcessId, Standing>,
    /// News to be spread, by the member that it is about, and how often each was sent.
    news: SortedMap<ProcessId, (Standing, u32)>,
    /// Number of traversals of the members so far, and the members still to be probed in the current one, the next one last.
    traversal: u64,
    targets: Vec<ProcessId>,
    /// The number of the current period, and the member that has not answered in it yet.
    period: u64,
    unanswered: Option<ProcessId>,
}

/// The knowledge about a member. A greater value is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Standing {
    incarnation: u32,
    status: Status,
}

/// The status of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Status {
    /// It answers, or has contradicted a suspicion.
    Alive,
    /// It has not answered a probe. It still takes part, and may contradict.
    Suspected,
    /// It has not contradicted a suspicion in time.
    Failed,
}

/// The messages of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    what: MessageKind,
    /// The number of the period in which the probe began, at the process that began it.
    period: u64,
    /// The incarnation number of the sender.
    incarnation: u32,
    news: Vec<(ProcessId, Standing)>,
}

/// The kind of a message, with the processes that an indirect probe concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum MessageKind {
    /// Asks whether the receiver is alive.
    Ping,
    /// The answer to a PING.
    Ack,
    /// Asks the receiver to probe this member.
    PingReq(ProcessId),
    /// Asks whether the receiver is alive, in the place of this process.
    IndirectPing(ProcessId),
    /// The answer to an indirect PING.
    IndirectAck {
        /// The process that began the probe.
        requester: ProcessId,
        /// The member that has answered.
        target: ProcessId,
    },
}

/// The timers of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The period is over.
    Period,
    /// The probed member has not answered directly.
    Unanswered,
    /// The member has not contradicted a suspicion in time.
    Suspicion(ProcessId),
}

impl Standing {
    const INITIAL: Self = Self { incarnation: 0, status: Status::Alive };
}

impl Swim {
    /// Creates the detector at process `id` of `n`, with the shortest timeouts that the delays allow.
    pub fn with_delay_bounds(n: usize, id: ProcessId, delay_bounds: DelayBounds) -> Self {
        Self {
            id,
            n,
            timeout: Span(delay_bounds.bound.0.saturating_mul(2).saturating_add(1)),
            incarnation: 0,
            members: SortedMap::new(),
            news: SortedMap::new(),
            traversal: 0,
            targets: Vec::new(),
            period: 0,
            unanswered: None,
        }
    }

    /// Duration of a period: a direct probe takes two bounds, and an indirect one four more.
    fn period(&self) -> Span {
        Span(self.timeout.0.saturating_mul(3))
    }

    /// Maximum number of times that a process sends the same news, and duration of a suspicion in periods.
    fn spread(&self) -> u32 {
        3 * (self.n as u64 + 1).next_power_of_two().ilog2()
    }

    fn standing(&self, member: ProcessId) -> Standing {
        self.members.get(&member).copied().unwrap_or(Standing::INITIAL)
    }

    fn has_failed(&self, member: ProcessId) -> bool {
        self.standing(member).status == Status::Failed
    }

    /// The members that have not failed, in an order that looks random and depends on the process and a number.
    fn shuffled(&self, number: u64) -> Vec<ProcessId> {
        let others = ProcessId::all(self.n).filter(|it| *it != self.id && !self.has_failed(*it));
        let mut others: Vec<ProcessId> = others.collect();
        let of_self = mixed(number ^ mixed(u64::from(self.id.number())));
        others.sort_by_key(|it| (mixed(of_self ^ u64::from(it.number())), *it));
        others
    }

    fn next_target(&mut self) -> Option<ProcessId> {
        loop {
            if self.targets.is_empty() {
                self.targets = self.shuffled(self.traversal);
                self.traversal += 1;
            }
            let target = self.targets.pop()?;
            if !self.has_failed(target) {
                return Some(target);
            }
        }
    }

    /// Ends a period and begins the next one.
    fn begin_period(&mut self, out: &mut Effects<Self>) {
        if let Some(silent) = self.unanswered.take() {
            let incarnation = self.standing(silent).incarnation;
            self.learn(silent, Standing { incarnation, status: Status::Suspected }, out);
        }
        self.period += 1;
        self.unanswered = self.next_target();
        if let Some(target) = self.unanswered {
            self.send(target, MessageKind::Ping, self.period, out);
            out.set_timer(Timer::Unanswered, self.timeout);
        }
        out.set_timer(Timer::Period, self.period());
    }

    fn ask_others(&mut self, out: &mut Effects<Self>) {
        let Some(target) = self.unanswered else { return };
        let mut relays = self.shuffled(!self.period);
        relays.retain(|relay| *relay != target);
        for relay in relays.into_iter().take(RELAYS) {
            self.send(relay, MessageKind::PingReq(target), self.period, out);
        }
    }

    /// Sends a message with the news that were sent least often so far, and with what its receiver has to contradict.
    fn send(&mut self, to: ProcessId, what: MessageKind, period: u64, out: &mut Effects<Self>) {
        let most = self.spread();
        let mut due: Vec<(u32, ProcessId)> =
            self.news.iter().map(|(about, (_, sent))| (*sent, *about)).collect();
        due.sort_unstable();
        due.truncate(NEWS_MOST);
        let mut news = Vec::with_capacity(due.len() + 1);
        for (_, about) in due {
            let Some((standing, sent)) = self.news.get_mut(&about) else { continue };
            news.push((about, *standing));
            *sent += 1;
            if *sent >= most {
                self.news.remove(&about);
            }
        }
        let standing = self.standing(to);
        if standing.status != Status::Alive && !news.contains(&(to, standing)) {
            news.push((to, standing));
        }
        out.send(to, Message { what, period, incarnation: self.incarnation, news });
    }

    fn learn(&mut self, about: ProcessId, standing: Standing, out: &mut Effects<Self>) {
        if about.index() >= self.n || standing.incarnation >= INCARNATION_MAX {
            return out.ignored("impossible news");
        }
        if about == self.id {
            return self.contradict(standing);
        }
        let before = self.standing(about);
        if standing <= before {
            return;
        }
        self.members.insert(about, standing);
        self.news.insert(about, (standing, 0));
        match standing.status {
            Status::Suspected => {
                let after = self.period().0.saturating_mul(u64::from(self.spread()));
                out.set_timer(Timer::Suspicion(about), Span(after));
            }
            _ if before.status == Status::Suspected => out.cancel_timer(Timer::Suspicion(about)),
            _ => {}
        }
        match (before.status == Status::Failed, standing.status == Status::Failed) {
            (false, true) => out.output(Belief::Crashed(about)),
            (true, false) => out.output(Belief::Alive(about)),
            _ => {}
        }
    }

    /// This process is alive, whatever others believe. A greater incarnation number contradicts them.
    fn contradict(&mut self, standing: Standing) {
        if standing.status != Status::Alive && standing.incarnation >= self.incarnation {
            self.return_as(standing.incarnation + 1);
        }
    }

    fn return_as(&mut self, incarnation: u32) {
        self.incarnation = incarnation;
        self.news.insert(self.id, (Standing { incarnation, status: Status::Alive }, 0));
    }

    fn answered(&mut self, target: ProcessId, period: u64) {
        if self.unanswered == Some(target) && period == self.period {
            self.unanswered = None;
        }
    }
}

/// Mixes the bits of a number (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Detector for Swim {
    fn round(&self) -> Span {
        self.period()
    }
}

impl Process for Swim {
    type Command = Infallible;
    type Message = Message;
    type Timer = Timer;
    type Output = Belief;
    type Misuse = Infallible;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.begin_period(out);
    }

    fn on_command(&mut self, command: Infallible, _: &mut Effects<Self>) -> Result<(), Infallible> {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let Message { what, period, incarnation, news } = message;
        let exists = |process: ProcessId| process.index() < self.n;
        let named = match what {
            MessageKind::PingReq(process) | MessageKind::IndirectPing(process) => exists(process),
            MessageKind::IndirectAck { requester, target } => exists(requester) && exists(target),
            MessageKind::Ping | MessageKind::Ack => true,
        };
        if !named {
            return out.ignored("a probe of one who does not exist");
        }
        self.learn(from, Standing { incarnation, status: Status::Alive }, out);
        for (about, standing) in news {
            self.learn(about, standing, out);
        }
        match what {
            MessageKind::Ping => self.send(from, MessageKind::Ack, period, out),
            MessageKind::Ack => self.answered(from, period),
            MessageKind::PingReq(target) => {
                self.send(target, MessageKind::IndirectPing(from), period, out);
            }
            MessageKind::IndirectPing(requester) => {
                let ack = MessageKind::IndirectAck { requester, target: self.id };
                self.send(from, ack, period, out);
            }
            MessageKind::IndirectAck { requester, target } if requester == self.id => {
                self.answered(target, period);
            }
            // Only the answer of the target itself is forwarded, so that no message goes in circles.
            MessageKind::IndirectAck { requester, target } if target == from => {
                self.send(requester, MessageKind::IndirectAck { requester, target }, period, out);
            }
            MessageKind::IndirectAck { .. } => {
                out.ignored("an answer that is not for this process")
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match timer {
            Timer::Period => self.begin_period(out),
            Timer::Unanswered => self.ask_others(out),
            Timer::Suspicion(member) => {
                let Standing { incarnation, status } = self.standing(member);
                if status == Status::Suspected {
                    self.learn(member, Standing { incarnation, status: Status::Failed }, out);
                }
            }
        }
    }

    /// The beliefs from before the crash may be out of date, and would make others suspect a process that has recovered
    /// meanwhile.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        let failed = self.members.iter().filter(|(_, it)| it.status == Status::Failed);
        failed.for_each(|(member, _)| out.output(Belief::Alive(*member)));
        self.members = SortedMap::new();
        self.news = SortedMap::new();
        self.unanswered = None;
        self.return_as(self.incarnation + 1);
        self.begin_period(out);
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::detector("PING"),
        Kind::detector("ACK"),
        Kind::detector("PING-REQ"),
        Kind::detector("INDIRECT-PING"),
        Kind::detector("INDIRECT-ACK"),
    ];

    fn kind(&self) -> usize {
        match self.what {
            MessageKind::Ping => 0,
            MessageKind::Ack => 1,
            MessageKind::PingReq(_) => 2,
            MessageKind::IndirectPing(_) => 3,
            MessageKind::IndirectAck { .. } => 4,
        }
    }

    fn bytes(&self) -> Option<u64> {
        let processes = match self.what {
            MessageKind::Ping | MessageKind::Ack => 0,
            MessageKind::PingReq(_) | MessageKind::IndirectPing(_) => 1,
            MessageKind::IndirectAck { .. } => 2,
        };
        Some(17 + 8 * processes + 17 * self.news.len() as u64)
    }

    /// A lying process invents a failure.
    fn forged(&self, choice: u64) -> Self {
        let about = ProcessId::new((choice % 16) as u32);
        let standing = Standing { incarnation: (choice / 16 % 8) as u32, status: Status::Failed };
        Self { news: Vec::from([(about, standing)]), ..self.clone() }
    }
}

impl Algorithm for Swim {
    const PROFILE: Profile = Profile {
        name: "swim",
        layer: Layer::Detector,
        summary: "every process probes one other per period, directly or through others, and spreads news on its probes",
        source: "Das, Gupta, Motivala, DSN 2002",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::Synchrony, Assumption::Honesty],
        guarantees: &[Property::Completeness, Property::Accuracy],
        cost: "n probes and n answers a round",
        never_quiescent: true,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::with_delay_bounds(setup.n, id, setup.delay_bounds)
    }

    fn cost(setup: &Setup) -> Cost {
        let swim = Self::build(setup, ProcessId::new(0));
        // A member that was the first of one traversal may be the last of the next: 2n - 3 periods between two probes.
        // The second one takes a period, the suspicion lasts a while, and the crash may be late in its period.
        let rounds = 2 * setup.n as u64 - 1 + u64::from(swim.spread());
        Cost::between("n", 0, setup.n as u64).with_detection(rounds)
    }
}

impl Sound for Swim {}

#[cfg(test)]
mod tests {
    use quorate_core::{Effect, Recipients, Time};

    use super::*;

    const BOUNDS: DelayBounds = DelayBounds { delay: Span(10), bound: Span(10) };

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn swim(n: usize) -> Swim {
        Swim::with_delay_bounds(n, p(0), BOUNDS)
    }

    /// The messages that the process sends in a step, with their receivers, and its outputs.
    fn step(
        process: &mut Swim,
        act: impl FnOnce(&mut Swim, &mut Effects<Swim>),
    ) -> (Vec<(ProcessId, Message)>, Vec<Belief>) {
        let mut out = Effects::new(Time::ZERO);
        act(process, &mut out);
        let (mut sent, mut beliefs) = (Vec::new(), Vec::new());
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => sent.push((to, message)),
                Effect::Multicast { to: Recipients::Set(to), message } => {
                    sent.extend(to.iter().map(|to| (to, message.clone())));
                }
                Effect::Output(belief) => beliefs.push(belief),
                _ => {}
            }
        }
        (sent, beliefs)
    }

    fn standing(incarnation: u32, status: Status) -> Standing {
        Standing { incarnation, status }
    }

    #[test]
    fn every_member_is_probed_once_in_each_traversal() {
        let mut process = swim(9);
        for _ in 0..3 {
            let mut probed: Vec<ProcessId> = (0..8)
                .map(|_| {
                    let (sent, _) = step(&mut process, |it, out| it.begin_period(out));
                    process.unanswered = None;
                    sent[0].0
                })
                .collect();
            probed.sort_unstable();
            assert_eq!(probed, (1..9).map(p).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_silent_member_is_probed_through_others_then_suspected_then_failed() {
        let mut process = swim(6);
        let (sent, _) = step(&mut process, |it, out| it.on_start(out));
        let target = sent[0].0;
        let (asked, _) = step(&mut process, |it, out| it.on_timer(Timer::Unanswered, out));
        assert_eq!(asked.len(), RELAYS);
        assert!(asked.iter().all(|(relay, message)| {
            *relay != target && message.what == MessageKind::PingReq(target)
        }));
        let (sent, beliefs) = step(&mut process, |it, out| it.on_timer(Timer::Period, out));
        assert_eq!(process.standing(target), standing(0, Status::Suspected));
        assert_eq!(
            (sent[0].1.news.as_slice(), beliefs.len()),
            (&[(target, standing(0, Status::Suspected))][..], 0)
        );
        let (_, beliefs) = step(&mut process, |it, out| it.on_timer(Timer::Suspicion(target), out));
        assert_eq!(beliefs, [Belief::Crashed(target)]);
    }

    #[test]
    fn an_answer_through_another_member_is_an_answer() {
        let mut process = swim(6);
        let (sent, _) = step(&mut process, |it, out| it.on_start(out));
        let (target, ping) = sent[0].clone();
        let relay = ProcessId::all(6).find(|it| *it != target && *it != p(0)).expect("of six");
        let what = MessageKind::IndirectAck { requester: p(0), target };
        let late = Message { what, period: ping.period - 1, incarnation: 0, news: Vec::new() };
        step(&mut process, |it, out| it.on_message(relay, late.clone(), out));
        assert_eq!(process.unanswered, Some(target), "it answers an earlier probe");
        let ack = Message { period: ping.period, ..late };
        step(&mut process, |it, out| it.on_message(relay, ack, out));
        assert_eq!(process.unanswered, None);
    }

    #[test]
    fn a_suspected_process_contradicts_with_a_greater_incarnation_number() {
        let mut process = swim(4);
        let ping = |about, standing| Message {
            what: MessageKind::Ping,
            period: 1,
            incarnation: 0,
            news: Vec::from([(about, standing)]),
        };
        let news = ping(p(0), standing(2, Status::Failed));
        let (sent, beliefs) = step(&mut process, |it, out| it.on_message(p(1), news, out));
        assert_eq!((sent[0].1.incarnation, beliefs.len()), (3, 0));
        assert_eq!(sent[0].1.news, [(p(0), standing(3, Status::Alive))]);
        let old = ping(p(0), standing(2, Status::Suspected));
        step(&mut process, |it, out| it.on_message(p(1), old, out));
        assert_eq!(process.incarnation, 3, "it has contradicted this already");
    }

    #[test]
    fn newer_news_wins_and_is_sent_a_bounded_number_of_times() {
        let mut process = swim(4);
        let mut tell = |news| step(&mut process, |it, out| it.learn(p(2), news, out)).1;
        assert_eq!(tell(standing(1, Status::Failed)), [Belief::Crashed(p(2))]);
        assert_eq!(tell(standing(1, Status::Alive)), [], "it is older");
        assert_eq!(tell(standing(1, Status::Suspected)), [], "it is older");
        assert_eq!(tell(standing(2, Status::Alive)), [Belief::Alive(p(2))]);
        assert_eq!(tell(standing(2, Status::Suspected)), []);
        let carried = |process: &mut Swim| {
            let send =
                |it: &mut Swim, out: &mut Effects<Swim>| it.send(p(1), MessageKind::Ack, 1, out);
            step(process, send).0[0].1.news.len()
        };
        let times = (0..50).filter(|_| carried(&mut process) > 0).count();
        assert_eq!(times as u32, process.spread());
    }

    #[test]
    fn impossible_news_is_ignored() {
        let mut process = swim(4);
        let before = process.clone();
        for (about, incarnation) in [(p(9), 0), (p(2), u32::MAX), (p(0), u32::MAX)] {
            step(&mut process, |it, out| {
                it.learn(about, standing(incarnation, Status::Failed), out)
            });
        }
        assert_eq!(process, before);
    }
}
