//! Validation of scenarios: each error names the key that it is about.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::{Assumption, ProcessId, Property, Time};

use super::claims::GivenClaim;
use super::delay::Arrival;

use super::description::{DetectorChoice, Requesters, Scenario};
use super::notation::{Link, OFFSET_MOST, PROCESSES_MOST, ProcessSelector};
use super::timing::Timing;

/// Maximum number of times that servers are asked.
const PROBES_MOST: u32 = 1_000;

/// An error in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Invalid {
    /// The key in the file; `faults.crash` for a key of a table.
    pub key: &'static str,
    /// Index of the entry, if the key is a list.
    pub index: Option<usize>,
    /// Description of the error and of what would be valid.
    pub problem: String,
}

impl Invalid {
    fn new(key: &'static str, problem: impl Into<String>) -> Self {
        Self { key, index: None, problem: problem.into() }
    }

    fn at(key: &'static str, index: usize, problem: impl Into<String>) -> Self {
        Self { key, index: Some(index), problem: problem.into() }
    }
}

impl Scenario {
    /// Checks everything that can be checked before a run. Whether the algorithm exists is not checked here.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.validate_processes()?;
        self.validate_structure()?;
        self.validate_requests()?;
        self.validate_timing()?;
        self.validate_clocks()?;
        self.validate_detector()?;
        self.validate_faults()?;
        self.validate_watch()
    }

    fn validate_processes(&self) -> Result<(), Invalid> {
        if self.processes == 0 {
            return Err(Invalid::new("processes", "there must be at least 1 process"));
        }
        if self.processes > PROCESSES_MOST {
            let problem = format!(
                "at most {PROCESSES_MOST} processes can be simulated, not {}",
                self.processes
            );
            return Err(Invalid::new("processes", problem));
        }
        self.exists(ProcessSelector::Process(ProcessId::new(self.server)))
            .map_err(|problem| Invalid::new("server", problem))
    }

    fn validate_structure(&self) -> Result<(), Invalid> {
        if let Some(tree) = &self.tree {
            tree.0.check(self.processes).map_err(|problem| Invalid::new("tree", problem))?;
        }
        if self.clocks.len() > self.processes {
            let problem = format!("{} clocks for {} processes", self.clocks.len(), self.processes);
            return Err(Invalid::new("clocks", problem));
        }
        if !self.ids.is_empty() && self.ids.len() != self.processes {
            let problem =
                format!("{} identifiers for {} processes", self.ids.len(), self.processes);
            return Err(Invalid::new("ids", problem));
        }
        for (index, identify) in self.identify.iter().enumerate() {
            self.exists(identify.process)
                .map_err(|problem| Invalid::at("identify", index, problem))?;
        }
        if self.values.len() > self.processes {
            let problem = format!("{} values for {} processes", self.values.len(), self.processes);
            return Err(Invalid::new("values", problem));
        }
        for (index, script) in self.script.iter().enumerate() {
            let invalid = |problem| Invalid::at("script", index, problem);
            let own = ProcessSelector::Process(script.process);
            self.exists(own).map_err(invalid)?;
            for other in script.steps.iter().flat_map(|step| Vec::from_iter(&step.others())) {
                self.exists(ProcessSelector::Process(other)).map_err(invalid)?;
                if other == script.process {
                    return Err(invalid("a step names another process, not its own".to_owned()));
                }
            }
        }
        if let Some(tolerates) = self.tolerates.filter(|tolerates| *tolerates >= self.processes) {
            let most = self.processes - 1;
            let problem = format!(
                "{tolerates} of {} processes cannot all fail, at most {most}",
                self.processes
            );
            return Err(Invalid::new("bears", problem));
        }
        let ways =
            [self.quorums.is_some(), !self.quorum_sets.is_empty(), !self.quorum_of.is_empty()];
        if ways.into_iter().filter(|way| *way).count() > 1 {
            let problem = "give only one of `quorums`, `quorum-sets` and `quorum-of`";
            return Err(Invalid::new("quorums", problem));
        }
        for (index, quorum) in self.quorum_of.iter().enumerate() {
            let named = quorum.failed.iter().chain(quorum.members.iter()).chain([quorum.process]);
            for process in named {
                let selector = ProcessSelector::Process(process);
                self.exists(selector)
                    .map_err(|problem| Invalid::at("quorum-of", index, problem))?;
            }
        }
        if !self.quorum_sets.is_empty() && self.quorum_sets.len() != self.processes {
            let problem =
                format!("{} quorums for {} processes", self.quorum_sets.len(), self.processes);
            return Err(Invalid::new("quorum-sets", problem));
        }
        for (index, set) in self.quorum_sets.iter().enumerate() {
            for member in &set.0 {
                let selector = ProcessSelector::Process(member);
                self.exists(selector)
                    .map_err(|problem| Invalid::at("quorum-sets", index, problem))?;
            }
        }
        Ok(())
    }

    fn validate_requests(&self) -> Result<(), Invalid> {
        if !self.request.is_empty() && self.requesters != Requesters::default() {
            return Err(Invalid::new(
                "requesters",
                "give either `requesters` or `request`, not both",
            ));
        }
        if !self.request.is_empty() && self.spread.0.0 > 0 {
            return Err(Invalid::new(
                "spread",
                "requests with times of their own cannot be spread as well",
            ));
        }
        match self.requesters {
            Requesters::First(0) => {
                return Err(Invalid::new("requesters", "there must be at least 1 requester"));
            }
            Requesters::First(count) if count > self.processes => {
                let problem = format!("{count} requesters among {} processes", self.processes);
                return Err(Invalid::new("requesters", problem));
            }
            _ => {}
        }
        for (index, own) in self.section_of.iter().enumerate() {
            self.exists(ProcessSelector::Process(own.process))
                .map_err(|problem| Invalid::at("section-of", index, problem))?;
        }
        let own = self.section_of.iter().map(|own| ProcessSelector::Process(own.process));
        self.check_distinct("section-of", own.map(|selector| (selector, selector)))?;
        self.validate_claims()?;
        if self.repeat == 0 {
            return Err(Invalid::new("repeat", "each requester must enter at least once"));
        }
        for member in self.to.iter().flat_map(|to| &to.0) {
            self.exists(ProcessSelector::Process(member))
                .map_err(|problem| Invalid::new("to", problem))?;
        }
        for (index, request) in self.request.iter().enumerate() {
            self.exists(request.process)
                .map_err(|problem| Invalid::at("request", index, problem))?;
        }
        Ok(())
    }

    fn validate_claims(&self) -> Result<(), Invalid> {
        if self.capacity == Some(0) {
            return Err(Invalid::new("capacity", "there must be at least 1 permit"));
        }
        for (index, own) in self.claim_of.iter().enumerate() {
            let others = own.claims.iter().filter_map(|claim| match claim {
                GivenClaim::With(others) => Some(others),
                _ => None,
            });
            let named = others.flat_map(|others| others.iter()).chain([own.process]);
            for process in named {
                self.exists(ProcessSelector::Process(process))
                    .map_err(|problem| Invalid::at("claim-of", index, problem))?;
            }
        }
        let own = self.claim_of.iter().map(|own| ProcessSelector::Process(own.process));
        self.check_distinct("claim-of", own.map(|selector| (selector, selector)))
    }

    fn validate_timing(&self) -> Result<(), Invalid> {
        for (index, own) in self.link_delay.iter().enumerate() {
            self.named_link(own.link)
                .map_err(|problem| Invalid::at("link-delay", index, problem))?;
        }
        self.check_distinct(
            "link-delay",
            self.link_delay.iter().map(|own| (own.link.from, own.link.to)),
        )?;
        for (index, own) in self.arrival.iter().enumerate() {
            let is_same = |earlier: &Arrival| earlier.message == own.message;
            if self.arrival[..index].iter().any(is_same) {
                let problem = format!("message {} arrives at two times", own.message);
                return Err(Invalid::at("arrival", index, problem));
            }
        }
        let Some(timing) = self.timing else { return Ok(()) };
        let laws = self.link_delay.iter().map(|own| &own.delay).chain([&self.delay]);
        if let Some(law) =
            laws.into_iter().find(|law| timing.needs_bound() && law.bound().is_none())
        {
            let problem = format!("{timing} needs bounded delays, and {law} has no bound");
            return Err(Invalid::new("timing", problem));
        }
        if matches!(timing, Timing::Rounds(_)) && !self.link_delay.is_empty() {
            return Err(Invalid::new("link-delay", "in rounds, every message takes one round"));
        }
        if matches!(timing, Timing::Rounds(_)) && !self.arrival.is_empty() {
            return Err(Invalid::new("arrival", "in rounds, every message takes one round"));
        }
        Ok(())
    }

    fn validate_clocks(&self) -> Result<(), Invalid> {
        let selectors =
            self.local_clock.iter().map(|clock| ProcessSelector::Process(clock.process));
        self.check_each("local-clock", selectors.clone())?;
        self.check_distinct("local-clock", selectors.map(|selector| (selector, selector)))?;
        if self.clock_offset.0 > OFFSET_MOST {
            let problem = format!("a clock is off by {OFFSET_MOST} at most");
            return Err(Invalid::new("clock-offset", problem));
        }
        let servers = self.time_servers();
        for server in self.servers.iter().flat_map(|servers| &servers.0) {
            let selector = ProcessSelector::Process(server);
            self.exists(selector).map_err(|problem| Invalid::new("servers", problem))?;
        }
        let server = ProcessId::new(self.server);
        if self.servers.is_some() && self.server != 0 && !servers.contains(server) {
            let problem = format!(
                "{server} is the server and not one of the servers; name it in one of the two"
            );
            return Err(Invalid::new("server", problem));
        }
        if self.replies == 0 || self.replies as usize > servers.len() {
            let problem = match servers.len() {
                1 => format!(
                    "{} answers cannot come from one server; name more in `servers`",
                    self.replies
                ),
                count => format!(
                    "{} of {count} servers cannot be waited for: expected 1 to {count}",
                    self.replies
                ),
            };
            return Err(Invalid::new("replies", problem));
        }
        if self.probes == 0 || self.probes > PROBES_MOST {
            let problem = format!("{} probes: expected 1 to {PROBES_MOST}", self.probes);
            return Err(Invalid::new("probes", problem));
        }
        Ok(())
    }

    fn validate_detector(&self) -> Result<(), Invalid> {
        let oracle = self.detector == DetectorChoice::Oracle;
        if self.detection.is_some() && !oracle {
            return Err(Invalid::new("detection", "only the oracle has a detection delay"));
        }
        if !self.detection_pair.is_empty() && !oracle {
            return Err(Invalid::new("detection-pair", "only the oracle has detection delays"));
        }
        for (index, own) in self.detection_pair.iter().enumerate() {
            self.named_link(own.link)
                .map_err(|problem| Invalid::at("detection-pair", index, problem))?;
        }
        self.check_distinct(
            "detection-pair",
            self.detection_pair.iter().map(|own| (own.link.from, own.link.to)),
        )?;
        if !self.faults.suspect.is_empty() && !oracle {
            return Err(Invalid::new(
                "faults.suspect",
                "only the oracle can be made to suspect wrongly",
            ));
        }
        Ok(())
    }

    fn validate_faults(&self) -> Result<(), Invalid> {
        let faults = &self.faults;
        for (key, rate) in [
            ("faults.loss", faults.loss),
            ("faults.duplication", faults.duplication),
            ("faults.reordering", faults.reordering),
            ("faults.corruption", faults.corruption),
        ] {
            if !(0.0..=1.0).contains(&rate) {
                return Err(Invalid::new(
                    key,
                    format!("a probability lies between 0 and 1, not at {rate}"),
                ));
            }
        }
        self.check_each("faults.crash", faults.crash.iter().map(|fault| fault.process))?;
        self.check_each("faults.crash-mid", faults.crash_mid.iter().map(|fault| fault.process))?;
        self.check_each("faults.recover", faults.recover.iter().map(|fault| fault.process))?;
        self.check_each("faults.omit-send", faults.omit_send.iter().map(|fault| fault.process))?;
        self.check_each(
            "faults.omit-receive",
            faults.omit_receive.iter().map(|fault| fault.process),
        )?;
        self.check_each("faults.slow", faults.slow.iter().map(|fault| fault.process))?;
        self.check_each("faults.fast", faults.fast.iter().map(|fault| fault.process))?;
        self.check_each("faults.clock", faults.clock.iter().map(|fault| fault.process))?;
        self.check_each("faults.traitor", faults.traitor.iter().map(|fault| fault.process))?;
        self.check_each_link("faults.lose", faults.lose.iter().map(|fault| fault.link))?;
        self.check_each_link("faults.duplicate", faults.duplicate.iter().map(|fault| fault.link))?;
        self.check_each_link("faults.reorder", faults.reorder.iter().map(|fault| fault.link))?;
        self.check_each_link("faults.corrupt", faults.corrupt.iter().map(|fault| fault.link))?;
        self.check_each_link("faults.cut", faults.cut.iter().map(|fault| fault.link))?;
        self.check_each_link("faults.suspect", faults.suspect.iter().map(|fault| fault.pair))?;
        for (index, partition) in faults.partition.iter().enumerate() {
            for member in partition.groups.iter().flatten() {
                self.exists(ProcessSelector::Process(member))
                    .map_err(|problem| Invalid::at("faults.partition", index, problem))?;
            }
        }
        self.check_distinct(
            "faults.traitor",
            faults.traitor.iter().map(|fault| (fault.process, fault.process)),
        )?;
        self.validate_crashes()
    }

    /// Checks that a process crashes at most once between recoveries, and recovers only from a crash.
    fn validate_crashes(&self) -> Result<(), Invalid> {
        let faults = &self.faults;
        let recovers: BTreeSet<ProcessSelector> =
            faults.recover.iter().map(|recover| recover.process).collect();
        let mut seen = BTreeSet::new();
        for (index, crash) in faults.crash.iter().enumerate() {
            let again = crash.process != ProcessSelector::Any && !seen.insert(crash.process);
            if again && !recovers.contains(&crash.process) {
                let problem =
                    format!("process {} crashes twice without coming back", crash.process);
                return Err(Invalid::at("faults.crash", index, problem));
            }
        }
        let crashes = faults.crash.len() + faults.crash_mid.len();
        if crashes > self.processes && faults.recover.is_empty() {
            let problem = format!("{crashes} crashes of {} processes", self.processes);
            return Err(Invalid::new("faults.crash", problem));
        }
        // The earliest time at which each process may crash, and the earliest time at which any process may.
        let mut earliest: BTreeMap<ProcessSelector, Time> = BTreeMap::new();
        let (mut by_seed, mut by_anybody) = (Time::NEVER, Time::NEVER);
        let crash_mid = faults.crash_mid.iter().map(|crash| (crash.process, crash.at));
        for (selector, at) in
            faults.crash.iter().map(|crash| (crash.process, crash.at)).chain(crash_mid)
        {
            let first = earliest.entry(selector).or_insert(Time::NEVER);
            *first = at.earliest().min(*first);
            by_anybody = at.earliest().min(by_anybody);
            by_seed =
                if selector == ProcessSelector::Any { at.earliest().min(by_seed) } else { by_seed };
        }
        for (index, recover) in faults.recover.iter().enumerate() {
            let own = earliest.get(&recover.process).copied().unwrap_or(Time::NEVER).min(by_seed);
            let crashed = if recover.process == ProcessSelector::Any { by_anybody } else { own };
            if crashed >= recover.at.latest() {
                let problem =
                    format!("process {} has not crashed before {}", recover.process, recover.at);
                return Err(Invalid::at("faults.recover", index, problem));
            }
        }
        Ok(())
    }

    fn validate_watch(&self) -> Result<(), Invalid> {
        for (index, id) in self.watch.iter().enumerate() {
            if !is_property(id) {
                return Err(Invalid::at("watch", index, unknown_property(id)));
            }
        }
        let expected = self.expect.iter().flat_map(|expect| expect.properties.keys());
        if let Some(id) = expected.into_iter().find(|id| !is_property(id)) {
            return Err(Invalid::new("expect.properties", unknown_property(id)));
        }
        let broken =
            self.expect.iter().filter_map(|expect| expect.broken_assumptions.as_ref()).flatten();
        let known =
            |id: &&String| Assumption::ALL.iter().any(|assumption| assumption.id() == id.as_str());
        match broken.into_iter().find(|id| !known(id)) {
            Some(id) => {
                let shown: String = id.chars().take(20).flat_map(char::escape_debug).collect();
                let known: Vec<&str> =
                    Assumption::ALL.iter().map(|assumption| assumption.id()).collect();
                let problem =
                    format!("there is no assumption `{shown}`; there are {}", known.join(", "));
                Err(Invalid::new("expect.broken-assumptions", problem))
            }
            None => Ok(()),
        }
    }

    /// Checks that the same process or pair is not listed twice. Entries that are left to the seed never count as the same.
    fn check_distinct(
        &self,
        key: &'static str,
        pairs: impl Iterator<Item = (ProcessSelector, ProcessSelector)>,
    ) -> Result<(), Invalid> {
        let mut seen = BTreeSet::new();
        for (index, pair) in pairs.enumerate() {
            let named = pair.0 != ProcessSelector::Any && pair.1 != ProcessSelector::Any;
            if named && !seen.insert(pair) {
                let pair_text = if pair.0 == pair.1 {
                    format!("{}", pair.0)
                } else {
                    format!("{}-{}", pair.0, pair.1)
                };
                return Err(Invalid::at(key, index, format!("{pair_text} is given twice")));
            }
        }
        Ok(())
    }

    fn check_each(
        &self,
        key: &'static str,
        selectors: impl Iterator<Item = ProcessSelector>,
    ) -> Result<(), Invalid> {
        for (index, selector) in selectors.enumerate() {
            self.exists(selector).map_err(|problem| Invalid::at(key, index, problem))?;
        }
        Ok(())
    }

    fn check_each_link(
        &self,
        key: &'static str,
        links: impl Iterator<Item = Link>,
    ) -> Result<(), Invalid> {
        for (index, link) in links.enumerate() {
            let both = self.exists(link.from).and_then(|()| self.exists(link.to));
            both.and_then(|()| {
                if self.processes > 1 {
                    Ok(())
                } else {
                    Err("a single process has no links".into())
                }
            })
            .map_err(|problem| Invalid::at(key, index, problem))?;
        }
        Ok(())
    }

    fn named_link(&self, link: Link) -> Result<(), String> {
        if link.from == ProcessSelector::Any || link.to == ProcessSelector::Any {
            return Err("both processes of this link must be named".to_owned());
        }
        self.exists(link.from).and_then(|()| self.exists(link.to))
    }

    fn exists(&self, selector: ProcessSelector) -> Result<(), String> {
        match selector {
            ProcessSelector::Process(process) if process.index() >= self.processes => {
                let last = self.processes - 1;
                Err(format!(
                    "there is no process {}; the processes are 0 to {last}",
                    process.number()
                ))
            }
            _ => Ok(()),
        }
    }
}

fn is_property(id: &str) -> bool {
    Property::ALL.iter().any(|property| property.id() == id)
}

fn unknown_property(id: &str) -> String {
    // Properties of two families may have the same name.
    let mut known: Vec<&str> = Vec::new();
    for property in Property::ALL {
        if !known.contains(&property.id()) {
            known.push(property.id());
        }
    }
    let shown: String = id.chars().take(20).flat_map(char::escape_debug).collect();
    format!("there is no property `{shown}`; there are {}", known.join(", "))
}
