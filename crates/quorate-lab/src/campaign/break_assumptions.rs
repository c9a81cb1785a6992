//! Scenarios outside the assumptions: one or two of an algorithm's stated assumptions are broken, for a while where that
//! makes sense, to see which properties are violated.

use quorate_core::mutex::voters;
use quorate_core::{Assumption, Drift, Offset, ProcessId, ProcessSet, Profile, Span, Time};
use quorate_sim::fault::{
    Clock, Cut, LinkAt, Omission, Partition, ProcessAt, Recover, Slow, Suspect, Traitor,
};
use quorate_sim::notation::{Factor, Link, ProcessSelector, Rate, When, Window};
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::traitor::Strategy;
use quorate_sim::{Delay, LocalClock, Scenario, Timing};

use super::dice::{Dice, UNIT};

/// Maximum number of faults of one kind that a seed adds.
const MOST: u64 = 5;

/// Maximum number of traitors to tolerate. Some algorithms need exponentially many messages to tolerate more.
const TOLERATED_MOST: usize = 2;

const STRATEGIES: [Strategy; 4] =
    [Strategy::Silent, Strategy::Liar, Strategy::Equivocator, Strategy::Stutterer];

/// Breaks one or two assumptions. Added faults start no later than `end`.
pub(super) fn break_some_assumptions(
    profile: &Profile,
    scenario: &mut Scenario,
    end: u64,
    dice: &mut Dice,
) {
    let known = profile.assumes;
    if known.is_empty() || scenario.processes < 2 {
        return;
    }
    let mut injector = FaultInjector { scenario, dice, end };
    for _ in 0..if injector.dice.chance(0.3) { 2 } else { 1 } {
        let place = injector.dice.between(0, known.len() as u64 - 1) as usize;
        injector.break_assumption(known[place]);
    }
}

pub(super) struct FaultInjector<'a> {
    pub(super) scenario: &'a mut Scenario,
    pub(super) dice: &'a mut Dice,
    /// Latest start of an added fault, in nanoseconds.
    pub(super) end: u64,
}

impl FaultInjector<'_> {
    fn break_assumption(&mut self, assumption: Assumption) {
        match assumption {
            Assumption::NoLoss => self.lose(),
            Assumption::NoDuplication => {
                let twice = self.link_faults();
                self.scenario.faults.duplicate.extend(twice);
            }
            Assumption::NoCorruption => {
                let changed = self.link_faults();
                self.scenario.faults.corrupt.extend(changed);
            }
            Assumption::Fifo => {
                let overtaken = self.link_faults();
                self.scenario.faults.reorder.extend(overtaken);
            }
            Assumption::NoCrash => {
                let most = (self.scenario.processes as u64 - 1) / 2;
                self.crash_more(most.max(1) as usize);
            }
            Assumption::ServerUp => self.crash(ProcessId::new(self.scenario.server)),
            Assumption::CrashStop => self.add_recovery(true),
            Assumption::Memory => self.add_recovery(false),
            Assumption::PerfectDetector => self.suspect(false),
            Assumption::EventualDetector => self.suspect(true),
            Assumption::Synchrony => self.slow(),
            Assumption::EventualSynchrony => {
                self.scenario.timing = Some(Timing::Asynchronous);
                self.scenario.delay = Delay::Exponential(Span(UNIT));
            }
            Assumption::TrueServers => {
                let servers: Vec<ProcessId> = self.scenario.time_servers().iter().collect();
                let server = servers[self.dice.between(0, servers.len() as u64 - 1) as usize];
                let offset = Offset(self.dice.between(UNIT, 500 * UNIT) as i64);
                let clock = LocalClock { process: server, offset, drift: Drift::NONE };
                self.scenario.local_clock.retain(|other| other.process != server);
                self.scenario.local_clock.push(clock);
            }
            Assumption::BoundedDrift => {
                let (selector, at) = (self.random_selector(), self.moment());
                let rate = Factor([0.5, 1.1, 2.0][self.dice.between(0, 2) as usize]);
                self.scenario.faults.clock.push(Clock { process: selector, at, rate });
            }
            Assumption::HonestMajority => {
                let few = (self.scenario.replies as usize).div_ceil(2).max(1);
                let servers: Vec<ProcessId> = self.scenario.time_servers().iter().collect();
                servers.into_iter().take(few).for_each(|server| self.add_traitor(server));
            }
            Assumption::QuorumUp => {
                voters(self.scenario.processes)
                    .iter()
                    .for_each(|voter| self.crash_permanently(voter));
            }
            Assumption::Honesty => {
                let traitor = self.random_process();
                self.add_traitor(traitor);
            }
            Assumption::FewCrashes => {
                let more = self.scenario.tolerates.unwrap_or(0) + 1;
                self.crash_more(more);
            }
            Assumption::FewFaults => {
                let more = self.scenario.tolerates.unwrap_or(0) + 1;
                let n = self.scenario.processes;
                ProcessId::all(n)
                    .take(more.min(n - 1))
                    .for_each(|process| self.add_traitor(process));
            }
            Assumption::LessThanAThird => {
                let tolerates = self.scenario.processes.div_ceil(3);
                if tolerates <= TOLERATED_MOST {
                    self.scenario.tolerates = Some(tolerates);
                }
            }
            Assumption::LessThanAHalf => {
                self.scenario.tolerates = Some(self.scenario.processes.div_ceil(2));
            }
        }
    }

    /// Loses single messages, messages of one process, those of a link, or all between two parts of the network.
    pub(super) fn lose(&mut self) {
        let n = self.scenario.processes;
        match self.dice.between(0, 3) {
            0 => {
                let lost = self.link_faults();
                self.scenario.faults.lose.extend(lost);
            }
            1 => {
                let (selector, window) = (self.random_selector(), self.window());
                let omission = Omission { process: selector, window, rate: Rate(0.5) };
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

    /// Adds crashes of random processes, until `count` or all processes crash.
    fn crash_more(&mut self, count: usize) {
        // A process that crashes anyway is drawn in vain.
        while self.crashed().len() < count.min(self.scenario.processes) {
            let process = self.random_process();
            self.crash(process);
        }
    }

    fn crash(&mut self, process: ProcessId) {
        if !self.crashed().contains(process) {
            let (selector, at) = (ProcessSelector::Process(process), self.moment());
            self.scenario.faults.crash.push(ProcessAt { process: selector, at });
        }
    }

    /// Lets a process crash and never recover.
    fn crash_permanently(&mut self, process: ProcessId) {
        let selector = ProcessSelector::Process(process);
        self.scenario.faults.recover.retain(|recover| recover.process != selector);
        let mut crashes = 0;
        self.scenario.faults.crash.retain(|crash| {
            crashes += usize::from(crash.process == selector);
            crash.process != selector || crashes == 1
        });
        self.crash(process);
    }

    /// Lets a process crash, unless it crashes anyway, and recover after a while.
    fn add_recovery(&mut self, memory: bool) {
        let process = self.random_process();
        self.crash(process);
        let selector = ProcessSelector::Process(process);
        let crashes = self.scenario.faults.crash.iter().filter(|crash| crash.process == selector);
        let Some(last) = crashes.map(|crash| crash.at.latest()).max() else { return };
        let at = When::At(Time(last.0 + self.dice.between(1, 20 * UNIT)));
        if !self.scenario.faults.recover.iter().any(|recover| recover.process == selector) {
            self.scenario.faults.recover.push(Recover { process: selector, at, memory });
        }
    }

    /// Lets some processes suspect others for a while, or every process suspect its neighbour forever.
    fn suspect(&mut self, for_ever: bool) {
        if self.scenario.detector != DetectorChoice::Oracle {
            return;
        }
        let n = self.scenario.processes as u32;
        if for_ever {
            let from = self.moment();
            for number in 0..n {
                let named = |number: u32| ProcessSelector::Process(ProcessId::new(number % n));
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
            let (selector, window) = (self.random_selector(), self.window());
            let handling = Span(self.dice.between(1, 20 * UNIT));
            self.scenario.faults.slow.push(Slow { process: selector, window, handling });
        }
    }

    fn add_traitor(&mut self, traitor: ProcessId) {
        let selector = ProcessSelector::Process(traitor);
        if !self.scenario.faults.traitor.iter().any(|other| other.process == selector) {
            let strategy = STRATEGIES[self.dice.between(0, 3) as usize];
            self.scenario.faults.traitor.push(Traitor { process: selector, strategy });
        }
    }

    fn crashed(&self) -> ProcessSet {
        let faults = &self.scenario.faults;
        let plain = faults.crash.iter().map(|crash| crash.process);
        let all = plain.chain(faults.crash_mid.iter().map(|crash| crash.process));
        let named = |selector: ProcessSelector| match selector {
            ProcessSelector::Process(process) => Some(process),
            ProcessSelector::Any => None,
        };
        all.filter_map(named).collect()
    }

    fn random_process(&mut self) -> ProcessId {
        ProcessId::new(self.dice.between(0, self.scenario.processes as u64 - 1) as u32)
    }

    fn random_selector(&mut self) -> ProcessSelector {
        ProcessSelector::Process(self.random_process())
    }

    fn link(&mut self) -> Link {
        let n = self.scenario.processes as u64;
        let (from, shift) = (self.dice.between(0, n - 1), self.dice.between(1, n - 1));
        let named = |number: u64| ProcessSelector::Process(ProcessId::new((number % n) as u32));
        Link { from: named(from), to: named(from + shift) }
    }

    fn moment(&mut self) -> When {
        When::At(Time(self.dice.between(0, self.end)))
    }

    /// A window with an end: the disturbance is temporary. It may last as long as a stay.
    fn window(&mut self) -> Window {
        let from = self.dice.between(0, self.end);
        let most = self.scenario.section.0.0.max(10 * UNIT);
        let until = Some(When::At(Time(from + self.dice.between(1, most))));
        Window { from: When::At(Time(from)), until }
    }

    pub(super) fn link_faults(&mut self) -> Vec<LinkAt> {
        let count = self.dice.between(1, MOST);
        (0..count).map(|_| LinkAt { link: self.link(), at: self.moment() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_processes_crash_as_asked_for() {
        for seed in 0..100 {
            let mut scenario = Scenario::new("lamport", 5);
            let mut dice = Dice::new(seed);
            let mut injector =
                FaultInjector { scenario: &mut scenario, dice: &mut dice, end: UNIT };
            for (count, crashed) in [(2, 2), (4, 4), (3, 4), (9, 5)] {
                injector.crash_more(count);
                assert_eq!(injector.crashed().len(), crashed, "seed {seed}");
            }
        }
    }
}
