//! `cargo xtask mutants PATH`: the mutants that cargo-mutants generates for a file or a folder of a crate, against the quick
//! tests of that crate.
//!
//! cargo-mutants would compile the crate and its tests once for each mutant, which takes hours for thousands of them. Here
//! only its list is used. All mutants are compiled together (`weave.rs`), and the tests run once for each mutant, beginning
//! with the quickest ones that reach its function (`suite.rs`). A mutant that does not compile is found by the compiler's
//! messages and taken out.

mod build;
mod functions;
mod list;
pub(super) mod sample;
mod suite;
mod table;
mod weave;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, thread};

use build::Copy;
use list::Mutant;
use suite::{Fate, Suite};

use crate::cargo::target_directory;

/// Options of a run.
struct Options<'a> {
    /// File or folder of a crate, relative to the root.
    path: &'a str,
    /// Every how many-th mutant is tried.
    every: usize,
    /// Number of mutants that are tried at the same time.
    jobs: usize,
    /// File for the table.
    markdown: Option<&'a str>,
}

/// Tries the mutants of a path, and prints or writes the table. Succeeds if every mutant that survives has a reason.
pub(super) fn run(root: &Path, words: &[&str]) -> io::Result<ExitCode> {
    let options = parse(words)?;
    let mut parts = options.path.split('/');
    let (Some("crates"), Some(package)) = (parts.next(), parts.next()) else {
        let text = format!("`{}` is not in a crate, such as crates/quorate-core/src", options.path);
        return Err(io::Error::other(text));
    };
    let mutants = list::mutants(root, package, options.path)?;
    let mutants: Vec<Mutant> = mutants.into_iter().step_by(options.every).collect();
    if mutants.is_empty() {
        return Err(io::Error::other(format!("there is no mutant of `{}`", options.path)));
    }
    let tried = try_all(root, package, mutants, options.jobs)?;
    let text = table::table(&tried, options.every);
    match options.markdown {
        Some(path) => fs::write(root.join(path), text)?,
        None => println!("{text}"),
    }
    Ok(match table::unexplained(&tried) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn parse<'a>(words: &[&'a str]) -> io::Result<Options<'a>> {
    let mut options = Options { path: "", every: 1, jobs: 1, markdown: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || {
            let value = words.next().copied();
            value.ok_or_else(|| io::Error::other(format!("`{word}` needs a value")))
        };
        let number = |text: &str| {
            let number = text.parse::<usize>().ok().filter(|number| *number > 0);
            number.ok_or_else(|| io::Error::other(format!("`{word}` needs a number, not `{text}`")))
        };
        match *word {
            "--every" => options.every = number(value()?)?,
            "--jobs" => options.jobs = number(value()?)?,
            "--markdown" => options.markdown = Some(value()?),
            path if options.path.is_empty() => options.path = path.trim_end_matches('/'),
            other => return Err(io::Error::other(format!("one path, and not `{other}` as well"))),
        }
    }
    Ok(options)
}

/// Compiles the mutants together and runs the quick tests for each.
fn try_all(
    root: &Path,
    package: &str,
    mutants: Vec<Mutant>,
    jobs: usize,
) -> io::Result<Vec<(Mutant, Fate)>> {
    let folder = target_directory(root).join("mutants-generated");
    let copy = Copy::create(root, package, suite::quick_tests(package), &folder)?;
    let built = copy.build(&mutants)?;
    let suite = Suite::record(copy.root(), built.programs, &folder)?;
    eprintln!(
        "{} mutants, {} tests that take {:.1} s",
        mutants.len(),
        suite.count(),
        suite.took().as_secs_f64()
    );
    let (next, fates) = (AtomicUsize::new(0), Mutex::new(vec![None; mutants.len()]));
    let work = |job: usize| -> io::Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(index) else { return Ok(()) };
            let fate = match &built.fates[index] {
                Ok(function) => suite.run(job, build::number(index), *function)?,
                Err(fate) => fate.clone(),
            };
            eprintln!("{}:{}: {}: {}", mutant.file, mutant.line, mutant.change, fate.text());
            fates.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(fate);
        }
    };
    thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs).map(|job| scope.spawn(move || work(job))).collect();
        let mut ended = jobs.into_iter().map(|job| job.join().expect("a job does not panic"));
        ended.try_for_each(|ended| ended)
    })?;
    let fates = fates.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(mutants.into_iter().zip(fates.into_iter().flatten()).collect())
}
