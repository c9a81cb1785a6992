//! Generates a scenario from a seed: random schedules and faults, inside an algorithm's stated assumptions.

use std::ops::RangeInclusive;

use quorate_core::allocation::{ClaimKind, ConflictGraph};
use quorate_core::{Assumption, Drift, Layer, ProcessId, Profile, Span, Time};
use quorate_run::{Entry, catalogue};
use quorate_sim::fault::{CrashMid, Faults, ProcessAt, Suspect, Traitor};
use quorate_sim::notation::{DriftText, Link, ProcessSelector, SetText, SpanText, When, Window};
use quorate_sim::scenario::{ConflictsText, Requesters};
use quorate_sim::{Delay, LinkDelay, Scenario};

use super::agreement::{self, STRATEGIES};
use super::break_assumptions::break_some_assumptions;
use super::dice::{Dice, UNIT, assumes};
use super::elections::{draw_detector, draw_election};
use super::heal::heal;
use super::recoveries::add_recoveries;
use super::replication;
use super::tolerated_faults::add_tolerated_faults;

/// Maximum duration of a stay in the critical section, for algorithms about which long stays tell more.
const LONG_STAY_MOST: u64 = 60 * UNIT;

/// Parameters of the scenarios that a campaign generates. With equal parameters, equal seeds give equal scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioGenerator {
    /// Profile of the algorithm.
    pub profile: Profile,
    /// Range of the number of processes.
    pub processes: RangeInclusive<usize>,
    /// Range of the number of crashes, which is at most one less than the number of processes.
    pub crashes: RangeInclusive<usize>,
    /// Quorum system, if the algorithm votes.
    pub quorums: Option<String>,
    /// Properties to check although the algorithm does not promise them.
    pub watch: Vec<String>,
    /// Whether each scenario breaks some of the assumptions.
    pub break_assumptions: bool,
    /// Whether every step is compared with the proved model of the algorithm.
    pub follows_model: bool,
}

/// A scenario generated from a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedScenario {
    /// Complete scenario of the run.
    pub scenario: Scenario,
    /// Number of first requests after the last fault; 0 if there is no fault, or if a fault never ends.
    pub requests_after_faults: usize,
}

impl ScenarioGenerator {
    /// Creates a generator of scenarios with 2 to 16 processes, and with as many crashes as
    /// the algorithm claims to tolerate.
    pub fn new(profile: Profile) -> Self {
        let most = if assumes(&profile, Assumption::NoCrash) { 0 } else { usize::MAX };
        Self {
            profile,
            processes: 2..=16,
            crashes: 0..=most,
            quorums: None,
            watch: Vec::new(),
            break_assumptions: false,
            follows_model: false,
        }
    }

    /// Whether the scenarios stay inside the assumptions of the algorithm.
    pub fn inside_assumptions(&self) -> bool {
        !self.break_assumptions
            && (*self.crashes.end() == 0 || !assumes(&self.profile, Assumption::NoCrash))
    }

    /// Returns the scenario of a seed.
    pub fn scenario(&self, seed: u64) -> Scenario {
        self.generate(seed).scenario
    }

    /// Generates the scenario of a seed, with requests after the last fault.
    pub fn generate(&self, seed: u64) -> GeneratedScenario {
        let mut draw = Dice::new(seed);
        let mut scenario = self.draw_scenario(seed, &mut draw);
        if self.break_assumptions {
            let end = busy_until(&scenario, self.profile.layer);
            break_some_assumptions(&self.profile, &mut scenario, end, &mut draw);
        }
        let requests_after_faults = heal(&mut scenario, self.profile.layer, &mut draw);
        GeneratedScenario { scenario, requests_after_faults }
    }

    /// Draws delays, requests and faults.
    fn draw_scenario(&self, seed: u64, draw: &mut Dice) -> Scenario {
        let n = draw.between(*self.processes.start() as u64, *self.processes.end() as u64) as usize;
        let mut scenario = Scenario { seed, ..Scenario::new(self.profile.name, n) };
        scenario.quorums.clone_from(&self.quorums);
        scenario.watch.clone_from(&self.watch);
        let settles = assumes(&self.profile, Assumption::EventualSynchrony);
        scenario.delay = draw.delay(settles || assumes(&self.profile, Assumption::Synchrony));
        if settles {
            scenario.timing = draw.timing();
        }
        // Drawn in any case, so that later draws do not depend on the algorithm.
        let ordered = draw.chance(0.5);
        scenario.fifo = ordered || assumes(&self.profile, Assumption::Fifo);
        scenario.section = SpanText(Span(draw.between(UNIT / 1_000, 3 * UNIT)));
        let facts = catalogue().get(self.profile.name).map(Entry::facts);
        if facts.is_some_and(|facts| facts.long_stays) && draw.chance(0.7) {
            scenario.section = SpanText(Span(draw.between(UNIT, LONG_STAY_MOST)));
        }
        let think = draw.between(0, 3 * UNIT);
        scenario.think = SpanText(Span(if draw.chance(0.5) { think } else { 0 }));
        if self.profile.layer == Layer::Agreement {
            agreement::draw(&self.profile, &self.crashes, &mut scenario, draw);
            self.draw_suspicions(&mut scenario, draw);
            add_recoveries(&self.profile, &mut scenario, draw);
            return scenario;
        }
        let election = self.profile.layer == Layer::Election;
        if election {
            draw_election(&self.profile, &mut scenario, draw);
        } else if self.profile.layer == Layer::Detection {
            draw_computation(&mut scenario, draw);
        } else if self.profile.layer == Layer::Snapshot {
            draw_snapshots(&mut scenario, draw);
        } else if self.profile.layer == Layer::Replication {
            replication::draw_requests(&mut scenario, draw);
        } else {
            self.draw_requests(&mut scenario, draw);
        }
        if assumes(&self.profile, Assumption::ServerUp) {
            scenario.server = draw.between(0, n as u64 - 1) as u32;
        }
        self.draw_crashes(&mut scenario, draw);
        self.draw_suspicions(&mut scenario, draw);
        add_recoveries(&self.profile, &mut scenario, draw);
        match self.profile.layer {
            Layer::Election => draw_detector(&mut scenario, draw),
            Layer::Clock => self.draw_clocks(&mut scenario, draw),
            Layer::Mutex => {
                let end = busy_until(&scenario, Layer::Mutex);
                add_tolerated_faults(&self.profile, &mut scenario, end, draw);
            }
            Layer::Allocation => self.draw_claims(&mut scenario, draw),
            Layer::Replication => {
                replication::add_outages(self, &mut scenario, draw);
                add_tolerated_faults(&self.profile, &mut scenario, replication::BUSY, draw);
            }
            _ => {}
        }
        scenario
    }

    /// Permits, and the processes that share resources. Claims are drawn from the seed of the scenario.
    fn draw_claims(&self, scenario: &mut Scenario, draw: &mut Dice) {
        let capacity = draw.between(1, 4) as u32;
        let conflicts = ConflictsText(match draw.chance(0.7) {
            true => ConflictGraph::Ring,
            false => ConflictGraph::Complete,
        });
        let facts = catalogue().get(self.profile.name).map(Entry::facts);
        let kind = facts.map_or(ClaimKind::Permit, |facts| facts.claim_kind);
        scenario.capacity = (kind == ClaimKind::Permit).then_some(capacity);
        scenario.conflicts = kind.has_neighbours().then_some(conflicts);
    }

    /// If the detector need not be perfect, it often is not: some processes suspect others for a while.
    fn draw_suspicions(&self, scenario: &mut Scenario, draw: &mut Dice) {
        if !assumes(&self.profile, Assumption::EventualDetector) || draw.chance(0.25) {
            return;
        }
        let last = scenario.processes as u64 - 1;
        if draw.chance(0.5) {
            slow_and_suspected(scenario, draw);
            // More suspicions often prevent that the slow process decides before it is suspected.
            if draw.chance(0.5) {
                return;
            }
        }
        for _ in 0..draw.between(1, 3 * (last + 1)) {
            let (observer, shift) = (draw.between(0, last), draw.between(1, last));
            let named = |number: u64| ProcessSelector::Process(ProcessId::new(number as u32));
            let victim = (observer + shift) % (last + 1);
            let pair = Link { from: named(observer), to: named(victim) };
            let from = draw.between(0, 10 * UNIT);
            let until = Some(When::At(Time(from + draw.between(1, 10 * UNIT))));
            let window = Window { from: When::At(Time(from)), until };
            scenario.faults.suspect.push(Suspect { pair, window });
        }
    }
    /// Clocks are wrong by up to half a second and drift by up to a thousandth. Links may lose messages
    /// if the algorithm tolerates that.
    fn draw_clocks(&self, scenario: &mut Scenario, draw: &mut Dice) {
        scenario.clock_offset = SpanText(Span(draw.between(0, 500 * UNIT)));
        scenario.clock_drift = DriftText(Drift(draw.between(0, 1_000_000) as i64));
        // Leaves time for clocks to drift apart.
        scenario.think = SpanText(Span(draw.between(UNIT, 5_000 * UNIT)));
        if !assumes(&self.profile, Assumption::NoLoss) && draw.chance(0.5) {
            scenario.faults.loss = 0.2;
        }
        if assumes(&self.profile, Assumption::TrueServers) {
            let servers = draw.between(1, (scenario.processes as u64 - 1).min(5));
            let set = (0..servers as u32).map(ProcessId::new).collect();
            scenario.servers = Some(SetText(set));
            scenario.replies = draw.between(1, servers) as u32;
            scenario.probes = draw.between(1, 6) as u32;
        } else {
            scenario.server = draw.between(0, scenario.processes as u64 - 1) as u32;
            scenario.outlier = Some(SpanText(Span(draw.between(0, 500 * UNIT))));
        }
    }

    /// Every process makes requests: all equally often and soon after one another, or each at random times and
    /// a random number of times.
    fn draw_requests(&self, scenario: &mut Scenario, draw: &mut Dice) {
        let spread = if draw.chance(0.3) { 0 } else { draw.between(0, 8 * UNIT) };
        if draw.chance(0.5) {
            scenario.requesters = Requesters::All;
            scenario.repeat = draw.between(1, 4) as u32;
            scenario.spread = SpanText(Span(spread));
            return;
        }
        scenario.request.reserve(3 * scenario.processes);
        for process in ProcessId::all(scenario.processes) {
            for _ in 0..draw.between(1, 3) {
                let at = When::At(Time(draw.between(0, spread)));
                scenario.request.push(ProcessAt { process: ProcessSelector::Process(process), at });
            }
        }
    }

    /// Some processes crash, at any time until all requests should be done, some of them in the middle of a multicast. Each
    /// of the others learns of each crash at a time of its own. If the algorithm tolerates traitors, most of the faulty
    /// processes are traitors.
    fn draw_crashes(&self, scenario: &mut Scenario, draw: &mut Dice) {
        let n = scenario.processes;
        let spared = assumes(&self.profile, Assumption::ServerUp).then_some(scenario.server);
        let mut order: Vec<u32> =
            (0..n as u32).filter(|process| Some(*process) != spared).collect();
        let lies = assumes(&self.profile, Assumption::FewFaults);
        let borne = match () {
            () if assumes(&self.profile, Assumption::LessThanAThird) => (n - 1) / 3,
            () if assumes(&self.profile, Assumption::LessThanAHalf) => (n - 1) / 2,
            () if assumes(&self.profile, Assumption::FewCrashes) => {
                let facts = catalogue().get(self.profile.name).map(Entry::facts);
                facts.and_then(|facts| (facts.tolerates)(n)).unwrap_or(0)
            }
            () => n - 1,
        };
        let most = (*self.crashes.end()).min(borne);
        let crashes = draw.between((*self.crashes.start()).min(most) as u64, most as u64) as usize;
        if lies {
            scenario.tolerates = Some(draw.between(crashes as u64, borne as u64) as usize);
        }
        if crashes == 0 {
            return;
        }
        let end = busy_until(scenario, self.profile.layer);
        let end = if draw.chance(0.5) { end } else { draw.between(UNIT, end) };
        let mut faults = Faults::default();
        faults.crash.reserve(crashes);
        for place in 0..crashes.min(order.len()) {
            let other = draw.between(place as u64, order.len() as u64 - 1) as usize;
            order.swap(place, other);
            let selector = ProcessSelector::Process(ProcessId::new(order[place]));
            let at = When::At(Time(draw.between(0, end)));
            if lies && draw.chance(0.8) {
                let strategy = STRATEGIES[draw.between(0, STRATEGIES.len() as u64 - 1) as usize];
                faults.traitor.push(Traitor { process: selector, strategy });
            } else if draw.chance(0.25) {
                let sends = draw.between(0, n as u64 - 1) as u32;
                faults.crash_mid.push(CrashMid { process: selector, at, sends });
            } else {
                faults.crash.push(ProcessAt { process: selector, at });
            }
        }
        scenario.faults = faults;
        let quick = draw.between(UNIT / 10, 10 * UNIT);
        let slow = draw.between(quick, 10 * UNIT);
        // A failure detector detects crashes without an oracle.
        if self.profile.layer == Layer::Detector {
            return;
        }
        scenario.detection = Some(if draw.chance(0.25) {
            Delay::Constant(Span(quick))
        } else {
            Delay::Uniform(Span(quick), Span(slow))
        });
        // The crash notice overtakes messages that the crashed process had sent.
        if self.profile.layer == Layer::Multicast && draw.chance(0.3) {
            scenario.detection = Some(Delay::Constant(Span(1)));
        }
    }
}

/// All processes take part in the computation, some of them later than others.
fn draw_computation(scenario: &mut Scenario, draw: &mut Dice) {
    scenario.requesters = Requesters::All;
    scenario.repeat = draw.between(1, 4) as u32;
    scenario.spread = SpanText(Span(draw.between(0, 8 * UNIT)));
    if draw.chance(0.3) {
        (scenario.requesters, scenario.spread) = (Requesters::One, SpanText::default());
        for process in ProcessId::all(scenario.processes) {
            let at = When::At(Time(draw.between(0, 4 * UNIT)));
            scenario.request.push(ProcessAt { process: ProcessSelector::Process(process), at });
        }
    }
}

/// A few snapshots, at random times or by the first processes. All processes transfer money meanwhile.
fn draw_snapshots(scenario: &mut Scenario, draw: &mut Dice) {
    let n = scenario.processes as u64;
    let count = draw.between(1, 4);
    if draw.chance(0.5) {
        scenario.requesters = Requesters::First(count.min(n) as usize);
        scenario.repeat = draw.between(1, 3) as u32;
        scenario.spread = SpanText(Span(draw.between(0, 8 * UNIT)));
        return;
    }
    for _ in 0..count {
        let process = ProcessId::new(draw.between(0, n - 1) as u32);
        let at = When::At(Time(draw.between(0, 8 * UNIT)));
        scenario.request.push(ProcessAt { process: ProcessSelector::Process(process), at });
    }
}

/// One process sends slowly, from the start or after one or two messages to each other process, and all others come to suspect it at
/// about the same time. They must not decide differently from it. Often it is the first process, which conducts the first ballot or
/// round.
fn slow_and_suspected(scenario: &mut Scenario, draw: &mut Dice) {
    let others = scenario.processes as u64 - 1;
    let named = |number: u64| ProcessSelector::Process(ProcessId::new(number as u32));
    let slow = draw.between(0, 2 * others).saturating_sub(others);
    let first = draw.between(UNIT, 15 * UNIT);
    let soon = draw.between(0, 2) as usize;
    for shift in 1..=others {
        let other = (slow + shift) % (others + 1);
        let link = Link { from: named(slow), to: named(other) };
        let delay = match soon {
            0 => Delay::Uniform(Span(UNIT / 10), Span(9 * UNIT)),
            _ => {
                let late = Span(draw.between(9 * UNIT, 20 * UNIT));
                Delay::List([vec![Span(UNIT); soon], vec![late]].concat())
            }
        };
        scenario.link_delay.push(LinkDelay { link, delay });
        let pair = Link { from: named(other), to: named(slow) };
        let from = When::At(Time(first + draw.between(0, 5 * UNIT)));
        let window = Window { from, until: Some(When::At(Time(30 * UNIT))) };
        scenario.faults.suspect.push(Suspect { pair, window });
    }
}

/// Time at which all requests should be done. Entries happen one after the other, but all multicast at the same time.
fn busy_until(scenario: &Scenario, layer: Layer) -> u64 {
    let repeat = u64::from(scenario.repeat);
    match layer {
        Layer::Multicast => repeat * scenario.think.0.0.max(UNIT) + 16 * UNIT,
        Layer::Replication => replication::BUSY,
        _ => {
            let entries = scenario.first_requests().len() as u64 * repeat;
            entries * (scenario.section.0.0 + 2 * UNIT) + 8 * UNIT
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::catalogue::PROFILES;

    use super::*;

    fn generator(name: &str) -> ScenarioGenerator {
        ScenarioGenerator::new(
            *PROFILES.iter().find(|profile| profile.name == name).expect("a known name"),
        )
    }

    #[test]
    fn every_world_makes_sense_and_varies() {
        for profile in PROFILES {
            let generator = ScenarioGenerator::new(*profile);
            let drawn: Vec<Scenario> = (0..300).map(|seed| generator.scenario(seed)).collect();
            for scenario in &drawn {
                assert_eq!(scenario.validate(), Ok(()), "{scenario:?}");
                assert!((2..=16).contains(&scenario.processes));
                let faults = &scenario.faults;
                let crashes = faults.crash.len() + faults.crash_mid.len();
                assert!(crashes < scenario.processes + faults.recover.len(), "{scenario:?}");
            }
            assert!(
                drawn.iter().any(|s| s.processes == 2) && drawn.iter().any(|s| s.processes == 16)
            );
            // An agreement runs only once.
            assert!(
                profile.layer == Layer::Agreement
                    || drawn.iter().any(|s| s.repeat > 1)
                        && drawn.iter().any(|s| !s.request.is_empty())
            );
        }
    }

    #[test]
    fn crashes_are_as_many_as_asked_for_and_spare_the_server() {
        let generator =
            ScenarioGenerator { crashes: 3..=3, processes: 2..=8, ..generator("central") };
        for seed in 0..300 {
            let scenario = generator.scenario(seed);
            let plain = scenario.faults.crash.iter().map(|crash| crash.process);
            let mid = scenario.faults.crash_mid.iter().map(|crash| crash.process);
            let victims: Vec<ProcessSelector> = plain.chain(mid).collect();
            assert_eq!(victims.len(), 3.min(scenario.processes - 1), "{scenario:?}");
            let server = ProcessSelector::Process(ProcessId::new(scenario.server));
            assert!(!victims.contains(&server), "{scenario:?}");
        }
    }

    #[test]
    fn worlds_beyond_the_assumptions_make_sense_too() {
        for profile in PROFILES {
            let generator =
                ScenarioGenerator { break_assumptions: true, ..ScenarioGenerator::new(*profile) };
            for seed in 0..300 {
                let scenario = generator.scenario(seed);
                assert_eq!(scenario.validate(), Ok(()), "{scenario:?}");
                let check = crate::check(&scenario);
                assert!(check.is_ok(), "{:?} {scenario:?}", check.err().map(|it| it.to_string()));
            }
        }
    }

    #[test]
    fn who_assumes_no_crash_has_none() {
        let generator = generator("maekawa");
        assert!(generator.inside_assumptions());
        assert!((0..100).all(|seed| generator.scenario(seed).faults == Faults::default()));
        assert!(!ScenarioGenerator { crashes: 0..=1, ..generator }.inside_assumptions());
    }
}
