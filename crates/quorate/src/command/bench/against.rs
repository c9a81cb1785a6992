//! quorate beside others, in one table.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use quorate_bench::contest::{self, Contest, Plan};
use quorate_bench::engines::{self, Race};
use quorate_bench::{Effort, page, round_trip};
use serde_json::{Value, json};

use super::{launch, to_the_end};
use crate::Done;
use crate::arguments::Bench;
use crate::failure::Failure;
use crate::files::NewFile;

pub(super) fn bench(flags: &Bench) -> Done {
    // A file that could not be written in the end is no reason to wait for it.
    let files = flags.out.as_deref().map(Files::begin).transpose()?;
    let (peers, engines) = (flags.peers(), flags.engines());
    let found = Found {
        locks: if peers.is_empty() { None } else { Some(locks(flags)?) },
        race: if engines.is_empty() { None } else { Some(race(flags)?) },
    };
    if let Some(files) = files {
        files.write(&found)?;
    }
    let mut out = anstream::stdout().lock();
    if flags.json {
        serde_json::to_writer(&mut out, &found.value()).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        let texts = [found.locks.as_ref().map(Contest::text), found.race.as_ref().map(Race::text)];
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        write!(out, "{}", texts.join("\n"))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The services of others, and ours beside them.
fn locks(flags: &Bench) -> Result<Contest, Failure> {
    let plan = Plan {
        launch: launch()?,
        nodes: flags.nodes as usize,
        wires: flags.wires(),
        tasks: flags.tasks(),
        effort: Effort::new(Duration::from_secs(flags.seconds)),
        peers: flags.peers(),
    };
    if !plan.tasks.iter().any(|task| task.is_for_all()) {
        return Err(Failure::new("that work is for quorate only; leave --against or --work out"));
    }
    tell("a message and its answer");
    let raw = round_trip(plan.effort.time / 3).map_err(Failure::new)?;
    to_the_end(async move { contest::run(&plan, raw, tell).await })
}

/// The simulators and checkers of others, and ours beside them.
fn race(flags: &Bench) -> Result<Race, Failure> {
    let (engines, time) = (flags.engines(), Duration::from_secs(flags.seconds));
    to_the_end(async move { engines::race(&engines, time, tell).await })
}

/// What is done next, for whoever waits.
fn tell(next: &str) {
    anstream::eprintln!("{next}");
}

/// What came of it.
struct Found {
    locks: Option<Contest>,
    race: Option<Race>,
}

impl Found {
    fn value(&self) -> Value {
        let mut value = self.locks.as_ref().map_or_else(|| json!({}), Contest::value);
        if let Some(race) = &self.race {
            value["engines"] = race.value();
        }
        value
    }

    /// The parts of the page.
    fn sections(&self) -> Vec<String> {
        let locks = self.locks.as_ref().map(|contest| contest.section(Some(CHART)));
        let race = self.race.as_ref().map(Race::section);
        [locks, race].into_iter().flatten().collect()
    }
}

/// The files of a folder.
struct Files {
    page: NewFile,
    chart: NewFile,
    data: NewFile,
}

/// Beside the page.
const CHART: &str = "performance.svg";

impl Files {
    fn begin(folder: &Path) -> Result<Self, Failure> {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|error| {
            Failure::new(format!("{} cannot be made: {error}", folder.display()))
        })?;
        let begin = |name: &str| NewFile::begin(&folder.join(name));
        Ok(Self {
            page: begin("performance.md")?,
            chart: begin(CHART)?,
            data: begin("performance.json")?,
        })
    }

    fn write(mut self, found: &Found) -> Result<(), Failure> {
        self.page.write_all(page(&found.sections()).as_bytes())?;
        serde_json::to_writer_pretty(&mut self.data, &found.value()).map_err(io::Error::from)?;
        writeln!(self.data)?;
        if let Some(contest) = &found.locks {
            self.chart.write_all(contest.chart().as_bytes())?;
            self.chart.keep()?;
        }
        [self.page, self.data].into_iter().try_for_each(NewFile::keep)
    }
}
