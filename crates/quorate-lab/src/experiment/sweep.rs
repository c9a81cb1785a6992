//! Runs the cells of an experiment in parallel.

use rayon::prelude::*;

use super::Request;
use crate::CannotRun;

/// Somebody who wants to know how far an experiment is.
pub trait Progress: Sync {
    /// There are so many cells.
    fn begin(&self, cells: usize);

    /// One more is done, on any thread.
    fn step(&self);

    /// All are done.
    fn end(&self);

    /// Whether anybody still waits for it; if not, the cells that are left are not run.
    fn is_wanted(&self) -> bool {
        true
    }
}

/// Nobody.
impl Progress for () {
    fn begin(&self, _: usize) {}
    fn step(&self) {}
    fn end(&self) {}
}

/// What came of each cell, in the order of the cells. If some cannot be run, the first of them is told of.
pub(super) fn sweep<Cell: Sync, Answer: Send>(
    request: &Request<'_>,
    cells: &[Cell],
    run: impl Fn(&Cell) -> Result<Answer, CannotRun> + Sync,
) -> Result<Vec<Answer>, CannotRun> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(request.threads).build();
    let pool = pool.map_err(|error| CannotRun::Option(format!("--threads: {error}")))?;
    request.progress.begin(cells.len());
    let answers: Vec<Result<Answer, CannotRun>> = pool.install(|| {
        let cells = cells.par_iter().with_max_len(1);
        let answer = |cell| {
            if !request.progress.is_wanted() {
                return Err(CannotRun::Cancelled);
            }
            let answer = run(cell);
            request.progress.step();
            answer
        };
        cells.map(answer).collect()
    });
    request.progress.end();
    answers.into_iter().collect()
}
