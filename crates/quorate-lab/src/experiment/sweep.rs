//! Runs the cells of an experiment in parallel: all cells, those of one shard, or none because
//! shards have already run them.

use std::sync::{Mutex, PoisonError};

use quorate_sim::Cancelled;
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ExperimentError;
use super::request::{Request, Scope, SweepError};

/// Answers of two sweeps, after both have been made.
pub(super) fn both<A, B>(
    a: Result<A, SweepError>,
    b: Result<B, SweepError>,
) -> Result<(A, B), SweepError> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(SweepError::Failed(error)), _) | (_, Err(SweepError::Failed(error))) => {
            Err(SweepError::Failed(error))
        }
        _ => Err(SweepError::Partial),
    }
}

/// Answers of all cells, in the order of the cells. If some cells fail, returns the error of the first one.
pub(super) fn sweep<Cell: Sync, Answer: Send + Serialize + DeserializeOwned>(
    request: &Request<'_>,
    cells: &[Cell],
    run: impl Fn(&Cell) -> Result<Answer, ExperimentError> + Sync,
) -> Result<Vec<Answer>, SweepError> {
    match &request.scope {
        Scope::Whole => Ok(run_all(request, &cells.iter().collect::<Vec<_>>(), run)?),
        Scope::Shard(shard, kept) => {
            let (first, step) = (shard.number as usize - 1, shard.of as usize);
            let own: Vec<&Cell> = cells.iter().skip(first).step_by(step).collect();
            let answers = run_all(request, &own, run)?;
            let written: Result<Vec<Value>, _> = answers.iter().map(serde_json::to_value).collect();
            kept.borrow_mut().push(written.map_err(|error| unreadable(&error))?);
            Err(SweepError::Partial)
        }
        Scope::Merged(parts, next_sweep) => {
            let place = next_sweep.replace_with(|next_sweep| *next_sweep + 1);
            Ok(gathered(parts, place, cells.len())?)
        }
    }
}

fn run_all<Cell: Sync, Answer: Send>(
    request: &Request<'_>,
    cells: &[&Cell],
    run: impl Fn(&Cell) -> Result<Answer, ExperimentError> + Sync,
) -> Result<Vec<Answer>, ExperimentError> {
    let answers: Vec<Mutex<Option<Result<Answer, ExperimentError>>>> =
        cells.iter().map(|_| Mutex::new(None)).collect();
    run_each(request, cells.len(), &|cell| {
        let answer = run(cells[cell]);
        *answers[cell].lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    })?;
    let answer = |slot: Mutex<Option<_>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A cell without an answer was not run.
    answers.into_iter().map(|slot| answer(slot).unwrap_or_else(|| Err(Cancelled.into()))).collect()
}

/// Runs all cells in parallel, until the experiment is cancelled. This is not generic, because every sweep has types of its
/// own and the code of a parallel iterator is long.
fn run_each(
    request: &Request<'_>,
    cells: usize,
    run: &(dyn Fn(usize) + Sync),
) -> Result<(), ExperimentError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(request.threads).build();
    let pool = pool.map_err(|error| ExperimentError::Option(format!("--threads: {error}")))?;
    request.progress.begin(cells);
    pool.install(|| {
        (0..cells).into_par_iter().with_max_len(1).for_each(|cell| {
            if request.progress.should_continue() {
                run(cell);
                request.progress.step();
            }
        });
    });
    request.progress.end();
    Ok(())
}

/// Answers of one sweep, whose cells were distributed to the shards in turn.
fn gathered<Answer: DeserializeOwned>(
    parts: &[Vec<Vec<Value>>],
    sweep: usize,
    cells: usize,
) -> Result<Vec<Answer>, ExperimentError> {
    let of_sweep: Vec<&[Value]> =
        parts.iter().map(|part| part.get(sweep).map_or(&[][..], Vec::as_slice)).collect();
    if of_sweep.iter().map(|part| part.len()).sum::<usize>() != cells {
        return Err(unreadable(&"they have another number of runs"));
    }
    let answer = |cell: usize| {
        let value = of_sweep[cell % parts.len()].get(cell / parts.len());
        let value = value.ok_or_else(|| unreadable(&"some runs are missing"))?;
        Answer::deserialize(value).map_err(|error| unreadable(&error))
    };
    (0..cells).map(answer).collect()
}

fn unreadable(why: &dyn std::fmt::Display) -> ExperimentError {
    ExperimentError::Option(format!("these are not parts of this experiment: {why}"))
}
