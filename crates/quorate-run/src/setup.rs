//! Setup of an algorithm as a scenario describes it, and the check that the two fit together.
//!
//! An algorithm is a type, and generic code is compiled for each type. Only the [`Facts`] about an algorithm are needed
//! here, so this module is compiled once.

use std::borrow::Cow;

use quorate_algorithms::agreement::PublicKeys;
use quorate_algorithms::{ClockSetup, Setup};
use quorate_core::agreement::AgreementKind;
use quorate_core::allocation::ClaimKind;
use quorate_core::clock_sync;
use quorate_core::detection::StableProperty;
use quorate_core::election::Candidates;
use quorate_core::quorum::{
    AnyCoterie, AnyMonotone, AnyPerView, AnySystem, Given, GivenMonotone, GivenPerView,
};
use quorate_core::{Layer, ProcessId, ProcessSet, Property, Span, Time};
use quorate_sim::notation::{ProcessSelector, SetText, SpanText};
use quorate_sim::scenario::{DetectorChoice, GivenClaim, Requesters};
use quorate_sim::script::{Script, Step};
use quorate_sim::{Scenario, Timing};

use crate::error::{CannotRun, shortened};
use crate::facts::Facts;

/// Duration of a lease, in bounds on message delay: long enough that a section usually ends before the first renewal.
const LEASE: u64 = 60;

/// Checks that every key of a scenario makes sense for the algorithm's family. No key is ignored silently.
fn check_family(scenario: &Scenario, facts: &Facts) -> Result<(), CannotRun> {
    let family = facts.profile.layer;
    let mismatch = |key, problem| {
        let (algorithm, family) = (facts.profile.name, family.family());
        Err(CannotRun::OtherFamily { algorithm, family, key, problem })
    };
    let known = |id: &&String| Property::of(family).any(|property| property.id() == id.as_str());
    let expected = scenario.expect.iter().flat_map(|expect| expect.properties.keys());
    let watched = scenario.watch.iter().map(|id| ("watch", id));
    let ids = watched.chain(expected.map(|id| ("expect.properties", id)));
    if let Some((key, id)) = ids.into_iter().find(|(_, id)| !known(id)) {
        let ids: Vec<&str> = Property::of(family).map(Property::id).collect();
        return mismatch(key, format!("it has no {}, it has {}", shortened(id), ids.join(", ")));
    }
    if !matches!(family, Layer::Mutex | Layer::Allocation) && !scenario.section_of.is_empty() {
        return mismatch("section-of", "it has no critical section".to_owned());
    }
    if family != Layer::Election {
        if !scenario.ids.is_empty() {
            return mismatch("ids", "it elects no leader".to_owned());
        }
        if !scenario.identify.is_empty() {
            return mismatch("identify", "it elects no leader".to_owned());
        }
    }
    if facts.knows_identifiers && !scenario.identify.is_empty() {
        let problem = "every process knows all identifiers in advance, so they cannot change; try bully-all or announce-all";
        return mismatch("identify", problem.to_owned());
    }
    if !facts.delays_by_rank && scenario.rank_delay != SpanText::default() {
        let problem = "it does not wait for processes of higher rank; bully and bully-all can";
        return mismatch("rank-delay", problem.to_owned());
    }
    if family != Layer::Multicast && scenario.to.is_some() {
        return mismatch("to", "it multicasts nothing for its users".to_owned());
    }
    if scenario.to.is_some() && !facts.groups {
        return mismatch("to", "it delivers to all processes, not to a group".to_owned());
    }
    if !facts.asks_servers {
        let asks = [
            ("servers", scenario.servers.is_some()),
            ("replies", scenario.replies != 1),
            ("probes", scenario.probes != 1),
        ];
        if let Some((key, _)) = asks.into_iter().find(|(_, is_set)| *is_set) {
            return mismatch(key, "it asks no time servers".to_owned());
        }
    }
    if !facts.averages_clocks && scenario.outlier.is_some() {
        return mismatch("outlier", "it averages no clocks".to_owned());
    }
    if family == Layer::Agreement {
        check_agreement(scenario, facts).or_else(|(key, problem)| mismatch(key, problem))?;
    } else if !scenario.values.is_empty() && family != Layer::Snapshot {
        return mismatch("values", "it has no proposals".to_owned());
    }
    check_claims(scenario, facts).or_else(|(key, problem)| mismatch(key, problem))?;
    if let Some(odd) =
        scenario.script.iter().flat_map(|own| &own.steps).find(|step| !fits(step, facts))
    {
        return mismatch("script", format!("its users do not `{odd}`"));
    }
    if matches!(family, Layer::Snapshot | Layer::Detection) && scenario.detector_never_quiescent() {
        return mismatch("detector", "it tolerates no crashes, so it needs no detector".to_owned());
    }
    if scenario.tolerates.is_some() && (facts.tolerates)(scenario.processes).is_none() {
        return mismatch("bears", "its number of tolerated faults cannot be configured".to_owned());
    }
    if facts.in_rounds {
        check_rounds(scenario).or_else(|(key, problem)| mismatch(key, problem))?;
    }
    if family == Layer::Detection {
        check_detection(scenario, facts).or_else(|(key, problem)| mismatch(key, problem))?;
    }
    if family == Layer::Detector {
        if scenario.detector != DetectorChoice::default() {
            return mismatch("detector", "it needs no other detector below it".to_owned());
        }
        if scenario.detection.is_some() || !scenario.detection_pair.is_empty() {
            return mismatch(
                "detection",
                "it uses no oracle, which alone has detection delays".to_owned(),
            );
        }
        if !scenario.faults.suspect.is_empty() {
            return mismatch(
                "faults.suspect",
                "it uses no oracle, which alone can be made to suspect wrongly".to_owned(),
            );
        }
    }
    Ok(())
}

/// Checks that permits, conflicts and claims are given only to an algorithm that serves them.
fn check_claims(scenario: &Scenario, facts: &Facts) -> Result<(), (&'static str, String)> {
    let serves = |kind| facts.profile.layer == Layer::Allocation && facts.claim_kind == kind;
    if scenario.capacity.is_some() && !serves(ClaimKind::Permit) {
        return Err(("capacity", "it has no permits".to_owned()));
    }
    let neighbours = serves(ClaimKind::AllResources) || serves(ClaimKind::SomeResources);
    if scenario.conflicts.is_some() && !neighbours {
        return Err(("conflicts", "its processes share no resources with neighbours".to_owned()));
    }
    for own in &scenario.claim_of {
        if !serves(facts.claim_kind) {
            return Err(("claim-of", "its requests have no claims".to_owned()));
        }
        let neighbours = match facts.claim_kind.has_neighbours() {
            true => scenario.neighbours(own.process),
            false => ProcessSet::new(),
        };
        let admits = |claim: &&GivenClaim| {
            facts.claim_kind.admits(own.process, &neighbours, &claim.claim(own.process))
        };
        if let Some(claim) = own.claims.iter().find(|claim| !admits(claim)) {
            let expected = match facts.claim_kind {
                ClaimKind::Permit => "every claim is for one permit; leave it out".to_owned(),
                ClaimKind::ReadWrite => "expected read or write".to_owned(),
                ClaimKind::Group => "expected a group such as group:2".to_owned(),
                ClaimKind::AllResources => {
                    "every claim is for all shared resources; leave it out".to_owned()
                }
                ClaimKind::SomeResources => {
                    format!("the neighbours of {} are {}", own.process, SetText(neighbours))
                }
            };
            let problem = format!("{} cannot claim `{claim}`: {expected}", own.process);
            return Err(("claim-of", problem));
        }
    }
    Ok(())
}

/// Whether users of this algorithm can make this step.
fn fits(step: &Step, facts: &Facts) -> bool {
    match step {
        Step::Transfer { .. } | Step::Record => facts.profile.layer == Layer::Snapshot,
        _ if facts.profile.layer != Layer::Detection => false,
        Step::Start | Step::Rest => facts.stable_property == StableProperty::Termination,
        Step::Send(_) => facts.stable_property != StableProperty::AndDeadlock,
        Step::Wait(_) => facts.stable_property != StableProperty::Termination,
        Step::Grant => facts.stable_property == StableProperty::AndDeadlock,
    }
}

/// Checks that a computation is begun by the process that detects its end.
fn check_detection(scenario: &Scenario, facts: &Facts) -> Result<(), (&'static str, String)> {
    if facts.stable_property != StableProperty::Termination {
        return Ok(());
    }
    let root = ProcessId::new(scenario.server);
    let starts = |own: &&Script| own.process != root && own.steps.contains(&Step::Start);
    if let Some(odd) = scenario.script.iter().find(starts) {
        let problem = format!("process {root} begins the computation, not {}", odd.process);
        return Err(("script", problem));
    }
    if !matches!(scenario.requesters, Requesters::One | Requesters::All) {
        let problem =
            format!("process {root} begins the computation, and all take part; leave it out");
        return Err(("requesters", problem));
    }
    Ok(())
}

/// Checks that every process takes part in an agreement, once.
fn check_agreement(scenario: &Scenario, facts: &Facts) -> Result<(), (&'static str, String)> {
    if scenario.repeat != 1 {
        return Err(("repeat", "an agreement is made once".to_owned()));
    }
    let greatest = facts.agreement_kind.greatest_value();
    let is_odd = |value: &&u64| greatest.is_some_and(|greatest| **value > greatest.0);
    if let Some(odd) = scenario.values.iter().find(is_odd) {
        let problem = match facts.agreement_kind {
            AgreementKind::Vote => format!("a vote is 0 to abort or 1 to commit, not {odd}"),
            _ => format!("it agrees on 0 or 1, not on {odd}"),
        };
        return Err(("values", problem));
    }
    // `All` means every process that has a value to propose.
    if !matches!(scenario.requesters, Requesters::One | Requesters::All) {
        let problem = match facts.agreement_kind {
            AgreementKind::Order => "only the commander gives an order",
            _ => "every process proposes a value",
        };
        return Err(("requesters", format!("{problem}; leave it out")));
    }
    let commander = ProcessSelector::Process(ProcessId::new(scenario.server));
    let odd = scenario.request.iter().find(|request| request.process != commander);
    match odd.filter(|_| facts.agreement_kind == AgreementKind::Order) {
        Some(odd) => {
            let problem = format!("process {commander} is the commander, not {}", odd.process);
            Err(("request", problem))
        }
        None => Ok(()),
    }
}

/// Checks a scenario with rounds. A round takes as long as a message may take.
fn check_rounds(scenario: &Scenario) -> Result<(), (&'static str, String)> {
    let ways_out = "it works in rounds";
    match scenario.timing {
        Some(Timing::Rounds(_)) => {}
        Some(timing) => {
            let problem = format!("{ways_out}, not with {timing}; use rounds:1ms or leave it out");
            return Err(("timing", problem));
        }
        None if scenario.delay_bound().is_none() => {
            return Err(("delay", format!("{ways_out}, and {} has no bound", scenario.delay)));
        }
        None if scenario.delay_bound() == Some(Span::ZERO) => {
            return Err(("delay", format!("{ways_out}, and rounds take time")));
        }
        None => {}
    }
    if !scenario.link_delay.is_empty() {
        return Err(("link-delay", format!("{ways_out}, and every message takes one")));
    }
    if !scenario.arrival.is_empty() {
        return Err(("arrival", format!("{ways_out}, and every message takes one")));
    }
    let round = match scenario.timing {
        Some(Timing::Rounds(length)) => Some(length),
        _ => scenario.delay_bound(),
    };
    if let Some(round) = round {
        let late = |time: Span| time >= round;
        let problem = |way_out: &str| {
            format!(
                "{ways_out} of {round}, and proposals must come in the first; {way_out} {round}"
            )
        };
        if scenario.request.is_empty() && late(scenario.spread.0) {
            return Err(("spread", problem("use a spread below")));
        }
        if scenario.request.iter().any(|request| late(request.at.latest() - Time::ZERO)) {
            return Err(("request", problem("request before")));
        }
    }
    if scenario.handling.0 > Span::ZERO {
        let problem =
            format!("{ways_out}, and a message is handled in the round in which it arrives");
        return Err(("handling", problem));
    }
    Ok(())
}

/// The scenario with the algorithm's defaults for keys that are not set.
pub(crate) fn with_defaults<'s>(scenario: &'s Scenario, facts: &Facts) -> Cow<'s, Scenario> {
    let tolerates = scenario.tolerates.or_else(|| (facts.tolerates)(scenario.processes));
    let rounds = || scenario.delay_bound().map(Timing::Rounds);
    let timing = scenario.timing.or_else(|| facts.in_rounds.then(rounds).flatten());
    if (tolerates, timing) == (scenario.tolerates, scenario.timing) {
        return Cow::Borrowed(scenario);
    }
    Cow::Owned(Scenario { tolerates, timing, ..scenario.clone() })
}

fn works_over(facts: &Facts) -> String {
    match facts.quorums {
        [] => "it does not vote".to_owned(),
        known => format!("it works over {}", known.join(", ")),
    }
}

/// The setup of an algorithm, as the scenario describes it.
pub(crate) fn setup(scenario: &Scenario, facts: &Facts) -> Result<Setup, CannotRun> {
    check_family(scenario, facts)?;
    let scenario = &with_defaults(scenario, facts);
    let n = scenario.processes;
    let unknown = |quorums: &str| CannotRun::UnknownQuorums {
        algorithm: facts.profile.name,
        quorums: shortened(quorums),
        known: works_over(facts),
    };
    let not_monotone = |quorums: &'static str, why: String| CannotRun::NotMonotone {
        algorithm: facts.profile.name,
        quorums,
        why,
    };
    let over_views = AnyMonotone::NAMES.iter().any(|name| facts.quorums.contains(name));
    let given: Vec<ProcessSet> = scenario.quorum_sets.iter().map(|set| set.0.clone()).collect();
    let usual = facts.quorums.first().copied().unwrap_or("majority");
    let quorums = match (&scenario.quorums, given.as_slice()) {
        (Some(name), _) if !facts.quorums.contains(&name.as_str()) => {
            let other = AnyPerView::NAMES.into_iter().find(|other| other == name);
            return Err(match other.filter(|_| over_views) {
                Some(quorums) => not_monotone(quorums, works_over(facts)),
                None => unknown(name),
            });
        }
        (None, [_, ..]) if facts.quorums.is_empty() => return Err(unknown("given sets")),
        (None, []) if !scenario.quorum_of.is_empty() => {
            if !over_views {
                return Err(unknown("quorums that change with views"));
            }
            let given = scenario.quorum_of.iter();
            let given = given.map(|q| (q.failed.clone(), q.process, q.members.clone()));
            let given = GivenPerView::new(n, given);
            if AnyPerView::NAMES.iter().any(|name| facts.quorums.contains(name)) {
                AnySystem::PerView(AnyPerView::Given(given))
            } else {
                let monotone = GivenMonotone::new(given);
                let monotone = monotone.map_err(|why| not_monotone("given", why.to_string()))?;
                AnySystem::monotone(AnyMonotone::Given(monotone))
            }
        }
        (None, [_, ..]) => AnySystem::Fixed(AnyCoterie::Given(Given(given))),
        (name, _) => {
            let name = name.as_deref().unwrap_or(usual);
            AnySystem::by_name(name, n).ok_or_else(|| unknown(name))?
        }
    };
    let tree = scenario.tree.clone().unwrap_or_default().0;
    let (server, to, delay_bounds) =
        (ProcessId::new(scenario.server), scenario.group(), scenario.delay_bounds());
    let (no_cancel, hand_over) = (scenario.no_cancel, scenario.hand_over);
    let clocks = scenario.clocks.clone();
    let clock = ClockSetup {
        servers: scenario.time_servers(),
        replies: scenario.replies as usize,
        probes: scenario.probes,
        outlier: scenario.outlier.map_or(Span::from_millis(1_000), |outlier| outlier.0),
        limits: clock_sync::Limits {
            delay_min: scenario.delay_least(),
            drift: scenario.local_clocks().drift,
        },
    };
    let (candidates, rank_delay) = (Candidates::new(n, &scenario.ids), scenario.rank_delay.0);
    let tolerates = scenario.tolerates.unwrap_or(0);
    let keys = if facts.signs { PublicKeys::simulated(n) } else { PublicKeys::default() };
    Ok(Setup {
        n,
        server,
        tree,
        quorums,
        no_cancel,
        hand_over,
        clocks,
        tolerates,
        keys,
        to,
        delay_bounds,
        lease: Span(delay_bounds.bound.0.saturating_mul(LEASE)),
        renewals: None,
        candidates,
        rank_delay,
        seed: scenario.seed,
        rounds: None,
        clock,
        capacity: scenario.permits(),
        conflicts: scenario.conflicts.unwrap_or_default().0,
        balances: scenario.values.clone(),
    })
}
