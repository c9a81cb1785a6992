//! quorate beside others, in one table.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use quorate_bench::contest::{self, Contest, Plan};
use quorate_bench::{Effort, page, round_trip};

use super::{launch, to_the_end};
use crate::Done;
use crate::arguments::Bench;
use crate::failure::Failure;
use crate::files::NewFile;

pub(super) fn bench(flags: &Bench) -> Done {
    // A file that could not be written in the end is no reason to wait for it.
    let files = flags.out.as_deref().map(Files::begin).transpose()?;
    let contest = locks(flags)?;
    if let Some(files) = files {
        files.write(&contest)?;
    }
    let mut out = anstream::stdout().lock();
    if flags.json {
        serde_json::to_writer(&mut out, &contest.value()).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", contest.text())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

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

/// What is done next, for whoever waits.
fn tell(next: &str) {
    anstream::eprintln!("{next}");
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

    fn write(mut self, contest: &Contest) -> Result<(), Failure> {
        self.page.write_all(page(&contest.section(Some(CHART))).as_bytes())?;
        self.chart.write_all(contest.chart().as_bytes())?;
        serde_json::to_writer_pretty(&mut self.data, &contest.value())
            .map_err(std::io::Error::from)?;
        writeln!(self.data)?;
        [self.page, self.chart, self.data].into_iter().try_for_each(NewFile::keep)
    }
}
