//! Detects which of an algorithm's assumptions a run has broken. Only events that happened count: a crash that was
//! planned for a time after the end of the run, or a loss rate that never hit a message, breaks nothing.

use quorate_core::mutex::voters;
use quorate_core::{
    Assumption, Drift, ProcessId, ProcessSet, Property, SortedMap, SortedSet, Time,
};

use crate::engine::network::Loss;
use crate::observe::accounting::Accounting;
use crate::observe::monitor::name_all;
use crate::observe::{FaultLog, Overload, describe_traitor};
use crate::scenario::notation::ProcessSelector;
use crate::scenario::plan::{FaultEvent, Memory, MessageFault};
use crate::scenario::{Clocks, DetectorChoice, Scenario, Timing};

/// Returns why the assumption did not hold in the run, or none if it did.
pub(crate) fn breach(
    assumption: Assumption,
    scenario: &Scenario,
    fault_log: &FaultLog,
    accounting: &Accounting,
    end: Time,
) -> Option<String> {
    match assumption {
        Assumption::NoLoss => {
            // A message that a traitor withholds is not the fault of a link.
            let lost: u64 = accounting
                .losses()
                .iter()
                .filter(|(why, _)| !matches!(why, Loss::Down | Loss::Unsent | Loss::Treason))
                .map(|(_, count)| count)
                .sum();
            (lost > 0)
                .then(|| format!("{lost} {} lost", plural(lost, "message was", "messages were")))
        }
        Assumption::NoDuplication => {
            let twice = accounting.duplicated();
            (twice > 0).then(|| {
                format!("{twice} {} twice", plural(twice, "message arrived", "messages arrived"))
            })
        }
        Assumption::NoCorruption => {
            let changed = accounting.changed();
            (changed > 0).then(|| {
                format!("{changed} {} changed", plural(changed, "message was", "messages were"))
            })
        }
        Assumption::Fifo => {
            let reordered = fault_log.find(|fault| {
                matches!(
                    fault,
                    FaultEvent::NextOnLink { message_fault: MessageFault::Reordering, .. }
                )
            });
            (!scenario.fifo || scenario.faults.reordering > 0.0 || reordered.is_some())
                .then(|| "links may reorder messages".to_owned())
        }
        Assumption::NoCrash => fault_log.crashes(|_| true),
        Assumption::ServerUp => fault_log.crashes(|process| process.number() == scenario.server),
        Assumption::CrashStop => fault_log
            .find(|fault| matches!(fault, FaultEvent::Recover(..)))
            .map(|(time, fault)| format!("{} came back at {time}", fault.victim())),
        Assumption::Memory => fault_log
            .find(|fault| matches!(fault, FaultEvent::Recover(_, Memory::Lost)))
            .map(|(time, fault)| format!("{} at {time}", fault)),
        Assumption::LessThanAHalf => {
            let (n, f) = (scenario.processes, scenario.tolerates.unwrap_or(0));
            (n <= f.saturating_mul(2)).then(|| format!("n = {n}, f = {f}"))
        }
        Assumption::PerfectDetector => imperfect(scenario, fault_log),
        Assumption::EventualDetector => never_accurate(scenario, fault_log),
        Assumption::Synchrony => {
            let odd = fault_log.find(|fault| {
                matches!(
                    fault,
                    FaultEvent::Handling(_, Some(_)) | FaultEvent::Pace(..) | FaultEvent::Clock(..)
                )
            });
            let clocks = scenario.local_clocks();
            let wrong = || clocks.wrong.first().map(|clock| wrong_clock(clock.process));
            let odd = odd.map(|(time, fault)| format!("{} at {time}", fault));
            let overload = || fault_log.overload.map(|(first, _)| describe_overload(first));
            odd.or_else(|| fault_log.delay()).or_else(overload).or_else(wrong).or_else(|| {
                (!scenario.timing().is_synchronous())
                    .then(|| format!("timing is {}", scenario.timing()))
            })
        }
        Assumption::EventualSynchrony => fault_log.never_settled(scenario, end),
        Assumption::TrueServers => {
            let servers = scenario.time_servers();
            let wrong = Clocks::new(scenario, &servers).wrong;
            let wrong =
                wrong.iter().map(|clock| clock.process).find(|process| servers.contains(*process));
            let odd = |fault: &FaultEvent| matches!(fault, FaultEvent::Clock(process, _) if servers.contains(*process));
            wrong.map(wrong_clock).or_else(|| {
                fault_log.find(odd).map(|(time, fault)| format!("{fault} from {time} on"))
            })
        }
        Assumption::BoundedDrift => {
            let known = scenario.local_clocks().drift.0 as f64 / Drift::ONE as f64;
            // A slow process has late timers, just like a process with a slow clock.
            let odd = |fault: &FaultEvent| match fault {
                FaultEvent::Clock(_, rate) | FaultEvent::Pace(_, rate) => {
                    (rate - 1.0).abs() > known
                }
                _ => false,
            };
            fault_log.find(odd).map(|(time, fault)| format!("{fault} from {time} on"))
        }
        Assumption::HonestMajority => {
            let servers = scenario.time_servers();
            let liars = fault_log.traitors.iter().filter(|(process, _)| servers.contains(*process));
            let named: Vec<String> = liars.map(describe_traitor).collect();
            let few = named.len() <= (scenario.replies as usize - 1) / 2;
            (!few).then(|| named.join(", "))
        }
        Assumption::QuorumUp => fault_log.without_quorum(scenario),
        Assumption::Honesty => {
            let traitors = fault_log.traitors.iter();
            let named: Vec<String> = traitors.map(describe_traitor).collect();
            (!named.is_empty()).then(|| named.join(", "))
        }
        Assumption::FewCrashes => too_many(scenario, fault_log.crashed().len(), "crashed"),
        Assumption::FewFaults => {
            let mut faulty = fault_log.crashed();
            faulty.extend(fault_log.traitors.iter().map(|(traitor, _)| *traitor));
            too_many(scenario, faulty.len(), "crashed or lied")
        }
        Assumption::LessThanAThird => {
            let (n, m) = (scenario.processes, scenario.tolerates.unwrap_or(0));
            (n <= m.saturating_mul(3)).then(|| format!("n = {n}, m = {m}"))
        }
    }
}

/// Returns why the detector was not even eventually accurate: either every live process was suspected at the end, or no
/// detector existed to report crashes.
fn never_accurate(scenario: &Scenario, fault_log: &FaultLog) -> Option<String> {
    let crashed = fault_log.crashed();
    if scenario.detector == DetectorChoice::None && !crashed.is_empty() {
        return Some("there is no detector to notice crashes".to_owned());
    }
    // A suspicion that was planned to end breaks nothing, even if the run was over before it ended.
    if scenario.faults.suspect.iter().all(|suspect| suspect.window.until.is_some()) {
        return None;
    }
    let mut suspicions = SortedSet::new();
    for (_, fault) in &fault_log.fault_events {
        if let FaultEvent::Suspect { observer, victim, active } = fault {
            if *active {
                suspicions.insert((*observer, *victim));
            } else {
                suspicions.remove(&(*observer, *victim));
            }
        }
    }
    let live_observer = |pair: &&(ProcessId, ProcessId)| !crashed.contains(pair.0);
    let victims: ProcessSet =
        suspicions.iter().filter(live_observer).map(|(_, victim)| *victim).collect();
    let unsuspected = ProcessId::all(scenario.processes)
        .any(|process| !crashed.contains(process) && !victims.contains(process));
    (!unsuspected).then(|| "at the end every live process was suspected by some process".to_owned())
}

fn wrong_clock(process: ProcessId) -> String {
    format!("the clock of {process} is wrong")
}

/// Returns a description if more processes have failed than the algorithm was configured to tolerate.
fn too_many(scenario: &Scenario, failed: usize, how: &str) -> Option<String> {
    let tolerates = scenario.tolerates.unwrap_or(0);
    (failed > tolerates).then(|| {
        let noun = if failed == 1 { "process" } else { "processes" };
        format!("{failed} {noun} {how}, {tolerates} tolerated")
    })
}

/// The note for a property that the algorithm does not promise.
pub(crate) fn not_promised(property: Property) -> String {
    format!("not promised by this algorithm; `--watch {property}` checks it anyway")
}

/// Summaries of the log that only the judgement of assumptions needs.
impl FaultLog {
    /// Describes the first event that was late on a real machine.
    fn delay(&self) -> Option<String> {
        self.late.map(|(time, from, to, took)| {
            if from == to {
                format!("{to} was late by {took} at {time}")
            } else {
                format!("a message from {from} to {to} took {took} until {time}")
            }
        })
    }

    fn crashes(&self, counts: impl Fn(ProcessId) -> bool) -> Option<String> {
        let crashes: Vec<String> = self
            .fault_events
            .iter()
            .filter_map(|(time, fault)| match fault {
                FaultEvent::Crash(process) if counts(*process) => {
                    Some(format!("{process} crashed at {time}"))
                }
                _ => None,
            })
            .collect();
        match crashes.as_slice() {
            [] => None,
            few if few.len() <= 3 => Some(few.join(", ")),
            many => Some(format!("{} and {} more", many[..3].join(", "), many.len() - 3)),
        }
    }

    /// Returns why bounds, known or unknown, do not hold in the end. A clock with a wrong but steady rate still has a
    /// bound. A process that is still too slow, or overloaded at the end, may fall behind without limit.
    fn never_settled(&self, scenario: &Scenario, end: Time) -> Option<String> {
        let mut unsettled = SortedMap::new();
        for (time, fault) in &self.fault_events {
            match fault {
                FaultEvent::Handling(process, slow) => {
                    unsettled.insert((*process, 0), (slow.is_some(), time, fault));
                }
                FaultEvent::Pace(process, factor) => {
                    unsettled.insert((*process, 1), (*factor != 1.0, time, fault));
                }
                _ => {}
            }
        }
        let odd = unsettled.into_values().find(|(odd, ..)| *odd);
        let overload = || self.overloaded_at(end).map(describe_overload);
        let odd = odd.map(|(_, time, fault)| format!("{fault} from {time} on"));
        odd.or_else(overload).or_else(|| {
            (scenario.timing() == Timing::Asynchronous)
                .then(|| format!("timing is {}", Timing::Asynchronous))
        })
    }

    /// Names the voters that were down at the end, if the remaining voters contain no quorum.
    fn without_quorum(&self, scenario: &Scenario) -> Option<String> {
        let n = scenario.processes;
        // A planned recovery counts, even if the run was over before it happened.
        let returns = |process: ProcessId, crashed: Time| {
            let recoveries = scenario.faults.recover.iter();
            let mut own = recoveries.filter(|it| {
                it.process == ProcessSelector::Process(process)
                    || it.process == ProcessSelector::Any
            });
            own.any(|recover| recover.at.latest() > crashed)
        };
        let is_down = |process: &ProcessId| {
            self.down_since(*process).is_some_and(|crashed| !returns(*process, crashed))
        };
        let down: ProcessSet = ProcessId::all(n).filter(is_down).collect();
        let is_up = match scenario.quorum_sets.as_slice() {
            [] => {
                let voters = voters(n);
                (&voters - &down).len() * 2 > voters.len()
            }
            given => given.iter().any(|quorum| quorum.0.is_disjoint(&down)),
        };
        (!is_up).then(|| format!("at the end {} were down", name_all(&down)))
    }
}

fn describe_overload(Overload { time, process, wait }: Overload) -> String {
    format!("{process} was overloaded: a message that arrived at {time} was handled {wait} later")
}

fn imperfect(scenario: &Scenario, fault_log: &FaultLog) -> Option<String> {
    if let Some((time, observer, victim)) = fault_log.wrong_belief {
        return Some(format!(
            "{observer} believed at {time} that {victim} had crashed, which it had not"
        ));
    }
    let crashed = fault_log.find(|fault| matches!(fault, FaultEvent::Crash(_))).is_some();
    (scenario.detector == DetectorChoice::None && crashed)
        .then(|| "there is no detector to notice crashes".to_owned())
}

fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}
