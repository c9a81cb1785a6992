//! Small worlds of which every interleaving is explored.
//!
//! The worlds of a sound algorithm follow from its declarations. Those of a specimen are findings about this specimen: the
//! smallest worlds in which it is known to fail. So specimens are named here.

use quorate_check::{Bounds, Budget};
use quorate_core::agreement::AgreementKind;
use quorate_core::{Assumption, Layer, ProcessId, Profile, Property, Time};
use quorate_run::{Entry, catalogue};
use quorate_sim::Scenario;
use quorate_sim::fault::{Faults, ProcessAt, Traitor};
use quorate_sim::notation::{ProcessSelector, When};
use quorate_sim::scenario::Requesters;
use quorate_sim::traitor::Strategy;

use crate::exhaustive::CheckConfig;

/// A small world to explore.
#[derive(Clone, Debug)]
pub(super) struct SmallWorld {
    pub(super) algorithm: &'static str,
    pub(super) n: usize,
    pub(super) quorums: Option<&'static str>,
    requesters: Requesters,
    /// The two processes that make requests, instead of the first ones.
    pair: Option<[u32; 2]>,
    requests: u8,
    crashes: u8,
    recoveries: u8,
    /// Number of timers that expire, if they may expire at any time.
    timeouts: u8,
    /// Only timers of the first processes expire, if set.
    expirable: Option<usize>,
    /// Number of faults that an agreement must tolerate.
    tolerates: Option<usize>,
    /// A traitor and its strategy.
    traitor: Option<(u32, Strategy)>,
    pub(super) only: Option<Property>,
    /// Whether links keep the order of messages.
    ordered: bool,
}

/// Maximum memory of one search in bytes: enough for tens of millions of states.
const MEMORY: u64 = 5 << 30;

impl SmallWorld {
    /// A world in which every process makes one request and no fault happens.
    fn new(algorithm: &'static str, n: usize) -> Self {
        Self {
            algorithm,
            n,
            quorums: None,
            requesters: Requesters::All,
            pair: None,
            requests: 1,
            crashes: 0,
            recoveries: 0,
            timeouts: 0,
            expirable: None,
            tolerates: None,
            traitor: None,
            only: None,
            ordered: true,
        }
    }

    fn over(self, quorums: &'static str) -> Self {
        Self { quorums: Some(quorums), ..self }
    }

    fn twice(self) -> Self {
        Self { requests: 2, ..self }
    }

    fn asking(self, requesters: usize) -> Self {
        Self { requesters: Requesters::First(requesters), ..self }
    }

    /// The choice of the two requesters may matter, for example if they are not neighbours in the cube
    /// or belong to different trees.
    fn asked_by(self, pair: [u32; 2]) -> Self {
        Self { pair: Some(pair), ..self.asking(2) }
    }

    /// Links that do not keep the order of messages, unless the algorithm assumes it.
    fn unordered(self, profile: &Profile) -> Self {
        Self { ordered: profile.assumes.contains(&Assumption::Fifo), ..self }
    }

    fn crashing(self, crashes: u8) -> Self {
        Self { crashes, ..self }
    }

    /// Crashes after each of which the process may recover.
    fn recovering(self, crashes: u8) -> Self {
        Self { crashes, recoveries: crashes, ..self }
    }

    /// Timers expire at any time, at most so often.
    fn expiring(self, timeouts: u8) -> Self {
        Self { timeouts, ..self }
    }

    /// Only timers of this number of processes expire.
    fn at_the_first(self, processes: usize) -> Self {
        Self { expirable: Some(processes), ..self }
    }

    /// No process makes a request.
    fn without_requests(self) -> Self {
        Self { requests: 0, ..self }
    }

    /// As many crashes as the algorithm must tolerate.
    fn tolerating(self, crashes: u8) -> Self {
        Self { tolerates: Some(crashes.into()), ..self.crashing(crashes) }
    }

    /// Process 0 is a traitor with this strategy.
    fn lying(self, strategy: Strategy) -> Self {
        Self { traitor: Some((0, strategy)), ..self }
    }

    /// This process is a traitor that sends nothing.
    fn silent(self, process: u32) -> Self {
        Self { traitor: Some((process, Strategy::Silent)), ..self }
    }

    fn only(self, property: Property) -> Self {
        Self { only: Some(property), ..self }
    }

    pub(super) fn config(&self) -> CheckConfig {
        let traitor = self.traitor.map(|(process, strategy)| {
            let process = ProcessSelector::Process(ProcessId::new(process));
            Traitor { process, strategy }
        });
        let scenario = Scenario {
            faults: Faults { traitor: traitor.into_iter().collect(), ..Faults::default() },
            requesters: self.requesters,
            request: self.pair.into_iter().flatten().map(asks_at_once).collect(),
            quorums: self.quorums.map(str::to_owned),
            tolerates: self.tolerates,
            fifo: self.ordered,
            ..Scenario::new(self.algorithm, self.n)
        };
        CheckConfig {
            requests: self.requests,
            budget: Budget {
                crashes: self.crashes,
                recoveries: self.recoveries,
                timeouts: self.timeouts,
                ..Budget::default()
            },
            expirable: self.expirable.map(|count| ProcessId::all(count).collect()),
            only: self.only,
            allow_partial: true,
            ..CheckConfig::new(scenario, Bounds { memory: MEMORY, depth: u32::MAX })
        }
    }

    /// Whether every process makes requests.
    pub(super) fn all_ask(&self) -> bool {
        self.requesters == Requesters::All
    }

    /// Description of the world.
    pub(super) fn words(&self) -> String {
        let mut words = format!("n = {}", self.n);
        if let Some(quorums) = self.quorums {
            words = format!("{quorums}, {words}");
        }
        match (self.pair, self.requesters) {
            (Some([one, other]), _) => words += &format!(", p{one} and p{other} ask"),
            (None, Requesters::First(1)) => words += ", p0 asks",
            (None, Requesters::First(2)) => words += ", p0 and p1 ask",
            _ if self.requests == 0 => words += ", no requests",
            (None, Requesters::First(count)) => words += &format!(", p0 to p{} ask", count - 1),
            _ => words += ", all ask",
        }
        if self.requests > 1 {
            words += " twice";
        }
        match self.crashes {
            0 => {}
            1 => words += ", 1 crash",
            more => words += &format!(", {more} crashes"),
        }
        match self.recoveries {
            0 => {}
            1 => words += " and recovery",
            _ => words += " and recoveries",
        }
        if !self.ordered {
            words += ", unordered";
        }

        match self.timeouts {
            0 => {}
            1 => words += ", 1 timeout",
            more => words += &format!(", {more} timeouts"),
        }
        if let Some(count) = self.expirable {
            words += &format!(" of p0 to p{}", count - 1);
        }
        if let Some((process, strategy)) = self.traitor {
            words += &format!(", p{process} is a traitor ({strategy})");
        }
        words
    }
}

/// Worlds of algorithms that are considered correct, the smallest first.
pub(super) fn of_sound(profile: &Profile) -> Vec<SmallWorld> {
    // With timers, one more pure client adds millions of states.
    if profile.layer == Layer::Mutex && profile.assumes.contains(&Assumption::BoundedDrift) {
        let small = |n| SmallWorld::new(profile.name, n);
        // Voters that change send each other messages all the time: with a second client there are millions of states.
        if profile.assumes.contains(&Assumption::FewCrashes) {
            return vec![small(2).asking(1)];
        }
        return vec![small(2), small(2).asking(1).recovering(1), small(3).asking(2)];
    }
    if profile.layer == Layer::Replication {
        return of_replication(profile);
    }
    let explored = !matches!(profile.layer, Layer::Detector | Layer::Clock);
    // Two processes with different bits decide only if their coins agree, which the few rounds of a search need not show.
    let pair = (explored && !tosses_coins(profile)).then(|| SmallWorld::new(profile.name, 2));
    pair.into_iter().chain(larger(profile)).collect()
}

/// Worlds of replicated logs, in which one client submits a command. Each timer that expires may begin a term.
fn of_replication(profile: &Profile) -> Vec<SmallWorld> {
    let small = |n| SmallWorld::new(profile.name, n).asking(1);
    if profile.assumes.contains(&Assumption::LessThanAThird) {
        // If all four send to each other, there are too many orders of messages: with a primary that equivocates and two
        // timeouts about 10^15 states. A primary that is silent is replaced in a view change.
        return vec![small(4).silent(3), small(4).asking(2).silent(0).expiring(2)];
    }
    vec![small(2).expiring(3), small(3).expiring(1).recovering(1), small(3).expiring(2)]
}

fn tosses_coins(profile: &Profile) -> bool {
    let facts = catalogue().get(profile.name).map(Entry::facts);
    facts.is_some_and(|facts| facts.agreement_kind == AgreementKind::Bit)
}

fn larger(profile: &Profile) -> Vec<SmallWorld> {
    let small = |n| SmallWorld::new(profile.name, n);
    let tolerates =
        |crashes| if profile.assumes.contains(&Assumption::NoCrash) { 0 } else { crashes };
    let facts = catalogue().get(profile.name).map(Entry::facts);
    let votes = facts.is_some_and(|facts| !facts.quorums.is_empty());
    // Quorums that avoid crashed processes make crashes worth exploring.
    let adapts_quorums = facts.is_some_and(|facts| facts.quorums.contains(&"vcube"));
    let states_rarely_recur = facts.is_some_and(|facts| facts.states_rarely_recur);
    match profile.layer {
        Layer::Mutex if adapts_quorums && states_rarely_recur => of_layered(profile),
        Layer::Mutex if adapts_quorums => of_ours(profile.name),
        Layer::Mutex if profile.assumes.contains(&Assumption::ServerUp) => {
            vec![small(3).twice(), small(3).twice().crashing(2), small(5).crashing(2)]
        }
        Layer::Mutex if votes => {
            let over = |quorums, n| small(n).over(quorums);
            vec![over("majority", 3).twice(), over("majority", 4).asking(3)]
        }
        Layer::Mutex if states_rarely_recur => {
            vec![small(3), small(3).asking(2).twice(), small(3).twice()]
        }
        Layer::Mutex if tolerates(1) > 0 => {
            vec![small(3).twice(), small(3).twice().crashing(2), small(4), small(4).crashing(1)]
        }
        Layer::Mutex => vec![small(3).twice(), small(4)],
        Layer::Election => vec![small(3), small(3).asking(2).crashing(tolerates(1)), small(4)],
        Layer::Agreement if profile.assumes.contains(&Assumption::LessThanAThird) => {
            vec![small(3), small(4).tolerating(1)]
        }
        Layer::Agreement if tosses_coins(profile) => vec![small(3), small(3).tolerating(1)],
        Layer::Agreement if profile.assumes.contains(&Assumption::FewCrashes) => {
            let mut worlds = vec![small(3), small(3).tolerating(1), small(4)];
            if profile.assumes.contains(&Assumption::Memory) {
                worlds.push(small(3).tolerating(1).recovering(1));
            }
            worlds
        }
        Layer::Agreement if profile.assumes.contains(&Assumption::Memory) => {
            vec![small(3), small(3).crashing(1), small(3).recovering(2), small(4).recovering(1)]
        }
        Layer::Agreement => vec![small(3), small(3).crashing(tolerates(1)), small(4)],
        Layer::Multicast if profile.assumes.contains(&Assumption::LessThanAThird) => {
            let lied_to = |strategy| small(4).asking(1).lying(strategy);
            let mut worlds = vec![small(4).asking(1), small(4).asking(1).crashing(1)];
            worlds.extend([Strategy::Liar, Strategy::Equivocator, Strategy::TwoFaced].map(lied_to));
            worlds
        }
        Layer::Multicast => {
            vec![small(3).asking(2), small(3).asking(2).crashing(tolerates(1))]
        }
        Layer::Snapshot => vec![small(3).asking(1), small(3).asking(2)]
            .into_iter()
            .map(|world| world.unordered(profile))
            .collect(),
        // On unordered links a token may overtake a message again and again, which a search takes for starvation.
        Layer::Detection if profile.assumes.contains(&Assumption::Fifo) => vec![small(3)],
        Layer::Detection => vec![small(3), small(3).twice(), small(4)],
        Layer::Allocation if tolerates(1) > 0 => vec![small(3), small(3).crashing(1)],
        Layer::Allocation => vec![small(3), small(3).twice()],
        _ => Vec::new(),
    }
}

/// Worlds of our own algorithm, with crashes. A crash may happen at any time, and each process learns of
/// it at any later time.
fn of_ours(name: &'static str) -> Vec<SmallWorld> {
    let over = |quorums, n| SmallWorld::new(name, n).over(quorums);
    let mut worlds: Vec<SmallWorld> =
        ["vcube", "majority", "grid", "tree"].map(|quorums| over(quorums, 3).twice()).into();
    worlds.extend([1, 2].map(|crashes| over("vcube", 3).crashing(crashes)));
    worlds.push(over("vcube", 3).twice().crashing(2));
    worlds.extend(["majority", "grid"].map(|quorums| over(quorums, 3).crashing(2)));
    // Over fixed coteries, processes may recover.
    worlds.extend(
        ["majority", "tree", "grid-fixed"].map(|quorums| over(quorums, 3).asking(2).recovering(1)),
    );
    worlds.push(over("vcube", 4));
    worlds.extend([1, 2, 3].map(|crashes| over("vcube", 4).asking(2).crashing(crashes)));
    worlds.extend([[0, 2], [0, 3]].map(|pair| over("vcube", 4).asked_by(pair).crashing(3)));
    worlds.push(over("majority-live", 4).asking(2).crashing(2));
    worlds.extend(["grid", "wall"].map(|quorums| over(quorums, 4).asking(2).crashing(3)));
    worlds
}

/// Worlds of a quorum mutex over another layer, which has many more states. Links need not keep the order of messages.
fn of_layered(profile: &Profile) -> Vec<SmallWorld> {
    let over = |quorums, n| SmallWorld::new(profile.name, n).over(quorums);
    let pair = |n| over("vcube", n).asking(2);
    vec![
        over("vcube", 3),
        over("majority", 3).twice(),
        over("vcube", 3).crashing(1),
        pair(3).crashing(1).unordered(profile),
        pair(3).crashing(2),
        over("majority", 3).asking(2).crashing(1),
        over("vcube", 4),
        pair(4).crashing(1),
    ]
}

fn asks_at_once(process: u32) -> ProcessAt {
    ProcessAt {
        process: ProcessSelector::Process(ProcessId::new(process)),
        at: When::At(Time::ZERO),
    }
}

/// Worlds in which a specimen fails: the smallest one known. For the published quorum mutex there are also smaller ones, in
/// which it does not fail.
pub(super) fn of_specimen(profile: &Profile, breaks: Property) -> Vec<SmallWorld> {
    let small = |n| SmallWorld::new(profile.name, n);
    match profile.name {
        "quorum-without-attempts" => {
            vec![small(4).over("majority").asking(2).crashing(2)]
        }
        "quorum-published-dropping" => {
            // p2 is outside the quorum {p0, p1, p3} of the voters that it asks.
            vec![small(5).over("tree").asked_by([2, 4]).crashing(1).only(breaks)]
        }
        "quorum-published" => {
            let mut worlds = Vec::new();
            for quorums in ["vcube", "tree", "grid"] {
                let hangs = |n| small(n).over(quorums).only(Property::ME2);
                worlds.extend([hangs(2), hangs(3), hangs(3).twice(), hangs(4)]);
            }
            for quorums in ["vcube", "tree", "grid"] {
                // All processes make requests: two given requesters may be unable to cause the failure when two others can.
                let both =
                    |n: u8| small(n.into()).over(quorums).crashing(n - 1).only(Property::ME1);
                worlds.extend([2, 3].map(both));
                // Over the tree nothing is found with four processes. If all make requests, there are
                // too many states to explore.
                let tree = both(4).asking(2);
                worlds.push(if quorums == "tree" { tree } else { both(4) });
            }
            worlds
        }
        "byzantine-generals-obedient" => {
            // A tie of the votes takes an even number of lieutenants.
            let generals = SmallWorld { tolerates: Some(1), ..small(5) };
            vec![generals.lying(Strategy::Equivocator).only(breaks)]
        }
        // Two candidates in turn win four elections. The entries at stake are their no-ops, so no client need submit a command.
        "raft-commits-old-terms" => {
            vec![small(3).without_requests().expiring(4).at_the_first(2).only(breaks)]
        }
        "bracha-echo-only" => {
            vec![small(4).asking(1).lying(Strategy::Equivocator).only(breaks)]
        }
        "safra-uncoloured" => vec![small(2).only(breaks), small(3).only(breaks)],
        "chandy-lamport-unordered" => vec![small(2).unordered(profile).only(breaks)],
        _ if profile.layer == Layer::Agreement => {
            vec![small(3).tolerating(1), small(4).tolerating(2)]
        }
        _ => vec![small(2).only(breaks), small(3).only(breaks), small(3).twice().only(breaks)],
    }
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::catalogue::PROFILES;

    use super::*;

    #[test]
    fn worlds_follow_from_what_an_algorithm_declares() {
        let words = |name: &str| {
            let profile = PROFILES.iter().find(|profile| profile.name == name);
            let worlds = of_sound(profile.expect("a known name"));
            worlds.iter().map(SmallWorld::words).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            words("leased-quorum"),
            "n = 2, all ask; n = 2, p0 asks, 1 crash and recovery; n = 3, p0 and p1 ask"
        );
        assert_eq!(words("leased-quorum-changing"), "n = 2, p0 asks");
        assert_eq!(
            words("token-ring"),
            "n = 2, all ask; n = 3, all ask twice; n = 3, all ask twice, 2 crashes; n = 4, all ask; \
             n = 4, all ask, 1 crash"
        );
        assert_eq!(
            words("central"),
            "n = 2, all ask; n = 3, all ask twice; n = 3, all ask twice, 2 crashes; n = 5, all ask, 2 crashes"
        );
        for name in ["maekawa", "agrawal-el-abbadi"] {
            assert_eq!(
                words(name),
                "n = 2, all ask; majority, n = 3, all ask twice; majority, n = 4, p0 to p2 ask"
            );
        }
        assert_eq!(
            words("lamport"),
            "n = 2, all ask; n = 3, all ask; n = 3, p0 and p1 ask twice; n = 3, all ask twice"
        );
        for name in ["ricart-agrawala", "suzuki-kasami", "raymond"] {
            assert_eq!(words(name), "n = 2, all ask; n = 3, all ask twice; n = 4, all ask");
        }
        assert_eq!(words("quorum").split("; ").filter(|it| it.starts_with("vcube")).count(), 10);
        assert_eq!(
            words("quorum-vcube-multicast"),
            "n = 2, all ask; vcube, n = 3, all ask; majority, n = 3, all ask twice; vcube, n = 3, all ask, 1 crash; \
             vcube, n = 3, p0 and p1 ask, 1 crash, unordered; vcube, n = 3, p0 and p1 ask, 2 crashes; \
             majority, n = 3, p0 and p1 ask, 1 crash; vcube, n = 4, all ask; vcube, n = 4, p0 and p1 ask, 1 crash"
        );
    }
}
