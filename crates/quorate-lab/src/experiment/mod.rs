//! Experiments: many runs, summarized in one table.
//!
//! An experiment is a flat list of independent cells. Each cell is a function of its parameters and its seed. Cells run on
//! all available threads (`sweep.rs`) and are collected in order, so that the number of threads changes nothing.

mod agreements;
mod byzantine;
mod clock_sync;
mod consensus_rounds;
mod crashes;
mod detectors;
mod election_cost;
mod error;
mod exact;
mod findings;
mod mutex_cost;
mod mutex_faults;
mod prediction;
mod quorum_run;
mod replay;
mod series;
mod shard;
mod statistics;
mod sweep;
mod table;
mod thesis;
mod vcube_diagnosis;
mod verification;
mod without_cancel;

pub use error::ExperimentError;
pub use findings::{Block, Findings};
pub use shard::ExperimentShard;
pub use statistics::Statistics;
pub use sweep::ExperimentProgress;
pub use table::{Row, Table, Value};

use quorate_run::nearest;
use serde::{Deserialize, Serialize};
use sweep::{Scope, SweepError};

/// All experiments that can be run by name.
pub const EXPERIMENTS: &[Experiment] = &[
    mutex_cost::EXPERIMENT,
    mutex_faults::EXPERIMENT,
    election_cost::EXPERIMENT,
    thesis::EXPERIMENT,
    without_cancel::EXPERIMENT,
    vcube_diagnosis::EXPERIMENT,
    detectors::EXPERIMENT,
    clock_sync::EXPERIMENT,
    byzantine::EXPERIMENT,
    consensus_rounds::EXPERIMENT,
    verification::EXPERIMENT,
];

/// A published table or figure, or a question of our own, as something to run.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Default number of seeds.
    pub seeds: u64,
    /// Minimum, default and maximum of the largest number of processes, if the experiment has several sizes.
    pub sizes: Option<Sizes>,
    /// Default size limit of our own algorithm, if it stops earlier than the published one.
    pub ours: Option<usize>,
    /// Whether it draws charts.
    pub draws: bool,
    run: fn(&Request<'_>) -> Result<Findings, SweepError>,
}

/// Default and limits of `--up-to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Minimum, below which nothing can be seen.
    pub least: usize,
    /// Default if the option is not given.
    pub usual: usize,
    /// Maximum, beyond which the experiment would take too long.
    pub most: usize,
}

/// Options that a user may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Number of seeds, counted from zero.
    pub seeds: Option<u64>,
    /// Largest number of processes.
    pub up_to: Option<usize>,
    /// Largest number of processes for our own algorithm, if it is compared with a published one.
    pub ours_up_to: Option<usize>,
    /// Number of threads; default: the number of cores.
    pub threads: Option<usize>,
}

/// Input of an experiment: the options with all defaults filled in.
struct Request<'p> {
    seeds: u64,
    up_to: usize,
    ours_up_to: usize,
    threads: usize,
    progress: &'p dyn ExperimentProgress,
    scope: Scope,
}

/// Maximum number of seeds. A larger number is considered a mistake.
const SEEDS_MOST: u64 = 100_000;

/// Maximum number of threads. A larger number is considered a mistake.
const THREADS_MOST: usize = 1_024;

impl Experiment {
    /// Finds the experiment with this name.
    pub fn by_name(name: &str) -> Result<&'static Self, ExperimentError> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
            let known = EXPERIMENTS.iter().map(|experiment| experiment.name);
            let way_out = match nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`quorate experiment` names them all".to_owned(),
            };
            let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
            ExperimentError::Option(format!("there is no experiment `{name}`; {way_out}"))
        })
    }

    /// Runs the whole experiment.
    pub fn run(
        &self,
        options: &Options,
        progress: &dyn ExperimentProgress,
    ) -> Result<Findings, ExperimentError> {
        match (self.run)(&self.request(options, progress, Scope::Whole)?) {
            Ok(findings) => Ok(findings),
            Err(SweepError::Failed(error)) => Err(error),
            Err(SweepError::Partial) => {
                Err(ExperimentError::Option("only a part of it was run".to_owned()))
            }
        }
    }

    /// Checks the options and fills in the defaults.
    fn request<'p>(
        &self,
        options: &Options,
        progress: &'p dyn ExperimentProgress,
        scope: Scope,
    ) -> Result<Request<'p>, ExperimentError> {
        let seeds = validated_option("--seeds", options.seeds, self.seeds, 1, SEEDS_MOST)?;
        let up_to = match (self.sizes, options.up_to) {
            (Some(Sizes { least, usual, most }), up_to) => validated_option(
                "--up-to",
                up_to.map(as_u64),
                as_u64(usual),
                as_u64(least),
                as_u64(most),
            )?,
            (None, None) => 0,
            (None, Some(_)) => {
                let problem = format!("{} has one size; leave --up-to out", self.name);
                return Err(ExperimentError::Option(problem));
            }
        };
        let ours_up_to = match (self.ours, options.ours_up_to) {
            (Some(usual), given) => {
                let most = self.sizes.map_or(usual, |sizes| sizes.most);
                validated_option("--ours-up-to", given.map(as_u64), as_u64(usual), 1, as_u64(most))?
                    .min(up_to)
            }
            (None, None) => up_to,
            (None, Some(_)) => {
                let problem = format!(
                    "{} has the same sizes for every algorithm; leave --ours-up-to out",
                    self.name
                );
                return Err(ExperimentError::Option(problem));
            }
        };
        // Zero means as many threads as there are cores.
        let threads = options.threads.map(as_u64);
        let threads = validated_option("--threads", threads, 0, 1, as_u64(THREADS_MOST))?;
        let (up_to, ours_up_to) = (up_to as usize, ours_up_to as usize);
        let threads = threads as usize;
        Ok(Request { seeds, up_to, ours_up_to, threads, progress, scope })
    }
}

/// Sizes that double from the least up to the most.
fn doubling(least: usize, most: usize) -> Vec<usize> {
    std::iter::successors(Some(least), |n| Some(n * 2)).take_while(|n| *n <= most).collect()
}

fn as_u64(size: usize) -> u64 {
    size as u64
}

fn validated_option(
    flag: &str,
    given: Option<u64>,
    usual: u64,
    least: u64,
    most: u64,
) -> Result<u64, ExperimentError> {
    match given {
        Some(given) if !(least..=most).contains(&given) => Err(ExperimentError::Option(format!(
            "{flag}: expected {least} to {most}, found {given}"
        ))),
        given => Ok(given.unwrap_or(usual)),
    }
}
