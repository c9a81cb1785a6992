//! Whether a scenario makes sense: each mistake is named with the key it is about.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::{Assumption, ProcessId, Property, Time};

use crate::notation::{Link, OFFSET_MOST, Who};
use crate::scenario::{DetectorChoice, PROCESSES_MOST, Requesters, Scenario};
use crate::timing::Timing;

/// Servers are not asked more often than this.
const PROBES_MOST: u32 = 1_000;

/// A scenario that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Invalid {
    /// The key of the file, `faults.crash` for one of a table.
    pub key: &'static str,
    /// Its place, where the key is a list.
    pub place: Option<usize>,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl Invalid {
    fn new(key: &'static str, problem: impl Into<String>) -> Self {
        Self { key, place: None, problem: problem.into() }
    }

    fn at(key: &'static str, place: usize, problem: impl Into<String>) -> Self {
        Self { key, place: Some(place), problem: problem.into() }
    }
}

impl Scenario {
    /// Checks everything that can be checked before a run. Whether the algorithm exists is not known here.
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
        self.exists(Who::Process(ProcessId::new(self.server)))
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
        for (place, identify) in self.identify.iter().enumerate() {
            self.exists(identify.who).map_err(|problem| Invalid::at("identify", place, problem))?;
        }
        if self.values.len() > self.processes {
            let problem = format!("{} values for {} processes", self.values.len(), self.processes);
            return Err(Invalid::new("values", problem));
        }
        if let Some(bears) = self.bears.filter(|bears| *bears >= self.processes) {
            let most = self.processes - 1;
            let problem =
                format!("{bears} of {} processes cannot all fail, at most {most}", self.processes);
            return Err(Invalid::new("bears", problem));
        }
        let ways =
            [self.quorums.is_some(), !self.quorum_sets.is_empty(), !self.quorum_of.is_empty()];
        if ways.into_iter().filter(|way| *way).count() > 1 {
            let problem = "say one of `quorums`, `quorum-sets` and `quorum-of`";
            return Err(Invalid::new("quorums", problem));
        }
        for (place, quorum) in self.quorum_of.iter().enumerate() {
            let named = quorum.failed.iter().chain(quorum.members.iter()).chain([quorum.process]);
            for process in named {
                let who = Who::Process(process);
                self.exists(who).map_err(|problem| Invalid::at("quorum-of", place, problem))?;
            }
        }
        if !self.quorum_sets.is_empty() && self.quorum_sets.len() != self.processes {
            let problem =
                format!("{} quorums for {} processes", self.quorum_sets.len(), self.processes);
            return Err(Invalid::new("quorum-sets", problem));
        }
        for (place, set) in self.quorum_sets.iter().enumerate() {
            for member in &set.0 {
                let who = Who::Process(member);
                self.exists(who).map_err(|problem| Invalid::at("quorum-sets", place, problem))?;
            }
        }
        Ok(())
    }

    fn validate_requests(&self) -> Result<(), Invalid> {
        if !self.request.is_empty() && self.requesters != Requesters::default() {
            return Err(Invalid::new(
                "requesters",
                "say either `requesters` or `request`, not both",
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
        for (place, own) in self.section_of.iter().enumerate() {
            self.exists(Who::Process(own.process))
                .map_err(|problem| Invalid::at("section-of", place, problem))?;
        }
        let own = self.section_of.iter().map(|own| Who::Process(own.process));
        self.different("section-of", own.map(|who| (who, who)))?;
        if self.repeat == 0 {
            return Err(Invalid::new("repeat", "each requester must enter at least once"));
        }
        for member in self.to.iter().flat_map(|to| &to.0) {
            self.exists(Who::Process(member)).map_err(|problem| Invalid::new("to", problem))?;
        }
        for (place, request) in self.request.iter().enumerate() {
            self.exists(request.who).map_err(|problem| Invalid::at("request", place, problem))?;
        }
        Ok(())
    }

    fn validate_timing(&self) -> Result<(), Invalid> {
        for (place, own) in self.link_delay.iter().enumerate() {
            self.named_link(own.link)
                .map_err(|problem| Invalid::at("link-delay", place, problem))?;
        }
        self.different(
            "link-delay",
            self.link_delay.iter().map(|own| (own.link.from, own.link.to)),
        )?;
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
        Ok(())
    }

    fn validate_clocks(&self) -> Result<(), Invalid> {
        let who = self.local_clock.iter().map(|clock| Who::Process(clock.who));
        self.each("local-clock", who.clone())?;
        self.different("local-clock", who.map(|who| (who, who)))?;
        if self.clock_offset.0 > OFFSET_MOST {
            let problem = format!("a clock is off by {OFFSET_MOST} at most");
            return Err(Invalid::new("clock-offset", problem));
        }
        let servers = self.time_servers();
        for server in self.servers.iter().flat_map(|servers| &servers.0) {
            let who = Who::Process(server);
            self.exists(who).map_err(|problem| Invalid::new("servers", problem))?;
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
                    "{} of {count} servers cannot be waited for: say 1 to {count}",
                    self.replies
                ),
            };
            return Err(Invalid::new("replies", problem));
        }
        if self.probes == 0 || self.probes > PROBES_MOST {
            let problem = format!("{} probes: say 1 to {PROBES_MOST}", self.probes);
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
        for (place, own) in self.detection_pair.iter().enumerate() {
            self.named_link(own.link)
                .map_err(|problem| Invalid::at("detection-pair", place, problem))?;
        }
        self.different(
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
        ] {
            if !(0.0..=1.0).contains(&rate) {
                return Err(Invalid::new(
                    key,
                    format!("a probability lies between 0 and 1, not at {rate}"),
                ));
            }
        }
        self.each("faults.crash", faults.crash.iter().map(|fault| fault.who))?;
        self.each("faults.crash-mid", faults.crash_mid.iter().map(|fault| fault.who))?;
        self.each("faults.recover", faults.recover.iter().map(|fault| fault.who))?;
        self.each("faults.omit-send", faults.omit_send.iter().map(|fault| fault.who))?;
        self.each("faults.omit-receive", faults.omit_receive.iter().map(|fault| fault.who))?;
        self.each("faults.slow", faults.slow.iter().map(|fault| fault.who))?;
        self.each("faults.fast", faults.fast.iter().map(|fault| fault.who))?;
        self.each("faults.clock", faults.clock.iter().map(|fault| fault.who))?;
        self.each("faults.traitor", faults.traitor.iter().map(|fault| fault.who))?;
        self.each_link("faults.lose", faults.lose.iter().map(|fault| fault.link))?;
        self.each_link("faults.duplicate", faults.duplicate.iter().map(|fault| fault.link))?;
        self.each_link("faults.reorder", faults.reorder.iter().map(|fault| fault.link))?;
        self.each_link("faults.cut", faults.cut.iter().map(|fault| fault.link))?;
        self.each_link("faults.suspect", faults.suspect.iter().map(|fault| fault.pair))?;
        for (place, partition) in faults.partition.iter().enumerate() {
            for member in partition.groups.iter().flatten() {
                self.exists(Who::Process(member))
                    .map_err(|problem| Invalid::at("faults.partition", place, problem))?;
            }
        }
        self.different(
            "faults.traitor",
            faults.traitor.iter().map(|fault| (fault.who, fault.who)),
        )?;
        self.validate_crashes()
    }

    /// A process crashes once between recoveries, and recovers only from a crash.
    fn validate_crashes(&self) -> Result<(), Invalid> {
        let faults = &self.faults;
        let recovers: BTreeSet<Who> = faults.recover.iter().map(|recover| recover.who).collect();
        let mut seen = BTreeSet::new();
        for (place, crash) in faults.crash.iter().enumerate() {
            let again = crash.who != Who::Any && !seen.insert(crash.who);
            if again && !recovers.contains(&crash.who) {
                let problem = format!("process {} crashes twice without coming back", crash.who);
                return Err(Invalid::at("faults.crash", place, problem));
            }
        }
        let crashes = faults.crash.len() + faults.crash_mid.len();
        if crashes > self.processes && faults.recover.is_empty() {
            let problem = format!("{crashes} crashes of {} processes", self.processes);
            return Err(Invalid::new("faults.crash", problem));
        }
        // The earliest that each process may crash, and the earliest that anybody may.
        let mut earliest: BTreeMap<Who, Time> = BTreeMap::new();
        let (mut by_seed, mut by_anybody) = (Time::NEVER, Time::NEVER);
        let crash_mid = faults.crash_mid.iter().map(|crash| (crash.who, crash.at));
        for (who, at) in faults.crash.iter().map(|crash| (crash.who, crash.at)).chain(crash_mid) {
            let first = earliest.entry(who).or_insert(Time::NEVER);
            *first = at.earliest().min(*first);
            by_anybody = at.earliest().min(by_anybody);
            by_seed = if who == Who::Any { at.earliest().min(by_seed) } else { by_seed };
        }
        for (place, recover) in faults.recover.iter().enumerate() {
            let own = earliest.get(&recover.who).copied().unwrap_or(Time::NEVER).min(by_seed);
            let crashed = if recover.who == Who::Any { by_anybody } else { own };
            if crashed >= recover.at.latest() {
                let problem =
                    format!("process {} has not crashed before {}", recover.who, recover.at);
                return Err(Invalid::at("faults.recover", place, problem));
            }
        }
        Ok(())
    }

    fn validate_watch(&self) -> Result<(), Invalid> {
        for (place, id) in self.watch.iter().enumerate() {
            if !is_property(id) {
                return Err(Invalid::at("watch", place, no_property(id)));
            }
        }
        let expected = self.expect.iter().flat_map(|expect| expect.properties.keys());
        if let Some(id) = expected.into_iter().find(|id| !is_property(id)) {
            return Err(Invalid::new("expect.properties", no_property(id)));
        }
        let broken =
            self.expect.iter().filter_map(|expect| expect.broken_assumptions.as_ref()).flatten();
        let known =
            |id: &&String| Assumption::ALL.iter().any(|assumption| assumption.id() == id.as_str());
        match broken.into_iter().find(|id| !known(id)) {
            Some(id) => {
                let asked: String = id.chars().take(20).flat_map(char::escape_debug).collect();
                let known: Vec<&str> =
                    Assumption::ALL.iter().map(|assumption| assumption.id()).collect();
                let problem =
                    format!("there is no assumption `{asked}`; there are {}", known.join(", "));
                Err(Invalid::new("expect.broken-assumptions", problem))
            }
            None => Ok(()),
        }
    }

    /// Nothing is said twice of the same process or pair; what is left to the seed is never the same.
    fn different(
        &self,
        key: &'static str,
        pairs: impl Iterator<Item = (Who, Who)>,
    ) -> Result<(), Invalid> {
        let mut seen = BTreeSet::new();
        for (place, pair) in pairs.enumerate() {
            let named = pair.0 != Who::Any && pair.1 != Who::Any;
            if named && !seen.insert(pair) {
                let whom = if pair.0 == pair.1 {
                    format!("{}", pair.0)
                } else {
                    format!("{}-{}", pair.0, pair.1)
                };
                return Err(Invalid::at(key, place, format!("there are two answers for {whom}")));
            }
        }
        Ok(())
    }

    fn each(&self, key: &'static str, who: impl Iterator<Item = Who>) -> Result<(), Invalid> {
        for (place, who) in who.enumerate() {
            self.exists(who).map_err(|problem| Invalid::at(key, place, problem))?;
        }
        Ok(())
    }

    fn each_link(
        &self,
        key: &'static str,
        links: impl Iterator<Item = Link>,
    ) -> Result<(), Invalid> {
        for (place, link) in links.enumerate() {
            let both = self.exists(link.from).and_then(|()| self.exists(link.to));
            both.and_then(|()| {
                if self.processes > 1 {
                    Ok(())
                } else {
                    Err("a single process has no links".into())
                }
            })
            .map_err(|problem| Invalid::at(key, place, problem))?;
        }
        Ok(())
    }

    fn named_link(&self, link: Link) -> Result<(), String> {
        if link.from == Who::Any || link.to == Who::Any {
            return Err("this link must be named".to_owned());
        }
        self.exists(link.from).and_then(|()| self.exists(link.to))
    }

    fn exists(&self, who: Who) -> Result<(), String> {
        match who {
            Who::Process(process) if process.index() >= self.processes => {
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

fn no_property(id: &str) -> String {
    // Two families may have properties of the same name.
    let mut known: Vec<&str> = Vec::new();
    for property in Property::ALL {
        if !known.contains(&property.id()) {
            known.push(property.id());
        }
    }
    let asked: String = id.chars().take(20).flat_map(char::escape_debug).collect();
    format!("there is no property `{asked}`; there are {}", known.join(", "))
}
