//! Comparison of quorate with other systems in one table.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use quorate_bench::comparison::{self, ComparisonPlan, ServiceComparison};
use quorate_bench::engines::{self, EngineComparison};
use quorate_bench::{BenchConfig, page, round_trip};
use serde_json::{Value, json};

use super::{launch, run_to_completion};
use crate::CommandResult;
use crate::arguments::BenchFlags;
use crate::command_error::CommandError;
use crate::files::AtomicFile;

pub(super) fn bench(flags: &BenchFlags) -> CommandResult {
    // Check that the files can be written before the long benchmark starts.
    let files = flags.out.as_deref().map(BenchFiles::begin).transpose()?;
    let (peers, engines) = (flags.peers(), flags.engines());
    let results = BenchResults {
        services: if peers.is_empty() { None } else { Some(compare_services(flags)?) },
        engines: if engines.is_empty() { None } else { Some(compare_engines(flags)?) },
    };
    if let Some(files) = files {
        files.write(&results)?;
    }
    let mut out = anstream::stdout().lock();
    if flags.json {
        serde_json::to_writer(&mut out, &results.value()).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        let texts = [
            results.services.as_ref().map(ServiceComparison::text),
            results.engines.as_ref().map(EngineComparison::text),
        ];
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        write!(out, "{}", texts.join("\n"))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Measures the lock services of others and ours.
fn compare_services(flags: &BenchFlags) -> Result<ServiceComparison, CommandError> {
    let plan = ComparisonPlan {
        launch: launch()?,
        nodes: flags.nodes as usize,
        wires: flags.wires(),
        tasks: flags.tasks(),
        config: BenchConfig::new(Duration::from_secs(flags.seconds)),
        peers: flags.peers(),
    };
    if !plan.tasks.iter().any(|task| task.is_for_all()) {
        return Err(CommandError::new(
            "the tasks of --work are for quorate only; leave --against or --work out",
        ));
    }
    print_progress("round trip of a bare message");
    let raw = round_trip(plan.config.time / 3).map_err(CommandError::new)?;
    run_to_completion(async move { comparison::run(&plan, raw, print_progress).await })
}

/// Measures the simulators and model checkers of others and ours.
fn compare_engines(flags: &BenchFlags) -> Result<EngineComparison, CommandError> {
    let (engines, time) = (flags.engines(), Duration::from_secs(flags.seconds));
    run_to_completion(async move { engines::compare(&engines, time, print_progress).await })
}

/// Reports the next step on stderr.
fn print_progress(next: &str) {
    anstream::eprintln!("{next}");
}

/// Results of all requested comparisons.
struct BenchResults {
    services: Option<ServiceComparison>,
    engines: Option<EngineComparison>,
}

impl BenchResults {
    fn value(&self) -> Value {
        let mut value = self.services.as_ref().map_or_else(|| json!({}), ServiceComparison::value);
        if let Some(engines) = &self.engines {
            value["engines"] = engines.value();
        }
        value
    }

    /// Sections of the page.
    fn sections(&self) -> Vec<String> {
        let services = self.services.as_ref().map(|comparison| comparison.section(Some(CHART)));
        let engines = self.engines.as_ref().map(EngineComparison::section);
        [services, engines].into_iter().flatten().collect()
    }
}

/// Files written to the output directory.
struct BenchFiles {
    page: AtomicFile,
    chart: AtomicFile,
    data: AtomicFile,
}

/// File name of the chart, in the directory of the page.
const CHART: &str = "performance.svg";

impl BenchFiles {
    fn begin(folder: &Path) -> Result<Self, CommandError> {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|error| {
            CommandError::new(format!("{} cannot be created: {error}", folder.display()))
        })?;
        let begin = |name: &str| AtomicFile::create(&folder.join(name));
        Ok(Self {
            page: begin("performance.md")?,
            chart: begin(CHART)?,
            data: begin("performance.json")?,
        })
    }

    fn write(mut self, results: &BenchResults) -> Result<(), CommandError> {
        self.page.write_all(page(&results.sections()).as_bytes())?;
        serde_json::to_writer_pretty(&mut self.data, &results.value()).map_err(io::Error::from)?;
        writeln!(self.data)?;
        if let Some(comparison) = &results.services {
            self.chart.write_all(comparison.chart().as_bytes())?;
            self.chart.commit()?;
        }
        [self.page, self.data].into_iter().try_for_each(AtomicFile::commit)
    }
}
