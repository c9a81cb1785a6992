//! Cost of a leader's crash: the bully algorithm compared with a leader chosen by the failure detector. The comparison
//! is about these two algorithms, so it names them.

use quorate_core::{ProcessId, Span, Time};
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::report::Report;
use quorate_sim::scenario::DetectorChoice;
use quorate_sim::{Conditions, Scenario};
use serde::{Deserialize, Serialize};

use super::world::RANK_DELAYS;
use super::{Request, SweepError, Value, doubling, exact, sweep};
use crate::experiment::ExperimentError;
use quorate_run::run as run_once;

/// Maximum number of processes. More would take long, and detectors would give the same result.
const MOST: usize = 64;
/// Time of the leader's crash, and duration of all runs, in message delays.
pub(super) const CRASH: u64 = 40;
pub(super) const WATCHED: u64 = 240;

/// Algorithms that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Rival {
    Bully,
    DelayedBully,
    Leader,
}

impl Rival {
    const ALL: [Self; 3] = [Self::Bully, Self::DelayedBully, Self::Leader];

    const fn algorithm(self) -> &'static str {
        match self {
            Self::Bully | Self::DelayedBully => "bully",
            Self::Leader => "detector-leader",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Bully => "bully",
            Self::DelayedBully => "bully, delay by rank",
            Self::Leader => "detector-leader",
        }
    }

    /// Number of pairs in which one process must watch the other. A process of the bully algorithm
    /// watches only those above it.
    const fn pairs(self, n: u64) -> u64 {
        match self {
            Self::Bully | Self::DelayedBully => n * (n - 1) / 2,
            Self::Leader => n * (n - 1),
        }
    }
}

/// Cost of a crash.
#[derive(Serialize, Deserialize)]
pub(super) struct CrashRow {
    pub(super) rival: Rival,
    pub(super) detector: DetectorChoice,
    pub(super) n: usize,
    pub(super) pairs: u64,
    /// Messages of the election after the crash.
    pub(super) messages: u64,
    bytes: u64,
    /// Mean number of messages of the detector per message delay.
    #[serde(with = "exact::figure")]
    pub(super) detector_rate: f64,
    /// Time from the crash until every process follows the new leader, in message delays.
    #[serde(with = "exact::figure")]
    pub(super) time: f64,
}

pub(super) fn rows(request: &Request<'_>) -> Result<Vec<CrashRow>, SweepError> {
    let detectors = [DetectorChoice::Oracle, DetectorChoice::Heartbeat, DetectorChoice::Vcube];
    let mut cells = Vec::new();
    for rival in Rival::ALL {
        for detector in detectors {
            cells.extend(
                doubling(8, request.up_to.min(MOST)).into_iter().map(|n| (rival, detector, n)),
            );
        }
    }
    sweep(request, &cells, |&(rival, detector, n)| row(rival, detector, n))
}

fn row(rival: Rival, detector: DetectorChoice, n: usize) -> Result<CrashRow, ExperimentError> {
    let (without_crash, with_crash) =
        (scenario(rival, detector, n, false), scenario(rival, detector, n, true));
    let unit = with_crash.delay_unit().0;
    let without_crash = run_once(&without_crash, Conditions::default(), None)?.report;
    let with_crash = run_once(&with_crash, Conditions::default(), None)?.report;
    let settled = with_crash.election.as_ref().filter(|found| found.leader == Some(n as u32 - 2));
    let Some(duration) = settled.and_then(|found| found.duration) else {
        return Err(ExperimentError::Unmeasurable {
            algorithm: rival.algorithm().to_owned(),
            processes: n,
            seed: 0,
            problem: format!("the next in rank does not lead after {WATCHED} message delays"),
        });
    };
    let bytes = |report: &Report| report.messages.bytes.unwrap_or(0);
    let sent: u64 = with_crash.layers.values().map(|layer| layer.total).sum();
    Ok(CrashRow {
        rival,
        detector,
        n,
        pairs: rival.pairs(n as u64),
        // The messages of the run without the crash belong to the first election.
        messages: with_crash.messages.total - without_crash.messages.total,
        bytes: bytes(&with_crash) - bytes(&without_crash),
        detector_rate: sent as f64 * unit as f64 / with_crash.virtual_time.max(1) as f64,
        time: duration as f64 / unit as f64 - CRASH as f64,
    })
}

/// The greatest process leads from the start and crashes if `crash` is set.
fn scenario(rival: Rival, detector: DetectorChoice, n: usize, crash: bool) -> Scenario {
    let mut scenario = Scenario::new(rival.algorithm(), n);
    let unit = scenario.delay_unit().0;
    let greatest = ProcessSelector::Process(ProcessId::from_index(n - 1));
    let at = |delays: u64| When::At(Time(delays * unit));
    scenario.request = vec![ProcessAt { process: greatest, at: at(0) }];
    scenario.detector = detector;
    scenario.until = Some(SpanText(Span(WATCHED * unit)));
    if rival == Rival::DelayedBully {
        scenario.rank_delay = SpanText(Span(RANK_DELAYS * unit));
    }
    if crash {
        scenario.faults.crash = vec![ProcessAt { process: greatest, at: at(CRASH) }];
    }
    scenario
}

impl CrashRow {
    pub(super) fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("part", "leader-crash".into()),
            ("algorithm", self.rival.algorithm().into()),
            ("rank_delay", (self.rival == Rival::DelayedBully).into()),
            ("starters", Value::Missing),
            ("order", Value::Missing),
            ("detector", self.detector.to_string().as_str().into()),
            ("processes", self.n.into()),
            ("runs", 1_u64.into()),
            ("messages", self.messages.into()),
            ("messages_half_width_95", Value::Missing),
            ("formula", Value::Missing),
            ("formula_least", Value::Missing),
            ("formula_most", Value::Missing),
            ("comparison", Value::Missing),
            ("bytes", self.bytes.into()),
            ("time_delays", self.time.into()),
            ("detector_messages_per_delay", self.detector_rate.into()),
            ("pairs_to_watch", self.pairs.into()),
        ]
    }
}
