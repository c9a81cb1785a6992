//! Findings of a campaign: violations grouped by cause, each with a file that replays it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use quorate_lab::campaign::{
    CampaignRequest, CampaignShard, Cluster, SHRUNK_MOST, ScenarioGenerator, clusters, examples,
};
use quorate_sim::Scenario;

use crate::command_error::CommandError;
use crate::files::AtomicFile;
use crate::print;

/// Options for saving violations.
pub(crate) struct SaveOptions<'a> {
    /// Directory for one file per cause; `None` if nothing is saved.
    pub(crate) folder: Option<&'a Path>,
    /// Whether scenarios are shrunk before they are saved.
    pub(crate) shrink: bool,
}

/// Groups violations by cause, saves their scenarios, and prints the report.
pub(crate) fn conclude(
    generator: &ScenarioGenerator,
    part: CampaignShard,
    save_options: &SaveOptions<'_>,
    memory: u64,
    json: bool,
) -> Result<(), CommandError> {
    let CampaignShard { request, mut report } = part;
    let mut all = clusters(&report);
    let wanted = if save_options.shrink || save_options.folder.is_some() { SHRUNK_MOST } else { 0 };
    let most = wanted.min(all.len());
    let scenarios = examples(generator, &mut all[..most], save_options.shrink, memory);
    let scenarios = scenarios.map_err(CommandError::new)?;
    for (cluster, scenario) in all.iter_mut().zip(&scenarios) {
        let Some(folder) = save_options.folder else { break };
        let text = scenario_text(&request, cluster, scenario)?;
        match save_scenario(folder, cluster, &request, &text) {
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
    Ok(print::campaign::print(&request, &report, json)?)
}

/// Contents of a scenario file: a comment on what it shows and where it comes from, and the scenario.
fn scenario_text(
    request: &CampaignRequest,
    cluster: &Cluster,
    scenario: &Scenario,
) -> Result<String, CommandError> {
    let toml = toml::to_string(scenario)
        .map_err(|error| CommandError::new(format!("the scenario cannot be written: {error}")))?;
    let detail = cluster.shrunk.as_ref().map_or(&cluster.detail, |shrunk| &shrunk.detail);
    let origin = match &cluster.shrunk {
        None => "Found",
        Some(shrunk) if shrunk.is_minimal => "Shrunk to a minimal scenario, found",
        Some(_) => "Shrunk, perhaps not to a minimal scenario, found",
    };
    let command = print::campaign::command(request, cluster.first);
    Ok(format!("# {}: {detail}\n# {origin} by `{command}`.\n{toml}", cluster.property))
}

/// Writes a scenario to a new file. It never replaces another file, but reuses a file with the same contents.
fn save_scenario(
    folder: &Path,
    cluster: &Cluster,
    request: &CampaignRequest,
    text: &str,
) -> Result<PathBuf, CommandError> {
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder).map_err(|error| {
            CommandError::new(format!("--save: {} cannot be created: {error}", folder.display()))
        })?;
    }
    let (algorithm, property) = (&request.algorithm, cluster.property.to_lowercase());
    let name = format!("{algorithm}-{property}-seed-{}", cluster.first);
    let names = std::iter::once(format!("{name}.toml"))
        .chain((2..=NAMES_MOST).map(|number| format!("{name}-{number}.toml")));
    for path in names.map(|name| folder.join(name)) {
        match fs::read(&path) {
            Ok(found) if found == text.as_bytes() => return Ok(path),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mut file = AtomicFile::create(&path)?;
                file.write_all(text.as_bytes())?;
                file.commit()?;
                return Ok(path);
            }
            Err(error) => {
                return Err(CommandError::new(format!(
                    "{} cannot be read: {error}",
                    path.display()
                )));
            }
        }
    }
    Err(CommandError::new(format!(
        "{NAMES_MOST} other files with names like {name}.toml exist; delete some, or use another --save directory"
    )))
}

/// Maximum number of file names tried for one scenario.
const NAMES_MOST: u32 = 99;
