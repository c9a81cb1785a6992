//! Worlds beyond the assumptions: one or two of those that an algorithm states are left, for a while where that makes
//! sense, to see what breaks.

use quorate_core::mutex::voters;
use quorate_core::{Assumption, Drift, Offset, ProcessId, ProcessSet, Profile, Span, Time};
use quorate_sim::fault::{
    Clock, Cut, Occasion, Omission, OnLink, Partition, Recover, Slow, Suspect, Traitor,
};
use quorate_sim::notation::{Factor, Link, Rate, When, Who, Window};
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::traitor::Strategy;
use quorate_sim::{Delay, LocalClock, Scenario, Timing};

use super::draw::{Dice, UNIT};

/// Faults that a seed adds are no more than this of a kind.
const MOST: u64 = 5;

/// More traitors than this are not borne: some algorithms need exponentially many messages for it.
const BORNE_MOST: usize = 2;

const STRATEGIES: [Strategy; 4] =
    [Strategy::Silent, Strategy::Liar, Strategy::Equivocator, Strategy::Stutterer];

/// Leaves one or two assumptions. What happens until `end` is disturbed.
pub(super) fn leave(profile: &Profile, scenario: &mut Scenario, end: u64, dice: &mut Dice) {
    let known = profile.assumes;
    if known.is_empty() || scenario.processes < 2 {
        return;
    }
    let mut beyond = Beyond { scenario, dice, end };
    for _ in 0..if beyond.dice.chance(0.3) { 2 } else { 1 } {
        let place = beyond.dice.between(0, known.len() as u64 - 1) as usize;
        beyond.leave(known[place]);
    }
}

pub(super) struct Beyond<'a> {
    pub(super) scenario: &'a mut Scenario,
    pub(super) dice: &'a mut Dice,
    /// What happens until then is disturbed.
    pub(super) end: u64,
}

impl Beyond<'_> {
    fn leave(&mut self, assumption: Assumption) {
        match assumption {
            Assumption::NoLoss => self.lose(),
            Assumption::NoDuplication => {
                let twice = self.mishaps();
                self.scenario.faults.duplicate.extend(twice);
            }
            Assumption::Fifo => {
                let overtaken = self.mishaps();
                self.scenario.faults.reorder.extend(overtaken);
            }
            Assumption::NoCrash => {
                let most = (self.scenario.processes as u64 - 1) / 2;
                self.crash_more(most.max(1) as usize);
            }
            Assumption::ServerUp => self.crash(ProcessId::new(self.scenario.server)),
            Assumption::CrashStop => self.come_back(true),
            Assumption::Memory => self.come_back(false),
            Assumption::PerfectDetector => self.suspect(false),
            Assumption::EventualDetector => self.suspect(true),
            Assumption::Synchrony => self.slow(),
            Assumption::EventualSynchrony => {
                self.scenario.timing = Some(Timing::Asynchronous);
                self.scenario.delay = Delay::Exponential(Span(UNIT));
            }
            Assumption::TrueServers => {
                let servers: Vec<ProcessId> = self.scenario.time_servers().iter().collect();
                let who = servers[self.dice.between(0, servers.len() as u64 - 1) as usize];
                let offset = Offset(self.dice.between(UNIT, 500 * UNIT) as i64);
                let clock = LocalClock { who, offset, drift: Drift::NONE };
                self.scenario.local_clock.retain(|other| other.who != who);
                self.scenario.local_clock.push(clock);
            }
            Assumption::BoundedDrift => {
                let (who, at) = (self.anybody(), self.moment());
                let rate = Factor([0.5, 1.1, 2.0][self.dice.between(0, 2) as usize]);
                self.scenario.faults.clock.push(Clock { who, at, rate });
            }
            Assumption::HonestMajority => {
                let few = (self.scenario.replies as usize).div_ceil(2).max(1);
                let servers: Vec<ProcessId> = self.scenario.time_servers().iter().collect();
                servers.into_iter().take(few).for_each(|server| self.betray(server));
            }
            Assumption::QuorumUp => {
                voters(self.scenario.processes).iter().for_each(|voter| self.crash_for_good(voter));
            }
            Assumption::Honesty => {
                let traitor = self.someone();
                self.betray(traitor);
            }
            Assumption::FewCrashes => {
                let more = self.scenario.bears.unwrap_or(0) + 1;
                self.crash_more(more);
            }
            Assumption::FewFaults => {
                let more = self.scenario.bears.unwrap_or(0) + 1;
                let n = self.scenario.processes;
                ProcessId::all(n).take(more.min(n - 1)).for_each(|process| self.betray(process));
            }
            Assumption::LessThanAThird => {
                let bears = self.scenario.processes.div_ceil(3);
                if bears <= BORNE_MOST {
                    self.scenario.bears = Some(bears);
                }
            }
            Assumption::LessThanAHalf => {
                self.scenario.bears = Some(self.scenario.processes.div_ceil(2));
            }
        }
    }

    /// Single messages, a process's own, those of a link, or all between parts of the network.
    pub(super) fn lose(&mut self) {
        let n = self.scenario.processes;
        match self.dice.between(0, 3) {
            0 => {
                let lost = self.mishaps();
                self.scenario.faults.lose.extend(lost);
            }
            1 => {
                let (who, window) = (self.anybody(), self.window());
                let omission = Omission { who, window, rate: Rate(0.5) };
                match self.dice.chance(0.5) {
                    true => self.scenario.faults.omit_send.push(omission),
                    false => self.scenario.faults.omit_receive.push(omission),
                }
            }
            2 => {
                let (link, window) = (self.link(), self.window());
                let both_ways = self.dice.chance(0.5);
                self.scenario.faults.cut.push(Cut { link, both_ways, window });
            }
            _ => {
                let split = self.dice.between(1, n as u64 - 1) as usize;
                let parts =
                    [ProcessId::all(split).collect(), ProcessId::all(n).skip(split).collect()];
                let groups: Vec<ProcessSet> = parts.into();
                let window = self.window();
                self.scenario.faults.partition.push(Partition { groups, window });
            }
        }
    }

    /// So many crash in all, if there are so many.
    fn crash_more(&mut self, count: usize) {
        for _ in self.crashed().len()..count {
            let process = self.someone();
            self.crash(process);
        }
    }

    fn crash(&mut self, process: ProcessId) {
        if !self.crashed().contains(process) {
            let (who, at) = (Who::Process(process), self.moment());
            self.scenario.faults.crash.push(Occasion { who, at });
        }
    }

    /// One crashes and stays away.
    fn crash_for_good(&mut self, process: ProcessId) {
        let who = Who::Process(process);
        self.scenario.faults.recover.retain(|recover| recover.who != who);
        let mut crashes = 0;
        self.scenario.faults.crash.retain(|crash| {
            crashes += usize::from(crash.who == who);
            crash.who != who || crashes == 1
        });
        self.crash(process);
    }

    /// One crashes, if it does not anyhow, and is back after a while.
    fn come_back(&mut self, memory: bool) {
        let process = self.someone();
        self.crash(process);
        let who = Who::Process(process);
        let crashes = self.scenario.faults.crash.iter().filter(|crash| crash.who == who);
        let Some(last) = crashes.map(|crash| crash.at.latest()).max() else { return };
        let at = When::At(Time(last.0 + self.dice.between(1, 20 * UNIT)));
        if !self.scenario.faults.recover.iter().any(|recover| recover.who == who) {
            self.scenario.faults.recover.push(Recover { who, at, memory });
        }
    }

    /// Some suspect others for a while; or everybody suspects its neighbour for ever.
    fn suspect(&mut self, for_ever: bool) {
        if self.scenario.detector != DetectorChoice::Oracle {
            return;
        }
        let n = self.scenario.processes as u32;
        if for_ever {
            let from = self.moment();
            for number in 0..n {
                let named = |number: u32| Who::Process(ProcessId::new(number % n));
                let pair = Link { from: named(number), to: named(number + 1) };
                let window = Window { from, until: None };
                self.scenario.faults.suspect.push(Suspect { pair, window });
            }
            return;
        }
        for _ in 0..self.dice.between(1, MOST) {
            let (pair, window) = (self.link(), self.window());
            self.scenario.faults.suspect.push(Suspect { pair, window });
        }
    }

    fn slow(&mut self) {
        for _ in 0..self.dice.between(1, 3) {
            let (who, window) = (self.anybody(), self.window());
            let handling = Span(self.dice.between(1, 20 * UNIT));
            self.scenario.faults.slow.push(Slow { who, window, handling });
        }
    }

    fn betray(&mut self, traitor: ProcessId) {
        let who = Who::Process(traitor);
        if !self.scenario.faults.traitor.iter().any(|other| other.who == who) {
            let strategy = STRATEGIES[self.dice.between(0, 3) as usize];
            self.scenario.faults.traitor.push(Traitor { who, strategy });
        }
    }

    fn crashed(&self) -> ProcessSet {
        let faults = &self.scenario.faults;
        let plain = faults.crash.iter().map(|crash| crash.who);
        let all = plain.chain(faults.crash_mid.iter().map(|crash| crash.who));
        let named = |who: Who| match who {
            Who::Process(process) => Some(process),
            Who::Any => None,
        };
        all.filter_map(named).collect()
    }

    fn someone(&mut self) -> ProcessId {
        ProcessId::new(self.dice.between(0, self.scenario.processes as u64 - 1) as u32)
    }

    fn anybody(&mut self) -> Who {
        Who::Process(self.someone())
    }

    fn link(&mut self) -> Link {
        let n = self.scenario.processes as u64;
        let (from, shift) = (self.dice.between(0, n - 1), self.dice.between(1, n - 1));
        let named = |number: u64| Who::Process(ProcessId::new((number % n) as u32));
        Link { from: named(from), to: named(from + shift) }
    }

    fn moment(&mut self) -> When {
        When::At(Time(self.dice.between(0, self.end)))
    }

    /// From a moment on for a while: the storm passes.
    fn window(&mut self) -> Window {
        let from = self.dice.between(0, self.end);
        let until = Some(When::At(Time(from + self.dice.between(1, 10 * UNIT))));
        Window { from: When::At(Time(from)), until }
    }

    pub(super) fn mishaps(&mut self) -> Vec<OnLink> {
        let count = self.dice.between(1, MOST);
        (0..count).map(|_| OnLink { link: self.link(), at: self.moment() }).collect()
    }
}
