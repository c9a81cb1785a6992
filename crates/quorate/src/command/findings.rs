//! What a campaign has found: violations by their causes, each as a file that replays it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use quorate_lab::campaign::{
    Asked, CampaignPart, Cluster, SHRUNK_MOST, Worlds, clusters, examples,
};
use quorate_sim::Scenario;

use crate::failure::Failure;
use crate::files::NewFile;
use crate::print;

/// What becomes of violations.
pub(crate) struct Keeping<'a> {
    /// Where a file of each cause goes; of the first one to the current directory if not said.
    pub(crate) folder: Option<&'a Path>,
    /// Whether their worlds are made smaller first.
    pub(crate) shrinks: bool,
}

/// Finds the causes of violations, keeps what is to be kept, and prints the report.
pub(crate) fn conclude(
    worlds: &Worlds,
    part: CampaignPart,
    keeping: &Keeping<'_>,
    memory: u64,
    json: bool,
) -> Result<(), Failure> {
    let CampaignPart { asked, mut report } = part;
    let mut all = clusters(&report);
    let wanted = if keeping.shrinks || keeping.folder.is_some() { SHRUNK_MOST } else { 0 };
    let most = wanted.min(all.len());
    let scenarios = examples(worlds, &mut all[..most], keeping.shrinks, memory);
    let scenarios = scenarios.map_err(Failure::new)?;
    for (place, (cluster, scenario)) in all.iter_mut().zip(&scenarios).enumerate() {
        if place > 0 && keeping.folder.is_none() {
            break;
        }
        let text = text(&asked, cluster, scenario)?;
        match keep(keeping.folder.unwrap_or(Path::new("")), cluster, &asked, &text) {
            Ok(path) => cluster.scenario = Some(path.display().to_string()),
            Err(failure) => {
                failure.warn("the scenario is printed instead");
                cluster.toml = Some(text);
            }
        }
    }
    for violation in &mut report.violations {
        let same = |cluster: &&Cluster| {
            cluster.first == violation.seed && cluster.property == violation.property
        };
        violation.scenario = all.iter().find(same).and_then(|cluster| cluster.scenario.clone());
    }
    report.clusters = all;
    Ok(print::campaign::print(&asked, &report, json)?)
}

/// The file of a scenario: what it shows, where it comes from, and the scenario.
fn text(asked: &Asked, cluster: &Cluster, scenario: &Scenario) -> Result<String, Failure> {
    let toml = toml::to_string(scenario)
        .map_err(|error| Failure::new(format!("the scenario cannot be written: {error}")))?;
    let detail = cluster.shrunk.as_ref().map_or(&cluster.detail, |shrunk| &shrunk.detail);
    let origin = match &cluster.shrunk {
        None => "Found",
        Some(shrunk) if shrunk.is_minimal => "Shrunk until nothing can go, found",
        Some(_) => "Shrunk as far as was tried, found",
    };
    let command = print::campaign::command(asked, cluster.first);
    Ok(format!("# {}: {detail}\n# {origin} by `{command}`.\n{toml}", cluster.property))
}

/// Writes a file of its own for it, and never in place of another; one that says the same will do.
fn keep(folder: &Path, cluster: &Cluster, asked: &Asked, text: &str) -> Result<PathBuf, Failure> {
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder).map_err(|error| {
            Failure::new(format!("--keep: {} cannot be made: {error}", folder.display()))
        })?;
    }
    let (algorithm, property) = (&asked.algorithm, cluster.property.to_lowercase());
    let name = format!("{algorithm}-{property}-seed-{}", cluster.first);
    let names = std::iter::once(format!("{name}.toml"))
        .chain((2..=NAMES_MOST).map(|number| format!("{name}-{number}.toml")));
    for path in names.map(|name| folder.join(name)) {
        match fs::read(&path) {
            Ok(found) if found == text.as_bytes() => return Ok(path),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut file = NewFile::begin(&path)?;
                file.write_all(text.as_bytes())?;
                file.keep()?;
                return Ok(path);
            }
            Err(error) => {
                return Err(Failure::new(format!("{} cannot be read: {error}", path.display())));
            }
        }
    }
    Err(Failure::new(format!("there are {NAMES_MOST} other files named like {name}.toml")))
}

/// More files of the same name are not looked for.
const NAMES_MOST: u32 = 99;
