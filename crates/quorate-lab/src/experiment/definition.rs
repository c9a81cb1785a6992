//! The definition of an experiment, its options, and their limits.

use serde::{Deserialize, Serialize};

use super::error::ExperimentError;
use super::findings::Findings;
use super::request::{ExperimentProgress, Request, Scope, SweepError};

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
    pub(super) run: fn(&Request<'_>) -> Result<Findings, SweepError>,
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

/// Maximum number of seeds. A larger number is considered a mistake.
const SEEDS_MOST: u64 = 100_000;

/// Maximum number of threads. A larger number is considered a mistake.
const THREADS_MOST: usize = 1_024;

impl Experiment {
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
    pub(super) fn request<'p>(
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
pub(super) fn doubling(least: usize, most: usize) -> Vec<usize> {
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
